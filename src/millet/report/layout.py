"""Layout: tables, pictures and sections, and how they become Markdown or plain text.

In:  cells, from the modules that know the paper's tables.
Out: read by `millet.report.document`.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from millet.statistics import run_spread
from millet.tables import format_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

NONE = "–"
# All models with all their ways to explain fit; all models on all datasets do not.
TERMINAL_ROWS = 60


def no_markup(text: str) -> str:
    r"""Return text for Markdown in which names of files and classes can't become tags, links or emphasis.

    Examples
    --------
    >>> print(no_markup("<b>Beef & *Ham* [x](y) _z_ n_epochs __init__"))
    &lt;b&gt;Beef &amp; \*Ham\* \[x\](y) \_z\_ n_epochs \_\_init\_\_

    Nor can a line break in a name begin something new:

    >>> no_markup("Beef\n# Ham")
    'Beef # Ham'
    """
    return no_tags(no_emphasis(text))


def no_emphasis(text: str) -> str:
    """Return text on one line that can't become links, code or emphasis; tags are left to `no_tags`."""
    in_one_line = re.sub(r"\s*[\r\n]\s*", " ", text)
    # Within a word, an underscore is no emphasis.
    return re.sub(r"[\\`*\[\]~]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", in_one_line)


def no_tags(text: str) -> str:
    """Return Markdown in which nothing can become a tag; it may hold links, code and emphasis of our own."""
    return html.escape(text, quote=False)


@dataclass(frozen=True)
class Table:
    """One table of a report.

    Attributes
    ----------
    title : str
        What it shows.
    source : str
        Where the paper has it; empty where it does not.
    coverage : str
        How much of the grid it covers, such as "12 of 85 datasets".
    header : tuple of str
        A word for each column; the first column is names, the others are numbers.
    rows : tuple of tuples of str
        One cell for each column.
    notes : tuple of str
        What a reader should know.
    is_detail : bool
        Whether a page that shows many tables may fold it away.
    is_text : bool
        Whether the other columns are text, not numbers.
    has_markup : bool
        Whether cells and notes are our own Markdown, with links and code, and not data.
    """

    title: str
    source: str
    coverage: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    is_detail: bool = False
    is_text: bool = False
    has_markup: bool = False

    @property
    def heading(self) -> str:
        """Title, source and coverage in one line."""
        source = f" ({self.source})" if self.source else ""
        return f"{self.title}{source}: {self.coverage}"

    def to_markdown(self, level: int = 3) -> str:
        """Return the table as Markdown, under a heading of its own."""
        clean = no_tags if self.has_markup else no_markup
        lines = [[clean(cell).replace("|", r"\|") for cell in line] for line in (self.header, *self.rows)]
        lines.insert(1, ["---", *["---" if self.is_text else "--:"] * (len(self.header) - 1)])
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return "\n\n".join([f"{'#' * level} {no_markup(self.heading)}", table, *map(clean, self.notes)])

    def to_text(self) -> str:
        """Return the table for a terminal; for a very long one, only how long it is."""
        if len(self.rows) > TERMINAL_ROWS:
            return f"{self.heading}\n\n{len(self.rows)} rows, to be found in the Markdown file."
        table = format_table(self.header, self.rows, right=() if self.is_text else self.header[1:])
        return "\n".join([self.heading, "", table, *(["", *self.notes] if self.notes else [])])


@dataclass(frozen=True)
class Picture:
    """One figure of a report, drawn when it is saved.

    Attributes
    ----------
    name : str
        The name of the file, without its suffix.
    caption : str
        What it shows.
    draw : callable
        Returns the matplotlib axes or figure it drew on.
    """

    name: str
    caption: str
    draw: Callable[[], Axes | FigureBase]


@dataclass(frozen=True)
class Section:
    """Tables and pictures that belong together."""

    title: str
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """Ours beside the paper's.

    Attributes
    ----------
    name : str
        The model, or the group of models.
    ours, paper : float or None
        The ensembles' results, which are what the paper's tables show.
    our_runs, authors_runs : sequence of float
        Single repeats; empty where unknown.
    """

    name: str
    ours: float | None
    paper: float | None
    our_runs: Sequence[float] = ()
    authors_runs: Sequence[float] = ()


COMPARED = ("our ensemble", "paper", "difference", "our runs", "authors' runs", "difference ", "inside spread")


def compared(cell: Cell, digits: int = 3) -> tuple[str, ...]:
    """Return the cells of a row under the name and `COMPARED`: ensembles beside ensembles, runs beside runs.

    The mean of our single repeats is inside the authors' spread where it lies between their least and greatest. It
    is compared with the paper's figure, which is an ensemble's, where nothing is known about the authors' single
    repeats; an asterisk says so.

    Examples
    --------
    >>> compared(Cell("GAP FCN", 0.76, 0.75, [0.7, 0.72], [0.69, 0.72, 0.73]))
    ('GAP FCN', '0.760', '0.750', '+0.010', '0.710 (2)', '0.713, 0.690 to 0.730', '-0.003', 'yes')
    >>> compared(Cell("GAP FCN", None, 0.75, [0.7, 0.72]))[-2]
    '-0.040 *'
    """
    runs, authors = mean(cell.our_runs), mean(cell.authors_runs)
    spread = run_spread(np.asarray(cell.authors_runs)) if len(cell.authors_runs) >= 2 else None
    return (
        cell.name,
        shown(cell.ours, digits),
        shown(cell.paper, digits),
        shown_difference(cell.ours, cell.paper, digits),
        NONE if runs is None else f"{shown(runs, digits)} ({len(cell.our_runs)})",
        f"{shown(authors, digits)}, {spread.low:.{digits}f} to {spread.high:.{digits}f}" if spread else NONE,
        f"{shown_difference(runs, cell.paper, digits)} *"
        if _is_mixed(cell)
        else shown_difference(runs, authors, digits),
        spread.verdict(runs) if spread and runs is not None else NONE,
    )


def _is_mixed(cell: Cell) -> bool:
    """Return whether single models are compared with an ensemble, for want of anything else."""
    return bool(cell.our_runs) and not cell.authors_runs and cell.paper is not None


def comparison(
    title: str,
    source: str,
    coverage: str,
    first: str,
    cells: Sequence[Cell],
    notes: Sequence[str] = (),
    *,
    is_detail: bool = False,
) -> Table:
    """Return the table of cells that have any results of ours, without empty columns.

    Parameters
    ----------
    title, source, coverage, notes, is_detail
        As for `Table`; without a source in the paper, the paper's figures are those of the authors' files.
    first : str
        The heading of the cells' names.
    cells : sequence of Cell
        Those without results of ours are left out: a page of gaps says nothing.
    """
    rows = [compared(cell) for cell in cells if cell.ours is not None or cell.our_runs]
    header = (first, *(name if source or name != "paper" else "authors' ensemble" for name in COMPARED))
    kept_header, kept_rows = without_empty_columns(header, rows)
    if any(cell.our_runs for cell in cells):
        notes = (*notes, RUNS_NOTE if any(cell.authors_runs for cell in cells) else OUR_RUNS_NOTE)
    if any(map(_is_mixed, cells)):
        notes = (*notes, MIXED_NOTE)
    return Table(title, source, coverage, kept_header, kept_rows, tuple(notes), is_detail)


RUNS_NOTE = "Runs: the mean of single models, with the number of ours and the authors' lowest and highest."
MIXED_NOTE = "* Our single models beside the paper's ensembles, since the authors' single ones are not known here."
OUR_RUNS_NOTE = "Runs: the mean of single models, and their number."


def without_empty_columns(
    header: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return a table's header and rows without the columns, after the first, that are empty.

    Examples
    --------
    >>> without_empty_columns(("model", "ours", "paper"), [("a", "0.5", "–"), ("b", "0.6", "–")])
    (('model', 'ours'), (('a', '0.5'), ('b', '0.6')))
    """
    kept = [place for place in range(len(header)) if place == 0 or any(row[place] != NONE for row in rows)]
    return tuple(header[place] for place in kept), tuple(tuple(row[place] for place in kept) for row in rows)


def shown(number: float | None, digits: int = 3) -> str:
    """Return a number for a table; "–" for None.

    Examples
    --------
    >>> shown(0.12345), shown(None)
    ('0.123', '–')
    """
    return NONE if number is None or not math.isfinite(number) else f"{number:.{digits}f}"


def shown_difference(ours: float | None, theirs: float | None, digits: int = 3) -> str:
    """Return a difference with its sign; "–" where a number is missing.

    Examples
    --------
    >>> shown_difference(0.5, 0.75), shown_difference(0.5, 0.50001), shown_difference(None, 1.0)
    ('-0.250', '+0.000', '–')
    """
    if ours is None or theirs is None:
        return NONE
    return f"{round(ours - theirs, digits) + 0.0:+.{digits}f}"


def mean(numbers: Sequence[float | None]) -> float | None:
    """Return the mean; None if there are no numbers, or one is missing.

    Examples
    --------
    >>> mean([1.0, 2.0]), mean([1.0, None])
    (1.5, None)
    """
    known = [number for number in numbers if number is not None]
    return sum(known) / len(known) if known and len(known) == len(numbers) else None

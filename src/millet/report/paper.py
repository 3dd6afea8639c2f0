"""Paper: the figures of the paper's own tables, typed in from it.

In:  ``results/published/*.toml``, one file per table.
Out: `PaperTable`, which the tables of a report are compared with.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millet.carried import carried
from millet.errors import UnknownNameError, did_you_mean

PAPER_REPEATS = 5


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper.

    Attributes
    ----------
    table : str
        Where it is, such as "Tab. 1".
    label : str
        Its label in the paper's source.
    title : str
        What it shows.
    parts : dict
        The figures: part (mostly a metric), then row, then column.
    """

    table: str
    label: str
    title: str
    parts: dict[str, dict[str, dict[str, Any]]]

    def value(self, part: str, row: str, column: str) -> float | None:
        """Return a figure, or None where the table has none.

        Examples
        --------
        >>> paper_table("webtraffic_accuracy").value("accuracy", "conjunctive", "inceptiontime")
        0.94
        """
        found = self.parts.get(part, {}).get(row, {}).get(column)
        return None if found is None else float(found)


def paper_tables() -> tuple[str, ...]:
    """Return the names of all tables of the paper that are on file.

    Examples
    --------
    >>> "ucr_all" in paper_tables()
    True
    """
    return tuple(sorted(path.stem for path in _folder().glob("*.toml")))


@functools.cache
def paper_table(name: str) -> PaperTable:
    """Return one table of the paper.

    Parameters
    ----------
    name : str
        One of `paper_tables()`.

    Examples
    --------
    >>> paper_table("webtraffic_summary").table
    'Tab. 1'
    """
    path = _folder() / f"{name}.toml"
    if not path.is_file():
        known = paper_tables()
        raise UnknownNameError(
            f"The paper's table {name!r} is not on file; there are: {', '.join(known) or 'none'}."
            f"{did_you_mean(name, known)}"
        )
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    facts = {key: content.pop(key) for key in ("table", "label", "title")}
    return PaperTable(**facts, parts=content)


def _folder() -> Path:
    return carried("paper_tables", "results/published")

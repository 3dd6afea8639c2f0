"""Reader for ``.csv``: one row a series (wide) here, one row a timepoint (long) in `csv_long`.

The header tells which: a column called case, case_id or id makes it long.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from millet.datasets.readers.contents import Contents, Floats, check_values, stack_cases
from millet.datasets.readers.csv_long import CASE_NAMES, LABEL_NAMES, find_column, folded, read_long
from millet.datasets.readers.numbers import MISSING_OR_EMPTY, parse_number, parse_row
from millet.datasets.readers.text import numbered_lines
from millet.errors import DatasetFormatError

Record = tuple[int, list[str]]
INDEX_NAMES = ("", "unnamed: 0", "index")  # what pandas makes of an index that is written as the first column


def read_csv(file: Path) -> Contents:
    """Read a comma-separated file, wide or long, with or without a header.

    Parameters
    ----------
    file : Path
        The file; unpacked if it ends in ``.gz``.

    Returns
    -------
    Contents
        Without labels where a header names no label column.
    """
    records = _records(file)
    first = next(records, None)
    if first is None:
        raise DatasetFormatError(file, "is empty; expected one row a series, or one row a timepoint.")
    if len(first[1]) == 1 and (found := re.search(r"[;\t]", first[1][0])):
        separator = "tabs" if found[0] == "\t" else "semicolons"
        raise DatasetFormatError(
            file, f"is separated by {separator}; expected commas, and decimal points. Files with tabs end in .tsv.", 1
        )
    if not is_header(first[1]):
        return _read_wide(file, _before(first, records), names=None)
    names = folded(first[1])
    case_column = find_column(file, names, CASE_NAMES)
    if case_column is not None:
        return read_long(file, records, first[1], case_column)
    return _read_wide(file, records, names)


def is_header(cells: Sequence[str]) -> bool:
    """Return whether the first row of a file names columns.

    It does if a cell says label, class, target, y, case, case_id or id, or if no cell after the first is a number.
    A row of one such word among numbers is a case of that class, unless the numbers count the columns.

    Parameters
    ----------
    cells : sequence of str
        The first row.

    Examples
    --------
    >>> is_header(["label", "0", "1", "2"]), is_header(["y", "0.3", "0.1", "0.2"]), is_header(["walk", "1", "2"])
    (True, False, False)
    """
    folded = [cell.strip().casefold() for cell in cells]
    words = [cell for cell in folded if not _is_value(cell)]
    numbers = [cell for cell in folded if cell and _is_value(cell)]
    if any(word in LABEL_NAMES | CASE_NAMES for word in words):
        first = 1 if numbers[:1] == ["1"] else 0
        counted = [str(position) for position in range(first, first + len(numbers))]
        return len(words) > 1 or numbers == counted
    return len(cells) > 1 and not any(_is_value(cell) for cell in folded[1:])


def _is_value(cell: str) -> bool:
    try:
        parse_number(cell.upper(), MISSING_OR_EMPTY)
    except ValueError:
        return False
    return True


def _records(file: Path) -> Iterator[Record]:
    """Yield the cells of each row with the line it ends on; blank lines are skipped but counted."""
    rows = csv.reader((line + "\n" for _, line in numbered_lines(file)), strict=True)
    while True:
        try:
            cells = next(rows, None)
        except csv.Error as error:
            raise DatasetFormatError(file, f"is not comma-separated text ({error}).", rows.line_num) from error
        if cells is None:
            return
        if len(cells) > 1 or any(cell.strip() for cell in cells):
            yield rows.line_num, cells


def _before(first: Record, others: Iterator[Record]) -> Iterator[Record]:
    yield first
    yield from others


def _read_wide(file: Path, records: Iterator[Record], names: list[str] | None) -> Contents:
    label_column = 0 if names is None else find_column(file, names, LABEL_NAMES)
    is_indexed = names is not None and names[0] in INDEX_NAMES and label_column != 0
    if names is not None:
        _check_first_column(file, [name for column, name in enumerate(names) if column != label_column], is_indexed)
    hint = f" If it is the label, call its column one of: {', '.join(sorted(LABEL_NAMES))}."
    hint = hint if label_column is None else ""
    blocks: list[Floats] = []
    labels: list[str] = []
    lines: list[int] = []
    for line, cells in records:
        if names is not None and len(cells) > len(names):
            raise DatasetFormatError(
                file, f"found {len(cells)} cells, expected at most {len(names)}, as in the header.", line
            )
        if label_column is not None:
            if label_column >= len(cells):
                raise DatasetFormatError(file, "the row ends before its label.", line)
            labels.append(cells.pop(label_column).strip())
        values = _without_empty_end(cells[1:] if is_indexed else cells)
        if not values:
            raise DatasetFormatError(file, "holds a series without any value.", line)
        blocks.append(parse_row(values, MISSING_OR_EMPTY, file, line, hint)[None, None])
        check_values(file, blocks[-1], [line])
        lines.append(line)
    if not blocks:
        raise DatasetFormatError(file, "holds a header only; expected at least one row of data.")
    return Contents(X=stack_cases(blocks), labels=None if label_column is None else labels, lines=lines)


def _check_first_column(file: Path, names: list[str], is_indexed: bool) -> None:
    """Refuse a number of a case, or the like, before timepoints that are counted: it would be taken for a value."""
    first, *others = names[1:] if is_indexed else names
    parts = [re.fullmatch(r"(.*?)(\d+)", name) for name in others]
    counted = len(parts) > 1 and all(parts) and len({part[1] for part in parts if part}) == 1
    if counted and not re.fullmatch(r".*?\d+", first):
        raise DatasetFormatError(
            file,
            f"its column {first!r} seems to be no timepoint, unlike {others[0]!r}, {others[1]!r} and so on. Remove "
            "it; if it is the label, call it label; if it is a value, give its name a number.",
            1,
        )


def _without_empty_end(cells: list[str]) -> list[str]:
    n_cells = len(cells)
    while n_cells and not cells[n_cells - 1].strip():
        n_cells -= 1
    return cells[:n_cells]

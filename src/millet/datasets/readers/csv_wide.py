"""Reader for ``.csv``: one row per series (wide) here, one row per timepoint (long) in `csv_long`.

The header tells which: a column called case, case_id or id makes it long.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from millet.datasets.readers.columns import (
    CASE_NAMES,
    LABEL_NAMES,
    check_no_counting,
    check_no_time,
    check_values_named,
    find_column,
    folded,
    is_header,
    is_index,
    is_value,
)
from millet.datasets.readers.contents import Contents, Floats, check_values, stack_cases
from millet.datasets.readers.csv_long import read_long
from millet.datasets.readers.numbers import DECIMAL_COMMA, MISSING_OR_EMPTY, parse_row, shorten
from millet.datasets.readers.text import numbered_lines
from millet.errors import DatasetFormatError

Record = tuple[int, list[str]]


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
    _check_dialect(file, *first)
    check_no_counting(file, *first)
    if not is_header(first[1]):
        return _read_wide(file, _before(first, records), names=None)
    names = folded(first[1])
    case_column = find_column(file, names, CASE_NAMES)
    if case_column is not None:
        return read_long(file, records, first[1], case_column)
    return _read_wide(file, records, names)


def _check_dialect(file: Path, line: int, cells: list[str]) -> None:
    """Refuse anything but comma-separated text with decimal points, as far as the first row tells."""
    text = ",".join(cells)
    if text.lstrip().startswith(("#", "sep=")) and not any(cell.strip() and is_value(cell) for cell in cells[1:]):
        raise DatasetFormatError(
            file, f"begins with {shorten(text)}, which is no data. Remove what stands above the table.", line
        )
    found = re.search(r"[;\t]", text)
    if found and (len(cells) == 1 or all(re.search(r"[;\t]", cell) for cell in cells[1:-1])):
        separator = "tabs" if found[0] == "\t" else "semicolons"
        raise DatasetFormatError(
            file,
            f"is separated by {separator}; expected commas, and decimal points. Files with tabs end in .tsv.",
            line,
        )
    comma = next((cell for cell in cells[1:] if DECIMAL_COMMA.fullmatch(cell.strip())), None)
    if comma is not None:
        raise DatasetFormatError(file, f"has a decimal comma in {shorten(comma)}; expected decimal points.", line)


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
    if names is not None:
        check_no_time(file, names)
    label_column = 0 if names is None else find_column(file, names, LABEL_NAMES)
    is_indexed = names is not None and is_index(names, 0) and label_column != 0
    if names is not None:
        special = {label_column, 0 if is_indexed else None}
        check_values_named(file, [name for column, name in enumerate(names) if column not in special])
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


def _without_empty_end(cells: list[str]) -> list[str]:
    n_cells = len(cells)
    while n_cells and not cells[n_cells - 1].strip():
        n_cells -= 1
    return cells[:n_cells]

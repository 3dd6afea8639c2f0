"""Reader for the long form of ``.csv``: one row per timepoint, one column per channel.

In:  records and column names from `csv_wide`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from millet.datasets.readers.columns import (
    LABEL_NAMES,
    TIME_NAMES,
    find_label,
    find_time,
    folded,
    is_index,
    named,
)
from millet.datasets.readers.contents import Contents, Floats, check_values, stack_cases
from millet.datasets.readers.numbers import MISSING_OR_EMPTY, parse_number, parse_row, shorten
from millet.errors import DatasetFormatError


@dataclass
class _Case:
    """The rows of one case, as they come."""

    line: int
    label: str
    times: list[float] = field(default_factory=list)
    rows: list[Floats] = field(default_factory=list)


def read_long(file: Path, records: Iterator[tuple[int, list[str]]], header: list[str], case_column: int) -> Contents:
    """Read the rows after the header: a case's rows in file order, or by time where there is a time column.

    Parameters
    ----------
    file : Path
        The file, for messages.
    records : iterator of (line, cells)
        The rows.
    header : list of str
        The names of the columns.
    case_column : int
        The column that names the case.

    Returns
    -------
    Contents
        Cases in the order in which they first appear.
    """
    names = folded(header)
    time_column = find_time(file, names)
    label_column = find_label(file, names)
    special = {case_column, time_column, label_column}
    channels = [column for column in range(len(names)) if column not in special and not is_index(names, column)]
    if not channels:
        raise DatasetFormatError(file, "names no channel; expected a column of values for each.", 1)
    titles = [header[channel].strip() for channel in channels]
    hint = _hint(is_labelled=label_column is not None, is_timed=time_column is not None)
    cases: dict[str, _Case] = {}
    parse_time: Callable[[str], float] | None = None
    for line, cells in records:
        if len(cells) != len(names):
            raise DatasetFormatError(
                file, f"found {len(cells)} cells, expected {len(names)}, as in the header.", line
            )
        label = "" if label_column is None else cells[label_column].strip()
        case = cases.setdefault(_case_id(file, line, cells[case_column]), _Case(line, label))
        if label != case.label:
            raise DatasetFormatError(
                file, f"label {shorten(label)} differs from {shorten(case.label)} on line {case.line}.", line
            )
        values = [cells[channel] for channel in channels]
        case.rows.append(parse_row(values, MISSING_OR_EMPTY, file, line, hint, titles))
        if time_column is not None:
            parse_time = parse_time or _time_parser(cells[time_column])
            case.times.append(_time(file, line, cells[time_column], parse_time))
    return _contents(file, cases, titles, label_column is not None, time_column is not None)


def _hint(*, is_labelled: bool, is_timed: bool) -> str:
    """Say what a column of something else than numbers may be."""
    absent = [("label", LABEL_NAMES)] * (not is_labelled) + [("time", TIME_NAMES)] * (not is_timed)
    hints = [f" If it is the {what}, call its column one of: {', '.join(sorted(names))}." for what, names in absent]
    return "".join(hints) + " A column that is no channel must be removed."


def _contents(
    file: Path, by_name: dict[str, _Case], titles: list[str], is_labelled: bool, is_timed: bool
) -> Contents:
    cases = list(by_name.values())
    if not cases:
        raise DatasetFormatError(file, "holds a header only; expected at least one row of data.")
    if not is_timed and all(len(case.rows) == 1 for case in cases):
        raise DatasetFormatError(
            file,
            "has a column of cases, yet only one row for each. If a row is a whole series, remove that column; "
            "if it is one timepoint, add a column called time.",
        )
    blocks = []
    for case in cases:
        series = np.stack(case.rows, axis=1)  # (n_channels, n_timepoints)
        if is_timed:
            order = np.argsort(case.times, kind="stable")
            if (np.diff(np.array(case.times)[order]) == 0).any():
                raise DatasetFormatError(file, "the case that begins here has the same time twice.", case.line)
            series = series[:, order]
        check_values(file, series[None], [case.line])
        blocks.append(series[None])
    labels = [case.label for case in cases] if is_labelled else None
    return Contents(
        X=stack_cases(blocks),
        labels=labels,
        lines=[case.line for case in cases],
        channel_names=named(titles),
        case_names=list(by_name),
    )


def _case_id(file: Path, line: int, cell: str) -> str:
    if not cell.strip():
        raise DatasetFormatError(file, "the row names no case.", line)
    return cell.strip()


def _time_parser(cell: str) -> Callable[[str], float]:
    """Return the parser that fits the file's first time: numbers or dates, never a mixture."""
    try:
        _parse_number(cell)
    except ValueError:
        return _parse_date
    return _parse_number


def _time(file: Path, line: int, cell: str, parse: Callable[[str], float]) -> float:
    try:
        time = parse(cell)
        if np.isfinite(time):
            return time
    except (ValueError, OverflowError):
        pass
    raise DatasetFormatError(
        file,
        f"time {shorten(cell)} is not understood; expected numbers, or dates like 2024-02-29T13:45:00, throughout.",
        line,
    )


def _parse_number(cell: str) -> float:
    return parse_number(cell, missing=frozenset())


def _parse_date(cell: str) -> float:
    date = datetime.fromisoformat(cell.strip())
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()

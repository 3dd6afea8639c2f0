"""Columns of tables: what their names mean, and whether a row names them at all.

In:  the first row of a text file, or the names that a table has. Out: positions, for every reader of tables.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from millet.datasets.readers.numbers import MISSING_OR_EMPTY, parse_number
from millet.errors import DatasetFormatError

LABEL_NAMES = frozenset({"label", "class", "target", "y"})
CASE_NAMES = frozenset({"case", "case_id", "id"})
TIME_NAMES = frozenset({"time", "timepoint", "timestamp", "datetime", "date"})
# Such a name, or t, with or without a unit: time_ms, Time (s), timestamp[ns].
_TIME = re.compile(
    rf"(t|{'|'.join(sorted(TIME_NAMES))})([ _]*[(\[]?(s|ms|us|µs|ns|secs?|seconds|mins?|minutes|h|hours|days)[)\]]?)?"
)
INDEX_NAMES = frozenset({"", "unnamed: 0", "index"})
"""What pandas makes of an index that is written as the first column."""
# A row that counts up in fewer cells than this may well be a short series.
COUNTING_CELLS = 4


def find_column(file: Path, names: list[str], wanted: frozenset[str], line: int | None = 1) -> int | None:
    """Return the position of the one column that has one of the wanted names, None if there is none.

    Parameters
    ----------
    file : Path
        The file, for the message.
    names : list of str
        The header, in lower case.
    wanted : frozenset of str
        Names that mean the same.
    line : int or None
        The header's line, for the message.

    Examples
    --------
    >>> find_column(Path("a.csv"), ["case", "time", "y", "speed"], LABEL_NAMES)
    2
    """
    found = [position for position, name in enumerate(names) if name in wanted]
    if len(found) > 1:
        doubled = ", ".join(names[position] for position in found)
        raise DatasetFormatError(file, f"has columns called {doubled}; expected only one of these.", line)
    return found[0] if found else None


def find_label(file: Path, names: list[str], line: int | None = 1) -> int | None:
    """Return the position of the column of labels; beside x, z or a label, y is an axis and not the label.

    Examples
    --------
    >>> find_label(Path("a.csv"), ["case", "y", "speed"]), find_label(Path("a.csv"), ["case", "x", "y", "z"])
    (1, None)
    """
    others = LABEL_NAMES - {"y"}
    is_axis = any(name in others or name in ("x", "z") for name in names)
    return find_column(file, names, others if is_axis else LABEL_NAMES, line)


def find_time(file: Path, names: list[str], line: int | None = 1) -> int | None:
    """Return the position of the column of times, None if there is none.

    Examples
    --------
    >>> find_time(Path("a.csv"), ["case", "time (ms)", "speed"]), find_time(Path("a.csv"), ["case", "t0", "timely"])
    (1, None)
    """
    return find_column(file, names, frozenset(filter(is_time, names)), line)


def is_time(name: str) -> bool:
    """Return whether a column of this name, in lower case, holds times.

    Examples
    --------
    >>> is_time("t"), is_time("time_ms"), is_time("temperature")
    (True, True, False)
    """
    return _TIME.fullmatch(name) is not None


def folded(header: Sequence[str]) -> list[str]:
    """Return the names of columns as they are compared: without blanks around them, in lower case."""
    return [name.strip().casefold() for name in header]


def named(titles: Sequence[str]) -> tuple[str, ...]:
    """Return the names if they tell channels apart, else none.

    Examples
    --------
    >>> named(["Speed", "Force"]), named(["x", ""]), named(["x", "x"])
    (('Speed', 'Force'), (), ())
    """
    return tuple(titles) if all(titles) and len(set(titles)) == len(titles) else ()


def is_index(names: Sequence[str], column: int) -> bool:
    """Return whether a column is the index of a data frame.

    Examples
    --------
    >>> is_index(["unnamed: 0", "index"], 0), is_index(["unnamed: 0", "index"], 1)
    (True, False)
    """
    return column == 0 and names[0] in INDEX_NAMES


def is_header(cells: Sequence[str]) -> bool:
    """Return whether the first row of a file names columns.

    It does if a cell says label, class, target, y, case, case_id or id, or if no cell after the first is a number.
    But a row with one such word among numbers is a case of that class, unless the numbers rise in equal steps: then
    they count the columns, or are times.

    Parameters
    ----------
    cells : sequence of str
        The first row.

    Examples
    --------
    >>> is_header(["label", "0", "1", "2"]), is_header(["y", "0.3", "0.1", "0.2"]), is_header(["walk", "1", "2"])
    (True, False, False)
    >>> is_header(["label", "0.00", "0.04", "0.08"])
    True
    """
    names = folded(cells)
    words = [cell for cell in names if not is_value(cell)]
    numbers = [cell for cell in names if cell and is_value(cell)]
    if any(word in LABEL_NAMES | CASE_NAMES for word in words):
        return len(words) > 1 or _rise_evenly(numbers)
    return len(cells) > 1 and not any(is_value(cell) for cell in names[1:])


def check_no_counting(file: Path, line: int, cells: Sequence[str]) -> None:
    """Refuse a first row that counts the columns: a data frame's header, which would be taken for a case.

    Parameters
    ----------
    file : Path
    line : int
    cells : sequence of str
        The row; a name that pandas gives an index may come before the numbers.

    Examples
    --------
    >>> check_no_counting(Path("a.csv"), 1, ["0", "0.1", "0.2", "0.3"])
    >>> check_no_counting(Path("a.csv"), 1, ["0", "1", "2", "3"])
    Traceback (most recent call last):
        ...
    millet.errors.DatasetFormatError: a.csv, line 1: counts the columns from 0, ...
    """
    counted = folded(cells)
    counted = counted[1:] if counted[0] in INDEX_NAMES else counted
    if len(counted) >= COUNTING_CELLS and counted == [str(n) for n in range(len(counted))]:
        raise DatasetFormatError(
            file,
            "counts the columns from 0, as the header of a data frame does that has no names for them. Remove "
            "this row (in pandas: to_csv(..., header=False, index=False)), or name the columns; if it is a series, "
            "write its values with a decimal point.",
            line,
        )


def check_no_time(file: Path, names: list[str], line: int | None = 1) -> None:
    """Refuse a recording, one row per timepoint, that does not say which case a row belongs to."""
    column = find_time(file, names, line)
    if column is not None:
        raise DatasetFormatError(
            file,
            f"has a column {names[column]!r}, and none of cases. If a row is one timepoint, write a .csv file with a "
            f"column called id that tells which series it is of; if it is a whole series, remove {names[column]!r}.",
            line,
        )


def check_values_named(file: Path, names: Sequence[str], line: int | None = 1) -> None:
    """Refuse to have no columns of values, numbered ones out of order, or a few that are no timepoints among these.

    Those few, such as the number of a case or an age, would be taken for values.
    """
    if not names:
        raise DatasetFormatError(file, "names no column of values.", line)
    parts = [re.fullmatch(r"(.*?)(\d+)", name) for name in names]
    stems = Counter(part[1] for part in parts if part)
    n_counted = max(stems.values(), default=0)
    odd = [name for name, part in zip(names, parts, strict=True) if part is None]
    if odd and n_counted == len(names) - len(odd) > max(1, len(odd)):
        first, second = [name for name in names if name not in odd][:2]
        raise DatasetFormatError(
            file,
            f"its column {odd[0]!r} seems to be no timepoint, unlike {first!r}, {second!r} and so on. Remove "
            "it; if it is the label, call it label; if it is a value, give its name a number.",
            line,
        )
    if n_counted == len(names):
        (stem,) = stems
        _check_in_order(file, names, stem, line)


def _check_in_order(file: Path, names: Sequence[str], stem: str, line: int | None) -> None:
    """Refuse columns whose numbers rise and fall, as sorting names as words leaves them: t1, t10, t2."""
    if stem.endswith("."):  # decimals: 0.1, 0.15, 0.2
        return
    steps = np.diff([float(name.removeprefix(stem)) for name in names])
    if (steps > 0).any() and (steps < 0).any():  # lags may well fall: lag3, lag2, lag1
        place = int(np.argmax(steps < 0) if steps[0] > 0 else np.argmax(steps > 0))
        raise DatasetFormatError(
            file,
            f"its columns are out of order: {names[place + 1]!r} comes after {names[place]!r}. They are read from "
            "left to right as time goes by; sort them by their numbers.",
            line,
        )


def _rise_evenly(numbers: Sequence[str]) -> bool:
    """Return whether numbers rise in equal steps, as far as their digits tell; one or two must be a count's first."""
    values = np.array([parse_number(number.upper(), MISSING_OR_EMPTY) for number in numbers])
    if len(values) < 3:
        return values.tolist() in ([], [0.0], [1.0], [0.0, 1.0], [1.0, 2.0])
    steps = np.diff(values)
    step = steps.mean()
    # Rounding to two decimals, say, may shift a number by one in the last.
    return bool(step > 0 and np.abs(steps - step).max() <= 0.1 * step)


def is_value(cell: str) -> bool:
    """Return whether a cell is a number, or stands for a missing one.

    Examples
    --------
    >>> is_value("1e3"), is_value("NA"), is_value("walk")
    (True, True, False)
    """
    try:
        parse_number(cell.upper(), MISSING_OR_EMPTY)
    except ValueError:
        return False
    return True

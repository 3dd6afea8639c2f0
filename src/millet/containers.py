"""Containers: arrays, lists, frames and tensors become (case, channel, time), copied only where needed.

In:  whatever the user brought.
Out: an array, memory-mapped where the input was, or a list of unequal arrays, read by `millet.bags`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from millet.errors import SeriesError, SeriesTypeError

Array = NDArray[Any]

WANTED = (
    "X must be (n_cases, n_timepoints), (n_cases, n_channels, n_timepoints), or a list of series: arrays of shape "
    "(n_timepoints,) or (n_channels, n_timepoints), or data frames with a row for each timepoint"
)


def as_cases(X: Any) -> Array | list[Array]:
    """Return (case, channel, time), memory-mapped where X is, or a list of (channel, time) arrays."""
    X = _plain(X)
    if _is_arrow(X):
        X = _from_arrow(X)
    if hasattr(X, "iloc"):
        _check_levels(X)
        X = _from_frame(X)
    if isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1):
        return _from_sequence(list(X))
    array = _as_numbers(X, "X")  # keeps the dtype, so that nothing is copied
    if array.ndim not in (2, 3):
        raise SeriesError(
            f"Expected 2D array, got {array.ndim}D array instead: {WANTED}; got {type(X).__name__} of shape "
            f"{array.shape}. Reshape your data: for a single series, pass X[None] or [X]."
        )
    if 0 in array.shape:
        missing = "sample" if len(array) == 0 else "feature"
        raise SeriesError(
            f"Found array with 0 {missing}(s) (shape={array.shape}) while a minimum of 1 is required: {WANTED}."
        )
    return array[:, None] if array.ndim == 2 else array


def is_table(X: Any) -> bool:
    """Return whether X is a 2-D array or a data frame whose cells hold single values, not series.

    Examples
    --------
    >>> is_table(np.zeros((2, 3))), is_table(np.zeros((2, 1, 3))), is_table([[1.0, 2.0]])
    (True, False, False)
    """
    shape = getattr(X, "shape", ())
    if len(shape) != 2 or 0 in shape:
        return len(shape) == 2
    if hasattr(X, "iloc"):
        return np.ndim(X.iloc[0, 0]) == 0
    if _is_arrow(X):
        return np.ndim(X.column(0)[0].as_py()) == 0
    return getattr(getattr(X, "dtype", None), "kind", "") != "O" or np.ndim(X[0, 0]) == 0


def channel_columns(X: Any) -> list[str]:
    """Return what several channels are called: the columns of a frame of series, or of a frame for each case.

    Empty where there are no columns, or just one: a single channel can't be mixed up with another.

    Examples
    --------
    >>> import pandas as pd
    >>> channel_columns([pd.DataFrame({"up": [1.0, 2.0], "down": [3.0, 4.0]})]), channel_columns([[1.0, 2.0]])
    (['up', 'down'], [])
    """
    if isinstance(X, list | tuple):
        frame = X[0] if X else None
    else:
        frame = None if is_table(X) else X
    columns = [str(name) for name in getattr(frame, "column_names" if _is_arrow(frame) else "columns", ())]
    return columns if len(columns) > 1 else []


def are_same_channels(columns: list[str], others: list[str]) -> bool:
    """Return whether columns may be the same channels: equal, or named in only one of the two.

    Columns that a data frame merely counts, 0, 1, 2 ..., are names only if the other has them in another order.

    Examples
    --------
    >>> are_same_channels(["up", "down"], ["down", "up"]), are_same_channels(["up", "down"], ["0", "1"])
    (False, True)
    """
    if not columns or not others or columns == others:
        return True
    is_counted = any(names == [str(number) for number in range(len(names))] for names in (columns, others))
    return is_counted and sorted(columns) != sorted(others)


def _is_arrow(item: Any) -> bool:
    """Return whether this is an Arrow table, without importing Arrow."""
    return hasattr(item, "to_pydict")


def _plain(item: Any) -> Any:
    """Return tensors as arrays, masked arrays with NaN where they are masked, and all else as it is."""
    if isinstance(item, np.ma.MaskedArray):
        return np.ma.filled(item.astype(np.float64), np.nan)
    if not hasattr(item, "detach"):  # not a torch tensor; checked without importing torch
        return item
    try:
        return item.detach().cpu().numpy()
    except (TypeError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise SeriesTypeError(
            f"{reason} (a tensor of {item.dtype}). Pass X.to_dense().float(), or list(X.unbind()) of a nested one."
        ) from None


def _as_numbers(values: Any, what: str) -> Array:
    """Return an array of real numbers; None among objects becomes NaN."""
    if hasattr(values, "toarray"):
        raise SeriesTypeError(f"{what} is a sparse matrix, and series are dense. Pass X.toarray(). {WANTED}.")
    try:
        array = np.asarray(values)
        # Text is refused in every container, even where Python could read a number from it.
        if array.dtype == object and not any(isinstance(value, str | bytes) for value in array.flat):
            array = array.astype(np.float64)
    except TypeError as error:
        raise SeriesTypeError(f"{what} holds something else than numbers: {error}. {WANTED}.") from None
    except (ValueError, OverflowError) as error:
        raise SeriesError(f"{what} is no array of numbers: {error}. {WANTED}.") from None
    if array.dtype.kind == "c":
        raise SeriesError(
            f"Complex data not supported: {what} is {array.dtype}. Pass two channels: X.real and X.imag."
        )
    if array.dtype.kind not in "fiub":
        found = "text" if array.dtype.kind in "OSUT" else str(array.dtype)
        raise SeriesError(f"{what} holds {found}, not numbers. Convert it first, e.g. X.astype(float). {WANTED}.")
    return array


def _from_arrow(table: Any) -> Any:
    """Return the channels of every case if the table's cells are lists, else the table as it is."""
    columns = list(table.to_pydict().values())
    are_lists = bool(columns and columns[0]) and isinstance(columns[0][0], list)
    return [list(channels) for channels in zip(*columns, strict=True)] if are_lists else table


def _check_levels(frame: Any) -> None:
    """Refuse a frame whose rows could be either cases or timepoints."""
    if getattr(frame.index, "nlevels", 1) > 1:
        raise SeriesError(
            "X is a data frame with several levels of rows. If a row is a case, pass X.reset_index(drop=True). If it "
            "is a timepoint of one, pass a list of frames: [case.droplevel(0) for _, case in X.groupby(level=0)]."
        )


def _from_frame(frame: Any) -> Any:
    """Turn a data frame into an array, or into a list of cases where its cells hold whole series."""
    if frame.ndim != 2 or 0 in frame.shape:
        return frame.to_numpy()
    first = frame.iloc[0, 0]
    if hasattr(first, "__len__") and not isinstance(first, str | bytes):
        return [_stack_channels(list(row), case) for case, row in enumerate(frame.to_numpy())]
    if all(dtype.kind in "fiub" for dtype in frame.dtypes):
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return frame.to_numpy(dtype=object)


def _from_sequence(items: list[Any]) -> Array | list[Array]:
    if not items:
        raise SeriesError(f"Found array with 0 sample(s) while a minimum of 1 is required: {WANTED}.")
    _check_columns_alike(items)
    cases = [_as_case(item, position) for position, item in enumerate(items)]
    for position, case in enumerate(cases):
        if len(case) != len(cases[0]):
            raise SeriesError(
                f"All cases must have the same number of channels; case 0 has {len(cases[0])}, case {position} has "
                f"{len(case)}. Each case is (n_channels, n_timepoints): are some the other way round?"
            )
    if len({case.shape[1] for case in cases}) == 1:
        return np.stack(cases)
    return cases


def _check_columns_alike(items: list[Any]) -> None:
    """Refuse data frames, one per case, whose columns differ in name or order: channels would be mixed up."""
    first = channel_columns(items)
    for position, item in enumerate(items):
        columns = channel_columns([item])
        if len(columns) == len(first) and not are_same_channels(columns, first):
            raise SeriesError(
                f"Columns are channels, and must be the same in the same order in every case; case 0 has {first}, "
                f"case {position} has {columns}."
            )


def _as_case(item: Any, position: int) -> Array:
    item = _plain(item)
    if hasattr(item, "iloc"):
        item = _in_order_of_time(item)
    if _is_arrow(item):
        item = list(item.to_pydict().values())
    elif hasattr(item, "columns"):  # a frame of its own: rows are timepoints, columns are channels
        item = _as_numbers(_from_frame(item) if hasattr(item, "iloc") else item, f"Case {position}").T
    if isinstance(item, list | tuple) and item and hasattr(item[0], "__len__") and not isinstance(item[0], str):
        item = _stack_channels(list(item), position)
    case = _as_numbers(item, f"Case {position}")
    if case.ndim == 0:
        raise SeriesError(
            f"Expected 2D array, got 1D array instead: {WANTED}; case {position} is a single value. "
            "Reshape your data: for a single series, pass X[None] or [series]."
        )
    if case.ndim > 2:
        raise SeriesError(f"Case {position} has shape {case.shape}. {WANTED}.")
    case = case[None] if case.ndim == 1 else case
    if 0 in case.shape:
        raise SeriesError(f"Case {position} has no timepoint (shape {case.shape}); every case needs at least 1.")
    return case


def _in_order_of_time(frame: Any) -> Any:
    """Return rows from pandas in order of their time index, if they have one, just as files are read."""
    index = frame.index
    is_time = getattr(index.dtype, "kind", "") in "Mm"
    return frame if not is_time or index.is_monotonic_increasing else frame.sort_index()


def _stack_channels(channels: list[Any], position: int) -> Array:
    arrays = [
        _as_numbers(
            _in_order_of_time(channel) if hasattr(channel, "iloc") else _plain(channel),
            f"Case {position}, channel {row},",
        )
        for row, channel in enumerate(channels)
    ]
    for row, array in enumerate(arrays):
        if array.ndim != 1:
            raise SeriesError(
                f"Case {position}, channel {row}, must be one series of shape (n_timepoints,); got shape "
                f"{array.shape}. {WANTED}."
            )
    lengths = sorted({len(array) for array in arrays})
    if len(lengths) > 1:
        raise SeriesError(
            f"Case {position} has channels of different lengths ({lengths}). "
            "All channels of a case must have the same timepoints; fill the shorter ones with NaN."
        )
    return np.stack(arrays)

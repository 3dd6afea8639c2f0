"""Containers: arrays, lists, frames and tensors become (case, channel, time), copied only where needed.

In:  whatever the user brought.
Out: an array, memory-mapped where the input was, or a list of unequal arrays, read by `millet.bags`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from millet.errors import SeriesError

Array = NDArray[Any]

WANTED = (
    "X must be (n_cases, n_timepoints), (n_cases, n_channels, n_timepoints), or a list of series of shape "
    "(n_timepoints,) or (n_channels, n_timepoints)"
)


def as_cases(X: Any) -> Array | list[Array]:
    """Return (case, channel, time), memory-mapped where X is, or a list of (channel, time) arrays."""
    if hasattr(X, "detach"):  # a torch tensor, without importing torch
        X = X.detach().cpu().numpy()
    if hasattr(X, "iloc"):
        X = _from_frame(X)
    if isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1):
        return _from_sequence(list(X))
    try:
        # Dtypes are kept, so that nothing is copied here.
        array = check_array(X, allow_nd=True, dtype="numeric", ensure_all_finite=False, ensure_min_features=0)
    except ValueError as error:
        raise SeriesError(f"{WANTED}. {error}") from None
    if array.ndim > 3:
        raise SeriesError(f"{WANTED}; got shape {array.shape}.")
    if array.ndim == 2:
        array = array[:, None]
    if 0 in array.shape:
        shape = np.shape(X)
        raise SeriesError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required: {WANTED}."
        )
    return np.asarray(array)


def _from_frame(frame: Any) -> Any:
    """Turn a data frame into an array, or into a list of cases where its cells hold whole series."""
    if getattr(frame, "ndim", 2) != 2 or frame.shape[0] == 0 or frame.shape[1] == 0:
        return frame
    if not hasattr(frame.iloc[0, 0], "__len__") or isinstance(frame.iloc[0, 0], str):
        return frame
    return [_stack_channels([np.asarray(cell) for cell in row], case) for case, row in enumerate(frame.to_numpy())]


def _from_sequence(items: list[Any]) -> Array | list[Array]:
    if not items:
        raise SeriesError(f"Found array with 0 sample(s) while a minimum of 1 is required: {WANTED}.")
    cases = [_as_case(item, position) for position, item in enumerate(items)]
    channels = {case.shape[0] for case in cases}
    if len(channels) > 1:
        raise SeriesError(f"All cases must have the same number of channels; got {sorted(channels)}.")
    if len({case.shape[1] for case in cases}) == 1:
        return np.stack(cases)
    return cases


def _as_case(item: Any, position: int) -> Array:
    if hasattr(item, "detach"):
        item = item.detach().cpu().numpy()
    if isinstance(item, list | tuple) and item and hasattr(item[0], "__len__"):
        item = _stack_channels([np.asarray(channel) for channel in item], position)
    try:
        case = np.asarray(item)
        if case.dtype == object or case.dtype.kind not in "fiub":
            if case.dtype.kind not in "OSU":
                raise TypeError(f"dtype {case.dtype}")
            case = case.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise SeriesError(f"Case {position} is not a series of numbers ({error}). {WANTED}.") from None
    if case.ndim == 0:
        raise SeriesError(
            f"Expected 2D array, got 1D array instead: {WANTED}. "
            "Reshape your data: for a single series, pass X[None] or [series]."
        )
    if case.ndim > 2:
        raise SeriesError(f"Case {position} has shape {case.shape}. {WANTED}.")
    case = case[None] if case.ndim == 1 else case
    if 0 in case.shape:
        raise SeriesError(f"Case {position} has no timepoint (shape {case.shape}); every case needs at least 1.")
    return case


def _stack_channels(channels: list[Array], position: int) -> Array:
    lengths = sorted({len(channel) for channel in channels})
    if len(lengths) > 1:
        raise SeriesError(
            f"Case {position} has channels of different lengths ({lengths}). "
            "All channels of a case must have the same timepoints; fill the shorter ones with NaN."
        )
    return np.stack(channels)

"""Stored arrays: checked before they reach compiled code, which does not check where it reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from millet.errors import StorageError

MAX_DILATION = 2**26
Arrays = Mapping[str, NDArray[Any]]


def take(arrays: Arrays, name: str, dtype: DTypeLike, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return a writable copy of an array of this type and shape (None: any length), or say what is wrong with it.

    Examples
    --------
    >>> take({"offsets": np.zeros(3)}, "offsets", np.float64, (None,))
    array([0., 0., 0.])
    """
    if name not in arrays:
        raise StorageError(f"The stored model lacks the array '{name}'. Save the model again.")
    array = np.asarray(arrays[name])
    fits = array.ndim == len(shape) and all(
        wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.dtype(dtype) or not fits:
        raise StorageError(
            f"The stored array '{name}' must be {np.dtype(dtype)} of shape {shape} (None: any length); "
            f"got {array.dtype} of shape {array.shape}. Save the model again."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise StorageError(f"The stored array '{name}' holds values that are not finite. Save the model again.")
    return np.array(array, order="C")


def take_dilations(arrays: Arrays) -> NDArray[np.int32]:
    """Return the dilations: at least one, ascending."""
    dilations = take(arrays, "dilations", np.int32, (None,))
    ascending = len(dilations) > 0 and bool((np.diff(dilations) > 0).all())
    if not ascending or dilations[0] < 1 or dilations[-1] > MAX_DILATION:
        raise StorageError(f"The stored dilations must ascend from 1 or more; got {dilations}. Save the model again.")
    return dilations


def take_channels(arrays: Arrays, n_subsets: int, n_channels: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return where each subset of channels starts, and the channels: at least one per subset."""
    starts = take(arrays, "channel_starts", np.int32, (n_subsets + 1,))
    channels = take(arrays, "channels", np.int32, (int(starts[-1]) if starts[-1] > 0 else None,))
    if starts[0] != 0 or (np.diff(starts) < 1).any() or channels.min() < 0 or channels.max() >= n_channels:
        raise StorageError(f"The stored subsets of channels do not fit {n_channels} channels. Save the model again.")
    return starts, channels

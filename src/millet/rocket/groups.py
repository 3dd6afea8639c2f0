"""Groups: the random kernels of Hydra, their dilations and channels, as drawn for one training set.

In:  training cases, of which only the shape matters. Out: `HydraKernels`, read by `millet.rocket.hydra`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from millet.bags import Batch
from millet.errors import StorageError
from millet.rocket.stored import take, take_channels, take_dilations

N_TAPS = 9
GROUP_SIZE = 8
N_GROUPS = 32  # of the series, and as many of its first difference
MAX_CHANNELS = 8


class HydraKernels(NamedTuple):
    """Groups of competing kernels.

    Attributes
    ----------
    dilations : ndarray of int32, shape (n_dilations,)
        Ascending powers of two.
    kernels : ndarray of float32, shape (n_dilations, n_groups, group_size, 9)
        Each of mean 0, its absolute weights adding up to 1.
    channel_starts : ndarray of int32, shape (n_dilations * n_groups + 1,)
        Where each group's channels start in `channels`.
    channels : ndarray of int32
        The channels that each group adds up.
    """

    dilations: NDArray[np.int32]
    kernels: NDArray[np.float32]
    channel_starts: NDArray[np.int32]
    channels: NDArray[np.int32]


def restore_kernels(arrays: Mapping[str, NDArray[Any]], n_channels: int) -> HydraKernels:
    """Return the kernels that these arrays came from, after checking that they fit together."""
    dilations = take_dilations(arrays)
    kernels = take(arrays, "kernels", np.float32, (len(dilations), None, None, N_TAPS))
    if kernels.size == 0:
        raise StorageError(f"Hydra needs kernels; got an array of shape {kernels.shape}. Save the model again.")
    n_subsets = len(dilations) * kernels.shape[1]
    return HydraKernels(dilations, kernels, *take_channels(arrays, n_subsets, n_channels))


def draw_kernels(batch: Batch, difference: bool, n_features: int | None, rng: np.random.Generator) -> HydraKernels:
    """Draw groups of kernels for dilations up to the reach of the longest case."""
    n_points = max(int(batch.lengths.max()) - int(difference), 1)
    n_exponents = max(int(np.log2(max(n_points - 1, 1) / (N_TAPS - 1))), 0) + 1
    n_groups = N_GROUPS
    if n_features is not None:
        n_groups = max(round(n_features / (2 * GROUP_SIZE * n_exponents)), 1)
    kernels = rng.normal(size=(n_exponents, n_groups, GROUP_SIZE, N_TAPS))
    kernels -= kernels.mean(axis=-1, keepdims=True)
    kernels /= np.abs(kernels).sum(axis=-1, keepdims=True)
    starts, channels = _draw_channels(batch.values.shape[1], n_exponents * n_groups, rng)
    return HydraKernels(2 ** np.arange(n_exponents, dtype=np.int32), kernels.astype(np.float32), starts, channels)


def _draw_channels(
    n_channels: int, n_draws: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw half of the channels, at least two and at most eight, for each group; one drawn twice counts once."""
    size = min(max(n_channels // 2, 2), MAX_CHANNELS)
    subsets = [np.unique(row) for row in rng.integers(n_channels, size=(n_draws, size))]
    starts = np.concatenate([[0], np.cumsum([len(subset) for subset in subsets])])
    return starts.astype(np.int32), np.concatenate(subsets).astype(np.int32)

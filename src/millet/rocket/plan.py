"""Plan: the fixed kernels of MiniRocket with their dilations, channels and biases, as fitted to one training set.

In:  training cases. Out: `Plan`, read by `millet.rocket.ppv` and `millet.rocket.four`.

The kernels are those of Dempster et al. 2021: nine taps, six of weight -1 and three of weight 2, in all 84 ways.
Each is used with several dilations, and for each dilation with several biases, which are quantiles of the
convolution's values in one training case.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from millet.bags import Batch
from millet.compiled import compiled
from millet.errors import StorageError
from millet.rocket.convolution import convolve_fixed, sum_channels
from millet.rocket.series import represent
from millet.rocket.stored import take, take_channels, take_dilations

N_TAPS = 9
MAX_DILATIONS = 32
GOLDEN_RATIO = (5**0.5 + 1) / 2
MAX_CHANNELS = 9  # that a kernel adds up

# (84, 3): which taps of each kernel weigh 2; the others weigh -1.
HEAVY_TAPS = np.array(list(itertools.combinations(range(N_TAPS), 3)), dtype=np.int32)
N_KERNELS = len(HEAVY_TAPS)


class Plan(NamedTuple):
    """Dilated kernels and their biases; a *combination* is one kernel with one dilation.

    Attributes
    ----------
    dilations : ndarray of int32, shape (n_dilations,)
        Ascending.
    n_biases : ndarray of int32, shape (n_dilations,)
        How many biases each kernel has with this dilation.
    biases : ndarray of float32
        By dilation, then by kernel, then ascending.
    channel_starts : ndarray of int32, shape (n_dilations * 84 + 1,)
        Where each combination's channels start in `channels`.
    channels : ndarray of int32
        The channels that each combination adds up.
    """

    dilations: NDArray[np.int32]
    n_biases: NDArray[np.int32]
    biases: NDArray[np.float32]
    channel_starts: NDArray[np.int32]
    channels: NDArray[np.int32]


def restore_plan(arrays: Mapping[str, NDArray[Any]], n_channels: int) -> Plan:
    """Return the plan that these arrays came from, after checking that they fit together."""
    dilations = take_dilations(arrays)
    n_biases = take(arrays, "n_biases", np.int32, (len(dilations),))
    if n_biases.min() < 1:
        raise StorageError(f"Every dilation needs a bias; got {n_biases} of them. Save the model again.")
    biases = take(arrays, "biases", np.float32, (N_KERNELS * int(n_biases.sum(dtype=np.int64)),))
    return Plan(dilations, n_biases, biases, *take_channels(arrays, N_KERNELS * len(dilations), n_channels))


def make_plan(batch: Batch, difference: bool, n_biases_wanted: int, rng: np.random.Generator) -> Plan:
    """Choose dilations for the longest case, channels at random, and biases from random cases.

    Parameters
    ----------
    batch : Batch
        The training cases.
    difference : bool
        Whether to look at the first difference of each series instead of the series.
    n_biases_wanted : int
        How many biases to choose; rounded down to a multiple of 84, at least 84.
    rng : numpy.random.Generator
        The source of channels and of cases for the biases.
    """
    n_points = max(int(batch.lengths.max()) - int(difference), 1)
    dilations, n_biases = choose_dilations(n_points, max(n_biases_wanted // N_KERNELS, 1))
    n_combinations = len(dilations) * N_KERNELS
    channel_starts, channels = choose_channels(batch.values.shape[1], n_combinations, rng)
    quantiles = np.arange(1.0, int(n_biases.sum()) * N_KERNELS + 1.0, dtype=np.float64) * GOLDEN_RATIO % 1.0
    examples = rng.integers(len(batch.values), size=n_combinations)
    biases = choose_biases(
        batch.values,
        batch.lengths,
        difference,
        HEAVY_TAPS,
        dilations,
        n_biases,
        channel_starts,
        channels,
        examples,
        quantiles,
    )
    return Plan(dilations, n_biases, biases, channel_starts, channels)


def choose_dilations(n_points: int, n_per_kernel: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return dilations that grow exponentially up to the reach of the series, and how many biases each has.

    Examples
    --------
    >>> choose_dilations(65, 5)
    (array([1, 2, 4, 8], dtype=int32), array([2, 1, 1, 1], dtype=int32))
    """
    n_exponents = min(n_per_kernel, MAX_DILATIONS)
    reach = max(np.log2(max(n_points - 1, 1) / (N_TAPS - 1)), 0.0)
    candidates = np.floor(2.0 ** np.linspace(0, reach, n_exponents)).astype(np.int32)
    dilations, counts = np.unique(candidates, return_counts=True)
    n_biases = (counts * (n_per_kernel / n_exponents)).astype(np.int32)
    left = n_per_kernel - int(n_biases.sum())
    n_biases += np.bincount(np.arange(left) % len(dilations), minlength=len(dilations)).astype(np.int32)
    return dilations, n_biases


def choose_channels(
    n_channels: int, n_combinations: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return a random subset of channels for each combination: small ones are more likely, nine at most."""
    most = min(n_channels, MAX_CHANNELS)
    sizes = (2.0 ** rng.uniform(0, np.log2(most + 1), size=n_combinations)).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    if n_channels == 1:
        return starts, np.zeros(n_combinations, dtype=np.int32)
    subsets = [np.sort(rng.choice(n_channels, size, replace=False)) for size in sizes]
    return starts, np.concatenate(subsets).astype(np.int32)


@compiled
def choose_biases(
    values: NDArray[np.float32],
    lengths: NDArray[np.int64],
    difference: bool,
    heavy: NDArray[np.int32],
    dilations: NDArray[np.int32],
    n_biases: NDArray[np.int32],
    channel_starts: NDArray[np.int32],
    channels: NDArray[np.int32],
    examples: NDArray[np.int64],
    quantiles: NDArray[np.float64],
) -> NDArray[np.float32]:
    """Return each combination's biases: quantiles of its convolution with one example, ascending."""
    biases = np.zeros(len(quantiles), dtype=np.float32)
    first = 0
    for combination in range(len(examples)):
        position, kernel = divmod(combination, len(heavy))
        stop = first + n_biases[position]
        case = examples[combination]
        series = represent(values[case], lengths[case], difference)
        chosen = channels[channel_starts[combination] : channel_starts[combination + 1]]
        if series.shape[1] > 0:
            response = np.sort(respond(series, chosen, dilations[position], heavy[kernel]))
            wanted = np.sort(quantiles[first:stop])
            for bias in range(len(wanted)):
                biases[first + bias] = quantile(response, wanted[bias])
        first = stop
    return biases


@compiled
def quantile(ascending: NDArray[np.float32], fraction: float) -> float:
    """Return a quantile of sorted values, interpolated linearly between neighbours."""
    place = fraction * (len(ascending) - 1)
    below = int(place)
    above = min(below + 1, len(ascending) - 1)
    low = np.float64(ascending[below])
    return low + (place - below) * (np.float64(ascending[above]) - low)


@compiled
def respond(
    series: NDArray[np.float32], channels: NDArray[np.int32], dilation: int, heavy: NDArray[np.int32]
) -> NDArray[np.float32]:
    """Return one kernel's convolution at every point of a series, with zeros beyond its ends."""
    n_points = series.shape[1]
    lead = 4 * dilation
    padded = np.zeros(n_points + 2 * lead, dtype=np.float32)
    nine = np.empty(n_points, dtype=np.float32)
    response = np.empty(n_points, dtype=np.float32)
    sum_channels(series, channels, dilation, lead, padded, nine)
    convolve_fixed(padded, nine, dilation, lead, heavy, response)
    return response

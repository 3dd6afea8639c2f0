"""Bootstrap: how different a mean over cases could have turned out.

In:  one value per case.
Out: an interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.checks import integer, number
from millet.errors import ParameterError
from millet.metrics.inputs import Floats, as_numbers

N_RESAMPLES = 1000
CONFIDENCE = 0.95

# Resamples are drawn in blocks of about this many values, so that many cases need little memory.
BLOCK_VALUES = 1_000_000


class BootstrapInterval(NamedTuple):
    """The two ends of an interval."""

    low: float
    high: float


def resamples(n_cases: int, n_resamples: int, random_state: int) -> Iterator[NDArray[np.int64]]:
    """Yield blocks of resamples, each the numbers of n_cases cases drawn with replacement: (block, n_cases)."""
    rng = np.random.default_rng(random_state)
    block = max(1, BLOCK_VALUES // n_cases)
    for start in range(0, n_resamples, block):
        yield rng.integers(n_cases, size=(min(block, n_resamples - start), n_cases))


def percentile_interval(statistics: Floats, confidence: float) -> BootstrapInterval:
    """Return the interval that holds the middle `confidence` of the resampled statistics."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(statistics, [tail, 1 - tail])
    return BootstrapInterval(float(low), float(high))


def bootstrap_interval(
    values: ArrayLike,
    statistic: Callable[..., Any] = np.mean,
    *,
    confidence: float = CONFIDENCE,
    n_resamples: int = N_RESAMPLES,
    random_state: int = 0,
) -> BootstrapInterval:
    """Return a percentile bootstrap interval for a statistic of one value per case.

    Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), ch. 13. It tells how the statistic would vary
    with other cases from the same source, not with other trainings of the model.

    Parameters
    ----------
    values : array-like of shape (n_cases,)
        Finite; leave out cases that can't be scored, and say how many they are.
    statistic : callable, default=numpy.mean
        Called with (n, n_cases) values and ``axis=1``.
    confidence : float, default=0.95
    n_resamples : int, default=1000
    random_state : int, default=0

    Returns
    -------
    BootstrapInterval
        (low, high).

    Examples
    --------
    >>> low, high = bootstrap_interval([0.0, 1.0] * 50)
    >>> 0.39 < low < 0.5 < high < 0.61
    True
    """
    array = as_numbers("values", values)
    if array.ndim != 1 or not array.size:
        raise ParameterError(f"values must be one number a case, of at least one case; got shape {array.shape}.")
    number("confidence", confidence, above=0, below=1)
    integer("n_resamples", n_resamples, at_least=1)
    integer("random_state", random_state, at_least=0)
    found = [statistic(array[drawn], axis=1) for drawn in resamples(len(array), n_resamples, random_state)]
    return percentile_interval(np.concatenate(found), confidence)

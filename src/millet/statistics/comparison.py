"""Comparison: one classifier against another, many in several aims, and a result against repeated runs.

In:  results, plain arrays.
Out: small typed results, read by `millet.report`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from millet.errors import ParameterError
from millet.statistics.ranks import TIE_DECIMALS


@dataclass(frozen=True)
class HeadToHead:
    """One classifier against another, dataset by dataset.

    Attributes
    ----------
    wins, draws, losses : int
        Datasets on which the first is better, as good, worse.
    gains : ndarray of shape (n_datasets,)
        How much better the first is on each; negative where it is worse.
    """

    wins: int
    draws: int
    losses: int
    gains: NDArray[np.float64]

    @property
    def best(self) -> int:
        """The dataset with the first classifier's greatest gain."""
        return int(self.gains.argmax())

    @property
    def worst(self) -> int:
        """The dataset with its greatest loss."""
        return int(self.gains.argmin())


def head_to_head(
    ours: ArrayLike, theirs: ArrayLike, *, higher_is_better: bool = True, decimals: int = TIE_DECIMALS
) -> HeadToHead:
    """Compare two classifiers dataset by dataset.

    Parameters
    ----------
    ours, theirs : arrays of shape (n_datasets,)
        Results on the same datasets in the same order.
    higher_is_better : bool
        True for accuracy, False for a loss.
    decimals : int
        Results whose difference rounds to 0 are a draw.

    Returns
    -------
    HeadToHead

    Examples
    --------
    >>> duel = head_to_head([0.9, 0.8, 0.7], [0.8, 0.8, 0.9])
    >>> duel.wins, duel.draws, duel.losses, duel.best, duel.worst
    (1, 1, 1, 0, 2)
    """
    first, second = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape or not first.size:
        raise ParameterError(
            f"Two classifiers are compared on the same datasets; got shapes {first.shape} and {second.shape}."
        )
    gains = (first - second if higher_is_better else second - first).round(decimals) + 0.0
    if not np.isfinite(gains).all():
        raise ParameterError("Results must be finite numbers. Leave out the datasets that are not complete.")
    return HeadToHead(int((gains > 0).sum()), int((gains == 0).sum()), int((gains < 0).sum()), gains)


def pareto_front(points: ArrayLike) -> NDArray[np.bool_]:
    """Mark the points that no other beats: none is as good in every aim and better in one.

    Parameters
    ----------
    points : array of shape (n_points, n_aims)
        Results, the higher the better.

    Returns
    -------
    ndarray of bool, shape (n_points,)

    Examples
    --------
    >>> pareto_front([[0.84, 6.9], [0.85, 4.8], [0.83, 6.5]])
    array([ True,  True, False])
    """
    table = np.asarray(points, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ParameterError(f"points must be (n_points, n_aims), finite numbers; got shape {table.shape}.")
    as_good = (table[:, None] >= table[None]).all(axis=2)  # (i, j): i is as good as j in every aim
    better = (table[:, None] > table[None]).any(axis=2)
    return np.logical_not((as_good & better).any(axis=0))


@dataclass(frozen=True)
class Spread:
    """How far repeated runs of one model lie apart.

    Attributes
    ----------
    low, high : float
        The least and the greatest result.
    mean, sd : float
        Mean and sample standard deviation.
    n_runs : int
        How many runs there were.
    """

    low: float
    high: float
    mean: float
    sd: float
    n_runs: int

    def within_range(self, value: float) -> bool:
        """Whether a result lies between the least and the greatest run (to nine decimals)."""
        rounded = round(value, TIE_DECIMALS)
        return round(self.low, TIE_DECIMALS) <= rounded <= round(self.high, TIE_DECIMALS)

    def within_two_sd(self, value: float) -> bool:
        """Whether a result lies within two standard deviations of the mean (to nine decimals)."""
        return round(abs(value - self.mean) - 2 * self.sd, TIE_DECIMALS) <= 0

    def verdict(self, value: float) -> str:
        """Return "yes" inside the range, "within 2 sd" outside it but near, "no" otherwise."""
        if self.within_range(value):
            return "yes"
        return "within 2 sd" if self.within_two_sd(value) else "no"


def run_spread(runs: ArrayLike) -> Spread:
    """Describe how far repeated runs lie apart.

    Parameters
    ----------
    runs : array of shape (n_runs,)
        Results of at least two runs.

    Returns
    -------
    Spread

    Examples
    --------
    >>> spread = run_spread([0.90, 0.92, 0.91, 0.90, 0.92])
    >>> spread.verdict(0.915), spread.verdict(0.925), spread.verdict(0.95)
    ('yes', 'within 2 sd', 'no')
    """
    values = np.asarray(runs, dtype=np.float64)
    if values.ndim != 1 or values.size < 2 or not np.isfinite(values).all():
        raise ParameterError(f"A spread needs at least two runs with finite results; got {values.tolist()}.")
    return Spread(
        float(values.min()), float(values.max()), float(values.mean()), float(values.std(ddof=1)), values.size
    )


def chance_inside(n_ours: int, n_theirs: int) -> float:
    """Return how often the mean of some runs lies near other runs of the same model, by chance alone.

    Near is within two of their standard deviations of their mean, as in `Spread.verdict`: the range of at most five
    runs always lies within that.

    Parameters
    ----------
    n_ours : int
        Runs in the mean.
    n_theirs : int
        Other runs, at least two.

    Examples
    --------
    >>> round(chance_inside(1, 5), 2), round(chance_inside(3, 5), 2)
    (0.86, 0.95)
    """
    if n_ours < 1 or n_theirs < 2:
        raise ParameterError(f"This needs a run, and two others beside it; got {n_ours} and {n_theirs}.")
    # The difference of both means, over the standard deviation of theirs, has Student's distribution, scaled.
    width = 2 / np.sqrt(1 / n_ours + 1 / n_theirs)
    return float(2 * student.cdf(width, n_theirs - 1) - 1)


def chance_of_so_few(n_held: int, chances: Sequence[float]) -> float:
    """Return how likely it is that only `n_held` of some independent events happen, or fewer.

    Parameters
    ----------
    n_held : int
        How many did happen.
    chances : sequence of float
        How likely each of them is.

    Examples
    --------
    >>> chance_of_so_few(1, [0.5, 0.5]), chance_of_so_few(2, [0.5, 0.5])
    (0.75, 1.0)
    """
    counts: NDArray[Any] = np.ones(1)  # how likely each number of them is
    for chance in chances:
        counts = np.convolve(counts, [1 - chance, chance])
    return float(min(counts[: n_held + 1].sum(), 1.0))

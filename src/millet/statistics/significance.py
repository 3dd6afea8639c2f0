"""Significance: whether classifiers differ, and which of them.

Friedman's test over all, Wilcoxon's signed-rank test for each pair with Holm's correction, and the cliques of
classifiers that can't be told apart (Demšar 2006, with the pairwise test of Benavoli et al. 2016).

In:  results, datasets in rows and classifiers in columns.
Out: `Comparison`, drawn by `millet.report.plot_critical_difference`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.checks import number
from millet.errors import ParameterError
from millet.statistics.ranks import TIE_DECIMALS, average_ranks, check_results


class FriedmanResult(NamedTuple):
    """Whether any of the classifiers differs: the statistic, and how likely one that large is by chance."""

    statistic: float
    p_value: float


@dataclass(frozen=True)
class Comparison:
    """Classifiers compared over datasets, in the order they were given.

    Attributes
    ----------
    names : tuple of str
        The classifiers.
    n_datasets : int
        How many datasets they were compared on.
    ranks : ndarray of shape (n_classifiers,)
        Average ranks, 1 is best.
    friedman : FriedmanResult or None
        None for two classifiers, where the pairwise test says it all.
    p_values : ndarray of shape (n_classifiers, n_classifiers)
        Holm-adjusted p-values of the pairs; 1 on the diagonal.
    cliques : tuple of tuples of int
        Classifiers that can't be told apart, each clique from the best rank to the worst.
    alpha : float
        The level of significance.
    """

    names: tuple[str, ...]
    n_datasets: int
    ranks: NDArray[np.float64]
    friedman: FriedmanResult | None
    p_values: NDArray[np.float64]
    cliques: tuple[tuple[int, ...], ...]
    alpha: float


def friedman_test(values: ArrayLike, *, decimals: int = TIE_DECIMALS) -> FriedmanResult:
    """Test whether all classifiers perform alike (Friedman's chi-square, corrected for ties).

    Parameters
    ----------
    values : array of shape (n_datasets, n_classifiers)
        Results of at least three classifiers; whether high or low is better makes no difference.
    decimals : int
        Results that agree to this many decimals tie.

    Returns
    -------
    FriedmanResult
        The p-value is 1 where all classifiers tie on all datasets.

    Examples
    --------
    >>> result = friedman_test([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.8, 0.7, 0.6]])
    >>> round(result.statistic, 3), round(result.p_value, 3)
    (6.0, 0.05)
    """
    from scipy.stats import friedmanchisquare

    table = check_results(values, decimals)
    if table.shape[1] < 3:
        raise ParameterError(
            f"Friedman's test compares at least three classifiers; got {table.shape[1]}. "
            "For two, use pairwise_wilcoxon."
        )
    if (table == table[:, :1]).all():
        return FriedmanResult(0.0, 1.0)
    result = friedmanchisquare(*table.T)
    return FriedmanResult(float(result.statistic), float(result.pvalue))


def pairwise_wilcoxon(values: ArrayLike, *, decimals: int = TIE_DECIMALS) -> NDArray[np.float64]:
    """Test each pair of classifiers by Wilcoxon's signed-rank test, two-sided, not corrected.

    Parameters
    ----------
    values : array of shape (n_datasets, n_classifiers)
        Results, finite.
    decimals : int
        Differences are rounded to this many decimals; datasets where that leaves 0 are left out of the pair's test,
        which is ``scipy.stats.wilcoxon`` on the others.

    Returns
    -------
    ndarray of shape (n_classifiers, n_classifiers)
        p-values, symmetric, 1 on the diagonal and where a pair ties on every dataset.

    Examples
    --------
    >>> pairwise_wilcoxon([[0.9, 0.8], [0.6, 0.4], [0.8, 0.5], [0.7, 0.3], [0.9, 0.4]])
    array([[1.    , 0.0625],
           [0.0625, 1.    ]])
    """
    from scipy.stats import wilcoxon

    table = check_results(values, decimals)
    n_classifiers = table.shape[1]
    p_values = np.ones((n_classifiers, n_classifiers))
    for first, second in zip(*np.triu_indices(n_classifiers, k=1), strict=True):
        differences = (table[:, first] - table[:, second]).round(decimals)
        differences = differences[differences != 0]
        if differences.size:
            p_values[first, second] = p_values[second, first] = wilcoxon(differences).pvalue
    return p_values


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values for having made several tests at once (Holm's step-down method).

    Parameters
    ----------
    p_values : array of shape (n_tests,)
        One p-value for each test.

    Returns
    -------
    ndarray of shape (n_tests,)
        To be compared directly with the level of significance.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    given = np.asarray(p_values, dtype=np.float64)
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        raise ParameterError("p_values must be a list of numbers between 0 and 1.")
    order = np.argsort(given, kind="stable")
    scaled = given[order] * np.arange(given.size, 0, -1)
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def find_cliques(ranks: ArrayLike, different: ArrayLike) -> tuple[tuple[int, ...], ...]:
    """Find the largest groups of classifiers, neighbours by rank, of which no two differ significantly.

    Parameters
    ----------
    ranks : array of shape (n_classifiers,)
        Average ranks.
    different : array of bool, shape (n_classifiers, n_classifiers)
        Whether a pair differs significantly; symmetric.

    Returns
    -------
    tuple of tuples of int
        Groups of at least two that lie in no larger group; each from the best rank to the worst.

    Examples
    --------
    Only the first and the third differ: two overlapping cliques.

    >>> find_cliques([1.0, 2.0, 3.0], [[False, False, True], [False, False, False], [True, False, False]])
    ((0, 1), (1, 2))
    """
    place = np.argsort(np.asarray(ranks, dtype=np.float64), kind="stable")
    pairs = np.asarray(different, dtype=bool)
    if pairs.shape != (place.size, place.size) or (pairs != pairs.T).any():
        raise ParameterError(
            f"different must be a symmetric table of {place.size} × {place.size}; got shape {pairs.shape}."
        )
    pairs = pairs[np.ix_(place, place)]
    cliques: list[tuple[int, ...]] = []
    reached = 0
    for start in range(place.size):
        stop = start + 1
        while stop < place.size and not pairs[start:stop, stop].any():
            stop += 1
        # A group that ends where an earlier one ended lies inside it.
        if stop - start > 1 and stop > reached:
            cliques.append(tuple(int(classifier) for classifier in place[start:stop]))
        reached = max(reached, stop)
    return tuple(cliques)


def compare_classifiers(
    values: ArrayLike,
    names: Sequence[str],
    *,
    higher_is_better: bool = True,
    alpha: float = 0.05,
    decimals: int = TIE_DECIMALS,
) -> Comparison:
    """Compare classifiers over datasets: ranks, Friedman's test, corrected pairwise tests, cliques.

    Parameters
    ----------
    values : array of shape (n_datasets, n_classifiers)
        Results of at least two classifiers, finite.
    names : sequence of str
        The classifiers, all different.
    higher_is_better : bool
        True for accuracy, False for a loss.
    alpha : float
        The level of significance, between 0 and 1, of the whole family of pairwise tests. Where Friedman's test
        finds no difference at this level, no pair is called different.
    decimals : int
        Results that agree to this many decimals tie.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> accuracy = np.array([0.9, 0.88, 0.5]) + np.linspace(0, 0.05, 20)[:, None]
    >>> comparison = compare_classifiers(accuracy, ["a", "b", "c"])
    >>> comparison.ranks, comparison.cliques
    (array([1., 2., 3.]), ())
    """
    table = check_results(values, decimals)
    if table.shape[1] != len(names) or len(names) < 2:
        raise ParameterError(f"{table.shape[1]} classifiers with {len(names)} names can't be compared.")
    if len(set(names)) < len(names):
        raise ParameterError(f"names must be different, to tell the classifiers apart; got {', '.join(names)}.")
    alpha = number("alpha", alpha, above=0, below=1)
    ranks = average_ranks(table, higher_is_better=higher_is_better, decimals=decimals)
    friedman = friedman_test(table, decimals=decimals) if len(names) > 2 else None
    p_values = pairwise_wilcoxon(table, decimals=decimals)
    upper = np.triu_indices(len(names), k=1)
    p_values[upper] = holm(p_values[upper])
    p_values.T[upper] = p_values[upper]
    any_different = friedman is None or friedman.p_value < alpha
    cliques = find_cliques(ranks, (p_values < alpha) & any_different)
    return Comparison(tuple(names), len(table), ranks, friedman, p_values, cliques, alpha)

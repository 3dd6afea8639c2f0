"""Properties: on which kinds of dataset a classifier is good, and how steady it is.

In:  labels, sizes and results, plain arrays.
Out: balances, bins and deviations, read by `millet.report`.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.checks import integer
from millet.errors import LabelError, ParameterError
from millet.statistics.ranks import TIE_DECIMALS, check_results

# Below this the paper calls a dataset imbalanced.
BALANCE_THRESHOLD = 0.9


def class_balance(y: ArrayLike, n_classes: int | None = None) -> float:
    """Measure how evenly the classes are filled: normalised Shannon entropy (Sec. E.2 of the paper).

    Parameters
    ----------
    y : array of shape (n_cases,)
        Labels.
    n_classes : int, optional
        How many classes there are, if some may have no case here; by default those in `y`.

    Returns
    -------
    float
        1 where all classes have equally many cases, near 0 where almost all cases are of one class.

    Examples
    --------
    >>> class_balance(["a", "b", "a", "b"])
    1.0
    >>> round(class_balance([0] * 9 + [1]), 3)
    0.469
    """
    labels: NDArray[Any] = np.asarray(y)
    counts = np.unique(labels, return_counts=True)[1]
    classes = len(counts) if n_classes is None else integer("n_classes", n_classes, at_least=max(1, len(counts)))
    if classes < 2:
        raise LabelError("Balance is between classes; the labels have only one.")
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum() / np.log(classes)) + 0.0


class Bin(NamedTuple):
    """Datasets of similar size: the least and greatest value, and which datasets lie there."""

    low: float
    high: float
    members: tuple[int, ...]


def equal_count_bins(values: ArrayLike, n_bins: int) -> tuple[Bin, ...]:
    """Split values into ranges that hold about equally many; equal values stay together.

    Parameters
    ----------
    values : array of shape (n_values,)
        Lengths, training sizes ...
    n_bins : int
        How many bins are wanted; where values repeat there may be fewer.

    Returns
    -------
    tuple of Bin
        In ascending order; none is empty and every value is in one of them.

    Examples
    --------
    >>> for low, high, members in equal_count_bins([24, 1024, 80, 80, 96, 500], 3):
    ...     print(low, high, members)
    24.0 80.0 (0, 2, 3)
    96.0 96.0 (4,)
    500.0 1024.0 (5, 1)
    """
    given = np.asarray(values, dtype=np.float64)
    wanted = integer("n_bins", n_bins, at_least=1)
    if given.ndim != 1 or not given.size or not np.isfinite(given).all():
        raise ParameterError("values must be a list of at least one finite number.")
    order = np.argsort(given, kind="stable")
    ordered = given[order]
    ideal = np.arange(1, wanted) * given.size / wanted
    # The cut goes before or after a run of equal values, whichever is nearer to the ideal place.
    starts = np.searchsorted(ordered, ordered[np.minimum(ideal.astype(int), given.size - 1)], side="left")
    stops = np.searchsorted(ordered, ordered[starts], side="right")
    cuts = np.where(ideal - starts < stops - ideal, starts, stops)
    edges = np.unique(np.concatenate([[0], cuts, [given.size]]).astype(int))
    return tuple(
        Bin(float(ordered[low]), float(ordered[high - 1]), tuple(int(member) for member in order[low:high]))
        for low, high in itertools.pairwise(edges)
    )


def deviations_from_median(values: ArrayLike, *, decimals: int = TIE_DECIMALS) -> NDArray[np.float64]:
    """Subtract from each result the median of all classifiers on that dataset.

    The variance of a column says how unsteady that classifier is (App. E.3 of the paper).

    Parameters
    ----------
    values : array of shape (n_datasets, n_classifiers)
        Results, finite.
    decimals : int
        Results are rounded to this many decimals.

    Returns
    -------
    ndarray of shape (n_datasets, n_classifiers)

    Examples
    --------
    >>> deviations_from_median([[0.5, 0.75, 1.0]])
    array([[-0.25,  0.  ,  0.25]])
    """
    table = check_results(values, decimals)
    deviations: NDArray[np.float64] = table - np.median(table, axis=1, keepdims=True)
    return deviations

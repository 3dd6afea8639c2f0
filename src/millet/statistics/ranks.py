"""Ranks and wins: who is best on a dataset, and on average.

In:  results, datasets in rows and classifiers in columns.
Out: ranks and counts, read by `millet.statistics.significance` and `millet.report`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.errors import ParameterError

# Results that were computed twice may differ in their last bits, and tie all the same.
TIE_DECIMALS = 9


def check_results(values: ArrayLike, decimals: int) -> NDArray[np.float64]:
    """Return results as a table of finite numbers, rounded, or say what is wrong with them."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise ParameterError(
            f"Results must be (n_datasets, n_classifiers), at least one of each; got shape {table.shape}."
        )
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise ParameterError(
            f"Results must be finite numbers; row {row}, column {column} holds {table[row, column]}. "
            "Leave out the datasets that are not complete."
        )
    return table.round(decimals) + 0.0  # + 0.0 turns -0.0 into 0.0


def dataset_ranks(
    values: ArrayLike, *, higher_is_better: bool = True, decimals: int = TIE_DECIMALS
) -> NDArray[np.float64]:
    """Rank the classifiers on each dataset; 1 is best, and those that tie share the mean of their ranks.

    Parameters
    ----------
    values : array of shape (n_datasets, n_classifiers)
        Results, finite.
    higher_is_better : bool
        True for accuracy, False for a loss.
    decimals : int
        Results that agree to this many decimals tie.

    Returns
    -------
    ndarray of shape (n_datasets, n_classifiers)

    Examples
    --------
    >>> dataset_ranks([[0.9, 0.8, 0.9], [0.5, 0.6, 0.7]])
    array([[1.5, 3. , 1.5],
           [3. , 2. , 1. ]])
    """
    from scipy.stats import rankdata

    table = check_results(values, decimals)
    ranks: NDArray[np.float64] = rankdata(-table if higher_is_better else table, axis=1)
    return ranks


def average_ranks(
    values: ArrayLike, *, higher_is_better: bool = True, decimals: int = TIE_DECIMALS
) -> NDArray[np.float64]:
    """Average each classifier's rank over the datasets.

    Parameters
    ----------
    values : array of shape (n_datasets, n_classifiers)
        Results, finite.
    higher_is_better : bool
        True for accuracy, False for a loss.
    decimals : int
        Results that agree to this many decimals tie.

    Returns
    -------
    ndarray of shape (n_classifiers,)
        The lower the better; they add up to n_classifiers (n_classifiers + 1) / 2.

    Examples
    --------
    >>> average_ranks([[0.9, 0.8, 0.9], [0.5, 0.6, 0.7]])
    array([2.25, 2.5 , 1.25])
    """
    ranks = dataset_ranks(values, higher_is_better=higher_is_better, decimals=decimals)
    mean: NDArray[np.float64] = ranks.mean(axis=0)
    return mean


def count_wins(
    values: ArrayLike, *, higher_is_better: bool = True, decimals: int = TIE_DECIMALS
) -> NDArray[np.int64]:
    """Count the datasets on which each classifier is best; all that tie for first place win.

    Parameters
    ----------
    values : array of shape (n_datasets, n_classifiers)
        Results, finite.
    higher_is_better : bool
        True for accuracy, False for a loss.
    decimals : int
        Results that agree to this many decimals tie. The paper's wins are those of results rounded to 3 decimals
        (its ranks are not).

    Returns
    -------
    ndarray of int, shape (n_classifiers,)

    Examples
    --------
    >>> count_wins([[0.9, 0.8, 0.9], [0.5, 0.6, 0.7]])
    array([1, 0, 2])
    """
    table = check_results(values, decimals)
    best = table.max(axis=1) if higher_is_better else table.min(axis=1)
    wins: NDArray[np.int64] = (table == best[:, None]).sum(axis=0)
    return wins

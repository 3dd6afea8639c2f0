"""Sparsity: whether the evidence sits in a few timepoints or is spread over the series.

In:  scores (n_cases, n_timepoints); their signs do not matter.
Out: one number per case; NaN for a case whose scores are all 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from millet.metrics.inputs import Floats, as_lengths, as_scores


def gini(scores: ArrayLike, *, lengths: ArrayLike | None = None) -> Floats:
    """Return the Gini index of the scores' absolute values.

    Hurley and Rickard, "Comparing Measures of Sparsity" (2009), who find that it alone of the common measures has
    all the properties one would ask of sparsity; used for explanations by Chalasani et al., "Concise Explanations of
    Neural Networks using Adversarial Training" (2020).

    Parameters
    ----------
    scores : array-like of shape (n_cases, n_timepoints)
    lengths : array-like of int, shape (n_cases,), optional
        Where cases end.

    Returns
    -------
    ndarray of shape (n_cases,)
        0 where all timepoints count the same, near 1 where one counts alone; NaN where none does.

    Examples
    --------
    >>> gini([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, -5.0, 0.0]])
    array([0.  , 0.75])
    """
    return _of_shares(_gini, scores, lengths)


def entropy(scores: ArrayLike, *, lengths: ArrayLike | None = None) -> Floats:
    """Return the entropy of the scores' absolute values, as a fraction of the largest possible.

    Shannon's entropy of the timepoints' shares of the evidence: the "complexity" of an explanation in Bhatt et al.,
    "Evaluating and Aggregating Feature-based Model Explanations" (2020), divided by the logarithm of the length.

    Parameters
    ----------
    scores, lengths
        See `gini`.

    Returns
    -------
    ndarray of shape (n_cases,)
        1 where all timepoints count the same, 0 where one counts alone; NaN where none does, or there is only one.

    Examples
    --------
    >>> entropy([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, -5.0, 0.0]])
    array([1., 0.])
    """
    return _of_shares(_entropy, scores, lengths)


def _of_shares(metric: Callable[[Floats], float], scores: ArrayLike, lengths: ArrayLike | None) -> Floats:
    sizes = np.abs(as_scores("scores", scores))
    found = np.full(len(sizes), np.nan)
    for case, end in enumerate(as_lengths(lengths, *sizes.shape).tolist()):
        own = sizes[case, :end]
        if own.max() > 0:
            own = own / own.max()  # first, so that the sum of very large scores is finite
            found[case] = metric(own / own.sum())
    return found


def _gini(shares: Floats) -> float:
    n = len(shares)
    weights = (n - np.arange(1, n + 1) + 0.5) / n
    # Rounding must not make an even spread look less than even.
    return max(0.0, float(1 - 2 * (np.sort(shares) * weights).sum()))


def _entropy(shares: Floats) -> float:
    if len(shares) == 1:
        return float("nan")
    positive = shares[shares > 0]
    return min(1.0, float(np.abs((positive * np.log(positive)).sum()) / np.log(len(shares))))

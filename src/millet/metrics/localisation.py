"""Localisation: whether scores point at the timepoints that are known to matter.

In:  scores of the true class and known relevance, both (n_cases, n_timepoints).
Out: one number per case; NaN for a case that can't be scored because none of its timepoints is relevant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from millet.metrics.inputs import Floats, Mask, as_lengths, as_relevant, as_scores, most_relevant_first


def ndcg_at_n(scores: ArrayLike, relevant: ArrayLike, *, lengths: ArrayLike | None = None) -> Floats:
    """Return the normalised discounted cumulative gain of the first n timepoints, where n is how many are relevant.

    App. D.1 of the paper, whose scores are those of the true class. A case in which every timepoint is relevant gets
    1.0 by construction, whatever the scores; the paper's means include such cases (class 0 of WebTraffic).

    Parameters
    ----------
    scores : array-like of shape (n_cases, n_timepoints)
        Among equal scores, the earlier timepoint ranks first.
    relevant : array-like of bool, shape (n_cases, n_timepoints)
    lengths : array-like of int, shape (n_cases,), optional
        Where cases end; beyond it scores and relevance are ignored.

    Returns
    -------
    ndarray of shape (n_cases,)
        From 0 to 1 (best); NaN for cases without a relevant timepoint.

    Examples
    --------
    >>> ndcg_at_n([[9, 8, 1, 0], [1, 0, 8, 9]], [[True, True, False, False]] * 2)
    array([1., 0.])
    """
    return _per_case(_ndcg, scores, relevant, lengths)


def aup(scores: ArrayLike, relevant: ArrayLike, *, lengths: ArrayLike | None = None) -> Floats:
    """Return the area under the precision curve: how much of what the scores point at is relevant.

    Crabbé and van der Schaar, "Explaining Time Series Predictions with Dynamic Masks" (2021). A case's scores are
    scaled to [0, 1]; a timepoint is pointed at if its score reaches a threshold, and the precision is averaged over
    all thresholds from 0 to 1, exactly.

    Parameters
    ----------
    scores, relevant, lengths
        See `ndcg_at_n`.

    Returns
    -------
    ndarray of shape (n_cases,)
        From 0 to 1 (best); NaN for cases without a relevant timepoint or with constant scores.

    Examples
    --------
    >>> aup([[1.0, 0.0, 0.0, 0.5]], [[True, False, False, False]])
    array([0.75])
    """
    return _per_case(_aup, scores, relevant, lengths)


def aur(scores: ArrayLike, relevant: ArrayLike, *, lengths: ArrayLike | None = None) -> Floats:
    """Return the area under the recall curve: how much of what is relevant the scores point at.

    See `aup`. Averaged over all thresholds, recall is the mean scaled score of the relevant timepoints.

    Parameters
    ----------
    scores, relevant, lengths
        See `ndcg_at_n`.

    Returns
    -------
    ndarray of shape (n_cases,)
        From 0 to 1 (best); NaN for cases without a relevant timepoint or with constant scores.

    Examples
    --------
    >>> aur([[1.0, 0.0, 0.0, 0.5]], [[True, False, False, True]])
    array([0.75])
    """
    return _per_case(_aur, scores, relevant, lengths)


def auprc(scores: ArrayLike, relevant: ArrayLike, *, lengths: ArrayLike | None = None) -> Floats:
    """Return the area under the precision-recall curve, as average precision.

    Crabbé and van der Schaar (2021) report it beside `aup` and `aur`. It depends on the scores' order alone. The
    area is scikit-learn's step function, which does not interpolate between thresholds and so does not flatter.

    Parameters
    ----------
    scores, relevant, lengths
        See `ndcg_at_n`.

    Returns
    -------
    ndarray of shape (n_cases,)
        Up to 1 (best); for constant scores, the fraction of timepoints that are relevant. NaN for cases without a
        relevant timepoint.

    Examples
    --------
    >>> auprc([[3.0, 2.0, 1.0, 0.0]], [[True, False, True, False]]).round(3)
    array([0.833])
    """
    return _per_case(_average_precision, scores, relevant, lengths)


def _per_case(
    metric: Callable[[Floats, Mask], float], scores: Any, relevant: Any, lengths: ArrayLike | None
) -> Floats:
    values = as_scores("scores", scores)
    known = as_relevant(relevant, values.shape)
    ends = as_lengths(lengths, *values.shape)
    found = np.full(len(values), np.nan)
    for case, end in enumerate(ends.tolist()):
        if known[case, :end].any():
            found[case] = metric(values[case, :end], known[case, :end])
    return found


def _ndcg(scores: Floats, relevant: Mask) -> float:
    n = int(relevant.sum())
    discounts = 1 / np.log2(np.arange(2, n + 2))
    hits = relevant[most_relevant_first(scores)[:n]]
    # Both summed in the same way, so that a perfect order gets exactly 1.
    return float(np.where(hits, discounts, 0.0).sum() / discounts.sum())


def _aup(scores: Floats, relevant: Mask) -> float:
    scaled = _scaled(scores)
    order = most_relevant_first(scaled)
    precision = np.cumsum(relevant[order]) / np.arange(1, len(order) + 1)
    # Between two neighbouring scores the precision does not change; below the lowest there is no threshold.
    heights = -np.diff(scaled[order], append=0.0)
    return float((precision * heights).sum())


def _aur(scores: Floats, relevant: Mask) -> float:
    return float(_scaled(scores)[relevant].mean())


def _average_precision(scores: Floats, relevant: Mask) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(relevant, scores))


def _scaled(scores: Floats) -> Floats:
    """Scale to [0, 1]; NaN where all scores are the same."""
    lowest, highest = scores.min(), scores.max()
    if lowest == highest:
        return np.full_like(scores, np.nan)
    # Halved first: the range of very large scores would be infinite.
    scaled: Floats = (scores / 2 - lowest / 2) / (highest / 2 - lowest / 2)
    return scaled

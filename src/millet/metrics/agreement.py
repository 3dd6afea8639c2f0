"""Agreement: whether several explanations of the same cases say the same thing.

In:  scores of the members of an ensemble, of models from several seeds, or of several methods.
Out: one number per case.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from millet.checks import number
from millet.errors import ParameterError
from millet.explanation import Explanation
from millet.explanation.matching import are_of_same_cases
from millet.metrics.inputs import Floats, as_lengths, as_scores, most_relevant_first, parts_of


class Agreement(NamedTuple):
    """How alike explanations are, as a mean over all pairs of them.

    Attributes
    ----------
    rank_correlation, top_overlap : ndarray of shape (n_cases,)
        See the functions of these names.
    """

    rank_correlation: Floats
    top_overlap: Floats


def rank_correlation(first: ArrayLike, second: ArrayLike, *, lengths: ArrayLike | None = None) -> Floats:
    """Return Spearman's correlation of two sets of scores, case by case.

    Parameters
    ----------
    first, second : array-like of shape (n_cases, n_timepoints)
    lengths : array-like of int, shape (n_cases,), optional
        Where cases end.

    Returns
    -------
    ndarray of shape (n_cases,)
        1 for the same order of timepoints, -1 for the opposite; NaN where either is constant.

    Examples
    --------
    >>> rank_correlation([[1, 2, 3], [1, 2, 3]], [[10, 20, 99], [3, 2, 1]])
    array([ 1., -1.])
    """
    one, other = _pair(first, second)
    ends = as_lengths(lengths, *one.shape).tolist()
    return np.array([_spearman(one[case, :end], other[case, :end]) for case, end in enumerate(ends)])


def top_overlap(
    first: ArrayLike, second: ArrayLike, *, fraction: float = 0.1, lengths: ArrayLike | None = None
) -> Floats:
    """Return the part of the most relevant timepoints that two sets of scores share, case by case.

    Parameters
    ----------
    first, second : array-like of shape (n_cases, n_timepoints)
        Among equal scores, the earlier timepoint ranks first.
    fraction : float, default=0.1
        How many timepoints are the most relevant, as a fraction of all; at least one.
    lengths : array-like of int, shape (n_cases,), optional
        Where cases end.

    Returns
    -------
    ndarray of shape (n_cases,)
        From 0 to 1; about `fraction` by chance. NaN where either is constant, since it singles out no timepoints.

    Examples
    --------
    >>> top_overlap([[5, 4, 0, 0]], [[5, 0, 0, 4]], fraction=0.5)
    array([0.5])
    """
    one, other = _pair(first, second)
    ends = as_lengths(lengths, *one.shape)
    part = number("fraction", fraction, above=0, below=1)
    counts = np.maximum(parts_of(np.array([part]), ends)[:, 0], 1)
    shared = np.full(len(one), np.nan)
    for case, (end, count) in enumerate(zip(ends.tolist(), counts.tolist(), strict=True)):
        both = one[case, :end], other[case, :end]
        if all(np.ptp(scores) for scores in both):
            first_top, second_top = (most_relevant_first(scores)[:count] for scores in both)
            shared[case] = np.isin(first_top, second_top).mean()
    return shared


def agreement(
    explanations: Explanation | Sequence[Any],
    target: ArrayLike | None = None,
    *,
    fraction: float = 0.1,
    lengths: ArrayLike | None = None,
) -> Agreement:
    """Return how far several explanations of the same cases agree, as a mean over all pairs.

    Evidence that changes with the seed says more about the seed than about the series.

    Parameters
    ----------
    explanations : Explanation or sequence
        An `Explanation` with `members`; or two or more explanations, of models from several seeds or by several
        methods; or arrays of shape (n_cases, n_timepoints).
    target : label, sequence of labels, or None
        The class whose scores are compared; by default the class predicted by the ensemble, for its members, or by
        the first of a sequence. Not used for arrays.
    fraction : float, default=0.1
        See `top_overlap`.
    lengths : array-like of int, shape (n_cases,), optional
        Where cases end; explanations know that themselves.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> agreement([[[1.0, 2.0, 3.0]], [[1.0, 2.0, 4.0]], [[3.0, 2.0, 1.0]]]).rank_correlation.round(3)
    array([-0.333])
    """
    scores, ends = _score_arrays(explanations, target)
    ends = lengths if ends is None else ends
    pairs = list(combinations(scores, 2))
    if not pairs:
        raise ParameterError(
            "agreement needs at least two explanations of the same cases, or one of an ensemble: "
            "classifier.explain(X, members=True)."
        )
    correlations = [rank_correlation(*pair, lengths=ends) for pair in pairs]
    overlaps = [top_overlap(*pair, fraction=fraction, lengths=ends) for pair in pairs]
    return Agreement(np.mean(correlations, axis=0), np.mean(overlaps, axis=0))


def _score_arrays(explanations: Any, target: ArrayLike | None) -> tuple[list[Any], ArrayLike | None]:
    single = isinstance(explanations, Explanation)
    parts = list(explanations.members) if single else list(explanations)
    if not any(isinstance(part, Explanation) for part in parts):
        return parts, None
    if not all(isinstance(part, Explanation) for part in parts):
        raise ParameterError("agreement takes explanations or arrays, not a mixture of both.")
    first = explanations if single else parts[0]
    for part in parts:
        same = np.array_equal(part.classes, first.classes) and are_of_same_cases(part, first)
        if part.scores.shape != first.scores.shape or not same:
            raise ParameterError(
                "agreement needs explanations of the same cases, in the same order, and with the same classes; got "
                f"{first!r} and {part!r}."
            )
    codes = first.class_codes(target)
    return [part.scores[np.arange(len(codes)), codes] for part in parts], first.lengths


def _pair(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    one, other = as_scores("scores", first), as_scores("scores", second)
    if one.shape != other.shape:
        raise ParameterError(
            f"Both scores must have one shape, of the same cases; got {one.shape} and {other.shape}."
        )
    return one, other


def _spearman(one: Floats, other: Floats) -> float:
    from scipy.stats import rankdata

    ranks = np.array([rankdata(one), rankdata(other)])
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    sizes = np.sqrt((centred**2).sum(axis=1))
    return float(centred[0] @ centred[1] / (sizes[0] * sizes[1])) if sizes.all() else float("nan")

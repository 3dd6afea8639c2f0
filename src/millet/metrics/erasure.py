"""Comprehensiveness and sufficiency: what the prediction loses without its evidence, and with nothing else.

In:  a model, series and scores.
Out: one number per case, in units of probability.

Both are from DeYoung et al., "ERASER: A Benchmark to Evaluate Rationalized NLP Models" (2020), who take tokens of a
text where we take timepoints, and average over the same five fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from millet.metrics.inputs import Floats, as_fractions, parts_of
from millet.metrics.perturbation import order_by
from millet.metrics.subject import BATCH_SIZE, Subject, read_class

ERASURE_FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.5)


def comprehensiveness(
    model: Any,
    X: Any,
    scores: ArrayLike,
    target: ArrayLike | None = None,
    *,
    fractions: Sequence[float] = ERASURE_FRACTIONS,
    removal: str = "remove",
    batch_size: int = BATCH_SIZE,
    random_state: int = 0,
    progress: bool = False,
) -> Floats:
    """Return the mean loss of the target class's probability when its most relevant timepoints are removed.

    Parameters
    ----------
    model, X, scores, target, removal, batch_size, random_state, progress
        See `perturbation_curve`.
    fractions : sequence of float
        The fractions of the timepoints to remove; at least one timepoint is removed, and one stays.

    Returns
    -------
    ndarray of shape (n_cases,)
        Between -1 and 1. High: the evidence was needed.

    Examples
    --------
    >>> X = np.array([[9.0, 0.0, 0.0, 0.0]])
    >>> comprehensiveness(lambda X: [[series.max(), 0.0] for series in X], X, X).round(2)
    array([0.5])
    """
    subject = Subject(model, X, removal=removal, batch_size=batch_size, random_state=random_state, progress=progress)
    return lost_probability(subject, scores, target, keep=False, fractions=fractions)


def sufficiency(
    model: Any,
    X: Any,
    scores: ArrayLike,
    target: ArrayLike | None = None,
    *,
    fractions: Sequence[float] = ERASURE_FRACTIONS,
    removal: str = "remove",
    batch_size: int = BATCH_SIZE,
    random_state: int = 0,
    progress: bool = False,
) -> Floats:
    """Return the mean loss of the target class's probability when only its most relevant timepoints are left.

    Parameters
    ----------
    model, X, scores, target, removal, batch_size, random_state, progress
        See `perturbation_curve`.
    fractions : sequence of float
        The fractions of the timepoints to keep; at least one timepoint stays.

    Returns
    -------
    ndarray of shape (n_cases,)
        Between -1 and 1. Low: the evidence was enough; below 0, the rest spoke against the class.

    Examples
    --------
    >>> X = np.array([[9.0, 0.0, 0.0, 0.0]])
    >>> sufficiency(lambda X: [[series.max(), 0.0] for series in X], X, X).round(2)
    array([0.])
    """
    subject = Subject(model, X, removal=removal, batch_size=batch_size, random_state=random_state, progress=progress)
    return lost_probability(subject, scores, target, keep=True, fractions=fractions)


def lost_probability(
    subject: Subject,
    scores: ArrayLike,
    target: ArrayLike | None = None,
    *,
    keep: bool,
    fractions: Sequence[float] = ERASURE_FRACTIONS,
) -> Floats:
    """Return the mean loss of the target's probability without the evidence, or (`keep`) without all else."""
    codes = subject.targets(target, scores)
    order = order_by(subject.scores_of(scores, codes), subject.lengths, reverse=keep)
    lengths = subject.lengths[:, None]
    counts = np.maximum(parts_of(as_fractions(fractions), subject.lengths), 1)
    counts = np.minimum(lengths - counts if keep else counts, lengths - 1)
    after = subject.read(codes, [order], counts).probability[0]
    before = read_class(subject.logits, codes).probability
    lost: Floats = (before[:, None] - after).mean(axis=1)
    return lost

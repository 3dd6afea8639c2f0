"""Perturbation curves: timepoints are taken away step by step, and the model is asked again.

In:  a model, series and scores.
Out: what remains of the target class after every step, read by `millet.metrics.aopc` and drawn by `millet.plots`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from millet.metrics.inputs import Floats, Integers, as_fractions, most_relevant_first, parts_of
from millet.metrics.subject import BATCH_SIZE, Order, Subject, read_class

# The paper's blocks: 5 %, 10 % ... 50 % of the timepoints, with the rounding of the released code, which counts what
# is left: 10 % becomes 1 - 0.9 = 0.09999999999999998, so 9 of 100 timepoints.
FRACTIONS = tuple(float(1 - left) for left in np.linspace(1, 0.5, 11)[1:])


def order_by(scores: Floats, lengths: Integers, *, reverse: bool = False) -> Order:
    """Return the order that removes the most relevant timepoint first or, reversed, last."""

    def order(case: int) -> Integers:
        places = most_relevant_first(scores[case, : lengths[case]])
        return places[::-1] if reverse else places

    return order


def random_order(lengths: Integers, random_state: int, number: int) -> Order:
    """Return a random order, which depends only on the seed, the case and the order's number."""

    def order(case: int) -> Integers:
        places: Integers = np.random.default_rng([random_state, case, 1 + number]).permutation(int(lengths[case]))
        return places

    return order


def perturbation_curve(
    model: Any,
    X: Any,
    scores: ArrayLike,
    target: ArrayLike | None = None,
    *,
    fractions: Sequence[float] = FRACTIONS,
    removal: str = "remove",
    batch_size: int = BATCH_SIZE,
    random_state: int = 0,
    progress: bool = False,
) -> Floats:
    """Return how the target class's logit changes as its most relevant timepoints are removed.

    The curve of App. D.1 of the paper, in its blocks: 5 %, 10 % ... 50 % of a case's own timepoints, rounded down and
    computed as in the released code: 1 - 0.9 for 10 %, which is a little less.
    Among equal scores, the earlier timepoint is removed first.

    Parameters
    ----------
    model : object
        A fitted `MilletClassifier`: the curve shows its logits, and what is left of a series keeps its normalised
        values and its positions. Or a model with `predict_proba` (the curve shows log-probabilities) or
        `decision_function`; or a function from series to (n_cases, n_classes) numbers.
    X : array-like of shape (n_cases, n_timepoints) or (n_cases, n_channels, n_timepoints), or list
        The series. The model is given batches of the same kind.
    scores : Explanation, or array-like of shape (n_cases, n_timepoints) or (n_cases, n_classes, n_timepoints)
        The evidence for the target class, or for each class. Beyond the end of a case it is ignored.
    target : label, sequence of labels, or None
        The class, or one for each case; by default what the model predicts for the whole series. For a function, or
        another model without `classes_`, labels are positions among its outputs.
    fractions : sequence of float
        The fraction of the timepoints that is gone after each step.
    removal : {"remove", "mean", "interpolate", "noise"}
        Delete the timepoints, as the paper does, or replace them by the channel's mean, by a straight line between
        those that stay, or by noise. A model that normalises does so anew after a replacement.
    batch_size : int, default=32
        Series given to the model at a time. The result does not depend on it.
    random_state : int, default=0
        Seed of the noise.
    progress : bool, default=False
        Show a bar, on a terminal.

    Returns
    -------
    ndarray of shape (n_cases, 1 + n_fractions)
        The target's logit after each step minus that of the whole series; the first column is 0.

    Examples
    --------
    The mean of a series, as a logit, falls as its largest values go:

    >>> X = np.array([[4.0, 0.0, 0.0, 0.0]])
    >>> perturbation_curve(lambda X: [[series.mean(), 0.0] for series in X], X, X, fractions=[0.25, 0.5])
    array([[ 0., -1., -1.]])
    """
    steps = as_fractions(fractions)
    subject = Subject(model, X, removal=removal, batch_size=batch_size, random_state=random_state, progress=progress)
    codes = subject.targets(target, scores)
    chosen = subject.scores_of(scores, codes)
    readings = subject.read(codes, [order_by(chosen, subject.lengths)], parts_of(steps, subject.lengths))
    curve: Floats = changes(readings.logit, read_class(subject.logits, codes).logit)[0]
    return curve


def changes(after: Floats, before: Floats) -> Floats:
    """Return readings (n_orders, n_cases, n_steps) minus those of the whole series (n_cases,), after a first 0."""
    change = after - before[:, None]
    curve: Floats = np.concatenate([np.zeros((*change.shape[:2], 1)), change], axis=2)
    return curve

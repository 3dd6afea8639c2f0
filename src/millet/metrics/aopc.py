"""AOPC and AOPCR: how much a prediction loses when its evidence is removed, beyond what random removal costs.

In:  a model, series and scores.
Out: one number per case; larger is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from millet.checks import integer, number
from millet.errors import ParameterError
from millet.metrics.inputs import Floats, as_fractions, as_numbers, parts_of
from millet.metrics.perturbation import FRACTIONS, changes, order_by, random_order
from millet.metrics.subject import BATCH_SIZE, Subject, read_class

N_ORDERS = 3


class Faithfulness(NamedTuple):
    """What `faithfulness` found.

    Attributes
    ----------
    aopcr, normalised_aopcr : ndarray of shape (n_cases,)
        See the functions of these names.
    curve : ndarray of shape (n_cases, 1 + n_fractions)
        Change of the target's logit as the most relevant timepoints are removed.
    random_curves : ndarray of shape (n_orders, n_cases, 1 + n_fractions)
        The same, with timepoints removed in random orders.
    """

    aopcr: Floats
    normalised_aopcr: Floats
    curve: Floats
    random_curves: Floats


def aopc(curve: ArrayLike, *, divisor: float | None = None) -> Floats:
    """Return the area over perturbation curves: the mean drop.

    Samek et al., "Evaluating the Visualization of What a Deep Neural Network Has Learned" (2017).

    Parameters
    ----------
    curve : array-like of shape (..., 1 + n_fractions)
        From `perturbation_curve`: changes, the first of which is 0, for the whole series.
    divisor : float, optional
        What the sum of the drops is divided by. By default 1 + n_fractions, which is 11 for the paper's ten: the
        authors' code counts the unperturbed step, whose drop is 0. The formula in the text divides by the number of
        drops alone, here 10.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> aopc([[0.0, -1.0, -2.0]])
    array([1.])
    >>> aopc([[0.0, -1.0, -2.0]], divisor=2)
    array([1.5])
    """
    steps = as_numbers("curve", curve)
    if steps.ndim < 1 or steps.shape[-1] < 2:
        raise ParameterError(f"curve must be (n_cases, 1 + n_fractions) changes; got shape {steps.shape}.")
    by = steps.shape[-1] if divisor is None else number("divisor", divisor, above=0)
    area: Floats = -steps.sum(axis=-1) / by
    return area


def faithfulness(
    model: Any,
    X: Any,
    scores: ArrayLike,
    target: ArrayLike | None = None,
    *,
    fractions: Sequence[float] = FRACTIONS,
    n_orders: int = N_ORDERS,
    divisor: float | None = None,
    removal: str = "remove",
    batch_size: int = BATCH_SIZE,
    random_state: int = 0,
    progress: bool = False,
) -> Faithfulness:
    """Return AOPCR, normalised AOPCR and the curves behind them, from one set of perturbed predictions.

    Parameters
    ----------
    model, X, scores, target, fractions, removal, batch_size, progress
        See `perturbation_curve`.
    n_orders : int, default=3
        Random orders to compare with.
    divisor : float, optional
        See `aopc`.
    random_state : int, default=0
        Seed of the random orders. Each case has generators of its own, seeded by this and by its position in X, so
        that its orders depend neither on `batch_size` nor on what the other cases are.

    Returns
    -------
    Faithfulness

    Examples
    --------
    >>> X = np.array([[4.0, 0.0, 0.0, 0.0]])
    >>> found = faithfulness(lambda X: [[series.mean(), 0.0] for series in X], X, X, fractions=[0.25, 0.5])
    >>> found.curve, found.random_curves.shape
    (array([[ 0., -1., -1.]]), (3, 1, 3))
    """
    subject = Subject(model, X, removal=removal, batch_size=batch_size, random_state=random_state, progress=progress)
    return faithfulness_of(subject, scores, target, fractions=fractions, n_orders=n_orders, divisor=divisor)


def faithfulness_of(
    subject: Subject,
    scores: ArrayLike,
    target: ArrayLike | None = None,
    *,
    fractions: Sequence[float] = FRACTIONS,
    n_orders: int = N_ORDERS,
    divisor: float | None = None,
) -> Faithfulness:
    """Do what `faithfulness` does, for a model that has already been asked about the whole series."""
    steps = as_fractions(fractions)
    n_random = integer("n_orders", n_orders, at_least=1)
    codes = subject.targets(target, scores)
    lengths = subject.lengths
    orders = [order_by(subject.scores_of(scores, codes), lengths)]
    orders += [random_order(lengths, subject.random_state, order) for order in range(n_random)]
    after = subject.read(codes, orders, parts_of(steps, lengths))
    before = read_class(subject.logits, codes)
    curves = changes(after.logit, before.logit)
    centred = changes(after.centred, before.centred)
    lead = float(np.mean(subject.logits.max(axis=1) - subject.logits.mean(axis=1)))
    excess = _excess(centred, divisor)
    normalised = excess / lead if lead > 0 else np.full(len(subject), np.nan)
    return Faithfulness(_excess(curves, divisor), normalised, curves[0], curves[1:])


def aopcr(
    model: Any,
    X: Any,
    scores: ArrayLike,
    target: ArrayLike | None = None,
    *,
    fractions: Sequence[float] = FRACTIONS,
    n_orders: int = N_ORDERS,
    divisor: float | None = None,
    removal: str = "remove",
    batch_size: int = BATCH_SIZE,
    random_state: int = 0,
    progress: bool = False,
) -> Floats:
    """Return the area over the perturbation curve, minus that of random orders.

    App. D.1 of the paper, with the divisor of the authors' code (see `aopc`). AOPCR grows with the scale of the
    logits, and so with longer training: use it to compare methods on one model, but compare models only by
    `normalised_aopcr`.

    Parameters
    ----------
    model, X, scores, target, fractions, removal, batch_size, progress
        See `perturbation_curve`. The paper takes the predicted class, which is the default.
    n_orders, divisor, random_state
        See `faithfulness`.

    Returns
    -------
    ndarray of shape (n_cases,)
        0 for scores as good as chance, below 0 for worse.

    Examples
    --------
    >>> X = np.array([[4.0] + [0.0] * 19])
    >>> values = aopcr(lambda X: [[series.mean(), 0.0] for series in X], X, X)
    >>> bool(values[0] > 0)
    True
    """
    return faithfulness(
        model, X, scores, target, fractions=fractions, n_orders=n_orders, divisor=divisor, removal=removal,
        batch_size=batch_size, random_state=random_state, progress=progress,
    ).aopcr  # fmt: skip


def normalised_aopcr(
    model: Any,
    X: Any,
    scores: ArrayLike,
    target: ArrayLike | None = None,
    *,
    fractions: Sequence[float] = FRACTIONS,
    n_orders: int = N_ORDERS,
    divisor: float | None = None,
    removal: str = "remove",
    batch_size: int = BATCH_SIZE,
    random_state: int = 0,
    progress: bool = False,
) -> Floats:
    """Return AOPCR in units of the model's own confidence, so that models can be compared.

    Edin et al., "Normalized AOPC: Fixing Misleading Faithfulness Metrics for Feature Attributions Explainability"
    (2025), show that plain AOPC can't be compared across models, and divide by what the best and the worst order
    could reach. Finding those takes a search per case; the unit here is simpler. Drops are those of the logit minus
    the mean of all classes' logits, which a softmax can't tell from the logit, divided by the model's mean lead: how
    far the predicted class is above that mean, averaged over the given cases. So 0.5 means that losing the evidence
    costs the prediction, beyond chance, half of its lead. Multiplying all logits by a number, or adding one to them,
    changes nothing: logits and log-probabilities give the same.

    Parameters
    ----------
    model, X, scores, target, fractions, n_orders, divisor, removal, batch_size, random_state, progress
        See `aopcr`.

    Returns
    -------
    ndarray of shape (n_cases,)
        NaN for all cases if the model's logits do not differ between classes.

    Examples
    --------
    >>> X = np.array([[4.0] + [0.0] * 19])
    >>> mild = normalised_aopcr(lambda X: [[series.mean(), 0.0] for series in X], X, X)
    >>> bold = normalised_aopcr(lambda X: [[7 * series.mean(), 0.0] for series in X], X, X)
    >>> bool(np.isclose(mild, bold)[0])
    True
    """
    return faithfulness(
        model, X, scores, target, fractions=fractions, n_orders=n_orders, divisor=divisor, removal=removal,
        batch_size=batch_size, random_state=random_state, progress=progress,
    ).normalised_aopcr  # fmt: skip


def _excess(curves: Floats, divisor: float | None) -> Floats:
    """Return the area of the first curve minus the mean of the others: (1 + n_orders, n_cases, n) to (n_cases,)."""
    areas = aopc(curves, divisor=divisor)
    excess: Floats = areas[0] - areas[1:].mean(axis=0)
    return excess

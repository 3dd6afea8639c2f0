"""Heads: scaled features in, one linear function of them for each class out.

In:  features (N, F) and class codes from `millet.rocket.model`. Out: `Head`.

Both heads are ridge regressions of +1 for a case's own class and -1 for the others, as in the ROCKET papers. With
two classes there is one regression, whose value is the second class's logit and minus the first's.
"multinomial" multiplies the decision by one number, so that softmax of the logits is calibrated; the predicted
class and the evidence up to scale stay the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from millet.errors import lookup
from millet.rocket.ridge import fit_ridge

HEADS = {"ridge": False, "multinomial": True}  # whether the logits are calibrated
STEEPEST = 100.0

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Codes = NDArray[np.int64]


class Head(NamedTuple):
    """Coefficients (F, Q) and intercepts (Q,): Q is one with two classes, else one for each."""

    coefficients: Doubles
    intercepts: Doubles


def fit_head(features: Floats, codes: Codes, n_classes: int, head: str) -> Head:
    """Fit a head to features whose columns have mean 0."""
    calibrated = lookup("head", head, HEADS)
    targets = class_targets(codes, n_classes)
    ridge = fit_ridge(features, targets)
    scale = calibration_scale(both_signs(ridge.left_out), codes) if calibrated else 1.0
    return Head(scale * ridge.coefficients, scale * ridge.intercepts)


def class_targets(codes: Codes, n_classes: int) -> Doubles:
    """Return what regressions aim at, (N, Q): +1 for a case's own class and -1 for others.

    Examples
    --------
    >>> class_targets(np.array([0, 1]), 2).ravel()
    array([-1.,  1.])
    """
    targets = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    return targets[:, 1:] if n_classes == 2 else targets


def both_signs(decisions: Doubles) -> Doubles:
    """Return logits (N, K) of decisions (N, Q): with two classes, minus and plus the only one.

    Examples
    --------
    >>> both_signs(np.array([[0.5]]))
    array([[-0.5,  0.5]])
    """
    return np.concatenate([-decisions, decisions], axis=1) if decisions.shape[1] == 1 else decisions


def calibration_scale(logits: Doubles, codes: Codes) -> float:
    """Return the factor of the logits (N, K) that makes their softmax fit the codes best.

    The likelihood counts one more case, of no known class: without it, classes that are told apart without an error
    would call for an infinite factor.

    Examples
    --------
    >>> sure = calibration_scale(np.array([[1.0, -1.0], [-1.0, 1.0]] * 50), np.array([0, 1] * 50))
    >>> unsure = calibration_scale(np.array([[1.0, -1.0]] * 100), np.array([0, 0, 0, 1] * 25))
    >>> sure > unsure, round(float(np.exp(unsure) / (np.exp(unsure) + np.exp(-unsure))), 2)
    (True, 0.75)
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    smoothing = 1.0 / (len(logits) + 1.0)
    wanted = np.full(logits.shape, smoothing / logits.shape[1])
    wanted[np.arange(len(codes)), codes] += 1.0 - smoothing

    def loss(log_scale: float) -> float:
        return -float(np.sum(wanted * log_softmax(np.exp(log_scale) * logits, axis=1)))

    found = minimize_scalar(loss, bounds=(-np.log(STEEPEST), np.log(STEEPEST)), method="bounded")
    return float(np.exp(found.x))

"""Heads: scaled features in, one linear function of them for each class out.

In:  features (N, F) and class codes from `millet.rocket.model`. Out: `Head`.

Both heads are ridge regressions of +1 for a case's own class and -1 for the others, as in the ROCKET papers. With
two classes there is one regression, whose value is the second class's logit and minus the first's.

"multinomial" turns the decisions into log-probabilities, by a multinomial regression on the leave-one-out decisions.
Two classes have one decision, which is multiplied by one number. With more classes, each logit is a mixture of all
decisions, because regressions of +1 and -1 hide a class that lies between others (Hastie et al. 2009, section 4.2);
the mixing matrix is held near a multiple of the identity. All of it is linear, as the evidence requires.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from millet.errors import lookup
from millet.rocket.ridge import fit_ridge

HEADS = {"ridge": False, "multinomial": True}  # whether the logits are calibrated
STEEPEST = 100.0
STIFFNESS = 10.0  # how little decisions are mixed: the weight of squared deviations from the identity

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
    if not calibrated:
        return Head(ridge.coefficients, ridge.intercepts)
    mixing = calibration(ridge.left_out, codes)
    return Head(ridge.coefficients @ mixing, ridge.intercepts @ mixing)


def class_targets(codes: Codes, n_classes: int) -> Doubles:
    """Return the targets of the regressions (N, Q): +1 for a case's own class and -1 for the others.

    Examples
    --------
    >>> class_targets(np.array([0, 1]), 2).ravel()
    array([-1.,  1.])
    """
    targets = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    return targets[:, 1:] if n_classes == 2 else targets


def both_signs(decisions: Doubles) -> Doubles:
    """Return the logits (N, K) for decisions (N, Q): with two classes, minus and plus the only one.

    Examples
    --------
    >>> both_signs(np.array([[0.5]]))
    array([[-0.5,  0.5]])
    """
    return np.concatenate([-decisions, decisions], axis=1) if decisions.shape[1] == 1 else decisions


def calibration(decisions: Doubles, codes: Codes) -> Doubles:
    """Return a matrix (Q, Q) such that decisions (N, Q) times it are logits whose softmax fits the codes.

    Examples
    --------
    >>> decisions = np.array([[0.1, -1.1, -1.0], [-0.9, 0.0, -1.1], [-1.0, -1.1, 0.1]] * 10)
    >>> mixing = calibration(decisions, np.array([0, 1, 2] * 10))
    >>> mixing.shape, bool((np.diag(mixing) > 1).all())
    ((3, 3), True)
    """
    scale = calibration_scale(both_signs(decisions), codes)
    if decisions.shape[1] == 1:
        return np.array([[scale]])
    return np.asarray(scale * (np.eye(decisions.shape[1]) + _mixture(scale * decisions, codes)))


def calibration_scale(logits: Doubles, codes: Codes) -> float:
    """Return the factor for the logits (N, K) that makes their softmax fit the codes best.

    Examples
    --------
    >>> sure = calibration_scale(np.array([[1.0, -1.0], [-1.0, 1.0]] * 50), np.array([0, 1] * 50))
    >>> unsure = calibration_scale(np.array([[1.0, -1.0]] * 100), np.array([0, 0, 0, 1] * 25))
    >>> sure > unsure, round(float(np.exp(unsure) / (np.exp(unsure) + np.exp(-unsure))), 2)
    (True, 0.75)
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    wanted = _wanted(codes, logits.shape[1])

    def loss(log_scale: float) -> float:
        return -float(np.sum(wanted * log_softmax(np.exp(log_scale) * logits, axis=1)))

    found = minimize_scalar(loss, bounds=(-np.log(STEEPEST), np.log(STEEPEST)), method="bounded")
    return float(np.exp(found.x))


def _mixture(logits: Doubles, codes: Codes) -> Doubles:
    """Return the matrix (K, K) that, times the logits (N, K) and added to them, makes their softmax fit best.

    Its squared entries are penalised, so there is a single best matrix, which few cases move little from 0.
    """
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    n_classes = logits.shape[1]
    wanted = _wanted(codes, n_classes)

    def loss(flat: Doubles) -> tuple[float, Doubles]:
        mixture = flat.reshape(n_classes, n_classes)
        found = log_softmax(logits + logits @ mixture, axis=1)
        slope = logits.T @ (np.exp(found) - wanted) + STIFFNESS * mixture
        return -float(np.sum(wanted * found)) + STIFFNESS / 2 * float(np.sum(mixture**2)), slope.ravel()

    found = minimize(loss, np.zeros(n_classes**2), jac=True, method="L-BFGS-B", options={"ftol": 1e-12, "gtol": 1e-7})
    return np.asarray(found.x).reshape(n_classes, n_classes)


def _wanted(codes: Codes, n_classes: int) -> Doubles:
    """Return the probabilities (N, K) to fit: each case's class, and a share of one extra case of unknown class.

    Without that case, classes that are told apart without error would require infinite logits.
    """
    smoothing = 1.0 / (len(codes) + 1.0)
    wanted = np.full((len(codes), n_classes), smoothing / n_classes)
    wanted[np.arange(len(codes)), codes] += 1.0 - smoothing
    return wanted

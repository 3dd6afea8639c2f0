"""Ridge regression for many features: the best of several penalties by exact leave-one-out errors.

One eigendecomposition, of the smaller of the two Gram matrices, serves all penalties. The leave-one-out
predictions are a by-product, on which `millet.rocket.heads` calibrates probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PENALTIES = np.logspace(-3, 3, 10)
BLOCK_COLUMNS = 2048

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


class Ridge(NamedTuple):
    """Coefficients (F, Q), intercepts (Q,), the penalty, and leave-one-out predictions (N, Q)."""

    coefficients: Doubles
    intercepts: Doubles
    penalty: float
    left_out: Doubles


def fit_ridge(features: Floats, targets: Doubles, penalties: Doubles = PENALTIES) -> Ridge:
    """Fit targets (N, Q) linearly in features (N, F) whose columns have mean 0, with a free intercept.

    The penalty is the one with the least squared leave-one-out error over all targets.

    Parameters
    ----------
    features : ndarray of float32, shape (N, F)
        Columns of mean 0.
    targets : ndarray of float64, shape (N, Q)
        What to predict.
    penalties : ndarray of float64
        The penalties to try.

    Examples
    --------
    >>> features = np.array([[-1.0], [0.0], [1.0]], dtype=np.float32)
    >>> ridge = fit_ridge(features, np.array([[1.0], [2.0], [3.0]]), penalties=np.array([1e-9]))
    >>> ridge.coefficients.round(6), ridge.intercepts
    (array([[1.]]), array([2.]))
    >>> ridge.left_out.round(6).ravel()
    array([1., 2., 3.])
    """
    intercepts = targets.mean(axis=0)
    centred = targets - intercepts
    solve = _Dual if features.shape[0] <= features.shape[1] else _Primal
    system = solve(features, centred)
    best: tuple[float, float, Doubles] | None = None
    for penalty in penalties:
        errors = system.left_out_errors(float(penalty))
        loss = float(np.mean(errors**2))
        if best is None or loss < best[0]:
            best = loss, float(penalty), errors
    if best is None:
        raise ValueError("fit_ridge needs at least one penalty")
    _, penalty, errors = best
    return Ridge(system.coefficients(penalty), intercepts, penalty, targets - errors)


class _Dual:
    """More features than cases: everything happens in the Gram matrix of the cases (N, N)."""

    def __init__(self, features: Floats, targets: Doubles) -> None:
        self.features = features
        n_cases = len(features)
        gram = np.zeros((n_cases, n_cases))
        for columns in _blocks(features):
            gram += columns @ columns.T
        # The intercept is free: its direction gets the largest eigenvalue of all, and is recognised by that.
        gram += 2.0 * (np.trace(gram) + 1.0) / n_cases
        eigenvalues, self.vectors = np.linalg.eigh(gram)
        self.eigenvalues = np.maximum(eigenvalues[:-1], 0.0)
        self.vectors = self.vectors[:, :-1]
        self.rotated = self.vectors.T @ targets
        self.squares = self.vectors**2

    def left_out_errors(self, penalty: float) -> Doubles:
        shrunk = penalty / (self.eigenvalues + penalty)
        residuals = self.vectors @ (shrunk[:, None] * self.rotated)
        return np.asarray(residuals / (self.squares @ shrunk)[:, None])

    def coefficients(self, penalty: float) -> Doubles:
        dual = self.vectors @ (self.rotated / (self.eigenvalues + penalty)[:, None])
        return np.concatenate([columns.T @ dual for columns in _blocks(self.features)])


class _Primal:
    """More cases than features: everything happens in the Gram matrix of the features (F, F)."""

    def __init__(self, features: Floats, targets: Doubles) -> None:
        columns = features.astype(np.float64)
        self.targets = targets
        eigenvalues, self.vectors = np.linalg.eigh(columns.T @ columns)
        self.eigenvalues = np.maximum(eigenvalues, 0.0)
        self.scores = columns @ self.vectors
        self.rotated = self.scores.T @ targets

    def left_out_errors(self, penalty: float) -> Doubles:
        inverse = 1.0 / (self.eigenvalues + penalty)
        residuals = self.targets - self.scores @ (inverse[:, None] * self.rotated)
        leverage = 1.0 / len(self.targets) + self.scores**2 @ inverse
        return np.asarray(residuals / (1.0 - leverage)[:, None])

    def coefficients(self, penalty: float) -> Doubles:
        return np.asarray(self.vectors @ (self.rotated / (self.eigenvalues + penalty)[:, None]))


def _blocks(features: Floats) -> Iterator[Doubles]:
    """Yield the columns in 64 bits, some at a time: all at once could need more memory than there is."""
    for first in range(0, features.shape[1], BLOCK_COLUMNS):
        yield features[:, first : first + BLOCK_COLUMNS].astype(np.float64)

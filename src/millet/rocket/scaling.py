"""Scaling: features of mean 0 and comparable size for the head, in place, and how to undo it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from millet.compiled import compiled

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

BLOCK_COLUMNS = 2048
# A linear head extrapolates without end: one glitch, hundreds of deviations out, would drown out all else. So a
# feature's distance from the mean counts for no more than this many times the largest in training.
LIMIT = 1.5


class Scale(NamedTuple):
    """A scaled feature is (feature - centres) / deviations - rest; all are (F,).

    Where features are sparse, the first term is 0 for a feature of 0. No feature counts as farther from its centre
    than its limit: see `LIMIT`.
    """

    centres: Doubles
    deviations: Doubles
    rest: Doubles
    limits: Doubles


def scale_features(features: Floats, sparse: bool) -> Scale:
    """Scale the columns of features (N, F) in place.

    Dense features get mean 0 and standard deviation 1. Sparse ones are scaled as in Hydra (Dempster et al. 2023):
    zeros stay, and a feature that is seldom seen is shrunk, since its deviation says little; then all are centred.

    Examples
    --------
    >>> features = np.array([[-2.0], [2.0]], dtype=np.float32)
    >>> scale_features(features, sparse=False)
    Scale(centres=array([0.]), deviations=array([2.]), rest=array([0.]), limits=array([3.]))
    >>> features
    array([[-1.],
           [ 1.]], dtype=float32)
    """
    scale = Scale(*(np.zeros(features.shape[1]) for _ in Scale._fields))
    for first in range(0, features.shape[1], BLOCK_COLUMNS):
        block = slice(first, first + BLOCK_COLUMNS)
        columns = features[:, block].astype(np.float64)
        scale.centres[block] = columns.mean(axis=0)
        scale.deviations[block] = _sparse_deviations(columns) if sparse else _deviations(columns)
        scaled = (columns - scale.centres[block]) / scale.deviations[block]
        if sparse:
            scaled[columns == 0.0] = 0.0
            scale.rest[block] = scaled.mean(axis=0)
        scale.limits[block] = LIMIT * scale.deviations[block] * np.abs(scaled).max(axis=0)
        features[:, block] = scaled - scale.rest[block]
    return scale


def _deviations(columns: Doubles) -> Doubles:
    deviations = columns.std(axis=0)
    # Rounding errors of a constant feature are no deviation.
    negligible = deviations <= 1e-7 * np.abs(columns).max(axis=0)
    return np.where(negligible, 1.0, deviations)


def _sparse_deviations(columns: Doubles) -> Doubles:
    unseen = np.mean(columns == 0.0, axis=0)
    return np.asarray(columns.std(axis=0, ddof=1) + unseen**4 + 1e-8)


@compiled
def weighted_sum(
    features: Doubles, sparse: NDArray[np.bool_], centres: Doubles, limits: Doubles, weights: Doubles
) -> Doubles:
    """Return one case's features (F,) minus centres, within limits, times weights (F, Q); sparse zeros are left out.

    Not a matrix product: its rounding would depend on how many cases are multiplied at once.
    """
    total = np.zeros(weights.shape[1])
    for feature in range(len(features)):
        if sparse[feature] and features[feature] == 0.0:
            continue
        value = min(max(features[feature] - centres[feature], -limits[feature]), limits[feature])
        for k in range(len(total)):
            total[k] += value * weights[feature, k]
    return total


def limited_weights(features: Doubles, centres: Doubles, limits: Doubles, weights: Doubles) -> Doubles:
    """Return the weights (F, Q) for one case: where a feature is beyond its limit, reduced to the part that counts.

    With them, the points' shares in a feature add up to the limited feature.

    Examples
    --------
    >>> limited_weights(np.array([3.0, 9.0]), np.ones(2), np.full(2, 4.0), np.ones((2, 1))).ravel()
    array([1. , 0.5])
    """
    distances = np.abs(features - centres)
    beyond = distances > limits
    if not beyond.any():
        return weights
    limited = weights.copy()
    limited[beyond] *= (limits[beyond] / distances[beyond])[:, None]
    return limited

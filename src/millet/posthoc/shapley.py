"""Shapley values by weighted least squares on coalitions.

Lundberg & Lee, "A Unified Approach to Interpreting Model Predictions" (NeurIPS 2017): with every coalition and the
SHAP kernel as weights, the least-squares solution is the Shapley values; with some coalitions, an estimate.
"""

from __future__ import annotations

import numpy as np

from millet.posthoc.coalitions import Coalitions
from millet.posthoc.subjects import Floats


def shapley_values(coalitions: Coalitions, logits: Floats, nothing: Floats, everything: Floats) -> Floats:
    """Return the values whose sums over each coalition come nearest to its logits.

    The values always sum to ``everything - nothing``. With fewer coalitions than players many values fit, and those
    nearest to an even share are returned.

    Parameters
    ----------
    coalitions : Coalitions
        m coalitions of n_players.
    logits : ndarray of shape (m, n_classes)
        What the model says about each coalition.
    nothing, everything : ndarray of shape (n_classes,)
        What it says about the empty and the full coalition.

    Returns
    -------
    ndarray of shape (n_players, n_classes)

    Examples
    --------
    Two players who bring 1 and 2 alone, and 1 more together:

    >>> both = Coalitions(np.array([[True, False], [False, True]]), np.ones(2))
    >>> shapley_values(both, np.array([[1.0], [2.0]]), np.array([0.0]), np.array([4.0]))
    array([[1.5],
           [2.5]])
    """
    from scipy.linalg import lstsq

    n_players = coalitions.present.shape[1]
    even_share = (everything - nothing) / n_players
    if len(coalitions.present) == 0:
        return np.tile(even_share, (n_players, 1))
    # Deviations from an even share sum to 0. Centred rows ensure that: a direction that no row covers stays 0.
    size = coalitions.present.mean(axis=1, keepdims=True)
    centred = coalitions.present - size
    unexplained = logits - nothing - size * n_players * even_share
    root = np.sqrt(coalitions.weights)[:, None]
    if coalitions.paired:  # A complement's row is the same with the opposite sign: one row serves both.
        centred, unexplained, root = centred[::2], (unexplained[::2] - unexplained[1::2]) / 2, root[::2]
    deviations = lstsq(root * centred, root * unexplained, cond=1e-10, lapack_driver="gelsy")[0]
    deviations -= deviations.mean(axis=0)  # not 0 because of rounding
    values: Floats = even_share + deviations
    return values

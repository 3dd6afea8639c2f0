"""Spreading: how a feature's share, which arises at the centre of a convolution, is laid out over the timepoints.

In:  shares (T, K) at the centres. Out: the same totals over the points that the kernels touch, (C, T, K).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from millet.compiled import compiled

ANCHOR, TAPS, WEIGHTED = 0, 1, 2
SPREADS = {"anchor": ANCHOR, "taps": TAPS, "weighted": WEIGHTED}

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int32]


@compiled
def lay(
    shares: Doubles,
    series: Floats,
    channels: Integers,
    sizes: Floats,
    dilation: int,
    spread: int,
    laid: Doubles,
) -> None:
    """Add the shares at the centres of a kernel to the points that it touches.

    Parameters
    ----------
    shares : ndarray of float64, shape (T, K)
        What the kernel gave to each class at each centre.
    series : ndarray of float32, shape (C, T)
        The series that was convolved.
    channels : ndarray of int32
        The channels that the kernel added up.
    sizes : ndarray of float32, shape (9,)
        The absolute weights of the taps.
    dilation : int
        The distance between two taps.
    spread : int
        ANCHOR: to the centre itself. TAPS: evenly to the points under the taps. WEIGHTED: to those points, in
        proportion to the size of weight times value; evenly where all are zero. Taps beyond the ends get nothing.
    laid : ndarray of float64, shape (C, T, K) or (1, T, K)
        Where to add: by channel, or for all channels together.
    """
    n_points = shares.shape[0]
    by_channel = laid.shape[0] > 1
    first_tap, stop_tap = (4, 5) if spread == ANCHOR else (0, 9)
    n_touched = np.zeros(n_points)
    total = np.zeros(n_points)
    for tap in range(first_tap, stop_tap):
        offset = (tap - 4) * dilation
        for t in range(max(0, -offset), min(n_points, n_points - offset)):
            n_touched[t] += 1.0
            if spread == WEIGHTED:
                for channel in channels:
                    total[t] += sizes[tap] * abs(series[channel, t + offset])
    for tap in range(first_tap, stop_tap):
        offset = (tap - 4) * dilation
        for position in range(len(channels) if by_channel or spread == WEIGHTED else 1):
            channel = channels[position]
            target = laid[channel if by_channel else 0]
            n_sharing = len(channels) if by_channel or spread == WEIGHTED else 1
            for t in range(max(0, -offset), min(n_points, n_points - offset)):
                part = 1.0 / (n_touched[t] * n_sharing)
                if total[t] > 0.0:
                    part = sizes[tap] * abs(series[channel, t + offset]) / total[t]
                share = shares[t]
                row = target[t + offset]
                for k in range(len(share)):
                    row[k] += part * share[k]


@compiled
def from_difference(laid: Doubles, n_points: int) -> Doubles:
    """Return the shares of a first difference (C, T - 1, K) moved to its series (C, T, K), half to either side."""
    whole = np.zeros((laid.shape[0], n_points, laid.shape[2]))
    for channel in range(laid.shape[0]):
        for t in range(laid.shape[1]):
            for k in range(laid.shape[2]):
                half = 0.5 * laid[channel, t, k]
                whole[channel, t, k] += half
                whole[channel, t + 1, k] += half
    return whole

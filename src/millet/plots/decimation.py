"""Decimation: as many points as the picture has columns, and no spike lost.

In:  a series or scores of any length, and the number of columns.
Out: fewer points that draw the same picture. NumPy only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from millet.errors import ParameterError


def decimate(time: NDArray[Any], values: NDArray[Any], n_bins: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Keep the first, lowest, highest and last value of every pixel column.

    A line through these covers the same pixels as a line through all points, as in the M4 aggregation of
    Jugel et al. (2014).

    Parameters
    ----------
    time : ndarray of shape (n_timepoints,)
        Increasing numbers.
    values : ndarray of shape (n_timepoints,)
        NaN where a value is missing; a gap at least one column wide remains a gap.
    n_bins : int
        Number of columns, which divide the time axis evenly.

    Returns
    -------
    time, values : ndarray of shape (n_kept,)
        At most ``4 * n_bins`` of the given points, in their order; all, if there are no more than that.

    Examples
    --------
    >>> values = np.zeros(10_000)
    >>> values[6_789] = 1.0
    >>> time, values = decimate(np.arange(10_000), values, n_bins=100)
    >>> len(time) <= 400, time[values.argmax()]
    (True, np.int64(6789))
    """
    if len(values) <= 4 * n_bins:
        return time, values
    starts = column_starts(time, n_bins)
    lasts = np.append(starts[1:], len(values)) - 1
    column = np.repeat(np.arange(len(starts)), lasts - starts + 1)
    kept = [starts, lasts]
    for extreme in (np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)):
        hits = np.flatnonzero(values == extreme[column])
        _, first = np.unique(column[hits], return_index=True)
        kept.append(hits[first])
    chosen = np.unique(np.concatenate(kept))
    return time[chosen], values[chosen]


def strongest_by_column(
    time: NDArray[Any], scores: NDArray[Any], n_bins: int
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return cell edges and, for every cell, the score furthest from 0.

    Parameters
    ----------
    time : ndarray of shape (n_timepoints,)
        Increasing numbers.
    scores : ndarray of shape (..., n_timepoints)
        Signed.
    n_bins : int
        Number of pixel columns: no cell is narrower than one.

    Returns
    -------
    edges : ndarray of shape (n_cells + 1,)
        Halfway between neighbouring timepoints.
    scores : ndarray of shape (..., n_cells)

    Examples
    --------
    >>> strongest_by_column(np.arange(4), np.array([0.0, -2.0, 1.0, 0.0]), n_bins=2)
    (array([-0.5,  1.5,  3.5]), array([-2.,  1.]))
    """
    edges = cell_edges(time)
    if len(time) <= n_bins:
        return edges, scores
    starts = column_starts(time, n_bins)
    highest = np.maximum.reduceat(scores, starts, axis=-1)
    lowest = np.minimum.reduceat(scores, starts, axis=-1)
    strongest = np.where(highest >= -lowest, highest, lowest)
    return edges[np.append(starts, len(time))], strongest


def column_starts(time: NDArray[Any], n_bins: int) -> NDArray[np.intp]:
    """Return the first timepoint of every column that has any, when the axis is cut evenly."""
    if n_bins < 1:
        raise ParameterError(f"n_bins must be at least 1; got {n_bins}.")
    elapsed = (time - time[0]).astype(np.float64)
    column = np.minimum((elapsed / elapsed[-1] * n_bins).astype(np.int64), n_bins - 1)
    return np.flatnonzero(np.diff(column, prepend=-1))


def cell_edges(time: NDArray[Any]) -> NDArray[np.float64]:
    """Return the edges of the cells around timepoints, (n_timepoints + 1,).

    Examples
    --------
    >>> cell_edges(np.array([0, 1, 3]))
    array([-0.5,  0.5,  2. ,  4. ])
    """
    time = np.asarray(time, dtype=np.float64)
    if len(time) == 1:
        return np.array([time[0] - 0.5, time[0] + 0.5])
    middles = (time[:-1] + time[1:]) / 2
    first, last = time[0] - (middles[0] - time[0]), time[-1] + (time[-1] - middles[-1])
    return np.concatenate([[first], middles, [last]])


def with_zero_crossings(time: NDArray[np.float64], values: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Add the points where the line through the values crosses 0, so that each side can be filled alone.

    Examples
    --------
    >>> with_zero_crossings(np.array([0.0, 4.0]), np.array([1.0, -3.0]))
    (array([0., 1., 4.]), array([ 1.,  0., -3.]))
    """
    before = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    part = values[before] / (values[before] - values[before + 1])
    crossings = time[before] + part * (time[before + 1] - time[before])
    return np.insert(time, before + 1, crossings), np.insert(values, before + 1, 0)


def runs(marked: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return (start, stop) of every run of True.

    Examples
    --------
    >>> runs(np.array([True, False, True, True]))
    [(0, 1), (2, 4)]
    """
    steps = np.diff(np.concatenate([[0], np.asarray(marked, dtype=np.int8), [0]]))
    starts, stops = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    return list(zip(starts.tolist(), stops.tolist(), strict=True))

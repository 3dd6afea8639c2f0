"""Removal of timepoints: deleted, as in the paper, or replaced by something that says nothing.

Conclusions about explanations depend on this choice. Deleting leaves a shorter series of original values, some of
which get new neighbours in time. Replacing keeps the length, for models that need it, and invents values.

Replacement happens in the units of the series, before the model sees it, so a model that normalises its input
normalises the result.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from millet.metrics.inputs import Floats, Mask


def delete(series: Floats, gone: Mask) -> Floats:
    """Return the series (C, T) without the timepoints that are gone (T,).

    Examples
    --------
    >>> delete(np.array([[1.0, 9.0, 3.0]]), np.array([False, True, False]))
    array([[1., 3.]])
    """
    kept: Floats = series[:, ~gone]
    return kept


def fill_with_mean(series: Floats, gone: Mask, rng: np.random.Generator) -> Floats:
    """Replace timepoints by their channel's mean over the whole case.

    Examples
    --------
    >>> fill_with_mean(np.array([[0.0, 9.0, 3.0]]), np.array([False, True, False]), np.random.default_rng(0))
    array([[0., 4., 3.]])
    """
    filled = series.copy()
    filled[:, gone] = _mean(series)[:, None]
    return filled


def fill_with_line(series: Floats, gone: Mask, rng: np.random.Generator) -> Floats:
    """Replace timepoints by a straight line between the nearest ones that stay; at the edges, by the nearest.

    Examples
    --------
    >>> fill_with_line(np.array([[0.0, 9.0, 3.0]]), np.array([False, True, False]), np.random.default_rng(0))
    array([[0. , 1.5, 3. ]])
    """
    filled = series.copy()
    places = np.arange(series.shape[1])
    for channel, mean in zip(filled, _mean(series), strict=True):
        known = ~gone & ~np.isnan(channel)
        channel[gone] = np.interp(places[gone], places[known], channel[known]) if known.any() else mean
    return filled


def fill_with_noise(series: Floats, gone: Mask, rng: np.random.Generator) -> Floats:
    """Replace timepoints by normal noise with their channel's mean and standard deviation.

    The noise of a timepoint is the same whichever others are gone, so that a curve shows removal and not luck.
    """
    centred = series - _mean(series)[:, None]
    observed = np.maximum(np.sum(~np.isnan(series), axis=1), 1)
    deviation = np.sqrt(np.nansum(centred**2, axis=1) / observed)
    noise = _mean(series)[:, None] + deviation[:, None] * rng.standard_normal(series.shape)
    return np.where(gone, noise, series)


FILLS: dict[str, Callable[[Floats, Mask, np.random.Generator], Floats]] = {
    "mean": fill_with_mean,
    "interpolate": fill_with_line,
    "noise": fill_with_noise,
}
REMOVALS = {"remove": None, **FILLS}


def _mean(series: Floats) -> Floats:
    """Return each channel's mean over its observed values; NaN if it has none."""
    observed = np.sum(~np.isnan(series), axis=1)
    mean: Floats = np.where(observed > 0, np.nansum(series, axis=1) / np.maximum(observed, 1), np.nan)
    return mean

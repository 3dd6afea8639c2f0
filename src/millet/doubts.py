"""Doubts: series that are seldom meant as they are. They are said, not refused.

In:  `Bags`.
Out: warnings.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from millet.bags import Bags

# So few timepoints with more channels than that: maybe the axes were swapped.
FEW_TIMEPOINTS = 16
# What instruments and files write for a value that is missing: nines, and the least 16-bit integer.
PLACEHOLDERS = np.array([-32768.0] + [sign * (10.0**digits - 1) for sign in (-1, 1) for digits in range(3, 10)])


def swapped_axes(bags: Bags) -> str:
    """Return what to do where time and channels may have been swapped."""
    if bags.n_channels == 1:
        return ""
    return " If it is (n_cases, n_timepoints, n_channels), pass X.transpose(0, 2, 1)."


def warn_of_swapped_axes(bags: Bags, *, stacklevel: int) -> None:
    """Say so if there are many channels of few timepoints."""
    if bags.n_timepoints <= FEW_TIMEPOINTS < bags.n_channels:
        warnings.warn(
            f"X has {bags.n_channels} channels of {bags.n_timepoints} timepoints.{swapped_axes(bags)}",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_constants(bags: Bags) -> None:
    """Say so if every training series is constant and normalised: nothing is left to learn from."""
    if bags.normalisation is True and not any(bags.batch([case]).values.any() for case in range(len(bags))):
        warnings.warn(
            "Every training series is constant, and z-normalised there is nothing left of it. If levels tell the "
            "classes apart, set normalise=False.",
            UserWarning,
            stacklevel=3,
        )


def warn_of_placeholders(bags: Bags, *, stacklevel: int) -> None:
    """Say so if a channel has values like -999, farther from all others than those are from each other.

    Examples
    --------
    >>> from millet.bags import as_bags
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_of_placeholders(as_bags([[0.5, 1.5], [-999.0, 0.0]]), stacklevel=1)
    >>> str(caught[0].message).split(". ")[0]
    'X has the value -999 (1 of 4 values, first in case 1), and all others lie between 0 and 1.5'
    """
    suspects = np.stack(_extremes(bags), axis=1)  # (C, 2)
    suspected = np.isin(suspects, PLACEHOLDERS)
    if not suspected.any():
        return
    lowest, highest = _extremes(bags, without=PLACEHOLDERS)
    distances = np.maximum(lowest[:, None] - suspects, suspects - highest[:, None])
    apart = np.isfinite(distances) & (distances > (highest - lowest)[:, None])
    for channel, end in np.argwhere(suspected & apart)[:1]:
        value = suspects[channel, end]
        cases = np.concatenate([start + np.nonzero(raw[:, channel] == value)[0] for start, raw in bags.raw_blocks()])
        of_channel = f" in channel {channel}" if bags.n_channels > 1 else ""
        warnings.warn(
            f"X has the value {value:.0f}{of_channel} ({len(cases)} of {bags.lengths.sum()} values, first in case "
            f"{cases[0]}), and all others lie between {lowest[channel]:g} and {highest[channel]:g}. If it stands for "
            "missing values, put NaN there: X = np.where(X == "
            f"{value:.0f}, np.nan, X), or nothing in a file.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def _extremes(bags: Bags, without: NDArray[np.float64] | None = None) -> tuple[NDArray[np.float64], ...]:
    """Return the lowest and the highest value of every channel, (C,) each; infinite where there is none."""
    lowest = np.full(bags.n_channels, np.inf)
    highest = -lowest
    for _, values in bags.raw_blocks():
        kept = values if without is None else np.where(np.isin(values, without), np.nan, values)
        lowest = np.fmin(lowest, np.fmin.reduce(kept, axis=(0, 2)))
        highest = np.fmax(highest, np.fmax.reduce(kept, axis=(0, 2)))
    return lowest, highest

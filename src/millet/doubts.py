"""Doubts: series that are probably not meant as they are. They are reported, not refused.

In:  `Bags`, or series in any container.
Out: warnings, requested by `millet.contract`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from millet.bags import Bags, blocks_of
from millet.containers import as_cases
from millet.errors import warn_user

# At most this many timepoints, but more channels: maybe the axes were swapped.
FEW_TIMEPOINTS = 16
# What instruments and files write for a value that is missing: nines, and the least 16-bit integer.
PLACEHOLDERS = np.array([-32768.0] + [sign * (10.0**digits - 1) for sign in (-1, 1) for digits in range(3, 10)])


def swapped_axes(bags: Bags) -> str:
    """Return what to do if time and channels have been swapped."""
    if bags.n_channels == 1:
        return ""
    return " If it is (n_cases, n_timepoints, n_channels), pass X.transpose(0, 2, 1)."


def warn_of_swapped_axes(bags: Bags) -> None:
    """Warn if there are many channels of few timepoints."""
    if bags.n_timepoints <= FEW_TIMEPOINTS < bags.n_channels:
        warn_user(f"X has {bags.n_channels} channels of {bags.n_timepoints} timepoints.{swapped_axes(bags)}")


def warn_of_constants(bags: Bags) -> None:
    """Warn if every training series is constant and normalised: nothing is left to learn from."""
    if bags.normalisation is True and not any(bags.batch([case]).values.any() for case in range(len(bags))):
        warn_user(
            "Every training series is constant, and z-normalised there is nothing left of it. If levels tell the "
            "classes apart, set normalise=False."
        )


def warn_of_placeholders(X: Any) -> None:
    """Warn if a channel has values like -999 that are farther from all others than those are from each other.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_of_placeholders([[0.5, 1.5], [-999.0, 0.0]])
    >>> str(caught[0].message).split(". ")[0]
    'X has the value -999 (1 of 4 values, first in case 1), and all others lie between 0 and 1.5'
    """
    cases = as_cases(X)
    suspects = np.stack(_extremes(cases), axis=1)  # (C, 2)
    suspected = np.isin(suspects, PLACEHOLDERS)
    if not suspected.any():
        return
    lowest, highest = _extremes(cases, without=PLACEHOLDERS)
    distances = np.maximum(lowest[:, None] - suspects, suspects - highest[:, None])
    apart = np.isfinite(distances) & (distances > (highest - lowest)[:, None])
    for channel, end in np.argwhere(suspected & apart)[:1]:
        value = suspects[channel, end]
        counts = np.array([np.sum(case[channel] == value) for case in cases])
        of_channel = f" in channel {channel}" if len(suspects) > 1 else ""
        warn_user(
            f"X has the value {value:.0f}{of_channel} ({counts.sum()} of {sum(case.shape[1] for case in cases)} "
            f"values, first in case {counts.nonzero()[0][0]}), and all others lie between {lowest[channel]:g} and "
            f"{highest[channel]:g}. If it stands for missing values, put NaN there: X = np.where(X == {value:.0f}, "
            "np.nan, X), or nothing in a file."
        )


def _extremes(
    cases: NDArray[Any] | list[NDArray[Any]], without: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lowest and the highest value of every channel, (C,) each; infinite where there is none."""
    lowest = np.full(len(cases[0]), np.inf)
    highest = -lowest
    for values in blocks_of(cases):
        kept = values if without is None else np.where(np.isin(values, without), np.nan, values)
        lowest = np.fmin(lowest, np.fmin.reduce(kept, axis=(0, 2)))
        highest = np.fmax(highest, np.fmax.reduce(kept, axis=(0, 2)))
    return lowest, highest

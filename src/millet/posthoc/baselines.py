"""Baselines: what stands in for timepoints that a method takes away.

In:  what the user passed as `baseline`.
Out: a `Baseline` that gives each case's replacement values, checked before any model is asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from millet.errors import ParameterError, lookup
from millet.posthoc.subjects import Array, Subject

REMOVED = "removed"
NAMES = {
    REMOVED: "timepoints are really taken out, and the series is shorter",
    "zero": "zero, the mean of a z-normalised series",
    "mean": "the mean of each channel of the case",
}


class Baseline:
    """Replacement values for every case of a subject.

    Parameters
    ----------
    baseline : str, number, array or None
        A name in `NAMES`, or values: one number, one per channel (n_channels,), (n_channels, n_timepoints) or
        (n_cases, n_channels, n_timepoints), of which a shorter case uses the beginning. None is "removed" where
        the method can remove and the model was made for it, else the subject's `replacement`.
    subject : Subject
    method : str
        For messages.
    can_remove : bool
        Whether the method can work with shorter series.
    """

    def __init__(self, baseline: Any, subject: Subject, method: str, *, can_remove: bool) -> None:
        if baseline is None:
            baseline = REMOVED if can_remove and subject.removes_timepoints else subject.replacement
        self._name = baseline if isinstance(baseline, str) else ""
        if self._name:
            lookup("baseline", baseline, NAMES)
        if self._name == REMOVED and not can_remove:
            raise ParameterError(
                f"{method} can't remove timepoints, only replace them; choose baseline='zero', 'mean' or values."
            )
        self._values = np.empty(0) if self._name else _checked(baseline, subject)

    def replacement(self, case: int, values: Array) -> Array | None:
        """Return what replaces each of the values (n_channels, n_timepoints) of a case; None to remove them."""
        if self._name == REMOVED:
            return None
        if self._name == "zero":
            return np.zeros_like(values)
        if self._name == "mean":
            observed = np.where(np.isnan(values), 0.0, values).sum(axis=1) / (~np.isnan(values)).sum(axis=1).clip(1)
            return np.repeat(observed[:, None], values.shape[1], axis=1).astype(values.dtype)
        chosen = self._values[case if len(self._values) > 1 else 0, :, : values.shape[1]]
        return np.broadcast_to(chosen, values.shape).astype(values.dtype)


def _checked(baseline: Any, subject: Subject) -> NDArray[np.float64]:
    """Return (1 or n_cases, 1 or n_channels, 1 or n_timepoints) finite values."""
    n_cases, n_channels, n_timepoints = len(subject.bags), subject.bags.n_channels, subject.bags.n_timepoints
    try:
        values = np.asarray(baseline, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"baseline must be a name or numbers; got {type(baseline).__name__}.") from None
    shape = values.shape
    if values.ndim > 1:
        shape = (*shape[:-1], min(shape[-1], n_timepoints))  # a longer one is cut
    if shape not in ((), (n_channels,), (n_channels, n_timepoints), (n_cases, n_channels, n_timepoints)):
        raise ParameterError(
            f"baseline must be a number, or have shape ({n_channels},), ({n_channels}, {n_timepoints}) or "
            f"({n_cases}, {n_channels}, {n_timepoints}); got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ParameterError("baseline must be finite; it holds NaN or infinities.")
    return values[None, :, None] if values.ndim == 1 else values.reshape((1,) * (3 - values.ndim) + values.shape)

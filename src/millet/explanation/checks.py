"""What an `Explanation` may hold: every field is checked here, once, and made read-only.

In:  what the constructor was given.
Out: arrays of the promised shape and type that nobody can write to, or an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.errors import LabelError, ParameterError, SeriesError, warn_user

if TYPE_CHECKING:
    from millet.explanation.explanation import Explanation

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
# Single-precision sums over many channels are at most this far apart.
ROUNDING = 1e-4
# How far evidence that adds up may be off, as a fraction of the largest logit.
INCOMPLETE = 1e-3


def checked_fields(given: Explanation) -> dict[str, Any]:
    """Return the fields of an explanation under construction, checked one by one and against each other."""
    series = check_series(given.series)
    n_cases, n_channels, n_timepoints = series.shape
    lengths = check_lengths(given.lengths, series)
    logits = check_finite("logits", given.logits, (n_cases, None))
    n_classes = logits.shape[1]
    classes = check_classes(given.classes, n_classes)
    checked: dict[str, Any] = {
        "series": series,
        "lengths": lengths,
        "logits": logits,
        "classes": classes,
        "class_names": check_class_names(given.class_names, classes),
        "channel_names": check_channel_names(given.channel_names, n_channels),
        "time": check_time(given.time, n_timepoints),
        "cases": check_cases(given.cases, n_cases),
        "members": tuple(given.members),
    }
    by_class = (n_cases, n_classes, n_timepoints)
    checked["scores"] = check_evidence("scores", given.scores, by_class, lengths)
    if given.attention is not None:
        checked["attention"] = check_evidence("attention", given.attention, (n_cases, n_timepoints), lengths)
    if (given.contributions is None) != (given.bias is None):
        raise ParameterError("contributions and bias belong together: give both, or neither.")
    if given.contributions is not None and given.bias is not None:
        checked["contributions"] = check_evidence("contributions", given.contributions, by_class, lengths)
        checked["bias"] = check_finite("bias", given.bias, (n_classes,))
    if given.channel_contributions is not None:
        by_channel = (n_cases, n_classes, n_channels, n_timepoints)
        checked["channel_contributions"] = check_channels(
            given.channel_contributions, by_channel, lengths, checked.get("contributions")
        )
    if not isinstance(given.method, str):
        raise ParameterError(f"method must be a string; got {type(given.method).__name__}.")
    return checked


def warn_if_incomplete(explanation: Explanation, pooling: str) -> None:
    """Warn if the contributions of a user's own pooling, which should be complete, do not add up to the logits."""
    if explanation.contributions is None:
        return
    error = explanation.completeness_error().max(initial=0.0)
    size = np.abs(explanation.logits).max(initial=0.0)
    # Large contributions may cancel each other, and leave their rounding errors.
    cancelled = np.abs(explanation.contributions).mean(axis=2, dtype=np.float64).max(initial=0.0)
    if error > INCOMPLETE * size + ROUNDING * cancelled:
        warn_user(
            f"The contributions of {pooling} do not add up: their mean over a case's own timepoints, plus the bias, "
            f"must be the logit, and is up to {error:.2g} away from it, where logits are up to {size:.2g}. Correct "
            "them, or return None for contributions and bias."
        )


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, or a copy where somebody could still write to its memory.

    Examples
    --------
    >>> read_only(np.zeros(3)).flags.writeable
    False
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            array = array.copy()
            array.setflags(write=False)
            return array
        owner = owner.base
    return array


def float_array(name: str, values: ArrayLike, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return the values as a read-only float32 or float64 array of this shape (None: any size)."""
    try:
        array = np.asarray(values)
        if array.dtype not in FLOATS:
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} must be an array of numbers; got {type(values).__name__}: {error}") from None
    if array.ndim != len(shape) or any(
        wanted not in (None, size) for wanted, size in zip(shape, array.shape, strict=True)
    ):
        wanted_shape = "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"
        raise ParameterError(f"{name} must have shape {wanted_shape}; got {array.shape}.")
    return read_only(array)


def check_series(values: ArrayLike) -> NDArray[Any]:
    """Return series of shape (n_cases, n_channels, n_timepoints) without infinities."""
    series = float_array("series", values, (None, None, None))
    if 0 in series.shape[1:]:
        raise SeriesError(f"series needs at least one channel and one timepoint; got shape {series.shape}.")
    if np.isinf(series).any():
        raise SeriesError("series holds infinite values; replace them by NaN, which stands for missing.")
    return series


def check_lengths(values: ArrayLike, series: NDArray[Any]) -> NDArray[np.int64]:
    """Return one length per case, between 1 and n_timepoints; beyond it the series must be NaN."""
    n_cases, _, n_timepoints = series.shape
    given = np.asarray(values)
    if given.shape != (n_cases,) or (n_cases and given.dtype.kind not in "iu"):
        raise ParameterError(
            f"lengths must be {n_cases} integers, one per case; got {given.dtype} of shape {given.shape}."
        )
    lengths = given.astype(np.int64)
    if n_cases and not (lengths.min() >= 1 and lengths.max() <= n_timepoints):
        raise ParameterError(
            f"lengths must lie between 1 and n_timepoints = {n_timepoints}; got {lengths.min()} to {lengths.max()}."
        )
    if not np.isnan(series.transpose(0, 2, 1)[beyond(lengths, n_timepoints)]).all():
        raise SeriesError("series must be NaN beyond each case's length; pad with NaN, or correct lengths.")
    return read_only(lengths)


def beyond(lengths: NDArray[np.int64], n_timepoints: int) -> NDArray[np.bool_]:
    """Return (n_cases, n_timepoints) bool: True where a case has already ended.

    Examples
    --------
    >>> beyond(np.array([1, 3]), 3).astype(int)
    array([[0, 1, 1],
           [0, 0, 0]])
    """
    ended: NDArray[np.bool_] = np.arange(n_timepoints) >= lengths[:, None]
    return ended


def check_evidence(name: str, values: ArrayLike, shape: tuple[int, ...], lengths: NDArray[np.int64]) -> NDArray[Any]:
    """Return evidence per timepoint (the last axis): finite, and exactly 0 beyond each case's length."""
    evidence = check_finite(name, values, shape)
    if np.moveaxis(evidence, -1, 1)[beyond(lengths, shape[-1])].any():
        raise ParameterError(f"{name} must be exactly 0 beyond each case's length; mask the padding first.")
    return evidence


def check_channels(
    values: ArrayLike, shape: tuple[int, ...], lengths: NDArray[np.int64], contributions: NDArray[Any] | None
) -> NDArray[Any]:
    """Return evidence per channel and timepoint, whose sum over the channels (axis 2) is the contributions."""
    if contributions is None:
        raise ParameterError("channel_contributions split contributions among the channels; give these as well.")
    by_channel = check_evidence("channel_contributions", values, shape, lengths)
    with np.errstate(over="ignore"):
        apart = np.abs(by_channel.sum(axis=2, dtype=np.float64) - contributions).max(initial=0.0)
    if apart > ROUNDING * max(1.0, np.abs(by_channel).max(initial=0.0)):
        raise ParameterError(
            f"channel_contributions must add up to contributions over the channels; they are {apart:.2g} apart."
        )
    return by_channel


def check_finite(name: str, values: ArrayLike, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return a float array of this shape without NaN or infinities."""
    array = float_array(name, values, shape)
    finite = np.isfinite(array)
    if not finite.all():
        raise ParameterError(
            f"{name} must be finite; {np.sum(~finite)} of {finite.size} values are NaN or infinite. "
            "A network that gives these has diverged: train it with a lower learning rate."
        )
    return array


def check_classes(values: ArrayLike, n_classes: int) -> NDArray[Any]:
    """Return distinct labels: integers, floats, booleans, strings, or a mixture of them."""
    classes = np.asarray(values)
    if classes.dtype.kind == "T":  # strings of variable width, which not every NumPy routine takes
        classes = np.array(classes.tolist())
    if classes.dtype.kind == "O":
        plain = [label.item() if isinstance(label, np.generic) else label for label in classes.ravel()]
        classes = np.array(plain, dtype=object).reshape(classes.shape)
    if classes.shape != (n_classes,) or n_classes == 0:
        raise LabelError(
            f"classes must hold one label for each of the {n_classes} columns of logits; got shape {classes.shape}."
        )
    labels = classes.tolist()
    if not all(isinstance(label, bool | int | float | str) for label in labels):
        raise LabelError(f"classes must be numbers, booleans or strings; got {classes.dtype}: {labels[:3]}.")
    if any(isinstance(label, float) and not np.isfinite(label) for label in labels):
        raise LabelError("classes must not hold NaN or infinities; give that class a label of its own.")
    if len(set(labels)) < n_classes:
        raise LabelError(f"classes must be distinct; got {labels}.")
    return read_only(classes)


def check_class_names(values: tuple[str, ...], classes: NDArray[Any]) -> tuple[str, ...]:
    """Return one distinct name per class; by default the label itself."""
    names = tuple(values) or tuple(str(label) for label in classes.tolist())
    if len(names) != len(classes) or not all(isinstance(name, str) for name in names):
        raise LabelError(f"class_names must be {len(classes)} strings, one per class; got {names}.")
    if len(set(names)) < len(names):
        raise LabelError(f"class_names must be distinct, to tell the classes apart; got {names}.")
    return tuple(str(name) for name in names)


def check_channel_names(values: Sequence[str], n_channels: int) -> tuple[str, ...]:
    """Return one distinct name per channel; by default its number.

    Examples
    --------
    >>> check_channel_names([], 2), check_channel_names(["speed", "force"], 2)
    (('0', '1'), ('speed', 'force'))
    """
    if isinstance(values, str):
        raise ParameterError(f"channel_names must be {n_channels} names, one per channel; got {values!r}.")
    names = tuple(map(str, values)) or tuple(map(str, range(n_channels)))
    if len(names) != n_channels or len(set(names)) < n_channels:
        raise ParameterError(f"channel_names must be {n_channels} different names, one per channel; got {names}.")
    return names


def check_cases(values: ArrayLike, n_cases: int) -> NDArray[np.int64]:
    """Return one number per case; by default 0, 1, 2 ..."""
    cases = np.asarray(values)
    if cases.size == 0:
        return read_only(np.arange(n_cases))
    if cases.shape != (n_cases,) or cases.dtype.kind not in "iu":
        raise ParameterError(
            f"cases must be {n_cases} integers, the number of each case; got {cases.dtype} of shape {cases.shape}."
        )
    return read_only(cases.astype(np.int64))


def check_time(values: ArrayLike, n_timepoints: int) -> NDArray[Any]:
    """Return the strictly increasing time axis; by default 0, 1, 2 ..."""
    time = np.asarray(values)
    if time.size == 0:
        return read_only(np.arange(n_timepoints))
    if time.shape != (n_timepoints,) or time.dtype.kind not in "iufM" or time.dtype.itemsize > 8:
        raise ParameterError(
            f"time must be {n_timepoints} numbers or datetime64 values, one per timepoint; "
            f"got {time.dtype} of shape {time.shape}."
        )
    if not np.isfinite(time).all() or not (time[1:] > time[:-1]).all():
        raise ParameterError("time must increase from timepoint to timepoint, without NaN; sort the series by time.")
    return read_only(time)

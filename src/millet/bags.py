"""Bags: whatever the user brought becomes float32 cases with lengths.

In:  arrays, lists, data frames, tensors, memory maps.
Out: `Bags`, read by `millet.training` and `millet.classifier` one batch at a time.

Series are checked here and nowhere else. What happens to their values:

- **NaN** at the end of a series, in all channels, ends it: the case is shorter. Any other NaN is a missing
  value and is filled on a straight line between its neighbours in time (the nearest one at the edges),
  channel by channel; a channel without any value becomes 0.
- **z-normalisation** of each channel of each case on its own, over the observed values, with the sample
  standard deviation; a constant channel becomes 0. It comes before filling: filled values do not count. Or, with
  `ChannelScale`, each channel by its mean and deviation over many cases, which keeps differences between cases.

Series in memory are prepared once, when a batch is first asked for; a memory map is prepared batch by batch, so it
may be larger than memory.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from millet.containers import as_cases
from millet.errors import SeriesError

Array = NDArray[Any]
Floats = NDArray[np.float32]

# Cases are checked in blocks of about this many values, so that checking a memory map needs little memory.
BLOCK_VALUES = 4_000_000
# A deviation below this fraction of the mean is the rounding error of a constant.
NEGLIGIBLE = 1e-10


class ChannelScale(NamedTuple):
    """Means and deviations of the channels over many cases, (C,) each."""

    means: NDArray[np.float64]
    deviations: NDArray[np.float64]


class Batch(NamedTuple):
    """Some cases, ready for a network: values (B, C, T) with zeros beyond each of the lengths (B,)."""

    values: Floats
    lengths: NDArray[np.int64]


class Bags:
    """Checked cases that come out as float32 batches; made by `as_bags`.

    Attributes
    ----------
    lengths : ndarray of int64, shape (n_cases,)
        The number of timepoints of every case.
    n_channels : int
        The number of channels of every case.
    normalisation : bool or ChannelScale
        Whether each channel of each case is z-normalised, or the scale of the channels of all cases.
    """

    def __init__(
        self, source: Array | list[Array], lengths: NDArray[np.int64], *, normalise: bool | ChannelScale
    ) -> None:
        self._source = source
        self.normalisation = normalise if isinstance(normalise, ChannelScale) else bool(normalise)
        self.lengths = lengths
        self.n_channels = int(source[0].shape[0])

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def n_timepoints(self) -> int:
        """The length of the longest case."""
        return int(self.lengths.max())

    def prepare(self) -> None:
        """Prepare all cases now rather than with the first batch, and so refuse values that can't be prepared."""
        _ = self._prepared

    def batch(self, indices: Sequence[int] | NDArray[np.integer[Any]]) -> Batch:
        """Return the given cases, padded with zeros to the longest of them."""
        chosen = np.asarray(indices, dtype=np.int64)
        lengths = self.lengths[chosen]
        width = int(lengths.max())
        if self._prepared is None:
            return Batch(self._prepare_unequal(self._source[chosen][:, :, :width], lengths), lengths)
        if isinstance(self._prepared, list):
            values = np.zeros((len(chosen), self.n_channels, width), dtype=np.float32)
            for row, case in enumerate(chosen):
                values[row, :, : lengths[row]] = self._prepared[case]
            return Batch(values, lengths)
        return Batch(self._prepared[chosen][:, :, :width], lengths)

    def raw(self, indices: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """Return cases as the user gave them: float64 (B, C, T), NaN where missing or beyond the end."""
        chosen = np.asarray(indices, dtype=np.int64)
        width = int(self.lengths[chosen].max())
        values = np.full((len(chosen), self.n_channels, width), np.nan)
        for row, case in enumerate(chosen):
            length = self.lengths[case]
            values[row, :, :length] = self._source[case][:, :length]
        return values

    def fingerprint(self) -> str:
        """Return a digest of the values as the user gave them: the same data give the same one in any container."""
        digest = hashlib.sha256(f"{len(self)},{self.n_channels}".encode())
        for case in range(len(self)):
            values = np.asarray(self._source[case][:, : self.lengths[case]], dtype=np.float64)
            # NaN and 0 come in several bit patterns that mean the same.
            values = np.where(np.isnan(values), np.nan, values + 0.0)
            digest.update(str(values.shape).encode())
            digest.update(values.tobytes())
        return digest.hexdigest()

    def channel_scale(self) -> ChannelScale:
        """Return the mean and the deviation of every channel over the observed values of all cases.

        The deviation of a constant channel is 1, even where rounding made it slightly more than 0.

        Examples
        --------
        >>> as_bags([[1.0, 2.0], [3.0, 6.0]]).channel_scale().means
        array([3.])
        """
        counts, sums, squares = np.zeros((3, self.n_channels))
        for case in range(len(self)):
            values = np.asarray(self._source[case][:, : self.lengths[case]], dtype=np.float64)
            counts += (~np.isnan(values)).sum(axis=1)
            with np.errstate(over="ignore"):
                sums += np.nansum(values, axis=1)
        means = sums / np.maximum(counts, 1)
        for case in range(len(self)):
            values = np.asarray(self._source[case][:, : self.lengths[case]], dtype=np.float64)
            with np.errstate(over="ignore", invalid="ignore"):  # callers check whether it is finite
                squares += np.nansum((values - means[:, None]) ** 2, axis=1)
        deviations = np.sqrt(squares / np.maximum(counts, 1))
        return ChannelScale(means, np.where(deviations > NEGLIGIBLE * np.abs(means), deviations, 1.0))

    @cached_property
    def _prepared(self) -> Floats | list[Floats] | None:
        """All cases, ready for a network; None for a memory map."""
        if isinstance(self._source, list):
            cases = zip(self._source, self.lengths, strict=True)
            return [self._prepare(case[None, :, :length])[0] for case, length in cases]
        return None if _is_memory_mapped(self._source) else self._prepare_in_blocks(self._source)

    def _prepare_in_blocks(self, source: Array) -> Floats:
        prepared = np.empty((*source.shape[:2], self.n_timepoints), dtype=np.float32)
        for block in _blocks(source):
            prepared[block] = self._prepare_unequal(source[block, :, : self.n_timepoints], self.lengths[block])
        return prepared

    def _prepare_unequal(self, cases: Array, lengths: NDArray[np.int64]) -> Floats:
        """Prepare (B, C, T) cases of these lengths, with zeros beyond each.

        Cases of one length are prepared together, never with padding: sums over padded rows round differently,
        and the last bits of a case would depend on its neighbours.
        """
        prepared = np.zeros(cases.shape, dtype=np.float32)
        for length in np.unique(lengths):
            rows = slice(None) if (lengths == length).all() else lengths == length
            prepared[rows, :, :length] = self._prepare(cases[rows, :, :length])
        return prepared

    def _prepare(self, cases: Array) -> Floats:
        """Normalise and fill (B, C, T) values without trailing NaN."""
        values = cases.astype(np.float64, order="C")  # one order of summation, whatever the layout was
        missing = bool(np.isnan(values).any())
        if isinstance(self.normalisation, ChannelScale):
            values = (values - self.normalisation.means[:, None]) / self.normalisation.deviations[:, None]
        if self.normalisation is True:
            values = _z_normalise(values, missing)
        elif (largest := np.nanmax(np.abs(values))) > np.finfo(np.float32).max:
            raise SeriesError(
                f"Without normalisation values must fit a 32-bit float (up to 3.4e38); got {largest:g}. "
                "Scale the series, or fit with normalise=True."
            )
        if missing:
            values = _fill_missing(values)
        return values.astype(np.float32)


def as_bags(X: Any, *, normalise: bool | ChannelScale = True) -> Bags:
    """Check series in any container and turn them into `Bags`.

    Parameters
    ----------
    X : array, list, data frame, tensor or memory map
        (n_cases, n_timepoints), (n_cases, n_channels, n_timepoints), or a list of series of unequal length,
        each (n_timepoints,) or (n_channels, n_timepoints). A pandas data frame has one row per case and one
        column per timepoint, or cells that hold whole series and one column per channel.
    normalise : bool or ChannelScale, default=True
        z-normalise each channel of each case, or scale the channels of all cases in the same way.

    Returns
    -------
    Bags

    Raises
    ------
    SeriesError
        If the shape is none of these, values are infinite, or a case has no observed value.

    Examples
    --------
    >>> bags = as_bags([[1.0, 2.0, 3.0], [5.0, 5.0]])
    >>> bags.lengths
    array([3, 2])
    >>> bags.batch([0, 1]).values[:, 0]
    array([[-1.,  0.,  1.],
           [ 0.,  0.,  0.]], dtype=float32)
    """
    source = as_cases(X)
    if isinstance(normalise, ChannelScale) and len(normalise.means) != len(source[0]):
        raise SeriesError(
            f"X has {len(source[0])} channels, and is to be scaled as series with {len(normalise.means)} were. Any "
            "length is fine, another number of channels is not."
        )
    lengths = _observed_lengths(source)
    return Bags(source, lengths, normalise=normalise)


def remove_timepoints(batch: Batch, removed: NDArray[np.bool_]) -> tuple[Batch, NDArray[np.int64]]:
    """Delete timepoints, so that the cases become shorter, and return where the others were.

    Parameters
    ----------
    batch : Batch
        Cases of shape (B, C, T).
    removed : ndarray of bool, shape (B, T)
        True where a timepoint is deleted. Each case must keep at least one.

    Returns
    -------
    batch : Batch
        What is left, padded with zeros to the longest case.
    positions : ndarray of int64, shape (B, T)
        The original position of each remaining timepoint; meaningless beyond the end of a case.

    Examples
    --------
    >>> whole = Batch(np.array([[[5, 6, 7, 8]]], dtype=np.float32), np.array([4]))
    >>> left, positions = remove_timepoints(whole, np.array([[True, False, True, False]]))
    >>> left.values, left.lengths, positions
    (array([[[6., 8.]]], dtype=float32), array([2]), array([[1, 3]]))
    """
    gone = removed | (np.arange(batch.values.shape[2]) >= batch.lengths[:, None])
    lengths = np.sum(~gone, axis=1)
    # Stable: those that stay come first, in order of time.
    positions = np.argsort(gone, axis=1, kind="stable")[:, : int(lengths.max())]
    values = np.take_along_axis(batch.values, positions[:, None], axis=2)
    values[np.broadcast_to((np.arange(values.shape[2]) >= lengths[:, None])[:, None], values.shape)] = 0
    return Batch(values, lengths), positions


def _observed_lengths(source: Array | list[Array]) -> NDArray[np.int64]:
    """Return every case's length without trailing NaN; refuse infinities and cases without a value."""
    if isinstance(source, list):
        return np.array(
            [_lengths_of(case[None], position)[0] for position, case in enumerate(source)], dtype=np.int64
        )
    return np.concatenate([_lengths_of(source[block], block.start) for block in _blocks(source)])


def _lengths_of(cases: Array, first: int) -> NDArray[np.int64]:
    n_timepoints = cases.shape[2]
    if cases.dtype.kind != "f" or np.isfinite(cases).all():
        return np.full(len(cases), n_timepoints, dtype=np.int64)
    infinite = np.isinf(cases).any(axis=(1, 2))
    if infinite.any():
        raise SeriesError(
            f"Input X contains infinity (case {first + int(infinite.argmax())}). "
            "Replace it by NaN if the value is unknown."
        )
    observed = np.asarray((~np.isnan(cases)).any(axis=1))  # (B, T)
    unobserved = ~observed.any(axis=1)
    if unobserved.any():
        raise SeriesError(
            f"Case {first + int(unobserved.argmax())} has no observed value: all are NaN. Leave it out."
        )
    return np.asarray(n_timepoints - observed[:, ::-1].argmax(axis=1), dtype=np.int64)


def blocks_of(source: Array | list[Array]) -> Iterator[Array]:
    """Yield the values of all cases, (B, C, T), in parts that fit into memory; unequal cases one by one."""
    if isinstance(source, list):
        yield from (case[None] for case in source)
    else:
        yield from (source[block] for block in _blocks(source))


def _blocks(source: Array) -> Iterator[slice]:
    step = max(1, BLOCK_VALUES // (source.shape[1] * source.shape[2]))
    for start in range(0, len(source), step):
        yield slice(start, min(start + step, len(source)))


def _is_memory_mapped(array: Array) -> bool:
    owner: Any = array
    while owner is not None:
        # Not np.memmap: whatever is computed from a map is of that class too, but is held in memory.
        if isinstance(owner, mmap.mmap):
            return True
        owner = getattr(owner, "base", None)
    return False


def _z_normalise(values: NDArray[np.float64], missing: bool) -> NDArray[np.float64]:
    """Normalise each channel of (B, C, T) over its observed values; NaN stays NaN."""
    add = np.nansum if missing else np.sum
    lowest = np.fmin.reduce(values, axis=2, keepdims=True)
    highest = np.fmax.reduce(values, axis=2, keepdims=True)
    # Scaled into [-1, 1] by a power of two, hence without rounding: squares of very large or very small values
    # would leave the range of floats.
    exponent = np.frexp(np.maximum(np.abs(lowest), np.abs(highest)))[1]
    # Measured from the lowest value: a small range on a large offset keeps its digits, a constant is exactly 0.
    values = np.ldexp(values, -exponent) - np.ldexp(lowest, -exponent)
    count = np.sum(~np.isnan(values), axis=2, keepdims=True) if missing else values.shape[2]
    values -= add(values, axis=2, keepdims=True) / np.maximum(count, 1)
    deviation = np.sqrt(add(values**2, axis=2, keepdims=True) / np.maximum(count - 1, 1))
    return np.asarray(values / np.where(deviation == 0, 1.0, deviation))


def _fill_missing(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fill NaN on a straight line in time; a channel without any value becomes 0."""
    filled = np.nan_to_num(values, nan=0.0)
    timepoints = np.arange(values.shape[2])
    for row, channel in np.argwhere(np.isnan(values).any(axis=2)):
        known = np.flatnonzero(~np.isnan(values[row, channel]))
        if len(known):
            filled[row, channel] = np.interp(timepoints, known, values[row, channel, known])
    return filled

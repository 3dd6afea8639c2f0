"""Packing: arrays as short text that a browser unpacks one case at a time.

In:  the arrays of one case, without padding.
Out: base64 of gzip of sections; `assets/scripts/codec.js` reads them in the same order.

A section is an array whose bytes are sorted by significance (all lowest bytes first), which suits gzip. Values are
``offset + scale * number``; scales are powers of two, so that scaling rounds nothing.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The most evidence that a report holds for all its cases, in values: about 13 MB of the file. Beyond it each case
# keeps only that of its most probable classes.
MAX_EVIDENCE = 6_000_000
LEAST_CLASSES = 3
# Evidence is scaled to just below 2**15, near the largest half float, so that it has three correct digits down to a
# billionth of the strongest.
HALF_EXPONENT = 15
GZIP_FORMAT = 31
# Bytes of one significance are alike, and unlike those of another: small blocks hold one kind, which saves 4 %.
SMALL_BLOCKS = 5
# A series that varies by less than this part of its level is stored as distances from the level.
NARROW = 0.1


def pack_case(
    series: NDArray[Any],
    evidence: NDArray[Any],
    logits: NDArray[Any],
    attention: NDArray[Any] | None,
    *,
    differences: bool = False,
) -> str:
    """Return one case as base64 text.

    Parameters
    ----------
    series : ndarray of shape (n_channels, n_timepoints)
        NaN where a value is missing.
    evidence : ndarray of shape (n_kept, n_timepoints)
        Of the classes that the report keeps for this case.
    logits : ndarray of shape (n_classes,)
    attention : ndarray of shape (n_timepoints,), or None
    differences : bool
        Store the bit pattern of evidence and attention as the difference from the previous timepoint's, modulo 2**16.
        Takes less room where neighbours are alike, more where they are not.
    """
    offsets = np.array([_offset(channel) for channel in series])
    shifted = series - offsets[:, None]
    series_scales = _scales(shifted, 1)
    rows = evidence if attention is None else np.concatenate([evidence, attention[None]])
    row_scales = _scales(rows, HALF_EXPONENT)
    patterns = (rows / row_scales[:, None]).astype("<f2").view("<u2")
    sections = [
        logits.astype("<f4"),
        offsets.astype("<f8"),
        series_scales.astype("<f8"),
        rounded(shifted / series_scales[:, None]),
        row_scales.astype("<f8"),
        np.diff(patterns, axis=1, prepend=np.uint16(0)) if differences else patterns,
    ]
    return pack(b"".join(sorted_bytes(section) for section in sections))


def pack(content: bytes) -> str:
    """Return base64 of gzip, the same for the same content."""
    compressor = zlib.compressobj(wbits=GZIP_FORMAT, memLevel=SMALL_BLOCKS)
    return base64.b64encode(compressor.compress(content) + compressor.flush()).decode("ascii")


def sorted_bytes(array: NDArray[Any]) -> bytes:
    """Return the bytes of an array, the lowest of every item first.

    Examples
    --------
    >>> sorted_bytes(np.array([0x0102, 0x0304], dtype="<u2")).hex()
    '02040103'
    """
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).reshape(len(flat), flat.itemsize).T.tobytes()


def rounded(values: NDArray[Any]) -> NDArray[np.uint32]:
    """Return float32 bit patterns of 16 significant bits, almost five digits; the rest are zeros, which pack well.

    Examples
    --------
    >>> rounded(np.array([1.0, 3.14159265, np.nan])).view(np.float32)
    array([1.       , 3.1416016,       nan], dtype=float32)
    """
    numbers = values.astype("<f4")
    bits = (numbers.view("<u4") + np.uint32(0x80)) & np.uint32(0xFFFFFF00)
    return np.where(np.isnan(numbers), np.uint32(0x7FC00000), bits).astype("<u4")


def kept_classes(
    probabilities: NDArray[np.float64], lengths: NDArray[np.int64], always: NDArray[np.int64] | None
) -> NDArray[np.bool_]:
    """Return which classes' evidence each case keeps, (n_cases, n_classes), so that the report stays small.

    Parameters
    ----------
    probabilities : ndarray of shape (n_cases, n_classes)
    lengths : ndarray of shape (n_cases,)
    always : ndarray of shape (n_cases,), or None
        A class that each case keeps in any event, the true one; -1 where there is none.
    """
    n_cases, n_classes = probabilities.shape
    n_kept = int(np.clip(MAX_EVIDENCE // max(1, int(lengths.sum())), LEAST_CLASSES, n_classes))
    ranked = np.argsort(-probabilities, axis=1, kind="stable")[:, :n_kept]
    kept = np.zeros((n_cases, n_classes), dtype=bool)
    np.put_along_axis(kept, ranked, True, axis=1)
    if always is not None:
        known = np.flatnonzero(always >= 0)
        kept[known, always[known]] = True
    return kept


def runs(marked: NDArray[np.bool_]) -> list[list[int]]:
    """Return [start, stop] of every run of True.

    Examples
    --------
    >>> runs(np.array([True, False, True, True]))
    [[0, 1], [2, 4]]
    """
    edges = np.flatnonzero(np.diff(marked.astype(np.int8), prepend=0, append=0))
    pairs: list[list[int]] = edges.reshape(-1, 2).tolist()
    return pairs


def _offset(channel: NDArray[Any]) -> float:
    observed = channel[~np.isnan(channel)].astype(np.float64)
    if not observed.size:
        return 0.0
    low, high = float(observed.min()), float(observed.max())
    return low if high - low < NARROW * max(abs(low), abs(high)) else 0.0


def _scales(rows: NDArray[Any], exponent: int) -> NDArray[np.float64]:
    """Return, per row, the power of two that brings its largest value to just below ``2 ** exponent``."""
    largest = np.fmax.reduce(np.abs(rows, dtype=np.float64), axis=1, initial=0.0)
    scales: NDArray[np.float64] = np.ldexp(1.0, np.frexp(largest)[1] - exponent)
    return scales

"""Labels: from the text of a file to the array of a `Dataset`.

A label means the same in every format: 1, 1.0 and 1.0000000e+00 are the integer 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_PADDED = re.compile(r"[+-]?0\d", re.ASCII)
_MISSING = frozenset({"", "?", "nan"})

EXACT_IN_FLOAT = 2**53


def is_missing(label: str) -> bool:
    """Return whether a label is missing: nothing, '?' or NaN.

    Examples
    --------
    >>> is_missing("NaN"), is_missing("Na")
    (True, False)
    """
    return label.strip().casefold() in _MISSING


def label_key(label: str) -> str | float:
    """Return a key that labels share if they mean the same: the number if it is one, else the text.

    Examples
    --------
    >>> label_key("1.0") == label_key("1"), label_key("007") == label_key("7")
    (True, False)
    """
    label = label.strip()
    return float(label) if _is_number(label) else label


def parse_labels(labels: Sequence[str]) -> NDArray[Any]:
    """Return labels as numbers where all of them are, else as text.

    Parameters
    ----------
    labels : sequence of str
        The labels as a file has them; those of both splits together, so that they get one type.

    Returns
    -------
    ndarray of shape (n_cases,)
        int64 where all are whole numbers, float64 where all are numbers, text otherwise. If one is a code with
        leading zeros, such as 007, all stay text.

    Examples
    --------
    >>> parse_labels(["1", "-1.0", "2.0000000e+00"])
    array([ 1, -1,  2])
    >>> parse_labels(["0.5", "1"])
    array([0.5, 1. ])
    >>> parse_labels(["007", "12"]).tolist()
    ['007', '12']
    """
    distinct = set(labels)
    if all(map(_is_number, distinct)):
        whole = {label: _as_whole(label) for label in distinct}
        if None not in whole.values():
            return np.array([whole[label] for label in labels], dtype=np.int64)
        # Beyond 2**53 two different numbers can become one float, and two classes one.
        if all(abs(float(label)) < EXACT_IN_FLOAT for label in distinct):
            return np.array([float(label) for label in labels], dtype=np.float64)
    return np.array([label.strip() for label in labels], dtype=np.str_)


def label_texts(y: Iterable[Any]) -> list[str]:
    """Return the text of labels that a file stores as numbers, booleans, bytes or text.

    Parameters
    ----------
    y : iterable
        Labels; None for a missing one.

    Returns
    -------
    list of str

    Examples
    --------
    >>> label_texts(np.array([1.0, 2.5])), label_texts([b"walk", None])
    (['1.0', '2.5'], ['walk', ''])
    """
    return [_text(label) for label in y]


def _text(label: Any) -> str:
    if label is None:
        return ""
    if isinstance(label, bytes):
        try:
            return label.decode("utf-8")
        except UnicodeDecodeError:
            return label.decode("latin-1")
    return str(label)


def _is_number(label: str) -> bool:
    label = label.strip()
    return bool(_NUMBER.fullmatch(label)) and not _PADDED.match(label) and np.isfinite(float(label)).item()


def _as_whole(label: str) -> int | None:
    label = label.strip()
    if _WHOLE.fullmatch(label):
        return int(label)
    value = float(label)
    return int(value) if value.is_integer() and abs(value) < EXACT_IN_FLOAT else None

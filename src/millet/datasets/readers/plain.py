r"""The fast parser: text that holds nothing but plain numbers, at the speed of scipy's Matrix Market reader.

That reader has the fastest correctly rounding parser among our dependencies, but ignores what follows a number on
its line. So a block is first shown to be plain: digits, signs, points and exponents only, in an order that makes
numbers. For anything else, `None` comes back and the careful parser in `numbers` takes over.
"""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray

from millet.datasets.readers.contents import Floats

_DIGIT, _POINT, _SIGN, _EXPONENT, _END, _OTHER = range(6)

_MAY_FOLLOW = {
    _END: (_DIGIT, _POINT, _SIGN),
    _SIGN: (_DIGIT, _POINT),
    _DIGIT: (_DIGIT, _POINT, _EXPONENT, _END),
    _POINT: (_DIGIT, _EXPONENT, _END),
    _EXPONENT: (_DIGIT, _SIGN),
}


def _character_kinds() -> bytes:
    kinds = bytearray([_OTHER] * 256)
    for characters, kind in (
        (b"0123456789", _DIGIT),
        (b".", _POINT),
        (b"+-", _SIGN),
        (b"eE", _EXPONENT),
        (b"\n", _END),
    ):
        for character in characters:
            kinds[character] = kind
    return bytes(kinds)


_KINDS = _character_kinds()
_PLAIN_PAIRS = bytes(8 * kind + follower for kind, followers in _MAY_FOLLOW.items() for follower in followers)
_LOWER_EXPONENT = bytes.maketrans(b"E", b"e")


def parse_plain_rows(rows: list[str], delimiter: str) -> Floats | None:
    """Return rows of equally many plain numbers, or None if they are anything else.

    Parameters
    ----------
    rows : list of str
        One channel of one case each; at least one.
    delimiter : str
        The one character that separates numbers.

    Returns
    -------
    ndarray of shape (n_rows, n_timepoints), or None

    Examples
    --------
    >>> parse_plain_rows(["1,2,-3e-1", "4,.5,6"], ",")
    array([[ 1. ,  2. , -0.3],
           [ 4. ,  0.5,  6. ]])
    >>> parse_plain_rows(["1,2,3", "4,5.5.5,6"], ",") is None
    True
    """
    n_delimiters = rows[0].count(delimiter)
    text = "\n".join(rows)
    if not text.isascii() or any(row.count(delimiter) != n_delimiters for row in rows):
        return None
    body = text.encode().replace(delimiter.encode(), b"\n") + b"\n"
    n_values = len(rows) * (n_delimiters + 1)
    return _parse_plain_lines(body, n_values, len(rows)) if _is_plain(body) else None


def _is_plain(body: bytes) -> bool:
    """Return whether every line is one number, in all respects that the Matrix Market reader does not check."""
    # Translating a byte string is ten times as fast as indexing an array.
    kinds = np.frombuffer((b"\n" + body).translate(_KINDS), dtype=np.uint8)
    pairs: NDArray[np.uint8] = 8 * kinds[:-1] + kinds[1:]
    if pairs.tobytes().translate(None, delete=_PLAIN_PAIRS):
        return False
    # What is left: a second point or exponent in one number, or a point in the exponent.
    skeleton = body.translate(_LOWER_EXPONENT, delete=b"0123456789+-")
    return not any(pair in skeleton for pair in (b"..", b"e.", b"ee"))


def _parse_plain_lines(body: bytes, n_values: int, n_rows: int) -> Floats | None:
    # Imported here since scipy.io takes longer to import than a small file to read.
    from scipy.io import mmread

    header = b"%%%%MatrixMarket matrix array real general\n%d 1\n" % n_values
    try:
        values: Floats = mmread(io.BytesIO(header + body))
    except (ValueError, OverflowError):  # A lone point, a leading plus: left to the careful parser.
        return None
    return values.reshape(n_rows, -1)

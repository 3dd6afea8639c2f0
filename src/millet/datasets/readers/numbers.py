"""From text to numbers: the careful parser, which knows missing values and says what is wrong, and where.

Blocks of plain numbers go to the fast parser in `plain`, which gives the same numbers to the last bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import final

import numpy as np

from millet.datasets.dataset import Series
from millet.datasets.readers.contents import File, Floats, check_values, stack_cases
from millet.datasets.readers.plain import parse_plain_rows
from millet.errors import DatasetFormatError

MISSING = frozenset({"?", "NA"})
"""Missing values besides NaN, which is a number to every parser."""

MISSING_OR_EMPTY = MISSING | {""}
"""For formats in which nothing between two delimiters is a missing value, too."""

DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")

BLOCK_CHARS = 1 << 18
"""Text parsed in one go: long enough for the fast parser to pay, short beside the array that comes out."""

FEWEST_CHARS_FOR_SPEED = 1 << 16
"""Shorter texts are read before the fast parser is even imported."""


def shorten(text: str) -> str:
    """Return a quoted text that fits into a message.

    Examples
    --------
    >>> shorten("walking")
    "'walking'"
    """
    return repr(text if len(text) <= 40 else text[:37] + "...")


def parse_number(token: str, missing: frozenset[str]) -> float:
    """Return one number, NaN where it is missing.

    Parameters
    ----------
    token : str
        The text of the number.
    missing : frozenset of str
        Texts that stand for a missing value.

    Raises
    ------
    ValueError
        If the text is neither.

    Examples
    --------
    >>> parse_number(" 1.5e2", MISSING), parse_number("?", MISSING)
    (150.0, nan)
    """
    token = token.strip()
    if token in missing:
        return float("nan")
    # Python also accepts 1_000 and Arabic digits: in a data file these are damage.
    if "_" in token or not token.isascii():
        raise ValueError(token)
    return float(token)


def parse_row(
    tokens: Iterable[str],
    missing: frozenset[str],
    file: File,
    line: int,
    hint: str = "",
    columns: Sequence[str] = (),
) -> Floats:
    """Return the numbers of a row, or say which value is not a number.

    Parameters
    ----------
    tokens : iterable of str
        The texts of the numbers.
    missing : frozenset of str
        Texts that stand for a missing value.
    file, line : path, int
        Where they are, for the message.
    hint : str
        What else the value might be, for the end of the message.
    columns : sequence of str
        What the file calls the values, where each has a name of its own.

    Returns
    -------
    ndarray of shape (n_values,)

    Examples
    --------
    >>> parse_row(["1", "NaN", "?"], MISSING, "a.tsv", 1)
    array([ 1., nan, nan])
    """
    values = []
    for token in tokens:
        try:
            values.append(parse_number(token, missing))
        except ValueError:
            point = ", with a decimal point" if DECIMAL_COMMA.fullmatch(token.strip()) else ""
            which = f"column {shorten(columns[len(values)])}" if columns else f"value {len(values) + 1} of the series"
            raise DatasetFormatError(
                file, f"{which} is {shorten(token)}; expected a number{point}.{hint}", line
            ) from None
    return np.array(values, dtype=np.float64)


@final
class SeriesParser:
    """Collects the text of cases, parses it block by block, and returns all series.

    Parameters
    ----------
    file : path
        The file, for messages.
    delimiter : str or None
        What separates numbers; None for any white space.
    missing : frozenset of str
        Texts that stand for a missing value.
    equal_length : bool
        Whether every series must be as long as the first.
    n_timepoints : int, optional
        The length that the file declares for every series.

    Examples
    --------
    >>> parser = SeriesParser("a.txt", delimiter=",", missing=MISSING)
    >>> parser.add(1, ["1,2,3"])
    >>> parser.add(2, ["4,?,6"])
    >>> parser.finish()
    array([[[ 1.,  2.,  3.]],
    <BLANKLINE>
           [[ 4., nan,  6.]]])
    """

    def __init__(
        self,
        file: File,
        delimiter: str | None,
        missing: frozenset[str],
        equal_length: bool = False,
        n_timepoints: int | None = None,
    ) -> None:
        self._file = file
        self._delimiter = delimiter
        self._missing = missing
        self._equal_length = equal_length
        self._n_timepoints = n_timepoints
        self._why = "as the header declares"
        self._blocks: list[Floats] = []
        self._cases: list[list[str]] = []
        self._lines: list[int] = []
        self._n_chars = 0

    def add(self, line: int, channels: list[str]) -> None:
        """Take one case.

        Parameters
        ----------
        line : int
            Where it is, for messages.
        channels : list of str
            The text of each channel; equally many for each case.
        """
        self._cases.append(channels)
        self._lines.append(line)
        self._n_chars += sum(map(len, channels))
        if self._n_chars >= BLOCK_CHARS:
            self._parse_block()

    def finish(self) -> Series:
        """Return all series.

        Returns
        -------
        ndarray of shape (n_cases, n_channels, n_timepoints), or list of (n_channels, n_timepoints) arrays
        """
        self._parse_block()
        if not self._blocks:
            raise DatasetFormatError(self._file, "holds no series; expected at least one line of data.")
        return stack_cases(self._blocks)

    def _parse_block(self) -> None:
        if not self._cases:
            return
        values = None
        if self._delimiter is not None and self._n_chars >= FEWEST_CHARS_FOR_SPEED:
            values = parse_plain_rows([channel for case in self._cases for channel in case], self._delimiter)
        if values is not None and self._fits(values.shape[1]):
            block = values.reshape(len(self._cases), -1, values.shape[1])
            check_values(self._file, block, self._lines)
            self._blocks.append(block)
        else:
            for line, channels in zip(self._lines, self._cases, strict=True):
                case = self._parse_case(line, channels)[None]
                check_values(self._file, case, [line])
                self._blocks.append(case)
        self._cases, self._lines, self._n_chars = [], [], 0

    def _fits(self, n_timepoints: int) -> bool:
        if self._n_timepoints is None and self._equal_length:
            self._n_timepoints, self._why = n_timepoints, f"as in line {self._lines[0]}"
        return self._n_timepoints in (None, n_timepoints)

    def _parse_case(self, line: int, channels: list[str]) -> Floats:
        rows = []
        for channel in channels:
            if not channel.strip():
                raise DatasetFormatError(self._file, "holds a series without any value.", line)
            rows.append(parse_row(channel.split(self._delimiter), self._missing, self._file, line))
        lengths = {len(row) for row in rows}
        if len(lengths) > 1:
            raise DatasetFormatError(
                self._file,
                f"the channels of this case have {', '.join(str(len(row)) for row in rows)} values; "
                "expected equally many in each.",
                line,
            )
        n_timepoints = lengths.pop()
        if not self._fits(n_timepoints):
            raise DatasetFormatError(
                self._file, f"found {n_timepoints} values, expected {self._n_timepoints}, {self._why}.", line
            )
        return np.stack(rows)

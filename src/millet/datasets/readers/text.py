"""Text files as numbered lines, whatever their encoding and line ends, plain or gzip-compressed.

Out: lines for every text reader. A compressed file is unpacked as it is read, and no further.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, final

from millet.errors import DatasetFormatError

LONGEST_LINE = 1 << 28
"""Bytes in one line: a series of some 25 million timepoints, and well below what fills a memory."""

LARGEST_UNPACKED = 8 << 30
USUAL_UNPACKED = 64 << 20
LARGEST_EXPANSION = 200
"""Text of numbers shrinks to a third or a tenth; 200 times is a repetition built to fill a memory."""


def check_expansion(file: Path, n_packed: int, n_unpacked: int) -> None:
    """Refuse a compressed file that unpacks to implausibly much.

    Parameters
    ----------
    file : Path
        The file, for the message.
    n_packed, n_unpacked : int
        Bytes stored and bytes unpacked (so far).

    Examples
    --------
    >>> check_expansion(Path("a.tsv.gz"), n_packed=1 << 20, n_unpacked=10 << 20)
    >>> check_expansion(Path("a.tsv.gz"), n_packed=1 << 10, n_unpacked=1 << 30)
    Traceback (most recent call last):
        ...
    millet.errors.DatasetFormatError: a.tsv.gz: unpacks to over 1024 MB from 0 MB, ...
    """
    suspicious = n_unpacked > USUAL_UNPACKED and n_unpacked > LARGEST_EXPANSION * n_packed
    if suspicious or n_unpacked > LARGEST_UNPACKED:
        raise DatasetFormatError(
            file,
            f"unpacks to over {n_unpacked >> 20} MB from {n_packed >> 20} MB, more than is read from a compressed "
            f"file ({LARGEST_EXPANSION} times its size, {LARGEST_UNPACKED >> 30} GB at most). "
            "If you trust it, unpack it and read the plain file.",
        )


@final
class _BoundedGzip(io.RawIOBase):
    """A gzip file that refuses to unpack beyond what `check_expansion` allows."""

    def __init__(self, file: Path, packed: gzip.GzipFile) -> None:
        self._file = file
        self._gzip = packed
        self._n_packed = file.stat().st_size
        self._n_unpacked = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        try:
            data = self._gzip.read(len(view))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DatasetFormatError(self._file, f"is not a whole gzip file ({error}). Get it again.") from error
        self._n_unpacked += len(data)
        check_expansion(self._file, self._n_packed, self._n_unpacked)
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._gzip.close()
        super().close()


def _open_binary(file: Path) -> BinaryIO:
    if file.suffix.lower() == ".gz":
        return io.BufferedReader(_BoundedGzip(file, gzip.open(file)), buffer_size=1 << 16)
    return file.open("rb", buffering=1 << 16)


def _decode(line: bytes) -> str:
    """Decode as UTF-8, or as Latin-1, in which older archives wrote their class names."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def numbered_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, counted from 1, without its line end; blank lines too.

    Parameters
    ----------
    file : Path
        A text file in UTF-8 (with or without byte order mark) or Latin-1; unpacked if it ends in ``.gz``.

    Yields
    ------
    number : int
        The line's number.
    line : str
        Its text.
    """
    with _open_binary(file) as handle:
        number = 0
        while line := handle.readline(LONGEST_LINE):
            number += 1
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if b"\0" in line:
                raise DatasetFormatError(
                    file, "holds a NUL byte; expected text in UTF-8 or Latin-1 (not UTF-16, not binary).", number
                )
            if len(line) == LONGEST_LINE:
                raise DatasetFormatError(file, f"is longer than {LONGEST_LINE >> 20} MB.", number)
            # Old Macs ended lines with \r alone, which `readline` does not recognise.
            parts = _decode(line).rstrip("\r\n").split("\r")
            yield from enumerate(parts, start=number)
            number += len(parts) - 1


def filled_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield what `numbered_lines` yields, without the blank lines (which still count).

    Parameters
    ----------
    file : Path
        A text file.

    Yields
    ------
    number : int
        The line's number in the file.
    line : str
        Its text.
    """
    return ((number, line) for number, line in numbered_lines(file) if line and not line.isspace())

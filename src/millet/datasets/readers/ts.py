"""Reader for ``.ts``, the format of the UEA archive, aeon and sktime: declared facts, then one case per line.

A case's channels are separated by colons, and its label comes last. What the header declares is compared with
the data, since a header that is wrong about one thing is often wrong about the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from millet.datasets.labels import label_key
from millet.datasets.readers.contents import Contents
from millet.datasets.readers.numbers import MISSING, SeriesParser, shorten
from millet.datasets.readers.text import filled_lines
from millet.errors import DatasetFormatError

_YES_OR_NO = {"true": True, "false": False}


@dataclass
class _Header:
    """What the tags declare; None where they say nothing."""

    timestamps: bool | None = None
    univariate: bool | None = None
    equal_length: bool | None = None
    n_channels: int | None = None
    n_timepoints: int | None = None
    labelled: bool | None = None
    classes: tuple[str, ...] = ()


def read_ts(file: Path) -> Contents:
    """Read a ``.ts`` file: univariate or multivariate, of equal or unequal length, labelled or not.

    Parameters
    ----------
    file : Path
        The file; unpacked if it ends in ``.gz``.

    Returns
    -------
    Contents
        With labels unless the header says ``@classLabel false`` or ``@targetLabel false``.
    """
    numbered = (pair for pair in filled_lines(file) if not pair[1].lstrip().startswith(("#", "%")))
    header = _read_header(file, numbered)
    # A length that is declared along with "equalLength false" is the longest, or means nothing at all.
    n_timepoints = None if header.equal_length is False else header.n_timepoints
    parser = SeriesParser(file, ",", MISSING, header.equal_length is True, n_timepoints)
    labels: list[str] = []
    lines: list[int] = []
    known = {label_key(label) for label in header.classes}
    for number, line in numbered:
        channels = line.split(":")
        if header.labelled:
            label = channels.pop().strip()
            if known and label_key(label) not in known:
                raise DatasetFormatError(
                    file, f"label {shorten(label)} is not among those declared: {_listed(header.classes)}.", number
                )
            labels.append(label)
        _check_channels(file, number, len(channels), header)
        lines.append(number)
        parser.add(number, channels)
    return Contents(X=parser.finish(), labels=labels if header.labelled else None, lines=lines)


def _check_channels(file: Path, number: int, n_found: int, header: _Header) -> None:
    if n_found == 0:
        raise DatasetFormatError(file, "found no ':'; expected values, then ':' and the label.", number)
    if header.n_channels is None:
        header.n_channels = n_found
    if n_found != header.n_channels:
        raise DatasetFormatError(
            file, f"found {n_found} channels, expected {header.n_channels}, as declared or in the first case.", number
        )


def _read_header(file: Path, numbered: Iterator[tuple[int, str]]) -> _Header:
    header = _Header()
    number = None
    for number, line in numbered:
        tag, *values = line.split()
        if tag.lower() == "@data":
            break
        if not tag.startswith("@"):
            raise DatasetFormatError(
                file, f"found {shorten(line)} before '@data'; expected tags such as '@problemName'.", number
            )
        _read_tag(file, number, header, tag, values)
    else:
        raise DatasetFormatError(
            file, "has no '@data' line; expected tags, then '@data', then one case a line.", number
        )
    if header.labelled is None:
        raise DatasetFormatError(
            file, "declares no labels; expected '@classLabel true a b c', or '@classLabel false'.", number
        )
    if header.timestamps:
        raise DatasetFormatError(
            file,
            "declares '@timeStamps true'. Values with their own times are not read: "
            "write one value per timepoint, at equal steps, and '@timeStamps false'.",
        )
    if header.univariate:
        if header.n_channels not in (None, 1):
            raise DatasetFormatError(file, f"declares '@univariate true' and {header.n_channels} dimensions.")
        header.n_channels = 1
    return header


def _read_tag(file: Path, number: int, header: _Header, tag: str, values: list[str]) -> None:
    match tag.lower():
        case "@timestamps":
            header.timestamps = _yes_or_no(file, number, tag, values)
        case "@univariate":
            header.univariate = _yes_or_no(file, number, tag, values)
        case "@equallength":
            header.equal_length = _yes_or_no(file, number, tag, values)
        case "@dimensions" | "@dimension":
            header.n_channels = _count(file, number, tag, values)
        case "@serieslength":
            header.n_timepoints = _count(file, number, tag, values)
        case "@classlabel" | "@targetlabel":
            header.labelled = _yes_or_no(file, number, tag, values)
            header.classes = tuple(values[1:])
        case _:  # @problemName, @missing and what others may add: nothing that the data could contradict.
            pass


def _yes_or_no(file: Path, number: int, tag: str, values: list[str]) -> bool:
    answer = _YES_OR_NO.get(values[0].lower()) if values else None
    if answer is None:
        found = shorten(" ".join(values))
        raise DatasetFormatError(file, f"'{tag}' says {found}; expected 'true' or 'false'.", number)
    return answer


def _count(file: Path, number: int, tag: str, values: list[str]) -> int | None:
    """Return a declared number; None for 0, which writers put where they don't know it."""
    if len(values) != 1 or not (values[0].isascii() and values[0].isdigit() and len(values[0]) < 19):
        found = shorten(" ".join(values))
        raise DatasetFormatError(file, f"'{tag}' says {found}; expected a whole number.", number)
    return int(values[0]) or None


def _listed(classes: tuple[str, ...]) -> str:
    return ", ".join(classes[:20]) + (", ..." if len(classes) > 20 else "")

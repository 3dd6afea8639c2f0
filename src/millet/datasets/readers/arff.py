r"""Reader for ``.arff``, Weka's format, as the UCR and UEA archives use it.

Univariate: numeric attributes, one per timepoint, and the class last. Multivariate: one relational attribute whose
channels are separated by ``\n`` inside a quoted text, and the class last. scipy's reader knows no relational
attributes and no unlabelled classes, so both forms are read here; the tests compare the first with scipy's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from millet.datasets.labels import is_missing, label_key
from millet.datasets.readers.contents import Contents
from millet.datasets.readers.numbers import MISSING, SeriesParser, shorten
from millet.datasets.readers.text import filled_lines
from millet.errors import DatasetFormatError

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|\S+)\s+(\S.*)", re.IGNORECASE)
_NOMINAL_VALUE = re.compile(rf"\s*({_QUOTED}|[^,'\"]*)\s*(?:,|$)")
_LAST_VALUE = re.compile(rf"(.*?)(?:^|,)\s*({_QUOTED}|[^,'\"]*)\s*$")
_RELATION_AND_REST = re.compile(rf"\s*({_QUOTED})\s*(?:,(.*))?$")
_NUMERIC = frozenset({"numeric", "real", "integer"})
_LABEL_NAMES = frozenset({"class", "target", "label", "y"})


@dataclass
class _Header:
    """The attributes: how many timepoints, whether inside a relation, and the class if there is one."""

    n_timepoints: int = 0
    is_relational: bool = False
    is_labelled: bool = False
    classes: tuple[str, ...] = ()


def read_arff(file: Path) -> Contents:
    """Read an ``.arff`` file, univariate or with one relational attribute.

    Parameters
    ----------
    file : Path
        The file; unpacked if it ends in ``.gz``.

    Returns
    -------
    Contents
        Without labels where no attribute is nominal or called class, target, label or y.
    """
    numbered = (pair for pair in filled_lines(file) if not pair[1].lstrip().startswith("%"))
    header = _read_header(file, numbered)
    parser = SeriesParser(file, ",", MISSING, equal_length=True, n_timepoints=header.n_timepoints)
    known = {label_key(label) for label in header.classes}
    labels: list[str] = []
    lines: list[int] = []
    n_channels = 0
    for number, line in numbered:
        channels, label = _split_row(file, number, line, header)
        if known and label_key(label) not in known and not is_missing(label):
            raise DatasetFormatError(
                file, f"label {shorten(label)} is not among those declared: {', '.join(header.classes[:20])}.", number
            )
        n_channels = n_channels or len(channels)
        if len(channels) != n_channels:
            raise DatasetFormatError(
                file, f"found {len(channels)} channels, expected {n_channels}, as in line {lines[0]}.", number
            )
        labels.append(label)
        lines.append(number)
        parser.add(number, channels)
    return Contents(X=parser.finish(), labels=labels if header.is_labelled else None, lines=lines)


def _split_row(file: Path, number: int, line: str, header: _Header) -> tuple[list[str], str]:
    """Return the text of each channel, and the label ('' where there is none)."""
    if header.is_relational:
        found = _RELATION_AND_REST.match(line)
        if found is None or (found[2] is None) == header.is_labelled:
            raise DatasetFormatError(
                file, f"found {shorten(line)}; expected a quoted series, then a comma and the label.", number
            )
        return found[1][1:-1].split(r"\n"), _unquoted(found[2] or "")
    if not header.is_labelled:
        return [line], ""
    found = _LAST_VALUE.match(line)
    if found is None:
        raise DatasetFormatError(file, f"found {shorten(line)}; expected values, then the label.", number)
    return [found[1]], _unquoted(found[2])


def _read_header(file: Path, numbered: Iterator[tuple[int, str]]) -> _Header:
    header = _Header()
    number = None
    is_inside = False
    for number, line in numbered:
        tag = line.split()[0].lower()
        if tag == "@data":
            break
        if tag == "@attribute" and header.is_labelled:
            raise DatasetFormatError(file, "found an attribute after the class; expected the class last.", number)
        if tag == "@attribute":
            is_inside = _read_attribute(file, number, line, header, is_inside)
        elif tag == "@end":
            is_inside = False
        elif tag != "@relation":
            raise DatasetFormatError(
                file, f"found {shorten(line)} before '@data'; expected '@relation' or '@attribute'.", number
            )
    else:
        raise DatasetFormatError(
            file, "has no '@data' line; expected attributes, then '@data', then one case a line.", number
        )
    if not header.n_timepoints:
        raise DatasetFormatError(file, "declares no numeric attribute; expected one for each timepoint.", number)
    return header


def _read_attribute(file: Path, number: int, line: str, header: _Header, is_inside: bool) -> bool:
    """Add one attribute to the header; return whether what follows is inside a relation."""
    found = _ATTRIBUTE.match(line.strip())
    if found is None:
        raise DatasetFormatError(file, f"found {shorten(line)}; expected '@attribute name type'.", number)
    name, kind = _unquoted(found[1]).lower(), found[2].strip()
    if kind.lower() == "relational" and not header.n_timepoints and not header.is_relational:
        header.is_relational = True
        return True
    if kind.startswith("{") and kind.endswith("}") and not is_inside:
        header.is_labelled = True
        header.classes = tuple(_unquoted(value) for value in _NOMINAL_VALUE.findall(kind[1:-1]) if value)
    elif kind.lower() in _NUMERIC and name in _LABEL_NAMES and not is_inside:
        header.is_labelled = True
    elif kind.lower() in _NUMERIC and is_inside == header.is_relational:
        header.n_timepoints += 1
    else:
        raise DatasetFormatError(
            file,
            f"attribute {shorten(name)} has type {shorten(kind)} here; expected numeric attributes, or one "
            "relational attribute that holds them, and then the class.",
            number,
        )
    return is_inside


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text

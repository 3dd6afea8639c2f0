r"""Reader for the UCR archive's ``.tsv`` and ``.txt``: one case per line, the label first.

The archive of 2018 separates with tabs, that of 2015 with commas, and some copies with blanks; the first line
decides. Every row is equally long: where the series are not, the archive pads them with NaN, which is kept.
"""

from __future__ import annotations

from pathlib import Path

from millet.datasets.readers.columns import LABEL_NAMES, check_no_counting, is_header
from millet.datasets.readers.contents import Contents
from millet.datasets.readers.numbers import MISSING_OR_EMPTY, SeriesParser, shorten
from millet.datasets.readers.text import filled_lines
from millet.errors import DatasetFormatError


def read_tsv(file: Path) -> Contents:
    """Read a UCR file: label, then values, separated by tabs, commas or blanks.

    Parameters
    ----------
    file : Path
        The file; unpacked if it ends in ``.gz``.

    Returns
    -------
    Contents
        X of shape (n_cases, 1, n_timepoints).
    """
    labels: list[str] = []
    lines: list[int] = []
    delimiter: str | None = None
    parser: SeriesParser | None = None
    for number, line in filled_lines(file):
        if parser is None:
            delimiter = find_delimiter(line)
            _check_no_header(file, number, line.split(delimiter))
            parser = SeriesParser(file, delimiter, MISSING_OR_EMPTY, equal_length=True)
        label, *values = line.split(delimiter, maxsplit=1)
        if not values:
            raise DatasetFormatError(
                file, f"found only {shorten(line)}; expected a label and values, separated by tabs.", number
            )
        labels.append(_unquoted(label.strip()))
        lines.append(number)
        parser.add(number, values)
    if parser is None:
        raise DatasetFormatError(file, "is empty; expected one case a line: a label, then values.")
    return Contents(X=parser.finish(), labels=labels, lines=lines)


def _check_no_header(file: Path, number: int, cells: list[str]) -> None:
    """Refuse a header, which would be taken for a case."""
    check_no_counting(file, number, cells)
    if cells[0].strip().casefold() in LABEL_NAMES and is_header(cells):
        raise DatasetFormatError(
            file,
            "is a header; expected a label and values. Remove this row, or save the file as .csv, where headers are "
            "read.",
            number,
        )


def _unquoted(label: str) -> str:
    return label[1:-1] if len(label) > 1 and label[0] == label[-1] == '"' else label


def find_delimiter(line: str) -> str | None:
    r"""Return what separates the values of a line; None stands for any white space.

    Examples
    --------
    >>> find_delimiter("1\t0.5\t0.7"), find_delimiter("1,0.5,0.7"), find_delimiter("  1  0.5  0.7")
    ('\t', ',', None)
    """
    return next((delimiter for delimiter in "\t," if delimiter in line.strip(" ")), None)

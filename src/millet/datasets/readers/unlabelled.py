"""Text files whose rows are values and nothing else, where the format would take the first column for labels."""

from __future__ import annotations

import csv
from pathlib import Path

from millet.datasets.readers.columns import check_no_counting, is_header
from millet.datasets.readers.contents import Contents
from millet.datasets.readers.numbers import MISSING_OR_EMPTY, SeriesParser
from millet.datasets.readers.text import filled_lines
from millet.datasets.readers.tsv import find_delimiter
from millet.errors import DatasetFormatError


def label_comes_first(path: Path, suffix: str) -> bool:
    """Return whether the first column is the label by its position alone, without a header that says so.

    Parameters
    ----------
    path : Path
    suffix : str
        The format of the file, such as ".csv" or ".tsv.gz".
    """
    kind = suffix.removesuffix(".gz")
    if kind != ".csv":
        return kind in {".tsv", ".txt"}
    return not is_header(next(csv.reader(line for _, line in filled_lines(path)), []))


def read_unlabelled(path: Path, suffix: str) -> Contents:
    """Read the rows of a file as series, the first column as well."""
    if not label_comes_first(path, suffix):
        raise DatasetFormatError(
            path,
            "can't be read without labels: that is for .csv, .tsv and .txt files without a header, whose first "
            "column would be the label.",
        )
    is_csv = suffix.startswith(".csv")
    parser: SeriesParser | None = None
    for number, line in filled_lines(path):
        delimiter = "," if is_csv else find_delimiter(line)
        if parser is None:
            check_no_counting(path, number, line.replace('"', "").split(delimiter))
        parser = parser or SeriesParser(path, delimiter, MISSING_OR_EMPTY, equal_length=not is_csv)
        # As in labelled files, numbers may stand in quotes, and empty cells at the end of a row end the series.
        parser.add(number, [line.replace('"', "").rstrip(" ,") if is_csv else line])
    if parser is None:
        raise DatasetFormatError(path, "is empty; expected one series a row.")
    return Contents(X=parser.finish(), labels=None)

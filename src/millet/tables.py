"""Tables: rows of cells in, aligned plain text out, for terminals and logs; and counts in words."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def format_table(header: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = ()) -> str:
    """Align rows under a header, with two spaces between columns.

    Parameters
    ----------
    header : sequence of str
        A word for each column.
    rows : sequence of sequences
        One cell for each column; None is left empty.
    right : sequence of str
        The columns to align to the right, as is usual for numbers.

    Returns
    -------
    str
        One line for the header and one for each row, without a final newline.

    Examples
    --------
    >>> print(format_table(["name", "cases"], [["GunPoint", 200], ["Beef", 60]], right=["cases"]))
    name      cases
    GunPoint    200
    Beef         60
    >>> print(format_table(["name", "cases"], [["水泵", 1], ["Beef", 60]], right=["cases"]))
    name  cases
    水泵      1
    Beef     60
    """
    cells = [list(header), *(["" if cell is None else str(cell) for cell in row] for row in rows)]
    widths = [max(map(columns_of, column)) for column in zip(*cells, strict=True)]
    lines = []
    for line in cells:
        gaps = [" " * (width - columns_of(cell)) for cell, width in zip(line, widths, strict=True)]
        parts = zip(header, line, gaps, strict=True)
        lines.append("  ".join(gap + cell if word in right else cell + gap for word, cell, gap in parts).rstrip())
    return "\n".join(lines)


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes: two for a wide character, none for a combining one.

    Examples
    --------
    >>> columns_of("Pump"), columns_of("水泵"), columns_of("e\u0301")
    (4, 4, 1)
    """
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def counted(number: int, word: str) -> str:
    """Return a number with its word, in the plural where needed.

    Examples
    --------
    >>> counted(1, "cell"), counted(3, "cell")
    ('1 cell', '3 cells')
    """
    return f"{number} {word}" if number == 1 else f"{number} {word}s"

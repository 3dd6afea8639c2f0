"""Tables: rows of cells in, aligned plain text out, for terminals and logs."""

from __future__ import annotations

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
        The columns to align to the right, as numbers are.

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
    """
    cells = [list(header), *(["" if cell is None else str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    flush = [str.rjust if word in right else str.ljust for word in header]
    lines = (
        "  ".join(align(cell, width) for align, cell, width in zip(flush, line, widths, strict=True))
        for line in cells
    )
    return "\n".join(line.rstrip() for line in lines)

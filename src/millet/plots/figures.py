"""Figures: made when none is given, closed when drawing fails, saved whole.

In:  sizes and paths.
Out: matplotlib figures for the other modules of `millet.plots`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from millet.atomic import atomic_path
from millet.errors import UnknownNameError

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase


# Enough pixel columns for a thousand timepoints, one each.
DPI = 150


@contextmanager
def figure_or_new(figure: FigureBase | None, width: float, height: float) -> Iterator[FigureBase]:
    """Yield the given figure, or a new one that is closed again if drawing fails."""
    if figure is not None:
        yield figure
        return
    from matplotlib import pyplot

    made = pyplot.figure(figsize=(width, height), layout="constrained", dpi=DPI)
    try:
        yield made
    except BaseException:
        pyplot.close(made)
        raise


def save_figure(figure: FigureBase, path: str | os.PathLike[str], *, dpi: float = 200) -> None:
    """Write a figure to a file, whole or not at all, and close it.

    Parameters
    ----------
    figure : matplotlib Figure
        Closed afterwards, even when saving fails. For a part of a figure, the whole is saved.
    path : str or path
        The suffix decides the format: .png, .pdf, .svg ...
    dpi : float
        Dots per inch of a pixel format, and of the heatmaps inside a vector format.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(Figure(), Path(folder) / "empty.png")
    ...     (Path(folder) / "empty.png").exists()
    True
    """
    from matplotlib import pyplot

    whole = figure.get_figure(root=True)
    assert whole is not None
    suffix = Path(path).suffix.lower().lstrip(".")
    known = whole.canvas.get_supported_filetypes()
    try:
        if suffix not in known:
            raise UnknownNameError(
                f"Can't save a figure as {Path(path).name!r}; use one of these suffixes: {', '.join(sorted(known))}."
            )
        with atomic_path(path) as temporary:
            whole.savefig(temporary, format=suffix, dpi=dpi)
    finally:
        pyplot.close(whole)

"""Naming: names are written beside their points, where they cover as little as possible."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from millet.plots.palettes import INK
from millet.plots.panels import SMALL, plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

# Where a name may stand: how far from its point, and which of its corners is there; the first one is best.
PLACES = (
    ((7, 0), "left", "center"),
    ((-7, 0), "right", "center"),
    ((0, 6), "center", "bottom"),
    ((0, -6), "center", "top"),
    ((5, 5), "left", "bottom"),
    ((5, -5), "left", "top"),
    ((-5, 5), "right", "bottom"),
    ((-5, -5), "right", "top"),
)
REACH = 4  # of a marker, in points


def name_points(ax: Axes, points: Iterable[tuple[str, tuple[float, float]]]) -> list[Annotation]:
    """Write every point's name where it covers as little as possible of markers and other names.

    Call it when everything else has its size and place: the figure is laid out for it, and anything drawn later is
    ignored.

    Parameters
    ----------
    ax : matplotlib Axes
        With the points drawn.
    points : iterable of (str, (float, float))
        Names, and where their points are.

    Returns
    -------
    list of matplotlib Annotation
        One for each point, in order.

    Examples
    --------
    >>> from matplotlib import pyplot
    >>> ax = pyplot.figure().subplots()
    >>> _ = ax.scatter([0, 0], [0, 0.01])
    >>> first, second = name_points(ax, [("a", (0, 0)), ("b", (0, 0.01))])
    >>> bool(first.get_window_extent().overlaps(second.get_window_extent()))
    False
    >>> pyplot.close(ax.figure)
    """
    from matplotlib.transforms import Bbox

    named = [(plain_text(name), point) for name, point in points]
    whole = ax.get_figure(root=True)
    assert whole is not None
    whole.draw_without_rendering()
    around = np.array([[-REACH, -REACH], [REACH, REACH]]) * whole.dpi / 72
    taken = [Bbox(around + center) for center in ax.transData.transform([point for _, point in named])]
    written = []
    for name, point in named:
        covered = []
        for place in PLACES:
            trial = _write(ax, name, point, place)
            box = trial.get_window_extent()
            trial.remove()
            is_outside = box.x0 < ax.bbox.x0 or box.x1 > ax.bbox.x1
            covered.append(box.count_overlaps(taken) + is_outside)
        written.append(_write(ax, name, point, PLACES[covered.index(min(covered))]))
        taken.append(written[-1].get_window_extent())
    return written


def _write(ax: Axes, name: str, point: tuple[float, float], place: tuple[tuple[int, int], str, str]) -> Annotation:
    from matplotlib.patheffects import withStroke

    offset, ha, va = place
    note = ax.annotate(
        name, point, xytext=offset, textcoords="offset points", ha=ha, va=va, fontsize=SMALL - 1, color=INK
    )
    note.set_in_layout(False)
    note.set_path_effects([withStroke(linewidth=2, foreground="white")])  # legible across lines
    return note

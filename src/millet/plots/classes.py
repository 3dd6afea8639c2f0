"""Pictures of several classes side by side: a case's scores for each of them, on one scale.

In:  `Explanation`.
Out: matplotlib figures; see `millet.plots`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from millet.errors import ParameterError
from millet.explanation import Explanation
from millet.plots.cases import WIDTH, OneCase, draw_channels
from millet.plots.figures import figure_or_new
from millet.plots.palettes import find_palette
from millet.plots.panels import (
    NORMAL,
    SMALL,
    draw_heatmap,
    draw_scores,
    inches_of,
    share_text,
    style,
    symmetric_limit,
    text_width,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

MOST_CLASSES = 10
# In inches: between the names of rows and their panel, and around the figure.
AROUND_NAMES = 0.25


def _chosen_classes(one: OneCase, classes: Sequence[Any] | None) -> list[int]:
    """Return the codes of the classes to draw: those asked for, or the most probable in their order."""
    if classes is None:
        most_probable = np.argsort(-one.probabilities, kind="stable")[:MOST_CLASSES]
        return sorted(most_probable.tolist())
    codes = [one.code(label) for label in classes]
    if not codes:
        raise ParameterError("classes must name at least one class, or be None for the most probable ones.")
    return codes


def plot_class_scores(
    explanation: Explanation,
    case: int = 0,
    classes: Sequence[Any] | None = None,
    *,
    palette: str = "green-red",
    figure: FigureBase | None = None,
) -> FigureBase:
    """Draw a case's scores for several classes, one small panel each, on one scale.

    Parameters
    ----------
    explanation : Explanation
    case : int
        Which case; negative counts from the end.
    classes : sequence of labels, optional
        By default the ten most probable classes, in the order of ``explanation.classes``.
    palette : {"green-red", "colorblind"}
    figure : matplotlib Figure or SubFigure, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Figure or SubFigure
    """
    one = OneCase(explanation, case)
    codes, colors = _chosen_classes(one, classes), find_palette(palette)
    n_columns = 1 if len(codes) <= 3 else 2
    n_rows = -(-len(codes) // n_columns)
    with figure_or_new(figure, WIDTH, 0.6 + 1.15 * n_rows) as canvas:
        grid = canvas.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        panels = list(grid.flat)
        for ax in panels[len(codes) :]:
            ax.set_visible(False)
        for number, (ax, code) in enumerate(zip(panels, codes, strict=False)):
            draw_scores(ax, one.time, one.scores[code], colors)
            first, last = number % n_columns == 0, number + n_columns >= len(codes)
            style(ax, one.time, "score" if first else "", show_time=last)
            weight = "bold" if code == one.predicted else "normal"
            write_title(ax, partial(_class_title, one, code), SMALL, weight=weight)
        canvas.align_ylabels()
    return canvas


def _class_title(one: OneCase, code: int, limit: int) -> str:
    predicted = ", predicted" if code == one.predicted else ""
    return f"{one.name(code, limit)} ({share_text(one.probabilities[code])}{predicted})"


def plot_heatmap_classes(
    explanation: Explanation,
    case: int = 0,
    classes: Sequence[Any] | None = None,
    *,
    relevant: ArrayLike | None = None,
    label: Any = None,
    palette: str = "green-red",
    figure: FigureBase | None = None,
) -> FigureBase:
    """Draw a case and, below it, a row of colours per class, all on one scale.

    Parameters
    ----------
    explanation : Explanation
    case : int
        Which case; negative counts from the end.
    classes : sequence of labels, optional
        By default the ten most probable classes, in the order of ``explanation.classes``.
    relevant : array of bool, shape (n_timepoints,), optional
        True where a timepoint is known to matter.
    label : label, optional
        The true class, named in the title.
    palette : {"green-red", "colorblind"}
    figure : matplotlib Figure or SubFigure, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Figure or SubFigure
    """
    one = OneCase(explanation, case)
    codes, colors = _chosen_classes(one, classes), find_palette(palette)
    title, region = one.title(label), one.relevant(relevant)
    n_channels, rows = len(one.series), max(0.8, 0.3 * len(codes))
    channel_height = max(0.45, 1.5 / n_channels**0.5)
    with figure_or_new(figure, WIDTH, n_channels * channel_height + rows + 0.9) as canvas:
        ratios = [channel_height] * n_channels + [rows]
        *tops, bottom = canvas.subplots(len(ratios), 1, sharex=True, height_ratios=ratios)
        draw_channels(tops, one, region)
        # A layout moves the panels to the right of the longest name; that of the predicted class is bold.
        names = max(text_width(one.name(code), SMALL, "bold") for code in codes)
        room = min(inches_of(tops[0]), inches_of(canvas) - names - AROUND_NAMES)
        write_title(tops[0], title, NORMAL, width=room)
        shown = one.scores[codes]
        mesh = draw_heatmap(bottom, one.time, shown, colors, limit=symmetric_limit(shown))
        style(bottom, one.time, "", show_time=True)
        _name_rows(bottom, one, codes)
        bar = canvas.colorbar(mesh, ax=[*tops, bottom], pad=0.01, aspect=35)
        bar.set_label("refutes  ←  score  →  supports", fontsize=SMALL)
        bar.ax.tick_params(labelsize=SMALL)
        bar.outline.set_linewidth(0.6)
        canvas.align_ylabels(tops)
    return canvas


def _name_rows(ax: Axes, one: OneCase, codes: list[int]) -> None:
    """Write each class beside its row, the predicted one in bold, and separate the rows."""
    n_rows = len(codes)
    ax.set_ylim(0, 1)
    centres = 1 - (np.arange(n_rows) + 0.5) / n_rows
    ax.set_yticks(centres, [one.name(code) for code in codes])
    ax.tick_params(axis="y", length=0)
    for text, code in zip(ax.get_yticklabels(), codes, strict=True):
        text.set_fontweight("bold" if code == one.predicted else "normal")
    for boundary in np.arange(1, n_rows) / n_rows:
        ax.axhline(boundary, color="white", linewidth=1.5)

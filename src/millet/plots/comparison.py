"""Side by side: what several methods say about one case, and how much it matters to the model.

In:  one `Explanation` for each method, and perturbation curves where there are any.
Out: matplotlib figures; see `millet.plots`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from millet.errors import ParameterError
from millet.explanation import Explanation
from millet.plots.cases import OneCase
from millet.plots.curves import legend_height, plot_perturbation_curves
from millet.plots.figures import figure_or_new
from millet.plots.palettes import CHANNELS, find_palette
from millet.plots.panels import (
    NORMAL,
    SMALL,
    draw_heatmap,
    draw_series,
    plain_text,
    say_if_unobserved,
    style,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase
    from matplotlib.gridspec import SubplotSpec

COLUMN, ROW, LEAST_HEIGHT = 3.9, 0.85, 2.9


def height_of(n_methods: int) -> float:
    """Return the height in inches that this many methods need, one below the other."""
    return max(LEAST_HEIGHT, ROW * n_methods + 0.4)


def plot_comparison(
    explanations: Mapping[str, Explanation],
    curves: Mapping[str, ArrayLike] | None = None,
    *,
    case: int = 0,
    target: Any = None,
    label: Any = None,
    ylabel: str = "change of the logit",
    palette: str = "green-red",
    figure: FigureBase | None = None,
) -> FigureBase:
    """Draw a case, the series over the evidence that each method sees for one class, and the methods' curves.

    Colours are normalised to each method's strongest score: methods have scales of their own.

    Parameters
    ----------
    explanations : mapping of str to Explanation
        By the methods' names; all have the same case.
    curves : mapping of str to array of shape (n_steps,), optional
        From `millet.metrics.perturbation_curve`: how the prediction changes as the timepoints that a method calls
        most relevant are removed. Without curves, that column is left out.
    case : int
        Which case; negative counts from the end.
    target : label, optional
        The class whose scores are drawn; by default the one that each explanation predicts.
    label : label, optional
        The true class, named in the title.
    ylabel : str
        What the curves show.
    palette : {"green-red", "colorblind"}
    figure : matplotlib Figure or SubFigure, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Figure or SubFigure

    Examples
    --------
    >>> from matplotlib import pyplot
    >>> parts = {"series": [[[0.0, 9.0, 1.0]]], "lengths": [3], "classes": ["calm", "spike"], "logits": [[-1.0, 1.0]]}
    >>> right = Explanation(scores=[[[0.0, -3.0, 0.0], [0.0, 3.0, 0.0]]], **parts)
    >>> wrong = Explanation(scores=[[[-3.0, 0.0, 0.0], [3.0, 0.0, 0.0]]], **parts)
    >>> curves = {"model": [0.0, -2.0], "guess": [0.0, -1.0]}
    >>> figure = plot_comparison({"model": right, "guess": wrong}, curves, label="spike")
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['True: spike', 'model: spike (88.1%)', 'guess: spike (88.1%)', '']
    >>> pyplot.close(figure)
    """
    if not explanations:
        raise ParameterError("explanations must hold at least one method's; got none.")
    cases = {name: OneCase(explanation, case) for name, explanation in explanations.items()}
    first = next(iter(cases.values()))
    for name, one in cases.items():
        if not np.array_equal(one.series, first.series, equal_nan=True):
            raise ParameterError(f"explanations must be of one case; that of {name!r} has another series.")
    if curves and not set(curves) <= set(cases):
        raise ParameterError(f"curves must be of the methods {sorted(cases)}; got {sorted(curves)}.")
    colors = find_palette(palette)
    n_columns = 3 if curves else 2
    with figure_or_new(figure, COLUMN * n_columns, height_of(len(cases))) as canvas:
        # The column of the curves has labels of its own inside it.
        grid = canvas.add_gridspec(len(cases), n_columns, wspace=0.08, width_ratios=[1, 1, 1.2][:n_columns])
        left = canvas.add_subplot(grid[:, 0])
        _draw_all_channels(left, first)
        style(left, first.time, "value", show_time=True)
        if label is not None:
            write_title(left, lambda limit: f"True: {first.name(first.code(label), limit)}", NORMAL)
        for place, (name, one) in enumerate(cases.items()):
            ax = canvas.add_subplot(grid[place, 1])
            code = one.predicted if target is None else one.code(target)
            draw_heatmap(ax, one.time, one.scores[code], colors)
            _draw_all_channels(ax, one, halo=True)
            style(ax, one.time, "", show_time=place == len(cases) - 1)
            write_title(ax, partial(_said, name, one, code), SMALL)
        if curves:
            _draw_curves(canvas, grid[:, 2], curves, ylabel)
    return canvas


def _draw_curves(canvas: FigureBase, cell: SubplotSpec, curves: Mapping[str, ArrayLike], ylabel: str) -> None:
    """Draw curves with room for their names below them, in this column alone."""
    whole = canvas.get_figure(root=True)
    assert whole is not None
    height, names = canvas.bbox.height / whole.dpi, legend_height(len(curves))  # type: ignore[attr-defined]
    rows = cell.subgridspec(2, 1, height_ratios=[max(height - names, height / 2), names], hspace=0)
    ax = plot_perturbation_curves(curves, ylabel=ylabel, ax=canvas.add_subplot(rows[0]))
    legend = ax.get_legend()
    assert legend is not None
    # Otherwise all columns would end above the names.
    legend.set_in_layout(False)


def _said(name: str, one: OneCase, code: int, limit: int) -> str:
    return f"{plain_text(name, limit)}: {one.said(code, limit)}"


def _draw_all_channels(ax: Axes, one: OneCase, *, halo: bool = False) -> None:
    """Draw the channels over one another: there is no room for them side by side."""
    for channel, values in enumerate(one.series):
        draw_series(ax, one.time, values, color=CHANNELS[channel % len(CHANNELS)], halo=halo)
    say_if_unobserved(ax, one.series)

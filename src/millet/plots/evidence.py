"""Pictures of one case: why it was classified as it was, or why it was missed.

In:  `Explanation`.
Out: matplotlib figures; see `millet.plots`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.errors import ParameterError
from millet.explanation import Explanation
from millet.plots.cases import WIDTH, OneCase, draw_channels
from millet.plots.figures import figure_or_new
from millet.plots.palettes import FAINT, Palette, find_palette
from millet.plots.panels import (
    NORMAL,
    SMALL,
    draw_heatmap,
    draw_region,
    draw_scores,
    draw_series,
    inches_of,
    say_if_unobserved,
    style,
    write_beside,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

# The width in inches of the legend beside the title of a missed case.
LEGEND = 0.9


def plot_explanation(
    explanation: Explanation,
    *,
    case: int = 0,
    target: Any = None,
    relevant: ArrayLike | None = None,
    label: Any = None,
    palette: str = "green-red",
    axes: Sequence[Axes] | None = None,
) -> FigureBase:
    """Draw a case, its scores for one class, and the case over the scores as colours.

    From top to bottom: the series, one panel per channel, with the region that is known to matter; the
    scores; the series again over a heatmap. Colours are normalised to the strongest score of the case:
    white is none, darker is stronger.

    Parameters
    ----------
    explanation : Explanation
    case : int
        Which case; negative counts from the end.
    target : label, optional
        The class whose scores are drawn; by default the predicted one.
    relevant : array of bool, shape (n_timepoints,), optional
        True where a timepoint is known to matter.
    label : label, optional
        The true class, named in the title.
    palette : {"green-red", "colorblind"}
        The first colour supports, the second refutes ("colorblind": blue and orange).
    axes : sequence of 2 * n_channels + 1 Axes, optional
        Where to draw, from top to bottom; by default a new figure.

    Returns
    -------
    matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from matplotlib import pyplot
    >>> e = Explanation(
    ...     series=[[[0.0, 9.0, 1.0]]], lengths=[3], classes=["calm", "spike"], logits=[[-1.0, 1.0]],
    ...     scores=[[[0.0, -3.0, 0.0], [0.0, 3.0, 0.0]]],
    ... )
    >>> figure = plot_explanation(e, relevant=[False, True, False], label="spike")
    >>> figure.axes[0].get_title(loc="left")
    'Predicted: spike (88.1%)  ·  true: spike (right)'
    >>> pyplot.close(figure)
    """
    one = OneCase(explanation, case)
    colors = find_palette(palette)
    code = one.predicted if target is None else one.code(target)
    title, region = one.title(label), one.relevant(relevant)
    n_channels = len(one.series)
    if axes is not None:
        panels = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(panels) != 2 * n_channels + 1:
            raise ParameterError(
                f"axes must be {2 * n_channels + 1} for {n_channels} channel(s): the series, the scores and "
                f"the series over colours; got {len(panels)}."
            )
        _fill_explanation(panels, one, code, title, region, colors)
        figure: FigureBase = panels[0].figure
        return figure
    row = max(0.45, 1.5 / n_channels**0.5)
    with figure_or_new(None, WIDTH, 2 * n_channels * row + 1.9) as made:
        ratios = [row] * n_channels + [1.3] + [row] * n_channels
        panels = list(made.subplots(len(ratios), 1, sharex=True, height_ratios=ratios))
        _fill_explanation(panels, one, code, title, region, colors)
        made.align_ylabels()
    return made


def _fill_explanation(
    axes: list[Axes],
    one: OneCase,
    code: int,
    title: Callable[[int], str],
    region: NDArray[np.bool_] | None,
    palette: Palette,
) -> None:
    n_channels = len(one.series)
    write_title(axes[0], title, NORMAL)
    draw_channels(axes[:n_channels], one, region)
    middle = axes[n_channels]
    draw_scores(middle, one.time, one.scores[code], palette)
    style(middle, one.time, "score", show_time=False)
    write_title(middle, lambda limit: f"Evidence for {one.name(code, limit)}", SMALL)
    bottom = axes[n_channels + 1 :]
    bottom[0].set_title(f"Series over its evidence: {palette.legend}", fontsize=SMALL, loc="left")
    for channel, ax in enumerate(bottom):
        draw_heatmap(ax, one.time, one.scores[code], palette)
        draw_series(ax, one.time, one.series[channel], halo=True)
        say_if_unobserved(ax, one.series[channel])
        style(ax, one.time, "", show_time=ax is bottom[-1])
    write_beside(bottom, one.channel_labels)


def plot_false_negative(
    explanation: Explanation,
    case: int,
    base_series: ArrayLike,
    relevant: ArrayLike,
    *,
    label: Any,
    palette: str = "green-red",
    figure: FigureBase | None = None,
) -> FigureBase:
    """Draw why a case was missed: the series, what it was before its signature, and the evidence for both classes.

    Parameters
    ----------
    explanation : Explanation
    case : int
        Which case; negative counts from the end.
    base_series : array of shape (n_timepoints,) or (n_channels, n_timepoints)
        The series before its signature was put in, drawn behind it.
    relevant : array of bool, shape (n_timepoints,)
        True where the signature is.
    label : label
        The true class.
    palette : {"green-red", "colorblind"}
    figure : matplotlib Figure or SubFigure, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Figure or SubFigure
    """
    one = OneCase(explanation, case)
    colors, true = find_palette(palette), one.code(label)
    title, region = one.title(label), one.relevant(relevant)
    base = np.atleast_2d(np.asarray(base_series, dtype=np.float64))[:, : one.length]
    if base.shape != one.series.shape:
        raise ParameterError(
            f"base_series must have the shape of the case, {one.series.shape}; got {np.shape(base_series)}."
        )
    n_channels = len(one.series)
    with figure_or_new(figure, WIDTH, 1.5 * n_channels + 3.4) as canvas:
        panels = list(canvas.subplots(n_channels + 2, 1, sharex=True))
        for ax, values in zip(panels, base, strict=False):
            draw_series(ax, one.time, values, color=FAINT, label="original", linewidth=1.2)
        draw_channels(panels[:n_channels], one, region)
        write_title(panels[0], title, NORMAL, width=inches_of(panels[0]) - LEGEND)
        panels[0].legend(fontsize=SMALL, frameon=False, loc="lower right", bbox_to_anchor=(1, 1), borderpad=0)
        for ax, code, role in zip(panels[n_channels:], (one.predicted, true), ("predicted", "true"), strict=True):
            if region is not None:
                draw_region(ax, one.time, region)
            draw_scores(ax, one.time, one.scores[code], colors)
            style(ax, one.time, "score", show_time=ax is panels[-1])
            ax.set_title(f"Evidence for {one.name(code)} ({role})", fontsize=SMALL, loc="left")
        canvas.align_ylabels()
    return canvas

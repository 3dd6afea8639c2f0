"""Pictures of an `Explanation`: one case, its series and the evidence in it.

In:  `Explanation`.
Out: matplotlib figures; see `millet.plots`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.errors import ParameterError
from millet.explanation import Explanation
from millet.plots.figures import figure_or_new
from millet.plots.palettes import FAINT, Palette, find_palette
from millet.plots.panels import (
    NORMAL,
    SMALL,
    check_relevant,
    draw_heatmap,
    draw_region,
    draw_scores,
    draw_series,
    plain_text,
    style,
    symmetric_limit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

WIDTH = 9.0
MOST_CLASSES = 10


class _Case:
    """One case without its padding, in the shapes that panels take."""

    def __init__(self, explanation: Explanation, case: int) -> None:
        one = explanation[case]
        self.length = int(one.lengths[0])
        self.explanation = one
        self.time = one.time[: self.length]
        self.series = one.series[0, :, : self.length]
        self.scores = one.scores[0, :, : self.length]
        self.probabilities = one.probabilities[0]
        self.predicted = int(one.predicted_codes[0])

    def code(self, target: Any) -> int:
        return int(self.explanation.class_codes(target)[0])

    def name(self, code: int) -> str:
        return plain_text(self.explanation.class_names[code])

    def relevant(self, relevant: ArrayLike | None) -> NDArray[np.bool_] | None:
        return check_relevant(relevant, self.length, self.explanation.n_timepoints)

    def title(self, label: Any) -> str:
        """Return what was predicted, how surely, and, if known, whether it is right."""
        title = f"Predicted: {self.name(self.predicted)} ({self.probabilities[self.predicted]:.1%})"
        if label is None:
            return title
        true = self.code(label)
        return f"{title}  ·  true: {self.name(true)} ({'right' if true == self.predicted else 'wrong'})"

    def channel_label(self, channel: int) -> str:
        return "value" if len(self.series) == 1 else f"ch. {channel}"


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
    one = _Case(explanation, case)
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
    one: _Case,
    code: int,
    title: str,
    region: NDArray[np.bool_] | None,
    palette: Palette,
) -> None:
    n_channels = len(one.series)
    axes[0].set_title(title, fontsize=NORMAL, loc="left")
    _draw_channels(axes[:n_channels], one, region)
    middle = axes[n_channels]
    draw_scores(middle, one.time, one.scores[code], palette)
    style(middle, one.time, "score", show_time=False)
    middle.set_title(f"Evidence for {one.name(code)}", fontsize=SMALL, loc="left")
    bottom = axes[n_channels + 1 :]
    bottom[0].set_title(f"Series over its evidence: {palette.legend}", fontsize=SMALL, loc="left")
    for channel, ax in enumerate(bottom):
        draw_heatmap(ax, one.time, one.scores[code], palette)
        draw_series(ax, one.time, one.series[channel], halo=True)
        style(ax, one.time, one.channel_label(channel), show_time=ax is bottom[-1])


def _draw_channels(axes: Sequence[Axes], one: _Case, region: NDArray[np.bool_] | None) -> None:
    for channel, ax in enumerate(axes):
        if region is not None:
            draw_region(ax, one.time, region)
        draw_series(ax, one.time, one.series[channel])
        style(ax, one.time, one.channel_label(channel), show_time=False)


def _chosen_classes(one: _Case, classes: Sequence[Any] | None) -> list[int]:
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
    one = _Case(explanation, case)
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
            ax.set_title(_class_title(one, code), fontsize=SMALL, loc="left", fontweight=weight)
        canvas.align_ylabels()
    return canvas


def _class_title(one: _Case, code: int) -> str:
    predicted = ", predicted" if code == one.predicted else ""
    return f"{one.name(code)} ({one.probabilities[code]:.1%}{predicted})"


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
    one = _Case(explanation, case)
    codes, colors = _chosen_classes(one, classes), find_palette(palette)
    title, region = one.title(label), one.relevant(relevant)
    n_channels, rows = len(one.series), max(0.8, 0.3 * len(codes))
    channel_height = max(0.45, 1.5 / n_channels**0.5)
    with figure_or_new(figure, WIDTH, n_channels * channel_height + rows + 0.9) as canvas:
        ratios = [channel_height] * n_channels + [rows]
        *tops, bottom = canvas.subplots(len(ratios), 1, sharex=True, height_ratios=ratios)
        _draw_channels(tops, one, region)
        tops[0].set_title(title, fontsize=NORMAL, loc="left")
        shown = one.scores[codes]
        mesh = draw_heatmap(bottom, one.time, shown, colors, limit=symmetric_limit(shown))
        style(bottom, one.time, "", show_time=True)
        _name_rows(bottom, one, codes)
        bar = canvas.colorbar(mesh, ax=[*tops, bottom], pad=0.01, aspect=35)
        bar.set_label("refutes  ←  score  →  supports", fontsize=SMALL)
        bar.ax.tick_params(labelsize=SMALL)
        bar.outline.set_linewidth(0.6)
        canvas.align_ylabels()
    return canvas


def _name_rows(ax: Axes, one: _Case, codes: list[int]) -> None:
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
    """Draw why a case was missed: the series beside what it was before, and the evidence of both classes.

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
    one = _Case(explanation, case)
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
        _draw_channels(panels[:n_channels], one, region)
        panels[0].set_title(title, fontsize=NORMAL, loc="left")
        panels[0].legend(fontsize=SMALL, frameon=False, loc="lower right", bbox_to_anchor=(1, 1), borderpad=0)
        for ax, code, role in zip(panels[n_channels:], (one.predicted, true), ("predicted", "true"), strict=True):
            if region is not None:
                draw_region(ax, one.time, region)
            draw_scores(ax, one.time, one.scores[code], colors)
            style(ax, one.time, "score", show_time=ax is panels[-1])
            ax.set_title(f"Evidence for {one.name(code)} ({role})", fontsize=SMALL, loc="left")
        canvas.align_ylabels()
    return canvas

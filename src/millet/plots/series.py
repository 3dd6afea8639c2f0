"""Pictures of series alone: an example of every class, and how a synthetic series is made.

In:  plain arrays, such as those of a `Dataset`.
Out: matplotlib figures; see `millet.plots`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.errors import LabelError, ParameterError
from millet.plots.figures import figure_or_new
from millet.plots.palettes import CHANNELS
from millet.plots.panels import (
    SMALL,
    check_relevant,
    draw_region,
    draw_series,
    plain_text,
    say_if_unobserved,
    style,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

WIDTH = 9.0


def plot_examples(
    X: ArrayLike | Sequence[NDArray[Any]],
    y: ArrayLike,
    class_names: Sequence[str] | None = None,
    relevant: NDArray[np.bool_] | Sequence[NDArray[np.bool_]] | None = None,
    n_columns: int = 2,
    *,
    figure: FigureBase | None = None,
) -> FigureBase:
    """Draw the first case of every class, with the region that is known to matter.

    Parameters
    ----------
    X : array of shape (n_cases, n_channels, n_timepoints), or sequence of (n_channels, n_timepoints) arrays
        Channels share a panel.
    y : array of shape (n_cases,)
        Labels.
    class_names : sequence of str, optional
        Names for the sorted labels of `y`; by default the labels.
    relevant : array of bool, shape (n_cases, n_timepoints), optional
        True where a timepoint is known to matter.
    n_columns : int
        How many panels to put side by side.
    figure : matplotlib Figure or SubFigure, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Figure or SubFigure

    Examples
    --------
    >>> from matplotlib import pyplot
    >>> figure = plot_examples(np.zeros((2, 1, 30)), ["calm", "storm"])
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['calm', 'storm']
    >>> pyplot.close(figure)
    """
    cases: Sequence[Any] = X if isinstance(X, Sequence) else list(np.asarray(X))
    labels = np.asarray(y)
    if len(cases) != len(labels) or not len(cases):
        raise LabelError(f"X and y must hold the same cases, at least one; got {len(cases)} and {len(labels)}.")
    if n_columns < 1:
        raise ParameterError(f"n_columns must be at least 1; got {n_columns}.")
    classes, firsts = np.unique(labels, return_index=True)
    names = [str(label) for label in classes] if class_names is None else list(class_names)
    if len(names) != len(classes):
        raise LabelError(f"class_names must name the {len(classes)} classes in y; got {len(names)} names.")
    longest = max(np.shape(case)[-1] for case in cases)
    n_columns = min(n_columns, len(classes))
    n_rows = -(-len(classes) // n_columns)
    with figure_or_new(figure, WIDTH, 0.4 + 1.25 * n_rows) as canvas:
        panels = list(canvas.subplots(n_rows, n_columns, squeeze=False).flat)
        for ax in panels[len(classes) :]:
            ax.set_visible(False)
        for number, (ax, first) in enumerate(zip(panels, firsts, strict=False)):
            series = np.atleast_2d(cases[first])
            region = check_relevant(None if relevant is None else relevant[first], series.shape[1], longest)
            bottom = number + n_columns >= len(classes)
            _draw_example(ax, series, region, show_time=bottom)
            write_title(ax, partial(plain_text, names[number]), SMALL + 1)
    return canvas


def _draw_example(ax: Axes, series: NDArray[Any], relevant: NDArray[np.bool_] | None, *, show_time: bool) -> None:
    time = np.arange(series.shape[1])
    if relevant is not None:
        draw_region(ax, time, relevant)
    for channel, values in enumerate(series):
        draw_series(ax, time, values, color=CHANNELS[channel % len(CHANNELS)])
    say_if_unobserved(ax, series)
    style(ax, time, "", show_time=show_time)
    ax.tick_params(labelbottom=True)


def plot_construction(
    daily_rate: ArrayLike,
    daily_sample: ArrayLike,
    weekly_rate: ArrayLike,
    base: ArrayLike,
    final: ArrayLike,
    *,
    relevant: ArrayLike | None = None,
    figure: FigureBase | None = None,
) -> FigureBase:
    """Draw the steps in which a WebTraffic series is made, from top to bottom.

    Parameters
    ----------
    daily_rate, daily_sample, weekly_rate, base, final : array of shape (n_timepoints,)
        The daily rhythm; a noisy sample of it; the weekly rhythm; sample times week; the same with its signature.
    relevant : array of bool, shape (n_timepoints,), optional
        True where the signature is.
    figure : matplotlib Figure or SubFigure, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Figure or SubFigure
    """
    steps = {
        "Daily rate": daily_rate,
        "Daily sample: rate plus noise": daily_sample,
        "Weekly rate": weekly_rate,
        "Base series: daily sample × weekly rate": base,
        "Final series: base series with its signature": final,
    }
    arrays = {title: np.asarray(values, dtype=np.float64) for title, values in steps.items()}
    shapes = {values.shape for values in arrays.values()}
    if len(shapes) != 1 or np.ndim(base) != 1 or not np.size(base):
        raise ParameterError(f"All steps must be one series each, of the same length; got shapes {shapes}.")
    time = np.arange(np.size(base))
    region = check_relevant(relevant, len(time), len(time))
    with figure_or_new(figure, WIDTH, 6.2) as canvas:
        panels = canvas.subplots(len(arrays), 1, sharex=True)
        if region is not None:
            draw_region(panels[-1], time, region)
        for ax, (title, values) in zip(panels, arrays.items(), strict=True):
            draw_series(ax, time, values)
            style(ax, time, "value", show_time=ax is panels[-1])
            ax.set_title(title, fontsize=SMALL, loc="left")
        canvas.align_ylabels()
    return canvas

"""Gains: on each dataset, how much better one classifier does than others (App. E.2).

In:  plain arrays.
Out: a matplotlib figure, a new one or the one that was given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.errors import ParameterError
from millet.plots.figures import figure_or_new
from millet.plots.palettes import CHANNELS, FAINT
from millet.plots.panels import SMALL, plain_text
from millet.statistics import head_to_head

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

WIDTH, HEIGHT = 3.4, 5.2


def plot_gains(
    ours: ArrayLike,
    rivals: Mapping[str, ArrayLike],
    datasets: Sequence[str],
    *,
    name: str = "ours",
    figure: FigureBase | None = None,
) -> FigureBase:
    """Draw a classifier beside each rival: both results above, the gain below, with the greatest gain first.

    Parameters
    ----------
    ours : array of shape (n_datasets,)
        Results, the higher the better.
    rivals : mapping of str to array of shape (n_datasets,)
        Results of others; one column of panels each.
    datasets : sequence of str
        The names of the datasets.
    name : str
        The classifier that is compared.
    figure : matplotlib Figure or SubFigure, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Figure or SubFigure

    Examples
    --------
    >>> from matplotlib import pyplot
    >>> figure = plot_gains([0.75, 0.5], {"GAP": [0.5, 0.75]}, ["Beef", "Wine"])
    >>> figure.axes[1].texts[0].get_text()
    '1 / 0 / 1, total +0.000'
    >>> pyplot.close(figure)
    """
    first = np.asarray(ours, dtype=np.float64)
    others = {rival: np.asarray(values, dtype=np.float64) for rival, values in rivals.items()}
    if not others or not first.size:
        raise ParameterError("There must be at least one rival and one dataset.")
    if len(datasets) != len(first):
        raise ParameterError(f"{len(first)} results need as many names of datasets; got {len(datasets)}.")
    with figure_or_new(figure, 0.6 + WIDTH * len(others), HEIGHT) as canvas:
        panels = canvas.subplots(2, len(others), squeeze=False, sharex="col", sharey="row")
        for column, (rival, values) in zip(panels.T, others.items(), strict=True):
            _draw_rival(column, first, values, datasets, (name, rival))
        panels[0, 0].set_ylabel("result", fontsize=SMALL + 1)
        panels[1, 0].set_ylabel("gain", fontsize=SMALL + 1)
    return canvas


def _draw_rival(
    column: NDArray[np.object_],
    ours: NDArray[np.float64],
    theirs: NDArray[np.float64],
    datasets: Sequence[str],
    names: tuple[str, str],
) -> None:
    duel = head_to_head(ours, theirs)
    order = np.argsort(-duel.gains, kind="stable")
    places = np.arange(len(order))
    upper: Axes = column[0]
    lower: Axes = column[1]
    upper.vlines(places, theirs[order], ours[order], color=FAINT, linewidth=0.8, zorder=1)
    for values, label, color in ((ours, names[0], CHANNELS[3]), (theirs, names[1], CHANNELS[2])):
        upper.scatter(places, values[order], s=14, color=color, label=plain_text(label), zorder=2)
    upper.legend(fontsize=SMALL - 1, frameon=False, loc="lower left", bbox_to_anchor=(0, 1), borderpad=0)
    gains = duel.gains[order]
    lower.bar(places, gains, color=np.where(gains >= 0, CHANNELS[3], CHANNELS[2]).tolist())
    lower.axhline(0, color=FAINT, linewidth=0.8)
    score = f"{duel.wins} / {duel.draws} / {duel.losses}, total {duel.gains.sum():+.3f}"
    lower.text(0.98, 0.97, score, transform=lower.transAxes, fontsize=SMALL, ha="right", va="top")
    lower.margins(y=0.2)
    lower.set_xticks(places, [plain_text(datasets[place]) for place in order], rotation=60, ha="right")
    for axes in (upper, lower):
        axes.tick_params(labelsize=SMALL - 1)
        axes.spines[["top", "right"]].set_visible(False)

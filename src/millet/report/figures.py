"""Figures: pictures of classifiers compared over datasets.

In:  plain arrays.
Out: matplotlib axes, new ones or those that were given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from millet.errors import ParameterError
from millet.plots.figures import figure_or_new
from millet.plots.naming import name_points
from millet.plots.palettes import CHANNELS, FAINT
from millet.plots.panels import SMALL, plain_text
from millet.statistics import deviations_from_median, head_to_head, pareto_front

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@contextmanager
def axes_or_new(ax: Axes | None, width: float, height: float) -> Iterator[Axes]:
    """Yield the given axes, or those of a new figure that is closed again if drawing fails."""
    if ax is not None:
        yield ax
        return
    with figure_or_new(None, width, height) as figure:
        yield figure.subplots()


def plot_trade_off(
    points: Mapping[str, tuple[float, float]],
    *,
    labels: tuple[str, str] = ("accuracy", "AOPCR"),
    ax: Axes | None = None,
) -> Axes:
    """Draw models by two results, higher being better for both, and the Pareto front.

    Parameters
    ----------
    points : mapping of str to (float, float)
        The two results of each model.
    labels : tuple of str
        What the results are.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib import pyplot
    >>> ax = plot_trade_off({"a": (0.84, 6.9), "b": (0.85, 4.8), "c": (0.83, 6.5)})
    >>> ax.lines[0].get_xdata().tolist()
    [0.84, 0.85]
    >>> pyplot.close(ax.figure)
    """
    if not points:
        raise ParameterError("points must hold at least one model.")
    table = np.array(list(points.values()), dtype=np.float64)
    front = pareto_front(table)
    with axes_or_new(ax, 6.0, 4.2) as axes:
        on_front = table[front][np.argsort(table[front][:, 0], kind="stable")]
        axes.plot(*on_front.T, color=FAINT, linewidth=1.2, zorder=1)
        for (x, y), best in zip(points.values(), front, strict=True):
            axes.scatter(x, y, marker="x", color=CHANNELS[2] if best else CHANNELS[1], zorder=2)
        _label(axes, *labels)
        axes.margins(x=0.2)
        name_points(axes, points.items())
    return axes


def plot_head_to_head(
    ours: ArrayLike,
    theirs: ArrayLike,
    datasets: Sequence[str],
    names: tuple[str, str],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw one classifier against another, a point for each dataset; above the diagonal, the first is better.

    Parameters
    ----------
    ours, theirs : arrays of shape (n_datasets,)
        Results, the higher the better.
    datasets : sequence of str
        The names of the datasets; the two with the greatest differences are labelled.
    names : tuple of str
        The two classifiers.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib import pyplot
    >>> ax = plot_head_to_head([0.9, 0.8], [0.8, 0.85], ["Beef", "Wine"], ("ours", "theirs"))
    >>> [text.get_text() for text in ax.texts]
    ['Beef', 'Wine']
    >>> ax.get_title(loc="left")
    'wins / draws / losses: 1 / 0 / 1'
    >>> pyplot.close(ax.figure)
    """
    first, second = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    duel = head_to_head(first, second)
    if len(datasets) != len(first):
        raise ParameterError(f"{len(first)} results need as many names of datasets; got {len(datasets)}.")
    with axes_or_new(ax, 4.4, 4.4) as axes:
        low = min(first.min(), second.min()) - 0.02
        axes.plot([low, 1.02], [low, 1.02], color=FAINT, linewidth=0.8, zorder=1)
        colors = np.select([duel.gains > 0, duel.gains < 0], [CHANNELS[3], CHANNELS[2]], FAINT)
        axes.scatter(second, first, s=12, color=colors.tolist(), zorder=2)
        score = f"wins / draws / losses: {duel.wins} / {duel.draws} / {duel.losses}"
        axes.set_title(score, fontsize=SMALL + 1, loc="left")
        axes.set(xlim=(low, 1.02), ylim=(low, 1.02), aspect="equal")
        _label(axes, plain_text(names[1]), plain_text(names[0]))
        extremes = [duel.best] * (duel.wins > 0) + [duel.worst] * (duel.losses > 0)
        name_points(axes, [(datasets[place], (float(second[place]), float(first[place]))) for place in extremes])
    return axes


def plot_bins(
    ranges: Sequence[str], ranks: Mapping[str, Sequence[float]], *, label: str = "", ax: Axes | None = None
) -> Axes:
    """Draw each classifier's average rank on datasets of each range; lower is better.

    Parameters
    ----------
    ranges : sequence of str
        The names of the bins.
    ranks : mapping of str to sequence of float
        One average rank per bin for each classifier.
    label : str
        What the datasets are binned by.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib import pyplot
    >>> ax = plot_bins(["24 to 80", "96 to 500"], {"a": [1.5, 1.0], "b": [1.5, 2.0]}, label="length")
    >>> len(ax.lines)
    2
    >>> pyplot.close(ax.figure)
    """
    with axes_or_new(ax, 6.0, 3.2) as axes:
        for number, (name, values) in enumerate(ranks.items()):
            color = CHANNELS[(number + 1) % len(CHANNELS)]
            axes.plot(range(len(ranges)), values, color=color, marker="o", markersize=4, label=plain_text(name))
        axes.set_xticks(range(len(ranges)), ranges)
        axes.invert_yaxis()
        _label(axes, label, "average rank (better is higher)")
        axes.legend(fontsize=SMALL, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return axes


def plot_deviations(values: ArrayLike, names: Sequence[str], *, ax: Axes | None = None) -> Axes:
    """Draw how far each classifier is from the median on each dataset, the steadiest classifier first.

    Parameters
    ----------
    values : array of shape (n_datasets, n_classifiers)
        Results.
    names : sequence of str
        The classifiers.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib import pyplot
    >>> ax = plot_deviations([[0.5, 0.9, 0.8], [0.9, 0.8, 0.85]], ["wild", "calm", "middle"])
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['middle', 'calm', 'wild']
    >>> pyplot.close(ax.figure)
    """
    deviations = deviations_from_median(values)
    order = np.argsort(deviations.var(axis=0), kind="stable")
    with axes_or_new(ax, 7.0, 3.6) as axes:
        axes.axhline(0, color=FAINT, linewidth=0.7)
        axes.boxplot(deviations[:, order], flierprops={"markersize": 3}, medianprops={"color": CHANNELS[2]})
        labels = [plain_text(names[place]) for place in order]
        axes.set_xticks(range(1, len(labels) + 1), labels, rotation=40, ha="right")
        _label(axes, "", "result − median of all")
    return axes


def _label(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x, fontsize=SMALL + 1)
    axes.set_ylabel(y, fontsize=SMALL + 1)
    axes.tick_params(labelsize=SMALL)
    axes.spines[["top", "right"]].set_visible(False)

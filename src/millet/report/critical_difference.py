"""The critical difference diagram: average ranks on a line, and bars over those that can't be told apart.

In:  `Comparison`, from `millet.statistics`.
Out: matplotlib axes, new ones or those that were given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millet.plots.palettes import CHANNELS, FAINT, INK
from millet.plots.panels import SMALL, plain_text
from millet.report.figures import axes_or_new
from millet.statistics import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Heights, downwards from the line with the ranks.
FIRST_BAR, BAR_STEP, NAME_STEP = 0.35, 0.28, 0.38


def plot_critical_difference(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Draw average ranks on a line, the best at the right, and a bar over each clique.

    Parameters
    ----------
    comparison : Comparison
        From `millet.statistics.compare_classifiers`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib import pyplot
    >>> from millet.statistics import compare_classifiers
    >>> ax = plot_critical_difference(compare_classifiers([[0.9, 0.8, 0.7]] * 9, ["a", "b", "c"]))
    >>> [text.get_text() for text in ax.texts]
    ['1.00  a', '2.00  b', 'c  3.00']
    >>> pyplot.close(ax.figure)
    """
    n_right = (len(comparison.names) + 1) // 2
    first_name = FIRST_BAR + BAR_STEP * len(comparison.cliques) + 0.3
    height = first_name + NAME_STEP * n_right
    with axes_or_new(ax, 8.0, 0.5 + 0.75 * height) as axes:
        low, high = _draw_scale(axes, comparison)
        _draw_bars(axes, comparison, reach=0.012 * (high - low))
        for place, classifier in enumerate(np.argsort(comparison.ranks, kind="stable")):
            is_right = place < n_right
            line = place if is_right else len(comparison.names) - 1 - place
            corner = (low if is_right else high, first_name + NAME_STEP * line)
            _draw_name(axes, comparison, int(classifier), corner, is_right=is_right)
        axes.set_ylim(height, -0.4)
    return axes


def _draw_scale(axes: Axes, comparison: Comparison) -> tuple[float, float]:
    low = float(np.floor(comparison.ranks.min()))
    high = max(float(np.ceil(comparison.ranks.max())), low + 1)
    ticks = np.arange(low, high + 1)
    axes.hlines(0, low, high, color=INK, linewidth=1.2)
    axes.vlines(ticks, -0.12, 0, color=INK, linewidth=1.2)
    axes.set_xticks(ticks)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0, labelsize=SMALL)
    # Room for names on both sides; better ranks to the right.
    axes.set_xlim(high + 0.45 * (high - low), low - 0.45 * (high - low))
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    return low, high


def _draw_bars(axes: Axes, comparison: Comparison, reach: float) -> None:
    for number, clique in enumerate(comparison.cliques):
        ranks = comparison.ranks[list(clique)]
        height = FIRST_BAR + BAR_STEP * number
        axes.hlines(height, ranks.min() - reach, ranks.max() + reach, color=CHANNELS[2], linewidth=3, zorder=3)


def _draw_name(
    axes: Axes, comparison: Comparison, classifier: int, corner: tuple[float, float], *, is_right: bool
) -> None:
    rank, name = float(comparison.ranks[classifier]), plain_text(comparison.names[classifier])
    edge, height = corner
    axes.plot([rank, rank, edge], [0, height, height], color=FAINT, linewidth=0.8, zorder=1)
    label, side, offset = (f"{rank:.2f}  {name}", "left", 4) if is_right else (f"{name}  {rank:.2f}", "right", -4)
    axes.annotate(label, corner, xytext=(offset, 0), textcoords="offset points", ha=side, va="center", fontsize=SMALL)

"""Perturbation curves: what happens to a prediction as its evidence is taken away.

In:  curves per method, plain arrays.
Out: one matplotlib axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from millet.errors import ParameterError
from millet.plots.figures import figure_or_new
from millet.plots.palettes import CHANNELS, FAINT, LINES
from millet.plots.panels import INCH, SMALL, inches_of, longest_that_fits, plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 5.0, 2.9
# Of a curve's sample in the legend, in units of its font: long enough to tell dashes from dots.
HANDLE_LENGTH = 3.0
# In inches: a sample and the gap between it and the name; a name's line; ticks with all labels of the axis.
HANDLE = (HANDLE_LENGTH + 0.8) * SMALL / INCH
LINE = 0.175
BELOW_LABELS = 0.48


def legend_height(n_curves: int) -> float:
    """Return the height in inches that the names of this many curves need below the axes."""
    return LINE * (n_curves + 1)


def plot_perturbation_curves(
    curves: Mapping[str, ArrayLike],
    *,
    fractions: ArrayLike | None = None,
    ylabel: str = "change of the logit",
    ax: Axes | None = None,
) -> Axes:
    """Draw each method's mean curve, with its 95 % interval as a band where there are several cases.

    The methods are named below the axes: leave room there, or use a figure with a constrained layout, which does.

    Parameters
    ----------
    curves : mapping of str to array of shape (n_cases, n_steps) or (n_steps,)
        Per method, what remains (or is lost) after each step, for every case.
    fractions : array of shape (n_steps,), optional
        The fraction of the timepoints that is gone after each step; by default evenly spaced from 0 to 0.5.
    ylabel : str
        What the curves show.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib import pyplot
    >>> ax = plot_perturbation_curves({"millet": [3.0, 1.0, 0.5], "random": [3.0, 2.8, 2.5]})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['millet', 'random']
    >>> pyplot.close(ax.figure)
    """
    arrays = {name: np.atleast_2d(np.asarray(curve, dtype=np.float64)) for name, curve in curves.items()}
    n_steps = {curve.shape[1] for curve in arrays.values()}
    if len(n_steps) != 1 or not all(curve.size for curve in arrays.values()):
        raise ParameterError(f"curves must hold curves of one number of steps; got {sorted(n_steps)}.")
    steps = np.linspace(0, 0.5, *n_steps) if fractions is None else np.asarray(fractions, dtype=np.float64)
    if steps.shape != (*n_steps,):
        raise ParameterError(f"fractions must be {n_steps.pop()} numbers, one per step; got shape {steps.shape}.")
    if ax is None:
        with figure_or_new(None, WIDTH, HEIGHT + legend_height(len(arrays))) as canvas:
            return _fill(canvas.subplots(), arrays, steps, ylabel)
    return _fill(ax, arrays, steps, ylabel)


def _fill(ax: Axes, curves: dict[str, np.ndarray], steps: np.ndarray, ylabel: str) -> Axes:
    from matplotlib.ticker import PercentFormatter

    if any((curve < 0).any() for curve in curves.values()):
        ax.axhline(0, color=FAINT, linewidth=0.7)
    # A layout may yet take some of the width for labels.
    width = 0.9 * inches_of(ax) - HANDLE
    for number, (name, curve) in enumerate(curves.items()):
        color = CHANNELS[(number + 1) % len(CHANNELS)]
        line, marker = LINES[number // len(CHANNELS) % len(LINES)]
        mean = curve.mean(axis=0)
        label = longest_that_fits(partial(plain_text, name), SMALL, width)
        ax.plot(steps, mean, line, color=color, linewidth=1.6, marker=marker, markersize=3, label=label)
        if len(curve) > 1:
            reach = 1.96 * curve.std(axis=0, ddof=1) / np.sqrt(len(curve))
            ax.fill_between(steps, mean - reach, mean + reach, color=color, alpha=0.18, linewidth=0)
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    ax.set_xlabel("timepoints removed, most relevant first", fontsize=SMALL + 1)
    ax.set_ylabel(ylabel, fontsize=SMALL + 1)
    ax.tick_params(labelsize=SMALL)
    ax.spines[["top", "right"]].set_visible(False)
    _add_legend(ax)
    return ax


def _add_legend(ax: Axes) -> None:
    """Name the curves below the axes, where they cover neither curves nor labels."""
    from matplotlib.transforms import ScaledTranslation

    figure = ax.get_figure(root=True)
    assert figure is not None
    below = ax.transAxes + ScaledTranslation(0, -BELOW_LABELS, figure.dpi_scale_trans)
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=below,
        borderaxespad=0,
        borderpad=0,
        handlelength=HANDLE_LENGTH,
        fontsize=SMALL,
        frameon=False,
    )

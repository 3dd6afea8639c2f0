"""Complexity: the multiplications of the poolings, which follow from shapes alone (App. E.4).

In:  numbers of timepoints and classes.
Out: counts, their picture, and one `Section`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from millet.datasets.catalogue import PAPER_DATASETS, find
from millet.errors import lookup
from millet.plots.figures import figure_or_new
from millet.plots.palettes import CHANNELS, FAINT
from millet.plots.panels import SMALL
from millet.report.layout import Picture, Section, Table
from millet.report.names import POOLINGS
from millet.report.paper import paper_table
from millet.report.published import Published
from millet.report.rows import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

DATASET = "Fish"
N_FEATURES, N_HIDDEN = 128, 8
LENGTHS, CLASSES = (100, 500, 1500), (2, 10, 50)
LONGEST, MOST_CLASSES = 2000, 60


def multiplications(
    pooling: str, n_timepoints: int, n_classes: int, n_features: int = N_FEATURES, n_hidden: int = N_HIDDEN
) -> int:
    """Count the multiplications that a pooling makes for one case, counted as in App. E.4 of the paper.

    A linear layer with d inputs and o outputs takes t d o, an attention head t d a + t a, a weighting or an average
    of n vectors of length l takes n l.

    Parameters
    ----------
    pooling : str
        "gap" includes class activation maps, without which it has no evidence.
    n_timepoints, n_classes, n_features, n_hidden : int
        t, c, d and a.

    Examples
    --------
    >>> multiplications("conjunctive", 463, 7)
    899146
    """
    t, c, d, a = n_timepoints, n_classes, n_features, n_hidden
    attention = t * d * a + t * a
    counts = {
        "gap": t * d + d * c + t * d * c,
        "attention": attention + 2 * t * d + d * c,
        "instance": t * d * c + t * c,
        "additive": attention + t * d + t * d * c + t * c,
        "conjunctive": attention + t * d * c + 2 * t * c,
    }
    return lookup("pooling", pooling, counts)


def plot_multiplications(
    lengths: Sequence[int] = LENGTHS, classes: Sequence[int] = CLASSES, *, figure: FigureBase | None = None
) -> FigureBase:
    """Draw the poolings' multiplications: above by length, below by number of classes.

    Parameters
    ----------
    lengths, classes : sequence of int
        The lengths of the panels below, and the numbers of classes of those above; as many of each.
    figure : matplotlib Figure or SubFigure, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Figure or SubFigure
        Dashed lines mark the means of the paper's datasets.

    Examples
    --------
    >>> from matplotlib import pyplot
    >>> figure = plot_multiplications([463], [7])
    >>> [ax.get_title() for ax in figure.axes]
    ['7 classes', '463 timepoints']
    >>> pyplot.close(figure)
    """
    mean_length, mean_classes = _paper_means()
    with figure_or_new(figure, 0.8 + 2.9 * len(lengths), 5.0) as canvas:
        panels = canvas.subplots(2, len(lengths), squeeze=False)
        for ax, n_classes in zip(panels[0], classes, strict=True):
            sizes = [(length, n_classes) for length in np.linspace(1, LONGEST, 50).round().astype(int).tolist()]
            _draw_curves(ax, [length for length, _ in sizes], sizes, mean_length)
            ax.set_title(f"{n_classes} classes", fontsize=SMALL + 1)
            ax.set_xlabel("timepoints", fontsize=SMALL)
        for ax, length in zip(panels[1], lengths, strict=True):
            sizes = [(length, n_classes) for n_classes in range(2, MOST_CLASSES + 1)]
            _draw_curves(ax, [n_classes for _, n_classes in sizes], sizes, mean_classes)
            ax.set_title(f"{length} timepoints", fontsize=SMALL + 1)
            ax.set_xlabel("classes", fontsize=SMALL)
        for ax in panels[:, 0]:
            ax.set_ylabel("multiplications, millions", fontsize=SMALL)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        # Only our own layout makes room outside the axes.
        loc: Literal["outside upper center", "upper center"] = "upper center" if figure else "outside upper center"
        canvas.legend(handles, labels, fontsize=SMALL, frameon=False, loc=loc, ncols=len(labels))
    return canvas


def _draw_curves(ax: Axes, along: Sequence[int], sizes: Sequence[tuple[int, int]], mean: float) -> None:
    for number, (pooling, title) in enumerate(POOLINGS.items(), start=1):
        counts = [multiplications(pooling, *size) / 1e6 for size in sizes]
        (curve,) = ax.plot(along, counts, color=CHANNELS[number], linewidth=1.2, label=_title(pooling, title))
        if pooling == "attention":  # dots on top of the line that it coincides with
            curve.set(linestyle=(0, (1, 1.5)), linewidth=2.0, zorder=3)
    ax.axvline(mean, color=FAINT, linewidth=0.8, linestyle="--")
    ax.tick_params(labelsize=SMALL - 1)
    ax.spines[["top", "right"]].set_visible(False)


def _paper_means() -> tuple[float, float]:
    entries = [entry for name in PAPER_DATASETS if (entry := find(name)) is not None]
    lengths = [entry.length for entry in entries if entry.length is not None]
    return float(np.mean(lengths)), float(np.mean([entry.n_classes for entry in entries]))


def complexity_section(run: Run, published: Published) -> Section:
    """Return the multiplications of the poolings, for the shape of Fish, and how they grow."""
    entry = find(DATASET)
    assert entry is not None
    assert entry.length is not None
    rows = []
    for pooling, title in POOLINGS.items():
        ours = multiplications(pooling, entry.length, entry.n_classes)
        formula = paper_table("complexity").parts["multiplications"][pooling]["total"]
        rows.append((_title(pooling, title), f"{ours:,}", formula.replace("*", "×")))
    table = Table(
        f"Multiplications of the poolings for {DATASET}", paper_table("complexity").table,
        f"{len(rows)} of {len(POOLINGS)} poolings", ("pooling", "multiplications", "paper's formula"), tuple(rows),
        (f"d = {N_FEATURES}, a = {N_HIDDEN}, t = {entry.length}, c = {entry.n_classes}.",),
    )  # fmt: skip
    length, n_classes = _paper_means()
    caption = (
        "Multiplications of the poolings, by length (top) and by number of classes (bottom). Dashed: the means of "
        f"the paper's {len(PAPER_DATASETS)} datasets, {length:.0f} timepoints and {n_classes:.1f} classes."
    )
    return Section("Complexity", (table,), (Picture("complexity", caption, plot_multiplications),))


def _title(pooling: str, title: str) -> str:
    return f"{title} + CAM" if pooling == "gap" else title

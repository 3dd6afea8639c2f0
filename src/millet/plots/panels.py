"""Panels: what a single axes can show of one case.

In:  the parts of a case that is drawn, from the other modules of `millet.plots`.
Out: artists on the axes that was given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.errors import ParameterError
from millet.plots.decimation import cell_edges, decimate, runs, strongest_by_column, with_zero_crossings
from millet.plots.palettes import FAINT, INK, REGION, Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import FigureBase

SMALL = 8
NORMAL = 9.5
LONGEST_NAME, SHORTEST_NAME = 48, 8
INCH = 72.0  # in points, the unit of text


def plain_text(text: str, limit: int = LONGEST_NAME) -> str:
    r"""Return a name as matplotlib should show it: no mathematics, one line, not too long.

    Examples
    --------
    >>> print(plain_text("over $5 and under $9"))
    over \$5 and under \$9
    """
    line = " ".join(text.split())
    if len(line) > limit:
        # Long names often begin alike, and differ at their ends.
        line = f"{line[: limit - limit // 3 - 1]}…{line[-(limit // 3) :]}"
    # A leading underscore would hide the name from legends.
    return ("\u200b" if line.startswith("_") else "") + line.replace("$", r"\$")


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Return how many inches wide a line is, in matplotlib's font.

    Examples
    --------
    >>> text_width("mmm", 8) > text_width("iii", 8)
    True
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    # Not as mathematics: `plain_text` has taken care that there is none.
    font = FontProperties(size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / INCH


def longest_that_fits(write: Callable[[int], str], size: float, width: float) -> str:
    """Return the longest text that is no wider than `width` inches; `write` cuts its names to a given limit.

    Examples
    --------
    >>> longest_that_fits(lambda limit: plain_text("a name that goes on and on", limit), 8, width=1.0)
    'a name th…nd on'
    """
    texts = (write(limit) for limit in range(LONGEST_NAME, SHORTEST_NAME, -1))
    return next((text for text in texts if text_width(text, size) <= width), write(SHORTEST_NAME))


def share_text(share: float) -> str:
    """Return a share as percent; what is almost certain is not called certain, nor the improbable impossible.

    Examples
    --------
    >>> [share_text(share) for share in (1, 0.9999, 0.731, 0.0001, 0)]
    ['100.0%', '> 99.9%', '73.1%', '< 0.1%', '0.0%']
    """
    text = f"{share:.1%}"
    if text == "100.0%" and share < 1:
        return "> 99.9%"
    if text == "0.0%" and share > 0:
        return "< 0.1%"
    return text


def inches_of(part: Axes | FigureBase) -> float:
    """Return the width of an axes or a figure in inches."""
    whole = part.get_figure(root=True)
    assert whole is not None
    return float(part.bbox.width / whole.dpi)  # type: ignore[union-attr]


def write_title(
    ax: Axes, write: Callable[[int], str], size: float, *, weight: str = "normal", width: float | None = None
) -> None:
    """Write as much as fits above the panel, or in `width` inches: a longer title would run into its neighbours."""
    title = longest_that_fits(write, size, inches_of(ax) if width is None else width)
    ax.set_title(title, fontsize=size, loc="left", fontweight=weight)


def positions(time: NDArray[Any]) -> NDArray[np.float64]:
    """Return the time axis as the numbers that matplotlib draws."""
    if time.dtype.kind == "M":
        from matplotlib.dates import date2num

        numbers: NDArray[np.float64] = date2num(time)  # type: ignore[no-untyped-call]
        return numbers
    return time.astype(np.float64)


def check_relevant(relevant: ArrayLike | None, length: int, n_timepoints: int) -> NDArray[np.bool_] | None:
    """Return one bool for each of a case's own timepoints."""
    if relevant is None:
        return None
    marked = np.asarray(relevant, dtype=bool)
    if marked.shape not in {(length,), (n_timepoints,)}:
        raise ParameterError(
            f"relevant must hold one bool for each of the {n_timepoints} timepoints; got shape {marked.shape}."
        )
    return marked[:length]


def n_columns_of(ax: Axes) -> int:
    """Return how many pixel columns the axes has at least: a cell no narrower than one can't vanish."""
    return max(100, int(ax.bbox.width))


def style(ax: Axes, time: NDArray[Any], label: str, *, show_time: bool) -> None:
    """Give the panel its limits, its label and quiet spines."""
    edges = cell_edges(positions(time))
    ax.set_xlim(edges[0], edges[-1])
    write_beside([ax], [label])
    ax.tick_params(labelsize=SMALL, labelbottom=show_time, length=2.5, width=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_linewidth(0.6)
    if time.dtype.kind == "M":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        formatter = ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_formatter(formatter)
        ax.xaxis.get_offset_text().set_fontsize(SMALL)
    elif (time == np.floor(time)).all():
        from matplotlib.ticker import AutoLocator

        whole = AutoLocator()
        # One is enough: a case may be a single timepoint.
        whole.set_params(integer=True, min_n_ticks=1)
        ax.xaxis.set_major_locator(whole)
    if show_time:
        ax.set_xlabel("time", fontsize=SMALL)


def write_beside(axes: Sequence[Axes], labels: Sequence[str]) -> None:
    """Write labels up the sides of panels, or all of them across where one is longer than its panel is high."""
    whole = axes[0].get_figure(root=True)
    assert whole is not None
    fit = all(text_width(label, SMALL) <= ax.bbox.height / whole.dpi for ax, label in zip(axes, labels, strict=True))
    turn: dict[str, Any] = {} if fit else {"rotation": "horizontal", "ha": "right", "va": "center"}
    for ax, label in zip(axes, labels, strict=True):
        ax.set_ylabel(label, fontsize=SMALL, **turn)


def draw_series(
    ax: Axes,
    time: NDArray[Any],
    values: NDArray[Any],
    *,
    color: str = INK,
    halo: bool = False,
    label: str | None = None,
    linewidth: float = 0.9,
) -> None:
    """Draw one channel as a line with gaps where values are missing, and dots for isolated values."""
    from matplotlib.patheffects import withStroke

    x = positions(time)
    if len(values) > n_columns_of(ax):  # a solid band would hide the colours behind it
        linewidth, halo = linewidth / 2, False
    effects = [withStroke(linewidth=linewidth + 1.4, foreground="white", alpha=0.75)] if halo else None
    ax.plot(
        *decimate(x, values, n_columns_of(ax)),
        color=color,
        linewidth=linewidth,
        label=label,
        path_effects=effects,
        solid_joinstyle="round",
    )
    observed = np.concatenate([[False], ~np.isnan(values), [False]])
    lonely = observed[1:-1] & ~observed[:-2] & ~observed[2:]
    if lonely.any():
        ax.plot(x[lonely], values[lonely], ".", color=color, markersize=2.5)


def say_if_unobserved(ax: Axes, values: NDArray[Any]) -> None:
    """Say so where a panel has no value to show: its axis would be an invention."""
    from matplotlib.patheffects import withStroke

    if not np.isnan(values).all():
        return
    ax.set_yticks([])
    halo = [withStroke(linewidth=2.5, foreground="white")]
    ax.annotate(
        "no value was observed",
        (0.5, 0.5),
        xycoords="axes fraction",
        ha="center",
        va="center",
        fontsize=SMALL,
        color=INK,
        path_effects=halo,
    )


def draw_region(ax: Axes, time: NDArray[Any], relevant: NDArray[np.bool_]) -> None:
    """Shade the timepoints that are known to matter; a single one is widened until it can be seen.

    Where all matter, as in a class that has no signature, there is no region to point at.
    """
    if relevant.all():
        return
    edges = cell_edges(positions(time))
    least = (edges[-1] - edges[0]) / 250
    bars = []
    for start, stop in runs(relevant):
        width = max(edges[stop] - edges[start], least)
        bars.append(((edges[start] + edges[stop] - width) / 2, width))
    if bars:
        ax.broken_barh(
            bars, (0, 1), transform=ax.get_xaxis_transform(), color=REGION, alpha=0.45, linewidth=0, zorder=0
        )


def draw_scores(ax: Axes, time: NDArray[Any], scores: NDArray[Any], palette: Palette) -> None:
    """Draw scores as a line, filled with the colour of their sign."""
    x, y = decimate(positions(time), scores, n_columns_of(ax))
    ax.axhline(0, color=FAINT, linewidth=0.7, zorder=1)
    crossed_x, crossed_y = with_zero_crossings(x, y)
    for side, color in ((np.maximum, palette.support[0]), (np.minimum, palette.refute[0])):
        ax.fill_between(crossed_x, side(crossed_y, 0), 0, color=color, linewidth=0)
    linewidth = 0.8 if len(scores) <= n_columns_of(ax) else 0.2  # the line must not bury the fill
    ax.plot(x, y, color=INK, linewidth=linewidth, marker="." if len(x) == 1 else "")


def draw_heatmap(
    ax: Axes, time: NDArray[Any], scores: NDArray[Any], palette: Palette, *, limit: float | None = None
) -> QuadMesh:
    """Fill the panel with the colours of scores, (n_timepoints,) or (n_rows, n_timepoints), from 0 to 1 in y."""
    edges, cells = strongest_by_column(positions(time), np.atleast_2d(scores), n_columns_of(ax))
    if limit is None:
        limit = symmetric_limit(scores)
    data_limits = ax.dataLim.frozen()
    mesh = ax.pcolormesh(
        edges,
        np.linspace(1, 0, len(cells) + 1),
        cells,
        cmap=palette.colormap(),
        vmin=-limit,
        vmax=limit,
        transform=ax.get_xaxis_transform(),
        rasterized=True,
        zorder=0,
    )
    # The colours fill the panel whatever its values; they must not stretch the axis of the series to 0 ... 1.
    ax.dataLim.set(data_limits)
    mesh.sticky_edges.y.clear()
    return mesh


def symmetric_limit(scores: NDArray[Any]) -> float:
    """Return the largest absolute score, or 1 where all are 0: white then stays white."""
    return float(np.abs(scores).max(initial=0.0)) or 1.0

"""Draw docs/images/accuracy_time.png: how accurate each model is, and how long it takes to train.

    python docs/scripts/lanes.py

Every run in results counts. A point is the mean of a model's runs over the UCR datasets that all models of the
picture have in common; WebTraffic has a panel of its own. A model that would leave too few datasets in common is not
drawn, and the picture says so. Trainings that a run cut to so many epochs show nothing of a model, and are left out;
so are other poolings than Conjunctive and other recipes than the default: the page on the reproduction compares them.
"""

from __future__ import annotations

import argparse
import textwrap
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from millet.benchmark.rows import Row, read_rows
from millet.datasets.catalogue import WEB_TRAFFIC, find
from millet.plots import save_figure
from millet.plots.figures import figure_or_new
from millet.plots.naming import name_points
from millet.plots.palettes import CHANNELS, FAINT, INK
from millet.plots.panels import NORMAL, SMALL
from millet.report.names import BACKBONES, POOLINGS, ROCKETS, has_networks
from millet.report.rows import core_seconds
from millet.statistics import pareto_front

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "accuracy_time.png"
# The mean of fewer datasets says little about a model.
LEAST_IN_COMMON = 10
# Inches of each panel, and how many letters of the note fit into one.
WIDTH, LETTERS_PER_INCH = 4.6, 18
# A shorter axis would make much of differences that may be chance.
LEAST_SPAN = 0.05
TITLES = {**ROCKETS, **BACKBONES, "lite": "LITE"}
# Told apart by shape as well as by colour.
MARKERS = {
    "random convolutions": ("o", CHANNELS[1]),
    "single network": ("s", CHANNELS[2]),
    "ensemble": ("D", CHANNELS[3]),
    "average": ("^", CHANNELS[4]),
}
TICKS = {
    0.1: "0.1 s", 1: "1 s", 10: "10 s", 60: "1 min", 600: "10 min", 3600: "1 h", 36000: "10 h", 360000: "100 h",
}  # fmt: skip


class Lane(NamedTuple):
    """A model as it is trained: by a recipe, where it has networks, and alone or so many together."""

    model: str
    recipe: str
    n_members: int

    @property
    def title(self) -> str:
        """What to call it beside its marker."""
        title = " + ".join(_part_title(part) for part in self.model.split("+"))
        several = f"{self.n_members} × {title}" if self.n_members > 1 else title
        return several if self.recipe in ("", "fast") else f"{several} ({self.recipe})"

    @property
    def is_a_default(self) -> bool:
        """Whether it is what users get who choose the backbone or the features alone."""
        poolings = {part.partition("-")[0] for part in self.model.split("+")} & set(POOLINGS)
        return poolings <= {"conjunctive"} and self.recipe in ("", "fast")

    @property
    def kind(self) -> str:
        """Which marker it has."""
        if "+" in self.model:
            return "average"
        if self.n_members > 1:
            return "ensemble"
        return "random convolutions" if self.model in ROCKETS else "single network"


class Point(NamedTuple):
    """Where a model stands: seconds of training on one core, and test accuracy."""

    seconds: float
    accuracy: float


class Panel(NamedTuple):
    """One half of the picture: what it is of, its points, and the models that are not drawn."""

    title: str
    points: dict[Lane, Point]
    left_out: tuple[Lane, ...] = ()

    @property
    def note(self) -> str:
        """What to say of the models that are not drawn."""
        names = ", ".join(lane.title for lane in self.left_out)
        return f"Not drawn, since too few datasets would be in common: {names}." if names else ""


Lanes = dict[Lane, dict[str, Point]]


def main() -> None:
    """Read all rows, draw, say what was drawn and what was not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="Folder with run folders.")
    parser.add_argument("--least", type=int, default=LEAST_IN_COMMON, help="Datasets that must be left in common.")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="What to write.")
    given = parser.parse_args()
    lanes = read_lanes(given.results)
    panels = panels_of({lane: points for lane, points in lanes.items() if lane.is_a_default}, given.least)
    if not panels:
        parser.error(f"no model in {given.results} has {given.least} UCR datasets, and none has WebTraffic.")
    save_figure(draw(panels), given.picture, dpi=110)
    for panel in panels:
        print(f"{panel.title}: {', '.join(lane.title for lane in panel.points)}. {panel.note}".rstrip())
    print(f"Wrote {given.picture}.")


def read_lanes(results: Path) -> Lanes:
    """Return, for every model and dataset, the mean of its runs."""
    rows: dict[Lane, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for file in sorted(results.glob("*/rows.jsonl")):
        plain = [row for row in read_rows(file.parent) if _is_plain(row)]
        n_runs = Counter((row["dataset"], row["model"]) for row in plain if not row["ensemble"])
        for row in plain:
            n_members = n_runs[row["dataset"], row["model"]] if row["ensemble"] else 1
            rows[_lane(row, n_members)][row["dataset"]].append(row)
    return {lane: {name: _mean_run(found) for name, found in by_name.items()} for lane, by_name in rows.items()}


def _is_plain(row: Row) -> bool:
    """Whether a row is of a model as it comes: no ablation, no other kind of evidence, no training cut short."""
    is_cut = has_networks(row["model"]) and "n_epochs=" in row["recipe"]
    return row["status"] == "done" and row["method"] == "own" and not row["settings"] and not is_cut


def _lane(row: Row, n_members: int) -> Lane:
    return Lane(row["model"], row["recipe"] if has_networks(row["model"]) else "", n_members)


def _mean_run(rows: Iterable[Row]) -> Point:
    return _mean(Point(core_seconds(row, "train"), row["accuracy"]) for row in rows)


def _mean(points: Iterable[Point]) -> Point:
    return Point(*map(float, np.mean(list(points), axis=0)))


def panels_of(lanes: Lanes, least: int) -> list[Panel]:
    """Return the panels for which there is something to draw."""
    of_ucr = {lane: [name for name in points if find(name)] for lane, points in lanes.items()}
    of_ucr = {lane: names for lane, names in of_ucr.items() if names}
    drawn, common = in_common(of_ucr, least)
    means = {lane: _mean(lanes[lane][name] for name in common) for lane in drawn}
    left_out = tuple(lane for lane in of_ucr if lane not in drawn)
    web = {lane: points[WEB_TRAFFIC.name] for lane, points in lanes.items() if WEB_TRAFFIC.name in points}
    panels = [Panel(f"Mean of {len(common)} UCR datasets", means, left_out), Panel(WEB_TRAFFIC.name, web)]
    return [panel for panel in panels if panel.points]


def in_common(names_of: Mapping[Lane, Collection[str]], least: int) -> tuple[list[Lane], list[str]]:
    """Return models that have at least so many datasets in common, and these datasets.

    As long as there are fewer, the model goes without which most are left; among equals, the one that has the fewest.
    """
    lanes = list(names_of)
    while lanes:
        common = _shared(names_of[lane] for lane in lanes)
        if len(common) >= least:
            return lanes, sorted(common)
        left = {lane: len(_shared(names_of[other] for other in lanes if other != lane)) for lane in lanes}
        lanes.remove(max(lanes, key=lambda lane: (left[lane], -len(names_of[lane]))))
    return [], []


def _shared(collections: Iterable[Collection[str]]) -> set[str]:
    sets = [set(names) for names in collections]
    return set.intersection(*sets) if sets else set()


def draw(panels: list[Panel]) -> FigureBase:
    """Return the picture, the panels side by side."""
    width = WIDTH * len(panels)
    with figure_or_new(None, width, 3.7) as figure:
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for ax, panel in zip(axes, panels, strict=True):
            _fill(ax, panel)
        axes[0].set_ylabel("test accuracy", fontsize=SMALL + 1)
        notes = " ".join(panel.note for panel in panels if panel.note)
        if notes:
            wrapped = textwrap.fill(notes, int(LETTERS_PER_INCH * width))
            figure.supxlabel(wrapped, fontsize=SMALL - 1, color=INK)
        for ax, panel in zip(axes, panels, strict=True):
            name_points(ax, [(lane.title, point) for lane, point in panel.points.items()])
    return figure


def _fill(ax: Axes, panel: Panel) -> None:
    points = np.array(list(panel.points.values()))
    front = points[pareto_front(points * (-1, 1))]  # less time is better
    ax.plot(*front[np.argsort(front[:, 0])].T, color=FAINT, linewidth=1.2, zorder=1)
    for lane, point in panel.points.items():
        marker, color = MARKERS[lane.kind]
        ax.scatter(*point, s=32, marker=marker, color=color, edgecolor="white", linewidth=0.7, zorder=2)
    for kind in dict.fromkeys(lane.kind for lane in panel.points):
        marker, color = MARKERS[kind]
        ax.scatter([], [], s=32, marker=marker, color=color, label=kind)
    ax.legend(fontsize=SMALL - 1, frameon=False, loc="lower right")
    ax.set_title(panel.title, fontsize=NORMAL, loc="left")
    ax.set_xscale("log")
    ax.margins(x=0.22, y=0.12)
    lowest, highest = ax.get_ylim()
    missing = max(0.0, LEAST_SPAN - (highest - lowest))
    ax.set_ylim(lowest - missing / 2, highest + missing / 2)
    low, high = ax.get_xlim()
    shown = {seconds: text for seconds, text in TICKS.items() if low <= seconds <= high}
    ax.set_xticks(list(shown), list(shown.values()))
    ax.set_xticks([], minor=True)
    ax.set_xlabel("training, on one core", fontsize=SMALL + 1)
    ax.tick_params(labelsize=SMALL)
    ax.spines[["top", "right"]].set_visible(False)


def _part_title(part: str) -> str:
    """Return the name of one model; Conjunctive pooling goes without saying."""
    pooling, _, backbone = part.partition("-")
    if pooling not in POOLINGS or backbone not in TITLES:
        return TITLES.get(part, part)
    return TITLES[backbone] if pooling == "conjunctive" else f"{POOLINGS[pooling]} {TITLES[backbone]}"


if __name__ == "__main__":
    main()

"""Overview: the items of the paper, and how much of each the runs of a results folder cover.

In:  sections that were made from runs.
Out: one table, at the head of the page that `millet.report.reproduction` writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from millet.report.layout import NONE, Section, Table, no_emphasis
from millet.report.names import MODELS
from millet.report.paper import PAPER_REPEATS
from millet.report.progress import progress_of
from millet.report.rows import Run

PAPER_RECIPE = "paper"


@dataclass(frozen=True)
class Item:
    """Something in the paper that can be reproduced.

    Attributes
    ----------
    title : str
        What it is.
    source : str
        Where the paper has it.
    experiment : str
        The experiment file that yields all of it; empty where no run is needed.
    """

    title: str
    source: str
    experiment: str


# By section, in the order of the page.
ITEMS = {
    "webtraffic": Item("WebTraffic: prediction, AOPCR and NDCG@n", "Tab. 1, App. D.2", "webtraffic"),
    "false_negatives": Item("Cases and their evidence, missed peaks", "Fig. 3 and 4, App. E.1", "false_negatives"),
    "ucr": Item("UCR: prediction and AOPCR of all models", "App. D.3", "ucr"),
    "ranking": Item("Ranks and wins, critical difference, duels, Pareto front", "Tab. 2, Fig. 5 and 6", "ucr"),
    "comparison": Item("CAM, SHAP and MILLET side by side", "Fig. 7", "comparison"),
    "properties": Item("Imbalance, length, training size, model variance", "App. E.2, E.3", "ucr"),
    "ablation": Item("Ablation", "App. E.5", "ablation"),
    "parameters": Item("Parameters", "App. E.4", "runtime"),
    "run_time": Item("Run time, cost of SHAP", "App. E.4", "runtime"),
    "complexity": Item("Multiplications", "App. E.4", ""),
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """One section of one run, or of no run where none is needed."""

    name: str
    section: Section
    run: Run | None

    @property
    def prefix(self) -> str:
        """What the files of its pictures begin with."""
        return "" if self.run is None else f"{self.run.folder.name}-"

    @property
    def coverage(self) -> str:
        """How much of the paper's grid is covered by the table that covers the most."""
        return max((table.coverage for table in self.section.tables), key=_n_covered, default="nothing yet")


def _n_covered(coverage: str) -> int:
    found = re.match(r"\d+", coverage)
    return int(found[0]) if found else 0


def overview(parts: Sequence[Part]) -> Table:
    """Return one line for each item and run: where it is, how much there is, and whether it is as in the paper."""
    rows = []
    for name, item in ITEMS.items():
        found = [part for part in parts if part.name == name]
        for part in found:
            title = f"[{item.title}](#{anchor(part.section.title)})"
            run, recipe = (
                (NONE, NONE) if part.run is None else (f"`{part.run.folder.name}`", no_emphasis(_recipe(part.run)))
            )
            rows.append((title, item.source, run, recipe, part.coverage, _state(part)))
        if not found:
            rows.append(
                (item.title, item.source, NONE, NONE, "nothing", f"not run: `experiments/{item.experiment}.toml`")
            )
    begun = {part.name for part in parts}
    whole = {part.name for part in parts if _state(part) == "complete"}
    covered = f"{len(whole)} of {len(ITEMS)} items complete, {len(begun - whole)} in part"
    header = ("item", "in the paper", "run", "recipe", "covers", "state")
    return Table("At a glance", "", covered, header, tuple(rows), is_text=True, has_markup=True)


def _recipe(run: Run) -> str:
    return str(run.experiment.get("recipe") or NONE)


def _state(part: Part) -> str:
    """Say whether a part is as in the paper: the whole grid, the same recipe, and as many repeats."""
    if part.run is None:
        return "complete"
    done = re.match(r"(\d+) of (\d+)", part.coverage)
    reasons = [] if done and done[1] == done[2] else ["part of the grid"]
    reasons += ["generated data"] if _is_generated(part.run) else []
    reasons += _unfinished(part.run)
    n_models = sum(model in MODELS for model in part.run.models)
    if ITEMS[part.name].experiment == "ucr" and n_models < len(MODELS):
        reasons.append(f"{n_models} of {len(MODELS)} models")
    if part.name == "parameters":  # training does not change how many there are
        return "complete" if not reasons else f"partial: {', '.join(reasons)}"
    reasons += [] if _recipe(part.run) == PAPER_RECIPE else ["another recipe"]
    n_repeats = part.run.experiment.get("repeats")
    if part.name == "comparison":  # shows single models
        n_repeats = PAPER_REPEATS
    reasons += [] if n_repeats == PAPER_REPEATS else [f"{n_repeats} instead of {PAPER_REPEATS} repeats"]
    return "complete" if not reasons else f"partial: {', '.join(reasons)}"


def _unfinished(run: Run) -> list[str]:
    """Say so where a run lacks something that it planned."""
    named = zip(("trainings", "ensembles", "explanations by other methods"), progress_of(run), strict=True)
    return [f"{count.done} of {count.planned} planned {what}" for what, count in named if count.is_short]


def _is_generated(run: Run) -> bool:
    listed = run.experiment.get("datasets")
    return isinstance(listed, list) and any(isinstance(item, dict) and item.get("generator") for item in listed)


def anchor(title: str) -> str:
    """Return the end of a link to a heading.

    Examples
    --------
    >>> anchor("Run time")
    'run-time'
    """
    return re.sub(r"[^\w -]", "", title).lower().replace(" ", "-")

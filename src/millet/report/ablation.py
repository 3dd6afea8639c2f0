"""Ablation: what each part of the model adds (App. E.5).

In:  `Run`, whose models carry the number of their step.
Out: one `Section`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import stdev

from millet.report.layout import NONE, Section, Table, mean, shown, shown_difference
from millet.report.names import METRICS
from millet.report.paper import paper_table
from millet.report.published import Published
from millet.report.rows import Run

STEPS = {
    "gap": "1. GAP, single",
    "mil": "2. + MIL pooling",
    "position": "3. + positions",
    "replicate": "4. + replicate padding",
    "dropout": "5. + dropout",
    "ensemble": "6. + ensemble",
}
DATASETS = ("BeetleFly", "Lightning7", "FaceAll")


def ablation_section(run: Run, published: Published) -> Section:
    """Return the six steps from GAP to the whole model, for both metrics."""
    names = _datasets(run)
    notes = () if set(names) <= set(DATASETS) else ("None of the datasets is one of the paper's three.",)
    return Section(
        "Ablation", tuple(_steps(run, names, metric) for metric in ("balanced_accuracy", "aopcr")), (), notes
    )


def step_means(run: Run, metric: str) -> tuple[list[float | None], list[float | None]]:
    """Return the means of all steps over the datasets of a run, ours and the paper's."""
    names, paper = _datasets(run), paper_table(f"ablation_{metric}")
    ours = [mean([_value(run, name, number, metric) for name in names]) for number in range(1, len(STEPS) + 1)]
    return ours, [mean([paper.value(metric, step, name) for name in names]) for step in STEPS]


def _datasets(run: Run) -> list[str]:
    return [name for name in DATASETS if name in run.datasets] or list(run.datasets)


def _steps(run: Run, names: Sequence[str], metric: str) -> Table:
    paper = paper_table(f"ablation_{metric}")
    ours, theirs = step_means(run, metric)
    rows: list[tuple[str, ...]] = []
    for place, (step, title) in enumerate(STEPS.items()):
        cells = [
            f"{_with_error(run, name, place + 1, metric)} ({shown(paper.value(metric, step, name))})"
            for name in names
        ]
        gains = [NONE if place == 0 else shown_difference(found[place], found[place - 1]) for found in (ours, theirs)]
        rows.append((title, *cells, shown(ours[place]), shown(theirs[place]), *gains))
    header = ("step", *(f"{name} (paper)" for name in names), "mean", "paper's", "gain", "paper's ")
    shared = f"{sum(name in DATASETS for name in names)} of {len(DATASETS)} datasets"
    title = f"Ablation of Conjunctive InceptionTime: {METRICS[metric].title}"
    notes = (
        "Steps 1 to 5 are means of single models, ± the standard error of the mean; step 6 is their ensemble. The "
        "paper's means are those of the same datasets.",
    )
    return Table(title, paper.table, shared, header, tuple(rows), notes)


def _with_error(run: Run, dataset: str, step: int, metric: str) -> str:
    model = _model(run, step)
    runs = () if model is None or step == len(STEPS) else run.runs(dataset, model, metric)
    error = f" ± {stdev(runs) / math.sqrt(len(runs)):.3f}" if len(runs) > 1 else ""
    return f"{shown(_value(run, dataset, step, metric))}{error}"


def _value(run: Run, dataset: str, step: int, metric: str) -> float | None:
    if step < len(STEPS):
        model = _model(run, step)
        return None if model is None else run.single(dataset, model, metric)
    # The last step puts the models of the one before together.
    models = (model for number in (step, step - 1) if (model := _model(run, number)) is not None)
    return next((value for model in models if (value := run.ensemble(dataset, model, metric)) is not None), None)


def _model(run: Run, step: int) -> str | None:
    return next((model for model in run.models if model.endswith(f"-step{step}")), None)

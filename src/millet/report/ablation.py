"""Ablation: what each part of the model adds (App. E.5).

In:  `Run`, whose models carry the number of their step.
Out: one `Section`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from statistics import stdev

from millet.report.layout import NONE, Section, Table, mean, shown, shown_difference, without_empty_columns
from millet.report.names import METRICS, model_title
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


METRICS_SHOWN = ("balanced_accuracy", "aopcr")
PAPER_BACKBONE = "inceptiontime"


def ablation_section(run: Run, published: Published) -> Section:
    """Return the six steps from GAP to the whole model, for both metrics and every backbone that has steps."""
    if not has_steps(run):
        note = "None of the models is a step of an ablation; in an experiment file, `step` in their settings says so."
        return Section("Ablation", notes=(note,))
    names = _datasets(run)
    notes: tuple[str, ...] = (
        () if set(names) <= set(DATASETS) else ("None of the datasets is one of the paper's three.",)
    )
    left_out = [name for name in run.datasets if name not in names]
    shown_models = {_model(run, step, backbone) for backbone in _backbones(run) for step in range(1, len(STEPS) + 1)}
    left_out += [model for model in run.models if model not in shown_models]
    if left_out:
        notes = (
            *notes,
            f"Not among the paper's datasets and steps, or duplicates, and left out: {', '.join(left_out)}.",
        )
    tables = [_steps(run, names, metric, backbone) for backbone in _backbones(run) for metric in METRICS_SHOWN]
    return Section("Ablation", tuple(tables), (), notes)


def has_steps(run: Run) -> bool:
    """Return whether any model of a run is a step of an ablation."""
    return any(_step_of(model) is not None for model in run.models)


def step_means(
    run: Run, metric: str, backbone: str = PAPER_BACKBONE
) -> tuple[list[float | None], list[float | None]]:
    """Return the means of all steps over the datasets of a run: ours, and the paper's, which has one backbone."""
    names, paper = _datasets(run), paper_table(f"ablation_{metric}")
    numbers = range(1, len(STEPS) + 1)
    ours = [mean([_value(run, name, number, metric, backbone) for name in names]) for number in numbers]
    if backbone != PAPER_BACKBONE:
        return ours, [None] * len(STEPS)
    return ours, [mean([paper.value(metric, step, name) for name in names]) for step in STEPS]


def _datasets(run: Run) -> list[str]:
    return [name for name in DATASETS if name in run.datasets] or list(run.datasets)


def _backbones(run: Run) -> list[str]:
    """Return the backbones of models that are steps."""
    models = [model for model in run.models if _step_of(model) is not None]
    return list(dict.fromkeys(model.split("-")[1] for model in models))


def _step_of(model: str) -> int | None:
    found = re.fullmatch(r"\w+-\w+-step(\d+)", model)
    return int(found[1]) if found else None


def _steps(run: Run, names: Sequence[str], metric: str, backbone: str) -> Table:
    paper = paper_table(f"ablation_{metric}")
    ours, theirs = step_means(run, metric, backbone)
    is_the_papers = backbone == PAPER_BACKBONE
    rows: list[tuple[str, ...]] = []
    for place, (step, title) in enumerate(STEPS.items()):
        cells = [
            _with_error(run, name, place + 1, metric, backbone)
            + (f" ({shown(paper.value(metric, step, name))})" if is_the_papers else "")
            for name in names
        ]
        gains = [NONE if place == 0 else shown_difference(found[place], found[place - 1]) for found in (ours, theirs)]
        rows.append((title, *cells, shown(ours[place]), shown(theirs[place]), *gains))
    named = (f"{name} (paper)" if is_the_papers else name for name in names)
    header, shown_rows = without_empty_columns(("step", *named, "mean", "paper's", "gain", "paper's "), rows)
    shared = f"{sum(name in DATASETS for name in names)} of {len(DATASETS)} datasets"
    title = f"Ablation of {model_title(f'conjunctive-{backbone}')}: {METRICS[metric].title}"
    notes = (
        "Steps 1 to 5 are means of single models, ± the standard error of the mean; step 6 is their ensemble."
        + (" The paper's means are over the same datasets." if is_the_papers else ""),
    )
    return Table(title, paper.table if is_the_papers else "", shared, header, shown_rows, notes)


def _with_error(run: Run, dataset: str, step: int, metric: str, backbone: str) -> str:
    model = _model(run, step, backbone)
    runs = () if model is None or step == len(STEPS) else run.runs(dataset, model, metric)
    error = f" ± {stdev(runs) / math.sqrt(len(runs)):.3f}" if len(runs) > 1 else ""
    return f"{shown(_value(run, dataset, step, metric, backbone))}{error}"


def _value(run: Run, dataset: str, step: int, metric: str, backbone: str) -> float | None:
    if step < len(STEPS):
        model = _model(run, step, backbone)
        return None if model is None else run.single(dataset, model, metric)
    # The last step combines the models of the one before.
    models = (model for number in (step, step - 1) if (model := _model(run, number, backbone)) is not None)
    return next((value for model in models if (value := run.ensemble(dataset, model, metric)) is not None), None)


def _model(run: Run, step: int, backbone: str) -> str | None:
    return next((model for model in run.models if model.endswith(f"-{backbone}-step{step}")), None)

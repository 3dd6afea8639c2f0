"""Ablation: what each part of the model adds (App. E.5).

In:  `Run`, whose models carry the number of their step.
Out: one `Section`.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    names = [name for name in DATASETS if name in run.datasets] or list(run.datasets)
    notes = () if set(names) <= set(DATASETS) else ("None of the datasets is one of the paper's three.",)
    return Section(
        "Ablation", tuple(_steps(run, names, metric) for metric in ("balanced_accuracy", "aopcr")), (), notes
    )


def _steps(run: Run, names: Sequence[str], metric: str) -> Table:
    paper = paper_table(f"ablation_{metric}")
    rows: list[tuple[str, ...]] = []
    before: float | None = None
    for number, (step, title) in enumerate(STEPS.items(), start=1):
        found = [_value(run, name, number, metric) for name in names]
        average = mean(found)
        theirs = [paper.value(metric, step, name) for name in names]
        cells = [f"{shown(ours)} ({shown(their)})" for ours, their in zip(found, theirs, strict=True)]
        gain = NONE if number == 1 else shown_difference(average, before)
        paper_mean = mean(theirs)
        rows.append((title, *cells, shown(average), gain, shown(paper_mean), shown_difference(average, paper_mean)))
        before = average
    header = ("step", *(f"{name} (paper)" for name in names), "mean", "gain", "paper's mean", "difference")
    shared = f"{sum(name in DATASETS for name in names)} of {len(DATASETS)} datasets"
    title = f"Ablation of Conjunctive InceptionTime: {METRICS[metric].title}"
    notes = ("Steps 1 to 5 are means of single models. The paper's mean is that of the same datasets.",)
    return Table(title, paper.table, shared, header, tuple(rows), notes)


def _value(run: Run, dataset: str, step: int, metric: str) -> float | None:
    if step < len(STEPS):
        model = _model(run, step)
        return None if model is None else run.single(dataset, model, metric)
    # The last step puts the models of the one before together.
    models = (model for number in (step, step - 1) if (model := _model(run, number)) is not None)
    return next((value for model in models if (value := run.ensemble(dataset, model, metric)) is not None), None)


def _model(run: Run, step: int) -> str | None:
    return next((model for model in run.models if model.endswith(f"-step{step}")), None)

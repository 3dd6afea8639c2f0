"""Cost: parameters and run time of the poolings (App. E.4).

In:  `Run`.
Out: one `Section` each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from statistics import stdev

from millet.report.complexity import DATASET
from millet.report.layout import NONE, Section, Table, mean, shown
from millet.report.names import BACKBONES, MODELS, POOLINGS, model_title
from millet.report.paper import paper_table
from millet.report.published import Published
from millet.report.rows import OWN, Row, Run

BACKBONE, PAPER_EPOCHS = "inceptiontime", 1500


def parameters_section(run: Run, published: Published) -> Section:
    """Return the number of parameters of each model."""
    name, notes = _dataset(run)
    rows, n_done = [], 0
    for model in MODELS:
        pooling, _, backbone = model.partition("-")
        ours = mean([row.number("n_parameters") for row in run.find(name, model, ensemble=False)])
        paper = paper_table("parameters").value("n_parameters", pooling, backbone)
        agrees = NONE if ours is None or paper is None else "yes" if abs(ours - paper) <= 50 else "no"
        n_done += ours is not None
        rows.append((model_title(model), shown(ours, 0), shown(paper, 0), agrees))
    table = Table(
        f"{name}: parameters", paper_table("parameters").table, f"{n_done} of {len(MODELS)} models",
        ("model", "ours", "paper", "agree to the hundred"), tuple(rows),
    )  # fmt: skip
    return Section("Parameters", (table,), notes=notes)


def run_time_section(run: Run, published: Published) -> Section:
    """Return the time to train, to predict and to explain by SHAP, beside the paper's."""
    name, notes = _dataset(run)
    kinds: dict[str, tuple[str, str, Callable[[Row], float | None]]] = {
        "train_seconds": ("training, s", OWN, lambda row: row.number("train_seconds")),
        "inference_milliseconds": (
            "prediction, ms a case",
            OWN,
            lambda row: _per_case(row, "inference_seconds", 1000),
        ),
        "shap_seconds": ("SHAP, s a case", "shap", lambda row: _per_case(row, "explain_seconds", 1)),
    }
    tables = []
    for part, (title, method, time) in kinds.items():
        found = {
            pooling: [value for row in _rows(run, name, pooling, method) if (value := time(row)) is not None]
            for pooling in POOLINGS
        }
        tables.append(_times(name, part, title, found))
    tables[0] = dataclasses.replace(tables[0], notes=(*tables[0].notes, *_epochs_note(run, name)))
    return Section("Run time", tuple(tables), notes=notes)


def _epochs_note(run: Run, name: str) -> tuple[str, ...]:
    """Say how long ours were trained, where that is known."""
    counts = {row.number("n_epochs_run") for pooling in POOLINGS for row in _rows(run, name, pooling, OWN)} - {None}
    listed = " or ".join(f"{count:.0f}" for count in sorted(count for count in counts if count is not None))
    return (f"Ours ran {listed} epochs, the paper's {PAPER_EPOCHS}.",) if listed else ()


def _times(name: str, part: str, title: str, found: dict[str, list[float]]) -> Table:
    paper = paper_table("run_time")
    gap, rows = mean(found["gap"]), []
    for pooling, times in found.items():
        average = mean(times)
        spread = f" ± {stdev(times):.2f}" if len(times) > 1 else ""
        ours_above = NONE if average is None or not gap else f"{100 * (average / gap - 1):+.1f} %"
        above = paper.value(part, pooling, "percent_above_gap")
        theirs = f"{paper.value(part, pooling, 'mean'):g} ± {paper.value(part, pooling, 'sd'):g}"
        rows.append((POOLINGS[pooling], shown(average, 2) + spread, ours_above, theirs, _percent(above)))
    header = ("pooling", "ours", "above GAP", "paper", "above GAP ")
    covered = f"{sum(bool(times) for times in found.values())} of {len(POOLINGS)} poolings"
    notes = ("Machines differ: compare what lies above GAP.",)
    return Table(f"{name}: {title} ({BACKBONES[BACKBONE]})", paper.table, covered, header, tuple(rows), notes)


def _dataset(run: Run) -> tuple[str, tuple[str, ...]]:
    """Return the paper's dataset; in a run without it, the first there is."""
    if DATASET in run.datasets or not run.datasets:
        return DATASET, ()
    return run.datasets[0], (f"{DATASET} was not run: these are of {run.datasets[0]} and can't be compared.",)


def _rows(run: Run, name: str, pooling: str, method: str) -> tuple[Row, ...]:
    return run.find(name, f"{pooling}-{BACKBONE}", ensemble=False, method=method)


def _per_case(row: Row, key: str, factor: float) -> float | None:
    seconds, n_cases = row.number(key), row.number("n_cases")
    return None if seconds is None or not n_cases else factor * seconds / n_cases


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{value:+.1f} %"

"""Cost: parameters and run time of the poolings (App. E.4).

In:  `Run`.
Out: one `Section` each.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean, stdev

from millet.report.complexity import DATASET
from millet.report.layout import NONE, Section, Table, mean, shown, without_empty_columns
from millet.report.names import (
    BACKBONES,
    MILLET_POOLINGS,
    MODELS,
    OWN,
    PAPER_EPOCHS,
    POOLINGS,
    model_title,
    with_others,
)
from millet.report.paper import paper_table
from millet.report.published import Published
from millet.report.rows import Row, Run

BACKBONE, POOLING = "inceptiontime", "conjunctive"
TO_THE_HUNDRED = 50
WITHIN_NOISE = "within run-to-run noise"


def parameters_section(run: Run, published: Published) -> Section:
    """Return the number of parameters of each model."""
    name, notes = _dataset(run)
    rows, n_of_the_paper = [], 0
    for model in with_others(run.models):
        ours, paper = _parameters(run, name, model)
        if ours is None:
            continue
        # The number depends on the classes of a dataset, among other things.
        paper = paper if name == DATASET else None
        agrees = NONE if paper is None else "yes" if abs(ours - paper) <= TO_THE_HUNDRED else "no"
        n_of_the_paper += model in MODELS
        rows.append((model_title(model), shown(ours, 0), shown(paper, 0), agrees))
    covered = f"{n_of_the_paper} of {len(MODELS)} models"
    header, shown_rows = without_empty_columns(("model", "ours", "paper", "agree to the hundred"), rows)
    table = Table(f"{name}: parameters", paper_table("parameters").table, covered, header, shown_rows)
    return Section("Parameters", (table,) if rows else (), notes=notes if rows else ("Nothing was run.",))


def parameters_agree(run: Run) -> list[bool]:
    """Return for each model that was run on the paper's dataset whether its number of parameters is the paper's."""
    pairs = [_parameters(run, DATASET, model) for model in MODELS]
    return [abs(ours - paper) <= TO_THE_HUNDRED for ours, paper in pairs if ours is not None and paper is not None]


def _parameters(run: Run, name: str, model: str) -> tuple[float | None, float | None]:
    pooling, _, backbone = model.partition("-")
    ours = mean([row.number("n_parameters") for row in run.find(name, model, ensemble=False)])
    return ours, paper_table("parameters").value("n_parameters", pooling, backbone)


def run_time_section(run: Run, published: Published) -> Section:
    """Return the time to train, to predict and to explain by SHAP, beside the paper's."""
    name, notes = _dataset(run)
    kinds: dict[str, tuple[str, str, Callable[[Row], float | None]]] = {
        "train_seconds": ("training, s", OWN, lambda row: row.core_seconds("train")),
        "inference_milliseconds": ("prediction, ms per case", OWN, lambda row: _per_case(row, "inference", 1000)),
        "shap_seconds": ("SHAP, s per case", "shap", lambda row: _per_case(row, "explain", 1)),
    }
    tables = []
    for part, (title, method, time) in kinds.items():
        found = {
            pooling: [value for row in _rows(run, name, pooling, method) if (value := time(row)) is not None]
            for pooling in POOLINGS
        }
        more = _epochs_note(run, name) if part == "train_seconds" else _shap_note(run) if method == "shap" else ()
        if any(found.values()):
            tables.append(_times(name, part, title, found, more))
    if not tables:
        notes = (*notes, f"This compares the poolings of {BACKBONES[BACKBONE]}, with which nothing was run.")
    return Section("Run time", tuple(tables), notes=notes)


def _epochs_note(run: Run, name: str) -> tuple[str, ...]:
    """Say how long ours were trained, where that is known."""
    counts = {row.number("n_epochs_run") for pooling in POOLINGS for row in _rows(run, name, pooling, OWN)} - {None}
    listed = " or ".join(f"{count:.0f}" for count in sorted(count for count in counts if count is not None))
    return (f"Ours ran {listed} epochs, the paper's {PAPER_EPOCHS}.",) if listed else ()


def _times(name: str, part: str, title: str, found: dict[str, list[float]], more: tuple[str, ...]) -> Table:
    paper = paper_table("run_time")
    gap, rows = mean(found["gap"]), []
    for pooling, times in found.items():
        average = mean(times)
        spread = f" ± {stdev(times):.2f}" if len(times) > 1 else ""
        ours_above = NONE if average is None or not gap else _above(found["gap"], times)
        above = paper.value(part, pooling, "percent_above_gap")
        theirs = f"{paper.value(part, pooling, 'mean'):g} ± {paper.value(part, pooling, 'sd'):g}"
        rows.append((POOLINGS[pooling], shown(average, 2) + spread, ours_above, theirs, _percent(above)))
    header = ("pooling", "ours", "above GAP", "paper", "above GAP ")
    covered = f"{sum(bool(times) for times in found.values())} of {len(POOLINGS)} poolings"
    n_runs = max(len(times) for times in found.values())
    notes = (
        f"Machines differ: compare the part above GAP. Ours: processor time over {n_runs} runs, ± one standard "
        "deviation.",
        *more,
    )
    return Table(f"{name}: {title} ({BACKBONES[BACKBONE]})", paper.table, covered, header, tuple(rows), notes)


def _above(gap: list[float], times: list[float]) -> str:
    """Return how much longer than GAP it takes, in percent, unless runs differ more among themselves."""
    difference = fmean(times) - fmean(gap)
    noise = sum(stdev(some) for some in (gap, times) if len(some) > 1)
    return (
        WITHIN_NOISE if gap is not times and abs(difference) <= noise else f"{100 * difference / fmean(gap):+.1f} %"
    )


def shap_times(run: Run) -> tuple[float | None, float | None]:
    """Return how many times as long as a prediction SHAP takes: ours, and the paper's."""
    name, paper = _dataset(run)[0], paper_table("run_time")
    shap, prediction = (
        mean([_per_case(row, kind, 1) for row in _rows(run, name, POOLING, method)])
        for method, kind in (("shap", "explain"), (OWN, "inference"))
    )
    seconds, milliseconds = (
        paper.value(part, POOLING, "mean") for part in ("shap_seconds", "inference_milliseconds")
    )
    theirs = 1000 * seconds / milliseconds if seconds and milliseconds else None
    return (shap / prediction if shap and prediction else None), theirs


def inference_above_gap(run: Run) -> tuple[float | None, float | None]:
    """Return how much longer a prediction takes than with GAP, at most, in percent: ours, and the paper's."""
    name, paper = _dataset(run)[0], paper_table("run_time")
    times = {
        pooling: mean([_per_case(row, "inference", 1) for row in _rows(run, name, pooling, OWN)])
        for pooling in POOLINGS
    }
    gap = times["gap"]
    ours = [100 * (time / gap - 1) for pooling in MILLET_POOLINGS if gap and (time := times[pooling])]
    theirs = [paper.value("inference_milliseconds", pooling, "percent_above_gap") for pooling in MILLET_POOLINGS]
    known = [value for value in theirs if value is not None]
    return max(ours, default=None), max(known, default=None)


def _shap_note(run: Run) -> tuple[str, ...]:
    ours, theirs = shap_times(run)
    if ours is None or theirs is None:
        return ()
    return (
        f"With {POOLINGS[POOLING]} pooling, SHAP takes {ours:.0f} times as long as the prediction, which includes "
        f"the evidence; in the paper, {theirs:.0f} times.",
    )


def _dataset(run: Run) -> tuple[str, tuple[str, ...]]:
    """Return the paper's dataset; in a run without it, the first one."""
    if DATASET in run.datasets or not run.datasets:
        return DATASET, ()
    return run.datasets[0], (f"{DATASET} was not run: these are for {run.datasets[0]} and can't be compared.",)


def _rows(run: Run, name: str, pooling: str, method: str) -> tuple[Row, ...]:
    return run.find(name, f"{pooling}-{BACKBONE}", ensemble=False, method=method)


def _per_case(row: Row, kind: str, factor: float) -> float | None:
    seconds, n_cases = row.core_seconds(kind), row.number("n_cases")
    return None if seconds is None or not n_cases else factor * seconds / n_cases


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{value:+.1f} %"

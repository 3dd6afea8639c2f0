"""Cost: parameters, run time and multiplications of the poolings (App. E.4).

In:  `Run`; multiplications follow from shapes alone.
Out: one `Section` each.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import stdev

from millet.datasets.catalogue import find
from millet.errors import lookup
from millet.report.layout import NONE, Section, Table, mean, shown
from millet.report.names import BACKBONES, MODELS, POOLINGS, model_title
from millet.report.paper import paper_table
from millet.report.published import Published
from millet.report.rows import OWN, Row, Run

DATASET = "Fish"
BACKBONE = "inceptiontime"
N_FEATURES, N_HIDDEN = 128, 8


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
    return Section("Run time", tuple(tables), notes=notes)


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


def complexity_section(run: Run, published: Published) -> Section:
    """Return the multiplications of the poolings, for the shape of Fish."""
    entry = find(DATASET)
    assert entry is not None
    assert entry.length is not None
    rows = []
    for pooling, title in POOLINGS.items():
        ours = multiplications(pooling, entry.length, entry.n_classes)
        formula = paper_table("complexity").parts["multiplications"][pooling]["total"]
        rows.append((f"{title}{' + CAM' if pooling == 'gap' else ''}", f"{ours:,}", formula))
    table = Table(
        f"Multiplications of the poolings for {DATASET}", paper_table("complexity").table,
        f"{len(rows)} of {len(POOLINGS)} poolings", ("pooling", "multiplications", "paper's formula"), tuple(rows),
        (f"d = {N_FEATURES}, a = {N_HIDDEN}, t = {entry.length}, c = {entry.n_classes}.",),
    )  # fmt: skip
    return Section("Complexity", (table,))


def multiplications(
    pooling: str, n_timepoints: int, n_classes: int, n_features: int = N_FEATURES, n_hidden: int = N_HIDDEN
) -> int:
    """Count the multiplications that a pooling makes for one case, counted as in App. E.4 of the paper.

    A linear layer of d inputs and o outputs takes t d o, an attention head t d a + t a, a weighting or an average
    n l for n vectors of length l.

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

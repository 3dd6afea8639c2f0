"""WebTraffic: Tab. 1 and the tables of App. D.2 and E.1, from rows.

In:  `Run` and `Published`.
Out: one `Section` each.
"""

from __future__ import annotations

from collections.abc import Iterator

from millet.datasets.catalogue import WEB_TRAFFIC
from millet.report.layout import COMPARED, Cell, Section, Table, compared, mean, shown
from millet.report.names import BACKBONES, METRICS, MILLET_POOLINGS, MODELS, POOLINGS, model_title, with_others
from millet.report.paper import paper_table
from millet.report.published import Published
from millet.report.rows import OWN, Run

PREDICTION = {"accuracy": "webtraffic_accuracy", "auroc": "webtraffic_auroc", "loss": "webtraffic_loss"}
SCALE_NOTE = "AOPCR grows with the scale of the logits, and so with longer training."
CONVENTION_NOTE = (
    "As published, NDCG@n holds the cases of class 0, of which every timepoint counts as relevant and which have 1.0 "
    "by construction."
)
SINGLE_NOTE = "Ours are means of single models; the paper's are ensembles of five."
SHAP_NOTE = "Where SHAP explained no ensemble, ours is the mean of the single models it explained."


def webtraffic_section(run: Run, published: Published) -> Section:
    """Return the tables on the synthetic dataset."""
    name = traffic_dataset(run)
    tables = [_prediction(run, published, name, metric) for metric in PREDICTION]
    for metric in ("aopcr", "ndcg_at_n"):
        tables += [_summary(run, name, metric), _explanations(run, published, name, metric)]
    tables.append(_without_class_0(run, name))
    return Section("WebTraffic", tuple(tables), notes=(*foreign_note(name), *shortened_note(run)))


def traffic_dataset(run: Run) -> str:
    """Return the published dataset's name; in a run without it, that of a generated one."""
    planned = run.experiment.get("datasets")
    listed = [item for item in planned if isinstance(item, dict)] if isinstance(planned, list) else []
    generated = [str(item.get("name")) for item in listed if item.get("generator")]
    return generated[0] if generated and WEB_TRAFFIC.name not in run.planned("datasets") else WEB_TRAFFIC.name


def foreign_note(name: str) -> tuple[str, ...]:
    """Say so where a dataset is not the published one."""
    if name == WEB_TRAFFIC.name:
        return ()
    return (f"{name} is generated and smaller than the published dataset: ours and the paper's can't be compared.",)


def shortened_note(run: Run) -> tuple[str, ...]:
    """Say so where networks were trained for fewer epochs than their recipe asks for."""
    shortened = sorted({row.recipe for row in run.done if "n_epochs=" in row.recipe})
    if not shortened:
        return ()
    return (
        f"These networks were trained briefly (recipe {'; '.join(shortened)}; the paper's: 1500 epochs), and are far "
        "from what they would become. What the poolings and explanations of one backbone have in common with the "
        "paper, or not, can be read from this; levels can't.",
    )


def _prediction(run: Run, published: Published, name: str, metric: str) -> Table:
    paper = paper_table(PREDICTION[metric])
    cells = []
    for model in with_others(run.models):
        pooling, _, backbone = model.partition("-")
        runs = run.runs(name, model, metric), tuple(published.runs(name, model, metric))
        ours, theirs = run.value(name, model, metric), paper.value(metric, pooling, backbone)
        cells.append(Cell(model_title(model), ours, theirs, *runs))
    for pooling, title in POOLINGS.items():
        ours = mean([run.value(name, f"{pooling}-{backbone}", metric) for backbone in BACKBONES])
        cells.append(Cell(f"{title}, mean", ours, paper.value(metric, pooling, "mean")))
    return _table(run, name, metric, paper.table, cells)


def _lines() -> Iterator[tuple[str, str, str, str]]:
    """Yield the paper's row, its title here, and the pooling and method that stand behind it."""
    yield "cam", "CAM", "gap", "cam"
    for pooling in MILLET_POOLINGS:
        yield f"shap-{pooling}", f"SHAP of {POOLINGS[pooling]}", pooling, "shap"
    for pooling in MILLET_POOLINGS:
        yield pooling, POOLINGS[pooling], pooling, OWN


def _evidence(run: Run, name: str, model: str, metric: str, method: str) -> float | None:
    value = run.value(name, model, metric, method)
    if value is None and method == "cam":
        # CAM is the way a GAP model explains itself, so a benchmark need not run it twice.
        return run.value(name, model, metric, OWN)
    if value is None and method == "shap":
        return run.single(name, model, metric, method)
    return value


def _explanations(run: Run, published: Published, name: str, metric: str) -> Table:
    paper = paper_table("webtraffic_explanations")
    cells = []
    for line, title, pooling, method in _lines():
        found = {backbone: _evidence(run, name, f"{pooling}-{backbone}", metric, method) for backbone in BACKBONES}
        for backbone, ours in found.items():
            model = f"{pooling}-{backbone}"
            # The authors' files hold what the models say of themselves, and nothing of SHAP.
            authors = () if method == "shap" else tuple(published.runs(name, model, metric))
            runs = run.runs(name, model, metric, method) or (run.runs(name, model, metric) if method == "cam" else ())
            cells.append(
                Cell(f"{title}, {BACKBONES[backbone]}", ours, paper.value(metric, line, backbone), runs, authors)
            )
        cells.append(Cell(f"{title}, mean", mean(list(found.values())), paper.value(metric, line, "mean")))
    notes = (SCALE_NOTE if metric == "aopcr" else CONVENTION_NOTE, SHAP_NOTE, *_sample_note(run))
    return _table(run, name, metric, paper.table, cells, *notes, suffix=" of all explanations")


def _sample_note(run: Run) -> tuple[str, ...]:
    """Say so where SHAP explained fewer cases than the models themselves."""
    counts = {is_shap: {row.content.get("n_cases") for row in run.done if (row.method == "shap") is is_shap}
              for is_shap in (True, False)}  # fmt: skip
    if not counts[True] or counts[True] == counts[False]:
        return ()
    few, all_cases = (", ".join(map(str, sorted(filter(None, counts[key])))) for key in (True, False))
    return (f"SHAP explained {few} cases, which says little; all else is of {all_cases}.",)


def _summary(run: Run, name: str, metric: str) -> Table:
    """Return Tab. 1: CAM, and of SHAP and MILLET the pooling that does best with each backbone."""
    paper = paper_table("webtraffic_summary")
    groups = {
        "cam": ("CAM", ("gap",), "cam"),
        "shap-best": ("SHAP", MILLET_POOLINGS, "shap"),
        "best": ("MILLET", MILLET_POOLINGS, OWN),
    }
    cells = []
    for line, (title, poolings, method) in groups.items():
        best: list[float | None] = []
        for backbone in BACKBONES:
            candidates = [_evidence(run, name, f"{pooling}-{backbone}", metric, method) for pooling in poolings]
            found = [value for value in candidates if value is not None]
            best.append(max(found, default=None))
            # The best of fewer poolings than the paper's is not the same thing.
            of = f", best of {len(found)}" if len(poolings) > 1 else ""
            cells.append(Cell(f"{title}{of}, {BACKBONES[backbone]}", best[-1], paper.value(metric, line, backbone)))
        cells.append(Cell(f"{title}, mean", mean(best), paper.value(metric, line, "mean")))
    return _table(run, name, metric, paper.table, cells)


def _without_class_0(run: Run, name: str) -> Table:
    metrics = ("ndcg_at_n", "ndcg_at_n_without_all_relevant")
    rows = [
        (model_title(model), *(shown(run.value(name, model, metric)) for metric in metrics))
        for model in MODELS
        if run.value(name, model, metrics[0]) is not None
    ]
    header = ("model", "NDCG@n as published", "without class 0")
    return Table(
        f"{name}: NDCG@n with and without class 0", "", _coverage(run, name, "ndcg_at_n"), header, tuple(rows)
    )


def _table(run: Run, name: str, metric: str, source: str, cells: list[Cell], *notes: str, suffix: str = "") -> Table:
    width = 1 + (len(COMPARED) if any(cell.our_runs or cell.authors_runs for cell in cells) else 3)
    # The heading tells how much of the grid there is; the paper's figures of all else would be a page of gaps.
    rows = tuple(compared(cell)[:width] for cell in cells if cell.ours is not None)
    notes = notes if run.has_ensembles else (*notes, SINGLE_NOTE)
    heading, covered = f"{name}: {METRICS[metric].title}{suffix}", _coverage(run, name, metric)
    return Table(heading, source, covered, ("model", *COMPARED)[:width], rows, notes)


def _coverage(run: Run, name: str, metric: str) -> str:
    n_done = sum(run.value(name, model, metric) is not None for model in MODELS)
    return f"{n_done} of {len(MODELS)} models"

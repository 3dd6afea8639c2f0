"""WebTraffic: Tab. 1 and the tables of App. D.2 and E.1, from rows.

In:  `Run` and `Published`.
Out: one `Section` each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from millet.datasets.catalogue import WEB_TRAFFIC
from millet.report.layout import (
    NONE,
    Cell,
    Section,
    Table,
    comparison,
    mean,
    shown,
    shown_difference,
    without_empty_columns,
)
from millet.report.names import (
    BACKBONES,
    METRICS,
    MILLET_POOLINGS,
    MODELS,
    OWN,
    PAPER_EPOCHS,
    POOLINGS,
    RECIPE_EPOCHS,
    model_title,
    with_others,
)
from millet.report.paper import PaperTable, paper_table
from millet.report.published import Published
from millet.report.rows import Row, Run
from millet.report.training import METRIC as TRAINING
from millet.report.training import TITLE as TRAINING_TITLE
from millet.report.training import training_table

PREDICTION = {"accuracy": "webtraffic_accuracy", "auroc": "webtraffic_auroc", "loss": "webtraffic_loss"}
SCALE_NOTE = "AOPCR grows with the scale of the logits, and so with longer training."
CONVENTION_NOTE = (
    "As published, NDCG@n includes the cases of class 0, in which every timepoint counts as relevant; for these it "
    "is 1.0 by construction."
)
BEST_NOTE = (
    "For SHAP and MILLET, the pooling that does best with each backbone; the best of fewer than four can't be "
    "compared with the paper's. Single models where a pooling has no ensemble; the paper's are ensembles of five."
)
OUR_BEST_NOTE = (
    "For SHAP and MILLET, the pooling that does best with each backbone; single models where a pooling has no "
    "ensemble."
)


GINI_NOTE = "Gini: from 0, where all timepoints have the same share of the evidence, to 1, where one has all of it."
SAME_NOTE = "±: how sure SHAP's mean is with so few cases (95 %). The rows of other models do not have these figures."


def webtraffic_section(run: Run, published: Published) -> Section:
    """Return the tables on the synthetic dataset."""
    name = traffic_dataset(run)
    tables = [_prediction(run, published, name, metric) for metric in PREDICTION]
    for metric in ("aopcr", "ndcg_at_n"):
        tables += [_summary(run, name, metric), _explanations(run, published, name, metric)]
    covered = _coverage(run, name, TRAINING)
    training = training_table(run, published, [name], (f"{name}: {TRAINING_TITLE}", "", covered))
    tables += [_same_cases(run, name), _sparsity(run, name), _without_class_0(run, name), training]
    shown_tables = tuple(table for table in tables if table.rows)
    return Section("WebTraffic", shown_tables, notes=(*dataset_notes(run, name), *shortened_note(run)))


def traffic_dataset(run: Run) -> str:
    """Return the published dataset's name; in a run without it, that of the first generated one."""
    generated = _generated(run)
    return generated[0] if generated and WEB_TRAFFIC.name not in run.planned("datasets") else WEB_TRAFFIC.name


def _generated(run: Run) -> list[str]:
    """Return the generated datasets that have results, in the experiment's order."""
    planned = run.experiment.get("datasets")
    listed = [item for item in planned if isinstance(item, dict)] if isinstance(planned, list) else []
    return [name for item in listed if item.get("generator") and (name := str(item.get("name"))) in run.datasets]


def is_published(name: str) -> bool:
    """Return whether a dataset is the one behind the paper's figures."""
    return name == WEB_TRAFFIC.name


def dataset_notes(run: Run, name: str) -> tuple[str, ...]:
    """Say so where a dataset is not the published one, and which others are generated and not shown beside it."""
    foreign = f"{name} is generated, and not the published dataset: ours and the paper's can't be compared."
    others = [other for other in _generated(run) if other != name]
    left_out = f"Generated datasets that are not in this section: {', '.join(others)}."
    return (*(() if is_published(name) else (foreign,)), *((left_out,) if others else ()))


def shortened_note(run: Run) -> tuple[str, ...]:
    """Say so where networks were trained for fewer epochs than their recipe asks for."""
    shortened = sorted({row.recipe for row in run.done if _is_shortened(row.recipe)})
    if not shortened:
        return ()
    return (
        f"These networks were trained briefly (recipe {'; '.join(shortened)}; the paper's: 1500 epochs), and are far "
        "from fully trained: neither levels nor small differences between poolings can be compared.",
    )


def _is_shortened(recipe: str) -> bool:
    name, asked = recipe.split(",")[0], re.search(r"n_epochs=(\d+)", recipe)
    return asked is not None and int(asked[1]) < RECIPE_EPOCHS.get(name, PAPER_EPOCHS)


def _paper_beside(table: str, dataset: str) -> PaperTable:
    """Return a table of the paper; for a dataset other than the published one, an empty one."""
    return paper_table(table) if is_published(dataset) else PaperTable("", "", "", {})


def _prediction(run: Run, published: Published, name: str, metric: str) -> Table:
    paper = _paper_beside(PREDICTION[metric], name)
    cells = []
    for model in with_others(run.models):
        pooling, _, backbone = model.partition("-")
        runs = run.runs(name, model, metric), tuple(published.runs(name, model, metric))
        cells.append(
            Cell(model_title(model), run.ensemble(name, model, metric), paper.value(metric, pooling, backbone), *runs)
        )
    for pooling, title in POOLINGS.items():
        ours = mean([run.ensemble(name, f"{pooling}-{backbone}", metric) for backbone in BACKBONES])
        cells.append(Cell(f"{title}, mean", ours, paper.value(metric, pooling, "mean")))
    return _table(run, name, metric, paper.table, cells)


def _lines() -> Iterator[tuple[str, str, str, str]]:
    """Yield the paper's row, its title here, and the pooling and method that stand behind it."""
    yield "cam", "CAM", "gap", "cam"
    for pooling in MILLET_POOLINGS:
        yield f"shap-{pooling}", f"SHAP of {POOLINGS[pooling]}", pooling, "shap"
    for pooling in MILLET_POOLINGS:
        yield pooling, POOLINGS[pooling], pooling, OWN


def _method(run: Run, name: str, model: str, metric: str, method: str) -> str:
    """Return the method whose rows to show; CAM is how a GAP model explains itself, and need not be run twice."""
    return OWN if method == "cam" and not run.has(name, model, metric, method) else method


def _explanations(run: Run, published: Published, name: str, metric: str) -> Table:
    paper = _paper_beside("webtraffic_explanations", name)
    cells = []
    for line, title, pooling, method in _lines():
        ensembles: list[float | None] = []
        for backbone in BACKBONES:
            model = f"{pooling}-{backbone}"
            told_by = _method(run, name, model, metric, method)
            ensembles.append(run.ensemble(name, model, metric, told_by))
            # The authors' files have the models' own evidence only, nothing on SHAP.
            authors = () if method == "shap" else tuple(published.runs(name, model, metric))
            runs = run.runs(name, model, metric, told_by)
            theirs = paper.value(metric, line, backbone)
            cells.append(Cell(f"{title}, {BACKBONES[backbone]}", ensembles[-1], theirs, runs, authors))
        cells.append(Cell(f"{title}, mean", mean(ensembles), paper.value(metric, line, "mean")))
    for model in with_others(run.models)[len(MODELS) :]:
        ours = run.ensemble(name, model, metric)
        cells.append(Cell(model_title(model), ours, None, run.runs(name, model, metric)))
    notes = (SCALE_NOTE if metric == "aopcr" else CONVENTION_NOTE, *_shap_notes(run, name, metric))
    return _table(run, name, metric, paper.table, cells, *notes, suffix=" of all explanations")


def _shap_notes(run: Run, name: str, metric: str) -> Iterator[str]:
    """Say how SHAP was run, and how sure its mean is where it explained fewer cases than the models themselves."""
    of_dataset = [row for row in run.done if row.dataset == name]
    rows = [row for row in of_dataset if row.method == "shap" and row.number(metric) is not None]
    planned = run.experiment.get("methods")
    listed = [method for method in planned if isinstance(method, dict)] if isinstance(planned, list) else []
    options = [method.get("options") for method in listed if method.get("name") == "shap"]
    if rows and not any(isinstance(option, dict) and option.get("paired") is False for option in options):
        yield "Our SHAP pairs each coalition with its complement; the paper does not say whether its own does."
    counts = {row.content.get("n_cases") for row in rows}
    others = {row.content.get("n_cases") for row in of_dataset if row.method != "shap"}
    if rows and counts != others:
        few, all_cases = (", ".join(map(str, sorted(filter(None, found)))) for found in (counts, others))
        widest = max((_half_width(row, metric) for row in rows), default=0.0)
        known = f", so its means are known to ± {widest:.2g} (95 %)" if widest else ""
        yield f"SHAP explained {few} cases{known}; everything else is for {all_cases}."


def _half_width(row: Row, metric: str) -> float:
    low, high = row.number(f"{metric}_low"), row.number(f"{metric}_high")
    return 0.0 if low is None or high is None else (high - low) / 2


def _summary(run: Run, name: str, metric: str) -> Table:
    """Return Tab. 1: CAM, and for SHAP and MILLET the pooling that does best with each backbone."""
    paper = _paper_beside("webtraffic_summary", name)
    groups: dict[str, tuple[str, tuple[str, ...], str]] = {
        "cam": ("CAM", ("gap",), "cam"),
        "shap-best": ("SHAP", MILLET_POOLINGS, "shap"),
        "best": ("MILLET", MILLET_POOLINGS, OWN),
    }
    rows = []
    for line, (title, poolings, method) in groups.items():
        for backbone in BACKBONES:
            models = [f"{pooling}-{backbone}" for pooling in poolings]
            told_by = _method(run, name, models[0], metric, method)
            # CAM and MILLET are compared: both as ensembles, or both as single models.
            beside = models if method == "shap" else [f"{pooling}-{backbone}" for pooling in POOLINGS]
            are_ensembles = run.alike(name, beside, metric, told_by if method == "shap" else OWN).are_ensembles
            of_kind = run.ensemble if are_ensembles else run.single
            values = [of_kind(name, model, metric, told_by) for model in models]
            found = [value for value in values if value is not None]
            if not found:
                continue
            of = f", best of {len(found)}" if len(poolings) > 1 else ""
            theirs = paper.value(metric, line, backbone) if len(found) == len(poolings) else None
            ours = max(found)
            rows.append(
                (
                    f"{title}{of}, {BACKBONES[backbone]}",
                    "ensembles" if are_ensembles else "single models",
                    shown(ours),
                    shown(theirs),
                    shown_difference(ours, theirs),
                )
            )
    header = ("explanation", "of", "ours", "paper", "difference")
    heading, covered = f"{name}: {METRICS[metric].title}", _coverage(run, name, metric)
    if not is_published(name):
        return Table(heading, "", covered, *without_empty_columns(header, rows), (OUR_BEST_NOTE,))
    return Table(heading, paper.table, covered, header, tuple(rows), (BEST_NOTE,))


def _same_cases(run: Run, name: str) -> Table:
    """Return SHAP beside the own evidence of the models that it explains, where rows have both for the same cases."""
    rows, n_of_the_paper = [], 0
    for model in with_others(run.models):
        numbers = [number for metric in ("aopcr", "ndcg_at_n") for number in _beside_own(run, name, model, metric)]
        if set(numbers) == {NONE}:
            continue
        n_of_the_paper += model in MODELS and model.partition("-")[0] in MILLET_POOLINGS
        rows.append((model_title(model), shown(run.single(name, model, "n_cases", "shap"), 0), *numbers))
    header = (
        "model", "cases", "AOPCR: SHAP", "AOPCR: the model's own", "NDCG@n: SHAP", "NDCG@n: the model's own",
    )  # fmt: skip
    covered = f"{n_of_the_paper} of {len(MILLET_POOLINGS) * len(BACKBONES)} models"
    title = f"{name}: SHAP and the model's own evidence for the same cases"
    return Table(title, "", covered, header, tuple(rows), (SAME_NOTE,), is_detail=True)


def _beside_own(run: Run, name: str, model: str, metric: str) -> tuple[str, str]:
    found = run.beside_own(name, model, metric, "shap")
    if found is None or not found.are_same_cases:
        return NONE, NONE
    widest = max(_half_width(row, metric) for row in run.find(name, model, ensemble=False, method="shap"))
    return shown(found.method) + (f" ± {widest:.2g}" if widest else ""), shown(found.own)


def _sparsity(run: Run, name: str) -> Table:
    header = ("model", "of", "Gini")
    return _by_model(run, name, ("gini",), "sparsity of the models' own evidence", header, (GINI_NOTE,))


def _without_class_0(run: Run, name: str) -> Table:
    header = ("model", "of", "NDCG@n as published", "without class 0")
    metrics = ("ndcg_at_n", "ndcg_at_n_without_all_relevant")
    return _by_model(run, name, metrics, "NDCG@n with and without class 0", header)


def _by_model(
    run: Run, name: str, metrics: tuple[str, ...], title: str, header: tuple[str, ...], notes: tuple[str, ...] = ()
) -> Table:
    """Return some metrics of each model's own evidence: its ensemble's, else those of its single models."""
    rows = []
    for model in with_others(run.models):
        ensemble, single = ([of(name, model, metric) for metric in metrics] for of in (run.ensemble, run.single))
        kind, found = ("single models", single) if ensemble[0] is None else ("ensemble", ensemble)
        if found[0] is not None:
            rows.append((model_title(model), kind, *map(shown, found)))
    covered = _coverage(run, name, metrics[0])
    return Table(f"{name}: {title}", "", covered, header, tuple(rows), notes, is_detail=True)


def _table(run: Run, name: str, metric: str, source: str, cells: list[Cell], *notes: str, suffix: str = "") -> Table:
    heading = f"{name}: {METRICS[metric].title}{suffix}"
    return comparison(heading, source, _coverage(run, name, metric), "model", cells, notes)


def _coverage(run: Run, name: str, metric: str) -> str:
    n_done = sum(bool(run.runs(name, model, metric)) for model in MODELS)
    return f"{n_done} of {len(MODELS)} models"

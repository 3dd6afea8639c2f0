"""UCR: means over datasets, and every dataset beside the authors' runs (App. D.3); or the user's own datasets.

In:  `Run` and `Published`.
Out: one `Section`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from millet.datasets.catalogue import PAPER_DATASETS, WEB_TRAFFIC
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
from millet.report.names import METRICS, model_title, with_others
from millet.report.paper import paper_table
from millet.report.published import Published
from millet.report.rows import Run
from millet.report.training import METRIC as TRAINING
from millet.report.training import TITLE as TRAINING_TITLE
from millet.report.training import training_table
from millet.report.webtraffic import SCALE_NOTE, shortened_note
from millet.statistics import run_spread

HEADER = (
    "model", "datasets", "ours", "authors, same datasets", "difference", "paper, 85 datasets", "inside spread",
)  # fmt: skip
SPREAD_NOTE = (
    "Inside spread: on how many datasets the mean of our single models lies between the lowest and the highest of "
    "the authors' five; in brackets, within two standard deviations of their mean. By chance alone, a single run "
    "lies between the lowest and the highest of five others in two of three cases, and within two standard "
    "deviations in six of seven; a mean of three, in four of five and in nineteen of twenty."
)


SINGLES_NOTE = (
    "Not all models have an ensemble on all datasets: the tables of single models show what those of ensembles lack."
)


@dataclass(frozen=True)
class Kind:
    """One table of means: which metric, of ensembles or of single models, and where the paper has it."""

    title: str
    metric: str
    ensemble: bool
    table: str
    part: str


KINDS = (
    Kind("Accuracy", "accuracy", True, "ucr_performance", "accuracy"),
    Kind("Balanced accuracy", "balanced_accuracy", True, "ucr_performance", "balanced_accuracy"),
    Kind("AUROC", "auroc", True, "ucr_performance", "auroc"),
    Kind("Loss", "loss", True, "ucr_performance", "loss"),
    Kind("AOPCR of single models", "aopcr", False, "ucr_aopcr", "single"),
    Kind("AOPCR of ensembles", "aopcr", True, "ucr_aopcr", "ensemble"),
)
METRICS_SHOWN = tuple(dict.fromkeys(kind.metric for kind in KINDS))


def ucr_section(run: Run, published: Published) -> Section:
    """Return means over datasets for each model, and every dataset by itself."""
    names, notes = ucr_datasets(run)
    kinds = [kind for kind in KINDS if kind.metric != "aopcr"]
    lacking = [_of_single_models(kind) for kind in kinds if run.lacks_ensembles(names, kind.metric)]
    tables = [_means(run, published, names, kind) for kind in (*kinds, *lacking, *KINDS[len(kinds) :])]
    if lacking and any(row.ensemble for row in run.done):
        notes = (*notes, SINGLES_NOTE)
    if any(HEADER[-1] in table.header for table in tables):
        notes = (*notes, SPREAD_NOTE)
    everywhere = (*names, *(name for name in all_datasets(run) if name not in names))
    by_dataset = {metric: _by_dataset(run, published, everywhere, metric) for metric in METRICS_SHOWN}
    unmeasured = [METRICS[metric].title for metric, table in by_dataset.items() if not table.rows]
    notes = (*notes, f"Not measured in this run: {', '.join(unmeasured)}.") if unmeasured else notes
    title = "UCR" if are_of_the_paper(names) else "Datasets"
    trained = [name for name in everywhere if any(run.runs(name, model, TRAINING) for model in run.models)]
    training = training_table(run, published, trained, heading(TRAINING_TITLE, "", trained))
    listed = (*tables, *by_dataset.values(), training)
    return Section(title, tuple(table for table in listed if table.rows), notes=(*notes, *shortened_note(run)))


def ucr_datasets(run: Run) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the run's datasets that the paper has, or all where it has none of them, and what to say about that."""
    names = all_datasets(run)
    shared = tuple(name for name in names if name in PAPER_DATASETS)
    others = [name for name in names if name not in PAPER_DATASETS]
    if not others:
        return shared, ()
    if not shared:
        return names, (
            "None of the datasets is one of the paper's 85: there is nothing in the paper to compare with.",
        )
    return shared, (f"Not among the paper's 85 datasets, and left out of means over them: {', '.join(others)}.",)


def all_datasets(run: Run) -> tuple[str, ...]:
    """Return the run's datasets; WebTraffic, which has its own section, only where there is no other."""
    return tuple(name for name in run.datasets if name != WEB_TRAFFIC.name) or run.datasets


def are_of_the_paper(names: Collection[str]) -> bool:
    """Return whether any of the datasets is one of the paper's; also true without datasets."""
    return not names or any(name in PAPER_DATASETS for name in names)


def coverage(names: Collection[str]) -> str:
    """Return how many of the paper's datasets there are, and how many others.

    Examples
    --------
    >>> coverage(["Beef", "Coffee"]), coverage(["Beef", "Pump A"]), coverage(["Pump A"])
    ('2 of 85 datasets', '1 of 85 datasets and 1 other', '1 dataset')
    """
    n_shared = sum(name in PAPER_DATASETS for name in names)
    n_others = len(names) - n_shared
    if not are_of_the_paper(names):
        return f"{n_others} dataset{'s' * (n_others != 1)}"
    others = f" and {n_others} other{'s' * (n_others != 1)}" if n_others else ""
    return f"{n_shared} of {len(PAPER_DATASETS)} datasets{others}"


def heading(title: str, source: str, names: Collection[str]) -> tuple[str, str, str]:
    """Return title, source and coverage of a table on some datasets; the user's own have no source in the paper.

    Examples
    --------
    >>> heading("Accuracy", "App. D.3", ["Beef"])
    ('UCR: Accuracy', 'App. D.3', '1 of 85 datasets')
    >>> heading("Accuracy", "App. D.3", ["Pump A", "Pump B"])
    ('Accuracy', '', '2 datasets')
    """
    if are_of_the_paper(names):
        return f"UCR: {title}", source, coverage(names)
    return title, "", coverage(names)


def _of_single_models(kind: Kind) -> Kind:
    return Kind(f"{kind.title} of single models", kind.metric, False, kind.table, kind.part)


def _means(run: Run, published: Published, names: Sequence[str], kind: Kind) -> Table:
    ours_of = run.ensemble if kind.ensemble else run.single
    covered: set[str] = set()
    rows = []
    for model in with_others(run.models):
        ours = {name: value for name in names if (value := ours_of(name, model, kind.metric)) is not None}
        if not ours:
            continue
        covered.update(ours)
        if kind.ensemble:
            authors = mean([published.ensemble(name, model, kind.metric) for name in ours])
        else:
            runs = [published.runs(name, model, kind.metric) for name in ours]
            authors = mean([float(found.mean()) if found.size else None for found in runs])
        average = mean(list(ours.values()))
        rows.append((
            model_title(model), str(len(ours)), shown(average), shown(authors),
            shown_difference(average, authors), shown(_paper(kind, model) if are_of_the_paper(names) else None),
            _inside(run, published, list(ours), model, kind.metric),
        ))  # fmt: skip
    header, shown_rows = without_empty_columns(HEADER, rows)
    notes = (SCALE_NOTE,) if kind.metric == "aopcr" else ()
    return Table(*heading(kind.title, paper_table(kind.table).table, covered), header, shown_rows, notes)


def _paper(kind: Kind, model: str) -> float | None:
    """Return the paper's mean over all 85 datasets; for some metrics, only the table of all classifiers has it."""
    if not kind.ensemble and kind.metric != "aopcr":
        return None  # the paper's accuracies are those of ensembles
    pooling, _, backbone = model.partition("-")
    found = paper_table(kind.table).value(kind.part, pooling, backbone)
    return paper_table("ucr_all").value(kind.metric, model, "mean") if found is None else found


def _inside(run: Run, published: Published, names: Sequence[str], model: str, metric: str) -> str:
    verdicts = []
    for name in names:
        ours, theirs = run.single(name, model, metric), published.runs(name, model, metric)
        if ours is not None and theirs.size >= 2:
            verdicts.append(run_spread(theirs).verdict(ours))
    if not verdicts:
        return NONE
    n_near = sum(verdict != "no" for verdict in verdicts)
    return f"{verdicts.count('yes')} ({n_near}) of {len(verdicts)}"


def _by_dataset(run: Run, published: Published, names: Sequence[str], metric: str) -> Table:
    cells = [
        Cell(
            f"{name}, {model_title(model)}",
            run.ensemble(name, model, metric),
            published.ensemble(name, model, metric),
            run.runs(name, model, metric),
            tuple(published.runs(name, model, metric)),
        )
        for name in names
        for model in with_others(run.models)
    ]
    covered = {name for name in names for model in run.models if run.runs(name, model, metric)}
    title, source, counted = heading(f"{METRICS[metric].title} by dataset", "", covered)
    return comparison(title, source, counted, "dataset, model", cells, is_detail=True)

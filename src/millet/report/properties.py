"""Properties: where our best model does well: imbalance, length, training size; and how steady models are (App. E).

In:  `Run`, `Published`, and the datasets' files where they are at hand.
Out: one `Section`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from millet.datasets.catalogue import find
from millet.datasets.files import load_file
from millet.datasets.locate import find_splits, search_folders
from millet.errors import MilletError
from millet.report.field import Field, gather_field
from millet.report.figures import plot_bins, plot_deviations
from millet.report.gains import plot_gains
from millet.report.layout import Picture, Section, Table, shown
from millet.report.names import MODELS, model_title
from millet.report.paper import paper_table
from millet.report.published import Published
from millet.report.ranking import BEST, RIVALS
from millet.report.rows import Run
from millet.report.ucr import coverage, ucr_datasets
from millet.statistics import average_ranks, class_balance, deviations_from_median, equal_count_bins, head_to_head
from millet.statistics.properties import BALANCE_THRESHOLD

N_BINS = 4
STEADY_NOTE = (
    "The median is that of the classifiers in this table: the order depends on who is among them, above all on how "
    "many alike models are."
)


def properties_section(run: Run, published: Published, path: str | os.PathLike[str] | None = None) -> Section:
    """Return how results depend on the datasets' properties."""
    names = ucr_datasets(run)[0]
    field = gather_field(run, published, (BEST, RIVALS[0]), names, "balanced_accuracy")
    if not any(field.has_ours_among(BEST, rival) for rival in RIVALS):
        note = f"This compares {model_title(BEST)} with GAP and the state of the art, and needs a run of one of both."
        return Section("Dataset properties", notes=(note,))
    rivals = [rival for rival in RIVALS if field.has_ours_among(BEST, rival)]
    field = _narrowed(field, [BEST, *rivals])
    imbalance, missing = _imbalance(field, rivals, path)
    tables, pictures = ([imbalance[0]], [imbalance[1]]) if imbalance else ([], [])
    for title, attribute in (("length", "length"), ("number of training cases", "n_train")):
        binned = _bins(field, title, attribute)
        if binned is not None:
            tables.append(binned[0])
            pictures.append(binned[1])
    n_by_property = len(tables)
    everyone = gather_field(run, published, MODELS, names, "accuracy")
    if len(everyone.datasets) > 1 and len(everyone.classifiers) > 2:
        tables.append(_steadiness(everyone))
        titles = [everyone.title(name) for name in everyone.classifiers]
        caption = f"Accuracy minus the median of all, {coverage(everyone.datasets)}; steadiest first."
        pictures.append(Picture("model_variance", caption, lambda: plot_deviations(everyone.values, titles)))
    notes = field.notes if n_by_property else everyone.notes if tables else ()
    return Section("Dataset properties", tuple(tables), tuple(pictures), (*missing, *notes))


def balance_of(name: str, path: str | os.PathLike[str] | None = None) -> float | None:
    """Return the class balance of a dataset's test split, or None where its file is not at hand or not readable."""
    try:
        splits = find_splits(name, search_folders(path))
        dataset = None if splits is None else load_file(splits.test)
        return None if dataset is None or dataset.y is None else class_balance(dataset.y)
    except MilletError:
        return None


def _narrowed(field: Field, classifiers: Sequence[str]) -> Field:
    places = [field.classifiers.index(name) for name in classifiers]
    ours = tuple(field.ours[place] for place in places)
    return Field(tuple(classifiers), ours, field.datasets, field.values[:, places], field.of_singles)


def _imbalance(
    field: Field, rivals: Sequence[str], path: str | os.PathLike[str] | None
) -> tuple[tuple[Table, Picture] | None, tuple[str, ...]]:
    balances = {name: balance_of(name, path) for name in field.datasets}
    unknown = [name for name, balance in balances.items() if balance is None]
    places = [
        place
        for place, name in enumerate(field.datasets)
        if (balance := balances[name]) is not None and balance < BALANCE_THRESHOLD
    ]
    notes = (f"Of unknown balance, because not at hand or not readable: {', '.join(unknown)}.",) if unknown else ()
    if not places:
        return None, (*notes, "No imbalanced dataset among those that could be looked at.")
    paper, rows = paper_table("comparisons"), []
    for rival in rivals:
        duel = head_to_head(field.column(BEST)[places], field.column(rival)[places])
        count = paper.value("wins_where_imbalanced", rival, "count")
        score = f"{duel.wins} / {duel.draws} / {duel.losses}"
        rows.append((field.title(rival), score, f"{duel.gains.sum():+.3f}", f"{count:.0f} wins of 13"))
    listed = ", ".join(f"{field.datasets[place]} ({balances[field.datasets[place]]:.2f})" for place in places)
    title = f"UCR: {field.title(BEST)} on imbalanced datasets, balanced accuracy"
    header = ("against", "wins / draws / losses", "total gain", "paper")
    n_known = len(field.datasets) - len(unknown)
    covered = f"{coverage(field.datasets)}; {len(places)} of {n_known} have a balance below {BALANCE_THRESHOLD}"
    table = Table(title, "App. E.2", covered, header, tuple(rows), (f"Imbalanced: {listed}.",))
    return (table, _gains(field, rivals, places)), notes


def _gains(field: Field, rivals: Sequence[str], places: Sequence[int]) -> Picture:
    ours = field.column(BEST)[places]
    theirs = {field.title(rival): field.column(rival)[places] for rival in rivals}
    datasets = [field.datasets[place] for place in places]
    caption = (
        f"{field.title(BEST)} on the {len(places)} imbalanced of {coverage(field.datasets)}. Above: balanced "
        "accuracy of both; below: the gain, with wins / draws / losses."
    )
    return Picture("imbalance", caption, lambda: plot_gains(ours, theirs, datasets, name=field.title(BEST)))


def _bins(field: Field, title: str, attribute: str) -> tuple[Table, Picture] | None:
    sizes = [getattr(find(name), attribute, None) for name in field.datasets]
    known = [place for place, size in enumerate(sizes) if size is not None]
    if len(known) < 2:
        return None
    bins = equal_count_bins([size for size in sizes if size is not None], N_BINS)
    ranges = [f"{low:.0f} to {high:.0f}" for low, high, _ in bins]
    ranks = [average_ranks(field.values[[known[member] for member in members]]) for *_, members in bins]
    by_name = {
        field.title(name): [float(found[column]) for found in ranks] for column, name in enumerate(field.classifiers)
    }
    rows = tuple((name, *(shown(rank) for rank in found)) for name, found in by_name.items())
    header = ("average rank", *(f"{text} ({len(b.members)})" for text, b in zip(ranges, bins, strict=True)))
    covered = coverage([field.datasets[place] for place in known])
    table = Table(f"UCR: balanced accuracy by {title}", "App. E.2", covered, header, rows)
    caption = f"Average rank by {title}, balanced accuracy, {covered}; in brackets, datasets."
    counted = [f"{text}\n({len(found.members)})" for text, found in zip(ranges, bins, strict=True)]
    return table, Picture(f"by_{attribute}", caption, lambda: plot_bins(counted, by_name, label=title))


def _steadiness(field: Field) -> Table:
    deviations = deviations_from_median(field.values)
    variances = deviations.var(axis=0)
    rows = tuple(
        (field.title(field.classifiers[place]), f"{variances[place]:.5f}", shown(float(deviations[:, place].min())))
        for place in variances.argsort(kind="stable")
    )
    header = ("classifier", "variance of accuracy − median", "worst")
    return Table(
        "UCR: model variance", "App. E.3", coverage(field.datasets), header, rows, (STEADY_NOTE, *field.notes)
    )

"""Properties: where our best model does well (imbalance, length, training size), and how steady models are (App. E).

In:  `Run`, `Published`, and the datasets' files where they are at hand.
Out: one `Section`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
from millet.report.webtraffic import shortened_note
from millet.statistics import average_ranks, class_balance, deviations_from_median, equal_count_bins, head_to_head
from millet.statistics.properties import BALANCE_THRESHOLD

N_BINS = 4
STEADY_NOTE = (
    "The median is that of the classifiers in this table: the order depends on which these are, above all on how "
    "many similar models are among them."
)


def properties_section(run: Run, published: Published, path: str | os.PathLike[str] | None = None) -> Section:
    """Return how results depend on the datasets' properties."""
    field = best_among_rivals(run, published)
    if field is None:
        note = f"This compares {model_title(BEST)} with GAP and the state of the art; run one of the first two."
        return Section("Dataset properties", notes=(note,))
    imbalance, missing = _imbalance(field, path)
    tables, pictures = ([imbalance[0]], [imbalance[1]]) if imbalance else ([], [])
    for title, attribute in (("length", "length"), ("number of training cases", "n_train")):
        binned = _bins(field, title, attribute)
        if binned is not None:
            tables.append(binned[0])
            pictures.append(binned[1])
    n_by_property = len(tables)
    everyone = gather_field(run, published, MODELS, ucr_datasets(run)[0], "accuracy")
    if len(everyone.datasets) > 1 and len(everyone.classifiers) > 2:
        tables.append(_steadiness(everyone))
        titles = [everyone.title(name) for name in everyone.classifiers]
        caption = f"Accuracy minus the median of all classifiers, {coverage(everyone.datasets)}; steadiest first."
        pictures.append(Picture("model_variance", caption, lambda: plot_deviations(everyone.values, titles)))
    notes = field.notes if n_by_property else everyone.notes if tables else ()
    return Section("Dataset properties", tuple(tables), tuple(pictures), (*missing, *notes, *shortened_note(run)))


def best_among_rivals(run: Run, published: Published) -> Field | None:
    """Return the balanced accuracies of the paper's best model, which comes first, and of those it is compared with.

    Rivals are kept if they or the best are ours; None where there are none.
    """
    gap, *others = RIVALS
    field = gather_field(run, published, (BEST, gap), ucr_datasets(run)[0], "balanced_accuracy", others=others)
    rivals = [rival for rival in RIVALS if field.has_ours_among(BEST, rival)]
    return field.narrowed([BEST, *rivals]) if rivals else None


def imbalanced(balances: Sequence[float | None]) -> list[int]:
    """Return the positions of balances that the paper calls imbalanced."""
    return [place for place, balance in enumerate(balances) if balance is not None and balance < BALANCE_THRESHOLD]


class Ranked(NamedTuple):
    """Datasets of about the same size: the least and the greatest size, which datasets these are, and the ranks.

    `places` are positions among a field's datasets; `ranks` has one rank for each of its classifiers.
    """

    low: float
    high: float
    places: tuple[int, ...]
    ranks: NDArray[np.float64]


def ranks_by(field: Field, attribute: str) -> list[Ranked]:
    """Return average ranks by "length" or "n_train", in bins with about equally many datasets.

    Datasets of unknown size are left out.
    """
    sizes = {
        place: size
        for place, name in enumerate(field.datasets)
        if (size := getattr(find(name), attribute, None)) is not None
    }
    if len(sizes) < 2:
        return []
    known = tuple(sizes)
    bins = [
        (low, high, tuple(known[member] for member in members))
        for low, high, members in equal_count_bins(list(sizes.values()), N_BINS)
    ]
    return [Ranked(low, high, places, average_ranks(field.values[list(places)])) for low, high, places in bins]


def balance_of(name: str, path: str | os.PathLike[str] | None = None) -> float | None:
    """Return the class balance of a dataset's test split, or None where its file is not at hand or not readable."""
    try:
        splits = find_splits(name, search_folders(path))
        dataset = None if splits is None else load_file(splits.test)
        return None if dataset is None or dataset.y is None else class_balance(dataset.y)
    except MilletError:
        return None


def _imbalance(
    field: Field, path: str | os.PathLike[str] | None
) -> tuple[tuple[Table, Picture] | None, tuple[str, ...]]:
    balances = {name: balance_of(name, path) for name in field.datasets}
    unknown = [name for name, balance in balances.items() if balance is None]
    places = imbalanced(list(balances.values()))
    notes = (f"Balance unknown, because missing or unreadable: {', '.join(unknown)}.",) if unknown else ()
    if not places:
        return None, (*notes, "None of the datasets that could be checked is imbalanced.")
    paper, rows = paper_table("comparisons"), []
    for rival in field.classifiers[1:]:
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
    return (table, _gains(field, places)), notes


def _gains(field: Field, places: Sequence[int]) -> Picture:
    ours = field.column(BEST)[places]
    theirs = {field.title(rival): field.column(rival)[places] for rival in field.classifiers[1:]}
    datasets = [field.datasets[place] for place in places]
    caption = (
        f"{field.title(BEST)} on the {len(places)} imbalanced of {coverage(field.datasets)}. Top: balanced "
        "accuracy of both; bottom: the gain, with wins / draws / losses."
    )
    return Picture("imbalance", caption, lambda: plot_gains(ours, theirs, datasets, name=field.title(BEST)))


def _bins(field: Field, title: str, attribute: str) -> tuple[Table, Picture] | None:
    found = ranks_by(field, attribute)
    if not found:
        return None
    ranges = [f"{group.low:.0f} to {group.high:.0f}" for group in found]
    by_name = {
        field.title(name): [float(group.ranks[column]) for group in found]
        for column, name in enumerate(field.classifiers)
    }
    rows = tuple((name, *map(shown, ranks)) for name, ranks in by_name.items())
    counts = [len(group.places) for group in found]
    header = ("average rank", *(f"{text} ({count})" for text, count in zip(ranges, counts, strict=True)))
    covered = coverage([field.datasets[place] for group in found for place in group.places])
    table = Table(f"UCR: balanced accuracy by {title}", "App. E.2", covered, header, rows)
    caption = f"Average rank by {title}, balanced accuracy, {covered}; in brackets, the number of datasets."
    labels = [f"{text}\n({count})" for text, count in zip(ranges, counts, strict=True)]
    return table, Picture(f"by_{attribute}", caption, lambda: plot_bins(labels, by_name, label=title))


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

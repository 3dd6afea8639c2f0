"""Placing: classifiers on the same datasets in; out, their ranks and which can't be told apart.

In:  `Field`.
Out: tables and pictures, for `millet.report.ranking`.
"""

from __future__ import annotations

import math

import numpy as np

from millet.report.critical_difference import plot_critical_difference
from millet.report.field import Field
from millet.report.layout import NONE, Picture, Table, shown
from millet.report.names import METRICS
from millet.report.ucr import coverage, heading
from millet.statistics import average_ranks, count_wins
from millet.tables import counted

WIN_DECIMALS = 3
LEVEL = 0.05  # of significance
BLUNT = LEVEL / 10  # a test is blunt if its least possible p is above this


def rank_figures(field: Field, metric: str) -> list[tuple[str, str, str]]:
    """Return mean, average rank and wins of every classifier, for a table."""
    better = METRICS[metric].higher_is_better
    ranks = average_ranks(field.values, higher_is_better=better)
    wins = count_wins(field.values, higher_is_better=better, decimals=WIN_DECIMALS)
    means = field.values.mean(axis=0)
    return [(shown(m), shown(r), str(w)) for m, r, w in zip(means, ranks, wins, strict=True)]


def ranks_table(field: Field, metric: str, of: str) -> Table:
    """Return mean, rank and wins of all classifiers of a field; `of` says which they are."""
    rows = [
        (field.title(classifier), *figures)
        for classifier, figures in zip(field.classifiers, rank_figures(field, metric), strict=True)
    ]
    notes = (
        f"Ranks and wins among {len(field.classifiers)} classifiers; wins are counted at three decimals.",
        *field.notes,
    )
    title = f"{METRICS[metric].title} of {of}"
    is_detail = metric != "balanced_accuracy"
    return Table(
        *heading(title, "", field.datasets), ("classifier", "mean", "rank", "wins"), tuple(rows), notes, is_detail
    )


def significance_table(field: Field, of: str = "", source: str = "") -> Table:
    """Return which can't be told apart by balanced accuracy; `of` says who is in it, `source` where in the paper."""
    comparison = field.comparison
    friedman = comparison.friedman
    notes = [
        f"Two-sided Wilcoxon signed-rank tests of all pairs, Holm-corrected, at {LEVEL}."
        + ("" if friedman is None else f" Friedman: {friedman.statistic:.2f}, p = {friedman.p_value:.2g}.")
    ]
    n_pairs = math.comb(len(field.classifiers), 2)
    least = 2.0 ** (1 - len(field.datasets)) * n_pairs  # where one of a pair is better on every dataset
    if least > BLUNT:
        who = "no pair" if least > LEVEL else "only a pair in which one is better almost everywhere"
        notes.append(
            f"On {counted(len(field.datasets), 'dataset')} the smallest p that a pair could reach, corrected for "
            f"{n_pairs} pairs, is {min(least, 1.0):.2g}: {who} could be told apart, whatever the results."
        )
    notes += field.notes
    order = np.argsort(comparison.ranks, kind="stable")
    members = [[number for number, clique in enumerate(comparison.cliques, 1) if place in clique] for place in order]
    rows = tuple(
        (comparison.names[place], shown(float(comparison.ranks[place])), ", ".join(map(str, groups)) or NONE)
        for place, groups in zip(order, members, strict=True)
    )
    header = ("classifier", "average rank", "cliques")
    title = f"Balanced accuracy{f' of {of}' if of else ''}, groups that can't be told apart"
    return Table(*heading(title, source, field.datasets), header, rows, tuple(notes))


def critical_difference_picture(field: Field, file: str = "critical_difference", of: str = "") -> Picture:
    """Return the critical difference diagram by balanced accuracy; `of` says which classifiers are in it."""
    caption = (
        f"Critical difference diagram{f' of {of}' if of else ''}, balanced accuracy, {coverage(field.datasets)}: "
        "average ranks; a bar joins classifiers that can't be told apart."
    )
    return Picture(file, caption, lambda: plot_critical_difference(field.comparison))

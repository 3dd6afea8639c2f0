"""Field claims: what the paper says about its best model among other classifiers, and whether our runs agree.

In:  `Run`, `Published`, and the datasets' files where they are at hand.
Out: `field_claims`, which `millet.report.judging` turns into rows of a table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from millet.datasets.catalogue import PAPER_DATASETS
from millet.report.field import Field, gather_field
from millet.report.judging import Finding, Statement, verdict_of
from millet.report.layout import NONE, shown
from millet.report.names import MODELS, model_title
from millet.report.paper import paper_table
from millet.report.properties import balance_of, best_among_rivals, imbalanced, ranks_by
from millet.report.published import Published
from millet.report.ranking import BEST, RIVALS
from millet.report.rows import Run
from millet.report.ucr import ucr_datasets
from millet.statistics import deviations_from_median, head_to_head

GAP = RIVALS[0]


class _Said(NamedTuple):
    """What a field says, and whether each part of the claim holds."""

    text: str
    held: Sequence[bool]


def field_claims(path: str | os.PathLike[str] | None = None) -> dict[str, Statement]:
    """Return the statements on the paper's best model among others, by the keys of their reasons.

    Each is judged by the run that covers the most datasets.

    Parameters
    ----------
    path : path-like, optional
        Folder with datasets, which the balance of classes is read from.

    Examples
    --------
    >>> list(field_claims())
    ['ucr_duels', 'imbalance', 'training_size', 'variance']
    """
    best = model_title(BEST)
    rivals = "GAP, HC2 and Hydra-MR"
    return {
        "ucr_duels": Statement(
            f"UCR: {best} is at least as good as {rivals} on most datasets, by balanced accuracy", "ranking", _duels
        ),
        "imbalance": Statement(
            f"UCR: on most imbalanced datasets {best} is better than {rivals}, by balanced accuracy",
            "properties",
            partial(_wins_where_imbalanced, path=path),
        ),
        "training_size": Statement(
            f"UCR: {best} ranks below GAP where training cases are few, and above where they are many",
            "properties",
            _by_training_size,
        ),
        "variance": Statement(
            f"UCR: accuracies of {best} vary less about the median than those of {rivals}", "properties", _variances
        ),
    }


def _duels(runs: Sequence[Run], published: Published) -> Finding | None:
    field = _widest(runs, lambda run: best_among_rivals(run, published), BEST)
    if field is None:
        return None
    found = [head_to_head(field.column(BEST), field.column(rival)) for rival in field.classifiers[1:]]
    counts = [duel.wins + duel.draws for duel in found]
    return _of_most(field, counts, len(field.datasets), "wins_or_draws")


def _wins_where_imbalanced(
    runs: Sequence[Run], published: Published, *, path: str | os.PathLike[str] | None
) -> Finding | None:
    field = _widest(runs, lambda run: best_among_rivals(run, published), BEST)
    if field is None:
        return None
    places = imbalanced([balance_of(name, path) for name in field.datasets])
    if not places:
        return None
    best, *others = (field.column(classifier)[places] for classifier in field.classifiers)
    return _of_most(field, [head_to_head(best, other).wins for other in others], len(places), "wins_where_imbalanced")


def _of_most(field: Field, counts: Sequence[int], n_datasets: int, published_as: str) -> Finding:
    """Judge whether the counts, one per rival, are more than half of the datasets."""
    rivals, paper = field.classifiers[1:], paper_table("comparisons")
    theirs = [shown(paper.value(published_as, rival, "count"), 0) for rival in rivals]
    n_theirs = shown(paper.value(published_as, rivals[0], "n_datasets"), 0)
    said = [
        f"{', '.join(f'{model_title(rival)} {n}' for rival, n in zip(rivals, found, strict=True))} of {n_all}"
        for found, n_all in ((counts, n_datasets), (theirs, n_theirs))
    ]
    return Finding(said[0], said[1], verdict_of(sum(2 * n > n_datasets for n in counts), len(counts)))


def _by_training_size(runs: Sequence[Run], published: Published) -> Finding | None:
    ours = _widest(runs, lambda run: best_among_rivals(run, published), BEST, GAP)
    theirs = partial(gather_field, models=(BEST, GAP), datasets=PAPER_DATASETS, metric="balanced_accuracy")
    return _beside_the_published(ours, published, theirs, _ranks_of_extremes)


def _ranks_of_extremes(field: Field) -> _Said | None:
    if not {BEST, GAP} <= set(field.classifiers):
        return None
    field = field.narrowed([name for name in (BEST, *RIVALS) if name in field.classifiers])
    groups = ranks_by(field, "n_train")
    if len(groups) < 2:
        return None
    columns = [field.classifiers.index(name) for name in (BEST, GAP)]
    (few_best, few_gap), (many_best, many_gap) = (
        [float(group.ranks[column]) for column in columns] for group in (groups[0], groups[-1])
    )
    said = ", ".join(
        f"{shown(best, 2)} and {shown(gap, 2)} with {group.low:.0f} to {group.high:.0f} cases"
        for group, best, gap in ((groups[0], few_best, few_gap), (groups[-1], many_best, many_gap))
    )
    return _Said(said, (few_best > few_gap, many_best < many_gap))


def _variances(runs: Sequence[Run], published: Published) -> Finding | None:
    def gathered(run: Run) -> Field:
        return gather_field(run, published, MODELS, ucr_datasets(run)[0], "accuracy")

    ours = _widest(runs, gathered, BEST)
    theirs = partial(gather_field, models=MODELS, datasets=PAPER_DATASETS, metric="accuracy")
    return _beside_the_published(ours, published, theirs, _variances_of)


def _variances_of(field: Field) -> _Said | None:
    if len(field.datasets) < 2 or not {BEST, *RIVALS} <= set(field.classifiers):
        return None
    variances = dict(zip(field.classifiers, deviations_from_median(field.values).var(axis=0).tolist(), strict=True))
    others = ", ".join(f"{model_title(rival)} {variances[rival]:.5f}" for rival in RIVALS)
    return _Said(f"{variances[BEST]:.5f}; {others}", [variances[BEST] < variances[rival] for rival in RIVALS])


def _beside_the_published(
    ours: Field | None,
    published: Published,
    gather: Callable[[Run, Published], Field],
    say: Callable[[Field], _Said | None],
) -> Finding | None:
    """Judge our field, and say what the published one shows on all datasets."""
    found = None if ours is None else say(ours)
    if found is None:
        return None
    said = say(gather(Run(Path(), {}, ()), published))
    return Finding(found.text, NONE if said is None else said.text, verdict_of(sum(found.held), len(found.held)))


def _widest(runs: Sequence[Run], gather: Callable[[Run], Field | None], *ours: str) -> Field | None:
    """Return the field with the most datasets among those in which these classifiers are ours."""
    fields = [
        field
        for run in runs
        if (field := gather(run)) is not None and all(field.has_ours_among(name) for name in ours) and field.datasets
    ]
    return max(fields, key=lambda field: len(field.datasets), default=None)

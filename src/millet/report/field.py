"""The field: our models among the classifiers of the paper, on the datasets that all of them have.

In:  `Run` and `Published`.
Out: `Field`, read by `millet.report.ranking` and `millet.report.properties`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from millet.report.names import MODELS, STATE_OF_THE_ART, model_title
from millet.report.paper import PAPER_REPEATS
from millet.report.published import Published
from millet.report.rows import Run
from millet.statistics import Comparison, compare_classifiers

# The short table's field: what the paper builds on and what it recommends, for each backbone.
SHORT = tuple(model for model in MODELS if model.startswith(("gap-", "conjunctive-")))


@dataclass(frozen=True)
class Field:
    """Classifiers and their results on the same datasets.

    Attributes
    ----------
    classifiers : tuple of str
        Models, then the state of the art.
    ours : tuple of bool
        Whether a classifier's results are from this run; else they are published ones.
    datasets : tuple of str
        Those on which all have a result.
    values : ndarray of shape (n_datasets, n_classifiers)
        Results.
    of_singles : tuple of str
        Datasets on which our results are means of single models, because not all our models have an ensemble there.
    left_out : tuple of str
        Classifiers with results on so few datasets that hardly any would be left to compare the others on.
    n_members : int
        Members of our ensembles.
    """

    classifiers: tuple[str, ...]
    ours: tuple[bool, ...]
    datasets: tuple[str, ...]
    values: NDArray[np.float64]
    of_singles: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    n_members: int = PAPER_REPEATS

    def column(self, classifier: str) -> NDArray[np.float64]:
        """Return a classifier's results, of shape (n_datasets,)."""
        column: NDArray[np.float64] = self.values[:, self.classifiers.index(classifier)]
        return column

    def title(self, classifier: str) -> str:
        """Return a classifier's name for tables and pictures, marked as ours if others are not."""
        is_ours = self.ours[self.classifiers.index(classifier)] and not all(self.ours)
        return f"{model_title(classifier)}{' (ours)' if is_ours else ''}"

    def narrowed(self, classifiers: Sequence[str]) -> Field:
        """Return only these classifiers, in this order."""
        places = [self.classifiers.index(name) for name in classifiers]
        ours = tuple(self.ours[place] for place in places)
        return replace(self, classifiers=tuple(classifiers), ours=ours, values=self.values[:, places])

    def has_ours_among(self, *classifiers: str) -> bool:
        """Return whether all of these are there, and any of them is ours."""
        places = [self.classifiers.index(name) for name in classifiers if name in self.classifiers]
        return len(places) == len(classifiers) and any(self.ours[place] for place in places)

    @cached_property
    def comparison(self) -> Comparison:
        """Which of the classifiers, by their titles, can't be told apart."""
        return compare_classifiers(self.values, [self.title(name) for name in self.classifiers])

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say where our results are not those of ensembles, or classifiers are left out."""
        notes = singles_notes(len(self.of_singles), len(self.datasets))
        if notes and not all(self.ours):
            notes = (*notes, "The authors' published results are ensembles.")
        if self.n_members != PAPER_REPEATS and any(self.ours) and len(self.of_singles) < len(self.datasets):
            notes = (*notes, f"Our ensembles have {self.n_members} members, the authors' {PAPER_REPEATS}.")
        if self.left_out:
            listed = ", ".join(map(model_title, self.left_out))
            notes = (*notes, f"Left out, with results on less than half as many datasets as others have: {listed}.")
        return notes


def singles_notes(n_single: int, n_datasets: int) -> tuple[str, ...]:
    """Say on how many datasets results are those of single models."""
    if not n_single:
        return ()
    where = "all" if n_single == n_datasets else f"{n_single} of {n_datasets}"
    return (f"On {where} datasets our results are means of single models, since there are no ensembles.",)


def gather_field(
    run: Run,
    published: Published,
    models: Sequence[str],
    datasets: Sequence[str],
    metric: str,
    *,
    with_ours: bool = True,
    others: Collection[str] = tuple(STATE_OF_THE_ART),
) -> Field:
    """Gather results, with ours in place of the authors' where this run has them.

    Parameters
    ----------
    run, published : Run, Published
        Where results come from.
    models : sequence of str
        The models that belong to the field, the paper's or others of ours; those without any results are left out.
    datasets : sequence of str
        The datasets to look at.
    metric : str
        The result.
    with_ours : bool
        False for the published results only, on the same datasets.
    others : collection of str
        The classifiers of the state of the art that belong to the field.

    Returns
    -------
    Field
    """
    own = _covering({model: sum(run.has(name, model, metric) for name in datasets) for model in models})
    common = [name for name in datasets if all(run.has(name, model, metric) for model in own)]
    results = {name: run.alike(name, own, metric) for name in common}
    columns: dict[str, tuple[bool, list[float | None]]] = {}
    for model in models:
        is_ours = with_ours and model in own
        columns[model] = (
            is_ours,
            [
                results[name].values.get(model) if is_ours else published.ensemble(name, model, metric)
                for name in common
            ],
        )
    for classifier in others:
        columns[classifier] = (False, [published.other(name, classifier, metric) for name in common])
    counts = {name: sum(value is not None for value in values) for name, (_, values) in columns.items()}
    kept = {name: columns[name] for name in _covering(counts)}
    table = np.array([column for _, column in kept.values()], dtype=np.float64).T.reshape(len(common), len(kept))
    whole: NDArray[np.bool_] = np.isfinite(table).all(axis=1)  # type: ignore[assignment]
    shared = tuple(name for name, is_whole in zip(common, whole, strict=True) if is_whole)
    ours = tuple(is_ours for is_ours, _ in kept.values())
    of_singles = tuple(name for name in shared if any(ours) and not results[name].are_ensembles)
    left_out = tuple(name for name, count in counts.items() if count and name not in kept)
    repeats = run.experiment.get("repeats")
    n_members = repeats if isinstance(repeats, int) else PAPER_REPEATS
    return Field(tuple(kept), ours, shared, table[whole], of_singles, left_out, n_members)


def _covering(counts: Mapping[str, int]) -> list[str]:
    """Return the classifiers with results on at least half as many datasets as the one with the most.

    One that the benchmark has only just begun, or whose published results are sparse, would leave hardly any
    datasets to compare the others on.
    """
    most = max(counts.values(), default=0)
    return [name for name, count in counts.items() if count and 2 * count >= most]

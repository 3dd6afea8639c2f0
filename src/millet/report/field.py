"""The field: our models among the classifiers of the paper, on the datasets that all of them have.

In:  `Run` and `Published`.
Out: `Field`, read by `millet.report.ranking` and `millet.report.properties`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from millet.report.names import MODELS, STATE_OF_THE_ART, model_title
from millet.report.published import Published
from millet.report.rows import Run

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
    """

    classifiers: tuple[str, ...]
    ours: tuple[bool, ...]
    datasets: tuple[str, ...]
    values: NDArray[np.float64]
    of_singles: tuple[str, ...] = ()

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

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say where our results are not those of ensembles."""
        notes = singles_notes(len(self.of_singles), len(self.datasets))
        return (*notes, "The authors' published results are ensembles.") if notes and not all(self.ours) else notes


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

    Returns
    -------
    Field
    """
    own = _covering(run, models, datasets, metric)
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
    for classifier in STATE_OF_THE_ART:
        columns[classifier] = (False, [published.other(name, classifier, metric) for name in common])
    kept = {name: column for name, column in columns.items() if any(value is not None for value in column[1])}
    table = np.array([column for _, column in kept.values()], dtype=np.float64).T.reshape(len(common), len(kept))
    whole: NDArray[np.bool_] = np.isfinite(table).all(axis=1)  # type: ignore[assignment]
    shared = tuple(name for name, is_whole in zip(common, whole, strict=True) if is_whole)
    ours = tuple(is_ours for is_ours, _ in kept.values())
    of_singles = tuple(name for name in shared if any(ours) and not results[name].are_ensembles)
    return Field(tuple(kept), ours, shared, table[whole], of_singles)


def _covering(run: Run, models: Sequence[str], datasets: Sequence[str], metric: str) -> list[str]:
    """Return our models with results on at least half as many datasets as the model with the most.

    A model that the benchmark has only just begun would leave hardly any datasets to compare the others on.
    """
    counts = {model: sum(run.has(name, model, metric) for name in datasets) for model in models}
    most = max(counts.values(), default=0)
    return [model for model, count in counts.items() if count and 2 * count >= most]

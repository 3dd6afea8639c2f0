"""Progress: how much of what a run has planned is done.

In:  a run. Out: counts, for the line that every report begins with and for the page on the reproduction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from millet.report.names import OF_NETWORKS, OWN, ROCKETS
from millet.report.rows import Run


class Count(NamedTuple):
    """How many there are, and how many are planned; 0 where that is not known."""

    done: int
    planned: int

    @property
    def is_short(self) -> bool:
        """Whether some are missing."""
        return self.done < self.planned


class Progress(NamedTuple):
    """Counts of trainings, of ensembles, and of models on datasets that were explained by another method."""

    trainings: Count
    ensembles: Count
    explanations: Count


def progress_of(run: Run) -> Progress:
    """Count what a run has of its grid.

    Examples
    --------
    >>> from pathlib import Path
    >>> models = [{"name": "gap-fcn", "pooling": "gap", "ensemble": True}]
    >>> experiment = {"datasets": ["Beef"], "models": models, "repeats": 5, "methods": [{"name": "cam"}]}
    >>> [count.planned for count in progress_of(Run(Path("toy"), experiment, []))]
    [5, 1, 1]
    """
    models, methods = _tables(run, "models"), _tables(run, "methods")
    n_datasets, n_repeats = len(run.planned("datasets")), run.experiment.get("repeats")
    own = [row for row in run.done if row.method == OWN]
    n_singles = n_ensembles = n_explained = 0
    if isinstance(n_repeats, int):
        n_singles = n_datasets * len(models) * n_repeats
        n_ensembles = n_datasets * sum(bool(model.get("ensemble")) for model in models) if n_repeats > 1 else 0
        n_explained = n_datasets * sum(_explains(method, model) for method in methods for model in models)
    return Progress(
        Count(sum(not row.ensemble for row in own), n_singles),
        Count(sum(row.ensemble for row in own), n_ensembles),
        Count(len({(row.dataset, row.model, row.method) for row in run.done if row.method != OWN}), n_explained),
    )


def _tables(run: Run, what: str) -> list[Mapping[str, Any]]:
    listed = run.experiment.get(what)
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _explains(method: Mapping[str, Any], model: Mapping[str, Any]) -> bool:
    """Return whether a method other than the model's own is to explain a model, as `millet.benchmark` decides."""
    name, poolings = str(method.get("name")), method.get("poolings")
    parts = str(model.get("pooling")).split("+")
    fits = not isinstance(poolings, list) or all(pooling in poolings for pooling in parts)
    is_network = len(parts) == 1 and model.get("backbone") not in ROCKETS
    return name != OWN and fits and (is_network or name not in OF_NETWORKS)

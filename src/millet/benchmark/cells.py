"""Cells, what one worker does at a time: train and evaluate one model on one dataset once, or one ensemble."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from millet.benchmark.experiment import Experiment
from millet.benchmark.models import MethodSpec, ModelSpec, parse_models
from millet.benchmark.rows import RowKey
from millet.benchmark.sources import DataSpec
from millet.errors import MilletError, lookup

ENSEMBLE = -1


@dataclass(frozen=True)
class Cell:
    """One dataset, model and repeat; its methods are those whose rows are wanted.

    Attributes
    ----------
    data : DataSpec
    model : ModelSpec
    repeat : int
        Counted from 0; -1 is the ensemble of all repeats.
    methods : tuple of MethodSpec
    """

    data: DataSpec
    model: ModelSpec
    repeat: int
    methods: tuple[MethodSpec, ...]

    @property
    def is_ensemble(self) -> bool:
        """Whether this is the ensemble of all repeats."""
        return self.repeat == ENSEMBLE

    @property
    def place(self) -> Path:
        """Where its files are inside the folders of a run."""
        return Path(self.data.name, self.model.name, "ensemble" if self.is_ensemble else str(self.repeat))

    @property
    def title(self) -> str:
        """What to call it."""
        return f"{self.data.name} {self.model.name} {'ensemble' if self.is_ensemble else self.repeat}"

    @property
    def keys(self) -> list[RowKey]:
        """The keys of its rows."""
        return [(self.data.name, self.model.name, self.repeat, method.name) for method in self.methods]


def all_cells(experiment: Experiment) -> list[Cell]:
    """Return every cell of an experiment, each ensemble after its members."""
    cells = []
    for data in experiment.datasets:
        for model in experiment.models:
            repeats = [*range(experiment.repeats), *([ENSEMBLE] if model.ensemble else [])]
            for repeat in repeats:
                methods = tuple(m for m in experiment.methods if m.applies_to(model, repeat))
                cells.append(Cell(data, model, repeat, methods))
    return cells


def ensembles_of(members: Iterable[Cell], cells: Iterable[Cell]) -> list[Cell]:
    """Return the ensembles, among all cells, to which any of some cells belong."""
    pairs = {(cell.data.name, cell.model.name) for cell in members}
    return [cell for cell in cells if cell.is_ensemble and (cell.data.name, cell.model.name) in pairs]


def chosen(cells: Iterable[Cell], only: Collection[str], repeats: int | None) -> list[Cell]:
    """Return the cells of some datasets and models, and of the first repeats only.

    Parameters
    ----------
    cells : iterable of Cell
    only : collection of str
        Names of datasets, of models, or of both; empty for all. A cell must have one of the datasets, if any is
        named, and one of the models, if any is.
    repeats : int, optional
        How many repeats; ensembles, which need them all, are left for later. None for all, and ensembles.

    Raises
    ------
    UnknownNameError
        If a name is neither a dataset's nor a model's.
    """
    cells = list(cells)
    datasets, models = {cell.data.name for cell in cells}, {cell.model.name for cell in cells}
    only = [name if name in datasets else _full_name(name, models) for name in only]
    for name in only:
        lookup("dataset or model", name, dict.fromkeys([*sorted(datasets), *sorted(models)]))
    wanted_datasets, wanted_models = datasets & set(only) or datasets, models & set(only) or models
    return [
        cell
        for cell in cells
        if cell.data.name in wanted_datasets
        and cell.model.name in wanted_models
        and (repeats is None or 0 <= cell.repeat < repeats)
    ]


def _full_name(name: str, models: Collection[str]) -> str:
    """Return the full name of a model that has a shorter one too, such as "lite"; any other name as given."""
    try:
        (full,) = (spec.name for spec in parse_models([name], repeats=1))
    except MilletError:
        return name
    return full if full in models else name


def outstanding(cells: Iterable[Cell], present: Collection[RowKey]) -> list[Cell]:
    """Return the cells that lack some of their rows, with the methods of just these rows."""
    left = []
    for cell in cells:
        methods = tuple(m for m, key in zip(cell.methods, cell.keys, strict=True) if key not in present)
        if methods:
            left.append(replace(cell, methods=methods))
    return left

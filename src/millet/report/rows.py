"""Rows: what a benchmark wrote, read back.

In:  a run folder: ``run.json`` (the experiment) and ``rows.jsonl`` (one cell of the grid per line).
Out: `Run`, which serves the tables of `millet.report`. Unknown keys are left alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, final

from millet.errors import DatasetFormatError, DatasetNotFoundError
from millet.jsonl import REMEDY, finite, read_lines, refuse_repeated
from millet.report.names import OWN, has_networks


@dataclass(frozen=True)
class Row:
    """One cell of the grid: a model on a dataset, one repeat or the ensemble of all, one way to explain it.

    Attributes
    ----------
    dataset, model : str
        Such as "GunPoint" and "conjunctive-inceptiontime".
    repeat : int
        The number of the repeat; -1 for an ensemble.
    ensemble : bool
        Whether it is the ensemble of all repeats.
    method : str
        How it was explained; "own" for the model's own way.
    failed : bool
        Whether there is an error instead of results.
    error : str
        What went wrong.
    content : dict
        Everything the line held.
    """

    dataset: str
    model: str
    repeat: int
    ensemble: bool
    method: str
    failed: bool
    error: str
    content: dict[str, Any] = field(repr=False)

    @property
    def recipe(self) -> str:
        """The recipe its networks were trained by; empty where none is known or there are no networks."""
        backbone = str(self.content.get("backbone") or self.model)
        return str(self.content.get("recipe") or "") if has_networks(backbone) else ""

    def number(self, key: str) -> float | None:
        """Return a finite number that the row holds, or None."""
        return finite(self.content.get(key))

    def core_seconds(self, kind: str) -> float | None:
        """Return the processor time of "train", "inference", "explain" or "evaluate"; see `core_seconds`."""
        return core_seconds(self.content, kind)


def core_seconds(content: Mapping[str, Any], kind: str) -> float | None:
    """Return the processor time in a row; in rows without it, the clock's, once for each thread.

    Examples
    --------
    >>> core_seconds({"train_seconds": 9.0, "train_core_seconds": 4.0}, "train")
    4.0
    >>> core_seconds({"train_seconds": 9.0, "machine": {"n_threads": 2}}, "train")
    18.0
    """
    known = finite(content.get(f"{kind}_core_seconds"))
    if known is not None:
        return known
    machine, by_the_clock = content.get("machine"), finite(content.get(f"{kind}_seconds"))
    n_threads = finite(machine.get("n_threads", 1)) if isinstance(machine, dict) else 1
    return None if by_the_clock is None or n_threads is None else by_the_clock * n_threads


class Alike(NamedTuple):
    """Results by model: either all of ensembles, or all means of single models."""

    values: dict[str, float]
    are_ensembles: bool


class Beside(NamedTuple):
    """Means of a method and of the models' own evidence, and whether both are for the same cases."""

    method: float
    own: float
    are_same_cases: bool


@final
class Run:
    """The rows of one experiment.

    Parameters
    ----------
    folder : Path
        Where they came from.
    experiment : dict
        The content of ``run.json``.
    rows : iterable of Row
        In the order they were written.
    notes : sequence of str
        What was odd about the files.
    """

    def __init__(
        self, folder: Path, experiment: dict[str, Any], rows: Iterable[Row], notes: Iterable[str] = ()
    ) -> None:
        self.folder = folder
        self.experiment = experiment
        self.notes = tuple(notes)
        self._rows = tuple(rows)

    @property
    def name(self) -> str:
        """The experiment's name."""
        return str(self.experiment.get("name") or self.folder.name)

    @cached_property
    def done(self) -> tuple[Row, ...]:
        """Rows with results."""
        return tuple(row for row in self._rows if not row.failed)

    @cached_property
    def failed(self) -> tuple[Row, ...]:
        """Rows with an error instead."""
        return tuple(row for row in self._rows if row.failed)

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """Datasets with at least one result, sorted."""
        return tuple(sorted({row.dataset for row in self.done}, key=str.casefold))

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Models with at least one result, in the experiment's order."""
        found = dict.fromkeys(row.model for row in self.done)
        planned = self.planned("models")
        return tuple(sorted(found, key=lambda model: planned.index(model) if model in planned else len(planned)))

    def lacks_ensembles(self, datasets: Sequence[str], metric: str) -> bool:
        """Return whether the repeats of some model are not, or not yet, combined on some of the datasets."""
        cells = [(dataset, model) for dataset in datasets for model in self.models]
        return any(self.runs(*cell, metric) and self.ensemble(*cell, metric) is None for cell in cells)

    def planned(self, what: str) -> tuple[str, ...]:
        """Return the names in the experiment's "datasets" or "models"; empty where it has no such list."""
        names = self.experiment.get(what)
        if not isinstance(names, list):
            return ()
        return tuple(str(name.get("name", "")) if isinstance(name, dict) else str(name) for name in names)

    def find(self, dataset: str, model: str, *, ensemble: bool, method: str = OWN) -> tuple[Row, ...]:
        """Return the rows of one model on one dataset: its repeats, or its ensemble."""
        return self._cells.get((dataset, model, ensemble, method), ())

    def runs(self, dataset: str, model: str, metric: str, method: str = OWN) -> tuple[float, ...]:
        """Return the results of the single repeats."""
        numbers = (row.number(metric) for row in self.find(dataset, model, ensemble=False, method=method))
        return tuple(number for number in numbers if number is not None)

    def single(self, dataset: str, model: str, metric: str, method: str = OWN) -> float | None:
        """Return the mean of the single repeats, or None."""
        runs = self.runs(dataset, model, metric, method)
        return sum(runs) / len(runs) if runs else None

    def beside_own(self, dataset: str, model: str, metric: str, method: str) -> Beside | None:
        """Return what a method and the models' own evidence reach, repeat by repeat, on average."""
        found = []
        for row in self.find(dataset, model, ensemble=False, method=method):
            theirs, (own, is_same) = row.number(metric), self.own_beside(row, metric)
            if theirs is not None and own is not None:
                found.append(Beside(theirs, own, is_same))
        if not found:
            return None
        methods, owns, are_same = zip(*found, strict=True)
        return Beside(fmean(methods), fmean(owns), all(are_same))

    def own_beside(self, row: Row, metric: str) -> tuple[float | None, bool]:
        """Return what the own evidence of a row's model reaches, and whether that is for the row's cases.

        The row of a method that explained only some of the cases has it; else the model's own row does.
        """
        own = row.number(f"{OWN}_{metric}")
        if own is not None:
            return own, True
        for other in self.find(row.dataset, row.model, ensemble=row.ensemble):
            if other.repeat == row.repeat:
                return other.number(metric), other.number("n_cases") == row.number("n_cases")
        return None, False

    def ensemble(self, dataset: str, model: str, metric: str, method: str = OWN) -> float | None:
        """Return the result of the ensemble, or None."""
        rows = self.find(dataset, model, ensemble=True, method=method)
        return rows[-1].number(metric) if rows else None

    def alike(self, dataset: str, models: Sequence[str], metric: str, method: str = OWN) -> Alike:
        """Return results that can be compared: of ensembles where all models have one, else of single models.

        Models without any result are left out.
        """
        known = [model for model in models if self.has(dataset, model, metric, method)]
        ensembles = {model: self.ensemble(dataset, model, metric, method) for model in known}
        are_ensembles = bool(known) and None not in ensembles.values()
        found = (
            ensembles if are_ensembles else {model: self.single(dataset, model, metric, method) for model in known}
        )
        return Alike({model: value for model, value in found.items() if value is not None}, are_ensembles)

    def has(self, dataset: str, model: str, metric: str, method: str = OWN) -> bool:
        """Return whether there is any result, of single repeats or of their ensemble."""
        cell = dataset, model, metric, method
        return bool(self.runs(*cell)) or self.ensemble(*cell) is not None

    @cached_property
    def _cells(self) -> dict[tuple[str, str, bool, str], tuple[Row, ...]]:
        cells: dict[tuple[str, str, bool, str], tuple[Row, ...]] = {}
        for row in sorted(self.done, key=lambda row: row.repeat):
            key = (row.dataset, row.model, row.ensemble, row.method)
            cells[key] = (*cells.get(key, ()), row)
        return cells


def read_run(folder: str | os.PathLike[str]) -> Run:
    """Read the rows of a benchmark.

    Parameters
    ----------
    folder : path-like
        With ``run.json`` and ``rows.jsonl``.

    Returns
    -------
    Run

    Raises
    ------
    DatasetNotFoundError
        If one of the files is not there.
    DatasetFormatError
        If a file has another content, or two rows are about the same cell and method. An incomplete last line, as a
        killed process leaves it, is left out and noted.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "run.json").write_text('{"name": "toy"}')
    >>> _ = (folder / "rows.jsonl").write_text('{"dataset": "Beef", "model": "gap-fcn", "accuracy": 0.75}')
    >>> read_run(folder).single("Beef", "gap-fcn", "accuracy")
    0.75
    """
    path = Path(folder)
    experiment = _read_experiment(path / "run.json")
    rows_path = path / "rows.jsonl"
    if not rows_path.is_file():
        raise DatasetNotFoundError(
            f"{path} holds no rows.jsonl: no cell of the run has been finished yet. Wait for the first where it is "
            "under way; else run: millet benchmark"
        )
    lines = read_lines(rows_path)
    rows = [_parse(content, rows_path, number) for number, content in lines.objects]
    numbers = [number for number, _ in lines.objects]
    keys = [(row.dataset, row.model, row.repeat, row.method) for row in rows]
    refuse_repeated(rows_path, zip(numbers, keys, strict=True))
    notes = (
        ()
        if lines.torn is None
        else (f"The last line of rows.jsonl (line {lines.torn}) is cut off and was left out.",)
    )
    return Run(path, experiment, rows, notes)


def _read_experiment(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise DatasetNotFoundError(f"{path.parent} is no run folder: it holds no run.json. Run: millet benchmark")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DatasetFormatError(path, f"expected JSON; {error}.") from error
    if not isinstance(content, dict):
        raise DatasetFormatError(path, f"expected a JSON object; got a {type(content).__name__}.")
    return content


def _parse(content: dict[str, Any], path: Path, number: int) -> Row:
    dataset = content.get("dataset")
    model = content.get("model") or f"{content.get('pooling')}-{content.get('backbone')}"
    if not isinstance(dataset, str) or not isinstance(model, str):
        raise DatasetFormatError(path, f"expected the names of a dataset and a model. {REMEDY}", number)
    repeat = content.get("repeat", 0)
    if isinstance(repeat, bool) or not isinstance(repeat, int):
        raise DatasetFormatError(path, f"expected the number of a repeat; got {repeat!r}. {REMEDY}", number)
    return Row(
        dataset=dataset,
        model=model,
        repeat=repeat,
        ensemble=bool(content.get("ensemble", repeat < 0)),
        method=str(content.get("method") or OWN),
        failed=content.get("status", "done") != "done",
        error=str(content.get("error") or ""),
        content=content,
    )

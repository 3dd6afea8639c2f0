"""Jobs: a cell with everything a worker needs to run it, and what its rows say besides the measurements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from millet.benchmark.cells import Cell
from millet.benchmark.provenance import PeakMemory, commit, machine, versions
from millet.benchmark.rows import Row
from millet.training import Recipe


class Fingerprints(NamedTuple):
    """Fingerprints of the training and the test cases of a dataset; None where nothing is known of them."""

    training: str | None = None
    test: str | None = None

    @classmethod
    def of(cls, row: Row) -> Fingerprints:
        """Return those that a row records; earlier versions did not record that of the test cases."""
        found = (row.get("data_fingerprint"), row.get("test_fingerprint"))
        return cls(*(value if isinstance(value, str) else None for value in found))

    def differing(self, other: Fingerprints) -> str:
        """Return which cases are known to differ: "training", "test", or "" for none.

        Examples
        --------
        >>> here = Fingerprints("a", "c")
        >>> Fingerprints("a", "b").differing(here), Fingerprints("a").differing(here)
        ('test', '')
        """
        for which, mine, others in zip(self._fields, self, other, strict=True):
            if None not in (mine, others) and mine != others:
                return which
        return ""

    def or_those_of(self, other: Fingerprints) -> Fingerprints:
        """Return these, completed by the other ones where nothing is known."""
        return Fingerprints(self.training or other.training, self.test or other.test)


UNKNOWN = Fingerprints()


@dataclass(frozen=True)
class Job:
    """A cell and everything a worker needs to run it.

    Attributes
    ----------
    cell : Cell
    n_members : int
        Repeats that an ensemble consists of.
    seed : int
        The seed of repeat 0.
    recipe_name, recipe : str, Recipe
    metrics : tuple of str
    folder : Path
        The run folder.
    path : Path, optional
        Folder with datasets.
    n_threads : int, optional
        Threads to compute with; None leaves that to the worker.
    owner : int, optional
        The process that started the worker; the worker ends when that one has ended.
    call : str
        Which call of `run_benchmark` it belongs to: what a worker read for another one may have changed since.
    examples : int
        Test cases of each class to keep for pictures.
    fingerprints : Fingerprints
        Those of the cases behind other rows of this dataset.
    """

    cell: Cell
    n_members: int
    seed: int
    recipe_name: str
    recipe: Recipe
    metrics: tuple[str, ...]
    folder: Path
    path: Path | None
    n_threads: int | None = None
    owner: int | None = None
    call: str = ""
    examples: int = 0
    fingerprints: Fingerprints = UNKNOWN

    @property
    def checkpoints(self) -> Path:
        """Where an unfinished training is kept."""
        return self.folder / "cells" / self.cell.place

    @property
    def kept(self) -> Path:
        """Where rows are kept until the cell is done."""
        return self.checkpoints / "rows"

    @property
    def model_folder(self) -> Path:
        """Where the trained model is kept."""
        return self.folder / "models" / self.cell.place

    def of_member(self, repeat: int) -> Job:
        """Return the job that trains a member of an ensemble."""
        return replace(self, cell=replace(self.cell, repeat=repeat))


def identity(job: Job, method: str) -> Row:
    """Return what a row says about its cell."""
    cell = job.cell
    return {
        "dataset": cell.data.name,
        "model": cell.model.name,
        "backbone": cell.model.backbone,
        "pooling": cell.model.pooling,
        "settings": cell.model.settings,
        "repeat": cell.repeat,
        "ensemble": cell.is_ensemble,
        "method": method,
        "seed": None if cell.is_ensemble else job.seed + cell.repeat,
        "recipe": job.recipe_name,
    }


def other_cases(dataset: str, which: str = "training") -> str:
    """Return what to say where the training or the test cases are not those of other rows."""
    return (
        f"The {which} cases of {dataset} are not those of its other rows in this run: the dataset has changed "
        "since, or --path leads to another one of this name. Choose another folder with --out, or remove the rows "
        f"and models of {dataset} from this one."
    )


def provenance() -> Row:
    """Return what a row says about the machine and the code."""
    return {
        "peak_memory_mb": PeakMemory.read(),
        "versions": versions(),
        "commit": commit(),
        "machine": machine(),
    }


def failure_row(job: Job, method: str, error: str, seconds: float, trace: str = "") -> Row:
    """Return the row of something that failed after `seconds`."""
    return {
        **identity(job, method),
        "status": "failed",
        "error": error,
        "traceback": trace,
        "cell_seconds": round(seconds, 3),
        **provenance(),
    }

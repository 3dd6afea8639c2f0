"""The runner: an experiment and a folder in, all of its rows in that folder out, however often it is interrupted.

Only this process writes. Workers train and measure; what they return is appended as it comes.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Collection, Iterable
from functools import partial
from os import PathLike
from pathlib import Path
from typing import NamedTuple, final

from millet.benchmark.backends import Pool, WorkerLostError, check_place, open_pool
from millet.benchmark.cells import Cell, all_cells, chosen, ensembles_of, outstanding
from millet.benchmark.costs import Costs
from millet.benchmark.experiment import Experiment
from millet.benchmark.folder import open_run
from millet.benchmark.grid import GivenUp, Grid
from millet.benchmark.job import UNKNOWN, Fingerprints, Job, failure_row, other_cases
from millet.benchmark.provenance import commit, versions
from millet.benchmark.rows import Row, RowsFile, kept_rows, key_of
from millet.benchmark.status import StatusLine, read_note
from millet.benchmark.times import in_words
from millet.benchmark.work import CellResult
from millet.checks import integer
from millet.errors import StorageError
from millet.tables import counted

Say = Callable[[str], None]

# How many of the cells under way are named on a terminal.
CELLS_SHOWN = 3


class Outcome(NamedTuple):
    """What became of a grid.

    Attributes
    ----------
    n_cells : int
        Cells of the grid, ensembles included.
    n_run : int
        Cells that this call has run.
    failed : list of dict
        The rows of everything that failed, now or earlier.
    warned : list of dict
        The rows that come with warnings, now or earlier.
    """

    n_cells: int
    n_run: int
    failed: list[Row]
    warned: list[Row]


def run_benchmark(
    experiment: Experiment,
    out: str | PathLike[str],
    *,
    path: str | PathLike[str] | None = None,
    n_jobs: int = -1,
    backend: str = "loky",
    scheduler: str | None = None,
    retry_failed: bool = False,
    only: Collection[str] = (),
    repeats: int | None = None,
    say: Say = lambda _: None,
) -> Outcome:
    """Run what is left of a grid.

    Parameters
    ----------
    experiment : Experiment
    out : path-like
        The run folder: new, or that of an earlier call, to continue it. On a cluster, all workers must see it.
    path : path-like, optional
        Folder with datasets, as for `millet.load_dataset`.
    n_jobs : int, default=-1
        Cells at a time; -1 is one per core, or all workers of a cluster.
    backend : {"loky", "dask", "ray"}
        Where cells run: processes on this machine, or a cluster.
    scheduler : str, optional
        The address of the cluster.
    retry_failed : bool, default=False
        Forget rows of failures among the cells to be run this time, so that these are run again.
    only : collection of str, default=()
        Names of datasets and models to run this time; all by default. What is left out can be run later.
    repeats : int, optional
        Run this many repeats of each model this time, and no ensembles.
    say : callable
        Called with a line when the work begins, and whenever a cell is done. On a terminal, another line shows what
        is under way.

    Returns
    -------
    Outcome

    Raises
    ------
    StorageError
        If the folder belongs to another run, is in use, or can't be written to; the rows so far are kept.

    Examples
    --------
    >>> import tempfile
    >>> from millet.benchmark import load_experiment, read_rows
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "toy.toml").write_text('''
    ... name = "toy"
    ... datasets = [{ name = "Tiny", n_cases_per_class = 2, classes = ["None", "Peak"], sampling_interval = 240 }]
    ... models = [{ backbones = ["fcn"], poolings = ["conjunctive"] }]
    ... training = { n_epochs = 1 }
    ... metrics = ["accuracy"]
    ... tiers = { smoke = {} }
    ... ''')
    >>> run_benchmark(load_experiment(folder / "toy.toml"), folder / "run", n_jobs=1).n_run
    1
    >>> [row["status"] for row in read_rows(folder / "run")]
    ['done']
    """
    if repeats is not None:
        integer("repeats", repeats, at_least=1)
    check_place(backend, n_jobs, scheduler)
    cells = all_cells(experiment)
    now = chosen(cells, only, repeats)
    folder = Path(out).absolute()
    data = None if path is None else Path(path).absolute()
    with open_run(folder, experiment) as rows:
        if retry_failed:
            again = {key for cell in [*now, *ensembles_of(now, cells)] for key in cell.keys}
            rows.discard(lambda row: row["status"] == "failed" and key_of(row) in again)
        left = outstanding(now, {key_of(row) for row in rows.rows})
        if left:
            with open_pool(backend, n_jobs, len(left), scheduler) as pool:
                _Run(experiment, folder, data, rows, pool, left, say).run()
        failed = [row for row in rows.rows if row["status"] == "failed"]
        if not failed and not outstanding(cells, {key_of(row) for row in rows.rows}):
            shutil.rmtree(folder / "cells", ignore_errors=True)
    return Outcome(len(cells), len(left), failed, [row for row in rows.rows if row.get("warnings")])


@final
class _Run:
    """One call's work on a grid."""

    def __init__(
        self,
        experiment: Experiment,
        folder: Path,
        path: Path | None,
        rows: RowsFile,
        pool: Pool,
        left: list[Cell],
        say: Say,
    ) -> None:
        self._experiment, self._folder, self._path = experiment, folder, path
        self._rows, self._pool = rows, pool
        self._status = StatusLine(self._under_way)
        self._say = partial(self._status.say, say)
        costs = Costs(experiment, path, rows.rows, folder)
        self._grid = Grid(left, rows.rows, experiment.repeats, costs.seconds)
        self._n_left = len(left)
        self._n_done = 0
        self._call = uuid.uuid4().hex
        self._fingerprints: dict[str, Fingerprints] = {}
        self._note_fingerprints(rows.rows)
        # Only for cells that succeeded: others took less or more than their estimates for reasons of their own.
        self._estimated = self._taken = 0.0

    def run(self) -> None:
        cells, workers = counted(self._n_left, "cell"), counted(self._pool.n_workers, "worker")
        self._say(f"{cells} to run with {workers}, about {in_words(self._seconds_left(1.0))} by estimate")
        here, rows = (commit(), versions()), self._rows.rows
        if others := sum((row.get("commit"), row.get("versions")) != here for row in rows):
            self._say(f"Rows so far that come from another commit or other versions: {others} of {len(rows)}")
        with self._status:
            self._give_up(self._grid.hopeless())
            # More than one round if workers died, or results made ensembles possible that a cluster did not ask for.
            while self._grid.has_work:
                self._run_round()

    def _run_round(self) -> None:
        try:
            for result in self._pool.stream(lambda: map(self._job, self._grid.take())):
                self._store(result)
        except WorkerLostError as error:
            culprit = None if error.job is None else error.job.cell
            again = "one at a time" if culprit is None else f"{culprit.title}, at which it died, last"
            self._say(f"A worker died; the cells that were under way are tried again, {again}.")
            self._give_up(self._grid.lose(culprit))
            # A member that was given up may have been the last one that an ensemble was waiting for.
            self._give_up(self._grid.hopeless())

    def _job(self, cell: Cell) -> Job:
        experiment, pool = self._experiment, self._pool
        return Job(
            cell=cell,
            n_members=experiment.repeats,
            seed=experiment.seed,
            recipe_name=experiment.recipe_name,
            recipe=experiment.recipe,
            metrics=experiment.metrics,
            folder=self._folder,
            path=self._path,
            n_threads=pool.n_threads,
            owner=pool.owner,
            call=self._call,
            examples=experiment.examples,
            fingerprints=self._fingerprints.get(cell.data.name, UNKNOWN),
        )

    def _note_fingerprints(self, rows: Iterable[Row]) -> None:
        """Remember which cases the rows of a dataset come from, so that no others join them."""
        for row in rows:
            if row["status"] == "done":
                known = self._fingerprints.get(row["dataset"], UNKNOWN)
                self._fingerprints[row["dataset"]] = known.or_those_of(Fingerprints.of(row))

    def _of_the_same_cases(self, cell: Cell, row: Row, seconds: float) -> Row:
        """Return a row, or a failure if its cases differ, as those of a worker on another machine may."""
        known = self._fingerprints.get(row["dataset"], UNKNOWN)
        which = known.differing(Fingerprints.of(row))
        if row["status"] == "failed" or not which:
            return row
        return failure_row(self._job(cell), row["method"], other_cases(row["dataset"], which), seconds)

    def _store(self, result: CellResult) -> None:
        if result.fatal:
            self._append(result.cell, result.rows)
            raise StorageError(
                f"{result.cell.title} could not be run: {result.fatal}. The rows so far are kept. Make room, then "
                "run the same command to go on."
            )
        self._record(result.cell, result.rows, result.seconds)
        self._give_up(self._grid.hopeless())

    def _record(self, cell: Cell, rows: list[Row], seconds: float) -> None:
        rows = [self._of_the_same_cases(cell, row, seconds) for row in rows]
        self._append(cell, rows)
        self._note_fingerprints(rows)
        self._grid.finish(cell, rows)
        self._n_done += 1
        if all(row["status"] == "done" for row in rows):
            self._estimated += self._grid.cost[cell.place]
            self._taken += max(seconds, _seconds_in_all(rows))
        self._say(
            f"[{self._n_done}/{self._n_left}] {cell.title}: {_news(rows)}, {in_words(seconds)}{self._time_left()}"
        )

    def _append(self, cell: Cell, rows: list[Row]) -> None:
        self._rows.append(rows)
        shutil.rmtree(self._job(cell).kept, ignore_errors=True)

    def _give_up(self, cells: list[GivenUp]) -> None:
        for cell, why, seconds in cells:
            job = self._job(cell)
            kept = kept_rows(job.kept)
            rows = [kept.get(m.name) or failure_row(job, m.name, f"Not run: {why}", seconds) for m in cell.methods]
            self._record(cell, rows, seconds)

    def _time_left(self) -> str:
        """Estimate from how long the cells so far really took; the estimates themselves only compare cells."""
        if not self._estimated or self._n_done == self._n_left:
            return ""
        return f"; about {in_words(self._seconds_left(self._taken / self._estimated))} left"

    def _seconds_left(self, pace: float) -> float:
        n_at_a_time = max(1, min(self._pool.n_workers, self._n_left - self._n_done))
        return self._grid.seconds_left(pace) / n_at_a_time

    def _under_way(self) -> str:
        """Say what workers are doing, and until when; on narrow terminals the end is cut off."""
        cells = self._grid.under_way
        named = [
            " ".join([cell.title, read_note(self._job(cell).checkpoints)]).strip() for cell in cells[:CELLS_SHOWN]
        ]
        more = [f"{len(cells) - CELLS_SHOWN} more"] if len(cells) > CELLS_SHOWN else []
        pace = self._taken / self._estimated if self._estimated else 1.0
        left = f"about {in_words(self._seconds_left(pace))} left"
        return f"[{self._n_done}/{self._n_left}] {left}: {', '.join(named + more)}"


def _seconds_in_all(rows: list[Row]) -> float:
    """Return how long a cell took, including what an interrupted call did of it."""
    training = max((float(row.get("train_seconds") or 0) for row in rows if not row["ensemble"]), default=0.0)
    kinds = ("inference", "explain", "evaluate")
    return training + sum(float(row.get(f"{kind}_seconds") or 0) for row in rows for kind in kinds)


def _news(rows: list[Row]) -> str:
    """Return what a cell's line says about its rows: what went wrong, or how well it did."""
    failed = [row["error"] for row in rows if row["status"] == "failed"]
    n_warnings = len({text for row in rows for text in row.get("warnings", ())})
    known = [row["accuracy"] for row in rows if row.get("accuracy") is not None]
    good = f"accuracy {known[0]:.3f}" if known else "done"
    warned = [counted(n_warnings, "warning")] if n_warnings else []
    return ", ".join([(failed[0] if failed else good).rstrip("."), *warned])

"""Plans: what a grid, or what is left of it, would cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from os import PathLike
from pathlib import Path

from millet.benchmark.cells import Cell, all_cells, chosen, outstanding
from millet.benchmark.costs import Costs
from millet.benchmark.experiment import Experiment, load_experiment, tiers_of
from millet.benchmark.folder import rows_so_far
from millet.benchmark.rows import Row, key_of
from millet.benchmark.times import in_words
from millet.tables import counted, format_table


def describe_plan(
    file: str | PathLike[str],
    tier: str,
    path: str | PathLike[str] | None = None,
    n_workers: int = 1,
    *,
    out: str | PathLike[str] | None = None,
    only: Collection[str] = (),
    repeats: int | None = None,
    retry_failed: bool = False,
) -> str:
    """Return the cells of an experiment and what they are estimated to cost on one core of this machine.

    Parameters
    ----------
    file : path-like
        An experiment file.
    tier : str
        The tier to show model by model; without `out`, `only` and `repeats`, the totals of all tiers are shown too.
    path : path-like, optional
        Folder with datasets.
    n_workers : int, default=1
        Cells at a time, to divide the hours by.
    out : path-like, optional
        A run folder. Only what it does not have yet is shown, and its rows show how fast each backbone is.
    only, repeats, retry_failed
        The part of the grid to show, as for `run_benchmark`.

    Raises
    ------
    StorageError
        If the folder belongs to another run.
    """
    experiment = load_experiment(file, tier, path)  # refuses what a run would
    is_of_a_part = out is not None or bool(only) or repeats is not None
    rows = [] if out is None else rows_so_far(Path(out), experiment)
    plans = []
    for name in [tier] if is_of_a_part else tiers_of(file):
        planned = load_experiment(file, name, path)
        present = {key_of(row) for row in rows if not (retry_failed and row["status"] == "failed")}
        cells = outstanding(chosen(all_cells(planned), only, repeats), present)
        costs = Costs(planned, None if path is None else Path(path), rows, None if out is None else Path(out))
        plans.append((planned, costs, cells))
    header = ["tier", "trainings", "ensembles", "core hours", "longest cell", f"with {counted(n_workers, 'worker')}"]
    totals = format_table(header, [_total(*plan, n_workers) for plan in plans], right=header[1:])
    details = next(_by_model(*plan) for plan in plans if plan[0].tier == tier)
    return "\n\n".join([totals, *_progress(experiment, rows), details])


def _total(experiment: Experiment, costs: Costs, cells: Sequence[Cell], n_workers: int) -> list[object]:
    seconds = sum(costs.seconds(cell) for cell in cells)
    n_ensembles = sum(cell.is_ensemble for cell in cells)
    longest = max((costs.seconds(cell) for cell in cells), default=0.0)
    # No cell is split, so no number of workers takes less than the longest one.
    wall = max(longest, seconds / n_workers)
    n_trainings = len(cells) - n_ensembles
    return [experiment.tier, n_trainings, n_ensembles, _hours(seconds), in_words(longest), in_words(wall)]


def _progress(experiment: Experiment, rows: Sequence[Row]) -> list[str]:
    """Say how much of its grid a run has, if any."""
    if not rows:
        return []
    cells = all_cells(experiment)
    n_left = len(outstanding(cells, {key_of(row) for row in rows}))
    n_failed = len({key_of(row)[:3] for row in rows if row["status"] == "failed"})
    failed = f", {n_failed} of them failed (--retry-failed runs them again)" if n_failed else ""
    return [f"The folder has {len(cells) - n_left} of {counted(len(cells), 'cell')} of the whole grid{failed}"]


def _by_model(experiment: Experiment, costs: Costs, cells: Sequence[Cell]) -> str:
    n_cells: dict[str, int] = defaultdict(int)
    seconds: dict[str, float] = defaultdict(float)
    for cell in cells:
        n_cells[cell.model.name] += 1
        seconds[cell.model.name] += costs.seconds(cell)
    rows = [[name, n_cells[name], in_words(seconds[name] / n_cells[name]), _hours(seconds[name])] for name in n_cells]
    factors = {"dataset": len(experiment.datasets), "model": len(experiment.models), "repeat": experiment.repeats}
    sizes = "The whole grid: " + " x ".join(counted(number, word) for word, number in factors.items())
    header = [experiment.tier, "cells", "mean cell", "core hours"]
    parts = [f"{sizes}; recipe: {experiment.recipe_name}"]
    parts += [format_table(header, rows, right=header[1:])] if rows else ["Nothing is left to run."]
    absent = [name for name in costs.absent if name in {cell.data.name for cell in cells}]
    parts += [f"Not here or not readable, so their size is a guess: {', '.join(absent)}"] if absent else []
    return "\n\n".join(parts)


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2f}" if seconds < 36000 else f"{seconds / 3600:.0f}"

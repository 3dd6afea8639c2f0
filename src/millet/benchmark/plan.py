"""Plans: what a grid would cost, before it is run."""

from __future__ import annotations

from collections import defaultdict
from os import PathLike
from pathlib import Path

from millet.benchmark.cells import all_cells
from millet.benchmark.costs import Costs
from millet.benchmark.experiment import Experiment, load_experiment, tiers_of
from millet.benchmark.times import counted, in_words
from millet.tables import format_table


def describe_plan(
    file: str | PathLike[str], tier: str, path: str | PathLike[str] | None = None, n_workers: int = 1
) -> str:
    """Return the cells of an experiment and what they are estimated to cost on one core of this machine.

    Parameters
    ----------
    file : path-like
        An experiment file.
    tier : str
        The tier to show model by model; all tiers are shown in sum.
    path : path-like, optional
        Folder with datasets.
    n_workers : int, default=1
        Cells at a time, to divide the hours by.
    """
    load_experiment(file, tier, path)  # refuses what a run would
    data = None if path is None else Path(path)
    totals: list[list[object]] = []
    details = ""
    for name in tiers_of(file):
        experiment = load_experiment(file, name, path)
        costs = Costs(experiment, data)
        cells = all_cells(experiment)
        seconds = sum(costs.seconds(cell) for cell in cells)
        n_ensembles = sum(cell.is_ensemble for cell in cells)
        longest = max(costs.seconds(cell) for cell in cells)
        # No cell is split, so the longest is the least that any number of workers takes.
        wall = max(longest, seconds / n_workers)
        row = [name, len(cells) - n_ensembles, n_ensembles, _hours(seconds), in_words(longest), in_words(wall)]
        totals.append(row)
        if name == tier:
            details = _by_model(experiment, costs) + _absent(costs)
    header = ["tier", "trainings", "ensembles", "core hours", "longest cell", f"with {counted(n_workers, 'worker')}"]
    return f"{format_table(header, totals, right=header[1:])}\n\n{details}"


def _by_model(experiment: Experiment, costs: Costs) -> str:
    n_cells: dict[str, int] = defaultdict(int)
    seconds: dict[str, float] = defaultdict(float)
    for cell in all_cells(experiment):
        n_cells[cell.model.name] += 1
        seconds[cell.model.name] += costs.seconds(cell)
    rows = [[name, n_cells[name], in_words(seconds[name] / n_cells[name]), _hours(seconds[name])] for name in n_cells]
    factors = {"dataset": len(experiment.datasets), "model": len(experiment.models), "repeat": experiment.repeats}
    sizes = " x ".join(counted(number, word) for word, number in factors.items())
    header = [experiment.tier, "cells", "mean cell", "core hours"]
    return f"{sizes}; recipe: {experiment.recipe_name}\n\n{format_table(header, rows, right=header[1:])}"


def _absent(costs: Costs) -> str:
    if not costs.absent:
        return ""
    return f"\n\nNot here, so their size is a guess: {', '.join(costs.absent)}"


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2f}" if seconds < 36000 else f"{seconds / 3600:.0f}"

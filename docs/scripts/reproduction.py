"""Write ``docs/reproduction.md`` from the runs in ``results``: ``python docs/scripts/reproduction.py``.

Per-dataset results of the paper's authors and of the bake-off are read where ``--published`` leads to them, and the
balance of datasets where ``--path`` leads to these.
"""

from __future__ import annotations

import argparse
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from millet.benchmark.cells import Cell, all_cells, outstanding
from millet.benchmark.costs import Costs
from millet.benchmark.experiment import Experiment, load_experiment
from millet.benchmark.speed import PASSES_PER_STEP, Speed
from millet.benchmark.times import in_words
from millet.datasets.catalogue import WEB_TRAFFIC, find
from millet.report import Published, Run, read_results, write_reproduction
from millet.report.document import chosen_sections
from millet.report.layout import NONE, Table
from millet.report.names import OWN
from millet.report.overview import ITEMS, PAPER_RECIPE
from millet.training import RECIPES

ROOT = Path(__file__).parents[2]
COSTS_NOTE = (
    "Core hours at the speed that each backbone had, in processor time, on the largest dataset in the runs above; on "
    "small ones steps take longer than their timepoints suggest. Trainings count as done if they follow the paper's "
    "recipe."
)
UNMEASURED = "not measured"
SINGLE = (None, "32-true")  # rows of an early version do not say, and were so
UNMEASURED_NOTE = (
    "Where a backbone has not been run yet, `millet benchmark <experiment> --tier paper --plan` tries it for a "
    "second, and estimates the hours."
)


def main() -> None:
    """Read every run, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="Folder with run folders.")
    parser.add_argument("--published", type=Path, help="Folder with per-dataset results: authors/ and bakeoff/.")
    parser.add_argument("--path", type=Path, help="Folder with datasets.")
    parser.add_argument(
        "--experiments", type=Path, default=ROOT / "experiments", help="Folder with experiment files."
    )
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "reproduction.md", help="What to write.")
    given = parser.parse_args()
    runs = read_results(given.results)
    page = write_reproduction(
        runs,
        Published(given.published),
        given.page,
        pictures=given.page.parent / "images" / given.page.stem,
        costs=cost_table(runs, given.experiments),
        path=given.path,
        reasons=read_reasons(given.results / "reasons.toml"),
    )
    print(f"Wrote {page}.")


def read_reasons(path: Path) -> dict[str, str]:
    """Return why results differ, by the keys of claims; nothing where there is no such file."""
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def cost_table(runs: Iterable[Run], experiments: Path) -> Table:
    """Return what of the paper's grids is not done yet, and what it costs."""
    rows = []
    planned: set[tuple[str, str, int]] = set()
    done: set[tuple[str, str, int]] = set()
    rates = measured_rates(runs)
    for name in dict.fromkeys([*(item.experiment for item in ITEMS.values() if item.experiment), "ucr_small"]):
        experiment = load_experiment(experiments / f"{name}.toml", "paper")
        related = [run for run in runs if _sections(name) & set(chosen_sections(run)[0])]
        cells = all_cells(experiment)
        left = outstanding(cells, _present(related, experiment.repeats))
        trainings, trainings_left = _trainings(cells), _trainings(left)
        hours, longest = _hours(experiment, left, rates)
        n_done = len(trainings) - len(trainings_left)
        rows.append((f"`experiments/{name}.toml`", str(len(trainings)), str(n_done), hours, longest))
        planned |= trainings
        done |= trainings - trainings_left
    header = ("experiment, tier paper", "trainings", "done", "core hours left", "longest cell")
    covered = f"{len(done)} of {len(planned)} trainings done, each counted once"
    notes = (COSTS_NOTE, UNMEASURED_NOTE) if any(UNMEASURED in row for row in rows) else (COSTS_NOTE,)
    return Table("What is left to run", "", covered, header, tuple(rows), notes, has_markup=True)


def _trainings(cells: Iterable[Cell]) -> set[tuple[str, str, int]]:
    return {(cell.data.name, cell.model.name, cell.repeat) for cell in cells if not cell.is_ensemble}


def measured_rates(runs: Iterable[Run]) -> dict[str, float]:
    """Return the seconds that a timepoint of a case took to pass each backbone once, from times of training.

    Of the largest dataset that a backbone was trained on: small batches of short series waste most of the time. Only
    of trainings in single precision, the paper's, and in processor time: the clock counts what else a machine did.
    """
    seconds: defaultdict[tuple[str, int], float] = defaultdict(float)
    passes: defaultdict[tuple[str, int], float] = defaultdict(float)
    for row in (row for run in runs for row in run.done):
        entry = WEB_TRAFFIC if row.dataset == WEB_TRAFFIC.name else find(row.dataset)
        spent, n_epochs = row.number("train_core_seconds"), row.number("n_epochs_run")
        if row.ensemble or row.method != OWN or entry is None or entry.length is None or not spent or not n_epochs:
            continue
        if row.content.get("precision") not in SINGLE:
            continue
        keeps_last = row.recipe.split(",")[0] in RECIPES and RECIPES[row.recipe.split(",")[0]].keep == "last"
        key = str(row.content.get("backbone")), entry.n_train * entry.length
        seconds[key] += spent
        # A recipe that keeps the last weights needs no pass to choose them.
        n_passes = PASSES_PER_STEP + (not keeps_last)
        passes[key] += n_epochs * entry.n_train * entry.length * n_passes
    # In ascending order of size, so that the largest stays.
    return {key[0]: seconds[key] / passes[key] for key in sorted(seconds)}


def _sections(experiment: str) -> set[str]:
    """Return the sections that an experiment is for; a part of one is for the same."""
    return {name for name, item in ITEMS.items() if item.experiment == experiment.removesuffix("_small")}


def _present(runs: Iterable[Run], n_repeats: int) -> set[tuple[str, str, int, str]]:
    """Return the keys of rows that the paper's protocol would give again."""
    return {
        (row.dataset, row.model, row.repeat, row.method)
        for run in runs
        for row in run.done
        if row.content.get("recipe") == PAPER_RECIPE
        and (not row.ensemble or run.experiment.get("repeats") == n_repeats)
    }


def _hours(experiment: Experiment, left: list[Cell], rates: Mapping[str, float]) -> tuple[str, str]:
    if not left:
        return "0", NONE
    if not {cell.model.backbone for cell in left} <= set(rates):
        return UNMEASURED, NONE
    costs = Costs(experiment, None, speeds={name: Speed(rate, 0.0, rate) for name, rate in rates.items()})
    seconds = [costs.seconds(cell) for cell in left]
    hours = sum(seconds) / 3600
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.1f}", in_words(max(seconds))


if __name__ == "__main__":
    main()

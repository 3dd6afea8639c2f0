"""Write docs/tables/fast_recipe.md: the recipe "fast" beside the authors' single runs of 1500 epochs.

    python docs/scripts/fast_recipe_table.py --published DIR

Our side are the rows of results/fast_recipe (in single precision), results/fast_recipe_bf16, results/webtraffic and
results/lite_panel; the other side are the authors' and the bake-off's files in DIR (as for ``millet report
--published``), so that the two are compared on the same datasets.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from millet.atomic import atomic_path
from millet.benchmark.rows import Row, read_rows
from millet.datasets.catalogue import WEB_TRAFFIC, find
from millet.report import Published
from millet.report.layout import Table, shown, shown_difference
from millet.report.names import METRICS
from millet.training.recipe import RECIPES

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "tables" / "fast_recipe.md"
RUNS = ("fast_recipe", "webtraffic")
LOWER = "fast_recipe_bf16"
MODEL = "conjunctive-inceptiontime"
LITE, LITE_PUBLISHED = "conjunctive-lite", "LITETime"
HEADER = (
    "dataset",
    "cases",
    "timepoints",
    "runs",
    "ours",
    "least to greatest",
    "authors'",
    "difference",
    "steps",
    "of the paper's",
    "minutes",
)
NOTE = (
    f'Test accuracy of single {MODEL} networks: ours are trained by the recipe "fast", the authors\' (means of five '
    "runs) by the paper's, of 1500 epochs. Steps are those of one network; minutes are of one core of a machine that "
    "was busy with other work. `docs/scripts/fast_recipe_table.py` writes this page from the rows in `results`."
)


def main() -> None:
    """Read the rows, compare, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="Folder with run folders.")
    parser.add_argument("--published", type=Path, required=True, help="Folder with authors/.")
    parser.add_argument("--page", type=Path, default=TABLE, help="What to write.")
    given = parser.parse_args()
    by_dataset: dict[str, list[Row]] = defaultdict(list)
    for run in RUNS:
        for row in own_rows(given.results / run):
            if row["model"] == MODEL and not row["ensemble"]:
                by_dataset[row["dataset"]].append(row)
    published = Published(given.published)
    parts = ['# The recipe "fast" beside the paper\'s', NOTE, accuracies(by_dataset, published).to_markdown(2)]
    if "WebTraffic" in by_dataset:
        parts.append(web_traffic(by_dataset["WebTraffic"], published).to_markdown(2))
    lower = in_bf16(own_rows(given.results / "fast_recipe"), own_rows(given.results / LOWER))
    if lower.rows:
        parts.append(lower.to_markdown(2))
    light = lite(own_rows(given.results / "lite_panel"), published)
    if light.rows:
        parts.append(light.to_markdown(2))
    with atomic_path(given.page) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"Wrote {given.page}.")


def own_rows(folder: Path) -> list[Row]:
    """Return what a run's models, with their own evidence, reached."""
    return [row for row in read_rows(folder) if row["status"] == "done" and row["method"] == "own"]


def accuracies(by_dataset: dict[str, list[Row]], published: Published) -> Table:
    """Return the accuracy on every dataset, ours and theirs."""
    lines, pairs = [], []
    for name in sorted(by_dataset, key=lambda name: (name == "WebTraffic", name)):
        theirs = float(np.mean(published.runs(name, MODEL, "accuracy")))
        lines.append(line(name, by_dataset[name], theirs))
        if name != "WebTraffic":
            pairs.append((float(np.mean([row["accuracy"] for row in by_dataset[name]])), theirs))
    ours, theirs = map(float, np.mean(pairs, axis=0))
    title = "mean of the UCR datasets"
    lines.append((title, "", "", "", shown(ours), "", shown(theirs), shown_difference(ours, theirs), "", "", ""))
    return Table("Accuracy", "", f"{len(pairs)} UCR datasets", HEADER, tuple(lines))


def line(name: str, rows: list[Row], theirs: float) -> tuple[str, ...]:
    """Return a dataset's line of the table."""
    entry = find(name) or WEB_TRAFFIC
    n_cases = entry.n_train
    steps, paper = (
        RECIPES[recipe].n_epochs_for(n_cases) * RECIPES[recipe].steps_per_epoch_for(n_cases)
        for recipe in ("fast", "paper")
    )
    ours = [float(row["accuracy"]) for row in rows]
    mean = float(np.mean(ours))
    minutes = np.mean([row["train_seconds"] for row in rows]) / 60
    spread = f"{min(ours):.3f} to {max(ours):.3f}"
    sizes = (str(n_cases), str(entry.length), str(len(rows)))
    compared = (shown(mean), spread, shown(theirs), shown_difference(mean, theirs))
    return (name, *sizes, *compared, str(steps), f"{steps / paper:.1%}", f"{minutes:.1f}")


def web_traffic(rows: list[Row], published: Published) -> Table:
    """Return what WebTraffic alone can tell: how good the evidence is."""
    lines = []
    for metric in ("accuracy", "auroc", "loss", "aopcr", "ndcg_at_n"):
        ours = float(np.mean([row[metric] for row in rows]))
        runs = published.runs("WebTraffic", MODEL, metric)
        theirs = float(np.mean(runs))
        spread = f"{runs.min():.3f} to {runs.max():.3f}"
        lines.append((METRICS[metric].title, shown(ours), shown(theirs), spread, shown_difference(ours, theirs)))
    header = ("metric", "ours", "authors'", "least to greatest", "difference")
    return Table("WebTraffic", "", f"{len(rows)} of 3 runs", header, tuple(lines))


def in_bf16(single: list[Row], lower: list[Row]) -> Table:
    """Return what bf16 changes: the same seeds on the same datasets in both precisions."""
    both = [
        {(row["dataset"], row["repeat"]): row for row in rows if row["model"] == MODEL and not row["ensemble"]}
        for rows in (single, lower)
    ]
    lines, pairs = [], []
    for name in sorted({dataset for dataset, _ in both[0].keys() & both[1].keys()}):
        shared = [key for key in both[0] if key[0] == name and key in both[1]]
        accuracies, losses = (
            [float(np.mean([rows[key][metric] for key in shared])) for rows in both]
            for metric in ("accuracy", "loss")
        )
        pairs.append((*accuracies, *losses))
        lines.append((name, str(len(shared)), *compared(*accuracies, *losses)))
    if pairs:
        lines.append(("mean", "", *compared(*map(float, np.mean(pairs, axis=0)))))
    header = ("dataset", "runs", "accuracy, single", "bf16", "difference", "loss, single", "bf16 ", "difference ")
    return Table("In bf16", "", f"{len(pairs)} UCR datasets, the same seeds", header, tuple(lines))


def compared(accuracy: float, lower_accuracy: float, loss: float, lower_loss: float) -> tuple[str, ...]:
    """Return both pairs with their differences."""
    accuracies = (shown(accuracy), shown(lower_accuracy), shown_difference(lower_accuracy, accuracy))
    return (*accuracies, shown(loss), shown(lower_loss), shown_difference(lower_loss, loss))


def lite(rows: list[Row], published: Published) -> Table:
    """Return the accuracy of LITE networks and of their ensembles, beside that of the published ensembles of five."""
    lines, pairs = [], []
    for ensemble in sorted((row for row in rows if row["ensemble"]), key=lambda row: str(row["dataset"])):
        name = ensemble["dataset"]
        members = [row for row in rows if row["dataset"] == name and not row["ensemble"]]
        single = float(np.mean([row["accuracy"] for row in members]))
        seconds = float(np.mean([row["train_seconds"] for row in members]))
        ours, theirs = float(ensemble["accuracy"]), published.other(name, LITE_PUBLISHED, "accuracy")
        if theirs is None:
            continue
        pairs.append((single, ours, theirs))
        compared = (shown(single), shown(ours), shown(theirs), shown_difference(ours, theirs))
        lines.append((name, str(len(members)), *compared, f"{seconds:.0f}"))
    if pairs:
        single, ours, theirs = map(float, np.mean(pairs, axis=0))
        compared = (shown(single), shown(ours), shown(theirs), shown_difference(ours, theirs))
        lines.append(("mean", "", *compared, ""))
    header = ("dataset", "members", "one network", "ensemble", "published", "difference", "seconds a network")
    return Table(f"{LITE} beside {LITE_PUBLISHED}", "", f"{len(pairs)} UCR datasets", header, tuple(lines))


if __name__ == "__main__":
    main()

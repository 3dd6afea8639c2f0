"""Write docs/tables/rocket.md: the fast lane beside the bake-off's results of the same methods, and on WebTraffic.

    python docs/scripts/rocket_table.py --published DIR

Our side are the rows of results/rocket, results/rocket_multivariate and results/rocket_webtraffic; the other side are
the bake-off's files in DIR (as for ``millet report --published``), on the same datasets.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from millet.atomic import atomic_path
from millet.benchmark.rows import Row, read_rows
from millet.datasets.catalogue import find
from millet.report import Published
from millet.report.layout import Table, shown, shown_difference
from millet.report.names import METRICS, ROCKETS

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "tables" / "rocket.md"
BAKEOFF = {"minirocket": "MiniROCKET", "multirocket": "MR", "hydra": "Hydra", "multirocket-hydra": "MR-Hydra"}
NOTE = (
    "Every figure is of one fit, with the calibrated head; seconds are of a fit on one core of a machine that was "
    "busy with other work. `docs/scripts/rocket_table.py` writes this page from the rows in `results`."
)

Rows = dict[tuple[str, str], Row]


def main() -> None:
    """Read the rows, compare, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="Folder with run folders.")
    parser.add_argument("--published", type=Path, required=True, help="Folder with bakeoff/.")
    parser.add_argument("--page", type=Path, default=TABLE, help="What to write.")
    given = parser.parse_args()
    rows = read(given.results / "rocket")
    published = Published(given.published)
    tables = [means(rows, published), *others(rows, read(given.results / "rocket_multivariate"))]
    tables.append(web_traffic(read(given.results / "rocket_webtraffic")))
    tables.append(by_dataset(rows, published))
    parts = ["# The fast lane", NOTE, *(table.to_markdown(2) for table in tables if table.rows)]
    with atomic_path(given.page) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"Wrote {given.page}.")


def read(folder: Path) -> Rows:
    """Return the finished rows of a run by dataset and model."""
    finished = (row for row in read_rows(folder) if row["status"] == "done" and row["method"] == "own")
    return {(row["dataset"], row["model"]): row for row in finished}


def compared_datasets(rows: Rows, published: Published, model: str) -> list[str]:
    """Return the datasets for which both sides have a method."""
    names = sorted(name for name, found in rows if found == model)
    return [name for name in names if published.other(name, BAKEOFF[model], "accuracy") is not None]


def means(rows: Rows, published: Published) -> Table:
    """Return the mean of each metric over all datasets, ours and theirs."""
    header = ["features", "datasets", "seconds"]
    for metric in ("accuracy", "balanced_accuracy", "auroc", "loss"):
        header += [METRICS[metric].title, "published", "difference"]
    lines = []
    for model, column in BAKEOFF.items():
        names = compared_datasets(rows, published, model)
        if not names:
            continue
        seconds = mean(rows[name, model]["train_seconds"] for name in names)
        cells = [ROCKETS[model], str(len(names)), shown(seconds, 1)]
        for metric in ("accuracy", "balanced_accuracy", "auroc", "loss"):
            ours = mean(rows[name, model][metric] for name in names)
            theirs = mean(published.other(name, column, metric) or np.nan for name in names)
            cells += [shown(ours), shown(theirs), shown_difference(ours, theirs)]
        lines.append(tuple(cells))
    note = (
        "Their losses are of decisions made probabilities by giving the chosen class everything; ours are of "
        "calibrated ones."
    )
    coverage = f"{len(lines)} of {len(BAKEOFF)} features"
    return Table("Means over the paper's datasets", "", coverage, tuple(header), tuple(lines), (note,))


def others(rows: Rows, multivariate: Rows) -> Iterable[Table]:
    """Yield the accuracy on datasets that the bake-off does not have."""
    rest = {key: row for key, row in rows.items() if not in_paper(key[0])}
    for title, found in (("Unequal lengths, and others", rest), ("Several channels", multivariate)):
        names = sorted({name for name, _ in found})
        lines = [(name, *(accuracy(found, name, model) for model in BAKEOFF)) for name in names]
        by_name = {name: [row for (other, _), row in found.items() if other == name] for name in names}
        notes = tuple(note for name, own in by_name.items() if (note := guessing_note(name, own)))
        yield Table(title, "", f"{len(lines)} datasets", ("dataset", *ROCKETS.values()), tuple(lines), notes)


def guessing_note(name: str, rows: Sequence[Row]) -> str:
    """Say so where no model is better than chance."""
    n_cases, n_classes = rows[0]["n_cases"], rows[0]["n_classes"]
    is_guessing = max(row["accuracy"] for row in rows) <= 1 / n_classes
    return (
        f"{name} has {n_cases} test cases of {n_classes} classes: no model is better than chance."
        if is_guessing
        else ""
    )


def in_paper(name: str) -> bool:
    """Whether a dataset is one of the archive's that the bake-off has."""
    entry = find(name)
    return entry is not None and entry.in_paper


def accuracy(rows: Rows, name: str, model: str) -> str:
    """Return a cell: our accuracy, or that there is none."""
    return shown(rows[name, model]["accuracy"] if (name, model) in rows else None)


def web_traffic(rows: Rows) -> Table:
    """Return prediction and evidence on WebTraffic."""
    metrics = ("accuracy", "auroc", "loss", "aopcr", "ndcg_at_n")
    metrics = tuple(metric for metric in metrics if all(metric in row for row in rows.values()))
    header = ("features", "seconds", *(METRICS[metric].title for metric in metrics))
    lines = [
        (model, shown(row["train_seconds"], 1), *(shown(row[metric]) for metric in metrics))
        for (_, model), row in sorted(rows.items())
    ]
    return Table("WebTraffic", "", f"{len(lines)} models", header, tuple(lines))


def by_dataset(rows: Rows, published: Published) -> Table:
    """Return the accuracy on every dataset, ours and theirs."""
    header = ["dataset"]
    for title in ROCKETS.values():
        header += [title, "published"]
    lines = []
    for name in sorted({name for model in BAKEOFF for name in compared_datasets(rows, published, model)}):
        cells = [name]
        for model, column in BAKEOFF.items():
            cells += [accuracy(rows, name, model), shown(published.other(name, column, "accuracy"))]
        lines.append(tuple(cells))
    return Table("Accuracy by dataset", "", f"{len(lines)} datasets", tuple(header), tuple(lines))


def mean(values: Iterable[float]) -> float:
    """Return the mean."""
    return float(np.mean(list(values)))


if __name__ == "__main__":
    main()

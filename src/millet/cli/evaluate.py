"""``millet evaluate``: how good a model's predictions are, and how good its explanations."""

from __future__ import annotations

import json
import math
from pathlib import Path

import click

from millet.cli.messages import wrap
from millet.cli.sources import DATA_HELP, NO_LABELS_HELP, SPLITS, load_known_cases
from millet.jsonl import strict


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("source", metavar="DATASET|FILE")
@click.option("--split", type=click.Choice(SPLITS), help="Of the dataset, if one is named. [default: test]")
@click.option("--metric", "metrics", multiple=True, help="Only this one; may be repeated. [default: all that apply]")
@click.option(
    "--removal", default="remove", show_default=True, help="Of timepoints: remove, mean, interpolate or noise."
)
@click.option("--random-state", default=0, show_default=True, help="Seed of the random orders and the intervals.")
@click.option("--no-labels", is_flag=True, help=NO_LABELS_HELP)
@click.option("--path", type=click.Path(path_type=Path), help=DATA_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def evaluate(
    model: Path, source: str, split: str | None, metrics: tuple[str, ...], removal: str, random_state: int,
    no_labels: bool, path: Path | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Score a model's predictions and explanations on a dataset or file."""
    from millet.evaluation import evaluate as score
    from millet.loading import load_classifier

    classifier = load_classifier(model)
    row = score(
        classifier,
        load_known_cases(source, path, split, classifier.classes_, no_labels=no_labels),
        metrics=metrics or None,
        removal=removal,
        random_state=random_state,
        progress=not quiet,
    )
    if as_json:
        click.echo(json.dumps(strict(row), indent=2, allow_nan=False))
    else:
        _print_table(row)


def _print_table(row: dict[str, float | int | str]) -> None:
    from millet.tables import format_table

    split = f" ({row['split']})" if row["split"] else ""
    click.echo(wrap(f"{row['dataset']}{split}: {row['n_cases']} cases of {row['n_classes']} classes"))
    click.echo()
    names = [name for name in row if f"{name}_low" in row]
    lines = [
        [
            name.replace("_", " "),
            _number(row[name]),
            f"{_number(row[f'{name}_low'])} to {_number(row[f'{name}_high'])}",
        ]
        for name in names
    ]
    header = ["metric", "value", "95 % interval"]
    click.echo(format_table(header, lines, right=header[1:]))
    if row["n_unscored"]:
        click.echo()
        click.echo(wrap(f"{row['n_unscored']} cases could not be scored by all metrics. {row['unscored']}."))


def _number(value: float | int | str) -> str:
    return "unknown" if isinstance(value, float) and math.isnan(value) else f"{value:.4f}"

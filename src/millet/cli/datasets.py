"""``millet datasets``: what is here, what is not, and how to get it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from millet.cli.messages import show_error, wrap
from millet.errors import MilletError
from millet.watching import someone_watches

if TYPE_CHECKING:
    from millet.datasets.locate import Splits
    from millet.datasets.survey import Row


@click.command()
@click.option("--path", type=click.Path(path_type=Path), help="Folder to look in. [default: MILLET_DATA, else cache]")
@click.option("--paper", is_flag=True, help="List the paper's 85 datasets, here or missing.")
@click.option("--all", "everything", is_flag=True, help="List all 128 of the UCR archive and all that is here.")
@click.option("--download", "wanted", multiple=True, metavar="NAME", help="Download a dataset; may be repeated.")
@click.option("--check", is_flag=True, help="Read the files and compare them with the original split.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def datasets(
    path: Path | None, paper: bool, everything: bool, wanted: tuple[str, ...], check: bool, as_json: bool
) -> None:
    """List the datasets that are here, and download more."""
    from millet.datasets.catalogue import PAPER_DATASETS, WEB_TRAFFIC, entries
    from millet.datasets.locate import scan, search_folders
    from millet.datasets.survey import outline

    if wanted:
        _download_all(wanted, path)
        return
    folders = search_folders(path)
    here = scan(folders)
    if path is None:  # as load_dataset does: only an explicit path takes precedence over the generator
        here.pop(WEB_TRAFFIC.name, None)
    names: Iterable[str] = {WEB_TRAFFIC.name, *here}
    if everything:
        names = {*names, *entries()}
    elif paper:
        names = PAPER_DATASETS
    rows = outline(sorted(names, key=str.casefold), here)
    if check:
        rows = _examine_all(rows, here)
    if as_json:
        _print_json(rows, folders, here)
    else:
        _print_table(rows, folders, here, checked=check)


def _download_all(wanted: tuple[str, ...], path: Path | None) -> None:
    """Download each, even if others fail."""
    from millet.datasets.download import download

    failed = False
    for name in wanted:
        try:
            click.echo(f"{name}: {download(name, path)}")
        except MilletError as error:
            failed = True
            show_error(error)
    if failed:
        sys.exit(2)


def _examine_all(rows: list[Row], here: dict[str, Splits]) -> list[Row]:
    from tqdm import tqdm

    from millet.datasets.survey import examine, files_of

    with tqdm(rows, unit="dataset", disable=not someone_watches(), leave=False) as bar:
        return [examine(row, files_of(row.name, here)) if row.here else row for row in bar]


def _print_json(rows: list[Row], folders: list[Path], here: dict[str, Splits]) -> None:
    from millet.datasets.survey import coverage

    have, missing = coverage(here)
    document = {
        "folders": [str(folder) for folder in folders],
        "datasets": [{**asdict(row), "here": row.here} for row in rows],
        "ucr": {"have": [entry.name for entry in have], "missing": [entry.name for entry in missing]},
        "paper": {
            "have": [entry.name for entry in have if entry.in_paper],
            "missing": [entry.name for entry in missing if entry.in_paper],
        },
    }
    click.echo(json.dumps(document, indent=2))


def _print_table(rows: list[Row], folders: list[Path], here: dict[str, Splits], *, checked: bool) -> None:
    from millet.datasets.survey import summarise
    from millet.tables import format_table

    # Both tables fit the width: once the files are read, their channels say more than the archive's type.
    header = ["name", "train", "test", "classes", "length", "channels" if checked else "type", "paper", "here"]
    table = [
        [
            *(_or_unknown(value) for value in (row.name, row.n_train, row.n_test, row.n_classes, row.length)),
            _or_unknown(row.n_channels if checked else row.type),
            "yes" if row.in_paper else "-",
            row.format or "missing",
            *([row.verdict] if checked else []),
        ]
        for row in rows
    ]
    header += ["split"] if checked else []
    click.echo(format_table(header, table, right=["train", "test", "classes", "length", "channels"]))
    click.echo()
    notes = [(row.name, note) for row in rows for note in (*row.differences, row.error) if note]
    for name, note in notes:
        click.echo(wrap(f"{name}: {note}"))
    click.echo(wrap(summarise(here)))
    click.echo(f"Looked in {', '.join(map(str, folders))}")


def _or_unknown(value: object) -> object:
    return "?" if value is None else value

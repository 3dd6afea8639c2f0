"""Read a whole unpacked archive and say, dataset by dataset, whether it is the original.

    python benchmarks/check_archive.py ROOT

ROOT holds ``<Name>/<Name>_TRAIN.<suffix>`` and ``<Name>_TEST.<suffix>``. The exit code is 1 if a dataset can't be
read, or one that the catalogue knows differs from the original split.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click
from tqdm import tqdm

from millet.datasets.locate import scan, search_folders
from millet.datasets.survey import Row, examine, outline, summarise
from millet.errors import MilletError
from millet.tables import format_table

HEADER = ["name", "train", "test", "classes", "length", "channels", "missing", "format", "seconds", "original split"]
ANSWERS = {"original": "yes", "differs": "no", "broken": "no", "unknown": "unknown"}


def cells(row: Row, seconds: float) -> list[object]:
    sizes = (row.n_train, row.n_test, row.n_classes, row.length, row.n_channels, row.n_missing)
    return [row.name, *sizes, row.format, f"{seconds:.2f}", ANSWERS[row.verdict]]


@click.command()
@click.argument("root", type=click.Path(path_type=Path))
def check_archive(root: Path) -> None:
    """Read every dataset in ROOT and compare it with the archive's original split."""
    try:
        here = scan(search_folders(root))
    except MilletError as error:
        raise click.ClickException(str(error)) from error
    table, notes, failed = [], [], 0
    start = time.perf_counter()
    for outlined in tqdm(outline(sorted(here, key=str.casefold), here), unit="dataset", disable=None, leave=False):
        began = time.perf_counter()
        row = examine(outlined, here[outlined.name])
        table.append(cells(row, time.perf_counter() - began))
        notes += [f"{row.name}: {note}" for note in (*row.differences, row.error) if note]
        failed += row.verdict in ("differs", "broken")
    click.echo(format_table(HEADER, table, right=[*HEADER[1:7], "seconds"]))
    click.echo("\n" + "\n".join([*notes, summarise(here)]))
    click.echo(f"Read {len(table)} datasets in {time.perf_counter() - start:.1f} s; {failed} failed or differ.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    check_archive()

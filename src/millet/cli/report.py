"""``millet report``: the paper's tables and figures from the rows of a benchmark."""

from __future__ import annotations

from pathlib import Path

import click

from millet.cli.sources import DATA_HELP


@click.command()
@click.argument("folder", metavar="RUN_FOLDER", type=click.Path(path_type=Path))
@click.option(
    "--published", type=click.Path(path_type=Path), help="Folder with per-dataset results: authors/ and bakeoff/."
)
@click.option("--out", type=click.Path(path_type=Path), help="Where to write.  [default: RUN_FOLDER/report]")
@click.option("--path", type=click.Path(path_type=Path), help=DATA_HELP)
def report(folder: Path, published: Path | None, out: Path | None, path: Path | None) -> None:
    """Turn the rows of a benchmark into the paper's tables and figures."""
    from millet.report import write_report
    from millet.tables import counted

    written = write_report(folder, published=published, out=out, path=path)
    click.echo(written.text)
    click.echo()
    click.echo(f"Wrote {written.path} and {counted(len(written.pictures), 'picture')}.")

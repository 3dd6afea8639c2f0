"""``millet demo``: a first look, in a few minutes and without any data of your own."""

from __future__ import annotations

from pathlib import Path

import click

from millet.cli.messages import wrap
from millet.cli.models import explained_interruption


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("millet-demo"),
    show_default=True,
    help="Folder to write to.",
)
def demo(out: Path) -> None:
    """Train a model on WebTraffic and show why it decides as it does."""
    from millet.demo import run_demo

    def say(text: str) -> None:
        click.echo("\n".join(wrap(line) if len(line) > 100 else line for line in text.split("\n")))

    with explained_interruption(out / "checkpoints"):
        run_demo(out, say)

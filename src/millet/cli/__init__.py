"""The command line: parse, call one public function, print.

Commands import what they need when they run, so that ``millet --help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

import millet
from millet.cli.benchmark import benchmark
from millet.cli.datasets import datasets
from millet.cli.demo import demo
from millet.cli.evaluate import evaluate
from millet.cli.explain import explain
from millet.cli.messages import WIDTH, show_error, warnings_in_one_line
from millet.cli.models import fit, predict
from millet.cli.report import report
from millet.errors import MilletError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH})
@click.version_option(millet.__version__, prog_name="millet")
def cli() -> None:
    """Classify time series and see why."""


for command in (demo, datasets, fit, predict, explain, evaluate, benchmark, report):
    cli.add_command(command)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 if done, 2 after an error that was explained, 130 if interrupted."""
    try:
        with warnings_in_one_line():
            sys.exit(cli.main(args=args, prog_name="millet", standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read the output wants no more of it; Python would complain on closing what is already closed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (MilletError, OSError) as error:
        show_error(error)
        sys.exit(2)

"""What commands say: lines that fit a terminal, and errors and warnings on one line."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from millet.errors import MilletError

WIDTH = 100


def wrap(text: str) -> str:
    """Fold a paragraph; file names stay whole, so that they can be copied."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def show_error(error: MilletError | OSError) -> None:
    """Print an error to standard error, always on one line: it is read in terminals and in logs."""
    text = str(error) if isinstance(error, MilletError) or not error.strerror else _describe(error)
    click.secho(f"Error: {' '.join(text.split())}", fg="red", err=True)


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Print each warning once, to standard error and on one line: users of a command do not want lines of code."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if text not in shown:
            shown.add(text)
            click.secho(f"Warning: {text}", fg="yellow", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _describe(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}." if error.filename is not None else f"{error.strerror}."

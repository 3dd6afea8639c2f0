"""What commands say: lines that fit a terminal, and errors in one line."""

from __future__ import annotations

import textwrap

import click

from millet.errors import MilletError

WIDTH = 100


def wrap(text: str) -> str:
    """Fold a paragraph; file names stay whole, so that they can be copied."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def show_error(error: MilletError | OSError) -> None:
    """Print an error to standard error, in one line whatever it holds: it is read in terminals and in logs."""
    text = str(error) if isinstance(error, MilletError) or not error.strerror else _describe(error)
    click.secho(f"Error: {' '.join(text.split())}", fg="red", err=True)


def _describe(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}." if error.filename is not None else f"{error.strerror}."

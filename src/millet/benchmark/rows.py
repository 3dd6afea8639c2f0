"""Rows: one JSON object per line, appended by one process, whole or not at all.

In:  what `millet.benchmark.work` measured.
Out: ``rows.jsonl``, which `millet.report` reads.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, final

from millet.atomic import atomic_path
from millet.errors import DatasetFormatError, StorageError
from millet.jsonl import REMEDY, Lines, read_lines, refuse_repeated, strict

Row = dict[str, Any]
RowKey = tuple[str, str, int, str]

ROWS = "rows.jsonl"
# What a run must know about every row.
NEEDED = {"dataset", "model", "repeat", "ensemble", "method", "status", "error"}
TEXTS = ("dataset", "model", "method", "error")
STATES = ("done", "failed")


def key_of(row: Row) -> RowKey:
    """Return what makes a row unique: dataset, model, repeat and method."""
    return str(row["dataset"]), str(row["model"]), int(row["repeat"]), str(row["method"])


def read_rows(folder: str | PathLike[str]) -> list[Row]:
    r"""Return the rows of a run folder; the incomplete last line of a run that was killed is left out.

    Parameters
    ----------
    folder : path-like
        The run folder; the list is empty if it has no file of rows.

    Raises
    ------
    DatasetFormatError
        If a line that is not the last one is damaged.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"dataset": "Beef"}\n{"dataset": "Cof')
    >>> read_rows(folder)
    [{'dataset': 'Beef'}]
    """
    return [row for _, row in _lines(Path(folder) / ROWS).objects]


def whole_rows(folder: Path) -> list[Row]:
    """Return the rows of a run folder, each with what a run must know about it."""
    return _whole_rows(folder / ROWS, _lines(folder / ROWS))


@final
class RowsFile:
    """The rows of a run folder that this process alone writes to.

    Parameters
    ----------
    folder : Path
        The run folder, whose lock this process holds. An incomplete last line is cut off; one that lacks only its
        newline gets it.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / ROWS
        lines = _lines(self.path)
        self.rows = _whole_rows(self.path, lines)
        if lines.torn is not None:
            os.truncate(self.path, lines.n_bytes)
        elif lines.n_bytes and not self.path.read_bytes().endswith(b"\n"):
            with self.path.open("ab") as file:
                file.write(b"\n")

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows; when this returns, they are on the disk."""
        text = "".join(_line(row) for row in rows)
        size = self.path.stat().st_size if self.path.exists() else 0
        try:
            with self.path.open("ab") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            if self.path.exists():
                os.truncate(self.path, size)
            raise cannot_write(self.path, error) from error
        self.rows.extend(json.loads(line) for line in text.splitlines())

    def discard(self, unwanted: Callable[[Row], bool]) -> int:
        """Rewrite the file without some rows, and return how many there were."""
        kept = [row for row in self.rows if not unwanted(row)]
        n_discarded = len(self.rows) - len(kept)
        if n_discarded:
            try:
                with atomic_path(self.path) as temporary:
                    temporary.write_text("".join(_line(row) for row in kept), encoding="utf-8")
            except OSError as error:
                raise cannot_write(self.path, error) from error
            self.rows = kept
        return n_discarded


def keep_row(folder: Path, row: Row) -> None:
    """Keep a row of an unfinished cell, so that it is not measured again if the cell is interrupted."""
    with atomic_path(folder / f"{row['method']}.json") as temporary:
        temporary.write_text(_line(row), encoding="utf-8")


def kept_rows(folder: Path) -> dict[str, Row]:
    """Return the rows that were kept of a cell, by method; damaged ones are left out.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> keep_row(folder, {"method": "shap", "aopcr": 1.5})
    >>> kept_rows(folder)
    {'shap': {'method': 'shap', 'aopcr': 1.5}}
    """
    rows = {file.stem: _row(file.read_bytes()) for file in sorted(folder.glob("[!.]*.json"))}
    return {method: row for method, row in rows.items() if row is not None}


def cannot_write(path: Path, error: OSError) -> StorageError:
    """Return the error to raise where a run folder can't be written to."""
    return StorageError(
        f"{path} can't be written: {error.strerror or error}. Rows that are there are kept. Make room or mend the "
        "permissions, then run the same command to go on; or choose another folder with --out."
    )


def _line(row: Row) -> str:
    # Without the default ensure_ascii, a label could hold a separator that other readers take for the end of a line.
    return json.dumps({name: strict(value) for name, value in row.items()}, allow_nan=False) + "\n"


def _lines(path: Path) -> Lines:
    try:
        return read_lines(path)
    except FileNotFoundError:
        return Lines([], None, 0)
    except OSError as error:
        raise StorageError(f"{path} can't be read: {error.strerror or error}.") from error


def _whole_rows(path: Path, lines: Lines) -> list[Row]:
    """Return the rows, or refuse them where one lacks what a run must know or two have the same key."""
    for number, row in lines.objects:
        if not _is_whole(row):
            wanted = f"{', '.join(sorted(NEEDED))}, as a run writes them"
            raise DatasetFormatError(path, f"is damaged; expected {wanted}. {REMEDY}", number)
    refuse_repeated(path, [(number, key_of(row)) for number, row in lines.objects])
    return [row for _, row in lines.objects]


def _is_whole(row: Row) -> bool:
    """Whether a row has what a run must know: of one in another state, no ensemble would ever be run or given up."""
    return (
        NEEDED.issubset(row)
        and type(row["repeat"]) is int  # which a bool is not
        and all(isinstance(row[key], str) for key in TEXTS)
        and row["status"] in STATES
    )


def _row(line: bytes) -> Row | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None

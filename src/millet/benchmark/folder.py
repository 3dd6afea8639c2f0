"""The run folder: it belongs to one experiment, and only one process at a time writes to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from millet.atomic import atomic_path
from millet.benchmark.experiment import Experiment
from millet.benchmark.rows import Row, RowsFile, cannot_write, whole_rows
from millet.errors import StorageError
from millet.locks import locked
from millet.version import __version__

FORMAT = "millet-run"
VERSION = 1
DESCRIPTION = "run.json"
LOCK = "lock"
SHOWN = {"tables"}  # decides what a report shows of the rows, not what is run


@contextmanager
def open_run(folder: Path, experiment: Experiment) -> Iterator[RowsFile]:
    """Claim a run folder for an experiment, and yield its rows.

    Parameters
    ----------
    folder : Path
        A new or empty folder, or that of an earlier run of the same experiment.
    experiment : Experiment

    Raises
    ------
    StorageError
        If the folder holds something else, can't be written to, or is in use by another process.
    """
    with ExitStack() as held:
        _refuse_file(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _refuse_foreign(folder)
            held.enter_context(locked(folder / LOCK, wait=False))
            _claim(folder / DESCRIPTION, experiment)
            rows = RowsFile(folder)
        except OSError as error:
            raise cannot_write(folder, error) from error
        yield rows


def rows_so_far(folder: Path, experiment: Experiment) -> list[Row]:
    """Return what a run folder holds, without claiming it; nothing where there is none yet.

    Raises
    ------
    StorageError
        If the folder holds another run, or something else.
    """
    _refuse_file(folder)
    if not folder.exists():
        return []
    try:
        _refuse_foreign(folder)
    except OSError as error:
        raise StorageError(f"{folder} can't be read: {error.strerror or error}.") from error
    if (folder / DESCRIPTION).exists():
        _refuse_other(folder / DESCRIPTION, _described(experiment))
    return whole_rows(folder)


def _refuse_file(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise StorageError(f"{folder} is a file; a run needs a folder. Choose one with --out.")


def _refuse_foreign(folder: Path) -> None:
    # Hidden files may be left over from a run that was killed while it wrote its first one.
    names = {file.name for file in folder.iterdir() if not file.name.startswith(".")}
    if names - {LOCK} and DESCRIPTION not in names:
        raise StorageError(f"{folder} holds something other than a run. Choose another folder with --out.")


def _claim(path: Path, experiment: Experiment) -> None:
    """Write what the folder is for, or check that it is for the same; the tables to show may change between runs."""
    wanted = _described(experiment)
    if path.exists():
        _refuse_other(path, wanted)
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")


def _described(experiment: Experiment) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "millet": __version__, **experiment.to_dict()}


def _refuse_other(path: Path, wanted: dict[str, Any]) -> None:
    found = _read(path)
    # Earlier versions had nothing else.
    found["training"] = {"precision": "32-true", **found.get("training", {})}
    found.setdefault("examples", 0)
    different = [key for key in wanted if key not in SHOWN and found.get(key) != wanted[key]]
    if different:
        raise StorageError(
            f"{path.parent} belongs to another run: {found.get('name')!r}, tier {found.get('tier')!r}, by version "
            f"{found.get('millet')} of MILLET (different: {', '.join(different)}). Choose another "
            "folder with --out."
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise StorageError(f"{path} is damaged ({error}). Choose another folder with --out.") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise StorageError(f"{path} does not describe a run. Choose another folder with --out.")
    if not isinstance(found.get("training", {}), dict):
        raise StorageError(f"{path} is damaged (training is no table). Choose another folder with --out.")
    return found

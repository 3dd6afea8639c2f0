"""Storage: a model is a folder with ``model.json`` and one safetensors file per member.

In:  a description that JSON can hold, and the members' weights in the format of safetensors.
Out: the same, checked. No pickle is ever read; a folder appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from millet.atomic import atomic_path
from millet.errors import StorageError
from millet.locks import locked_folder
from millet.version import __version__

FORMAT = "millet-model"
VERSION = 1
DESCRIPTION = "model.json"
MEMBER_FILES = "member-*.safetensors"


def save_model(folder: str | PathLike[str], description: Mapping[str, Any], members: Sequence[bytes]) -> None:
    """Write a model; an earlier model in the same place is replaced, anything else is refused.

    Parameters
    ----------
    folder : path-like
    description : mapping
        What JSON can hold: kind, parameters, classes, training.
    members : sequence of bytes
        The weights of every member, in the format of safetensors.
    """
    folder = Path(folder)
    check_target(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with locked_folder(folder):  # or one process would take for stale what another writes
        files = [_write_member(folder, position, content) for position, content in enumerate(members)]
        whole = {"format": FORMAT, "version": VERSION, "written_with": _versions(), **description, "members": files}
        # Weights are named after their content, so the old description and its files are whole until this moment.
        with atomic_path(folder / DESCRIPTION) as temporary:
            temporary.write_text(json.dumps(whole, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        for stale in set(folder.glob(MEMBER_FILES)) - {folder / entry["file"] for entry in files}:
            stale.unlink(missing_ok=True)


def check_target(folder: Path) -> None:
    """Refuse a folder that holds something other than a model, or can't be made, before there is work to lose."""
    if folder.exists() and not (folder.is_dir() and _may_be_written(folder)):
        raise StorageError(f"{folder} exists and is not a MILLET model; it is left alone. Choose another folder.")
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
        reason = "can't be written to" if nearest.is_dir() else "is a file"
        raise StorageError(f"{folder} can't be made: {nearest} {reason}. Choose another folder.")


def load_model(folder: str | PathLike[str]) -> tuple[dict[str, Any], list[bytes]]:
    """Read what `save_model` wrote, after checking that it is whole.

    Raises
    ------
    StorageError
        If the folder is missing, foreign, damaged, incomplete or of a newer format; the message says what is wrong.
    """
    folder = Path(folder)
    description = read_description(folder)
    while True:
        try:
            return description, _read_members(folder, description)
        except StorageError:
            before, description = description, read_description(folder)
            if description == before:
                raise
            # Another model was saved here in the meantime, and the files of the first are gone.


def _read_members(folder: Path, description: Mapping[str, Any]) -> list[bytes]:
    members = []
    for entry in description["members"]:
        try:
            members.append(_read_member(folder, entry["file"], entry["sha256"]))
        except (TypeError, KeyError):
            raise StorageError(f"{folder / DESCRIPTION} is damaged: its list of members can't be read.") from None
    return members


def read_description(folder: Path) -> dict[str, Any]:
    """Read and check only ``model.json``."""
    path = folder / DESCRIPTION
    if not path.is_file():
        raise StorageError(f"{folder} is not a MILLET model: it has no {DESCRIPTION}.")
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise StorageError(f"{path} is damaged: {error}.") from None
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise StorageError(f"{path} is not the description of a MILLET model.")
    version = description.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise StorageError(
            f"{path} has format version {version!r}; this MILLET ({__version__}) reads up to {VERSION}. "
            "Upgrade with: pip install -U millet-tsc"
        )
    if not isinstance(description.get("members"), list):
        raise StorageError(f"{path} is damaged: it has no list of members.")
    return description


def _write_member(folder: Path, position: int, content: bytes) -> dict[str, str]:
    digest = hashlib.sha256(content).hexdigest()
    name = f"member-{position}-{digest[:12]}.safetensors"
    with atomic_path(folder / name) as temporary:
        temporary.write_bytes(content)
    return {"file": name, "sha256": digest}


def _read_member(folder: Path, name: str, digest: str) -> bytes:
    if Path(name).name != name:
        raise StorageError(f"{folder / DESCRIPTION} names a file outside the model's folder: {name!r}.")
    path = folder / name
    if not path.is_file():
        raise StorageError(f"{path} is missing: the model is not complete.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path} can't be read: {error.strerror or error}.") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise StorageError(f"{path} is damaged: its content is not what was saved.")
    return content


def _may_be_written(folder: Path) -> bool:
    """Whether a folder holds a model, what is left of an unfinished one, or nothing."""
    if any(folder.glob(MEMBER_FILES)) and (folder / DESCRIPTION).is_file():
        return True  # even if its description is damaged
    if (folder / DESCRIPTION).is_file():
        with suppress(StorageError):
            return bool(read_description(folder))  # that of a model whose weights were lost
    return all(path.match(MEMBER_FILES) or path.name.startswith(".") for path in folder.iterdir())


def _versions() -> dict[str, str]:
    return {
        "millet": __version__,
        "torch": metadata.version("torch"),  # not imported: not every model needs it
        "numpy": np.__version__,
        "python": platform.python_version(),
    }

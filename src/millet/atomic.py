"""Atomic files: a reader sees the old file or the new one, never half of either."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millet.errors import StorageError


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `target` to write to; on success it replaces the target.

    If the block raises, the temporary file is removed and the target stays as it was. An existing file keeps its
    permissions; a new one has those of any new file. Devices and pipes, which can't be replaced, are written to
    directly.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with atomic_path(folder / "note.txt") as path:
    ...     _ = path.write_text("whole")
    >>> [file.name for file in folder.iterdir()]
    ['note.txt']
    """
    target = Path(target).resolve()  # the file behind a link, not the link, is replaced
    if target.is_dir():
        raise StorageError(f"{target} is a folder; expected a file to write.")
    if target.exists() and not target.is_file():
        yield target
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # The suffix is kept because many writers infer the format from it.
    temporary = target.with_name(f".{secrets.token_hex(8)}{target.suffix}")
    try:
        temporary.touch(exist_ok=False)
    except OSError as error:  # of the file that was asked for, not of one that nobody knows
        raise type(error)(error.errno, error.strerror, str(target)) from None
    try:
        if target.exists():
            shutil.copymode(target, temporary)
        yield temporary
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_new(target: Path, text: str) -> bool:
    """Write a whole file, unless it exists; if several processes do so at once, one succeeds.

    Returns
    -------
    bool
        Whether it was written.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "run.json"
    >>> write_new(target, "first"), write_new(target, "second"), target.read_text()
    (True, False, 'first')
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{secrets.token_hex(8)}{target.suffix}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, target)
        except FileExistsError:
            return False
        except OSError:  # a disk without hard links
            if target.exists():
                return False
            temporary.replace(target)
        return True
    finally:
        temporary.unlink(missing_ok=True)

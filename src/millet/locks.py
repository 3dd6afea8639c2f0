"""Locks: one process at a time, by a file that the system releases when its holder dies."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from millet.errors import StorageError

# Windows locks bytes, and locked bytes can't be read: so it is one far behind the holder's name.
_LOCKED_BYTE = 1 << 20


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock file `path`, and write the holder's name into it.

    Parameters
    ----------
    path : Path
        The lock file; its folder must exist. It is left there, since removing it could let two processes in.
    wait : bool, default=True
        Whether to wait for another holder, or to refuse at once.

    Raises
    ------
    StorageError
        If another process holds it and `wait` is False; the message names that process.

    Examples
    --------
    >>> import tempfile
    >>> lock = Path(tempfile.mkdtemp()) / "lock"
    >>> with locked(lock):  # doctest: +ELLIPSIS
    ...     with locked(lock, wait=False):
    ...         pass
    Traceback (most recent call last):
    millet.errors.StorageError: ... is in use by process ...
    """
    with path.open("a+b") as file:
        if not _acquire(file, wait=wait):
            file.seek(0)
            holder = file.read(200).decode(errors="replace") or "another process"
            raise StorageError(f"{path.parent} is in use by {holder}. Wait until it has ended, or end it.")
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()}".encode())
        file.flush()
        yield


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Lock a folder itself, which leaves no file behind, where the system can lock folders: not on Windows."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems can't
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a process forked in the meantime holds it too
        os.close(descriptor)


def _acquire(file: IO[bytes], *, wait: bool) -> bool:
    if sys.platform == "win32":
        import msvcrt

        file.seek(_LOCKED_BYTE)
        while True:
            with contextlib.suppress(OSError):  # LK_LOCK gives up after ten seconds
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
                return True
            if not wait:
                return False
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

"""Memory: keep what a training step frees, because the next step needs it again.

Left to itself, glibc gives large blocks back to the system at once, and every step pays for fresh pages: a third of
the time of a light network.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # the numbers that malloc.h gives these options
_KEEP = 1 << 30
# Left to itself, glibc raises its limits up to these as large blocks are freed; once set, it leaves them as they are.
_USUAL_MMAP, _USUAL_TRIM = 32 << 20, 64 << 20


@contextmanager
def reusing_memory() -> Iterator[None]:
    """Keep freed memory with this process inside the block, and give it back afterwards.

    Where the C library is not glibc, nothing happens.

    Examples
    --------
    >>> with reusing_memory():
    ...     _ = bytearray(1 << 24)
    """
    library = _glibc()
    if library is None:
        yield
        return
    # Older versions refuse to keep blocks of more than 32 MB.
    if not library.mallopt(_MMAP_THRESHOLD, _KEEP) and not library.mallopt(_MMAP_THRESHOLD, _USUAL_MMAP):
        yield
        return
    library.mallopt(_TRIM_THRESHOLD, _KEEP)
    try:
        yield
    finally:
        library.mallopt(_MMAP_THRESHOLD, _USUAL_MMAP)
        library.mallopt(_TRIM_THRESHOLD, _USUAL_TRIM)
        library.malloc_trim(0)


@cache
def _glibc() -> Any:
    try:
        library = ctypes.CDLL("libc.so.6")
    except OSError:
        return None
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None

"""Compiled functions: Numba without the interpreter's lock, kept on disk between runs.

The functions never start threads themselves: `millet.rocket.threads` and `millet.nn.loops` run them on several. So
they can be called from any thread and in any worker process, which Numba's own thread pools do not always allow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function on its first call; the order of its floating point operations stays as written."""
    return _compile(function, fastmath=False)


def compiled_reduction(function: Function) -> Function:
    """Compile a function whose sums may be reordered: only for sums that are exact in any order."""
    return _compile(function, fastmath={"reassoc", "nsz"})


def compiled_for_networks(function: Function) -> Function:
    """Compile a function whose sums may be reordered and fused, as those of networks and their gradients are."""
    return _compile(function, fastmath={"reassoc", "nsz", "contract"})


def _compile(function: Function, fastmath: bool | set[str]) -> Function:
    options = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        compiled_function: Function = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # nowhere to write: a read-only installation, and a user without a home
        compiled_function = numba.njit(**options)(function)
    return compiled_function

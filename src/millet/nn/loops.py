"""Compiled loops over tensors: on torch's own threads, in double, single and bfloat16 precision.

A loop that goes through memory once, and finishes each row while it is in the cache, is a few times faster than a
chain of torch's operations. It takes its share of the rows, ``loop(first, stop)``, and runs on the threads that torch
itself computes with: any others would have to wait for these, which keep their cores busy for a while after each
operation.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import types
from numba.extending import overload
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]
Loop = Callable[[int, int], Any]

PRECISIONS = (torch.float64, torch.float32, torch.bfloat16)
# Rows with fewer values than this in all are done before a second thread has begun.
WORTH_SHARING = 1 << 15


def can_loop(x: Tensor) -> bool:
    """Whether compiled loops can read a tensor; torch's compiler can't follow them."""
    return x.device.type == "cpu" and x.dtype in PRECISIONS and not torch.compiler.is_compiling()


def array_of(tensor: Tensor) -> Array:
    """Return the values of a contiguous tensor, to read and write; for bfloat16, which NumPy lacks, the bits."""
    tensor = tensor.detach()
    values: Array = (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()
    return values


def real_array(tensor: Tensor, like: Tensor) -> Array:
    """Return parameters in the precision in which loops compute on values like these: single or double."""
    values: Array = tensor.detach().to(torch.promote_types(like.dtype, torch.float32)).numpy()
    return values


def wide(value: Any) -> Any:
    """Return an array's element as a number, whatever the array's precision; in compiled loops only."""


def narrow(value: Any, like: Any) -> Any:
    """Return a number as an array like this holds it, rounded half to even; in compiled loops only."""


# Numba requires identical signatures, annotations included. It inlines these into loops in other files, whose
# compiled forms on disk do not notice a change here: `make clean` removes them.
@overload(wide, inline="always")  # type: ignore[untyped-decorator]
def _wide(value: Any) -> Any:
    def of_bits(value: Any) -> Any:
        return np.uint32(np.uint32(value) << np.uint32(16)).view(np.float32)

    def as_it_is(value: Any) -> Any:
        return value

    return of_bits if isinstance(value, types.Integer) else as_it_is


@overload(narrow, inline="always")  # type: ignore[untyped-decorator]
def _narrow(value: Any, like: Any) -> Any:
    def to_bits(value: Any, like: Any) -> Any:
        bits = np.float32(value).view(np.uint32)
        rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
        # Rounding could turn a NaN into a number.
        return np.uint16(rounded if value == value else np.uint32(0x7FC0))

    def as_it_is(value: Any, like: Any) -> Any:
        return value

    return to_bits if isinstance(like.dtype, types.Integer) else as_it_is


def share(loop: Loop, n_rows: int, n_values: int) -> None:
    """Run ``loop(first, stop)`` for all rows, a part of them on each thread.

    Parameters
    ----------
    loop : callable
        Calls a compiled function, which releases the interpreter.
    n_rows, n_values : int
        How many rows there are, and how many values in all of them together.

    Examples
    --------
    >>> seen = []
    >>> share(lambda first, stop: seen.extend(range(first, stop)), n_rows=5, n_values=1 << 20)
    >>> sorted(seen)
    [0, 1, 2, 3, 4]
    """
    n_threads = min(torch.get_num_threads(), n_rows)
    team = _team() if n_threads > 1 and n_values >= WORTH_SHARING else None
    if team is None:
        loop(0, n_rows)
        return
    done: list[int] = []
    errors: list[BaseException] = []

    def work(_: object) -> None:
        try:
            number, size = team.number(), team.size()
            first, stop = number * n_rows // size, (number + 1) * n_rows // size
            loop(first, stop)
            done.append(stop - first)
        except BaseException as error:  # it can't leave another library's thread by itself
            errors.append(error)

    team.run(_WORK(work), None, n_threads, 0)
    if errors:
        raise errors[0]
    if sum(done) < n_rows:
        # A signal came before the first line of `work`, where nothing catches what its handler raises.
        raise KeyboardInterrupt


class _Team(NamedTuple):
    run: Callable[..., None]
    number: Callable[[], int]
    size: Callable[[], int]


_WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@cache
def _team() -> _Team | None:
    """Return torch's threads, through the functions that code compiled by GCC calls; None where torch has others."""
    try:
        openmp = ctypes.CDLL(_openmp_of_torch())
        run = openmp.GOMP_parallel
        run.argtypes, run.restype = [_WORK, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None
        return _Team(run, openmp.omp_get_thread_num, openmp.omp_get_num_threads)
    except (OSError, AttributeError):
        return None


def _openmp_of_torch() -> str:
    bundled = sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*"))
    if not bundled:
        raise FileNotFoundError("This build of torch brings no OpenMP of GCC.")
    return str(bundled[0])

"""Watching: whether somebody looks at a terminal or notebook, and a bar for slow work."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def someone_watches() -> bool:
    """Whether standard error is a terminal, or this is a notebook; without a console there is no standard error."""
    return (sys.stderr is not None and sys.stderr.isatty()) or "ipykernel" in sys.modules


def slow_work(items: Sequence[T], unit: str, *, show: bool) -> Iterable[T]:
    """Iterate with a bar that appears once the work has taken two seconds."""
    from tqdm.auto import tqdm

    bar: Iterable[T] = tqdm(items, unit=unit, delay=2, leave=False, disable=not (show and someone_watches()))
    return bar

"""Turns: what torch keeps for the whole process, its random generator and number of threads, is used one by one.

Otherwise the seed of one training in a thread would land in the middle of another, and the weights would be others.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

TURN = threading.RLock()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from torch's own generator as this seed has it; afterwards it is as it was.

    Examples
    --------
    >>> with seeded(0):
    ...     first = torch.rand(1)
    >>> with seeded(0):
    ...     print(bool(torch.rand(1) == first))
    True
    """
    with TURN, torch.random.fork_rng():
        torch.manual_seed(seed)
        yield

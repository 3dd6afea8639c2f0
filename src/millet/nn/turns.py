"""Turns: what torch keeps for the whole process, its number of threads and random generator, is used one by one.

Otherwise the seed of one training in a thread would land in the middle of another, and the weights would be others.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

# Whoever trains has the first for long, and the second for an epoch at a time; all others need the second, briefly.
_training = threading.RLock()
_generator = threading.RLock()


def _renew() -> None:
    """Forget who had a turn: threads of the parent, which a forked process does not have."""
    global _training, _generator
    _training, _generator = threading.RLock(), threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


@contextmanager
def turn_to_train() -> Iterator[None]:
    """Wait until no other thread trains; no one may have this who waits for what another thread trains."""
    with _training:
        yield


@contextmanager
def seeded(seed: int, device: str = "cpu") -> Iterator[None]:
    """Draw from torch's own generator as this seed has it; afterwards it is as it was.

    Parameters
    ----------
    seed : int
    device : str
        The type of device that draws. Those of others are not touched on a CPU.

    Examples
    --------
    >>> with seeded(0):
    ...     first = torch.rand(1)
    >>> with seeded(0):
    ...     print(bool(torch.rand(1) == first))
    True
    """
    is_cpu = device == "cpu"
    with _generator, torch.random.fork_rng(devices=[] if is_cpu else None):
        if is_cpu:
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)
        yield

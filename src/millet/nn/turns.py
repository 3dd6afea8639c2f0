"""Turns: what torch keeps per process, its number of threads and random generator, is used by one thread at a time.

Otherwise the seed of a training in one thread would land in the middle of another, and change its weights.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

# Whoever trains holds the first for long, and the second for an epoch at a time; all others need the second, briefly.
_training = threading.RLock()
_generator = threading.RLock()


def _renew() -> None:
    """Forget who had a turn: threads of the parent process, which a forked one does not have."""
    global _training, _generator
    _training, _generator = threading.RLock(), threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


@contextmanager
def turn_to_train() -> Iterator[None]:
    """Wait until no other thread trains; never hold this while waiting for another thread to train."""
    with _training:
        yield


@contextmanager
def seeded(seed: int, device: str = "cpu") -> Iterator[None]:
    """Draw from torch's own generator with this seed, and restore the generator afterwards.

    Parameters
    ----------
    seed : int
    device : str
        The type of device that draws. For "cpu", the generators of other devices are left alone.

    Examples
    --------
    >>> with seeded(0):
    ...     first = torch.rand(1)
    >>> with seeded(0):
    ...     print(bool(torch.rand(1) == first))
    True
    """
    is_cpu = device == "cpu"
    with _generator, torch.random.fork_rng(devices=[] if is_cpu else None, device_type="cuda" if is_cpu else device):
        if is_cpu:
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)
        yield

"""Measuring: pieces of work that take turns, what a training step costs, and the best that this machine can do.

Used by `benchmarks/engine.py` and `benchmarks/growth.py`.
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from millet.training import make_fabric
from millet.training.memory import reusing_memory

Work = Callable[[], object]
# Wide enough to keep any processor busy; which of them is fastest depends on the processor.
CONVOLUTIONS = ((64, 64, 9), (128, 128, 5), (128, 256, 5), (256, 256, 3), (256, 256, 1))


def medians(works: dict[str, Work], n_rounds: int) -> dict[str, float]:
    """Return the median seconds of each piece of work; they take turns.

    Freed memory is kept for all alike: with fresh pages, the same work would cost more in one turn than in another.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    with reusing_memory():
        for turn in range(n_rounds + 1):
            for name, work in works.items():
                start = time.perf_counter()
                work()
                if turn > 0:  # Imports and first allocations have a round of their own.
                    seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def logits_of(output: tuple[Tensor, ...]) -> Tensor:
    """Return the logits, which come first in the output of our networks and of the plain ones."""
    return output[0]


def training_step(network: nn.Module, x: Tensor, target: Tensor, precision: str = "32-true") -> Work:
    """Return one step of Adam on a batch, as work to be timed."""
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    fabric = make_fabric("cpu", precision)
    network.train()

    def step() -> None:
        optimizer.zero_grad()
        with fabric.autocast():
            loss = F.cross_entropy(logits_of(network(x)).float(), target)
        loss.backward()
        optimizer.step()

    return step


def count_flops(network: nn.Module, shape: tuple[int, ...], *, backward: bool) -> int:
    """Return the floating-point operations of a pass over (B, C, T), counted without computing anything."""
    network = copy.deepcopy(network).to("meta")
    counter = FlopCounterMode(display=False)
    with counter:
        logits = logits_of(network(torch.empty(shape, device="meta")))
        if backward:
            F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long, device="meta")).backward()
    return int(counter.get_total_flops())


def best_convolution(batch_size: int, n_timepoints: int, n_rounds: int, dtype: torch.dtype = torch.float32) -> float:
    """Return the operations per second of the fastest of several convolutions, forwards: the measured peak."""
    works: dict[str, Work] = {}
    operations: dict[str, int] = {}
    for n_in, n_out, kernel_size in CONVOLUTIONS:
        name = f"{n_in} to {n_out}, {kernel_size} taps"
        x = torch.randn(batch_size, n_in, n_timepoints + kernel_size - 1, dtype=dtype)
        weight = torch.randn(n_out, n_in, kernel_size, dtype=dtype)
        works[name] = partial(F.conv1d, x, weight)
        operations[name] = 2 * batch_size * n_timepoints * weight.numel()
    taken = medians(works, n_rounds)
    return max(operations[name] / seconds for name, seconds in taken.items())

"""Processes: what the ones that share a batch must agree on."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def several_processes() -> bool:
    """Whether this batch is shared with other processes."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


class _SumOverProcesses(torch.autograd.Function):
    """The sum of a tensor over all processes; its gradient is summed over them too."""

    @staticmethod
    def forward(ctx: Any, part: Tensor) -> Tensor:
        total = part.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        total = gradient.clone()
        dist.all_reduce(total)
        return total


def over_processes(part: Tensor) -> Tensor:
    """Sum over the processes that share a batch."""
    if not several_processes():
        return part
    total: Tensor = _SumOverProcesses.apply(part)  # type: ignore[no-untyped-call]
    return total


def most_of_processes(count: int, device: torch.device) -> int:
    """Return the largest of the processes' counts."""
    if not several_processes():
        return count
    most = torch.tensor(count, device=device)
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    return int(most)

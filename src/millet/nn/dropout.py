"""Dropout whose mask is the same whether one process has a batch or several share it."""

from __future__ import annotations

from typing import Any, final

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


@final
class BatchDropout(nn.Module):
    """Dropout whose mask is drawn for a whole batch, of which this process may have only some rows.

    `rows` is (the slice of the batch that this process has, the batch's size); None where it has the whole batch.
    Processes that draw from equal generators then drop what a single process would. `generator` is where numbers are
    drawn from; None is torch's own, which threads share.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.rows: tuple[slice, int] | None = None
        self.generator: torch.Generator | None = None

    def forward(self, z: Tensor) -> Tensor:
        """Drop values of (B, T, D) in training; scale the others to keep the mean."""
        if not self.training or self.rate == 0:
            return z
        here, n_rows = self.rows or (slice(None), len(z))
        if z.device.type != "cpu":
            kept = torch.empty((n_rows, *z.shape[1:]), dtype=z.dtype, device=z.device)
            kept.bernoulli_(1 - self.rate, generator=self.generator)
            return z * kept[here].div_(1 - self.rate)
        dice = _roll(n_rows, z, self.generator)[here]
        dropped: Tensor = _Dropout.apply(z, dice, self.rate)  # type: ignore[no-untyped-call]
        return dropped


def _roll(n_rows: int, like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return a number from 0 to 65535 for each value, all equally likely: four from each draw of 64 bits."""
    per_row = like.shape[1] * like.shape[2]  # a process may have no row at all
    draws = torch.empty(-(-n_rows * per_row // 4), dtype=torch.int64)
    draws.random_(-(1 << 63), (1 << 63) - 1, generator=generator)
    numbers = draws.view(torch.int16)[: n_rows * per_row].to(torch.float32).add_(1 << 15)
    # In the order of the values in memory: the mask is just as good, and what follows reads memory sequentially.
    swapped = like.transpose(1, 2)
    if swapped.is_contiguous():
        return numbers.view(n_rows, *swapped.shape[1:]).transpose(1, 2)
    return numbers.view(n_rows, *like.shape[1:])


class _Dropout(torch.autograd.Function):
    """Keep and scale the values whose dice are high enough, by arithmetic on floats: booleans are slow on CPUs."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, dice: Tensor, rate: float) -> Tensor:
        ctx.save_for_backward(dice)
        ctx.rate = rate
        return _keep(z, dice, rate)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (dice,) = ctx.saved_tensors
        return _keep(gradient, dice, ctx.rate), None, None


def _keep(values: Tensor, dice: Tensor, rate: float) -> Tensor:
    kept: Tensor = torch.ops.aten.threshold_backward(values, dice.to(values.dtype), rate * (1 << 16) - 0.5)
    return kept.mul_(1 / (1 - rate))

"""The largest of each timepoint and its two neighbours, as quick as adding three numbers."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from millet.nn.convolution import extend


def max_pool_3(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Return the largest of each timepoint and its two neighbours inside the case: (B, C, T) to (B, C, T)."""
    if lengths is not None:
        # A replicated edge can't win against itself, so it stands for "nothing there" under every padding.
        wider = extend(x, 1, 1, lengths, "replicate")
        return _pool(wider)[:, :, 1:-1]
    return _pool(x)


def _pool(x: Tensor) -> Tensor:
    if x.device.type != "cpu" or x.shape[2] == 1:
        return F.max_pool1d(x, 3, stride=1, padding=1)
    pooled: Tensor = _MaxPool3.apply(x)  # type: ignore[no-untyped-call]
    return pooled


class _MaxPool3(torch.autograd.Function):
    """Two comparisons of the series with itself, moved by one; CPUs search windows for their maximum far slower.

    The gradient goes to the leftmost of equal values, as torch's own does.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        of_pairs = torch.maximum(x[:, :, :-1], x[:, :, 1:])
        pooled = torch.empty_like(x, memory_format=torch.contiguous_format)
        torch.maximum(of_pairs[:, :, :-1], of_pairs[:, :, 1:], out=pooled[:, :, 1:-1])
        pooled[:, :, 0] = of_pairs[:, :, 0]
        pooled[:, :, -1] = of_pairs[:, :, -1]
        ctx.save_for_backward(x, pooled)
        return pooled

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        of_x = torch.empty_like(gradient, memory_format=torch.contiguous_format)
        # One case after the other, each of which stays in the CPU's cache.
        for of_case, of_pooled, x, pooled in zip(of_x, gradient, *ctx.saved_tensors, strict=True):
            _share_out(of_pooled, x, pooled, out=of_case)
        return of_x


def _share_out(gradient: Tensor, x: Tensor, pooled: Tensor, out: Tensor) -> None:
    """Give the gradient of (C, T) maxima to the values that they were."""
    not_left = gradient.clone(memory_format=torch.contiguous_format)
    not_left[:, 1:] = _where_positive(gradient[:, 1:], pooled[:, 1:] - x[:, :-1])
    right = _where_positive(not_left, pooled - x)
    torch.sub(not_left, right, out=out)
    out[:, :-1] += gradient[:, 1:] - not_left[:, 1:]
    out[:, 1:] += right[:, :-1]


def _where_positive(gradient: Tensor, difference: Tensor) -> Tensor:
    """Return the gradient where the difference is above 0, else 0: far quicker on CPUs than through booleans."""
    return torch.ops.aten.threshold_backward(gradient, difference, 0)  # type: ignore[no-any-return]

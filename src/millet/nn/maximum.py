"""The largest of each timepoint and its two neighbours, as quick as adding three numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from millet.compiled import compiled_for_networks
from millet.nn.convolution import extend
from millet.nn.loops import Array, array_of, can_loop, narrow, real_array, share, wide


def max_pool_3(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Return the largest of each timepoint and its two neighbours inside the case: (B, C, T) to (B, C, T)."""
    if lengths is not None:
        # A replicated edge can't exceed itself, so it stands for "nothing there" under every padding.
        wider = extend(x, 1, 1, lengths, "replicate")
        return _pool(wider)[:, :, 1:-1]
    return _pool(x)


def _pool(x: Tensor) -> Tensor:
    if not can_loop(x) or x.shape[2] == 1:
        return F.max_pool1d(x, 3, stride=1, padding=1)
    pooled: Tensor = _MaxPool3.apply(x)  # type: ignore[no-untyped-call]
    return pooled


class _MaxPool3(torch.autograd.Function):
    """One pass over the series, forward and backward; torch searches every window and keeps each maximum's place.

    The gradient goes to the leftmost of equal values, as torch's own does.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.contiguous()
        pooled = torch.empty_like(x)
        rows, out = array_of(x.flatten(0, 1)), array_of(pooled.flatten(0, 1))
        share(lambda first, stop: _pool_rows(rows[first:stop], out[first:stop]), len(rows), rows.size)
        ctx.save_for_backward(x)
        return pooled

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        of_x = torch.empty_like(x)
        rows, out = array_of(x.flatten(0, 1)), array_of(of_x.flatten(0, 1))
        (zero,) = real_array(torch.zeros(1), x)
        given = array_of(gradient.to(x.dtype).contiguous().flatten(0, 1))
        share(
            lambda first, stop: _give_back(rows[first:stop], given[first:stop], out[first:stop], zero),
            len(rows),
            rows.size,
        )
        return of_x


@compiled_for_networks
def _pool_rows(rows: Array, out: Array) -> None:
    n_rows, n = rows.shape
    for i in range(n_rows):
        row, pooled = rows[i], out[i]
        left, middle, right, inner = row[: n - 2], row[1 : n - 1], row[2:n], pooled[1 : n - 1]
        for t in range(n - 2):
            a, b, c = wide(left[t]), wide(middle[t]), wide(right[t])
            b = a if a > b else b  # a NaN in the middle stays
            inner[t] = narrow(c if c > b else b, rows)
        pooled[0] = row[1] if wide(row[1]) > wide(row[0]) else row[0]
        pooled[n - 1] = row[n - 2] if wide(row[n - 2]) > wide(row[n - 1]) else row[n - 1]


@compiled_for_networks
def _give_back(rows: Array, given: Array, out: Array, zero: float) -> None:
    """Give each value the gradients of those of the three windows around it in which it is the leftmost maximum."""
    n_rows, n = rows.shape
    padded = np.full(n + 4, zero)  # two values beyond either end, which are never a maximum
    padded[:2] = padded[n + 2 :] = -np.inf
    gradient = np.full(n + 2, zero)
    for i in range(n_rows):
        for t in range(n):
            padded[t + 2] = wide(rows[i, t])
            gradient[t + 1] = wide(given[i, t])
        before, left, own, right, after = (
            padded[:n],
            padded[1 : n + 1],
            padded[2 : n + 2],
            padded[3 : n + 3],
            padded[4:],
        )
        of_left, of_own, of_right, row = gradient[:n], gradient[1 : n + 1], gradient[2:], out[i]
        for t in range(n):
            above_left, not_below_right = own[t] > left[t], own[t] >= right[t]
            total = of_left[t] if above_left and own[t] > before[t] else zero
            total += of_own[t] if above_left and not_below_right else zero
            total += of_right[t] if not_below_right and own[t] >= after[t] else zero
            row[t] = narrow(total, rows)

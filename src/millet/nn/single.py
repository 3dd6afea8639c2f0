"""Convolutions whose kernels each see a single channel: depthwise ones, and those on series of one channel.

In:  (B, C, T) values and kernels (M * C, 1, K), M for each channel. Out: (B, M * C, T), and gradients.

A row of a case fits the fastest cache of a CPU, and everything is done while it is there: it is extended beyond its
ends, convolved with all taps, and correlated with its gradient. Libraries made for many channels go through memory
once per tap, or copy every window.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from millet.compiled import compiled_for_networks
from millet.errors import SeriesError
from millet.nn.loops import Array, array_of, can_loop, narrow, real_array, share, wide

TAPS_AT_ONCE = 4


def convolve_single(
    x: Tensor, weight: Tensor, n_timepoints: int, dilation: int, left: int, lengths: Tensor | None
) -> Tensor:
    """Convolve each channel with its own kernels, with gradients.

    Parameters
    ----------
    x : Tensor of shape (B, C, U)
        On the CPU; shorter cases end at their `lengths`, and are continued with their last value.
    weight : Tensor of shape (M * C, 1, K)
        The first M kernels are for the first channel, and so on.
    n_timepoints : int
        Timepoints of the result, T.
    dilation : int
    left : int
        How far the first window reaches before the beginning, where the first value is repeated.
    lengths : Tensor of shape (B,), or None
        Where each case ends; None where all have U timepoints.

    Examples
    --------
    >>> x = torch.tensor([[[1.0, 2.0, 4.0]]])
    >>> convolve_single(x, torch.tensor([[[-1.0, 1.0]]]), 3, dilation=1, left=1, lengths=None)
    tensor([[[0., 1., 2.]]])
    """
    ends = torch.full((len(x),), x.shape[2]) if lengths is None else lengths
    if len(ends) and not (0 < int(ends.min()) <= int(ends.max()) <= x.shape[2]):  # compiled loops do not check
        raise SeriesError(f"Lengths must lie between 1 and {x.shape[2]}; got {int(ends.min())} to {int(ends.max())}.")
    values = x if can_loop(x) else x.float()
    convolved: Tensor = _SingleConvolution.apply(values, weight, ends, n_timepoints, dilation, left)  # type: ignore[no-untyped-call]
    return convolved.to(x.dtype)


class _SingleConvolution(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, ends: Tensor, n_timepoints: int, dilation: int, left: int
    ) -> Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x, weight, ends)
        ctx.dilation, ctx.left = dilation, left
        out = x.new_empty((len(x), len(weight), n_timepoints))
        how = array_of(ends.contiguous()), left, real_array(weight, x)[:, 0], dilation
        values, results = array_of(x), array_of(out)
        share(lambda first, stop: _convolve(values, *how, results, first, stop), len(weight), out.numel())
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None, None, None, None]:
        x, weight, ends = ctx.saved_tensors
        before = array_of(ends.contiguous()), ctx.left
        after = ctx.dilation, array_of(gradient.to(x.dtype).contiguous())
        of_x = of_weight = None
        if ctx.needs_input_grad[1]:
            values, sums = array_of(x), np.zeros_like(real_array(weight, x))
            share(
                lambda first, stop: _correlate(values, *before, sums[:, 0], *after, first, stop),
                len(weight),
                gradient.numel(),
            )
            of_weight = torch.from_numpy(sums).to(weight.dtype)
        if ctx.needs_input_grad[0]:
            of_x = torch.empty_like(x)
            results, kernels = array_of(of_x), real_array(weight, x)[:, 0]
            share(
                lambda first, stop: _spread(results, *before, kernels, *after, first, stop),
                x.shape[1],
                gradient.numel(),
            )
        return of_x, of_weight, None, None, None, None


@compiled_for_networks
def _convolve(
    x: Array, ends: Array, left: int, weight: Array, dilation: int, out: Array, first: int, stop: int
) -> None:
    n_cases, n_out, n_timepoints = out.shape
    n_kernels = n_out // x.shape[1]
    row = np.empty(n_timepoints + (weight.shape[1] - 1) * dilation, weight.dtype)
    result = np.empty(n_timepoints, weight.dtype)
    for case in range(n_cases):
        for kernel in range(first, stop):
            if kernel == first or kernel % n_kernels == 0:
                _extend(x[case, kernel // n_kernels], ends[case], left, row)
            result[:] = 0
            _add_taps(row, weight[kernel], dilation, result)
            _write(result, out[case, kernel])


@compiled_for_networks
def _correlate(
    x: Array, ends: Array, left: int, of_weight: Array, dilation: int, gradient: Array, first: int, stop: int
) -> None:
    """Add to each tap's gradient the products of the values it met with the gradients of the results it went into."""
    n_cases, n_out, n_timepoints = gradient.shape
    n_taps = of_weight.shape[1]
    n_kernels = n_out // x.shape[1]
    row = np.empty(n_timepoints + (n_taps - 1) * dilation, of_weight.dtype)
    given = np.empty(n_timepoints, of_weight.dtype)
    for case in range(n_cases):
        for kernel in range(first, stop):
            if kernel == first or kernel % n_kernels == 0:
                _extend(x[case, kernel // n_kernels], ends[case], left, row)
            _read(gradient[case, kernel], given)
            tap = 0
            while tap + TAPS_AT_ONCE <= n_taps:
                _add_four_products(given, row[tap * dilation :], dilation, of_weight[kernel, tap:])
                tap += TAPS_AT_ONCE
            while tap < n_taps:
                _add_product(given, row[tap * dilation :], of_weight[kernel, tap:])
                tap += 1


@compiled_for_networks
def _spread(
    of_x: Array, ends: Array, left: int, weight: Array, dilation: int, gradient: Array, first: int, stop: int
) -> None:
    """Convolve the gradient with the flipped kernels; what falls beyond an end is added to the value at that end."""
    n_cases, n_out, n_timepoints = gradient.shape
    n_kernels = n_out // of_x.shape[1]
    reach = (weight.shape[1] - 1) * dilation
    padded = np.zeros(n_timepoints + 2 * reach, weight.dtype)
    of_row = np.empty(n_timepoints + reach, weight.dtype)
    folded = np.empty(of_x.shape[2], weight.dtype)
    for case in range(n_cases):
        for channel in range(first, stop):
            of_row[:] = 0
            for kernel in range(channel * n_kernels, (channel + 1) * n_kernels):
                _read(gradient[case, kernel], padded[reach : reach + n_timepoints])
                _add_taps(padded, weight[kernel, ::-1].copy(), dilation, of_row)
            _fold(of_row, ends[case], left, folded)
            _write(folded, of_x[case, channel])


@compiled_for_networks
def _read(row: Array, out: Array) -> None:
    values = row[: out.size]
    for t in range(out.size):
        out[t] = wide(values[t])


@compiled_for_networks
def _write(row: Array, out: Array) -> None:
    result = out[: row.size]
    for t in range(row.size):
        result[t] = narrow(row[t], out)


@compiled_for_networks
def _extend(row: Array, end: int, left: int, extended: Array) -> None:
    inside = min(end, extended.size - left)
    extended[:left] = wide(row[0])
    _read(row, extended[left : left + inside])
    extended[left + inside :] = wide(row[end - 1])


@compiled_for_networks
def _fold(of_extended: Array, end: int, left: int, of_row: Array) -> None:
    inside = min(end, of_extended.size - left)
    of_row[:inside] = of_extended[left : left + inside]
    of_row[inside:] = 0
    of_row[0] += of_extended[:left].sum()
    of_row[end - 1] += of_extended[left + inside :].sum()


@compiled_for_networks
def _add_taps(row: Array, taps: Array, dilation: int, out: Array) -> None:
    tap = 0
    while tap + TAPS_AT_ONCE <= taps.size:
        _add_four_taps(row[tap * dilation :], taps[tap:], dilation, out)
        tap += TAPS_AT_ONCE
    while tap < taps.size:
        _add_tap(row[tap * dilation :], taps[tap], out)
        tap += 1


# Slices are exactly as long as the loop: else each index is checked for being negative, and nothing is vectorised.
@compiled_for_networks
def _add_four_taps(row: Array, taps: Array, dilation: int, out: Array) -> None:
    n, one, two, three = out.size, dilation, 2 * dilation, 3 * dilation
    a, b, c, d = row[:n], row[one : one + n], row[two : two + n], row[three : three + n]
    of_a, of_b, of_c, of_d = taps[0], taps[1], taps[2], taps[3]
    for t in range(n):
        out[t] += (of_a * a[t] + of_b * b[t]) + (of_c * c[t] + of_d * d[t])


@compiled_for_networks
def _add_tap(row: Array, tap: float, out: Array) -> None:
    seen = row[: out.size]
    for t in range(out.size):
        out[t] += tap * seen[t]


@compiled_for_networks
def _add_four_products(gradient: Array, row: Array, dilation: int, sums: Array) -> None:
    n, one, two, three = gradient.size, dilation, 2 * dilation, 3 * dilation
    a, b, c, d = row[:n], row[one : one + n], row[two : two + n], row[three : three + n]
    of_a, of_b, of_c, of_d = sums[0], sums[1], sums[2], sums[3]
    for t in range(n):
        of_a += gradient[t] * a[t]
        of_b += gradient[t] * b[t]
        of_c += gradient[t] * c[t]
        of_d += gradient[t] * d[t]
    sums[0], sums[1], sums[2], sums[3] = of_a, of_b, of_c, of_d


@compiled_for_networks
def _add_product(gradient: Array, row: Array, sums: Array) -> None:
    seen = row[: gradient.size]
    total = sums[0]
    for t in range(gradient.size):
        total += gradient[t] * seen[t]
    sums[0] = total

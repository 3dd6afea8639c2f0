"""Batch normalisation that counts valid timepoints only, over all processes that share a batch."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from millet.compiled import compiled_for_networks
from millet.nn.convolution import Affine
from millet.nn.loops import Array, array_of, can_loop, narrow, real_array, share, wide
from millet.nn.processes import over_processes, several_processes
from millet.nn.recomputation import recomputing

# Size of a group of channels, which should fit a core's second-level cache.
GROUP_BYTES = 1 << 18
# With fewer values torch's own normalisation is as quick: what a loop saves on memory, calling it costs.
WORTH_LOOPING = 1 << 16


@final
class ValidBatchNorm1d(nn.BatchNorm1d):
    """Batch normalisation whose statistics count valid timepoints only, over all processes that share the batch."""

    def forward(self, x: Tensor, valid: Tensor | None = None, *, relu: bool = False) -> Tensor:
        """Normalise (B, C, T), and cut off what is negative if asked to.

        `valid` (B, 1, T) is True inside each case; None where all timepoints are.
        """
        if not self.training:
            normalised = super().forward(x)
        elif valid is None and not several_processes() and x.shape[0] * x.shape[2] > 1:
            return self._normalise_all(x, relu)
        else:
            normalised = self._normalise_valid(
                x, torch.ones_like(x[:, :1], dtype=torch.bool) if valid is None else valid
            )
        return torch.relu_(normalised) if relu else normalised

    def scale_and_shift(self) -> Affine:
        """Return what normalising amounts to in inference: a scale and a shift of each channel."""
        assert self.running_mean is not None
        assert self.running_var is not None
        scale = self.weight * torch.rsqrt(self.running_var + self.eps)
        return Affine(scale, self.bias - self.running_mean * scale)

    def _normalise_all(self, x: Tensor, relu: bool) -> Tensor:
        if can_loop(x) and x.numel() >= WORTH_LOOPING:
            normalised, mean, variance = _Normalisation.apply(x, self.weight, self.bias, self.eps, relu)  # type: ignore[no-untyped-call]
            self._count(mean, variance, torch.tensor(float(x.shape[0] * x.shape[2])))
            return normalised  # type: ignore[no-any-return]
        if not recomputing():
            normalised = super().forward(x)
        else:
            assert self.running_mean is not None
            assert self.running_var is not None
            mean, variance = self.running_mean.clone(), self.running_var.clone()
            normalised = F.batch_norm(x, mean, variance, self.weight, self.bias, training=True, eps=self.eps)
        return torch.relu_(normalised) if relu else normalised

    def _normalise_valid(self, x: Tensor, valid: Tensor) -> Tensor:
        dtype = x.dtype
        x = x.to(torch.promote_types(dtype, torch.float32))  # sums in half precision would be too inexact
        count = over_processes(valid.sum().to(x.dtype))
        mean = over_processes((x * valid).sum((0, 2))) / count
        centred = x - mean[:, None]
        variance = over_processes((centred.square() * valid).sum((0, 2))) / count
        self._count(mean.detach(), variance.detach(), count)
        scaled = centred * torch.rsqrt(variance + self.eps)[:, None]
        return (scaled * self.weight[:, None] + self.bias[:, None]).to(dtype)

    def _count(self, mean: Tensor, variance: Tensor, count: Tensor) -> None:
        """Update the running statistics by those of a batch, unless they have counted it already."""
        if recomputing():
            return
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        with torch.no_grad():
            self.num_batches_tracked += 1
            momentum = 1 / int(self.num_batches_tracked) if self.momentum is None else self.momentum
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), momentum)
            unbiased = variance * (count / (count - 1).clamp(min=1))
            self.running_var.lerp_(unbiased.to(self.running_var.dtype), momentum)


class _Normalisation(torch.autograd.Function):
    """Normalise each channel of (B, C, T) by its own mean and variance, all in one go while it is in the cache."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, relu: bool) -> tuple[Tensor, ...]:
        x = x.contiguous()
        normalised = torch.empty_like(x)
        mean, variance = torch.empty(2, x.shape[1], dtype=torch.float64)
        ctx.save_for_backward(x, weight, bias, mean, variance)
        ctx.mark_non_differentiable(mean, variance)
        ctx.eps, ctx.relu = eps, relu
        parameters = (
            real_array(weight, x),
            real_array(bias, x),
            mean.numpy(),
            variance.numpy(),
            eps,
            relu,
            _group_size(x),
        )
        values, out = array_of(x), array_of(normalised)
        share(lambda first, stop: _normalise(values, *parameters, out, first, stop), x.shape[1], x.numel())
        return normalised, mean, variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, mean, variance = ctx.saved_tensors
        of_x = torch.empty_like(x)
        of_weight, of_bias = torch.empty(2, x.shape[1], dtype=torch.float64)
        statistics = mean.numpy(), variance.numpy(), ctx.eps
        parameters = real_array(weight, x), real_array(bias, x), *statistics, ctx.relu, _group_size(x)
        values, given = array_of(x), array_of(gradient.to(x.dtype).contiguous())
        results = array_of(of_x), of_weight.numpy(), of_bias.numpy()
        share(
            lambda first, stop: _give_back(values, given, *parameters, *results, first, stop), x.shape[1], x.numel()
        )
        return of_x, of_weight.to(weight.dtype), of_bias.to(bias.dtype), None, None


@compiled_for_networks
def _normalise(
    x: Array,
    weight: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    eps: float,
    relu: bool,
    size: int,
    out: Array,
    first: int,
    stop: int,
) -> None:
    n_cases, _, n_timepoints = x.shape
    count = n_cases * n_timepoints
    real = weight.dtype.type
    lowest = real(0) if relu else real(-np.inf)
    while first < stop:
        group = range(first, min(first + size, stop))
        mean[first : group.stop] = variance[first : group.stop] = 0
        for case in range(n_cases):
            for channel in group:
                mean[channel] += _sum(x[case, channel], real(0)) / count
        for case in range(n_cases):
            for channel in group:
                variance[channel] += _sum_of_squares(x[case, channel], real(mean[channel])) / count
        for case in range(n_cases):
            for channel in group:
                scale = weight[channel] / np.sqrt(variance[channel] + eps)
                shift = bias[channel] - mean[channel] * scale
                _scale(x[case, channel], real(scale), real(shift), lowest, out[case, channel])
        first = group.stop


@compiled_for_networks
def _give_back(
    x: Array,
    gradient: Array,
    weight: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    eps: float,
    relu: bool,
    size: int,
    of_x: Array,
    of_weight: Array,
    of_bias: Array,
    first: int,
    stop: int,
) -> None:
    n_cases, _, n_timepoints = x.shape
    count = n_cases * n_timepoints
    real = weight.dtype.type
    lowest = real(0) if relu else real(-np.inf)
    while first < stop:
        group = range(first, min(first + size, stop))
        of_weight[first : group.stop] = of_bias[first : group.stop] = 0
        for case in range(n_cases):
            for channel in group:
                inverse = 1 / np.sqrt(variance[channel] + eps)
                scale = weight[channel] * inverse
                own = real(mean[channel]), real(scale), real(bias[channel] - mean[channel] * scale), lowest
                of_shift, of_scale = _sums_of_gradients(x[case, channel], gradient[case, channel], own)
                of_bias[channel] += of_shift
                of_weight[channel] += of_scale * inverse
        for case in range(n_cases):
            for channel in group:
                inverse = 1 / np.sqrt(variance[channel] + eps)
                scale = weight[channel] * inverse
                own = real(mean[channel]), real(scale), real(bias[channel] - mean[channel] * scale), lowest
                by_value = real(-scale * inverse * of_weight[channel] / count)
                by_all = real(-scale * of_bias[channel] / count)
                _gradient_of_row(
                    x[case, channel], gradient[case, channel], own, by_value, by_all, of_x[case, channel]
                )
        first = group.stop


def _group_size(x: Tensor) -> int:
    """Return how many channels are taken together: few enough for the cache, enough to read memory in long runs."""
    return max(1, GROUP_BYTES // (x.shape[0] * x.shape[2] * x.itemsize))


@compiled_for_networks
def _sum(row: Array, total: float) -> float:
    for t in range(row.size):
        total += wide(row[t])
    return total


@compiled_for_networks
def _sum_of_squares(row: Array, mean: float) -> float:
    total = mean - mean
    for t in range(row.size):
        centred = wide(row[t]) - mean
        total += centred * centred
    return total


@compiled_for_networks
def _scale(row: Array, scale: float, shift: float, lowest: float, out: Array) -> None:
    result = out[: row.size]
    for t in range(row.size):
        value = scale * wide(row[t]) + shift
        result[t] = narrow(lowest if value < lowest else value, out)  # NaN stays


@compiled_for_networks
def _sums_of_gradients(row: Array, gradient: Array, own: tuple[float, ...]) -> tuple[float, float]:
    mean, scale, shift, lowest = own
    zero = scale - scale
    of_shift = of_scale = zero
    given = gradient[: row.size]
    for t in range(row.size):
        value = wide(row[t])
        kept = wide(given[t]) if scale * value + shift > lowest else zero
        of_shift += kept
        of_scale += kept * (value - mean)
    return of_shift, of_scale


@compiled_for_networks
def _gradient_of_row(
    row: Array, gradient: Array, own: tuple[float, ...], by_value: float, by_all: float, out: Array
) -> None:
    mean, scale, shift, lowest = own
    zero = scale - scale
    given, result = gradient[: row.size], out[: row.size]
    for t in range(row.size):
        value = wide(row[t])
        kept = wide(given[t]) if scale * value + shift > lowest else zero
        result[t] = narrow(scale * kept + by_value * (value - mean) + by_all, out)

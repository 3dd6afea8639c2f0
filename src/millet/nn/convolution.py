"""Convolutions that know where each case ends.

In:  (B, C, T) values and, for cases of unequal length in one batch, their lengths (B,).
Out: the same shape, exact at every valid timepoint: what lies beyond a case's end never leaks in.

`lengths=None` means that all cases fill the batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from millet.errors import SeriesError, lookup
from millet.nn.single import convolve_single


def _clamp(index: Tensor, last: Tensor) -> Tensor:
    return torch.minimum(index.clamp(min=0), last)


def _fold(index: Tensor, last: Tensor) -> Tensor:
    period = (2 * last).clamp(min=1)
    wrapped = index.abs() % period
    return torch.minimum(wrapped, period - wrapped).clamp(min=0) * (last > 0)


def _wrap(index: Tensor, last: Tensor) -> Tensor:
    return index % (last + 1)


# A CPU replicates the edges of fewer values as quickly by torch's own padding.
MANY_VALUES = 32_768

# Which timepoint of the case stands in for one outside it; for zeros, the replicated edge is blanked afterwards.
PADDINGS = {"replicate": _clamp, "zeros": _clamp, "reflect": _fold, "circular": _wrap}


def extend(x: Tensor, left: int, right: int, lengths: Tensor | None, padding: str) -> Tensor:
    """Pad each case at its own two ends.

    Parameters
    ----------
    x : Tensor of shape (B, C, T)
    left, right : int
        How many timepoints to add on either side.
    lengths : Tensor of shape (B,), or None
        Where each case ends; None where all have T timepoints.
    padding : {"replicate", "zeros", "reflect", "circular"}

    Returns
    -------
    Tensor of shape (B, C, left + T + right)
        Each case's values between paddings of its own, and beyond these something finite.
    """
    source_of = lookup("padding", padding, PADDINGS)
    n_timepoints = x.shape[2]
    many = x.device.type == "cpu" and x.numel() >= MANY_VALUES and not torch.compiler.is_compiling()
    if lengths is None and padding == "replicate" and many:
        replicated: Tensor = _Replication.apply(x, left, right)  # type: ignore[no-untyped-call]
        return replicated
    if lengths is None and padding in ("replicate", "zeros"):
        with torch.autocast("cpu", enabled=False):  # which would convert lower precisions to single
            return F.pad(x, (left, right), mode="constant" if padding == "zeros" else "replicate")
    if lengths is None:
        lengths = torch.full((len(x),), n_timepoints, device=x.device)
    where = torch.arange(-left, n_timepoints + right, device=x.device)[None]  # (1, left + T + right)
    last = (lengths - 1)[:, None]
    index = source_of(where, last)
    extended = x.gather(2, index[:, None].expand(-1, x.shape[1], -1))
    if padding == "zeros":
        extended = extended * ((where >= 0) & (where <= last))[:, None]
    return extended


class _Replication(torch.autograd.Function):
    """Replicate both edges of (B, C, T); what lies between is copied in one go, where torch copies value by value."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, left: int, right: int) -> Tensor:
        ctx.left, ctx.n_timepoints = left, x.shape[2]
        end = left + x.shape[2]
        extended = x.new_empty(*x.shape[:2], end + right)
        extended[:, :, left:end] = x
        extended[:, :, :left] = x[:, :, :1]
        extended[:, :, end:] = x[:, :, -1:]
        return extended

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        end = ctx.left + ctx.n_timepoints
        of_x = gradient[:, :, ctx.left : end].clone(memory_format=torch.contiguous_format)
        of_x[:, :, 0] += gradient[:, :, : ctx.left].sum(2)
        of_x[:, :, -1] += gradient[:, :, end:].sum(2)
        return of_x, None, None


def lowered(x: Tensor) -> Tensor:
    """Return values in the precision that autocast asks of a CPU; as in torch, double precision is kept."""
    if x.device.type == "cpu" and x.dtype != torch.float64 and torch.is_autocast_enabled("cpu"):
        return x.to(torch.get_autocast_dtype("cpu"))
    return x


# With fewer timepoints than this in a batch, torch's own gradients on a CPU are as quick as ours.
FEW_TIMEPOINTS = 1024


class Affine(NamedTuple):
    """A scale and a shift of every channel, (C,) each."""

    scale: Tensor
    shift: Tensor


@final
class SameConv1d(nn.Conv1d):
    """A convolution whose output has the input's timepoints, whatever the kernel and the length.

    Of the other timepoints that the kernel covers, ``(kernel_size - 1) * dilation // 2`` lie to the left of its own
    and the rest to the right; those outside the case are padding.
    """

    def __init__(
        self,
        n_in: int,
        n_out: int,
        kernel_size: int,
        padding: str,
        *,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__(n_in, n_out, kernel_size, dilation=dilation, groups=groups, bias=bias)
        lookup("padding", padding, PADDINGS)
        self.edge = padding

    def forward(self, x: Tensor, lengths: Tensor | None = None, after: Affine | None = None) -> Tensor:
        """Convolve (B, n_in, T) to (B, n_out, T).

        `after` is a scale and a shift (n_out,) to apply to the result, at no extra cost.
        """
        weight, bias = self.weight, self.bias
        if after is not None:
            weight = weight * after.scale[:, None, None]
            bias = after.shift if bias is None else bias * after.scale + after.shift
        x = lowered(x)
        dilation = self.dilation[0]
        reach = (self.kernel_size[0] - 1) * dilation
        if reach and self.groups == self.in_channels and x.device.type == "cpu" and not torch.compiler.is_compiling():
            return self._convolve_single(x, lengths, weight, bias)
        if reach:
            x = extend(x, reach // 2, reach - reach // 2, lengths, self.edge)
        elif x.device.type == "cpu" and self.groups == 1:
            return _mix_channels(x, weight, bias)
        if self._gradients_are_slow(x):
            convolved: Tensor = _Convolution.apply(x, weight, bias, dilation)  # type: ignore[no-untyped-call]
            return convolved
        return F.conv1d(x, weight, bias, dilation=dilation, groups=self.groups)

    def _convolve_single(self, x: Tensor, lengths: Tensor | None, weight: Tensor, bias: Tensor | None) -> Tensor:
        if x.ndim != 3 or x.shape[1] != self.in_channels:
            raise SeriesError(f"x must be (n_cases, {self.in_channels}, n_timepoints); got shape {tuple(x.shape)}.")
        n_timepoints, dilation = x.shape[2], self.dilation[0]
        reach = (self.kernel_size[0] - 1) * dilation
        left = reach // 2
        if self.edge != "replicate":
            x, lengths, left = extend(x, left, reach - left, lengths, self.edge), None, 0
        convolved = convolve_single(x, weight, n_timepoints, dilation, left, lengths)
        return convolved if bias is None else convolved + bias.to(convolved.dtype)[:, None]

    def _gradients_are_slow(self, x: Tensor) -> bool:
        """Whether torch's own gradients of this convolution are slow: many taps, channels and timepoints on a CPU."""
        wide = self.groups == 1 and self.in_channels >= 8 and self.kernel_size[0] >= 8
        worth_it = x.shape[0] * x.shape[2] >= FEW_TIMEPOINTS
        return wide and worth_it and x.device.type == "cpu" and torch.is_grad_enabled()


def _mix_channels(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Apply a kernel of one tap as the matrix product that it is, which CPUs do faster than a convolution."""
    of_each = weight[:, :, 0].expand(len(x), -1, -1)
    if bias is None:
        return torch.bmm(of_each, x)
    return torch.baddbmm(bias[:, None].expand(len(x), -1, 1), of_each, x)


class _Convolution(torch.autograd.Function):
    """A convolution whose gradients are computed in a way that is fast on CPUs: the same sums, arranged differently.

    The input's gradient is a forward convolution of the padded output gradient with the flipped kernel.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, dilation: int) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.dilation, ctx.has_bias = dilation, bias is not None
        return F.conv1d(x, weight, bias, dilation=dilation)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor | None, None]:
        # Under autocast the gradient arrives in a lower precision than what was saved.
        x, weight = (saved.to(gradient.dtype) for saved in ctx.saved_tensors)
        of_x = None
        if ctx.needs_input_grad[0]:
            reach = (weight.shape[2] - 1) * ctx.dilation
            padded = F.pad(gradient, (reach, reach))
            of_x = F.conv1d(padded, weight.flip(2).transpose(0, 1), dilation=ctx.dilation)
        of_weight = _kernel_gradient(gradient, x, weight, ctx.dilation)
        of_bias = gradient.sum((0, 2)) if ctx.has_bias else None
        return of_x, of_weight, of_bias, None


def _kernel_gradient(gradient: Tensor, x: Tensor, weight: Tensor, dilation: int, taps_at_once: int = 10) -> Tensor:
    """Return the kernel's gradient, a few taps at a time."""
    only_kernel = [False, True, False]
    pieces: list[Tensor] = []
    for first in range(0, weight.shape[2], taps_at_once):
        taps = weight[:, :, first : first + taps_at_once]
        start = first * dilation
        seen = x[:, :, start : start + gradient.shape[2] + (taps.shape[2] - 1) * dilation].contiguous()
        _, piece, _ = torch.ops.aten.convolution_backward(
            gradient, seen, taps.contiguous(), None, [1], [0], [dilation], False, [0], 1, only_kernel
        )
        pieces.append(piece)
    return torch.cat(pieces, dim=2)

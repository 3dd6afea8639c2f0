"""Convolutions side by side on the same series, by way of their spectra.

In the frequency domain a kernel costs one product per frequency, however many taps it has. Series are cut into blocks
that overlap by the reach of the kernels, and are short enough for matrix products to compute their spectra: what
every processor does best, and in bfloat16 twice as fast again. Of the 143,000 operations that the 10, 20 and 40 taps
of an inception module take for each timepoint, some 55,000 are left, at the speed of matrix products, both forward
and backward. Cost and memory grow linearly with the length.

Complex numbers are pairs of real ones here: spectra are (F, 2 * C, N), at each frequency the real parts of all
channels, then their imaginary parts, for N blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from millet.nn.convolution import Affine, SameConv1d, extend, lowered

# With fewer blocks in a batch, the kernels' own spectra cost more than they save. How many it takes depends on the
# taps of the widest kernel: `{taps: blocks}` is for that many taps or more, and fewer taps are never worth it.
# Training, whose gradients are slower the direct way, saves more.
FEWEST_BLOCKS = {"training": {20: 8, 8: 128}, "inference": {20: 24}}
SHORTEST = 32
NARROW = 16
PRECISIONS = (torch.float32, torch.float64, torch.bfloat16)


class Cut(NamedTuple):
    """How series are cut: `n_blocks` of `hop` results each, computed through spectra of `size` values."""

    n_blocks: int
    hop: int
    size: int


def cut_for(n_timepoints: int, n_taps: int) -> Cut:
    """Return how to cut series so that every result is computed within one block.

    Examples
    --------
    >>> cut_for(1008, 40)
    Cut(n_blocks=12, hop=84, size=124)
    >>> cut_for(100_000, 40).n_blocks
    1191
    >>> cut_for(1008, 8)
    Cut(n_blocks=42, hop=24, size=32)
    """
    # Longer blocks take more operations for their spectra, shorter ones overlap more.
    longest = max(24, 2 * n_taps + 4)
    n_blocks = -(-n_timepoints // longest)
    hop = max(-(-n_timepoints // n_blocks), n_taps)
    window = hop + n_taps - 1
    return Cut(n_blocks, hop, window + window % 2)


def convolve_together(
    convolutions: Sequence[SameConv1d],
    x: Tensor,
    lengths: Tensor | None,
    afters: Sequence[Affine] | None = None,
) -> Tensor:
    """Return the results of several convolutions of the same series, one below the other.

    Parameters
    ----------
    convolutions : sequence of SameConv1d
        Dense ones with the same padding.
    x : Tensor of shape (B, C, T)
    lengths : Tensor of shape (B,), or None
    afters : sequence of Affine, optional
        A scale and a shift for the result of each.

    Returns
    -------
    Tensor of shape (B, sum of n_out, T)
    """
    x = lowered(x)
    widest = max(one.kernel_size[0] for one in convolutions)
    if not _worth_it(x, widest):
        options = [None] * len(convolutions) if afters is None else afters
        parts = [one(x, lengths, after) for one, after in zip(convolutions, options, strict=True)]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
    left = (widest - 1) // 2
    kernel = torch.cat([_aligned(one, left, widest) for one in convolutions])
    bias = torch.cat([one.bias for one in convolutions if one.bias is not None])
    if afters is not None:
        scale, shift = (torch.cat(parts) for parts in zip(*afters, strict=True))
        kernel, bias = kernel * scale[:, None, None], bias * scale + shift
    extended = extend(x, left, widest - 1 - left, lengths, convolutions[0].edge)
    convolved: Tensor = _SpectralConvolution.apply(extended, kernel, bias)  # type: ignore[no-untyped-call]
    return convolved


def _worth_it(x: Tensor, n_taps: int) -> bool:
    """Whether spectra are quicker: wide kernels of many channels on long series, on a CPU."""
    n_cases, n_channels, n_timepoints = x.shape
    by_taps = FEWEST_BLOCKS["training" if torch.is_grad_enabled() else "inference"]
    fewest = min((blocks for taps, blocks in by_taps.items() if n_taps >= taps), default=math.inf)
    enough = n_cases * cut_for(n_timepoints, n_taps).n_blocks >= fewest and n_timepoints >= SHORTEST
    return enough and n_channels >= 8 and x.device.type == "cpu" and x.dtype in PRECISIONS


def _aligned(convolution: SameConv1d, left: int, n_taps: int) -> Tensor:
    """Return a kernel among zeros, with its centre where the widest kernel has its own."""
    own = convolution.kernel_size[0]
    before = left - (own - 1) // 2
    return F.pad(convolution.weight, (before, n_taps - own - before))


class Waves(NamedTuple):
    """Cosines and sines, (2 * F, length) each: a product with them is a transform."""

    of_window: Tensor
    of_result: Tensor
    of_taps: Tensor


@lru_cache(maxsize=8)
def _waves(cut: Cut, n_taps: int, dtype: torch.dtype) -> Waves:
    """Return the matrices that take windows to spectra, spectra to results, and kernels to filters of spectra."""
    with torch.inference_mode(False):
        n_frequencies = cut.size // 2 + 1
        turns = torch.arange(n_frequencies)[:, None] * torch.arange(cut.size) % cut.size
        angle = turns.double() * (2 * math.pi / cut.size)
        cosine, sine = angle.cos(), angle.sin()
        both = torch.stack([cosine, -sine], dim=1).flatten(0, 1)
        weight = torch.full((n_frequencies, 1), 2 / cut.size, dtype=torch.float64)  # twice: each has a mirror image
        weight[[0, -1]] /= 2  # except the first and the last
        back = both * weight.repeat_interleave(2, dim=0)
        taps = torch.stack([cosine, sine], dim=1).flatten(0, 1)
        real = torch.promote_types(dtype, torch.float32)
        window = cut.hop + n_taps - 1
        return Waves(
            both[:, :window].to(dtype).contiguous(),
            back[:, : cut.hop].to(dtype).contiguous(),
            taps[:, :n_taps].to(real).contiguous(),
        )


class _SpectralConvolution(torch.autograd.Function):
    """The convolution of (B, C, T + n_taps - 1) with kernels (O, C, n_taps), without padding: (B, O, T).

    Every step is a matrix product, so every gradient is one with the transposed matrix.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
        n_out, _, n_taps = kernel.shape
        n_timepoints = x.shape[2] - n_taps + 1
        cut = cut_for(n_timepoints, n_taps)
        waves = _waves(cut, n_taps, x.dtype)
        with torch.autocast("cpu", enabled=False):
            windows = _windows(x, cut, n_taps)  # (C * N, window)
            spectrum = (waves.of_window @ windows.T).view(cut.size // 2 + 1, 2 * x.shape[1], -1)  # (F, 2C, N)
            filters = _filters(kernel, waves).to(x.dtype)  # (F, 2O, 2C)
            product = _products(filters, spectrum)  # (F, 2O, N)
            results = product.view(len(waves.of_result), -1).T @ waves.of_result  # (O * N, hop)
        ctx.save_for_backward(spectrum, filters)
        ctx.sizes = len(x), n_taps, kernel.dtype
        return _joined(results, len(x), n_out, bias)[:, :, :n_timepoints]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        spectrum, filters = ctx.saved_tensors
        n_cases, n_taps, dtype = ctx.sizes
        n_timepoints = gradient.shape[2]
        cut = cut_for(n_timepoints, n_taps)
        waves = _waves(cut, n_taps, spectrum.dtype)
        rows = _rows(gradient.to(spectrum.dtype), cut)  # (O * N, hop)
        of_product = (waves.of_result @ rows.T).view(len(spectrum), filters.shape[1], -1)  # (F, 2O, N)
        of_x = None
        if ctx.needs_input_grad[0]:
            of_spectrum = _products(filters.transpose(1, 2), of_product)  # (F, 2C, N)
            of_windows = of_spectrum.view(len(waves.of_window), -1).T @ waves.of_window  # (C * N, window)
            of_x = _overlapped(of_windows, n_cases, cut, n_taps)[:, :, : n_timepoints + n_taps - 1]
        of_filters = torch.bmm(of_product, spectrum.transpose(1, 2))  # (F, 2O, 2C)
        of_kernel = _kernels(of_filters.to(waves.of_taps.dtype), waves)
        return of_x, of_kernel.to(dtype), gradient.sum((0, 2), dtype=dtype)


def _products(left: Tensor, right: Tensor) -> Tensor:
    """Multiply (F, I, J) by (F, J, N): one product for each frequency."""
    if right.shape[2] >= NARROW:
        return torch.bmm(left, right)
    # Libraries compute the rows of a result as vectors: rows of N values would be short, rows of I values are long.
    return torch.bmm(right.transpose(1, 2), left.transpose(1, 2)).transpose(1, 2).contiguous()


def _filters(kernel: Tensor, waves: Waves) -> Tensor:
    """Return what kernels (O, C, n_taps) do to the real and imaginary parts at each frequency: (F, 2O, 2C)."""
    n_out, n_in, n_taps = kernel.shape
    taps = kernel.permute(2, 0, 1).reshape(n_taps, -1).to(waves.of_taps.dtype)
    real, imaginary = (waves.of_taps @ taps).view(-1, 2, n_out, n_in).unbind(1)
    filters = real.new_empty(len(real), 2, n_out, 2, n_in)
    filters[:, 0, :, 0] = filters[:, 1, :, 1] = real
    filters[:, 1, :, 0] = imaginary
    torch.neg(imaginary, out=filters[:, 0, :, 1])
    return filters.view(len(real), 2 * n_out, 2 * n_in)


def _kernels(of_filters: Tensor, waves: Waves) -> Tensor:
    """Return the gradient of kernels (O, C, n_taps) from that of their filters (F, 2O, 2C)."""
    n_frequencies, rows, columns = of_filters.shape
    parts = of_filters.view(n_frequencies, 2, rows // 2, 2, columns // 2)
    both = torch.stack([parts[:, 0, :, 0] + parts[:, 1, :, 1], parts[:, 1, :, 0] - parts[:, 0, :, 1]], dim=1)
    taps = waves.of_taps.T @ both.view(2 * n_frequencies, -1)
    return taps.view(-1, rows // 2, columns // 2).permute(1, 2, 0)


def _windows(x: Tensor, cut: Cut, n_taps: int) -> Tensor:
    """Cut (B, C, T + n_taps - 1) into the values that each block's results need: (C * N, hop + n_taps - 1)."""
    window = cut.hop + n_taps - 1
    padded = F.pad(x, (0, cut.n_blocks * cut.hop + n_taps - 1 - x.shape[2]))
    return padded.unfold(2, window, cut.hop).transpose(0, 1).reshape(-1, window)


def _rows(gradient: Tensor, cut: Cut) -> Tensor:
    """Cut (B, O, T) into blocks: (O * N, hop)."""
    padded = F.pad(gradient, (0, cut.n_blocks * cut.hop - gradient.shape[2]))
    return padded.transpose(0, 1).reshape(-1, cut.hop)


def _joined(rows: Tensor, n_cases: int, n_channels: int, bias: Tensor) -> Tensor:
    """(O * N, hop) -> (B, O, n_blocks * hop), plus the bias."""
    by_channel = rows.view(n_channels, n_cases, -1)  # the blocks of a case lie one after the other
    joined = rows.new_empty(n_cases, n_channels, by_channel.shape[2])
    return torch.add(by_channel.transpose(0, 1), bias.to(rows.dtype)[:, None], out=joined)


def _overlapped(rows: Tensor, n_cases: int, cut: Cut, n_taps: int) -> Tensor:
    """Add up (C * N, hop + n_taps - 1) where they overlap: (B, C, (n_blocks + 1) * hop)."""
    blocks = rows.view(-1, n_cases, cut.n_blocks, rows.shape[1]).transpose(0, 1)
    total = rows.new_zeros((*blocks.shape[:2], cut.n_blocks + 1, cut.hop))
    total[:, :, :-1] = blocks[..., : cut.hop]
    total[:, :, 1:, : n_taps - 1] += blocks[..., cut.hop :]
    return total.flatten(2)

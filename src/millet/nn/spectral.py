"""Convolutions side by side on the same series, by way of their spectra.

In the frequency domain a kernel costs one product a frequency, however many taps it has: of the 143,000 operations
that the 10, 20 and 40 taps of an inception module take for each timepoint, some 20,000 are left. Series are cut into
blocks that overlap by what the kernels reach, so that cost and memory grow linearly with their length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from scipy.fft import next_fast_len
from torch import Tensor
from torch.autograd.function import once_differentiable

from millet.nn.convolution import Affine, SameConv1d, extend

# Series up to this length are one block; longer ones are cut into blocks of about `BLOCK` timepoints.
ONE_BLOCK = 1536
BLOCK = 1024
# With fewer blocks in a batch, or shorter ones, the kernels' own spectra cost more than they save; gradients, which
# are slower the direct way, save more.
FEWEST_BLOCKS = {"training": 4, "inference": 12}
SHORTEST = 32


class Cut(NamedTuple):
    """How series are cut: `n_blocks` of `hop` results each, in transforms of `size` values."""

    n_blocks: int
    hop: int
    size: int


def cut_for(n_timepoints: int, n_taps: int) -> Cut:
    """Return how to cut series so that every result is computed whole in one block.

    Examples
    --------
    >>> cut_for(1008, 40)
    Cut(n_blocks=1, hop=1008, size=1050)
    >>> cut_for(100_000, 40).n_blocks
    98
    """
    n_blocks = 1 if n_timepoints <= ONE_BLOCK else -(-n_timepoints // BLOCK)
    hop = max(-(-n_timepoints // n_blocks), n_taps)
    return Cut(n_blocks, hop, 2 * next_fast_len(-(-(hop + n_taps - 1) // 2)))


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
        Dense ones of one padding.
    x : Tensor of shape (B, C, T)
    lengths : Tensor of shape (B,), or None
    afters : sequence of Affine, optional
        A scale and a shift for the result of each.

    Returns
    -------
    Tensor of shape (B, sum of n_out, T)
    """
    if not _worth_it(x):
        options = [None] * len(convolutions) if afters is None else afters
        return torch.cat([one(x, lengths, after) for one, after in zip(convolutions, options, strict=True)], dim=1)
    widest = max(one.kernel_size[0] for one in convolutions)
    left = (widest - 1) // 2
    kernel = torch.cat([_aligned(one, left, widest) for one in convolutions])
    bias = torch.cat([one.bias for one in convolutions if one.bias is not None])
    if afters is not None:
        scale, shift = (torch.cat(parts) for parts in zip(*afters, strict=True))
        kernel, bias = kernel * scale[:, None, None], bias * scale + shift
    extended = extend(x, left, widest - 1 - left, lengths, convolutions[0].edge)
    convolved: Tensor = _SpectralConvolution.apply(extended, kernel, bias)  # type: ignore[no-untyped-call]
    return convolved


def _worth_it(x: Tensor) -> bool:
    """Whether spectra are quicker: many kernels on long series, on a CPU, in a precision that has transforms."""
    n_cases, n_channels, n_timepoints = x.shape
    fewest = FEWEST_BLOCKS["training" if torch.is_grad_enabled() else "inference"]
    enough = n_cases * cut_for(n_timepoints, 1).n_blocks >= fewest and n_timepoints >= SHORTEST
    return enough and n_channels >= 8 and x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)


def _aligned(convolution: SameConv1d, left: int, n_taps: int) -> Tensor:
    """Return a kernel among zeros, its centre where the widest kernel has its own."""
    own = convolution.kernel_size[0]
    before = left - (own - 1) // 2
    return F.pad(convolution.weight, (before, n_taps - own - before))


@lru_cache(maxsize=8)
def _waves(n_taps: int, size: int, dtype: torch.dtype) -> Tensor:
    """Return the complex waves (n_frequencies, n_taps) whose sums, weighted by taps, are what a kernel does."""
    with torch.inference_mode(False):
        frequency, tap = torch.arange(size // 2 + 1)[:, None], torch.arange(n_taps)
        angle = (frequency * tap % size).double() * (2 * math.pi / size)
        return torch.polar(torch.ones_like(angle), angle).to(dtype.to_complex())


class _SpectralConvolution(torch.autograd.Function):
    """The convolution of (B, C, T + n_taps - 1) with kernels (O, C, n_taps), without padding: (B, O, T)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
        n_taps = kernel.shape[2]
        n_timepoints = x.shape[2] - n_taps + 1
        cut = cut_for(n_timepoints, n_taps)
        spectrum = _spectrum(_windows(x, cut, n_taps), cut)
        filters = _filters(kernel, cut)
        product = torch.bmm(filters, spectrum)  # (F, O, C) x (F, C, N)
        product[0] += cut.size * bias[:, None]
        ctx.save_for_backward(spectrum, filters)
        ctx.n_cases, ctx.n_taps = len(x), n_taps
        return _join(_series(product, cut)[:, :, : cut.hop], len(x))[:, :, :n_timepoints].contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        spectrum, filters = ctx.saved_tensors
        n_taps, n_timepoints = ctx.n_taps, gradient.shape[2]
        cut = cut_for(n_timepoints, n_taps)
        padded = F.pad(gradient, (0, cut.n_blocks * cut.hop - n_timepoints))
        mirrored = _spectrum(_split(padded, cut), cut).conj_physical_()  # (F, O, N), of the gradient read backwards
        of_x = None
        if ctx.needs_input_grad[0]:
            product = torch.bmm(filters.transpose(1, 2), mirrored).conj_physical_()  # (F, C, N)
            overlapping = _series(product, cut)[:, :, : cut.hop + n_taps - 1]
            of_x = _overlap_add(overlapping, ctx.n_cases, cut, n_taps)[:, :, : n_timepoints + n_taps - 1]
        of_filters = torch.bmm(mirrored, spectrum.transpose(1, 2))  # (F, O, C)
        return of_x, _taps(of_filters, n_taps, cut), gradient.sum((0, 2))


def _filters(kernel: Tensor, cut: Cut) -> Tensor:
    """Return what kernels (O, C, n_taps) do at each frequency: (F, O, C)."""
    n_out, n_in, n_taps = kernel.shape
    waves = _waves(n_taps, cut.size, kernel.dtype)
    return (waves @ kernel.permute(2, 0, 1).reshape(n_taps, -1).to(waves.dtype)).view(-1, n_out, n_in)


def _taps(of_filters: Tensor, n_taps: int, cut: Cut) -> Tensor:
    """Return the kernels (O, C, n_taps) of a spectrum (F, O, C): the inverse transform, for few timepoints."""
    n_frequencies, n_out, n_in = of_filters.shape
    waves = _waves(n_taps, cut.size, of_filters.real.dtype) * (2 / cut.size)  # a frequency and its mirror image,
    waves[0] /= 2  # which the first and the last do not have
    waves[-1] /= 2
    taps = (waves.T @ of_filters.view(n_frequencies, -1)).real
    return taps.reshape(n_taps, n_out, n_in).permute(1, 2, 0)


def _spectrum(blocks: Tensor, cut: Cut) -> Tensor:
    """(N, C, values) -> (F, C, N), frequency by frequency in memory."""
    spectrum: Tensor = torch.fft.rfft(blocks, cut.size)
    return spectrum.permute(2, 1, 0).contiguous()


def _series(spectrum: Tensor, cut: Cut) -> Tensor:
    """(F, C, N) -> (N, C, size)."""
    series: Tensor = torch.fft.irfft(spectrum.permute(2, 1, 0), cut.size)
    return series


def _windows(x: Tensor, cut: Cut, n_taps: int) -> Tensor:
    """Cut (B, C, T + n_taps - 1) into what each block's results see: (N, C, hop + n_taps - 1)."""
    window = cut.hop + n_taps - 1
    if cut.n_blocks == 1:
        return x
    padded = F.pad(x, (0, cut.n_blocks * cut.hop + n_taps - 1 - x.shape[2]))
    return padded.unfold(2, window, cut.hop).transpose(1, 2).flatten(0, 1)


def _split(x: Tensor, cut: Cut) -> Tensor:
    """Cut (B, C, n_blocks * hop) into (N, C, hop)."""
    if cut.n_blocks == 1:
        return x
    n_cases, n_channels, _ = x.shape
    return x.reshape(n_cases, n_channels, cut.n_blocks, cut.hop).transpose(1, 2).flatten(0, 1)


def _join(blocks: Tensor, n_cases: int) -> Tensor:
    """(N, C, hop) -> (B, C, n_blocks * hop)."""
    return blocks.reshape(n_cases, -1, *blocks.shape[1:]).transpose(1, 2).flatten(2)


def _overlap_add(blocks: Tensor, n_cases: int, cut: Cut, n_taps: int) -> Tensor:
    """Add up (N, C, hop + n_taps - 1) where they overlap: (B, C, (n_blocks + 1) * hop)."""
    if cut.n_blocks == 1:
        return blocks
    by_case = blocks.reshape(n_cases, cut.n_blocks, *blocks.shape[1:]).transpose(1, 2)
    own, beyond = by_case[..., : cut.hop], by_case[..., cut.hop :]
    total = blocks.new_zeros((n_cases, blocks.shape[1], cut.n_blocks + 1, cut.hop))
    total[:, :, :-1] = own
    total[:, :, 1:, : n_taps - 1] += beyond
    return total.flatten(2)

"""Backbones: series in, one embedding per timepoint out.

In:  (B, C, T) values and, where lengths are unequal, lengths (B,).
Out: (B, D, T) embeddings, read by `millet.nn.network`.

The architectures of App. B with the details of the released checkpoints: every convolution has a bias and "same"
padding, and in a ResNet block only the third convolution is followed by ReLU before the shortcut is added.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import final

import torch
from torch import Tensor, nn

from millet.nn.convolution import Affine, SameConv1d
from millet.nn.maximum import max_pool_3
from millet.nn.normalisation import ValidBatchNorm1d
from millet.nn.recomputation import forgetful
from millet.nn.spectral import convolve_together


def valid_timepoints(lengths: Tensor | None, n_timepoints: int) -> Tensor | None:
    """Return (B, 1, T), True inside each case; None where all cases fill the batch."""
    if lengths is None:
        return None
    return (torch.arange(n_timepoints, device=lengths.device) < lengths[:, None])[:, None]


def normalised(
    convolution: nn.Module,
    norm: nn.Module,
    x: Tensor,
    lengths: Tensor | None,
    valid: Tensor | None,
    *,
    relu: bool = False,
) -> Tensor:
    """Convolve, normalise, and perhaps apply ReLU: (B, n_in, T) -> (B, n_out, T); in one step without gradients."""
    assert isinstance(norm, ValidBatchNorm1d)
    result: Tensor
    if norm.training or torch.is_grad_enabled():
        convolved = (
            convolve_together([convolution], x, lengths)
            if isinstance(convolution, SameConv1d)
            else convolution(x, lengths)
        )
        result = norm(convolved, valid, relu=relu)
        return result
    result = convolution(x, lengths, norm.scale_and_shift())
    return torch.relu_(result) if relu else result


class Backbone(nn.Module, ABC):
    """Maps (B, C, T) to (B, d_out, T), exactly for every case, even where lengths differ."""

    d_out: int

    @abstractmethod
    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Embed every timepoint."""


class BlockBackbone(Backbone, ABC):
    """A backbone that is a chain of blocks, each of which is told where the cases end."""

    blocks: nn.ModuleList

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Embed every timepoint."""
        valid = valid_timepoints(lengths, x.shape[2])
        for block in self.blocks:
            x = block(x, lengths, valid)
        return x


@final
class ConvBlock(nn.Module):
    """Convolution, batch normalisation and, unless told otherwise, ReLU."""

    def __init__(self, n_in: int, n_out: int, kernel_size: int, padding: str, *, relu: bool = True) -> None:
        super().__init__()
        self.convolution = SameConv1d(n_in, n_out, kernel_size, padding)
        self.norm = ValidBatchNorm1d(n_out)
        self.relu = relu

    def forward(self, x: Tensor, lengths: Tensor | None, valid: Tensor | None) -> Tensor:
        """(B, n_in, T) -> (B, n_out, T)."""
        return forgetful(self, self._convolve, x, lengths, valid)

    def _convolve(self, x: Tensor, lengths: Tensor | None, valid: Tensor | None) -> Tensor:
        return normalised(self.convolution, self.norm, x, lengths, valid, relu=self.relu)


@final
class FCN(BlockBackbone):
    """Three convolutions: 128 x 8, 256 x 5, 128 x 3 (Wang et al., 2017).

    Parameters
    ----------
    n_channels : int
        Channels of the input.
    padding : str, default="replicate"
        How a series is continued beyond its ends; see `millet.nn.convolution.PADDINGS`.
    """

    d_out = 128

    def __init__(self, n_channels: int, padding: str = "replicate") -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            ConvBlock(n_in, n_out, kernel_size, padding)
            for n_in, n_out, kernel_size in ((n_channels, 128, 8), (128, 256, 5), (256, self.d_out, 3))
        )


@final
class ResNetBlock(nn.Module):
    """Three convolutions (8, 5, 3 taps) beside a shortcut."""

    def __init__(self, n_in: int, n_out: int, padding: str) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            ConvBlock(n_in if kernel_size == 8 else n_out, n_out, kernel_size, padding, relu=kernel_size == 3)
            for kernel_size in (8, 5, 3)
        )
        self.shortcut = SameConv1d(n_in, n_out, 1, padding) if n_in != n_out else None
        self.shortcut_norm = ValidBatchNorm1d(n_out)

    def forward(self, x: Tensor, lengths: Tensor | None, valid: Tensor | None) -> Tensor:
        """(B, n_in, T) -> (B, n_out, T)."""
        if self.shortcut is None:
            beside = self.shortcut_norm(x, valid)
        else:
            beside = normalised(self.shortcut, self.shortcut_norm, x, lengths, valid)
        for block in self.blocks:
            x = block(x, lengths, valid)
        return torch.relu_(x + beside)


@final
class ResNet(BlockBackbone):
    """Three residual blocks of 64, 128 and 128 channels (Wang et al., 2017, as in the released code: decision 15).

    Parameters
    ----------
    n_channels : int
        Channels of the input.
    padding : str, default="replicate"
        How a series is continued beyond its ends.
    """

    d_out = 128

    def __init__(self, n_channels: int, padding: str = "replicate") -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            ResNetBlock(n_in, n_out, padding) for n_in, n_out in ((n_channels, 64), (64, 128), (128, self.d_out))
        )


@final
class InceptionModule(nn.Module):
    """Convolutions of 10, 20 and 40 taps on a bottleneck, beside a max-pool of the input."""

    def __init__(self, n_in: int, width: int, padding: str) -> None:
        super().__init__()
        self.bottleneck = SameConv1d(n_in, width, 1, padding) if n_in > 1 else None
        n_bottleneck = width if n_in > 1 else 1
        self.convolutions: Iterable[SameConv1d] = nn.ModuleList(  # type: ignore[assignment]
            SameConv1d(n_bottleneck, width, kernel_size, padding) for kernel_size in (10, 20, 40)
        )
        self.after_pool = SameConv1d(n_in, width, 1, padding)
        self.norm = ValidBatchNorm1d(4 * width)

    def forward(self, x: Tensor, lengths: Tensor | None, valid: Tensor | None) -> Tensor:
        """(B, n_in, T) -> (B, 4 * width, T)."""
        return forgetful(self, self._convolve, x, lengths, valid)

    def _convolve(self, x: Tensor, lengths: Tensor | None, valid: Tensor | None) -> Tensor:
        narrow = x if self.bottleneck is None else self.bottleneck(x)
        pooled = max_pool_3(x, lengths)
        if self.norm.training or torch.is_grad_enabled():
            parts = [convolve_together(list(self.convolutions), narrow, lengths), self.after_pool(pooled)]
            result: Tensor = self.norm(torch.cat(parts, dim=1), valid, relu=True)
            return result
        scales, shifts = (part.chunk(4) for part in self.norm.scale_and_shift())
        *afters, after_pool = map(Affine, scales, shifts)
        parts = [
            convolve_together(list(self.convolutions), narrow, lengths, afters),
            self.after_pool(pooled, None, after_pool),
        ]
        return torch.relu_(torch.cat(parts, dim=1))


@final
class InceptionBlock(nn.Module):
    """Three inception modules beside a shortcut."""

    def __init__(self, n_in: int, width: int, padding: str) -> None:
        super().__init__()
        self.inceptions = nn.ModuleList(
            InceptionModule(n_in if position == 0 else 4 * width, width, padding) for position in range(3)
        )
        self.shortcut = SameConv1d(n_in, 4 * width, 1, padding)
        self.shortcut_norm = ValidBatchNorm1d(4 * width)

    def forward(self, x: Tensor, lengths: Tensor | None, valid: Tensor | None) -> Tensor:
        """(B, n_in, T) -> (B, 4 * width, T)."""
        beside = normalised(self.shortcut, self.shortcut_norm, x, lengths, valid)
        for inception in self.inceptions:
            x = inception(x, lengths, valid)
        return torch.relu_(x + beside)


@final
class InceptionTime(BlockBackbone):
    """Two blocks of three inception modules (Ismail Fawaz et al., 2020).

    Parameters
    ----------
    n_channels : int
        Channels of the input.
    padding : str, default="replicate"
        How a series is continued beyond its ends.
    """

    d_out = 128

    def __init__(self, n_channels: int, padding: str = "replicate") -> None:
        super().__init__()
        width = self.d_out // 4
        self.blocks = nn.ModuleList(InceptionBlock(n_in, width, padding) for n_in in (n_channels, self.d_out))

"""LITE: a backbone with some 10,000 parameters and forty times fewer multiplications than InceptionTime.

Ismail-Fawaz et al., "LITE: Light Inception with boosTing tEchniques for Time Series Classification" (DSAA 2023), and
LITEMV for several channels. One layer of learnt and hand-made filters, then two dilated depthwise-separable
convolutions. Embeddings have 32 values.
"""

from __future__ import annotations

from functools import partial
from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from millet.nn.backbones import Backbone, normalised, valid_timepoints
from millet.nn.convolution import Affine, SameConv1d, extend
from millet.nn.normalisation import ValidBatchNorm1d
from millet.nn.recomputation import forgetful

TREND_LENGTHS = (2, 4, 8, 16, 32, 64)
PEAK_LENGTHS = (6, 12, 24, 48, 96)


def hand_made_filters() -> Tensor:
    """Return the 17 fixed filters that respond to a rise, a fall or a peak of several lengths: (17, 1, longest).

    Shorter ones are centred among zeros as "same" padding would centre them, so one convolution applies them all.
    """
    filters = []
    for length in TREND_LENGTHS:
        alternating = torch.ones(length)
        alternating[0::2] = -1
        filters += [alternating, -alternating]
    for length in PEAK_LENGTHS:
        rise = torch.linspace(0, 1, length // 6 + 1)[1:] ** 2  # a filter has six such flanks
        bump = torch.cat([rise, rise.flip(0)])
        filters.append(torch.cat([-bump, 2 * bump, -bump]))
    longest = max(len(taps) for taps in filters)
    rows = []
    for taps in filters:
        left = (longest - 1) // 2 - (len(taps) - 1) // 2
        rows.append(F.pad(taps, (left, longest - len(taps) - left)))
    return torch.stack(rows)[:, None]


@final
class SeparableConv(nn.Module):
    """A convolution of each channel by itself, then a mixture of the channels at each timepoint."""

    def __init__(self, n_in: int, n_out: int, kernel_size: int, padding: str, dilation: int = 1) -> None:
        super().__init__()
        self.depthwise = SameConv1d(n_in, n_in, kernel_size, padding, dilation=dilation, groups=n_in, bias=False)
        self.pointwise = SameConv1d(n_in, n_out, 1, padding, bias=False)

    def forward(self, x: Tensor, lengths: Tensor | None = None, after: Affine | None = None) -> Tensor:
        """(B, n_in, T) -> (B, n_out, T), scaled and shifted by `after`."""
        mixed: Tensor = self.pointwise(self.depthwise(x, lengths), None, after)
        return mixed


@final
class Lite(Backbone):
    """LITE for one channel, LITEMV for several.

    Parameters
    ----------
    n_channels : int
        Channels of the input.
    padding : str, default="replicate"
        How a series is continued beyond its ends.
    """

    d_out = 32
    fixed: Tensor

    def __init__(self, n_channels: int, padding: str = "replicate") -> None:
        super().__init__()
        self.edge = padding
        self.n_channels = n_channels
        # Not part of the weights: they are the same in every network.
        self.register_buffer("fixed", hand_made_filters().repeat(n_channels, 1, 1), persistent=False)
        learnt = SameConv1d if n_channels == 1 else SeparableConv
        self.first = nn.ModuleList(
            learnt(n_channels, self.d_out, kernel_size, padding, **({"bias": False} if n_channels == 1 else {}))
            for kernel_size in (10, 20, 40)
        )
        n_first = 3 * self.d_out + len(self.fixed)
        self.first_norm = ValidBatchNorm1d(n_first)
        self.separable = nn.ModuleList(
            SeparableConv(n_in, self.d_out, kernel_size, padding, dilation)
            for n_in, kernel_size, dilation in ((n_first, 20, 2), (self.d_out, 10, 4))
        )
        self.norms = nn.ModuleList(ValidBatchNorm1d(self.d_out) for _ in self.separable)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Embed every timepoint."""
        valid = valid_timepoints(lengths, x.shape[2])
        x = forgetful(self, self._filter, x, lengths, valid)
        for convolution, norm in zip(self.separable, self.norms, strict=True):
            x = forgetful(self, partial(_separate, convolution, norm), x, lengths, valid)
        return x

    def _filter(self, x: Tensor, lengths: Tensor | None, valid: Tensor | None) -> Tensor:
        parts = [convolution(x, lengths) for convolution in self.first]
        filtered = torch.cat([*parts, self._hand_made(x, lengths)], dim=1)
        normal: Tensor = self.first_norm(filtered, valid, relu=True)
        return normal

    def _hand_made(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        reach = self.fixed.shape[2] - 1
        extended = extend(x, reach // 2, reach - reach // 2, lengths, self.edge)
        return torch.relu_(F.conv1d(extended, self.fixed, groups=self.n_channels))


def _separate(
    convolution: nn.Module, norm: nn.Module, x: Tensor, lengths: Tensor | None, valid: Tensor | None
) -> Tensor:
    return normalised(convolution, norm, x, lengths, valid, relu=True)

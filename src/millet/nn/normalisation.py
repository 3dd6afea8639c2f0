"""Batch normalisation that counts valid timepoints only, over all processes that share a batch."""

from __future__ import annotations

from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from millet.nn.convolution import Affine
from millet.nn.processes import over_processes, several_processes
from millet.nn.recomputation import recomputing


@final
class ValidBatchNorm1d(nn.BatchNorm1d):
    """Batch normalisation whose statistics count valid timepoints only, over all processes that share the batch."""

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Normalise (B, C, T); `valid` (B, 1, T) is True inside each case, None where all are."""
        several = several_processes()
        plain = valid is None and not several and x.shape[0] * x.shape[2] > 1
        if plain and self.training and recomputing():
            return self._normalise_again(x)
        if plain or not self.training:
            return super().forward(x)
        return self._normalise_valid(x, torch.ones_like(x[:, :1], dtype=torch.bool) if valid is None else valid)

    def _normalise_again(self, x: Tensor) -> Tensor:
        assert self.running_mean is not None
        assert self.running_var is not None
        mean, variance = self.running_mean.clone(), self.running_var.clone()
        return F.batch_norm(x, mean, variance, self.weight, self.bias, training=True, eps=self.eps)

    def scale_and_shift(self) -> Affine:
        """Return what normalising is in inference: a scale and a shift of each channel."""
        assert self.running_mean is not None
        assert self.running_var is not None
        scale = self.weight * torch.rsqrt(self.running_var + self.eps)
        return Affine(scale, self.bias - self.running_mean * scale)

    def _normalise_valid(self, x: Tensor, valid: Tensor) -> Tensor:
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        dtype = x.dtype
        x = x.to(torch.promote_types(dtype, torch.float32))  # sums of half precision would be worth little
        count = over_processes(valid.sum().to(x.dtype))
        mean = over_processes((x * valid).sum((0, 2))) / count
        centred = x - mean[:, None]
        variance = over_processes((centred.square() * valid).sum((0, 2))) / count
        if not recomputing():
            with torch.no_grad():
                self.num_batches_tracked += 1
                momentum = 1 / int(self.num_batches_tracked) if self.momentum is None else self.momentum
                self.running_mean.lerp_(mean.to(self.running_mean.dtype), momentum)
                unbiased = variance * (count / (count - 1).clamp(min=1))
                self.running_var.lerp_(unbiased.to(self.running_var.dtype), momentum)
        scaled = centred * torch.rsqrt(variance + self.eps)[:, None]
        return (scaled * self.weight[:, None] + self.bias[:, None]).to(dtype)

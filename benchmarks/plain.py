"""Plain networks: the paper's architectures in the modules that torch ships, without any acceleration.

`benchmarks/engine.py` compares with these. Parameters have the names of `millet.nn.MilletNetwork`, so that one
network's ``state_dict`` can be loaded into the other and their losses and gradients compared.
"""

from __future__ import annotations

import copy
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

D_EMBEDDING = 128


def conv(n_in: int, n_out: int, kernel_size: int) -> nn.Conv1d:
    if kernel_size == 1:  # It does not reach beyond the ends: padding would only cost a copy.
        return nn.Conv1d(n_in, n_out, 1)
    return nn.Conv1d(n_in, n_out, kernel_size, padding="same", padding_mode="replicate")


class ConvBlock(nn.Module):
    """Convolution, batch normalisation and perhaps ReLU."""

    def __init__(self, n_in: int, n_out: int, kernel_size: int, *, relu: bool = True) -> None:
        super().__init__()
        self.convolution = conv(n_in, n_out, kernel_size)
        self.norm = nn.BatchNorm1d(n_out)
        self.activation = nn.ReLU() if relu else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """(B, n_in, T) -> (B, n_out, T)."""
        return self.activation(self.norm(self.convolution(x)))


class ResNetBlock(nn.Module):
    """Three convolutions beside a shortcut."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.blocks = nn.Sequential(
            ConvBlock(n_in, n_out, 8, relu=False), ConvBlock(n_out, n_out, 5, relu=False), ConvBlock(n_out, n_out, 3)
        )
        self.shortcut = conv(n_in, n_out, 1) if n_in != n_out else nn.Identity()
        self.shortcut_norm = nn.BatchNorm1d(n_out)

    def forward(self, x: Tensor) -> Tensor:
        """(B, n_in, T) -> (B, n_out, T)."""
        return F.relu(self.blocks(x) + self.shortcut_norm(self.shortcut(x)))


class InceptionModule(nn.Module):
    """Convolutions of 10, 20 and 40 taps on a bottleneck, beside a max-pool of the input."""

    def __init__(self, n_in: int, width: int = 32) -> None:
        super().__init__()
        self.bottleneck = conv(n_in, width, 1) if n_in > 1 else nn.Identity()
        n_narrow = width if n_in > 1 else 1
        self.convolutions = nn.ModuleList(conv(n_narrow, width, kernel_size) for kernel_size in (10, 20, 40))
        self.pool = nn.MaxPool1d(3, stride=1, padding=1)
        self.after_pool = conv(n_in, width, 1)
        self.norm = nn.BatchNorm1d(4 * width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, n_in, T) -> (B, 4 * width, T)."""
        narrow = self.bottleneck(x)
        parts = [convolution(narrow) for convolution in self.convolutions]
        return F.relu(self.norm(torch.cat([*parts, self.after_pool(self.pool(x))], dim=1)))


class InceptionBlock(nn.Module):
    """Three inception modules beside a shortcut."""

    def __init__(self, n_in: int) -> None:
        super().__init__()
        self.inceptions = nn.Sequential(*(InceptionModule(n) for n in (n_in, D_EMBEDDING, D_EMBEDDING)))
        self.shortcut = conv(n_in, D_EMBEDDING, 1)
        self.shortcut_norm = nn.BatchNorm1d(D_EMBEDDING)

    def forward(self, x: Tensor) -> Tensor:
        """(B, n_in, T) -> (B, 128, T)."""
        return F.relu(self.inceptions(x) + self.shortcut_norm(self.shortcut(x)))


class Backbone(nn.Module):
    """FCN, ResNet or InceptionTime: (B, C, T) -> (B, 128, T)."""

    def __init__(self, name: str, n_channels: int) -> None:
        super().__init__()
        blocks = {
            "fcn": lambda: [ConvBlock(n_channels, 128, 8), ConvBlock(128, 256, 5), ConvBlock(256, 128, 3)],
            "resnet": lambda: [ResNetBlock(n_channels, 64), ResNetBlock(64, 128), ResNetBlock(128, 128)],
            "inceptiontime": lambda: [InceptionBlock(n_channels), InceptionBlock(D_EMBEDDING)],
        }
        self.blocks = nn.Sequential(*blocks[name]())

    def forward(self, x: Tensor) -> Tensor:
        """Embed every timepoint."""
        return self.blocks(x)


class AttentionHead(nn.Module):
    """(B, T, D) -> (B, T, 1), each in [0, 1]."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(D_EMBEDDING, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, z: Tensor) -> Tensor:
        """Weigh every timepoint."""
        return torch.sigmoid(self.out(torch.tanh(self.hidden(z))))


class ConjunctivePooling(nn.Module):
    """Eq. 5 of the paper: (B, T, D) -> logits (B, K) and scores (B, K, T)."""

    def __init__(self, n_classes: int) -> None:
        super().__init__()
        self.attend = AttentionHead()
        self.classify = nn.Linear(D_EMBEDDING, n_classes)

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Pool embeddings."""
        weighted = self.attend(z) * self.classify(z)
        return weighted.mean(dim=1), weighted.transpose(1, 2)


def sines_and_cosines(n_timepoints: int) -> Tensor:
    """Return the positional encoding of timepoints 0 to n_timepoints - 1: (T, 128)."""
    position = torch.arange(n_timepoints)[:, None]
    frequency = torch.exp(torch.arange(0, D_EMBEDDING, 2) * (-math.log(10000.0) / D_EMBEDDING))
    encoding = torch.zeros(n_timepoints, D_EMBEDDING)
    encoding[:, 0::2] = torch.sin(position * frequency)
    encoding[:, 1::2] = torch.cos(position * frequency)
    return encoding


class PlainNetwork(nn.Module):
    """Backbone, positions, dropout and conjunctive pooling, for cases of one length that is known beforehand."""

    positions: Tensor

    def __init__(
        self, n_channels: int, n_classes: int, backbone: str, n_timepoints: int, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.backbone = Backbone(backbone, n_channels)
        self.register_buffer("positions", sines_and_cosines(n_timepoints), persistent=False)
        self.dropout = nn.Dropout(dropout)
        self.pooling = ConjunctivePooling(n_classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(B, C, T) -> logits (B, K) and scores (B, K, T)."""
        z = self.backbone(x).transpose(1, 2)  # (B, C, T) -> (B, D, T) -> (B, T, D)
        return self.pooling(self.dropout(z + self.positions))


class PlainTraining:
    """The paper's protocol: Adam, then the loss on the whole training set, then a copy of the best weights."""

    def __init__(self, network: PlainNetwork, x: Tensor, target: Tensor, batch_size: int) -> None:
        self.network, self.x, self.target, self.batch_size = network, x, target, batch_size
        self.optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
        self.lowest = math.inf
        self.best = copy.deepcopy(network.state_dict())

    def run_epoch(self) -> None:
        """Take one epoch's steps and keep the weights if they are the best so far."""
        self.network.train()
        for chosen in torch.randperm(len(self.x)).split(self.batch_size):
            self.optimizer.zero_grad()
            F.cross_entropy(self.network(self.x[chosen])[0], self.target[chosen]).backward()
            self.optimizer.step()
        loss = self.selection_loss()
        if loss < self.lowest:
            self.lowest, self.best = loss, copy.deepcopy(self.network.state_dict())

    def selection_loss(self) -> float:
        """Return the mean loss on the training set in inference mode."""
        self.network.eval()
        total = 0.0
        with torch.no_grad():
            for x, target in zip(self.x.split(self.batch_size), self.target.split(self.batch_size), strict=True):
                total += F.cross_entropy(self.network(x)[0], target, reduction="sum").item()
        return total / len(self.x)

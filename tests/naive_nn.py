"""Slow oracles of the networks: plain torch modules over lists of cases, under the names of the released checkpoints.

A case is (C, T) by itself, so that nothing can leak from one to another; batch statistics alone see several, laid
end to end. Nothing here is taken from `millet`.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

NUMPY_MODES = {"replicate": "edge", "reflect": "reflect", "circular": "wrap"}


def pad_case(case: Tensor, left: int, right: int, padding: str) -> Tensor:
    """Pad one case (C, T) as `numpy.pad` does."""
    if padding == "zeros":
        return F.pad(case, (left, right))
    return case[:, np.pad(np.arange(case.shape[1]), (left, right), mode=NUMPY_MODES[padding])]


def convolve_case(case: np.ndarray, weight: np.ndarray, bias: np.ndarray, padding: str) -> np.ndarray:
    """Convolve one case (C, T) to (n_out, T), one product at a time."""
    n_out, _, kernel_size = weight.shape
    left = (kernel_size - 1) // 2
    padded = pad_case(torch.from_numpy(case), left, kernel_size - 1 - left, padding).numpy()
    output = np.empty((n_out, case.shape[1]))
    for timepoint in range(case.shape[1]):
        seen = padded[:, timepoint : timepoint + kernel_size]
        for channel in range(n_out):
            output[channel, timepoint] = (weight[channel] * seen).sum() + bias[channel]
    return output


def largest_neighbours(case: np.ndarray) -> np.ndarray:
    """Return the largest of each timepoint and its two neighbours, where there are such: (C, T) to (C, T)."""
    n_timepoints = case.shape[1]
    around = [case[:, max(t - 1, 0) : min(t + 2, n_timepoints)].max(axis=1) for t in range(n_timepoints)]
    return np.stack(around, axis=1)


def encode_positions(positions: np.ndarray, d_model: int) -> np.ndarray:
    """Return the paper's sines and cosines, one at a time: (T,) to (T, d_model)."""
    encoding = np.empty((len(positions), d_model))
    for row, position in enumerate(positions):
        for column in range(d_model):
            angle = position / 10000 ** (2 * (column // 2) / d_model)
            encoding[row, column] = np.cos(angle) if column % 2 else np.sin(angle)
    return encoding


class Conv(nn.Conv1d):
    def __init__(self, n_in: int, n_out: int, kernel_size: int, padding: str, **more: int) -> None:
        super().__init__(n_in, n_out, kernel_size, **more)
        self.edge = padding

    def forward(self, cases: list[Tensor]) -> list[Tensor]:
        reach = (self.kernel_size[0] - 1) * self.dilation[0]
        left, right = reach // 2, reach - reach // 2
        return [super(Conv, self).forward(pad_case(case, left, right, self.edge)[None])[0] for case in cases]


class Norm(nn.BatchNorm1d):
    def forward(self, cases: list[Tensor]) -> list[Tensor]:
        end_to_end = super().forward(torch.cat(cases, dim=1)[None])[0]
        return list(end_to_end.split([case.shape[1] for case in cases], dim=1))


class Relu(nn.Module):
    def forward(self, cases: list[Tensor]) -> list[Tensor]:
        return [case.clamp(min=0) for case in cases]


class MaxPool(nn.MaxPool1d):
    def forward(self, cases: list[Tensor]) -> list[Tensor]:
        return [super(MaxPool, self).forward(case) for case in cases]


def add(left: list[Tensor], right: list[Tensor]) -> list[Tensor]:
    return [a + b for a, b in zip(left, right, strict=True)]


class ConvBlock(nn.Module):
    def __init__(self, n_in: int, n_out: int, kernel_size: int, padding: str, relu: bool = True) -> None:
        super().__init__()
        self.conv_block = nn.Sequential(Conv(n_in, n_out, kernel_size, padding), Norm(n_out))
        if relu:
            self.conv_block.append(Relu())

    def forward(self, cases: list[Tensor]) -> list[Tensor]:
        return self.conv_block(cases)


class ResidualBlock(nn.Module):
    def __init__(self, n_in: int, n_out: int, padding: str) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            ConvBlock(n_in, n_out, 8, padding, relu=False),
            ConvBlock(n_out, n_out, 5, padding, relu=False),
            ConvBlock(n_out, n_out, 3, padding),
        )
        norm = Norm(n_out)
        self.residual = norm if n_in == n_out else nn.Sequential(Conv(n_in, n_out, 1, padding), norm)

    def forward(self, cases: list[Tensor]) -> list[Tensor]:
        return Relu()(add(self.layers(cases), self.residual(cases)))


class InceptionModule(nn.Module):
    def __init__(self, n_in: int, padding: str) -> None:
        super().__init__()
        self.bottleneck = Conv(n_in, 32, 1, padding) if n_in > 1 else nn.Identity()
        n_narrow = 32 if n_in > 1 else 1
        self.conv_layers = nn.ModuleList(Conv(n_narrow, 32, size, padding) for size in (10, 20, 40))
        self.max_pooling_w_bottleneck = nn.Sequential(MaxPool(3, 1, 1), Conv(n_in, 32, 1, padding))
        self.activation = nn.Sequential(Norm(128), Relu())

    def forward(self, cases: list[Tensor]) -> list[Tensor]:
        narrow = self.bottleneck(cases)
        parts = [layer(narrow) for layer in self.conv_layers] + [self.max_pooling_w_bottleneck(cases)]
        return self.activation([torch.cat(of_case) for of_case in zip(*parts, strict=True)])


class InceptionBlock(nn.Module):
    def __init__(self, n_in: int, padding: str) -> None:
        super().__init__()
        self.inception_modules = nn.Sequential(*(InceptionModule(n, padding) for n in (n_in, 128, 128)))
        self.residual = nn.Sequential(Conv(n_in, 128, 1, padding), Norm(128))

    def forward(self, cases: list[Tensor]) -> list[Tensor]:
        return Relu()(add(self.inception_modules(cases), self.residual(cases)))


def separable(n_in: int, n_out: int, kernel_size: int, padding: str, dilation: int = 1) -> nn.Sequential:
    depthwise = Conv(n_in, n_in, kernel_size, padding, groups=n_in, dilation=dilation, bias=False)
    return nn.Sequential(depthwise, Conv(n_in, n_out, 1, padding, bias=False))


class Lite(nn.Module):
    """LITE as its authors describe it; nobody released a checkpoint, so the names are those of `millet`."""

    def __init__(self, n_channels: int, padding: str) -> None:
        super().__init__()
        self.edge, self.n_channels = padding, n_channels
        sizes = (10, 20, 40)
        self.first = nn.ModuleList(
            Conv(1, 32, size, padding, bias=False) if n_channels == 1 else separable(n_channels, 32, size, padding)
            for size in sizes
        )
        n_first = 3 * 32 + 17 * n_channels
        self.first_norm = Norm(n_first)
        self.separable = nn.ModuleList([separable(n_first, 32, 20, padding, 2), separable(32, 32, 10, padding, 4)])
        self.norms = nn.ModuleList([Norm(32), Norm(32)])

    def forward(self, cases: list[Tensor]) -> list[Tensor]:
        parts = [layer(cases) for layer in self.first] + [[self.answer(case) for case in cases]]
        cases = Relu()(self.first_norm([torch.cat(of_case) for of_case in zip(*parts, strict=True)]))
        for layer, norm in zip(self.separable, self.norms, strict=True):
            cases = Relu()(norm(layer(cases)))
        return cases

    def answer(self, case: Tensor) -> Tensor:
        """Return what the hand-made filters say of each channel, one filter after the other."""
        rows = []
        for channel in case:
            for taps in hand_made():
                left = (len(taps) - 1) // 2
                padded = pad_case(channel[None], left, len(taps) - 1 - left, self.edge)
                rows.append(F.conv1d(padded[None], torch.from_numpy(taps).to(case)[None, None])[0].clamp(min=0))
        return torch.cat(rows)


def hand_made() -> list[np.ndarray]:
    """Return the 12 filters of trends and 5 of peaks, each as long as it is."""
    filters = []
    for length in (2, 4, 8, 16, 32, 64):
        filters += [np.array([(-1.0) ** (1 + tap) for tap in range(length)]) * sign for sign in (1, -1)]
    for length in (6, 12, 24, 48, 96):
        flank = [(step / (length // 6)) ** 2 for step in range(1, length // 6 + 1)]
        bump = np.array(flank + flank[::-1])
        filters.append(np.concatenate([-bump, 2 * bump, -bump]))
    return filters


class FeatureExtractor(nn.Module):
    def __init__(self, backbone: str, n_channels: int, padding: str) -> None:
        super().__init__()
        blocks: dict[str, list[nn.Module]] = {
            "fcn": [
                ConvBlock(n_channels, 128, 8, padding),
                ConvBlock(128, 256, 5, padding),
                ConvBlock(256, 128, 3, padding),
            ],
            "resnet": [
                ResidualBlock(n_channels, 64, padding),
                ResidualBlock(64, 128, padding),
                ResidualBlock(128, 128, padding),
            ],
            "inceptiontime": [InceptionBlock(n_channels, padding), InceptionBlock(128, padding)],
            "lite": [Lite(n_channels, padding)],
        }
        self.instance_encoder = nn.Sequential(*blocks[backbone])

    def forward(self, cases: list[Tensor]) -> list[Tensor]:
        return self.instance_encoder(cases)


class PositionalEncoding(nn.Module):
    """A table of 5000 positions, which is what the released code stores."""

    def __init__(self, d_embedding: int) -> None:
        super().__init__()
        angle = np.arange(5000)[:, None] / 10000 ** (np.arange(0, d_embedding, 2) / d_embedding)
        table = np.stack([np.sin(angle), np.cos(angle)], axis=2).reshape(1, 5000, d_embedding)
        self.register_buffer("pe", torch.from_numpy(table).float())

    def forward(self, embeddings: Tensor) -> Tensor:
        return embeddings + self.pe[0, : len(embeddings)]


class Pool(nn.Module):
    """Equations 1 to 5 of the paper and the interpretations of its Section 3.3, for one case at a time."""

    def __init__(self, pooling: str, d_embedding: int, n_classes: int, positions: bool) -> None:
        super().__init__()
        self.pooling = pooling
        if positions:
            self.positional_encoding = PositionalEncoding(d_embedding)
        if pooling in ("attention", "additive", "conjunctive"):
            self.attention_head = nn.Sequential(nn.Linear(d_embedding, 8), nn.Tanh(), nn.Linear(8, 1), nn.Sigmoid())
        if pooling in ("gap", "attention"):
            self.bag_classifier = nn.Linear(d_embedding, n_classes)
        else:
            self.instance_classifier = nn.Linear(d_embedding, n_classes)

    def forward(self, case: Tensor) -> tuple[Tensor, Tensor]:
        """Pool (D, T) to logits (K,) and scores (K, T)."""
        z = case.T
        if hasattr(self, "positional_encoding"):
            z = self.positional_encoding(z)
        if self.pooling == "gap":
            return self.bag_classifier(z.mean(0)), (z @ self.bag_classifier.weight.T).T
        if self.pooling == "instance":
            predictions = self.instance_classifier(z)
            return predictions.mean(0), predictions.T
        attention = self.attention_head(z)
        if self.pooling == "attention":
            logits = self.bag_classifier((attention * z).mean(0))
            return logits, attention.T.expand(len(logits), -1)
        if self.pooling == "additive":
            predictions = self.instance_classifier(attention * z)
            return predictions.mean(0), (attention * predictions).T
        weighted = attention * self.instance_classifier(z)
        return weighted.mean(0), weighted.T


class AuthorsNetwork(nn.Module):
    """The network of a released checkpoint: its `state_dict` has that checkpoint's names."""

    def __init__(
        self,
        backbone: str,
        pooling: str,
        n_channels: int,
        n_classes: int,
        padding: str = "replicate",
        positions: bool | None = None,
    ) -> None:
        super().__init__()
        self.feature_extractor = FeatureExtractor(backbone, n_channels, padding)
        d_embedding = 32 if backbone == "lite" else 128
        self.pool = Pool(pooling, d_embedding, n_classes, pooling != "gap" if positions is None else positions)

    def forward(self, cases: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Classify cases (C, T_i): logits (B, K), and scores (K, T_i) of each."""
        outputs = [self.pool(embedded) for embedded in self.feature_extractor(cases)]
        return torch.stack([logits for logits, _ in outputs]), [scores for _, scores in outputs]


def matching_tensors(ours: nn.Module, theirs: AuthorsNetwork) -> list[tuple[Tensor, Tensor]]:
    """Pair every weight of a `MilletNetwork` with the oracle's: the backbones hold theirs in the same order."""
    pairs = list(
        zip(_tensors(ours.backbone), _tensors(theirs.feature_extractor), strict=True)  # type: ignore[arg-type]
    )
    layers = [(ours.pooling.classify, _classifier(theirs.pool))]  # type: ignore[union-attr]
    if hasattr(theirs.pool, "attention_head"):
        attend = ours.pooling.attend  # type: ignore[union-attr]
        layers += [(attend.hidden, theirs.pool.attention_head[0]), (attend.out, theirs.pool.attention_head[2])]
    return pairs + [pair for a, b in layers for pair in ((a.weight, b.weight), (a.bias, b.bias))]


def copy_weights(ours: nn.Module, theirs: AuthorsNetwork) -> AuthorsNetwork:
    """Give the oracle the weights and batch statistics of a `MilletNetwork`."""
    with torch.no_grad():
        for our_tensor, their_tensor in matching_tensors(ours, theirs):
            assert our_tensor.shape == their_tensor.shape
            their_tensor.copy_(our_tensor)
    return theirs.train(ours.training)


def fill_by_formula(network: AuthorsNetwork) -> AuthorsNetwork:
    """Set every weight by a sine, so that the network is the same on every machine and in every version."""
    for order, (name, tensor) in enumerate(network.state_dict().items()):
        if name.endswith((".pe", "num_batches_tracked")):
            continue
        wave = np.sin(0.37 * np.arange(tensor.numel()) ** 1.1 + order).reshape(tensor.shape)
        if name.endswith("running_var"):
            wave = 1 + wave**2
        elif tensor.ndim > 1:
            wave *= 2 / np.sqrt(tensor[0].numel())
        elif name.endswith("weight"):
            wave = 1 + wave / 2
        tensor.copy_(torch.from_numpy(wave))
    return network.eval()


def _tensors(module: nn.Module) -> list[Tensor]:
    return list(module.state_dict(keep_vars=True).values())


def _classifier(pool: Pool) -> nn.Linear:
    return pool.bag_classifier if hasattr(pool, "bag_classifier") else pool.instance_classifier

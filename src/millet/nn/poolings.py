"""Poolings: timepoint embeddings in, one prediction per case and its evidence out.

In:  embeddings (B, T, D) from `millet.nn.network` (or any bag of embeddings) and, where bags differ in size,
     `valid` (B, T), True for what belongs to the bag.
Out: `BagOutput`, read by `millet.training` (logits) and `millet.classifier` (evidence).

Equations 1 to 5 of the paper; the scores are its interpretations (Sec. 3.3).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, final

import torch
from torch import Tensor, nn

from millet.errors import lookup


class BagOutput(NamedTuple):
    """A prediction and its evidence; all evidence is exactly 0 where a bag has no timepoint.

    Attributes
    ----------
    logits : Tensor of shape (B, K)
    scores : Tensor of shape (B, K, T)
        The paper's interpretation for this pooling.
    attention : Tensor of shape (B, T), or None
    contributions : Tensor of shape (B, K, T), or None
        Evidence that adds up: its mean over a bag's own timepoints, plus `bias`, is the logit.
    bias : Tensor of shape (K,), or None
    """

    logits: Tensor
    scores: Tensor
    attention: Tensor | None
    contributions: Tensor | None
    bias: Tensor | None


def mean_over_time(z: Tensor, valid: Tensor | None) -> Tensor:
    """Average (B, T, D) over each bag's own timepoints: (B, D)."""
    if valid is None:
        return z.mean(dim=1)
    return (z * valid[:, :, None]).sum(dim=1) / valid.sum(dim=1, keepdim=True)


def _by_class(evidence: Tensor, valid: Tensor | None) -> Tensor:
    """(B, T, K) -> (B, K, T), with zeros outside the bag."""
    if valid is not None:
        evidence = evidence * valid[:, :, None]
    return evidence.transpose(1, 2)


@final
class TimepointLinear(nn.Linear):
    """A linear map of each embedding: (B, T, n_in) -> (B, T, n_out).

    Embeddings come from convolutions, which store neighbouring timepoints together; they are read, and the result is
    left, in that order, where `torch.nn.Linear` would transpose them first.
    """

    def forward(self, z: Tensor) -> Tensor:
        """Map every embedding."""
        return self.weigh(z) + self.bias

    def weigh(self, z: Tensor) -> Tensor:
        """Map every embedding, without the bias."""
        return torch.bmm(self.weight.expand(len(z), -1, -1), z.transpose(1, 2)).transpose(1, 2)


class Pooling(nn.Module, ABC):
    """Maps a bag of embeddings to one prediction and the evidence of each embedding.

    Parameters
    ----------
    d_in : int
        Size of an embedding.
    n_classes : int
    d_attention : int, default=8
        Hidden size of the attention head, in the poolings that have one.
    """

    def __init__(self, d_in: int, n_classes: int, d_attention: int = 8) -> None:
        super().__init__()
        self.classify = TimepointLinear(d_in, n_classes)

    @abstractmethod
    def forward(self, z: Tensor, valid: Tensor | None = None) -> BagOutput:
        """Pool (B, T, D) embeddings."""


class AttentionHead(nn.Module):
    """How much each timepoint matters: (B, T, D) -> (B, T, 1), each in [0, 1].

    Sigmoid, not softmax: over a long series a softmax leaves every timepoint almost nothing.
    """

    def __init__(self, d_in: int, d_attention: int) -> None:
        super().__init__()
        self.hidden = TimepointLinear(d_in, d_attention)
        self.out = TimepointLinear(d_attention, 1)

    def forward(self, z: Tensor) -> Tensor:
        """Weigh every timepoint."""
        return torch.sigmoid(self.out(torch.tanh(self.hidden(z))))


@final
class GapPooling(Pooling):
    """Global average pooling, the baseline: average the embeddings, then classify (Eq. 1).

    The scores are the class activation map (CAM): the classifier's weights applied to each embedding.
    """

    def forward(self, z: Tensor, valid: Tensor | None = None) -> BagOutput:
        """Pool (B, T, D) embeddings."""
        logits = self.classify(mean_over_time(z, valid)[:, None])[:, 0]
        activation = _by_class(self.classify.weigh(z), valid)
        return BagOutput(logits, activation, None, activation, self.classify.bias)


@final
class AttentionPooling(Pooling):
    """Average the embeddings weighted by attention, then classify (Eq. 2).

    The scores are the attention itself, the same for every class: importance without a sign.
    """

    def __init__(self, d_in: int, n_classes: int, d_attention: int = 8) -> None:
        super().__init__(d_in, n_classes)
        self.attend = AttentionHead(d_in, d_attention)

    def forward(self, z: Tensor, valid: Tensor | None = None) -> BagOutput:
        """Pool (B, T, D) embeddings."""
        attention = self.attend(z)  # (B, T, 1)
        logits = self.classify(mean_over_time(attention * z, valid)[:, None])[:, 0]
        weights = _by_class(attention, valid)  # (B, 1, T)
        return BagOutput(logits, weights.expand(-1, logits.shape[1], -1), weights[:, 0], None, None)


@final
class InstancePooling(Pooling):
    """Classify each timepoint, then average the predictions (Eq. 3)."""

    def forward(self, z: Tensor, valid: Tensor | None = None) -> BagOutput:
        """Pool (B, T, D) embeddings."""
        predictions = self.classify(z)  # (B, T, K)
        evidence = _by_class(predictions, valid)
        logits = mean_over_time(predictions, valid)
        return BagOutput(logits, evidence, None, evidence, logits.new_zeros(logits.shape[1]))


@final
class AdditivePooling(Pooling):
    """Classify each attention-scaled embedding, then average the predictions (Eq. 4).

    The published scores weigh the predictions by the attention once more (Sec. 3.3), so they do not average to
    the logit; the predictions themselves, which are the contributions, do.
    """

    def __init__(self, d_in: int, n_classes: int, d_attention: int = 8) -> None:
        super().__init__(d_in, n_classes)
        self.attend = AttentionHead(d_in, d_attention)

    def forward(self, z: Tensor, valid: Tensor | None = None) -> BagOutput:
        """Pool (B, T, D) embeddings."""
        attention = self.attend(z)  # (B, T, 1)
        predictions = self.classify(attention * z)  # (B, T, K)
        logits = mean_over_time(predictions, valid)
        return BagOutput(
            logits,
            _by_class(attention * predictions, valid),
            _by_class(attention, valid)[:, 0],
            _by_class(predictions, valid),
            logits.new_zeros(logits.shape[1]),
        )


@final
class ConjunctivePooling(Pooling):
    """Each timepoint's class prediction, weighted by its attention, then averaged (Eq. 5): the paper's own.

    Examples
    --------
    Any bag of embeddings will do, not only a time series:

    >>> import torch
    >>> bags = torch.randn(2, 30, 16)                        # 2 bags of 30 embeddings
    >>> output = ConjunctivePooling(d_in=16, n_classes=3)(bags)
    >>> torch.allclose(output.contributions.mean(2) + output.bias, output.logits, atol=1e-6)
    True
    """

    def __init__(self, d_in: int, n_classes: int, d_attention: int = 8) -> None:
        super().__init__(d_in, n_classes)
        self.attend = AttentionHead(d_in, d_attention)

    def forward(self, z: Tensor, valid: Tensor | None = None) -> BagOutput:
        """Pool (B, T, D) embeddings."""
        attention = self.attend(z)  # (B, T, 1)
        weighted = attention * self.classify(z)  # (B, T, K)
        evidence = _by_class(weighted, valid)
        logits = mean_over_time(weighted, valid)
        return BagOutput(
            logits, evidence, _by_class(attention, valid)[:, 0], evidence, logits.new_zeros(logits.shape[1])
        )


POOLINGS: dict[str, type[Pooling]] = {
    "additive": AdditivePooling,
    "attention": AttentionPooling,
    "conjunctive": ConjunctivePooling,
    "gap": GapPooling,
    "instance": InstancePooling,
}


def pooling_multiplications(pooling: str, t: int, c: int, d: int = 128, a: int = 8) -> int:
    """Return the number of real multiplications that a pooling takes for one case: the paper's complexity table.

    Parameters
    ----------
    pooling : str
        A name in `POOLINGS`; "gap" includes its class activation map.
    t, c, d, a : int
        Timepoints, classes, size of an embedding, hidden size of the attention head.

    Notes
    -----
    As in the table, the count for Additive leaves out weighting its predictions to get the scores: t × c more.

    Examples
    --------
    >>> pooling_multiplications("conjunctive", t=463, c=7)
    899146
    """
    counts = {
        "gap": d * t * c + d * t + d * c,
        "attention": d * t * a + (2 * d + a) * t + d * c,
        "instance": d * t * c + t * c,
        "additive": d * t * c + d * t * a + (a + d + c) * t,
        "conjunctive": d * t * c + d * t * a + (a + 2 * c) * t,
    }
    return lookup("pooling", pooling, counts)

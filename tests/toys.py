"""Hand-solved networks: integer weights and three timepoints, so that every number can be checked on paper.

The bag's embeddings are (1, 2), (-1, 1) and (0, 4). With the toy's weights

- the classifier gives W z = (5, 1, 8) for the first class and (-2, -1, -4) for the second, with biases 1 and -2;
- the attention is sigmoid(ln 3 * tanh(100 z_1)), which is 3/4, 1/4 and 1/2.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from millet.nn import Pooling

ATTENTION = [3 / 4, 1 / 4, 1 / 2]


def toy_bag() -> Tensor:
    """Return one bag of three embeddings of size 2: (1, 3, 2)."""
    return torch.tensor([[[1.0, 2.0], [-1.0, 1.0], [0.0, 4.0]]])


def toy_pooling(kind: type[Pooling]) -> Pooling:
    """Return a pooling for embeddings of size 2 and two classes, with the toy's weights."""
    pooling = kind(2, 2, 1)
    with torch.no_grad():
        pooling.classify.weight.copy_(torch.tensor([[1.0, 2.0], [0.0, -1.0]]))
        pooling.classify.bias.copy_(torch.tensor([1.0, -2.0]))
        if hasattr(pooling, "attend"):
            pooling.attend.hidden.weight.copy_(torch.tensor([[100.0, 0.0]]))
            pooling.attend.hidden.bias.zero_()
            pooling.attend.out.weight.fill_(math.log(3))
            pooling.attend.out.bias.zero_()
    return pooling


class ValuesAsEmbeddings(nn.Module):
    """A backbone that does nothing: a timepoint's channels are its embedding, whatever stands around it."""

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        self.d_out = n_channels

    def forward(self, x: Tensor) -> Tensor:
        return x

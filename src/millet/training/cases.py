"""Labelled cases, and which of them go through a network together.

In:  bags and class codes. Out: batches as tensors, read by the loop and the classifier.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from millet.bags import Bags, Batch

# Embeddings of at most this many timepoints are held at once in inference; more would not fit the CPU's caches.
INFERENCE_TIMEPOINTS = 32_768


class Labelled:
    """Cases with their class codes; `positions` selects some of the bags, all by default."""

    # Not a dataclass: Fabric takes those apart when it hands them to processes.
    def __init__(self, bags: Bags, codes: NDArray[np.int64], positions: NDArray[np.int64] | None = None) -> None:
        self.bags = bags
        self.codes = codes
        self.positions = np.arange(len(bags)) if positions is None else positions

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of every case."""
        return self.bags.lengths[self.positions]

    def batch(self, chosen: NDArray[np.int64]) -> tuple[Batch, Tensor]:
        """Return some of the cases and their codes."""
        positions = self.positions[chosen]
        return self.bags.batch(positions), torch.from_numpy(self.codes[positions])


def inference_batches(lengths: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield positions of cases to run together: of similar length, and not too many timepoints at once."""
    order = np.argsort(lengths, kind="stable")[::-1]
    start = 0
    while start < len(order):
        size = max(1, INFERENCE_TIMEPOINTS // int(lengths[order[start]]))
        yield order[start : start + size]
        start += size

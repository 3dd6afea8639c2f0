"""Transforms: the published combinations of banks, by name.

In:  cases. Out: all features of a case (F,) or, weighted, their shares over time, for `millet.rocket.model`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from millet.bags import Batch
from millet.errors import lookup
from millet.rocket.banks import Bank, FourBank, HydraBank, PpvBank
from millet.rocket.spreading import from_difference

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


class Part(NamedTuple):
    """A bank of features, whether it sees the first difference, and its fraction of a transform's features."""

    bank: type[Bank]
    difference: bool
    fraction: float


TRANSFORMS: dict[str, tuple[Part, ...]] = {
    "minirocket": (Part(PpvBank, False, 1),),
    "multirocket": (Part(FourBank, False, 1 / 2), Part(FourBank, True, 1 / 2)),
    "hydra": (Part(HydraBank, False, 1 / 2), Part(HydraBank, True, 1 / 2)),
    "multirocket-hydra": (
        Part(FourBank, False, 7 / 16),
        Part(FourBank, True, 7 / 16),
        Part(HydraBank, False, 1 / 16),
        Part(HydraBank, True, 1 / 16),
    ),
}


class Transform:
    """Banks side by side.

    Attributes
    ----------
    n_features : int
        How many features the banks have together, F.
    sparse : ndarray of bool, shape (F,)
        Which features stay 0 when they are scaled.
    """

    def __init__(self, banks: list[Bank]) -> None:
        self._banks = banks
        self.sparse = np.concatenate([np.full(bank.n_features, bank.sparse) for bank in banks])
        self.n_features = len(self.sparse)

    @classmethod
    def fit(cls, name: str, batch: Batch, n_features: int | None, rng: np.random.Generator) -> Transform:
        """Fit the banks of a transform to training cases: about `n_features`, by default the published number."""
        parts = lookup("transform", name, TRANSFORMS)
        numbers = [None if n_features is None else max(round(part.fraction * n_features), 1) for part in parts]
        return cls(
            [part.bank.fit(batch, part.difference, number, rng) for part, number in zip(parts, numbers, strict=True)]
        )

    @classmethod
    def restore(cls, name: str, arrays: Mapping[str, NDArray[Any]], n_channels: int) -> Transform:
        """Return the transform that these arrays came from."""
        banks = []
        for position, part in enumerate(lookup("transform", name, TRANSFORMS)):
            prefix = _prefix(position)
            own = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
            banks.append(part.bank.restore(own, part.difference, n_channels))
        return cls(banks)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was fitted, by name."""
        return {
            _prefix(position) + name: array
            for position, bank in enumerate(self._banks)
            for name, array in bank.fitted._asdict().items()
        }

    def columns(self) -> Iterator[tuple[Bank, slice]]:
        """Yield every bank with the columns of its features."""
        first = 0
        for bank in self._banks:
            yield bank, slice(first, first + bank.n_features)
            first += bank.n_features

    def features(self, values: Floats, lengths: NDArray[np.int64]) -> Doubles:
        """Return the features (B, F) of cases (B, C, T)."""
        return np.concatenate([bank.features(values, lengths) for bank in self._banks], axis=1)

    def shares(
        self, values: Floats, length: int, weights: Doubles, centres: Doubles, spread: int, by_channel: bool
    ) -> Doubles:
        """Return one case's shares (C or 1, T, K), which add up over time to features minus centres, weighted."""
        shares = np.zeros((len(values) if by_channel else 1, length, weights.shape[1]))
        for bank, own in self.columns():
            if bank.difference and length == 1:
                # A single point has no difference: its features are 0, and the centres' part goes to that point.
                if not bank.sparse:
                    shares -= centres[own] @ weights[own] / len(shares)
                continue
            found = bank.shares(values, length, weights[own], centres[own], spread, by_channel)
            shares += from_difference(found, length) if bank.difference else found
        return shares


def _prefix(position: int) -> str:
    return f"bank{position}."

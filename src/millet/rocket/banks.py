"""Banks: groups of convolutional features of a series or of its first difference, behind one interface.

In:  training cases. Out: features of any case, and each timepoint's share in their weighted sum, for
`millet.rocket.model`. What a bank learns from the training cases are plain arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from millet.bags import Batch
from millet.rocket.four import N_POOLS, four_features, four_shares
from millet.rocket.groups import HydraKernels, draw_kernels, restore_kernels
from millet.rocket.hydra import hydra_features, hydra_shares
from millet.rocket.plan import HEAVY_TAPS, Plan, make_plan, restore_plan
from millet.rocket.ppv import ppv_features, ppv_shares

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Arrays = Mapping[str, NDArray[Any]]


class Bank(ABC):
    """Features that are fitted without labels.

    Attributes
    ----------
    sparse : bool
        Whether a feature of 0 means that nothing was seen: then it stays 0 when features are scaled.
    difference : bool
        Whether the features are those of the first difference.
    fitted : NamedTuple of ndarray
        What was fitted.
    """

    sparse: ClassVar[bool] = False

    def __init__(self, fitted: Plan | HydraKernels, difference: bool) -> None:
        self.fitted = fitted
        self.difference = difference

    @classmethod
    @abstractmethod
    def fit(cls, batch: Batch, difference: bool, n_features: int | None, rng: np.random.Generator) -> Bank:
        """Fit about `n_features` features to training cases; by default the published number."""

    @classmethod
    @abstractmethod
    def restore(cls, arrays: Arrays, difference: bool, n_channels: int) -> Bank:
        """Return the bank that these arrays came from."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """How many features there are, F."""

    @abstractmethod
    def features(self, values: Floats, lengths: NDArray[np.int64]) -> Doubles:
        """Return the features (B, F) of cases (B, C, T)."""

    @abstractmethod
    def shares(
        self, values: Floats, length: int, weights: Doubles, centres: Doubles, spread: int, by_channel: bool
    ) -> Doubles:
        """Return one case's shares (C or 1, T, K), which add up over time to features minus centres, weighted.

        Weights are (F, K), centres (F,). A sparse feature of 0 has no share.
        """


@final
class PpvBank(Bank):
    """MiniRocket (Dempster et al. 2021): how often each convolution exceeds each of its biases."""

    fitted: Plan

    @classmethod
    def fit(cls, batch: Batch, difference: bool, n_features: int | None, rng: np.random.Generator) -> PpvBank:
        """Choose kernels' dilations, channels and biases."""
        return cls(make_plan(batch, difference, n_features or 10_000, rng), difference)

    @classmethod
    def restore(cls, arrays: Arrays, difference: bool, n_channels: int) -> PpvBank:
        """Return the bank that these arrays came from."""
        return cls(restore_plan(arrays, n_channels), difference)

    @property
    def n_features(self) -> int:
        """One for each bias."""
        return len(self.fitted.biases)

    def features(self, values: Floats, lengths: NDArray[np.int64]) -> Doubles:
        """Return the features (B, F) of cases (B, C, T)."""
        features = np.empty((len(values), self.n_features))
        ppv_features(values, lengths, self.difference, HEAVY_TAPS, *self.fitted, features)
        return features

    def shares(
        self, values: Floats, length: int, weights: Doubles, centres: Doubles, spread: int, by_channel: bool
    ) -> Doubles:
        """Return one case's shares (C or 1, T, K)."""
        return ppv_shares(
            values, length, self.difference, HEAVY_TAPS, *self.fitted, weights, centres, spread, by_channel
        )


@final
class FourBank(Bank):
    """MultiRocket (Tan et al. 2022): four features of every convolution and bias."""

    fitted: Plan

    @classmethod
    def fit(cls, batch: Batch, difference: bool, n_features: int | None, rng: np.random.Generator) -> FourBank:
        """Choose kernels' dilations, channels and biases."""
        return cls(make_plan(batch, difference, (n_features or 25_000) // N_POOLS, rng), difference)

    @classmethod
    def restore(cls, arrays: Arrays, difference: bool, n_channels: int) -> FourBank:
        """Return the bank that these arrays came from."""
        return cls(restore_plan(arrays, n_channels), difference)

    @property
    def n_features(self) -> int:
        """Four for each bias."""
        return N_POOLS * len(self.fitted.biases)

    def features(self, values: Floats, lengths: NDArray[np.int64]) -> Doubles:
        """Return the features (B, F) of cases (B, C, T)."""
        features = np.empty((len(values), self.n_features))
        four_features(values, lengths, self.difference, HEAVY_TAPS, *self.fitted, features)
        return features

    def shares(
        self, values: Floats, length: int, weights: Doubles, centres: Doubles, spread: int, by_channel: bool
    ) -> Doubles:
        """Return one case's shares (C or 1, T, K)."""
        return four_shares(
            values, length, self.difference, HEAVY_TAPS, *self.fitted, weights, centres, spread, by_channel
        )


@final
class HydraBank(Bank):
    """Hydra (Dempster et al. 2023): which kernels of a group are largest or smallest, and how often."""

    sparse = True
    fitted: HydraKernels

    @classmethod
    def fit(cls, batch: Batch, difference: bool, n_features: int | None, rng: np.random.Generator) -> HydraBank:
        """Draw kernels and channels."""
        return cls(draw_kernels(batch, difference, n_features, rng), difference)

    @classmethod
    def restore(cls, arrays: Arrays, difference: bool, n_channels: int) -> HydraBank:
        """Return the bank that these arrays came from."""
        return cls(restore_kernels(arrays, n_channels), difference)

    @property
    def n_features(self) -> int:
        """Two for each kernel and dilation."""
        return 2 * int(np.prod(self.fitted.kernels.shape[:3]))

    def features(self, values: Floats, lengths: NDArray[np.int64]) -> Doubles:
        """Return the features (B, F) of cases (B, C, T)."""
        features = np.empty((len(values), self.n_features))
        hydra_features(values, lengths, self.difference, *self.fitted, features)
        return features

    def shares(
        self, values: Floats, length: int, weights: Doubles, centres: Doubles, spread: int, by_channel: bool
    ) -> Doubles:
        """Return one case's shares (C or 1, T, K)."""
        return hydra_shares(values, length, self.difference, *self.fitted, weights, centres, spread, by_channel)

"""`RocketModel`: convolutional features and a linear head, with every timepoint's share in every logit.

In:  batches of `millet.bags`. Out: logits and `RocketEvidence`, read by the classifier; arrays and settings, read by
the storage.

A logit is a weighted sum of features plus a bias. A feature is a sum over timepoints, so the logit is one too: the
mean over time of the contributions, plus a bias that is the same for all cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from millet.bags import Batch
from millet.checks import integer
from millet.errors import SeriesError, StorageError, lookup
from millet.rocket.heads import HEADS, both_signs, fit_head
from millet.rocket.scaling import limited_weights, scale_features, weighted_sum
from millet.rocket.spreading import SPREADS
from millet.rocket.stored import take
from millet.rocket.threads import for_each_block, n_threads
from millet.rocket.transforms import TRANSFORMS, Transform

__all__ = ["HEADS", "SPREADS", "TRANSFORMS", "RocketEvidence", "RocketModel"]

Doubles = NDArray[np.float64]

BLOCK_CASES = 16
LARGEST_VALUE = 1e30  # sums of several such values still fit 32-bit floats


class RocketEvidence(NamedTuple):
    """What a model says about some cases, and why.

    Attributes
    ----------
    logits : ndarray of float64, shape (B, K)
        The mean over each case's timepoints of its contributions, plus the bias.
    contributions : ndarray of float64, shape (B, K, T)
        0 beyond each case's end.
    channel_contributions : ndarray of float64, shape (B, K, C, T), or None
        They add up over channels to the contributions.
    bias : ndarray of float64, shape (K,)
        The same for all cases.
    """

    logits: Doubles
    contributions: Doubles
    channel_contributions: Doubles | None
    bias: Doubles


class RocketModel:
    """Convolutional features of time series and a linear head; made by `fit` or `restore`.

    Attributes
    ----------
    transform : str
        One of `TRANSFORMS`.
    head : str
        One of `HEADS`.
    n_classes : int
        The number of classes, K.
    n_channels : int
        The number of channels of every case.
    n_features : int
        How many features the banks have together, F.
    n_jobs : int
        How many cases are worked on at once; may be changed at any time and is not stored.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=(20, 1, 50)).astype(np.float32)
    >>> codes = np.arange(20) % 2
    >>> values[codes == 1, 0, 20:30] += 3
    >>> batch = Batch(values, np.full(20, 50))
    >>> model = RocketModel.fit(batch, codes, 2, n_features=840)
    >>> bool((model.logits(batch).argmax(axis=1) == codes).all())
    True
    >>> evidence = model.evidence(batch)
    >>> evidence.contributions.shape
    (20, 2, 50)
    >>> np.allclose(evidence.contributions.mean(axis=2) + evidence.bias, evidence.logits)
    True
    """

    def __init__(
        self,
        settings: _Settings,
        transform: Transform,
        weights: Doubles,
        centres: Doubles,
        limits: Doubles,
        offsets: Doubles,
    ) -> None:
        self.transform, self.head, self.n_classes, self.n_channels = settings
        self.n_jobs = 1
        self._transform = transform
        self._weights = weights  # (F, Q): Q is 1 with two classes, else K
        self._centres = centres  # (F,): the features' means
        self._limits = limits  # (F,): how far from them a feature counts
        self._offsets = offsets  # (Q,)

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return self._transform.n_features

    @classmethod
    def fit(
        cls,
        batch: Batch,
        codes: NDArray[np.int64],
        n_classes: int,
        *,
        transform: str = "minirocket",
        n_features: int | None = None,
        head: str = "ridge",
        seed: int = 0,
        n_jobs: int = 1,
        progress: bool = False,
    ) -> RocketModel:
        """Fit features and head to labelled cases.

        Parameters
        ----------
        batch : Batch
            Cases (B, C, T) and their lengths.
        codes : ndarray of int64, shape (B,)
            Each case's class, counted from 0.
        n_classes : int
            The number of classes, at least 2.
        transform : str, default="minirocket"
            One of `TRANSFORMS`.
        n_features : int, optional
            About how many features; the published number unless given.
        head : str, default="ridge"
            One of `HEADS`.
        seed : int, default=0
            The same seed gives the same features, whatever `n_jobs` is.
        n_jobs : int, default=1
            How many threads to use, as joblib counts them.
        progress : bool, default=False
            Show a bar while features are computed.
        """
        lookup("head", head, HEADS)
        if n_features is not None:
            integer("n_features", n_features, at_least=1)
        cases = _checked(batch, batch.values.shape[1])
        fitted = Transform.fit(transform, cases, n_features, np.random.default_rng(seed))
        features = compute_features(fitted, cases, n_threads(n_jobs), progress)
        with threadpool_limits(limits=n_threads(n_jobs), user_api="blas"):
            scales = [scale_features(features[:, own], bank.sparse) for bank, own in fitted.columns()]
            linear = fit_head(features, codes, n_classes, head)
        centres, deviations, rest, limits = (np.concatenate(part) for part in zip(*scales, strict=True))
        model = cls(
            _Settings(transform, head, n_classes, cases.values.shape[1]),
            fitted,
            linear.coefficients / deviations[:, None],
            centres,
            limits,
            linear.intercepts - rest @ linear.coefficients,
        )
        model.n_jobs = n_jobs
        return model

    def logits(self, batch: Batch) -> Doubles:
        """Return the logits (B, K) of cases of any length."""
        cases = _checked(batch, self.n_channels)
        decisions = np.empty((len(cases.values), len(self._offsets)))

        def work(first: int, stop: int) -> None:
            features = self._transform.features(cases.values[first:stop], cases.lengths[first:stop])
            for row, case in enumerate(features):
                decisions[first + row] = self._decide(case)

        for_each_block(work, len(decisions), BLOCK_CASES, n_threads(self.n_jobs))
        return both_signs(decisions + self._offsets)

    def evidence(self, batch: Batch, spread: str = "taps", channels: bool = False) -> RocketEvidence:
        """Return logits and what every timepoint contributes to them.

        Parameters
        ----------
        batch : Batch
            Cases (B, C, T) of any length.
        spread : str, default="taps"
            How a feature's share is spread over time: "anchor" (on the centre of the convolution), "taps" (evenly on
            the points under the kernel's taps) or "weighted" (on those points by the size of weight times value).
        channels : bool, default=False
            Whether to tell the channels apart too.
        """
        how = lookup("spread", spread, SPREADS)
        cases = _checked(batch, self.n_channels)
        n_cases, n_channels, n_timepoints = cases.values.shape
        by_channel = channels and n_channels > 1
        shares = np.zeros((n_cases, len(self._offsets), n_channels if by_channel else 1, n_timepoints))
        decisions = np.empty((n_cases, len(self._offsets)))

        def work(case: int, stop: int) -> None:
            features = self._transform.features(cases.values[case:stop], cases.lengths[case:stop])[0]
            decisions[case] = self._decide(features)
            weights = limited_weights(features, self._centres, self._limits, self._weights)
            length = int(cases.lengths[case])
            found = self._transform.shares(cases.values[case], length, weights, self._centres, how, by_channel)
            shares[case, :, :, :length] = length * found.transpose(2, 0, 1)

        for_each_block(work, n_cases, 1, n_threads(self.n_jobs))
        both = np.concatenate([-shares, shares], axis=1) if self.n_classes == 2 else shares
        return RocketEvidence(
            both_signs(decisions + self._offsets),
            both.sum(axis=2),
            both if channels else None,
            both_signs(self._offsets[None])[0],
        )

    def _decide(self, features: Doubles) -> Doubles:
        """Return one case's decisions (Q,) without the offsets."""
        return weighted_sum(features, self._transform.sparse, self._centres, self._limits, self._weights)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that was fitted, by name."""
        head = {
            "weights": self._weights,
            "centres": self._centres,
            "limits": self._limits,
            "offsets": self._offsets,
        }
        return head | self._transform.arrays()

    def settings(self) -> dict[str, Any]:
        """Return what `restore` needs besides the arrays, ready for JSON."""
        return _Settings(self.transform, self.head, self.n_classes, self.n_channels)._asdict()

    @classmethod
    def restore(cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> RocketModel:
        """Return the model that these settings and arrays came from.

        Raises
        ------
        MilletError
            If they do not fit together.
        """
        try:
            known = _Settings(**settings)
        except TypeError:
            raise StorageError(
                f"The settings of a stored model must be {', '.join(_Settings._fields)}; "
                f"got {', '.join(map(str, settings)) or 'none'}. Save the model again."
            ) from None
        lookup("head", known.head, HEADS)
        integer("n_classes", known.n_classes, at_least=2)
        integer("n_channels", known.n_channels, at_least=1)
        transform = Transform.restore(known.transform, arrays, known.n_channels)
        n_decisions = 1 if known.n_classes == 2 else known.n_classes
        return cls(
            known,
            transform,
            take(arrays, "weights", np.float64, (transform.n_features, n_decisions)),
            take(arrays, "centres", np.float64, (transform.n_features,)),
            take(arrays, "limits", np.float64, (transform.n_features,)),
            take(arrays, "offsets", np.float64, (n_decisions,)),
        )


class _Settings(NamedTuple):
    transform: str
    head: str
    n_classes: int
    n_channels: int


def _checked(batch: Batch, n_channels: int) -> Batch:
    """Return the cases in the one memory layout that code is compiled for, after checking that they are in bounds."""
    values = np.require(batch.values, np.float32, ["C", "W"])
    lengths = np.require(batch.lengths, np.int64, ["C", "W"])
    if values.ndim != 3 or values.shape[1] != n_channels or lengths.shape != values.shape[:1]:
        raise SeriesError(
            f"The model wants cases of {n_channels} channels, (n_cases, {n_channels}, n_timepoints), and a length "
            f"for each; got values of shape {values.shape} and lengths of shape {lengths.shape}."
        )
    if len(values) and (lengths.min() < 1 or lengths.max() > values.shape[2]):
        raise SeriesError(
            f"Lengths must lie between 1 and the {values.shape[2]} timepoints of the values; "
            f"got {lengths.min()} to {lengths.max()}."
        )
    largest = float(np.abs(values).max(initial=0.0))
    if not largest <= LARGEST_VALUE:
        raise SeriesError(
            f"Values must be finite and at most {LARGEST_VALUE:g} in size; got {largest:g}. Scale them."
        )
    return Batch(values, lengths)


def compute_features(transform: Transform, batch: Batch, threads: int, progress: bool) -> NDArray[np.float32]:
    """Return the features (B, F) of all cases, in 32 bits since there may be gigabytes of them."""
    features = np.empty((len(batch.values), transform.n_features), dtype=np.float32)
    with tqdm(total=len(features), desc="Features", unit="case", disable=not progress) as bar:

        def work(first: int, stop: int) -> None:
            features[first:stop] = transform.features(batch.values[first:stop], batch.lengths[first:stop])
            bar.update(stop - first)

        for_each_block(work, len(features), BLOCK_CASES, threads)
    return features

"""`RocketMilletClassifier`: the fast lane, whose logits are means over time of what random convolutions say.

In:  series in any container (`millet.bags` checks them) and labels.
Out: predictions, and `Explanation`: the features of `millet.rocket` split exactly among the timepoints.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save
from sklearn.utils import Tags

from millet.bags import Bags, Batch, remove_timepoints
from millet.checks import integer, jobs, random_generator
from millet.contract import EvidenceClassifier, check_normalise, check_removed, data_summary
from millet.description import (
    describe_input,
    describe_preprocessing,
    plain_parameter,
    restore_input,
    restore_normalisation,
    restoring,
)
from millet.doubts import warn_of_constants
from millet.errors import StorageError, lookup
from millet.explanation import Explanation
from millet.rocket.model import HEADS, SPREADS, TRANSFORMS, RocketModel
from millet.watching import slow_work, someone_watches

KIND = "RocketMilletClassifier"
# Not part of a model: they belong to the machine or the moment.
TRANSIENT = ("n_jobs", "verbose")
# Enough to keep all cores busy, few enough that a memory map is never held whole.
BATCH_SIZE = 256


@final
class RocketMilletClassifier(EvidenceClassifier):
    """Classify time series by random convolutions, in seconds, and show the exact evidence of every timepoint.

    Every feature is a mean over time of something that a convolution found, and the head is linear: so the logit is a
    mean over time of signed, class-wise evidence, as with Instance pooling.

    Parameters
    ----------
    features : str, default="minirocket"
        What is computed from every series: "minirocket" (Dempster et al. 2021), "multirocket" (Tan et al. 2022),
        "hydra" (Dempster et al. 2023) or "multirocket-hydra", which is MultiRocket
        and Hydra together and, by a little, the most accurate.
    head : str, default="multinomial"
        What turns the features into logits. "multinomial" gives calibrated probabilities; "ridge" gives the decision
        values of the originals, whose softmax is not a probability. With two classes both predict the same.
    spread : str, default="taps"
        Where the share of a convolution goes: "taps", evenly to the points that the kernel touches; "anchor", to its
        centre alone; "weighted", to the points it touches by how much each counted. Predictions do not depend on it,
        so it may be changed after fitting.
    n_features : int, optional
        About how many features; None is the published number.
    normalise : bool or "auto", default="auto"
        z-normalise each channel of each series; use False if levels tell the class. "auto" normalises series of one
        channel. It normalises several channels if that predicts left-out training cases better; else it scales each
        channel by its mean and deviation over all training cases.
    n_jobs : int, default=-1
        Threads; -1 is one per core. The result does not depend on it, except for rounding.
    random_state : int, RandomState or None, default=None
    verbose : int, default=1
        1 shows progress on a terminal; 0 is silent.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    model_ : RocketModel
        Kernels, biases and the head's weights.
    normalisation_ : bool or ChannelScale
        Whether each channel of each series is z-normalised (also `normalises_`); a `ChannelScale` holds the means and
        deviations over all training cases by which channels are scaled instead.
    n_channels_in_ : int
    n_timepoints_in_ : int
        The length of the longest training series; series of any length can be classified.
    n_features_in_ : int
        Columns of X, only if it was a table; see `MilletClassifier`.
    training_summary_ : dict
        Cases, lengths, seconds, and a fingerprint of the training data.

    Examples
    --------
    >>> import numpy as np
    >>> from millet import RocketMilletClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20, 1, 30)); X[10:, 0, 12:18] += 4       # a bump is what tells the classes apart
    >>> y = np.repeat(["flat", "bump"], 10)
    >>> clf = RocketMilletClassifier(random_state=0).fit(X, y)
    >>> explanation = clf.explain(X)
    >>> explanation.contributions.shape, str(explanation.predicted[15])
    ((20, 2, 30), 'bump')
    >>> bool(explanation.completeness_error().max() < 1e-5)           # the evidence adds up to the logits
    True
    """

    model_: RocketModel

    def __init__(
        self,
        features: str = "minirocket",
        *,
        head: str = "multinomial",
        spread: str = "taps",
        n_features: int | None = None,
        normalise: bool | str = "auto",
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: int = 1,
    ) -> None:
        # Not `transform`, the papers' word: scikit-learn would take that for a method.
        self.features = features
        self.head = head
        self.spread = spread
        self.n_features = n_features
        self.normalise = normalise
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike) -> RocketMilletClassifier:
        """Choose kernels, and fit the head.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_timepoints) or (n_cases, n_channels, n_timepoints), or list
            Series of equal or unequal length; NaN stands for missing values.
        y : array-like of shape (n_cases,)
            Labels of any type.

        Returns
        -------
        RocketMilletClassifier
            The fitted classifier itself.
        """
        started, core_started = time.monotonic(), time.process_time()
        self._check_parameters()
        bags, classes, codes = self._training_cases(X, y, normalise=self.normalise)
        warn_of_constants(bags)
        model = RocketModel.fit(
            bags.batch(np.arange(len(bags))),
            codes,
            len(classes),
            transform=self.features,
            n_features=self.n_features,
            head=self.head,
            seed=int(random_generator(self.random_state).randint(np.iinfo(np.int32).max)),
            n_jobs=jobs(self.n_jobs),
            progress=bool(self.verbose) and someone_watches(),
        )
        self._remember_input(X, bags, classes)
        self.model_, self.normalisation_ = model, bags.normalisation
        self.training_summary_ = {
            **data_summary(bags, codes),
            "seconds": round(time.monotonic() - started, 3),
            "core_seconds": round(time.process_time() - core_started, 3),
        }
        return self

    def logits(self, X: Any, *, removed: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return what the head says before the softmax, in the order of `classes_`: (n_cases, n_classes).

        Parameters
        ----------
        X : array-like or list
            As for `fit`.
        removed : array-like of bool, shape (n_cases, n_timepoints), optional
            True where a timepoint is to be deleted. That happens after the normalisation: the series gets shorter,
            and what is left keeps its values and closes up. At least one timepoint of each case must stay.
        """
        bags = self._bags(X)
        gone = None if removed is None else check_removed(removed, bags)
        logits = np.empty((len(bags), len(self.classes_)))
        for chosen, batch in self._batches(bags):
            if gone is not None:
                batch, _ = remove_timepoints(batch, gone[chosen, : batch.values.shape[2]])
            logits[chosen] = self.model_.logits(batch)
        return logits

    def _explain(self, X: Any, *, channels: bool, members: bool) -> Explanation:
        lookup("spread", self.spread, dict.fromkeys(SPREADS))
        bags = self._bags(X)
        shape = (len(bags), len(self.classes_), bags.n_timepoints)
        logits, contributions = np.empty(shape[:2]), np.zeros(shape)
        by_channel = np.zeros((*shape[:2], bags.n_channels, shape[2])) if channels else None
        for chosen, batch in self._batches(bags):
            evidence = self.model_.evidence(batch, spread=self.spread, channels=channels)
            width = batch.values.shape[2]
            logits[chosen], contributions[chosen, :, :width] = evidence.logits, evidence.contributions
            bias = evidence.bias
            if by_channel is not None:
                by_channel[chosen, ..., :width] = evidence.channel_contributions
        series = bags.raw(np.arange(len(bags)))
        for array in (series, contributions, by_channel):
            if array is not None:
                array.setflags(write=False)  # so that the explanation need not copy it
        explanation = Explanation(
            series=series,
            lengths=bags.lengths,
            scores=contributions,
            logits=logits,
            classes=self.classes_,
            contributions=contributions,
            bias=bias,
            channel_contributions=by_channel,
            method=self.model_.transform,
        )
        return replace(explanation, members=(explanation,)) if members else explanation

    @property
    def splits_channels(self) -> bool:
        """Whether `explain` takes ``channels=True``: it does."""
        return True

    def facts(self) -> dict[str, object]:
        """Return what a reader of a report may want to know about the model: label to value, in order."""
        return {"Features": self.model_.transform, "Head": self.model_.head, "Weights": f"{self.n_parameters_:,}"}

    @property
    def n_parameters_(self) -> int:
        """How many numbers were fitted: biases of kernels, and the head's weights."""
        return sum(array.size for array in self.model_.arrays().values())

    def describe(self) -> dict[str, Any]:
        """Return everything about the fitted classifier but its arrays, in types that JSON has."""
        fitted = {"features": self.model_.transform, "head": self.model_.head}
        parameters = {**self.get_params(deep=False), **fitted}
        return {
            **describe_input(KIND, self),
            "parameters": {
                name: plain_parameter(value) for name, value in parameters.items() if name not in TRANSIENT
            },
            "preprocessing": describe_preprocessing(self.normalisation_),
            "model": self.model_.settings(),
        }

    def encode(self) -> list[bytes]:
        """Return the model's arrays, in the format of safetensors."""
        return [save({name: np.ascontiguousarray(array) for name, array in self.model_.arrays().items()})]

    @classmethod
    def restore(cls, description: dict[str, Any], weights: list[bytes], folder: object) -> RocketMilletClassifier:
        """Rebuild a classifier from its description and arrays, which were read from a folder."""
        with restoring(KIND, description, folder):
            if len(weights) != 1:
                raise StorageError(f"{folder} has {len(weights)} members; a {KIND} has 1.")
            classifier = cls(**description["parameters"])
            classifier._check_parameters()
            restore_input(classifier, description)
            classifier.normalisation_ = restore_normalisation(description)
            classifier.model_ = _decode_model(description["model"], weights[0])
            classifier._check_model(folder)
        return classifier

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # scikit-learn's blobs differ only in their level, which normalising each series removes.
        tags.classifier_tags.poor_score = bool(self.normalise)
        return tags

    def _check_parameters(self) -> None:
        lookup("features", self.features, dict.fromkeys(TRANSFORMS))
        lookup("head", self.head, dict.fromkeys(HEADS))
        lookup("spread", self.spread, dict.fromkeys(SPREADS))
        if self.n_features is not None:
            integer("n_features", self.n_features, at_least=1)
        check_normalise(self.normalise)
        jobs(self.n_jobs)

    def _check_model(self, folder: object) -> None:
        found = self.model_.n_classes, self.model_.n_channels
        if found != (len(self.classes_), self.n_channels_in_):
            raise StorageError(
                f"{folder} is damaged: its model has {found[0]} classes and {found[1]} channels, its description "
                f"{len(self.classes_)} and {self.n_channels_in_}."
            )

    def _batches(self, bags: Bags) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        self.model_.n_jobs = jobs(self.n_jobs)
        for start in slow_work(range(0, len(bags), BATCH_SIZE), "batch", show=bool(self.verbose)):
            chosen = np.arange(start, min(start + BATCH_SIZE, len(bags)))
            yield chosen, bags.batch(chosen)


def _decode_model(settings: dict[str, Any], content: bytes) -> RocketModel:
    try:
        arrays = load(content)
    except SafetensorError as error:
        raise StorageError(f"The model's arrays can't be read: {error}.") from None
    spoilt = [name for name, array in arrays.items() if array.dtype.kind == "f" and not np.isfinite(array).all()]
    if spoilt:
        raise StorageError(f"The model's {spoilt[0]} hold NaN or infinities.")
    return RocketModel.restore(settings, arrays)

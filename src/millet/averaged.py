"""`AveragedClassifier`: several classifiers made into one by the mean of their logits.

In:  MILLET's classifiers of any kind, fitted already or yet to be fitted.
Out: predictions, and `Explanation`: means of logits are means of contributions, so the evidence still adds up.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from millet.checks import number
from millet.contract import EvidenceClassifier, data_summary
from millet.description import describe_input, restore_input, restoring
from millet.errors import ParameterError, StorageError
from millet.explanation import Explanation
from millet.loading import restore_any

KIND = "AveragedClassifier"
AVERAGED = ("scores", "contributions", "bias", "channel_contributions")


@final
class AveragedClassifier(EvidenceClassifier):
    """Average the logits of several classifiers, and so their evidence.

    Logits must be on one scale for a mean to be fair: those of networks are logarithms of probabilities, and so are
    those of `RocketMilletClassifier` with ``head="multinomial"``. The decision values of ``head="ridge"`` are far
    smaller, and would hardly count beside a network.

    Parameters
    ----------
    classifiers : sequence of classifiers
        `MilletClassifier`, `RocketMilletClassifier`, or averages of these; copies are fitted. To average classifiers
        that are fitted already, use `AveragedClassifier.of_fitted`.
        They and their parameters are set by position: ``set_params(**{"0__n_epochs": 50})``, also in a grid search.
    weights : sequence of float, optional
        How much each one counts, in any unit; by default all count the same.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    classifiers_ : list of classifiers
        The fitted ones.
    n_channels_in_, n_timepoints_in_, n_features_in_
        See `MilletClassifier`.
    training_summary_ : dict
        Cases, lengths, seconds, and a fingerprint of the training data.

    Examples
    --------
    >>> import numpy as np
    >>> from millet import AveragedClassifier, MilletClassifier, RocketMilletClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20, 1, 30)); X[10:, 0, 12:18] += 4
    >>> y = np.repeat(["flat", "bump"], 10)
    >>> network = MilletClassifier("lite", n_epochs=5, random_state=0)
    >>> both = AveragedClassifier([network, RocketMilletClassifier(random_state=0)]).fit(X, y)
    >>> explanation = both.explain(X)
    >>> bool(explanation.completeness_error().max() < 1e-5)
    True
    """

    classifiers_: list[EvidenceClassifier]

    def __init__(self, classifiers: Sequence[EvidenceClassifier], *, weights: Sequence[float] | None = None) -> None:
        self.classifiers = classifiers
        self.weights = weights

    @classmethod
    def of_fitted(
        cls, classifiers: Sequence[EvidenceClassifier], *, weights: Sequence[float] | None = None
    ) -> AveragedClassifier:
        """Return the average of classifiers that are already fitted, on similar series and the same classes.

        Parameters
        ----------
        classifiers : sequence of classifiers
            Used as they are, not copied.
        weights : sequence of float, optional
            How much each one counts.

        Raises
        ------
        ParameterError
            If there is none, or their classes or channels differ.
        """
        average = cls(list(classifiers), weights=weights)
        average._check_parameters()
        first = average.classifiers[0]
        for classifier in average.classifiers:
            check_is_fitted(classifier)
            if not np.array_equal(classifier.classes_, first.classes_):
                raise ParameterError(
                    "Only classifiers of the same classes can be averaged; got "
                    f"{first.classes_.tolist()} and {classifier.classes_.tolist()}."
                )
            if classifier.n_channels_in_ != first.n_channels_in_:
                raise ParameterError(
                    "Only classifiers of the same number of channels can be averaged; got "
                    f"{first.n_channels_in_} and {classifier.n_channels_in_}."
                )
        for name in ("classes_", "n_channels_in_", "n_features_in_", "feature_names_in_", "channel_columns_"):
            if hasattr(first, name):
                setattr(average, name, getattr(first, name))
        summaries = [classifier.training_summary_ for classifier in average.classifiers]
        average.n_timepoints_in_ = max(classifier.n_timepoints_in_ for classifier in average.classifiers)
        average.training_summary_ = {
            **{name: summaries[0][name] for name in ("n_cases", "shortest", "longest", "fingerprint")},
            "seconds": round(sum(summary["seconds"] for summary in summaries), 3),
        }
        average.classifiers_ = list(average.classifiers)
        return average

    def fit(self, X: Any, y: ArrayLike) -> AveragedClassifier:
        """Fit a copy of every classifier.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_timepoints) or (n_cases, n_channels, n_timepoints), or list
            Series of equal or unequal length; NaN stands for missing values.
        y : array-like of shape (n_cases,)
            Labels of any type.

        Returns
        -------
        AveragedClassifier
            The fitted classifier itself.
        """
        started = time.monotonic()
        self._check_parameters()
        bags, classes, codes = self._training_cases(X, y, normalise=True)
        fitted = [clone(classifier).fit(X, y) for classifier in self.classifiers]
        self._remember_input(X, bags, classes)
        self.classifiers_ = fitted
        self.training_summary_ = {**data_summary(bags, codes), "seconds": round(time.monotonic() - started, 3)}
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if `deep`, those of the classifiers too, by position, such as ``0__n_epochs``."""
        parameters: dict[str, Any] = super().get_params(deep=False)
        if deep and isinstance(self.classifiers, Sequence):
            for position, classifier in enumerate(self.classifiers):
                if isinstance(classifier, EvidenceClassifier):  # `fit` refuses others
                    parameters[f"{position}"] = classifier
                    parameters |= {f"{position}__{name}": value for name, value in classifier.get_params().items()}
        return parameters

    def set_params(self, **params: Any) -> AveragedClassifier:
        """Set parameters; classifiers themselves, by position such as ``0``, are set before their parameters."""
        if "classifiers" in params:
            self.classifiers = params.pop("classifiers")
        listed = list(self.classifiers) if isinstance(self.classifiers, Sequence) else []
        replaced = {name: params.pop(name) for name in list(params) if name in map(str, range(len(listed)))}
        if replaced:
            self.classifiers = [replaced.get(str(place), classifier) for place, classifier in enumerate(listed)]
        super().set_params(**params)
        return self

    def logits(self, X: Any, *, removed: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the mean of the logits, in the order of `classes_`: (n_cases, n_classes).

        Parameters
        ----------
        X : array-like or list
            As for `fit`.
        removed : array-like of bool, shape (n_cases, n_timepoints), optional
            True where a timepoint is to be deleted, as each classifier does it.
        """
        self._checked_cases(X)
        return self._mean([classifier.logits(X, removed=removed) for classifier in self.classifiers_])

    def _explain(self, X: Any, *, channels: bool, members: bool) -> Explanation:
        self._checked_cases(X)
        parts = [classifier.explain(X, channels=channels) for classifier in self.classifiers_]
        means: dict[str, Any] = {
            name: self._mean([getattr(part, name) for part in parts]) for name in _averaged_by_all(parts)
        }
        return Explanation(
            series=parts[0].series,
            lengths=parts[0].lengths,
            classes=self.classes_,
            logits=self._mean([part.logits for part in parts]),
            method=" + ".join(part.method for part in parts),
            members=tuple(parts) if members else (),
            **means,
        )

    @property
    def splits_channels(self) -> bool:
        """Whether every classifier can split its evidence among the channels."""
        return all(classifier.splits_channels for classifier in self.classifiers)

    @property
    def normalises_(self) -> bool:
        """Whether every classifier z-normalises each channel of each series."""
        return all(classifier.normalises_ for classifier in self.classifiers_)

    @property
    def n_parameters_(self) -> int:
        """How many numbers were fitted, in all classifiers."""
        return sum(classifier.n_parameters_ for classifier in self.classifiers_)

    @property
    def n_members_(self) -> int:
        """How many classifiers are averaged."""
        return len(self.classifiers_)

    def facts(self) -> dict[str, object]:
        """Return what a reader of a report may want to know about the model: label to value, in order."""
        return {
            f"{label} ({position})": value
            for position, classifier in enumerate(self.classifiers_, start=1)
            for label, value in classifier.facts().items()
        }

    def describe(self) -> dict[str, Any]:
        """Return everything about the fitted classifiers but their weights, in types that JSON has."""
        parts = [classifier.describe() for classifier in self.classifiers_]
        if any(_holds_code(part) for part in parts):
            raise StorageError(
                "A network with a backbone or pooling of your own can't be saved inside an average, since code is "
                "not stored. Save each classifier by itself, and average what was loaded by "
                "AveragedClassifier.of_fitted."
            )
        return {
            **describe_input(KIND, self),
            "weights": None if self.weights is None else [float(weight) for weight in self.weights],
            "classifiers": [
                {**part, "n_files": len(classifier.encode())}
                for part, classifier in zip(parts, self.classifiers_, strict=True)
            ],
        }

    def encode(self) -> list[bytes]:
        """Return the weights of all classifiers, one after the other, in the format of safetensors."""
        return [content for classifier in self.classifiers_ for content in classifier.encode()]

    @classmethod
    def restore(cls, description: dict[str, Any], weights: list[bytes], folder: object) -> AveragedClassifier:
        """Rebuild a classifier from its description and weights, which were read from a folder."""
        with restoring(KIND, description, folder):
            counts = [int(part["n_files"]) for part in description["classifiers"]]
            if sum(counts) != len(weights):
                raise StorageError(f"{folder} is damaged: it has {len(weights)} members, not {sum(counts)}.")
            ends = np.cumsum(counts).tolist()
            fitted = [
                restore_any(part, weights[end - count : end], folder)
                for part, count, end in zip(description["classifiers"], counts, ends, strict=True)
            ]
            average = cls.of_fitted(fitted, weights=description["weights"])
            classes, n_channels = average.classes_, average.n_channels_in_
            restore_input(average, description)
            if not np.array_equal(average.classes_, classes) or average.n_channels_in_ != n_channels:
                raise StorageError(f"{folder} is damaged: its classes or channels are not those of its classifiers.")
        return average

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = any(
            classifier.__sklearn_tags__().classifier_tags.poor_score for classifier in self.classifiers
        )
        return tags

    def _mean(self, arrays: list[NDArray[Any]]) -> NDArray[np.float64]:
        self._check_weights(len(arrays))
        return np.asarray(np.average(arrays, axis=0, weights=self.weights), dtype=np.float64)

    def _check_parameters(self) -> None:
        if not isinstance(self.classifiers, Sequence) or not self.classifiers:
            raise ParameterError(f"classifiers must be a list of at least one classifier; got {self.classifiers!r}.")
        for classifier in self.classifiers:
            if not isinstance(classifier, EvidenceClassifier):
                raise ParameterError(
                    f"classifiers must be MilletClassifier, RocketMilletClassifier or averages of these, whose "
                    f"evidence adds up; got {type(classifier).__name__}."
                )
        folders = _checkpoint_folders(self.classifiers)
        if len(set(folders)) < len(folders):
            raise ParameterError(
                "Classifiers can't share a checkpoint_dir, which is the folder of one training; give each its own."
            )
        self._check_weights(len(self.classifiers))

    def _check_weights(self, n_classifiers: int) -> None:
        if self.weights is None:
            return
        if np.ndim(self.weights) != 1:
            raise ParameterError(f"weights must be a list of numbers, one a classifier; got {self.weights!r}.")
        checked = [number("weights", weight, at_least=0) for weight in self.weights]
        if len(checked) != n_classifiers or sum(checked) == 0:
            raise ParameterError(
                f"weights must be {n_classifiers} numbers, one a classifier and not all 0; got {checked}."
            )


def _checkpoint_folders(classifiers: Sequence[EvidenceClassifier]) -> list[Path]:
    """Return where classifiers keep their checkpoints, including those inside averages."""
    given = [
        value
        for classifier in classifiers
        for name, value in classifier.get_params().items()
        if name.rpartition("__")[2] == "checkpoint_dir" and value is not None
    ]
    return [Path(folder).resolve() for folder in given]


def _holds_code(description: dict[str, Any]) -> bool:
    """Return whether a parameter is the user's own code, of which only the name is known."""
    return any(isinstance(value, dict) and "code" in value for value in description.get("parameters", {}).values())


def _averaged_by_all(parts: list[Explanation]) -> list[str]:
    """Return the names of the arrays that every explanation has."""
    return [name for name in AVERAGED if all(getattr(part, name) is not None for part in parts)]

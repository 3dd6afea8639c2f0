"""The contract: what all classifiers here do in the same way, whatever computes their logits.

In:  series in any container (`millet.bags` checks them), labels, and the logits of a subclass.
Out: `EvidenceClassifier`, the base of `millet.classifier`, `millet.rocket_classifier` and `millet.averaged`.
"""

from __future__ import annotations

import copy
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from millet.bags import Bags, ChannelScale, as_bags
from millet.containers import are_same_channels, as_cases, channel_columns, is_table
from millet.doubts import swapped_axes, warn_of_placeholders, warn_of_swapped_axes
from millet.errors import ParameterError, SeriesError, SeriesTypeError, warn_user
from millet.explanation import Explanation
from millet.explanation.checks import check_channel_names
from millet.labels import encode_labels, name_classes
from millet.storage import load_model, save_model

Labels = NDArray[Any]


# A way to normalise: the one that left-out training cases decide on.
AUTO = "auto"


class EvidenceClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A scikit-learn classifier of time series whose logits come with evidence for every timepoint.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_channels_in_ : int
    n_timepoints_in_ : int
        The length of the longest training series; series of any length can be classified.
    n_features_in_ : int
        Columns of X, only if it was a table: a 2-D array, a data frame, or lists of numbers. scikit-learn's
        contract is that later tables have the same columns; pass 3-D arrays or lists of arrays to classify
        series of other lengths.
    channel_columns_ : list of str
        What data frames called the channels, if they are several; later ones must be called the same.
    normalisation_ : bool or ChannelScale
        Whether each channel of each series is z-normalised, or the scale of the channels of all series.
    training_summary_ : dict
        Cases, lengths, seconds, and a fingerprint of the training data.
    """

    classes_: Labels
    normalisation_: bool | ChannelScale
    n_channels_in_: int
    n_timepoints_in_: int
    n_features_in_: int
    channel_columns_: list[str]
    training_summary_: dict[str, Any]

    @property
    def splits_channels(self) -> bool:
        """Whether `explain` takes ``channels=True``, to split the evidence among the channels."""
        return False

    @abstractmethod
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from labelled series."""

    @abstractmethod
    def logits(self, X: Any, *, removed: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return what the model says before the softmax, in the order of `classes_`: (n_cases, n_classes).

        Parameters
        ----------
        X : array-like or list
            As for `fit`.
        removed : array-like of bool, shape (n_cases, n_timepoints), optional
            True where a timepoint is to be deleted, after the normalisation: the series gets shorter. At least one
            timepoint of each case must stay.
        """

    def explain(
        self,
        X: Any,
        *,
        channels: bool = False,
        members: bool = False,
        class_names: Sequence[str] | Mapping[Any, str] | None = None,
        channel_names: Sequence[str] | None = None,
    ) -> Explanation:
        """Return predictions and the evidence for them.

        Parameters
        ----------
        X : array-like or list
            As for `fit`.
        channels : bool, default=False
            Also split the evidence among the channels, for a model that can; the arrays grow with their number.
        members : bool, default=False
            Also keep what each member of an ensemble said, which gives the spread between them.
        class_names : sequence of str or mapping, optional
            What to call the classes in tables and pictures: a name for each of `classes_`, in their order, such as
            ``dataset.class_names``; or names by label. By default the labels.
        channel_names : sequence of str, optional
            What to call the channels, such as ``dataset.channel_names``. By default their numbers.

        Returns
        -------
        Explanation
            Its `probabilities` and `predicted` are those of `predict_proba` and `predict`.
        """
        check_is_fitted(self)
        if channels and not self.splits_channels:
            raise ParameterError(
                "channels=True needs a model that can tell channels apart: one of random convolutions, or an average "
                "of these. Networks can't."
            )
        names: dict[str, Any] = {}
        if class_names is not None:
            names["class_names"] = name_classes(self.classes_, class_names)
        if channel_names is not None and len(channel_names):
            names["channel_names"] = check_channel_names(channel_names, self.n_channels_in_)
        explanation = self._explain(X, channels=channels, members=members)
        self._warn_of_doubts(X)
        if not names:
            return explanation
        parts = tuple(replace(member, **names) for member in explanation.members)
        return replace(explanation, **names, members=parts)

    @abstractmethod
    def _explain(self, X: Any, *, channels: bool, members: bool) -> Explanation:
        """Return what `explain` does; `channels` is True only if the model can split them."""

    @abstractmethod
    def facts(self) -> dict[str, object]:
        """Return what a reader of a report may want to know about the model: label to value, in order."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return everything about the fitted classifier but its weights, in types that JSON has."""

    @abstractmethod
    def encode(self) -> list[bytes]:
        """Return the weights, in the format of safetensors, one item per member."""

    @classmethod
    @abstractmethod
    def restore(cls, description: dict[str, Any], weights: list[bytes], folder: object) -> Self:
        """Rebuild a classifier from its description and weights, which were read from a folder."""

    @property
    @abstractmethod
    def n_parameters_(self) -> int:
        """How many numbers were fitted."""

    @property
    def normalises_(self) -> bool:
        """Whether each channel of each series is z-normalised."""
        return self.normalisation_ is True

    @property
    def n_members_(self) -> int:
        """How many models are averaged; `explain(X, members=True)` shows each if there are several."""
        return 1

    def _asked_logits(self, X: Any) -> NDArray[np.float64]:
        """Return the logits of series as the user gave them, and warn if these look doubtful.

        `logits` does not warn: metrics call it time and again with parts and changed copies of the same series.
        """
        logits = self.logits(X)
        self._warn_of_doubts(X)
        return logits

    def predict(self, X: Any) -> Labels:
        """Return the most probable class of every case: (n_cases,)."""
        winners = self._asked_logits(X).argmax(axis=1)
        return np.asarray(self.classes_[winners])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class, in the order of `classes_`: (n_cases, n_classes)."""
        return np.asarray(softmax(self._asked_logits(X), axis=1))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of every class's probability, in the order of `classes_`: (n_cases, n_classes)."""
        return np.asarray(log_softmax(self._asked_logits(X), axis=1))

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the fitted classifier to a folder of JSON and safetensors, whole or not at all.

        Training series are not stored, only a fingerprint of them.
        """
        check_is_fitted(self)
        save_model(folder, self.describe(), self.encode())

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read a saved classifier; nothing in the folder is executed.

        Raises
        ------
        StorageError
            If the folder is damaged, incomplete, foreign, or of a newer version; it says which.
        """
        description, weights = load_model(folder)
        return cls.restore(description, weights, folder)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        return tags

    def _training_cases(
        self, X: Any, y: ArrayLike, *, normalise: bool | str | ChannelScale
    ) -> tuple[Bags, Labels, NDArray[np.int64]]:
        """Return the cases, the classes and every case's code, or refuse what can't be learnt from.

        "auto" decides here whether the cases are normalised.
        """
        copy.copy(self)._check_columns(X, reset=True)  # remembered at the end, if nothing was refused
        bags = as_bags(X, normalise=normalise if isinstance(normalise, ChannelScale) else bool(normalise))
        if bags.n_timepoints < 2:
            raise SeriesError(
                "Every series has a single timepoint (n_features = 1); a time series needs at least 2."
                f"{swapped_axes(bags)}"
            )
        classes, codes = encode_labels(y, len(bags))
        warn_of_swapped_axes(bags)
        warn_of_placeholders(X)
        if isinstance(normalise, str) and bags.n_channels > 1:
            bags = _better_predicted(X, bags, codes, len(classes))
        bags.prepare()
        return bags, classes, codes

    def _check_columns(self, X: Any, *, reset: bool) -> None:
        """Remember the names of a data frame's columns, or compare them with those in training.

        Only the columns of a table are features; those of a frame of series are channels, compared separately.
        """
        if not is_table(X):
            if reset:
                self.__dict__.pop("feature_names_in_", None)
            return
        try:
            validate_data(self, X, reset=reset, skip_check_array=True, ensure_2d=False)
        except TypeError as error:
            raise SeriesTypeError(f"X is a data frame whose columns can't be remembered: {error}") from None
        except ValueError as error:
            raise SeriesError(str(error)) from None

    def _remember_input(self, X: Any, bags: Bags, classes: Labels) -> None:
        """Set what later input is compared with."""
        self._check_columns(X, reset=True)
        self.classes_ = classes
        self.n_channels_in_ = bags.n_channels
        self.n_timepoints_in_ = bags.n_timepoints
        self.channel_columns_ = channel_columns(X)
        self.__dict__.pop("n_features_in_", None)
        n_columns = _n_columns(X)
        if n_columns is not None:
            self.n_features_in_ = n_columns

    def _bags(self, X: Any) -> Bags:
        """Return cases like those in training, prepared as those were."""
        check_is_fitted(self)
        return self._checked_cases(X, normalise=self.normalisation_)

    def _checked_cases(self, X: Any, *, normalise: bool | ChannelScale = True) -> Bags:
        """Return cases like those in training, or say what is different; nothing is prepared yet."""
        check_is_fitted(self)
        self._check_columns(X, reset=False)
        expected, n_columns = getattr(self, "n_features_in_", None), _n_columns(X)
        if None not in (expected, n_columns) and n_columns != expected:
            raise SeriesError(
                f"X has {n_columns} features, but {type(self).__name__} is expecting {expected} features as input. "
                "To classify series of another length, pass X[:, None, :] or a list of series."
            )
        columns = channel_columns(X)
        if not are_same_channels(columns, self.channel_columns_):
            raise SeriesError(
                f"Columns are channels, and must be those of the training series in the same order: "
                f"{self.channel_columns_}; got {columns}."
            )
        cases = as_cases(X)
        if len(cases[0]) != self.n_channels_in_:
            raise SeriesError(
                f"X has {len(cases[0])} channels, but {type(self).__name__} was fitted on series with "
                f"{self.n_channels_in_}. Any length is fine, another number of channels is not."
            )
        return as_bags(cases, normalise=normalise)

    def _warn_of_doubts(self, X: Any) -> None:
        """Warn if series that a user asked about look doubtful."""
        cases = as_cases(X)
        warn_of_placeholders(cases)
        longest = max(case.shape[1] for case in cases) if isinstance(cases, list) else cases.shape[2]
        is_list = isinstance(X, list | tuple)  # its items are cases, no doubt
        if longest == 1 < self.n_timepoints_in_ and not is_list:
            warn_user(
                f"Every series has a single timepoint, where those in training had up to {self.n_timepoints_in_}: a "
                "row of X is a case, not a timepoint. For one series of one channel, pass X.T."
            )


def check_normalise(value: Any) -> None:
    """Refuse what is not a way to normalise."""
    if not isinstance(value, bool | np.bool_) and not (isinstance(value, str) and value == AUTO):
        raise ParameterError(f"normalise must be True, False or {AUTO!r}; got {value!r}.")


def _better_predicted(X: Any, normalised: Bags, codes: NDArray[np.int64], n_classes: int) -> Bags:
    """Return the cases normalised one by one, or all on one scale: whichever predicts left-out cases better."""
    from millet.rocket.normalising import levels_tell  # compiled, and seldom needed

    scale = normalised.channel_scale()
    if not all(np.isfinite(part).all() for part in scale):  # sums of values that are too large
        return normalised
    scaled = as_bags(X, normalise=scale)
    return scaled if levels_tell(scaled, normalised, codes, n_classes) else normalised


def check_removed(removed: ArrayLike, bags: Bags) -> NDArray[np.bool_]:
    """Return (n_cases, n_timepoints) bool that is False beyond the end of each case.

    Examples
    --------
    >>> check_removed([[True, False, True]], as_bags([[1.0, 2.0, 5.0]]))
    array([[ True, False,  True]])
    """
    array = np.asarray(removed)
    wanted = (len(bags), bags.n_timepoints)
    if array.dtype != bool or array.ndim != 2 or len(array) != wanted[0] or array.shape[1] < wanted[1]:
        raise ParameterError(
            f"removed must be bool of shape (n_cases, n_timepoints) = {wanted}; got {array.dtype} of shape "
            f"{array.shape}."
        )
    inside = np.arange(wanted[1]) < bags.lengths[:, None]
    gone: NDArray[np.bool_] = array[:, : wanted[1]] & inside
    emptied = gone.sum(axis=1) == bags.lengths
    if emptied.any():
        raise ParameterError(
            f"removed leaves nothing of case {int(emptied.argmax())}; at least one timepoint must stay."
        )
    return gone


def data_summary(bags: Bags, codes: NDArray[np.int64]) -> dict[str, Any]:
    """Return what a training summary says about the data: cases, lengths, and a fingerprint of values and labels.

    Examples
    --------
    >>> data_summary(as_bags([[1.0, 2.0], [3.0, 5.0]]), np.array([0, 1]))["n_cases"]
    2
    """
    return {
        "n_cases": len(bags),
        "shortest": int(bags.lengths.min()),
        "longest": bags.n_timepoints,
        "fingerprint": hashlib.sha256(bags.fingerprint().encode() + codes.tobytes()).hexdigest(),
    }


def split_fingerprint(X: Any, y: NDArray[Any]) -> str:
    """Return a digest of series and labels, whatever classes there are.

    Examples
    --------
    >>> X = [[1.0, 2.0], [3.0, 5.0]]
    >>> split_fingerprint(X, np.array([1, 1])) == split_fingerprint(X, np.array([2, 2]))
    False
    """
    labels = json.dumps([str(label) for label in y.tolist()])
    return hashlib.sha256(f"{as_bags(X).fingerprint()}{labels}".encode()).hexdigest()


def _n_columns(X: Any) -> int | None:
    """Return the columns of a table: a 2-D array, a data frame, or its rows as lists of numbers."""
    if isinstance(X, list) and X and all(isinstance(row, list) and len(row) == len(X[0]) for row in X):
        return len(X[0]) if X[0] and np.isscalar(X[0][0]) else None
    return int(X.shape[1]) if is_table(X) else None

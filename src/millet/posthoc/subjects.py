"""Subjects: any model and the cases it is asked about, behind one interface.

In:  a `MilletClassifier`, a torch module, an object with ``predict_proba``, or a plain callable; series of any kind.
Out: `Subject`, which every method of `millet.posthoc` perturbs and asks, one case at a time.

A case is always asked about at its own length, so padding never reaches a model and gets no score.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from millet.bags import Bags, as_bags
from millet.containers import is_table
from millet.errors import ParameterError
from millet.metrics.models import is_module, logits_of, owner_of

if TYPE_CHECKING:
    from millet.contract import EvidenceClassifier

Array = NDArray[Any]
Floats = NDArray[np.float64]


class Subject(ABC):
    """A model and its cases.

    Attributes
    ----------
    bags : Bags
        The cases.
    removes_timepoints : bool
        Whether the model was made to classify series from which timepoints were removed.
    replacement : str
        The baseline that stands in for timepoints where none is asked for and they are not removed.
    logits : ndarray of shape (n_cases, n_classes)
        What the model says about the whole cases: the quantity that is explained.
    classes : ndarray of shape (n_classes,)
        The labels.
    """

    removes_timepoints = False
    replacement = "zero"
    _n_classes: int | None = None  # until the model has been asked

    def __init__(self, bags: Bags, classes: Array | None, batch_size: int) -> None:
        self.bags = bags
        self.logits = self._whole_cases(batch_size)
        self._n_classes = n_classes = self.logits.shape[1]
        self.classes = np.arange(n_classes) if classes is None else np.asarray(classes)
        if self.classes.shape != (n_classes,):
            raise ParameterError(
                f"The model has classes of shape {self.classes.shape} but gives {n_classes} outputs a case; "
                "it must give one for each class."
            )

    @abstractmethod
    def values(self, case: int) -> Array:
        """Return one case as the model sees it: (n_channels, its length)."""

    @abstractmethod
    def _ask(self, values: Array) -> Floats:
        """Return finite logits of shape (B, n_classes), or raise ParameterError."""

    def ask(self, values: Array) -> Floats:
        """Return the model's logits for series of one length: (B, C, T) to (B, n_classes)."""
        logits = self._ask(values)
        if self._n_classes not in (None, logits.shape[1]):
            raise ParameterError(
                f"The model gave {self._n_classes} outputs a case for the cases, but {logits.shape[1]} for "
                f"perturbed series of shape {values.shape}; it must always give one for each class."
            )
        return logits

    def ask_shortened(self, values: Array, kept: NDArray[np.bool_]) -> Floats:
        """Return the logits for one series (C, T) without some timepoints; `kept` (B, T) says which stay.

        Every row keeps at least one timepoint.
        """
        sizes = kept.sum(axis=1)
        logits = np.empty((len(kept), self.logits.shape[1]))
        for size in np.unique(sizes):
            rows = np.flatnonzero(sizes == size)
            columns = np.nonzero(kept[rows])[1].reshape(len(rows), size)
            logits[rows] = self.ask(np.ascontiguousarray(values[:, columns].swapaxes(0, 1)))
        return logits

    def _whole_cases(self, batch_size: int) -> Floats:
        lengths = self.bags.lengths
        by_case: list[Floats] = [np.empty(0)] * len(lengths)
        for length in np.unique(lengths):
            alike = np.flatnonzero(lengths == length)
            for start in range(0, len(alike), batch_size):
                chosen = alike[start : start + batch_size]
                answers = self.ask(np.stack([self.values(case) for case in chosen]))
                for case, answer in zip(chosen, answers, strict=True):
                    by_case[case] = answer
        return np.stack(by_case)


@final
class EvidenceSubject(Subject):
    """One of MILLET's classifiers that is not a network: it prepares values, and deletes timepoints, by itself."""

    replacement = "mean"  # a zero would be far off where series lie on another level, which the model takes away

    def __init__(self, model: EvidenceClassifier, X: Any, batch_size: int) -> None:
        self._model, self._batch_size = model, batch_size
        super().__init__(model._checked_cases(X), model.classes_, batch_size)

    def values(self, case: int) -> Array:
        """Return one case as the user gave it, NaN where a value is missing."""
        return np.asarray(self.bags.raw([case])[0])

    def ask_shortened(self, values: Array, kept: NDArray[np.bool_]) -> Floats:
        """Let the model delete timepoints, which it does after it has prepared the values."""
        starts = range(0, len(kept), self._batch_size)  # the model is given whole series
        chunks = [kept[start : start + self._batch_size] for start in starts]
        logits = [
            logits_of(self._model, np.broadcast_to(values, (len(c), *values.shape)), len(c), removed=~c)
            for c in chunks
        ]
        return np.concatenate(logits)

    def _ask(self, values: Array) -> Floats:
        return logits_of(self._model, values, len(values))


@final
class CallableSubject(Subject):
    """Any model that is neither MILLET's nor a network; it is given the values just as the user gave them."""

    def __init__(self, model: Any, X: Any, batch_size: int) -> None:
        self._model = model
        self._is_table = is_table(X)
        super().__init__(as_bags(X), getattr(model, "classes_", None), batch_size)

    def values(self, case: int) -> Array:
        """Return one case as the user gave it, NaN where a value is missing."""
        return np.asarray(self.bags.raw([case])[0])

    def _ask(self, values: Array) -> Floats:
        series = values[:, 0] if self._is_table else values
        return logits_of(self._model, series, len(values), advice=ADVICE)


ADVICE = (
    "It must take (n_cases, n_channels, n_timepoints), or (n_cases, n_timepoints) where X is such an array, and "
    "return (n_cases, n_classes). A model of a fixed length can't be asked with baseline='removed'."
)


def make_subject(model: Any, X: Any, batch_size: int) -> Subject:
    """Return the model and the cases, whatever the model is.

    Parameters
    ----------
    model : MilletClassifier, torch module, object with ``predict_proba`` or ``decision_function``, or callable
    X : array-like or list
        The cases, in any form that `millet.bags.as_bags` takes.
    batch_size : int
        Series to ask about at once.
    """
    # A model can be of either kind only if its module has been imported: torch is not loaded to find out.
    model = owner_of(model)
    classifier, contract = sys.modules.get("millet.classifier"), sys.modules.get("millet.contract")
    is_classifier = classifier is not None and isinstance(model, classifier.MilletClassifier)
    if is_classifier or is_module(model):
        from millet.posthoc.networks import classifier_subject, module_subject

        make = classifier_subject if is_classifier else module_subject
        return make(model, X, batch_size)
    if contract is not None and isinstance(model, contract.EvidenceClassifier):
        return EvidenceSubject(model, X, batch_size)
    return CallableSubject(model, X, batch_size)

"""The subject of a perturbation: a model, and the cases it is asked about with some timepoints gone.

In:  a model, series, and for every case orders of its timepoints.
Out: what the model says about the target class after every step, read by `millet.metrics.perturbation`.

Steps of all orders of all cases are asked about together, `batch_size` series of one remaining length at a time:
networks are fastest on batches without padding, and memory does not grow with the number of cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.bags import as_bags
from millet.checks import integer
from millet.containers import as_cases, is_table
from millet.errors import ParameterError, lookup
from millet.explanation import Explanation
from millet.explanation.matching import check_same_cases
from millet.explanation.targets import find_codes
from millet.metrics.inputs import Floats, Integers, Mask, as_numbers
from millet.metrics.models import deletes_timepoints, logits_of, owner_of, predictions_of, predicts_otherwise
from millet.metrics.removal import REMOVALS, delete
from millet.watching import someone_watches

# About where a CPU is fastest: more series leave its caches, fewer leave it waiting.
BATCH_SIZE = 32

Order = Callable[[int], Integers]


class Readings(NamedTuple):
    """What a model says about a class: its logit, that minus the mean of all logits, and its probability."""

    logit: Floats
    centred: Floats
    probability: Floats


def read_class(logits: Floats, target: Integers) -> Readings:
    """Read one class of every row of logits (n_cases, n_classes); each reading is (n_cases,).

    Examples
    --------
    >>> read_class(np.array([[0.0, 2.0]]), np.array([1])).centred
    array([1.])
    """
    from scipy.special import softmax

    rows = np.arange(len(logits))
    logit = logits[rows, target]
    return Readings(logit, logit - logits.mean(axis=1), softmax(logits, axis=1)[rows, target])


@final
class Subject:
    """A model and the cases it is asked about.

    Parameters
    ----------
    model : object
        See `millet.metrics.models.logits_of`. It is given series as X holds them: a list if X is one, series of
        shape (n_timepoints,) if X has no channels.
    X : array or list
        The cases.
    classes : array-like, optional
        The labels in the order of the model's outputs, if the model does not know them.
    removal, batch_size, random_state, progress
        See `perturbation_curve`.

    Attributes
    ----------
    lengths : ndarray of int, shape (n_cases,)
    classes : ndarray of shape (n_classes,), or None
        The model's own labels, else those given.
    logits : ndarray of shape (n_cases, n_classes)
        What the model says about the whole series.
    """

    def __init__(
        self,
        model: Any,
        X: Any,
        *,
        classes: ArrayLike | None = None,
        removal: str = "remove",
        batch_size: int = BATCH_SIZE,
        random_state: int = 0,
        progress: bool = False,
    ) -> None:
        self._fill = lookup("removal", removal, REMOVALS)
        self._batch_size = integer("batch_size", batch_size, at_least=1)
        self.random_state = integer("random_state", random_state, at_least=0)
        self._progress = progress
        self._model = owner_of(model)
        labels = getattr(self._model, "classes_", classes)
        self.classes: NDArray[Any] | None = None if labels is None else np.asarray(labels)
        self._source = as_cases(X)
        self._bags = as_bags(self._source)
        self.lengths = self._bags.lengths
        self._as_list = isinstance(self._source, list) or isinstance(X, list | tuple)
        self._width = 0 if isinstance(self._source, list) else int(self._source.shape[2])
        self._flat = _has_no_channels(X)
        self.logits = self._unperturbed()

    def __len__(self) -> int:
        return len(self.lengths)

    def predictions(self) -> NDArray[Any] | None:
        """Return what an estimator's `predict` says of every case; None for models whose logits say it."""
        if not predicts_otherwise(self._model):
            return None
        parts = [predictions_of(self._model, self._handed(self._series(cases))) for cases in self._whole()]
        labels: NDArray[Any] = np.concatenate(parts)
        return labels

    def targets(self, target: ArrayLike | None, scores: Any = None) -> Integers:
        """Return the position of one class per case; by default the one with the greatest logit.

        Labels are those of the `Explanation`, which may also have names for them, or else those of the model. For a
        model without labels, such as a function, they are the positions.
        """
        if target is None:
            predicted: Integers = np.argmax(self.logits, axis=1)
            return predicted
        if isinstance(scores, Explanation):
            return find_codes(target, scores.classes, scores.class_names, len(self))
        labels = np.arange(self.logits.shape[1]) if self.classes is None else self.classes
        return find_codes(target, labels, tuple(map(str, labels)), len(self))

    def scores_of(self, scores: Any, target: Integers) -> Floats:
        """Return the target class's scores, (n_cases, n_timepoints), picked from scores per class where need be."""
        if isinstance(scores, Explanation):
            self._check_explanation(scores)
            scores = scores.scores
        array = scores if isinstance(scores, np.ndarray) else as_numbers("scores", scores)
        longest, n_classes = int(self.lengths.max()), self.logits.shape[1]
        per_class = array.ndim == 3 and array.shape[1] == n_classes
        if not (array.ndim == 2 or per_class) or len(array) != len(self) or array.shape[-1] < longest:
            raise ParameterError(
                f"scores must be (n_cases, n_timepoints) = ({len(self)}, {longest}) of the target class, or "
                f"(n_cases, n_classes, n_timepoints) = ({len(self)}, {n_classes}, {longest}); got shape "
                f"{array.shape}."
            )
        return as_numbers("scores", array if array.ndim == 2 else array[np.arange(len(self)), target])

    def _check_explanation(self, explanation: Explanation) -> None:
        """Refuse an explanation with other classes than the model's, or of other cases."""
        if self.classes is not None and explanation.classes.tolist() != self.classes.tolist():
            raise ParameterError(
                f"The explanation must have the model's classes, {self.classes.tolist()}; got "
                f"{explanation.classes.tolist()}."
            )
        if not np.array_equal(explanation.lengths, self.lengths):
            raise ParameterError("The explanation must be of the given cases; their number or lengths differ.")
        check_same_cases(explanation, self._source)

    def read(self, target: Integers, orders: Sequence[Order], counts: Integers) -> Readings:
        """Return what is left of the target class when the first timepoints of each order are gone.

        Parameters
        ----------
        target : ndarray of int, shape (n_cases,)
        orders : sequence of callables
            From a case's number to its timepoints, in the order of their removal.
        counts : ndarray of int, shape (n_cases, n_steps)
            How many timepoints are gone at each step; fewer than the case has.

        Returns
        -------
        Readings
            Each of shape (n_orders, n_cases, n_steps).
        """
        shape = (len(orders), *counts.shape)
        jobs = np.stack([*np.indices(shape)[:2], np.broadcast_to(counts, shape)], axis=-1).reshape(-1, 3)
        # In short series, several steps are the same.
        jobs, copies = np.unique(jobs, axis=0, return_inverse=True)
        answers = np.array(read_class(self.logits, target))[:, jobs[:, 1]]  # right where nothing is removed
        asked = np.flatnonzero(jobs[:, 2])
        with self._bar(len(asked)) as bar:
            for chosen in self._batches(jobs[asked]):
                rows = asked[chosen]
                cases = jobs[rows, 1]
                gone = np.zeros((len(rows), int(self.lengths[cases].max())), dtype=bool)
                for row, (order, case, count) in enumerate(jobs[rows].tolist()):
                    gone[row, orders[order](case)[:count]] = True
                logits = self._ask(cases, gone)
                self._check_classes([self.logits, logits])
                answers[:, rows] = read_class(logits, target[cases])
                bar.update(len(rows))
        return Readings(*(answer[copies.ravel()].reshape(shape) for answer in answers))

    def _unperturbed(self) -> Floats:
        """Ask about every case as it is."""
        parts = [self._ask(cases) for cases in self._whole()]
        self._check_classes(parts)
        return np.concatenate(parts)

    def _whole(self) -> list[Integers]:
        """Return the numbers of all cases, as many at a time as the model is asked about."""
        return np.array_split(np.arange(len(self)), range(self._batch_size, len(self), self._batch_size))

    def _series(self, cases: Integers) -> list[Floats]:
        raw = self._bags.raw(cases)
        return [values[:, :length] for values, length in zip(raw, self.lengths[cases], strict=True)]

    def _check_classes(self, parts: list[Floats]) -> None:
        found = sorted({part.shape[1] for part in parts})
        if len(found) > 1:
            raise ParameterError(
                f"The model must return the same number of classes for all series; got {found[0]} and {found[-1]}."
            )

    def _batches(self, jobs: Integers) -> Iterator[Integers]:
        """Yield numbers of jobs to ask about together: series of one length."""
        lengths = self.lengths[jobs[:, 1]] - (jobs[:, 2] if self._fill is None else 0)
        order = np.argsort(-lengths, kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
            for start in range(0, len(group), self._batch_size):
                yield group[start : start + self._batch_size]

    def _ask(self, cases: Integers, gone: Mask | None = None) -> Floats:
        """Return the logits of some cases, without the timepoints that are gone."""
        if deletes_timepoints(self._model) and (gone is None or self._fill is None):
            return logits_of(self._model, self._bags.raw(cases), len(cases), removed=gone)
        series = self._series(cases)
        if gone is None:
            return logits_of(self._model, self._handed(series), len(cases))
        if self._fill is None:
            shortened = [delete(whole, mask[: whole.shape[1]]) for whole, mask in zip(series, gone, strict=True)]
            advice = "If it needs series of one length, use removal='mean', 'interpolate' or 'noise'."
            return logits_of(self._model, self._handed(shortened, shortened=True), len(cases), advice=advice)
        filled = [
            self._fill(whole, mask[: whole.shape[1]], np.random.default_rng([self.random_state, case, 0]))
            for case, whole, mask in zip(cases.tolist(), series, gone, strict=True)
        ]
        # MILLET's own models are given no table: its columns would have to be those of the training data.
        handed = filled if deletes_timepoints(self._model) else self._handed(filled)
        return logits_of(self._model, handed, len(cases))

    def _handed(self, series: list[Floats], *, shortened: bool = False) -> Any:
        """Return series (C, T) in the same kind of container as X."""
        items = [case[0] for case in series] if self._flat else series
        if self._as_list:
            return items
        if shortened:
            return np.stack(items)  # a batch has one remaining length
        # Cases of unequal length in one array end in NaN, up to its width.
        table = np.full((*np.shape(items[0])[:-1], len(items), self._width), np.nan)
        for row, item in enumerate(items):
            table[..., row, : item.shape[-1]] = item
        return table if self._flat else table.swapaxes(0, 1)

    def _bar(self, total: int) -> Any:
        from tqdm.auto import tqdm

        disable = not (self._progress and someone_watches())
        return tqdm(total=total, desc="perturbing", unit="series", leave=False, disable=disable)


def _has_no_channels(X: Any) -> bool:
    """Return whether X is a table, or a list of series of shape (n_timepoints,)."""
    if len(getattr(X, "shape", ())) >= 2:
        return is_table(X)
    return np.ndim(X.iloc[0] if hasattr(X, "iloc") else X[0]) == 1

"""`Explanation`: cases, what was predicted for them, and the evidence of every timepoint.

In:  arrays, from `millet.classifier` or from a file.
Out: read by `millet.plots`; slices like an array, ranks intervals, saves itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.errors import MilletError, ParameterError, StorageError
from millet.explanation import checks, files
from millet.explanation.batches import concatenated, select_cases
from millet.explanation.intervals import Interval, find_intervals
from millet.explanation.targets import find_codes

PER_CASE = ("series", "lengths", "cases", "scores", "logits", "attention", "contributions", "channel_contributions")
SHARED_WITH_MEMBERS = ("series", "lengths", "cases", "classes", "class_names", "channel_names", "time")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Explanation:
    """What was predicted for each case, and how every timepoint spoke for or against each class.

    All arrays are read-only. Slicing (``e[3]``, ``e[2:5]``, ``e[[1, 4]]``, ``e[mask]``) and iterating give
    explanations of fewer cases, with the same width; `cases` tells which they were.

    Attributes
    ----------
    series : ndarray of shape (n_cases, n_channels, n_timepoints)
        The series in their original units. NaN where a value is missing and beyond a case's length.
    lengths : ndarray of int, shape (n_cases,)
        How many timepoints each case has.
    scores : ndarray of shape (n_cases, n_classes, n_timepoints)
        Signed evidence per class, the interpretation of the paper. 0 beyond a case's length.
    logits : ndarray of shape (n_cases, n_classes)
        What the classifier said before the softmax.
    classes : ndarray of shape (n_classes,)
        The labels, in the order of the logits.
    class_names : tuple of str
        What to call the classes in tables and pictures; by default the labels.
    channel_names : tuple of str
        What to call the channels; by default their numbers.
    attention : ndarray of shape (n_cases, n_timepoints), or None
        How much each timepoint counted, whatever the class. None where the method has none.
    contributions : ndarray of shape (n_cases, n_classes, n_timepoints), or None
        Evidence that adds up: its mean over a case's own timepoints, plus `bias`, is the logit.
    bias : ndarray of shape (n_classes,), or None
        The part of the logits that comes from no timepoint. Present if, and only if, contributions are.
    channel_contributions : ndarray of shape (n_cases, n_classes, n_channels, n_timepoints), or None
        The contributions, split among the channels: summed over these they are `contributions`. None where the
        method can't tell channels apart, or was not asked to.
    time : ndarray of shape (n_timepoints,)
        The time axis, increasing: numbers or datetime64. By default 0, 1, 2 ...
    cases : ndarray of int, shape (n_cases,)
        The number of each case, which slices keep and tables show. By default 0, 1, 2 ...
    members : tuple of Explanation
        What each member of an ensemble said about the same cases; empty for a single network.
    method : str
        Where the scores come from, such as "conjunctive" or "cam".

    Examples
    --------
    >>> e = Explanation(
    ...     series=[[[0.0, 9.0, 1.0]]], lengths=[3], classes=["calm", "spike"], logits=[[-1.0, 1.0]],
    ...     scores=[[[0.0, -3.0, 0.0], [0.0, 3.0, 0.0]]], method="conjunctive",
    ... )
    >>> e
    Explanation(1 case, 1 channel, 3 timepoints, 2 classes, method='conjunctive')
    >>> e.predicted
    array(['spike'], dtype='<U5')
    >>> e.top_intervals()[0].start_time
    1
    """

    series: NDArray[Any]
    lengths: NDArray[np.int64]
    scores: NDArray[Any]
    logits: NDArray[Any]
    classes: NDArray[Any]
    class_names: tuple[str, ...] = ()
    channel_names: tuple[str, ...] = ()
    attention: NDArray[Any] | None = None
    contributions: NDArray[Any] | None = None
    bias: NDArray[Any] | None = None
    channel_contributions: NDArray[Any] | None = None
    time: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    cases: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    members: tuple[Explanation, ...] = ()
    method: str = ""

    def __post_init__(self) -> None:
        for name, value in checks.checked_fields(self).items():
            object.__setattr__(self, name, value)
        self._check_members()

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, checks.read_only(value) if isinstance(value, np.ndarray) else value)

    def _check_members(self) -> None:
        for member in self.members:
            if not isinstance(member, Explanation):
                raise ParameterError(f"members must be Explanations; got {type(member).__name__}.")
            for name in SHARED_WITH_MEMBERS:
                if not _same(getattr(self, name), getattr(member, name)):
                    raise ParameterError(f"members must explain the same cases; their {name} differ.")

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return int(self.series.shape[0])

    @property
    def n_channels(self) -> int:
        """Number of channels of every series."""
        return int(self.series.shape[1])

    @property
    def n_timepoints(self) -> int:
        """Width of the arrays: the length of the longest case, or more."""
        return int(self.series.shape[2])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Softmax of the logits, shape (n_cases, n_classes)."""
        from scipy.special import softmax  # slow to import, and not always needed

        shares: NDArray[np.float64] = softmax(self.logits.astype(np.float64), axis=1)
        return shares

    @property
    def predicted_codes(self) -> NDArray[np.int64]:
        """Position in `classes` of each case's most probable class, shape (n_cases,)."""
        codes: NDArray[np.int64] = np.argmax(self.logits, axis=1)
        return codes

    @property
    def predicted(self) -> NDArray[Any]:
        """Label of each case's most probable class, shape (n_cases,)."""
        labels: NDArray[Any] = self.classes[self.predicted_codes]
        return labels

    @property
    def spread(self) -> NDArray[Any]:
        """Standard deviation of the members' scores, shape (n_cases, n_classes, n_timepoints)."""
        if not self.members:
            raise ParameterError(
                "spread needs what each member of an ensemble said, and this explanation does not have it: use "
                "explain(X, members=True) of a classifier with several members."
            )
        deviation: NDArray[Any] = np.std([member.scores for member in self.members], axis=0)
        return deviation

    def rebuilt_logits(self) -> NDArray[np.float64]:
        """Return the mean contribution of each case's own timepoints plus the bias, (n_cases, n_classes)."""
        if self.contributions is None or self.bias is None:
            raise ParameterError(
                "This explanation has no contributions, so its evidence does not add up to the logits: "
                "attention pooling mixes the timepoints before it classifies, and most post-hoc methods estimate. "
                "Use conjunctive, additive, instance or GAP pooling, or read scores instead."
            )
        total = self.contributions.sum(axis=2, dtype=np.float64)
        rebuilt: NDArray[np.float64] = total / self.lengths[:, None] + self.bias
        return rebuilt

    def completeness_error(self) -> NDArray[np.float64]:
        """Return, per case, the greatest distance of a rebuilt logit from the logit, (n_cases,)."""
        error: NDArray[np.float64] = np.abs(self.rebuilt_logits() - self.logits).max(axis=1)
        return error

    def class_codes(self, target: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return, for every case, the position of the target class in `classes`.

        Parameters
        ----------
        target : label, sequence of one label per case, or None
            What is not a label may be a name from `class_names`. None: the predicted class.

        Returns
        -------
        ndarray of int, shape (n_cases,)
        """
        if target is None:
            return self.predicted_codes
        return find_codes(target, self.classes, self.class_names, self.n_cases)

    def top_intervals(
        self,
        n: int | None = 5,
        *,
        target: ArrayLike | None = None,
        kind: str = "support",
        coverage: float = 0.8,
        max_gap: int = 0,
    ) -> list[Interval]:
        """Return the stretches of time that hold most of the evidence for (or against) a class.

        Per case, the fewest timepoints that hold `coverage` of the evidence of that sign are merged into
        stretches and ranked by their share of it. The evidence is `contributions`, or `scores` if there are none.

        Parameters
        ----------
        n : int or None
            At most this many intervals per case; None for all.
        target : label, sequence of one label per case, or None
            The class; by default each case's predicted class.
        kind : {"support", "refute"}
            Evidence for the class, or against it.
        coverage : float
            The part of that evidence to account for, in (0, 1].
        max_gap : int
            Join stretches that are at most this many timepoints apart.

        Returns
        -------
        list of Interval
            Case by case, largest share first. A case without such evidence has none.

        Examples
        --------
        >>> e = Explanation(
        ...     series=[[[5.0, 1.0, 2.0]]], lengths=[3], classes=[0, 1], logits=[[0.0, 1.0]],
        ...     scores=[[[0.0, 0.0, 0.0], [3.0, -2.0, 1.0]]],
        ... )
        >>> [(i.start, i.stop, i.share) for i in e.top_intervals(coverage=1.0)]
        [(0, 1, 0.75), (2, 3, 0.25)]
        """
        return find_intervals(self, n, target, kind, coverage, max_gap)

    def __len__(self) -> int:
        return self.n_cases

    def __iter__(self) -> Iterator[Explanation]:
        return (self[case] for case in range(self.n_cases))

    def __getitem__(self, cases: int | slice | ArrayLike) -> Explanation:
        rows = select_cases(cases, self.n_cases)
        changes: dict[str, Any] = {}
        for name in PER_CASE:
            values = getattr(self, name)
            changes[name] = None if values is None else values[rows]
        members = tuple(member[cases] for member in self.members)
        return replace(self, **changes, members=members)

    @classmethod
    def concatenate(cls, explanations: Sequence[Explanation]) -> Explanation:
        """Join explanations of the same classes, by the same method, one after the other.

        Parameters
        ----------
        explanations : sequence of Explanation
            At least one. Narrower ones are padded to the widest. Cases keep their numbers, unless explanations of
            several cases all count from 0, as batches do: then the count goes on from one to the next.

        Returns
        -------
        Explanation
        """
        return cls._build(concatenated(explanations))

    @classmethod
    def _build(cls, keywords: dict[str, Any]) -> Explanation:
        members = tuple(cls._build(member) for member in keywords["members"])
        return cls(**{**keywords, "members": members})

    def to_json(self) -> str:
        """Return the explanation as strict JSON: NaN as null, floats in full, labels with their types."""
        return files.to_json(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Explanation:
        """Return the explanation that `to_json` wrote; StorageError for anything else."""
        return cls._restore(files.from_json(text))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file, whole or not at all; the suffix decides the format.

        Parameters
        ----------
        path : str or path
            ``.npz`` (compact), ``.json`` (for other programs), or ``.csv``: a table with a row per timepoint
            and a column per channel, score and contribution, without the ensemble's members.
        """
        files.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Explanation:
        """Read what `save` wrote to a ``.npz`` or ``.json`` file; StorageError if it is damaged."""
        try:
            return cls._restore(files.load(path))
        except StorageError as error:
            raise StorageError(f"{path}: {error}") from error

    @classmethod
    def _restore(cls, keywords: dict[str, Any]) -> Explanation:
        try:
            return cls._build(keywords)
        except MilletError as error:
            raise StorageError(f"This saved explanation contradicts itself: {error}") from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Explanation):
            return NotImplemented
        return all(_same(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        sizes = {
            "case": self.n_cases,
            "channel": self.n_channels,
            "timepoint": self.n_timepoints,
            "class": self.n_classes,
            "member": len(self.members),
        }
        endings = {"class": "es"}
        parts = [
            f"{size} {word}{endings.get(word, 's') if size != 1 else ''}"
            for word, size in sizes.items()
            if word != "member" or size
        ]
        return f"Explanation({', '.join(parts)}, method={self.method!r})"


def _same(left: Any, right: Any) -> bool:
    """Compare fields: NaN equals NaN, and an object equals itself without a look at its values."""
    if left is right:
        return True
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.array_equal(left, right, equal_nan=left.dtype.kind == "f" and right.dtype.kind == "f")
    return bool(left == right) if type(left) is type(right) else False

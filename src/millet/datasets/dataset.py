"""`Dataset`: one split of labelled series, as every reader and generator returns it.

Out: read by `millet.bags` (X), `millet.classifier` (X, y) and everything that shows or scores cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millet.containers import as_cases
from millet.errors import ParameterError

Series = NDArray[np.floating[Any]] | list[NDArray[np.floating[Any]]]


@dataclass(frozen=True, eq=False)  # comparing arrays does not give a bool
class Dataset:
    """One split of a labelled collection of time series.

    Readers and generators make these; for your own arrays, use ``Dataset(X=X, y=y)``.

    Attributes
    ----------
    name : str
        The dataset's name, the same for both splits.
    X : ndarray of shape (n_cases, n_channels, n_timepoints), or list of (n_channels, n_timepoints) arrays
        The series as they were stored; a list where lengths differ. NaN stands for a missing value. What is passed
        may be any container that classifiers take, such as an array of shape (n_cases, n_timepoints).
    y : ndarray of shape (n_cases,), or None
        Labels: integers or floats where the file had numbers, strings otherwise. None where there are none.
    classes : ndarray of shape (n_classes,)
        The sorted labels that occur in either split; by default those of `y`.
    relevant : ndarray of bool, shape (n_cases, n_timepoints), or None
        True where a timepoint is known to belong to the class's signature; None where that is not known.
    split : str
        "train", "test", or "" where there is only one.
    source : str
        Where it came from: a file, or the generator and its seed.
    class_names : tuple of str
        What to call each class in pictures and tables, in the order of `classes`; by default the labels.
    channel_names : tuple of str
        What to call each channel; empty where that is not known.
    case_names : tuple of str
        What to call each case; empty where they have only numbers.

    Examples
    --------
    >>> data = Dataset(X=[[1.0, 2.0, 4.0], [3.0, 1.0, 0.0]], y=["up", "down"], name="trends")
    >>> data.X.shape, data.classes
    ((2, 1, 3), array(['down', 'up'], dtype='<U4'))
    """

    name: str = ""
    X: Series = field(default_factory=list, repr=False)
    y: NDArray[Any] | None = field(default=None, repr=False)
    classes: NDArray[Any] = field(default_factory=lambda: np.empty(0), repr=False)
    relevant: NDArray[np.bool_] | None = field(default=None, repr=False)
    split: str = ""
    source: str = ""
    class_names: tuple[str, ...] = ()
    channel_names: tuple[str, ...] = ()
    case_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (isinstance(self.X, np.ndarray) and self.X.ndim == 3):
            object.__setattr__(self, "X", as_cases(self.X))
        if self.y is not None:
            if len(self.classes) == 0:
                from millet.labels import as_labels  # imports scikit-learn; readers and generators pass classes

                object.__setattr__(self, "y", as_labels(self.y))
                object.__setattr__(self, "classes", np.unique(self.y))
            object.__setattr__(self, "y", np.asarray(self.y))
        if self.relevant is not None:
            object.__setattr__(self, "relevant", _as_marks(self.relevant))
        if not self.class_names:
            object.__setattr__(self, "class_names", tuple(str(label) for label in self.classes))
        self._check_sizes()

    def _check_sizes(self) -> None:
        """Refuse parts that do not have the same cases, classes and channels."""
        longest = int(self.lengths.max(initial=0))
        for name, found, wanted in (
            ("y", None if self.y is None else self.y.shape, (len(self),)),
            ("relevant", None if self.relevant is None else self.relevant.shape, (len(self), longest)),
            ("class_names", (len(self.class_names),), (len(self.classes),)),
            ("channel_names", (len(self.channel_names),) if self.channel_names else None, (self.n_channels,)),
            ("case_names", (len(self.case_names),) if self.case_names else None, (len(self),)),
        ):
            if found not in (None, wanted):
                raise ParameterError(
                    f"{name} must have shape {wanted} for {len(self)} cases, {self.n_channels} channels, {longest} "
                    f"timepoints and {len(self.classes)} classes; got {found}."
                )

    def __len__(self) -> int:
        return len(self.X)

    def take(self, cases: Sequence[int] | NDArray[np.integer[Any]]) -> Dataset:
        """Return a dataset of some of the cases, in this order.

        Examples
        --------
        >>> Dataset(X=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], y=[0, 1, 0]).take([2, 0]).X[:, 0, 0]
        array([5., 1.])
        """
        chosen = np.asarray(cases, dtype=np.int64)
        longest = int(self.lengths[chosen].max(initial=0))
        return Dataset(
            name=self.name,
            X=[self.X[case] for case in chosen] if isinstance(self.X, list) else self.X[chosen],
            y=None if self.y is None else self.y[chosen],
            classes=self.classes,
            relevant=None if self.relevant is None else self.relevant[chosen, :longest],
            split=self.split,
            source=self.source,
            class_names=self.class_names,
            channel_names=self.channel_names,
            case_names=tuple(self.case_names[case] for case in chosen) if self.case_names else (),
        )

    @property
    def n_channels(self) -> int:
        """Number of channels of every series."""
        return int(self.X[0].shape[0]) if len(self.X) else 0

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Stored length of every series."""
        if isinstance(self.X, list):
            return np.array([case.shape[1] for case in self.X], dtype=np.int64)
        return np.full(len(self.X), self.X.shape[2], dtype=np.int64)


def _as_marks(relevant: Any) -> NDArray[np.bool_]:
    try:
        return np.asarray(relevant, dtype=bool)
    except ValueError:
        raise ParameterError(
            "relevant must be of shape (n_cases, n_timepoints), with False beyond the end of shorter cases; got rows "
            "of unequal length."
        ) from None

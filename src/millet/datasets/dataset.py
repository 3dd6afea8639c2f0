"""`Dataset`: one split of labelled series, as every reader and generator returns it.

Out: read by `millet.bags` (X), `millet.classifier` (X, y) and everything that shows or scores cases.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.floating[Any]] | list[NDArray[np.floating[Any]]]


@dataclass(frozen=True)
class Dataset:
    """One split of a labelled collection of time series.

    Attributes
    ----------
    name : str
        The dataset's name, the same for both splits.
    X : ndarray of shape (n_cases, n_channels, n_timepoints), or list of (n_channels, n_timepoints) arrays
        The series as they were stored; a list where lengths differ. NaN stands for a missing value.
    y : ndarray of shape (n_cases,), or None
        Labels: integers or floats where the file had numbers, strings otherwise. None where there are none.
    classes : ndarray of shape (n_classes,)
        The sorted labels that occur in either split.
    relevant : ndarray of bool, shape (n_cases, n_timepoints), or None
        True where a timepoint is known to belong to the class's signature; None where nobody knows.
    split : str
        "train", "test", or "" where there is only one.
    source : str
        Where it came from: a file, or the generator and its seed.
    class_names : tuple of str
        What to call each class in pictures and tables, in the order of `classes`.
    """

    name: str
    X: Series = field(repr=False)
    y: NDArray[Any] | None = field(repr=False)
    classes: NDArray[Any] = field(repr=False)
    relevant: NDArray[np.bool_] | None = field(default=None, repr=False)
    split: str = ""
    source: str = ""
    class_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.class_names:
            object.__setattr__(self, "class_names", tuple(str(label) for label in self.classes))

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_channels(self) -> int:
        """Number of channels of every series."""
        return int(self.X[0].shape[0])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Stored length of every series."""
        if isinstance(self.X, list):
            return np.array([case.shape[1] for case in self.X], dtype=np.int64)
        return np.full(len(self.X), self.X.shape[2], dtype=np.int64)

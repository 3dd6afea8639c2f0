"""Labels: whatever names the classes is checked here, and becomes codes.

In:  labels of any type. Out: classes and codes, and names of classes, read by `millet.contract`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from millet.errors import LabelError, ParameterError

Array = NDArray[Any]


def encode_labels(y: ArrayLike, n_cases: int) -> tuple[Array, NDArray[np.int64]]:
    """Return the sorted classes and every case's code, its index among them.

    Raises
    ------
    LabelError
        If labels are missing, not one per case, continuous numbers, or all the same.

    Examples
    --------
    >>> classes, codes = encode_labels(["b", "a", "b"], 3)
    >>> classes.tolist(), codes
    (['a', 'b'], array([1, 0, 1]))
    """
    if y is None:
        raise LabelError("A classifier requires y to be passed, but the target y is None. Pass one label a case.")
    labels = as_labels(y)
    if len(labels) != n_cases:
        raise LabelError(
            f"X and y have inconsistent numbers of cases: {n_cases} series, but {len(labels)} labels. "
            "Pass one label a case."
        )
    try:
        with np.errstate(invalid="ignore"):  # infinities are refused by an error; no warning on top
            check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
    except (ValueError, TypeError) as error:
        raise LabelError(f"y can't be used as class labels: {error}") from None
    if len(classes) < 2:
        only = classes.tolist()[0]
        raise LabelError(f"y has only one class, {only!r}; a classifier needs cases of at least two classes.")
    return classes, codes.astype(np.int64)


def as_labels(y: Any) -> Array:
    """Return y as a 1-D array of numbers, booleans or strings; the same whatever container it came in.

    Examples
    --------
    >>> as_labels(["b", "a"])
    array(['b', 'a'], dtype='<U1')
    """
    try:
        # As objects first: beside a string, NumPy would turn 1 and nan into text.
        labels = column_or_1d(np.asarray(y, dtype=object if isinstance(y, list | tuple) else None), warn=True)
        missing = _missing(labels)
        if labels.dtype == object and not missing.any():
            n_strings = sum(isinstance(label, str) for label in labels)
            if 0 < n_strings < len(labels):
                raise ValueError(f"{n_strings} are strings and {len(labels) - n_strings} are not")
            labels = np.array(labels.tolist())
    except (ValueError, TypeError) as error:
        raise LabelError(f"y must be one label a case, all numbers or all strings: {error}") from None
    if missing.any():
        raise LabelError(
            f"y has a missing label (NaN or None) at position {int(missing.argmax())}; every case needs one."
        )
    if labels.dtype.kind == "T":  # strings of variable width, which scikit-learn does not know
        labels = np.array(labels.tolist())
    too_long = (
        np.dtype(np.longdouble) != np.dtype(np.float64) and labels.dtype == np.longdouble
    )  # no file can hold it
    if labels.dtype.kind not in "biufU" or too_long:
        raise LabelError(
            f"Unknown label type: y must hold numbers, booleans or strings; got {labels.dtype}. Convert it first."
        )
    return np.asarray(labels)


def _missing(labels: Array) -> NDArray[np.bool_]:
    if labels.dtype != object:
        return np.asarray(labels != labels)
    return np.array([_is_missing(label) for label in labels], dtype=bool)


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA, which is neither equal to itself nor different
        return True


def name_classes(classes: Array, names: Sequence[str] | Mapping[Any, str]) -> tuple[str, ...]:
    """Return a name for each class, given in the order of the classes or by label; by default the label.

    Examples
    --------
    >>> name_classes(np.array([0, 1]), {1: "peak"})
    ('0', 'peak')
    """
    labels = classes.tolist()
    if isinstance(names, Mapping):
        if names and not any(label in names for label in labels):
            raise ParameterError(
                f"class_names must be names by label; none of the labels {list(names)} is among the classes {labels}."
            )
        return tuple(str(names.get(label, label)) for label in labels)
    if isinstance(names, str) or not isinstance(names, Sized) or len(names) != len(labels):
        found = repr(names) if isinstance(names, str) or not isinstance(names, Sized) else f"{len(names)}"
        raise ParameterError(
            f"class_names must be {len(labels)} names, one for each of the classes {', '.join(map(str, labels))}; "
            f"got {found}. To name some of them, pass a mapping of labels to names."
        )
    return tuple(map(str, names))

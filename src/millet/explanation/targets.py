"""Targets: which class a label or a name means, for every case.

In:  what a user typed, from `Explanation.class_codes`.
Out: positions in `Explanation.classes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.errors import LabelError, did_you_mean


def find_codes(
    target: ArrayLike, classes: NDArray[Any], class_names: tuple[str, ...], n_cases: int
) -> NDArray[np.int64]:
    """Return the position of the target class for every case.

    Parameters
    ----------
    target : label, or sequence of one label per case
        What is not a label may be a name from `class_names`.
    classes : ndarray of shape (n_classes,)
    class_names : tuple of str
    n_cases : int

    Returns
    -------
    ndarray of int, shape (n_cases,)

    Examples
    --------
    >>> find_codes("spike", np.array([3, 7]), ("calm", "spike"), n_cases=2)
    array([1, 1])
    >>> find_codes([7, 3], np.array([3, 7]), ("calm", "spike"), n_cases=2)
    array([1, 0])
    """
    if np.ndim(target) == 0:
        return np.full(n_cases, _code(np.asarray(target).item(), classes, class_names))
    labels = np.asarray(target).tolist() if isinstance(target, np.ndarray) else list(target)  # type: ignore[arg-type]
    if len(labels) != n_cases:
        raise LabelError(f"target must be one label, or one for each of the {n_cases} cases; got {len(labels)}.")
    return np.array([_code(label, classes, class_names) for label in labels], dtype=np.int64)


def _code(label: Any, classes: NDArray[Any], class_names: tuple[str, ...]) -> int:
    for known in (classes.tolist(), class_names):
        if label in known:
            return known.index(label)
    hint = did_you_mean(str(label), class_names)
    raise LabelError(f"No class {label!r}; the classes are {', '.join(class_names)}.{hint}")

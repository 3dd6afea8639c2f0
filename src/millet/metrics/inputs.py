"""What metrics are given: every array is checked here, once.

In:  scores, known relevance, lengths and fractions, as the user gave them.
Out: arrays of the promised shape and type, or an error that says what was given and what was wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.errors import ParameterError
from millet.explanation import Explanation

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


def as_numbers(name: str, values: Any) -> Floats:
    """Return an array of finite numbers."""
    if isinstance(values, Explanation):
        raise ParameterError(
            f"{name} must be an array; got an Explanation. Of an explanation e, pass e.scores, or, where one class a "
            "case is wanted, e.scores[range(len(e)), e.predicted_codes]."
        )
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} must be an array of numbers; got {type(values).__name__}: {error}") from None
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(axis[0]) for axis in np.nonzero(~finite))
        raise ParameterError(
            f"{name} must be finite; {np.sum(~finite)} of {finite.size} values are NaN or infinite, the first at "
            f"{where}. Leave such cases out, or pad shorter cases with 0."
        )
    return array


def as_scores(name: str, scores: Any) -> Floats:
    """Return finite scores of shape (n_cases, n_timepoints)."""
    array = as_numbers(name, scores)
    if array.ndim != 2 or 0 in array.shape:
        raise ParameterError(
            f"{name} must be (n_cases, n_timepoints), one number a timepoint of one class; got shape {array.shape}. "
            "Of scores per class, take those of the class in question: scores[range(n_cases), codes]."
        )
    return array


def as_relevant(relevant: Any, shape: tuple[int, ...]) -> Mask:
    """Return a bool array of the scores' shape."""
    array = np.asarray(relevant)
    if array.shape != shape:
        raise ParameterError(
            f"relevant must have the shape of scores, (n_cases, n_timepoints) = {shape}; got {array.shape}."
        )
    if array.dtype != bool and not (array.dtype.kind in "iuf" and np.isin(array, (0, 1)).all()):
        raise ParameterError(f"relevant must hold True and False, or 1 and 0; got {array.dtype} with other values.")
    return array.astype(bool)


def as_lengths(lengths: ArrayLike | None, n_cases: int, n_timepoints: int) -> Integers:
    """Return the length of every case; by default the arrays' width."""
    if lengths is None:
        return np.full(n_cases, n_timepoints, dtype=np.int64)
    array = np.asarray(lengths)
    fits = array.shape == (n_cases,) and array.dtype.kind in "iu" and n_cases > 0
    if not fits or (array < 1).any() or (array > n_timepoints).any():
        raise ParameterError(
            f"lengths must be {n_cases} integers from 1 to n_timepoints = {n_timepoints}, one a case; got "
            f"{array.dtype} of shape {array.shape}" + (f", {array.min()} to {array.max()}." if fits else ".")
        )
    return array.astype(np.int64)


def as_fractions(fractions: Sequence[float]) -> Floats:
    """Return the parts of a series to remove: increasing, above 0 and below 1."""
    array = as_numbers("fractions", fractions)
    if array.ndim != 1 or not array.size or array.min() <= 0 or array.max() >= 1 or (np.diff(array) <= 0).any():
        raise ParameterError(
            f"fractions must increase, above 0 and below 1, such as (0.05, 0.1, 0.2); got {fractions!r}."
        )
    return array


def parts_of(fractions: Floats, lengths: Integers) -> Integers:
    """Return how many timepoints each fraction of each case amounts to, rounded down: (n_cases, n_fractions).

    Examples
    --------
    >>> parts_of(np.array([0.05, 0.3]), np.array([100, 19]))
    array([[ 5, 30],
           [ 0,  5]])
    """
    # The released code truncates the product of floats, and so do we.
    counts: Integers = np.floor(lengths[:, None] * fractions).astype(np.int64)
    return counts


def most_relevant_first(scores: Floats) -> Integers:
    """Return timepoints by falling score, along the last axis; among equal scores, the earlier comes first."""
    order: Integers = np.argsort(-scores, axis=-1, kind="stable")
    return order

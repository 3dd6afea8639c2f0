"""Selecting and joining cases: which rows a user means, and how batches become one.

In:  a key, as for a NumPy array; explanations of batches.
Out: row selections for `Explanation.__getitem__`, keywords for its constructor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from millet.errors import ParameterError

if TYPE_CHECKING:
    from millet.explanation.explanation import Explanation


def select_cases(key: Any, n_cases: int) -> slice | NDArray[Any]:
    """Return an index that keeps the axis of cases, whatever the user typed.

    Examples
    --------
    >>> select_cases(-1, 5)
    slice(4, 5, None)
    >>> select_cases([True, False, True], 3)
    array([0, 2])
    """
    if isinstance(key, slice):
        return key
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        _check_range(np.array([int(key)]), n_cases)
        case = int(key) % n_cases
        return slice(case, case + 1)
    rows = np.asarray(key)
    if rows.dtype == bool:
        if rows.shape != (n_cases,):
            raise IndexError(f"A mask needs one bool for each of the {n_cases} cases; got shape {rows.shape}.")
        return np.flatnonzero(rows)
    if rows.shape == (0,):
        return np.empty(0, dtype=np.int64)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise TypeError(f"Cases are chosen by an integer, a slice, a list of integers or a mask; got {key!r}.")
    _check_range(rows, n_cases)
    return rows


def _check_range(rows: NDArray[Any], n_cases: int) -> None:
    outside = rows[(rows < -n_cases) | (rows >= n_cases)]
    if outside.size:
        raise IndexError(f"Case {outside[0]} is out of range: there are {n_cases} cases.")


def concatenated(explanations: Sequence[Explanation]) -> dict[str, Any]:
    """Return the constructor's keywords for all cases; each of the members is such keywords, too."""
    explanations = list(explanations)
    if not explanations:
        raise ParameterError("concatenate needs at least one explanation; got none.")
    first = explanations[0]
    width = max(explanation.n_timepoints for explanation in explanations)
    widest = max(explanations, key=lambda explanation: explanation.n_timepoints)
    for explanation in explanations:
        _check_joinable(explanation, first, widest.time)
    return {
        "series": _stack([explanation.series for explanation in explanations], width, padding=np.nan),
        "lengths": np.concatenate([explanation.lengths for explanation in explanations]),
        "cases": _case_numbers(explanations),
        "logits": np.concatenate([explanation.logits for explanation in explanations]),
        "classes": first.classes,
        "class_names": first.class_names,
        "channel_names": first.channel_names,
        "bias": first.bias,
        "time": widest.time,
        "method": first.method,
        "members": [
            concatenated(group) for group in zip(*(explanation.members for explanation in explanations), strict=True)
        ],
        **{
            name: _stack([getattr(explanation, name) for explanation in explanations], width, padding=0.0)
            for name in ("scores", "attention", "contributions", "channel_contributions")
            if getattr(first, name) is not None
        },
    }


def _case_numbers(explanations: list[Explanation]) -> NDArray[np.int64]:
    """Return the cases' own numbers, or count through where batches of several cases all count from 0."""
    from_0 = all(np.array_equal(explanation.cases, np.arange(len(explanation))) for explanation in explanations)
    if from_0 and any(len(explanation) > 1 for explanation in explanations):
        return np.arange(sum(map(len, explanations)))
    return np.concatenate([explanation.cases for explanation in explanations])


def _check_joinable(explanation: Explanation, first: Explanation, time: NDArray[Any]) -> None:
    same = {
        "n_channels": explanation.n_channels == first.n_channels,
        "channel_names": explanation.channel_names == first.channel_names,
        "classes": np.array_equal(explanation.classes, first.classes),
        "class_names": explanation.class_names == first.class_names,
        "method": explanation.method == first.method,
        "time": np.array_equal(explanation.time, time[: explanation.n_timepoints]),
        "attention": (explanation.attention is None) == (first.attention is None),
        "bias": (explanation.bias is None) == (first.bias is None),
        "channel_contributions": (explanation.channel_contributions is None) == (first.channel_contributions is None),
        "members": len(explanation.members) == len(first.members),
    }
    if explanation.bias is not None and first.bias is not None:
        same["bias"] = np.array_equal(explanation.bias, first.bias)
    differing = [name for name, agrees in same.items() if not agrees]
    if differing:
        raise ParameterError(
            f"Only explanations by the same model can be joined; these differ in {', '.join(differing)}."
        )


def _stack(arrays: list[NDArray[Any]], width: int, padding: float) -> NDArray[Any]:
    padded = [
        np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, width - array.shape[-1])], constant_values=padding)
        for array in arrays
    ]
    return np.concatenate(padded)

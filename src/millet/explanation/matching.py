"""Matching: whether an explanation is of the series that come with it.

In:  an `Explanation` that may have been sliced or reordered, and series.
Out: nothing, or a ParameterError.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from millet.bags import as_bags
from millet.errors import ParameterError
from millet.explanation.explanation import Explanation


def check_same_cases(explanation: Explanation, X: Any) -> None:
    """Refuse an explanation of some cases, or of reordered ones, if the series are not those cases.

    Parameters
    ----------
    explanation : Explanation
        One of all cases in their order is not checked: its series may have been prepared.
    X : array-like or list
        As many series as the explanation has cases.

    Examples
    --------
    >>> e = Explanation(
    ...     series=[[[0.0, 9.0]], [[1.0, 2.0]]], lengths=[2, 2], classes=["calm", "spike"],
    ...     logits=[[-1.0, 1.0]] * 2, scores=[[[0.0, -1.0], [0.0, 1.0]]] * 2,
    ... )
    >>> check_same_cases(e[::-1], [[1.0, 2.0], [0.0, 9.0]])
    >>> check_same_cases(e[::-1], [[0.0, 9.0], [1.0, 2.0]])
    Traceback (most recent call last):
        ...
    millet.errors.ParameterError: The explanation is of cases 1, 0, and these are others or in another order. ...
    """
    if np.array_equal(explanation.cases, np.arange(explanation.n_cases)):
        return
    if not _are_same(explanation.series, as_bags(X).raw(np.arange(explanation.n_cases))):
        listed = ", ".join(map(str, explanation.cases[:5].tolist())) + (", ..." if explanation.n_cases > 5 else "")
        raise ParameterError(
            f"The explanation is of cases {listed}, and these are others or in another order. Take the same cases of "
            "both: dataset.take(explanation.cases). Series that were prepared before they were explained don't match."
        )


def are_of_same_cases(one: Explanation, other: Explanation) -> bool:
    """Return whether two explanations are of the same cases in the same order.

    Those with the same case numbers are taken at their word, since models may have prepared series in different ways;
    otherwise the series must be the same.
    """
    return np.array_equal(one.lengths, other.lengths) and (
        np.array_equal(one.cases, other.cases) or _are_same(one.series, other.series)
    )


def _are_same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    width = min(one.shape[2], other.shape[2])
    return one.shape[:2] == other.shape[:2] and np.allclose(
        one[..., :width], other[..., :width], rtol=1e-5, atol=0, equal_nan=True
    )

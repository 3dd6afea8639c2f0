"""Checks of the parameters that users pass; each error is one sentence."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from millet.errors import ParameterError


def integer(name: str, value: Any, at_least: int) -> int:
    """Return `value` as an int of at least `at_least`, or say what was wanted.

    Examples
    --------
    >>> integer("n_epochs", 3, at_least=1)
    3
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < at_least:
        raise ParameterError(f"{name} must be an integer of at least {at_least}; got {value!r}.")
    return int(value)


def switch(name: str, value: Any) -> bool:
    """Return `value` as a bool; text such as "no" is refused, since it would count as True.

    Examples
    --------
    >>> switch("warm_start", True)
    True
    """
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} must be True or False; got {value!r}.")
    return bool(value)


def jobs(value: Any) -> int:
    """Return `n_jobs` as joblib takes it: None is 1, -1 is one per core, -2 leaves one core free, and so on.

    Examples
    --------
    >>> jobs(None), jobs(-2)
    (1, -2)
    """
    if value is None:
        return 1
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value == 0:
        raise ParameterError(f"n_jobs must be a number of jobs, or -1 for one for each core; got {value!r}.")
    return int(value)


def number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float = math.inf,
) -> float:
    """Return `value` as a float above (or at least) one bound and below the other, or say what was wanted.

    Examples
    --------
    >>> number("learning_rate", 0.001, above=0)
    0.001
    """
    found = _as_float(value)
    fits = found < below and (above is None or found > above) and (at_least is None or found >= at_least)
    if not fits:
        lower = f"above {above}" if above is not None else f"of at least {at_least}"
        upper = "" if below == math.inf else f" and below {below}"
        kind = "finite number" if abs(found) == math.inf else "number"
        raise ParameterError(f"{name} must be a {kind} {lower}{upper}; got {value!r}.")
    return found


def random_generator(random_state: Any) -> np.random.RandomState:
    """Return the generator that `random_state` stands for, as in scikit-learn.

    Examples
    --------
    >>> int(random_generator(0).randint(100))
    44
    """
    from sklearn.utils import check_random_state

    try:
        generator: np.random.RandomState = check_random_state(random_state)
        return generator
    except (ValueError, TypeError):
        raise ParameterError(
            "random_state must be None, an integer of at least 0 or a numpy.random.RandomState; got "
            f"{random_state!r}."
        ) from None


def _as_float(value: Any) -> float:
    """Return a float: NaN, which fits no bounds, if value is not a number; infinity if no float can hold it."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf

"""Checks: a parameter passes as a plain number, or is refused with what was wanted and what came."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millet.checks import integer, number, switch
from millet.errors import ParameterError

NAN = float("nan")
INF = float("inf")


@pytest.mark.parametrize("value", [True, False, np.True_])
def test_a_switch_is_on_or_off(value):
    assert switch("x", value) is bool(value)


@pytest.mark.parametrize("value", ["no", "False", 1, None, 0.0])
def test_text_and_numbers_are_no_switch(value):
    with pytest.raises(ParameterError, match="x must be True or False"):
        switch("x", value)


@pytest.mark.parametrize("value", [1, 7, np.int8(7), np.uint64(7), 10**30])
def test_an_integer_of_any_kind_becomes_an_int(value):
    assert integer("n", value, at_least=1) == value
    assert type(integer("n", value, at_least=1)) is int


@pytest.mark.parametrize("value", [0, -3, 1.0, 2.5, NAN, True, np.True_, "3", None, [3], np.array([3])])
def test_what_is_no_integer_in_range_is_refused(value):
    with pytest.raises(ParameterError, match=r"n_epochs must be an integer of at least 1; got "):
        integer("n_epochs", value, at_least=1)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int16(3), Fraction(1, 3), 10**300])
def test_a_number_of_any_kind_becomes_a_float(value):
    assert number("rate", value, above=0) == float(value)
    assert type(number("rate", value, above=0)) is float


@pytest.mark.parametrize(
    "value", [0, -0.5, NAN, INF, -INF, True, np.True_, "0.5", None, 1j, [0.5], np.array([0.5]), 10**400, -(10**400)]
)
def test_what_is_no_finite_number_in_range_is_refused(value):
    with pytest.raises(ParameterError, match=r"rate must be a (finite )?number above 0; got "):
        number("rate", value, above=0)


def test_each_bound_is_where_it_says():
    assert number("p", 0, at_least=0, below=1) == 0
    for value in (-1e-300, 1, NAN):
        with pytest.raises(ParameterError, match=f"p must be a number of at least 0 and below 1; got {value}"):
            number("p", value, at_least=0, below=1)
    with pytest.raises(ParameterError, match="above 0 and below 1; got 0"):
        number("p", 0, above=0, below=1)


@settings(max_examples=50, deadline=None)
@given(value=st.floats(), bound=st.floats(-10, 10))
def test_a_number_passes_exactly_where_it_is_finite_and_above_the_bound(value, bound):
    if bound < value < INF:
        assert number("x", value, above=bound) == value
    else:
        with pytest.raises(ParameterError):
            number("x", value, above=bound)

"""Values that stand for missing ones are named, and no others."""

import warnings

import numpy as np
import pytest

from millet.doubts import warn_of_placeholders


def doubts(X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_placeholders(X)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("placeholder", [-999.0, 999.0, -9999.0, 99999.0, -32768.0])
@pytest.mark.parametrize("container", [np.array, list, lambda X: np.array(X, dtype=np.float32)])
def test_a_value_that_stands_for_a_missing_one_is_named(placeholder, container):
    (message,) = doubts(container([[0.5, 1.5, 2.0], [placeholder, 0.0, 1.0], [1.0, placeholder, placeholder]]))
    assert message.startswith(f"X has the value {placeholder:.0f} (3 of 9 values, first in case 1)")
    assert "between 0 and 2." in message


def test_the_channel_is_named_and_others_do_not_count():
    X = np.zeros((3, 2, 4))
    X[:, 0] = np.linspace(-5000, 5000, 4)
    X[:, 1] = [0, 1, 2, 3]
    X[2, 1, 3] = -9999
    assert "-9999 in channel 1 (1 of 12 values, first in case 2)" in doubts(X)[0]


@pytest.mark.parametrize(
    "X",
    [
        [[0.0, 500.0, 999.0], [100.0, 200.0, 300.0]],  # within reach of the others
        [[-999.0, -999.0], [-999.0, -999.0]],  # nothing else there
        [[0.0, 1.0], [0.0, 1000.0]],  # an outlier, and no placeholder
        [[0.0, 1.0, np.nan], [np.nan, 1.0, 2.0]],
    ],
)
def test_other_values_are_no_placeholders(X):
    assert doubts(X) == []


def test_two_placeholders_do_not_hide_each_other():
    assert "the value -9999 (1 of 4" in doubts([[-9999.0, -999.0], [0.0, 1.0]])[0]


def test_blocks_of_cases_are_one_whole(monkeypatch):
    monkeypatch.setattr("millet.bags.BLOCK_VALUES", 5)
    X = np.tile([0.0, 1.0, 2.0], (7, 1))
    X[5, 1] = X[6, 0] = -999
    assert "2 of 21 values, first in case 5" in doubts(X)[0]

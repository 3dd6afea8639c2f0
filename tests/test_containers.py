"""Containers: what holds series is understood without a copy, and all else is refused with what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from scipy import sparse

from millet.bags import as_bags
from millet.containers import WANTED, are_same_channels, as_cases, channel_columns, is_table
from millet.errors import MilletError, SeriesError, SeriesTypeError

X = np.arange(24.0).reshape(3, 2, 4)


# --- Understood ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "bool"])
def test_arrays_and_tensors_are_neither_copied_nor_cast(dtype):
    array = X.astype(dtype)
    for container in (array, array[:, 0], array[::2, :, 1:], np.asfortranarray(array), torch.from_numpy(array)):
        cases = as_cases(container)
        assert cases.dtype == array.dtype
        assert np.shares_memory(cases, np.asarray(container))


def test_two_axes_are_cases_and_timepoints():
    assert as_cases(X[:, 0]).shape == (3, 1, 4)
    assert as_cases(pd.DataFrame(X[:, 0])).shape == (3, 1, 4)
    assert as_cases(X[:, 0].tolist()).shape == (3, 1, 4)


def test_equal_series_become_an_array_and_unequal_ones_stay_a_list():
    assert as_cases([[1.0, 2.0], [3.0, 4.0]]).shape == (2, 1, 2)
    assert [case.shape for case in as_cases([[1.0, 2.0], [3.0]])] == [(1, 2), (1, 1)]


def test_series_with_and_without_a_channel_axis_may_be_mixed():
    assert [case.shape for case in as_cases([np.ones(3), np.ones((1, 4)), [[1, 2]]])] == [(1, 3), (1, 4), (1, 2)]


def test_cells_of_a_frame_are_the_channels_of_a_case():
    frame = pd.DataFrame({"a": [np.array([1, 2, 3]), pd.Series([4, 5])], "b": [[6, 7, 8], (9, 10)]})
    first, second = as_cases(frame)
    assert first.tolist() == [[1, 2, 3], [6, 7, 8]]
    assert second.tolist() == [[4, 5], [9, 10]]


def test_a_frame_for_each_case_has_a_row_for_each_timepoint():
    frames = [
        pd.DataFrame({"temperature": [1.0, 2.0, 3.0], "vibration": [4, 5, 6]}),
        pd.DataFrame({"temperature": [7], "vibration": [8]}),
    ]
    first, second = as_cases(frames)
    assert first.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert second.tolist() == [[7], [8]]


def test_rows_of_a_frame_are_in_the_order_of_its_moments():
    moments = pd.to_datetime(["2024-03-02", "2024-03-01", "2024-03-03"])
    frame = pd.DataFrame({"up": [2.0, 1.0, 3.0], "down": [5, 6, 4]}, index=moments)
    for index in (moments, moments - moments[1]):
        assert as_cases([frame.set_axis(index)])[0].tolist() == [[1, 2, 3], [6, 5, 4]]
    assert as_cases([frame.reset_index(drop=True)])[0].tolist() == [[2, 1, 3], [5, 6, 4]]


def test_lists_in_a_table_of_arrow_are_the_channels_of_a_case():
    first, second = as_cases(pa.table({"a": [[1, 2, None], [4, 5]], "b": [[6, 7, 8], [9, 10]]}))
    np.testing.assert_array_equal(first, [[1, 2, np.nan], [6, 7, 8]])
    assert second.tolist() == [[4, 5], [9, 10]]
    assert as_cases(pa.table({"t0": [1, 4], "t1": [2, 5]})).tolist() == [[[1, 2]], [[4, 5]]]


def test_a_table_of_arrow_for_each_case_has_a_row_for_each_timepoint():
    tables = [pa.table({"up": [1.0, 2.0, None], "down": [3.0, 2.0, 1.0]}), pa.table({"up": [5.0], "down": [6.0]})]
    first, second = as_cases(tables)
    np.testing.assert_array_equal(first, [[1, 2, np.nan], [3, 2, 1]])
    np.testing.assert_array_equal(second, [[5], [6]])
    assert channel_columns(tables) == ["up", "down"]
    with pytest.raises(SeriesError, match="same order in every case"):
        as_cases([tables[0], tables[1].select(["down", "up"])])


def test_a_table_of_arrow_whose_cells_are_lists_is_no_table_of_values():
    assert is_table(pa.table({"0": [1.0], "1": [2.0]}))
    assert not is_table(pa.table({"a": [[1.0, 2.0]], "b": [[3.0, 4.0]]}))


def test_a_series_is_in_the_order_of_its_moments():
    moments = pd.to_datetime(["2020-01-03", "2020-01-01", "2020-01-02"])
    series = pd.Series([3.0, 1.0, 2.0], index=moments)
    np.testing.assert_array_equal(as_cases([series]), [[[1, 2, 3]]])
    np.testing.assert_array_equal(as_cases(pd.DataFrame({"a": [series], "b": [series]})), [[[1, 2, 3], [1, 2, 3]]])


@pytest.mark.parametrize("columns", [["up", "down"], [101, 102], [0, 1]])
def test_frames_with_another_order_of_columns_are_refused(columns):
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=columns)
    with pytest.raises(SeriesError, match="same order in every case"):
        as_cases([frame, frame[columns[::-1]]])


@pytest.mark.parametrize(
    ("columns", "others", "same"),
    [
        (["up", "down"], ["up", "down"], True),
        (["up", "down"], ["down", "up"], False),
        (["up", "down"], ["left", "right"], False),
        (["up", "down"], [], True),
        (["0", "1"], ["up", "down"], True),
        (["1", "0"], ["0", "1"], False),
    ],
)
def test_channels_are_the_same_unless_names_say_otherwise(columns, others, same):
    assert are_same_channels(columns, others) is same
    assert are_same_channels(others, columns) is same


def test_masked_values_become_nan():
    masked = np.ma.masked_greater(np.array([[1, 2, 3], [4, 1, 0]]), 2)
    expected = [[[1, 2, np.nan]], [[np.nan, 1, 0]]]
    np.testing.assert_array_equal(as_cases(masked), expected)
    np.testing.assert_array_equal(as_cases(list(masked)), expected)


# --- Refused -------------------------------------------------------------------------------------------------------

REFUSED = {
    # name: (what came, words of the message: what came, and what to do)
    "a number": (3.0, ["0D array", "float of shape ()", "Reshape your data"]),
    "None": (None, ["NoneType", "Reshape your data"]),
    "one series": (X[0, 0], ["1D array", "shape (4,)", "X[None]"]),
    "one series in a list": ([1.0, 2.0], ["1D array", "case 0 is a single value", "[series]"]),
    "one series in pandas": (pd.Series([1.0, 2.0]), ["1D array", "X[None]"]),
    "four axes": (X[None], ["4D array", "shape (1, 3, 2, 4)"]),
    "four axes in lists": (X[None].tolist(), ["Case 0, channel 0", "(2, 4)"]),
    "a list of three axes": ([X], ["Case 0 has shape (3, 2, 4)"]),
    "an empty list": ([], ["0 sample(s)", "minimum of 1"]),
    "no cases": (np.empty((0, 5)), ["0 sample(s)", "shape=(0, 5)"]),
    "no timepoints": (np.empty((3, 0)), ["0 feature(s)", "shape=(3, 0)"]),
    "no channels": (np.empty((3, 0, 4)), ["0 feature(s)", "shape=(3, 0, 4)"]),
    "an empty case": ([[1.0], []], ["Case 1 has no timepoint", "at least 1"]),
    "empty channels": ([[[], []]], ["Case 0 has no timepoint"]),
    "an empty frame": (pd.DataFrame(), ["0 sample(s)"]),
    "a frame without columns": (pd.DataFrame(index=[0, 1]), ["0 feature(s)"]),
    "a frame without rows": (pd.DataFrame({"t0": []}), ["0 sample(s)"]),
    "ragged channels": ([X[0].tolist(), [[1, 2], [3]]], ["Case 1", "different lengths ([1, 2])", "NaN"]),
    "ragged cells": (pd.DataFrame({"a": [[1, 2]], "b": [[3]]}), ["Case 0", "different lengths", "NaN"]),
    "a number among channels": ([[[1, 2], 3]], ["Case 0, channel 1", "shape ()"]),
    "a list among numbers": ([[1, [2, 3]]], ["Case 0"]),
    "a number among cells": (pd.DataFrame({"a": [np.ones(3), 2.0]}), ["Case 1, channel 0", "shape ()"]),
    "different channels": ([np.ones((1, 3)), np.ones((2, 3))], ["case 0 has 1, case 1 has 2", "other way round"]),
    "text": ("abc", ["holds text"]),
    "bytes": (b"abc", ["holds text"]),
    "a list of text": (["abc", "de"], ["Case 0 holds text"]),
    "lists of text": ([[1.0], ["1", "2"]], ["Case 1 holds text", "astype(float)"]),
    "channels of text": ([[["1", "2"]]], ["Case 0, channel 0, holds text", "astype(float)"]),
    "an array of text": (X[:, 0].astype(str), ["X holds text", "astype(float)"]),
    "objects of text": (X[:, 0].astype(str).astype(object), ["X holds text", "astype(float)"]),
    "a frame of text": (pd.DataFrame(X[:, 0].astype(str)), ["X holds text", "astype(float)"]),
    "a frame of categories": (pd.DataFrame({"a": pd.Categorical(["1", "2"])}), ["X holds text"]),
    "dates": (X[:, 0].astype("datetime64[s]"), ["holds datetime64[s]", "astype(float)"]),
    "durations": (X[:, 0].astype("timedelta64[s]"), ["holds timedelta64[s]", "astype(float)"]),
    "records": (np.zeros(3, dtype=[("a", float)]), ["not numbers"]),
    "complex numbers": (X + 1j, ["Complex data not supported", "X.real"]),
    "lists of complex numbers": ([[1j, 2]], ["Complex data not supported", "Case 0"]),
}

REFUSED_TYPES = {
    "a dictionary": ({"a": [1, 2]}, ["dict"]),
    "a set": ({1, 2}, ["set"]),
    "a generator": ((row for row in X), ["generator"]),
    "a list of dictionaries": ([{"a": 1}], ["Case 0", "dict"]),
    "dictionaries in an array": (np.array([[1, {}]], dtype=object), ["argument must be a string or a real number"]),
    "pandas.NA in a list": ([[1, pd.NA]], ["Case 0", "NAType"]),
    "a sparse matrix": (sparse.csr_matrix(X[:, 0]), ["sparse", "X.toarray()"]),
    "a sparse array": (sparse.coo_array(X[:, 0]), ["sparse", "X.toarray()"]),
    "a sparse tensor": (torch.eye(3).to_sparse(), ["Sparse", "to_dense()"]),
    "a bfloat16 tensor": (torch.ones(2, 3, dtype=torch.bfloat16), ["BFloat16", ".float()"]),
    "bfloat16 tensors in a list": ([torch.ones(3, dtype=torch.bfloat16)], ["BFloat16", ".float()"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_collection_of_series_is_refused_in_words(name):
    brought, words = REFUSED[name]
    with pytest.raises(SeriesError) as caught:
        as_bags(brought)
    assert not isinstance(caught.value, TypeError)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("name", REFUSED_TYPES)
def test_what_holds_no_numbers_is_refused_in_words(name):
    brought, words = REFUSED_TYPES[name]
    with pytest.raises(SeriesTypeError) as caught:
        as_bags(brought)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("name", ["one series", "four axes", "an empty list", "no timepoints", "text", "dates"])
def test_a_message_says_which_shapes_are_wanted(name):
    with pytest.raises(MilletError) as caught:
        as_cases(REFUSED[name][0])
    assert WANTED in str(caught.value)

"""Bags: one case, one meaning, whatever container it came in and whatever batch it leaves in."""

from __future__ import annotations

import itertools
import tempfile
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

import naive
from millet import bags as bags_module
from millet.bags import ChannelScale, as_bags
from millet.errors import LabelError, SeriesError
from millet.labels import encode_labels

NAN = float("nan")


def assert_same_bags(actual, expected):
    """Compare lengths, every batch value and the fingerprint to the last bit, and what `raw` gives back."""
    everything = np.arange(len(expected))
    np.testing.assert_array_equal(actual.lengths, expected.lengths)
    assert actual.n_channels == expected.n_channels
    np.testing.assert_array_equal(actual.batch(everything).values, expected.batch(everything).values)
    np.testing.assert_array_equal(actual.raw(everything), expected.raw(everything))
    assert actual.fingerprint() == expected.fingerprint()


def on_disk(array, folder):
    """Return a read-only memory map of a copy of `array`."""
    path = tempfile.NamedTemporaryFile(dir=folder, suffix=".npy", delete=False).name  # noqa: SIM115
    np.save(path, array)
    return np.load(path, mmap_mode="r")


@st.composite
def unequal_cases(draw, values):
    """Return 1 to 5 cases of 1 to 3 channels, each with a value at its last timepoint and NaN anywhere else."""
    n_channels = draw(st.integers(1, 3))
    cases = []
    for length in draw(st.lists(st.integers(1, 12), min_size=1, max_size=5)):
        one_value = st.one_of(values, st.just(NAN)) if draw(st.booleans()) else values
        size = n_channels * length
        case = np.array(draw(st.lists(one_value, min_size=size, max_size=size))).reshape(n_channels, length)
        if np.isnan(case[:, -1]).all():
            case[draw(st.integers(0, n_channels - 1)), -1] = draw(values)
        cases.append(case)
    return cases


def padded(cases):
    """Return cases as one array, padded with NaN."""
    array = np.full((len(cases), len(cases[0]), max(case.shape[1] for case in cases)), NAN)
    for row, case in zip(array, cases, strict=True):
        row[:, : case.shape[1]] = case
    return array


ORDINARY = st.floats(-1e6, 1e6)
ANY_FINITE = st.floats(allow_nan=False, allow_infinity=False)


# --- Every container gives the same bags ---------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(cases=unequal_cases(ANY_FINITE))
def test_unequal_cases_are_the_same_in_every_container(cases):
    expected = as_bags(cases)
    array = padded(cases)
    wide = np.zeros((2 * len(array), array.shape[1], 3 * array.shape[2]))
    wide[::2, :, ::3] = array
    column_of_cells = {f"channel_{c}": [case[c] for case in cases] for c in range(array.shape[1])}
    objects = np.empty(len(cases), dtype=object)
    objects[:] = cases
    with tempfile.TemporaryDirectory() as folder:
        for container in (
            tuple(cases),
            [case.tolist() for case in cases],
            [[pd.Series(channel) for channel in case] for case in cases],
            [torch.tensor(case) for case in cases],
            [np.asfortranarray(case) for case in cases],
            objects,
            pd.Series(list(objects)),
            pd.DataFrame(column_of_cells),
            array,
            np.asfortranarray(array),
            wide[::2, :, ::3],
            array.astype(object),
            np.ma.masked_invalid(array),
            torch.tensor(array, requires_grad=True),
            on_disk(array, folder),
            on_disk(np.asfortranarray(array), folder),
            on_disk(wide, folder)[::2, :, ::3],
            array.astype(">f8"),
        ):
            assert_same_bags(as_bags(container), expected)


@pytest.mark.parametrize(
    "container",
    [
        lambda X: X[:, 0],
        lambda X: list(X[:, 0]),
        lambda X: X[:, 0].tolist(),
        lambda X: tuple(map(tuple, X[:, 0].tolist())),
        lambda X: pd.DataFrame(X[:, 0]),
        lambda X: pd.DataFrame(X[:, 0]).astype("Int64"),
        lambda X: pd.DataFrame(X[:, 0]).astype("Float32"),
        lambda X: pd.DataFrame(X[:, 0]).astype(object),
        lambda X: torch.tensor(X[:, 0], dtype=torch.int16),
        lambda X: X[:, 0].astype(object),
        lambda X: X.tolist(),
        lambda X: [pd.Series(case) for case in X[:, 0]],
    ],
)
def test_one_channel_needs_no_axis(container):
    X = np.random.default_rng(0).integers(0, 50, (4, 1, 9)).astype(float)
    assert_same_bags(as_bags(container(X)), as_bags(X))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int64", "bool"])
@pytest.mark.parametrize("normalise", [True, False])
def test_the_type_of_numbers_does_not_matter(dtype, normalise):
    X = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 100, (5, 2, 7))
    expected = as_bags(X.astype(np.float64), normalise=normalise)
    assert_same_bags(as_bags(X.astype(dtype), normalise=normalise), expected)
    assert_same_bags(as_bags(list(X.astype(dtype)), normalise=normalise), expected)
    assert_same_bags(as_bags(torch.tensor(X.astype(dtype)), normalise=normalise), expected)


def test_pandas_na_and_none_are_missing_values():
    expected = as_bags([[1.0, NAN, 3.0, 4.0]])
    assert_same_bags(as_bags(pd.DataFrame([[1, None, 3, 4]]).astype("Int64")), expected)
    assert_same_bags(as_bags([[1, None, 3, 4]]), expected)
    assert_same_bags(as_bags(np.array([[1, None, 3, 4]], dtype=object)), expected)


def test_neither_layout_nor_padding_changes_the_last_bit_of_a_long_series(tmp_path):
    X = np.random.default_rng(7).normal(1000.0, 1.0, size=(40, 3, 997))
    expected = as_bags(X)
    beside_a_longer_case = np.full((41, 3, 1500), NAN)
    beside_a_longer_case[:40, :, :997] = X
    beside_a_longer_case[40] = np.arange(1500)
    for container in (np.asfortranarray(X), X.transpose(2, 0, 1).copy().transpose(1, 2, 0), on_disk(X, tmp_path)):
        assert_same_bags(as_bags(container), expected)
    for container in (beside_a_longer_case, on_disk(beside_a_longer_case, tmp_path)):
        values = as_bags(container).batch(np.arange(41)).values
        np.testing.assert_array_equal(values[:40, :, :997], expected.batch(np.arange(40)).values)


def test_blocks_change_nothing(monkeypatch):
    X = np.random.default_rng(2).normal(size=(11, 2, 6))
    X[3, :, 4:] = NAN
    X[7, 1, 2] = NAN
    expected = as_bags(X)
    monkeypatch.setattr(bags_module, "BLOCK_VALUES", 30)
    assert_same_bags(as_bags(X), expected)


def test_input_is_never_modified():
    X = np.random.default_rng(3).normal(size=(3, 2, 8))
    X[0, :, 6:] = NAN
    X[1, 0, 3] = NAN
    for container in (X, list(X), torch.from_numpy(X), pd.DataFrame(X[:, 0])):
        before = X.copy()
        made = as_bags(container)
        made.batch([0, 1, 2]).values[:] = 7
        made.raw([0, 1, 2])[:] = 7
        made.fingerprint()
        np.testing.assert_array_equal(X, before)


def test_a_changed_batch_does_not_change_the_bags():
    for X in (np.ones((2, 1, 3)).cumsum(axis=2), [[1.0, 2.0], [1.0, 2.0, 4.0]]):
        made = as_bags(X)
        before = made.batch([0, 1]).values.copy()
        made.batch([0, 1]).values[:] = 7
        np.testing.assert_array_equal(made.batch([0, 1]).values, before)


# --- Memory maps stay on disk --------------------------------------------------------------------------------------


def test_a_memory_map_larger_than_its_batches_is_never_copied(tmp_path):
    shape = (100, 2, 125_000)  # 200 MB, without a block on disk
    mapped = np.memmap(tmp_path / "series.dat", dtype=np.float64, mode="w+", shape=shape)
    mapped[3, 0, :5] = 1.0
    for X in (mapped, mapped[::2], np.asarray(mapped), mapped[:, 0]):
        tracemalloc.start()
        made = as_bags(X)
        for first in (0, 10, 40):
            made.batch([first, first + 1])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 60e6


def test_what_was_computed_from_a_memory_map_is_prepared_once(tmp_path, monkeypatch):
    mapped = on_disk(np.random.default_rng(4).normal(size=(6, 1, 5)), tmp_path)
    in_memory = as_bags(mapped[[0, 2, 4]])
    in_memory.prepare()
    monkeypatch.setattr(bags_module, "_z_normalise", None)
    assert in_memory.batch([0, 1]).values.shape == (2, 1, 5)


# --- Values --------------------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(cases=unequal_cases(ANY_FINITE))
def test_values_agree_with_exact_arithmetic(cases):
    made = as_bags(cases)
    for position, case in enumerate(cases):
        expected = naive.prepare_case(case.tolist())
        np.testing.assert_allclose(made.batch([position]).values[0], expected, rtol=1e-6, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(cases=unequal_cases(ORDINARY))
def test_without_normalisation_values_are_only_cut_and_filled(cases):
    made = as_bags(cases, normalise=False)
    for position, case in enumerate(cases):
        expected = naive.prepare_case(case.tolist(), normalise=False)
        np.testing.assert_allclose(made.batch([position]).values[0], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "series",
    [
        [1e300, -1e300, 3e299],
        [1.7e308, -1.7e308, 0.0],
        [1e-300, 2e-300, 5e-300],
        [5e-324, 0.0, 1e-323],
        [1e8, 1e8 + 2e-8, 1e8 + 4e-8],
        [1e16, 1e16 + 2, 1e16 + 4, 1e16 + 4],
        [1e300, NAN, -1e300, 1.0],
        [1.0, 1.0, 1.0 + 2**-52],
    ],
)
def test_extreme_values_are_normalised_exactly(series):
    values = as_bags([series]).batch([0]).values[0]
    np.testing.assert_allclose(values, naive.prepare_case([series]), rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("value", [0.0, 5.0, 0.1, -1e300, 1e-310])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_constant_series_becomes_zero(value, length):
    np.testing.assert_array_equal(as_bags([[value] * length]).batch([0]).values, np.zeros((1, 1, length)))


@pytest.mark.parametrize("level", [0.0, 0.1, 1 / 3, 123.456, -1e9])
def test_the_scale_of_a_constant_channel_is_one(level):
    assert as_bags(np.full((60, 1, 100), level), normalise=False).channel_scale().deviations.tolist() == [1.0]
    barely = np.full((60, 1, 100), level)
    barely[0, 0, 0] += 1e-3 * max(1.0, abs(level))
    assert as_bags(barely, normalise=False).channel_scale().deviations[0] < 1e-2 * max(1.0, abs(level))


def test_a_channel_scale_is_of_all_observed_values_and_leaves_levels_between_cases():
    long, short = np.array([[1.0, 3.0, np.nan], [7.0, 7.0, 7.0]]), np.array([[8.0], [7.0]])
    scale = as_bags([long, short]).channel_scale()
    assert scale.means.tolist() == [4.0, 7.0]
    assert scale.deviations == pytest.approx([np.std([1.0, 3.0, 8.0]), 1.0]), "a constant channel is left as it is"
    scaled = as_bags([long, short], normalise=ChannelScale(np.array([4.0, 6.0]), np.array([2.0, 0.5])))
    assert scaled.batch([0, 1]).values.tolist() == [
        [[-1.5, -0.5, -0.5], [2.0, 2.0, 2.0]],
        [[2.0, 0.0, 0.0], [2.0, 0.0, 0.0]],
    ]


def test_channels_are_normalised_each_on_its_own():
    X = np.random.default_rng(5).normal(size=(2, 3, 10)) * [[1], [100], [1e-5]] + [[0], [1e4], [7]]
    values = as_bags(X).batch([0, 1]).values.astype(float)
    np.testing.assert_allclose(values.mean(axis=2), 0, atol=1e-6)
    np.testing.assert_allclose(values.std(axis=2, ddof=1), 1, rtol=1e-6)


# Hand-solved; without normalisation, so that the filled values can be seen.
@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ([[1.0, 2.0, NAN, NAN]], [[1.0, 2.0]]),  # trailing NaN ends the case
        ([[1.0, NAN, NAN, 4.0]], [[1.0, 2.0, 3.0, 4.0]]),  # inside: on a line
        ([[NAN, NAN, 3.0, 5.0]], [[3.0, 3.0, 3.0, 5.0]]),  # leading: the nearest
        ([[NAN, 3.0, NAN, 5.0, NAN]], [[3.0, 3.0, 4.0, 5.0]]),
        ([[1.0, 2.0, 3.0], [NAN, NAN, NAN]], [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]),  # a channel without values
        ([[1.0, 2.0, 3.0], [4.0, NAN, NAN]], [[1.0, 2.0, 3.0], [4.0, 4.0, 4.0]]),  # trailing in one of two: filled
        ([[1.0, NAN, NAN], [4.0, 5.0, NAN]], [[1.0, 1.0], [4.0, 5.0]]),  # only what all channels lack is cut
    ],
)
def test_missing_values(case, expected):
    for container in ([case], np.array([case])):
        made = as_bags(container, normalise=False)
        assert made.lengths.tolist() == [len(expected[0])]
        np.testing.assert_array_equal(made.batch([0]).values[0], expected)


def test_filled_values_do_not_count_in_the_normalisation():
    values = as_bags([[0.0, NAN, NAN, NAN, 2.0]]).batch([0]).values[0, 0]
    np.testing.assert_allclose(values, np.linspace(-1, 1, 5) / np.sqrt(2), rtol=1e-6)


def test_an_empty_channel_stays_zero_after_normalisation():
    values = as_bags([[[1.0, 2.0, 3.0], [NAN, NAN, NAN]]]).batch([0]).values[0]
    np.testing.assert_array_equal(values, [[-1, 0, 1], [0, 0, 0]])


# --- Batches -------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(cases=unequal_cases(ANY_FINITE), data=st.data())
def test_a_case_is_the_same_alone_and_in_any_batch(cases, data):
    chosen = data.draw(st.lists(st.integers(0, len(cases) - 1), min_size=1, max_size=6))
    with tempfile.TemporaryDirectory() as folder:
        for container in (cases, padded(cases), on_disk(padded(cases), folder)):
            made = as_bags(container)
            batch = made.batch(chosen)
            assert batch.values.dtype == np.float32
            assert batch.values.shape[2] == batch.lengths.max()
            for row, case in enumerate(chosen):
                alone = made.batch([case]).values[0]
                np.testing.assert_array_equal(batch.values[row, :, : batch.lengths[row]], alone)
                assert (batch.values[row, :, batch.lengths[row] :] == 0).all()


@settings(max_examples=40, deadline=None)
@given(cases=unequal_cases(ANY_FINITE))
def test_raw_gives_back_what_was_brought(cases):
    for container in (cases, padded(cases)):
        raw = as_bags(container).raw(np.arange(len(cases)))
        assert raw.dtype == np.float64
        np.testing.assert_array_equal(raw, padded(cases))


# --- Fingerprints --------------------------------------------------------------------------------------------------


def test_any_changed_value_changes_the_fingerprint():
    X = np.random.default_rng(6).normal(size=(3, 2, 4))
    seen = {as_bags(X).fingerprint()}
    for where in itertools.product(*map(range, X.shape)):
        for value in (np.nextafter(X[where], 9), NAN):
            changed = X.copy()
            changed[where] = value
            seen.add(as_bags(changed).fingerprint())
    assert len(seen) == 1 + 2 * X.size


def test_the_same_numbers_in_another_shape_or_order_have_another_fingerprint():
    X = np.arange(12.0)
    shapes = [(1, 12), (2, 6), (6, 2), (2, 2, 3), (2, 3, 2), (1, 2, 6), (3, 4)]
    prints = [as_bags(X.reshape(shape)).fingerprint() for shape in shapes]
    prints += [as_bags(X[::-1].reshape(3, 4)).fingerprint(), as_bags([[0.0, 1.0], [2.0]]).fingerprint()]
    prints += [as_bags([[0.0], [1.0, 2.0]]).fingerprint()]
    assert len(set(prints)) == len(prints)


def test_bit_patterns_that_mean_the_same_have_one_fingerprint():
    other_nan = np.array([0xFFF8000000000001], dtype=np.uint64).view(np.float64)[0]
    one, other = as_bags([[0.0, NAN, 1.0]]), as_bags([[-0.0, other_nan, 1.0]])
    assert one.fingerprint() == other.fingerprint()


def test_normalisation_does_not_change_the_fingerprint():
    assert as_bags([[1.0, 2.0]]).fingerprint() == as_bags([[1.0, 2.0]], normalise=False).fingerprint()


# --- Refused series (shapes and types: test_containers.py) ---------------------------------------------------------


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
@pytest.mark.parametrize("container", [np.asarray, list, lambda X: X.astype(np.float16), torch.tensor, pd.DataFrame])
def test_infinity_is_refused_with_its_case(infinity, container):
    X = np.ones((5, 4))
    X[2, 1] = infinity
    X[1, 3] = NAN
    with pytest.raises(SeriesError, match=r"contains infinity \(case 2\).*Replace it by NaN"):
        as_bags(container(X))


@pytest.mark.parametrize("container", [np.asarray, list])
def test_a_case_without_a_value_is_refused_with_its_number(container, monkeypatch):
    monkeypatch.setattr(bags_module, "BLOCK_VALUES", 8)
    X = np.ones((5, 2, 4))
    X[3] = NAN
    with pytest.raises(SeriesError, match=r"Case 3 has no observed value: all are NaN\. Leave it out"):
        as_bags(container(X))


@pytest.mark.parametrize("too_large", [[1e300, 1.0, 2.0], [1e300, NAN, -1e300], [-1e300, 1.0]])
def test_values_too_large_for_float32_are_refused_where_they_are_not_normalised(too_large):
    with pytest.raises(SeriesError, match=r"fit a 32-bit float .* got 1e\+300\. .*normalise=True"):
        as_bags([too_large, [1.0, 2.0, 3.0]], normalise=False).prepare()


# --- Labels --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        (["b", "a", "b"], ["a", "b"], [1, 0, 1]),
        (("b", "a", "b"), ["a", "b"], [1, 0, 1]),
        (np.array(["b", "a", "b"], dtype=object), ["a", "b"], [1, 0, 1]),
        (pd.Series(["b", "a", "b"]), ["a", "b"], [1, 0, 1]),
        (pd.Series(["b", "a", "b"], dtype="string"), ["a", "b"], [1, 0, 1]),
        (pd.Categorical(["b", "a", "b"], categories=["b", "c", "a"]), ["a", "b"], [1, 0, 1]),
        (["nan", "None", "1"], ["1", "None", "nan"], [2, 1, 0]),
        ([700, -3, 10], [-3, 10, 700], [2, 0, 1]),
        (np.array([2, 0, 2], dtype=np.uint8), [0, 2], [1, 0, 1]),
        (np.array([2, 0, 2], dtype=object), [0, 2], [1, 0, 1]),
        (pd.Series([2, 0, 2], dtype="Int64"), [0, 2], [1, 0, 1]),
        (pd.Series([2, 0, 2], dtype="category"), [0, 2], [1, 0, 1]),
        (torch.tensor([2, 0, 2]), [0, 2], [1, 0, 1]),
        ([2.0, -1.0, 2.0], [-1.0, 2.0], [1, 0, 1]),
        ([True, False, True], [False, True], [1, 0, 1]),
        (pd.Series([True, False, True], dtype="boolean"), [False, True], [1, 0, 1]),
    ],
)
def test_labels_become_sorted_classes_and_codes(y, classes, codes):
    found, encoded = encode_labels(y, 3)
    assert found.tolist() == classes
    assert [type(label) for label in found.tolist()] == [type(label) for label in classes]
    assert found.dtype != object
    assert encoded.dtype == np.int64
    assert encoded.tolist() == codes


@given(y=st.lists(st.one_of(st.integers(-5, 5)), min_size=2, max_size=30).filter(lambda y: len(set(y)) > 1))
@settings(max_examples=40, deadline=None)
def test_codes_lead_back_to_the_labels(y):
    for labels in (y, [str(label) for label in y], np.array(y, dtype=float)):
        classes, codes = encode_labels(labels, len(y))
        assert classes[codes].tolist() == list(labels)


@pytest.mark.parametrize("y", [[[1], [2], [1]], np.array([["a"], ["b"], ["a"]]), pd.DataFrame({"y": [1, 2, 1]})])
def test_a_column_of_labels_is_taken_with_a_warning(y):
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert encode_labels(y, 3)[1].tolist() == [0, 1, 0]


REFUSED_LABELS = [
    (None, "requires y to be passed, but the target y is None. Pass one"),
    ([1.0, NAN, 2.0], "missing label .* at position 1; every case needs one"),
    (["a", NAN, "b"], "at position 1"),
    (["a", "b", None], "at position 2"),
    ([None, 1, 2], "at position 0"),
    (np.array(["a", None, "b"], dtype=object), "at position 1"),
    (pd.Series(["a", None, "b"]), "at position 1"),
    (pd.Series(["a", None, "b"], dtype="string"), "at position 1"),
    (pd.Series([1, None, 2], dtype="Int64"), "at position 1"),
    (pd.Categorical(["a", None, "b"]), "at position 1"),
    (np.array(["2020", "2021", "NaT"], dtype="datetime64[Y]"), "at position 2"),
    (["a", "b"], "3 series, but 2 labels. Pass one label a case"),
    ([], "3 series, but 0 labels"),
    (["a", "a", "a"], "only one class, 'a'; .*at least two"),
    ([4, 4, 4], "only one class, 4;"),
    ([0.5, 1.7, 2.1], "Unknown label type: continuous"),
    ([1.0, np.inf, 2.0], "infinity"),
    ([[1, 0], [0, 1], [1, 1]], r"one label a case.*\(3, 2\)"),
    ([(1, 2), (1, 3), (1, 2)], r"one label a case.*\(3, 2\)"),
    ([[1], [1, 2], [3]], "one label a case"),
    (np.array([1, "a", 2], dtype=object), "all numbers or all strings: 1 are strings and 2 are not"),
    ([1, "a", 2], "1 are strings and 2 are not"),
    ([1, "1", 2], "1 are strings and 2 are not"),
    ([True, "a", False], "1 are strings and 2 are not"),
    ([b"a", b"b", b"a"], r"Unknown label type: .*got \|S1"),
    (np.array(["2020", "2021", "2022"], dtype="datetime64[Y]"), "Unknown label type: .*datetime64"),
    ([1j, 2, 3], "Unknown label type: .*complex"),
    ([{}, {}, {}], "Unknown label type"),
    (5, "one label a case"),
    ("abc", "one label a case"),
    ({"a": 1}, "one label a case"),
    ({1, 2, 3}, "one label a case"),
]


@pytest.mark.parametrize(("y", "message"), REFUSED_LABELS, ids=lambda value: repr(value)[:40])
def test_labels_that_say_nothing_certain_are_refused(y, message):
    with pytest.raises(LabelError, match=message):
        encode_labels(y, 3)

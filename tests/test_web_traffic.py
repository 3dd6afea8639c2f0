"""WebTraffic: the published dataset to the last digit, any other size by the same rules, and the injected truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import RandomState

import naive
from millet.datasets.web_traffic import CLASS_NAMES, load_web_traffic, make_web_traffic
from millet.errors import ParameterError, UnknownNameError

WINDOWED = range(2, 10)


@pytest.fixture(scope="module")
def published():
    train, test = load_web_traffic()
    return {"train": train, "test": test}


# --- The published dataset -----------------------------------------------------------------------------------------

# split, case, daily amplitude, first location, amount, timepoint, value there
GOLDEN = [
    ("train", 0, 2.3083256847593447, None, None, 500, 3.2463825456610182),
    ("train", 49, 2.7740644894020248, None, None, 500, 2.547309994856637),
    ("train", 50, 2.9855450746076735, (13, 14), None, 13, 6.612939061505511),
    ("train", 99, 2.660268490009844, (38, 39), None, 38, 5.562289082277898),
    ("train", 100, 3.7880414740452935, (455, 707), None, 581, 2.985137707121926),
    ("train", 150, 3.9439309600298884, (702, 915), 0.2203409162890978, 808, 9.511226405697387),
    ("train", 200, 2.7130404944805004, (792, 909), 0.5998905302013523, 850, 5.648002856554671),
    ("train", 250, 3.223769402412351, (299, 378), 0.18466842376941642, 338, 0.054760838658649696),
    ("train", 300, 2.211370389395268, (646, 805), 9.0, 725, 5.09418893997572),
    ("train", 350, 3.657594905244352, (385, 428), -2.1118210607686874, 406, 1.7614247984785056),
    ("train", 400, 2.94152862330783, (769, 805), 2.1341093785513556, 787, 11.001611972582735),
    ("train", 499, 3.942189701886605, (214, 349), -1.5894787048695775, 281, 0.9721256976822705),
    ("test", 0, 3.1842132037160593, None, None, 500, 3.8057438134746335),
    ("test", 99, 3.184600693886756, (71, 72), None, 71, 0.33170625432678813),
    ("test", 250, 3.0410905772198924, (171, 255), 0.0365468345471275, 213, 0.0),
    ("test", 350, 2.8562876446688685, (21, 83), 2.5375659532978894, 52, 3.6514973645326836),
    ("test", 450, 3.964889059641318, (567, 787), -1.5389759167235466, 677, 2.4021411118959444),
    ("test", 499, 3.510309151347216, (338, 605), -2.4883974154812987, 471, 0.003981942551854814),
]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: f"{golden[0]} {golden[1]}")
def test_the_default_is_the_published_dataset(published, golden):
    split, case, amplitude, location, amount, timepoint, value = golden
    data = published[split]
    # Drawn numbers agree to the last digit; sines may differ in the last bits from one platform to another.
    assert data.seasons[case].daily_amplitude == amplitude
    assert (data.signatures[case].locations or (None,))[0] == location
    assert data.signatures[case].amount == (pytest.approx(np.nan, nan_ok=True) if amount is None else amount)
    np.testing.assert_allclose(data.X[case, 0, timepoint], value, rtol=1e-12)


def test_the_second_parameters_of_the_stream_are_the_published_ones(published):
    assert published["train"].seasons[0].bias == 4.350124241288512
    assert published["test"].seasons[0].bias == 4.896089700512202
    assert published["train"].seasons[1] == (
        3.3087352719956993, 2.614708171430649, 0.009265795266172938,
        2.251024240936882, 0.26277783901124174, 0.9046030277205953,
    )  # fmt: skip


def test_whole_splits_have_the_published_sums(published):
    for split, total, n_relevant in (("train", 1870111.979931334, 116255), ("test", 1843017.61344211, 114378)):
        np.testing.assert_allclose(published[split].X.sum(), total, rtol=1e-12)
        assert published[split].relevant.sum() == n_relevant


def test_each_published_split_has_fifty_cases_of_each_class_in_order(published):
    for split, data in published.items():
        assert data.X.shape == (500, 1, 1008)
        np.testing.assert_array_equal(data.y, np.repeat(np.arange(10), 50))
        assert data.class_names == CLASS_NAMES
        assert data.split == split


def test_train_and_test_come_from_one_stream(published):
    rng = RandomState(12)
    first, second = make_web_traffic(random_state=rng), make_web_traffic(random_state=rng)
    np.testing.assert_array_equal(first.X, published["train"].X)
    np.testing.assert_array_equal(second.X, published["test"].X)
    np.testing.assert_array_equal(make_web_traffic().X, published["train"].X)


def test_loading_leaves_the_global_stream_alone(published):
    np.random.seed(3)  # noqa: NPY002
    wanted = np.random.rand()  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    make_web_traffic(1, n_timepoints=10)
    assert np.random.rand() == wanted  # noqa: NPY002


# --- Any other size, by the same rules -----------------------------------------------------------------------------


def assert_agrees_with_the_oracle(seed, codes, n_cases, n_timepoints, interval):
    data = make_web_traffic(
        n_cases, classes=codes, n_timepoints=n_timepoints, sampling_interval=interval, random_state=seed
    )
    expected = naive.web_traffic(RandomState(seed), codes, n_cases, n_timepoints, interval)
    for case, (series, base, relevant) in enumerate(expected):
        np.testing.assert_allclose(data.X[case, 0], series, rtol=0, atol=1e-9)
        np.testing.assert_allclose(data.base[case, 0], base, rtol=0, atol=1e-9)
        assert np.flatnonzero(data.relevant[case]).tolist() == relevant


@pytest.mark.parametrize("seed", [12, 0])
def test_all_classes_agree_with_draws_made_one_at_a_time(seed):
    assert_agrees_with_the_oracle(seed, list(range(10)), 2, 1008, 10)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    codes=st.sets(st.integers(0, 9), min_size=1, max_size=3).map(sorted),
    n_cases=st.integers(1, 2),
    n_timepoints=st.integers(2, 60),
    interval=st.one_of(st.sampled_from([10, 60, 1440, 0.5]), st.floats(0.1, 20_000)),
)
def test_any_size_agrees_with_draws_made_one_at_a_time(seed, codes, n_cases, n_timepoints, interval):
    assert_agrees_with_the_oracle(seed, codes, n_cases, n_timepoints, interval)


@pytest.mark.parametrize(("interval", "n_timepoints"), [(10, 1008), (5, 2016), (60, 168), (1440, 7), (1e6, 2)])
def test_a_series_lasts_one_week_unless_told(interval, n_timepoints):
    assert make_web_traffic(1, sampling_interval=interval).X.shape == (10, 1, n_timepoints)


def test_windows_keep_their_duration_at_another_sampling_interval():
    hourly = make_web_traffic(40, classes=WINDOWED, sampling_interval=60)
    lengths = hourly.relevant.sum(axis=1)
    assert (lengths.min(), lengths.max()) == (6, 48)


def test_seasons_keep_their_duration_at_another_sampling_interval():
    fine, coarse = (make_web_traffic(1, classes=[0], sampling_interval=interval) for interval in (1, 10))
    days = np.linspace(0.0, 7.0, 15)
    for name in ("daily_rate", "weekly_rate"):
        values = [
            np.interp(days, np.linspace(0, 7, data.X.shape[2]), getattr(data, name)[0]) for data in (fine, coarse)
        ]
        np.testing.assert_allclose(*values, atol=0.01)


@pytest.mark.parametrize("classes", [[8, 0], ["Peak", "None"], ["8", 0], (np.int64(0), 8, 8), {0, 8}])
def test_a_subset_of_classes_by_number_or_name_comes_in_order(classes):
    data = make_web_traffic(3, classes=classes, n_timepoints=50)
    np.testing.assert_array_equal(data.classes, [0, 8])
    np.testing.assert_array_equal(data.y, [0, 0, 0, 8, 8, 8])
    assert data.class_names == ("None", "Peak")


@pytest.mark.parametrize("classes", ["Trough", 9, np.int8(9), ["Trough"]])
def test_one_class_may_be_named_without_a_list(classes):
    assert make_web_traffic(1, classes=classes, n_timepoints=5).classes.tolist() == [9]


# --- The injected truth --------------------------------------------------------------------------------------------


def test_a_case_differs_from_its_base_only_where_it_is_marked(published):
    for data in published.values():
        signed = data.y != 0
        outside = ~data.relevant[signed]
        # Before injection a value may lie below 0; afterwards it is clipped, marked or not.
        clipped = np.maximum(data.base[signed, 0], 0)
        np.testing.assert_array_equal(data.X[signed, 0][outside], clipped[outside])


def test_class_none_is_its_base_and_marked_everywhere(published):
    none = published["train"].y == 0
    np.testing.assert_array_equal(published["train"].X[none], np.maximum(published["train"].base[none], 0))
    assert published["train"].relevant[none].all()


def test_marks_are_exactly_the_locations(published):
    for data in published.values():
        for case in np.flatnonzero(data.y != 0):
            marked = {t for start, stop in data.signatures[case].locations for t in range(start, stop)}
            assert set(np.flatnonzero(data.relevant[case]).tolist()) == marked
            assert data.signatures[case].name == CLASS_NAMES[data.y[case]].lower()


def test_windows_last_from_six_hours_to_two_days(published):
    lengths = published["train"].relevant[published["train"].y >= 2].sum(axis=1)
    assert lengths.min() >= 36
    assert lengths.max() <= 288


def test_nothing_is_negative_and_the_base_is_sample_times_rate(published):
    data = published["train"]
    assert data.X.min() >= 0
    np.testing.assert_array_equal(data.base[:, 0], data.daily_sample * data.weekly_rate)


# --- Bad arguments -------------------------------------------------------------------------------------------------

BAD_ARGUMENTS = [
    ({"n_cases_per_class": 0}, "n_cases_per_class must be an integer of at least 1; got 0"),
    ({"n_cases_per_class": -5}, "got -5"),
    ({"n_cases_per_class": 2.5}, "got 2.5"),
    ({"n_cases_per_class": "ten"}, "got 'ten'"),
    ({"n_timepoints": 1}, "n_timepoints must be an integer of at least 2; got 1"),
    ({"n_timepoints": -1008}, "got -1008"),
    ({"sampling_interval": 0}, "sampling_interval must be a number above 0; got 0"),
    ({"sampling_interval": -10}, "got -10"),
    ({"sampling_interval": float("nan")}, "got nan"),
    ({"sampling_interval": float("inf")}, "got inf"),
    ({"sampling_interval": "10"}, "got '10'"),
    ({"sampling_interval": None}, "got None"),
    ({"classes": []}, "classes must name at least one"),
    ({"random_state": -1}, "random_state must be an integer from 0 to 4294967295 .* got -1"),
    ({"random_state": "twelve"}, "got 'twelve'"),
    ({"random_state": 1.5}, r"got 1\.5"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_ARGUMENTS, ids=lambda value: str(value))
def test_a_senseless_argument_is_refused_in_words(arguments, message):
    with pytest.raises(ParameterError, match=message):
        make_web_traffic(**arguments)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["Peek"], "Unknown WebTraffic class 'Peek'; .*Did you mean 'Peak'?"),
        (["trough"], "Did you mean 'Trough'?"),
        ([10], "Unknown WebTraffic class '10'; known: 0, 1, .*Wander"),
        ([-1], "'-1'"),
        ([1.5], "'1.5'"),
        (2.5, "'2.5'"),
    ],
)
def test_an_unknown_class_is_refused_with_the_known_ones(classes, message):
    with pytest.raises(UnknownNameError, match=message):
        make_web_traffic(classes=classes)

"""Claims about `Explanation`: its arithmetic, its slices, its intervals and its files."""

from __future__ import annotations

import contextlib
import copy
import csv
import json
import math
import pickle
from typing import Any

import hypothesis.extra.numpy as numpy_strategies
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millet.errors import LabelError, ParameterError, SeriesError, StorageError, UnknownNameError
from millet.explanation import Explanation, Interval, format_intervals
from millet.explanation.intervals import find_spans, strongest_timepoints

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FINITE = st.floats(-1e6, 1e6, allow_nan=False)
LABELS = st.one_of(
    st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=4, unique=True),
    st.lists(st.text(st.characters(exclude_characters="\0"), max_size=6), min_size=1, max_size=4, unique=True),
    st.lists(FINITE, min_size=1, max_size=4, unique=True),
    st.just([False, True]),
    st.just(np.array([1, "one", 2.5], dtype=object)),
)


def make(evidence: Any, /, **changes: Any) -> Explanation:
    """Explain cases of one channel, whose contributions are the scores."""
    scores = np.asarray(evidence, dtype=float)
    n_cases, n_classes, n_timepoints = scores.shape
    keywords: dict[str, Any] = {
        "series": np.arange(n_cases * n_timepoints, dtype=float).reshape(n_cases, 1, n_timepoints),
        "lengths": np.full(n_cases, n_timepoints),
        "scores": scores,
        "logits": scores.mean(axis=2),
        "classes": np.arange(n_classes),
        "contributions": scores,
        "bias": np.zeros(n_classes),
        "method": "toy",
    }
    return Explanation(**{**keywords, **changes})


@st.composite
def explanations(draw: st.DrawFn) -> Explanation:
    """Draw explanations of unequal cases, with and without each optional part."""
    n_cases = draw(st.integers(0, 3))
    classes = draw(LABELS)
    n_channels, n_timepoints, n_classes = draw(st.integers(1, 2)), draw(st.integers(1, 5)), len(classes)
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    lengths = draw(numpy_strategies.arrays(np.int64, n_cases, elements=st.integers(1, n_timepoints)))
    width = 32 if dtype == np.float32 else 64
    values = st.floats(allow_nan=False, allow_infinity=False, width=width)

    def evidence(*shape: int) -> np.ndarray:
        array = draw(numpy_strategies.arrays(dtype, shape, elements=values))
        for case, length in enumerate(lengths):
            array[case, ..., length:] = 0
        return array

    series = draw(
        numpy_strategies.arrays(dtype, (n_cases, n_channels, n_timepoints), elements=values | st.just(np.nan))
    )
    for case, length in enumerate(lengths):
        series[case, :, length:] = np.nan
    time = draw(st.sampled_from(["default", "float", "date", "week"]))
    moments = {
        "default": np.empty(0),
        "float": np.arange(n_timepoints) / 3,
        "date": np.datetime64("2024-02-28T23:59:59.123456789") + np.arange(n_timepoints) * np.timedelta64(7, "m"),
        "week": np.arange(n_timepoints).astype("datetime64[W]"),
    }

    def keywords() -> dict[str, Any]:
        additive = draw(st.booleans())
        contributions = evidence(n_cases, n_classes, n_timepoints) if additive else None
        split = None
        if additive and draw(st.booleans()):  # all of it made by the last channel
            split = np.zeros((n_cases, n_classes, n_channels, n_timepoints), dtype=dtype)
            split[:, :, -1] = contributions
        return {
            "scores": evidence(n_cases, n_classes, n_timepoints),
            "logits": draw(numpy_strategies.arrays(dtype, (n_cases, n_classes), elements=values)),
            "attention": evidence(n_cases, n_timepoints) if draw(st.booleans()) else None,
            "contributions": contributions,
            "channel_contributions": split,
            "bias": draw(numpy_strategies.arrays(dtype, n_classes, elements=values)) if additive else None,
            "method": draw(st.text(max_size=5)),
        }

    numbers = draw(numpy_strategies.arrays(np.int64, n_cases)) if draw(st.booleans()) else np.arange(n_cases)
    channels = draw(st.just([]) | st.lists(st.text(), min_size=n_channels, max_size=n_channels, unique=True))
    shared = {
        "series": series, "lengths": lengths, "cases": numbers, "classes": classes, "time": moments[time],
        "channel_names": channels,
    }  # fmt: skip
    members = [Explanation(**shared, **keywords()) for _ in range(draw(st.integers(0, 2)))]
    return Explanation(**shared, **keywords(), members=tuple(members))


# What it says


def test_probabilities_are_the_softmax_even_of_huge_logits():
    e = make(np.zeros((1, 3, 2)), logits=[[1e4, 1e4, -1e4]])
    np.testing.assert_allclose(e.probabilities, [[0.5, 0.5, 0.0]])


def test_the_predicted_label_is_that_of_the_largest_logit():
    e = make(np.zeros((2, 2, 2)), logits=[[0, 1], [5, 1]], classes=["a", "b"])
    assert e.predicted.tolist() == ["b", "a"]
    assert e.predicted_codes.tolist() == [1, 0]


def test_contributions_of_a_shorter_case_average_over_its_own_timepoints():
    contributions = [[[1.0, 3.0, 0.0]], [[1.0, 2.0, 6.0]]]
    series = [[[1.0, 1.0, np.nan]], [[1.0, 1.0, 1.0]]]
    e = make(contributions, series=series, lengths=[2, 3], bias=[0.5], logits=[[2.5], [4.0]])
    np.testing.assert_allclose(e.rebuilt_logits(), [[2.5], [3.5]])
    np.testing.assert_allclose(e.completeness_error(), [0.0, 0.5])


def test_completeness_without_contributions_is_refused_with_the_reason():
    e = make(np.zeros((1, 2, 3)), contributions=None, bias=None)
    with pytest.raises(ParameterError, match="attention pooling"):
        e.completeness_error()


def test_spread_is_the_standard_deviation_of_the_members():
    members = tuple(make(np.full((1, 2, 3), value)) for value in (1.0, 3.0))
    np.testing.assert_allclose(make(np.full((1, 2, 3), 2.0), members=members).spread, 1.0)


def test_spread_without_members_is_refused():
    with pytest.raises(ParameterError, match="members"):
        _ = make(np.zeros((1, 2, 3))).spread


def test_repr_is_short_and_counts():
    e = make(np.zeros((1, 2, 3)), members=(make(np.ones((1, 2, 3))),))
    assert repr(e) == "Explanation(1 case, 1 channel, 3 timepoints, 2 classes, 1 member, method='toy')"


# What it refuses


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"series": np.zeros((2, 3))}, ParameterError, "series must have shape"),
        ({"series": np.full((1, 1, 3), np.inf)}, SeriesError, "infinite"),
        ({"series": np.zeros((1, 0, 3))}, SeriesError, "at least one channel"),
        ({"series": [[["a", "b", "c"]]]}, ParameterError, "array of numbers"),
        ({"lengths": [4]}, ParameterError, "between 1 and n_timepoints = 3"),
        ({"lengths": [0]}, ParameterError, "between 1"),
        ({"lengths": [1.5]}, ParameterError, "integers"),
        ({"lengths": [2]}, SeriesError, "NaN beyond"),
        ({"lengths": [2], "series": [[[1.0, 1.0, np.nan]]]}, ParameterError, "exactly 0 beyond"),
        ({"scores": np.full((1, 2, 3), np.nan)}, ParameterError, "scores must be finite; 6 of 6"),
        ({"scores": np.zeros((1, 3, 3))}, ParameterError, r"scores must have shape \(1, 2, 3\)"),
        ({"logits": [[np.inf, 0.0]]}, ParameterError, "logits must be finite"),
        ({"classes": [1, 1]}, LabelError, "distinct"),
        ({"classes": [1, 2, 3]}, LabelError, "one label for each of the 2"),
        ({"classes": [1.0, np.nan]}, LabelError, "NaN"),
        ({"classes": np.array([None, "a"], dtype=object)}, LabelError, "numbers, booleans or strings"),
        ({"class_names": ("a",)}, LabelError, "2 strings"),
        ({"class_names": ("a", "a")}, LabelError, "distinct"),
        ({"channel_names": "x"}, ParameterError, "channel_names must be 1 names"),
        ({"channel_names": ["x", "y"]}, ParameterError, "channel_names must be 1 different names"),
        ({"series": np.zeros((1, 2, 3)), "channel_names": ["x", "x"]}, ParameterError, "2 different names"),
        ({"attention": np.ones((1, 2))}, ParameterError, "attention must have shape"),
        ({"bias": None}, ParameterError, "belong together"),
        ({"channel_contributions": np.ones((1, 2, 3))}, ParameterError, r"must have shape \(1, 2, 1, 3\)"),
        ({"channel_contributions": np.zeros((1, 2, 1, 3))}, ParameterError, "must add up to contributions.* 1 apart"),
        (
            {"channel_contributions": np.ones((1, 2, 1, 3)), "contributions": None, "bias": None},
            ParameterError,
            "give these as well",
        ),
        ({"cases": [1, 2]}, ParameterError, "cases must be 1 integers, the number of each case"),
        ({"cases": [1.5]}, ParameterError, "cases must be 1 integers"),
        ({"time": [0, 2, 1]}, ParameterError, "increase"),
        ({"time": ["a", "b", "c"]}, ParameterError, "datetime64"),
        ({"time": np.array(["2020", "NaT", "2021"], "M8[D]")}, ParameterError, "increase"),
        ({"members": (3,)}, ParameterError, "must be Explanations"),
        ({"method": None}, ParameterError, "method"),
    ],
)
def test_what_contradicts_itself_is_refused(changes, error, words):
    with pytest.raises(error, match=words):
        make(np.ones((1, 2, 3)), **changes)


def test_members_must_explain_the_same_cases():
    other = make(np.ones((1, 2, 3)), series=np.ones((1, 1, 3)))
    with pytest.raises(ParameterError, match="their series differ"):
        make(np.ones((1, 2, 3)), members=(other,))


def test_arrays_are_read_only_and_not_the_callers():
    scores = np.ones((1, 2, 3))
    e = make(scores)
    scores[:] = 7
    assert e.scores.max() == 1
    with pytest.raises(ValueError, match="read-only"):
        e.scores[0, 0, 0] = 2
    with pytest.raises(ValueError, match="read-only"):
        e[0].series[0, 0, 0] = 2


# Slices and batches


def test_every_way_to_choose_cases_agrees_with_numpy():
    e = make(np.arange(24.0).reshape(4, 2, 3), attention=np.arange(12.0).reshape(4, 3))
    for key in (slice(1, 3), slice(None, None, -2), [3, 0], [-1], np.array([1, 1]), [True, False, True, False], []):
        rows = np.arange(4)[np.array(key, dtype=int) if isinstance(key, list) and key == [] else key]
        np.testing.assert_array_equal(e[key].scores, e.scores[rows])
        np.testing.assert_array_equal(e[key].attention, e.attention[rows])
        np.testing.assert_array_equal(e[key].series, e.series[rows])
    assert e[-1] == e[3] == e[np.int64(3)] == e[[3]]
    assert e[-1] != e[0]


def test_slices_keep_the_numbers_of_their_cases():
    e = make(np.ones((9, 2, 3)), members=(make(np.zeros((9, 2, 3))),))
    assert e.cases.tolist() == list(range(9))
    assert e[[3, 7]].cases.tolist() == e[[3, 7]].members[0].cases.tolist() == [3, 7]
    assert e[4:][1].cases.tolist() == [5]
    assert [one.cases.tolist() for one in e[[8, 2]]] == [[8], [2]]
    assert e[[]].cases.tolist() == []
    assert e[[3]] != e[[7]], "the same numbers, of another case"


def test_joined_cases_keep_their_numbers_unless_all_batches_count_from_0():
    e = make(np.ones((9, 2, 3)))
    assert Explanation.concatenate([e[[7]], e[[3, 7]]]).cases.tolist() == [7, 3, 7]
    assert Explanation.concatenate([e[:2], e[2:4]]).cases.tolist() == [0, 1, 2, 3]
    assert Explanation.concatenate([make(np.ones((2, 2, 3))), e[:1], e[:2]]).cases.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("key", [4, -5, [0, 9], [True, False], True])
def test_cases_that_are_not_there_are_an_index_error(key):
    with pytest.raises(IndexError):
        make(np.ones((4, 2, 3)))[key]


@pytest.mark.parametrize("key", ["a", 1.0, [[0]], None])
def test_a_key_of_another_kind_is_a_type_error(key):
    with pytest.raises(TypeError, match="Cases are chosen by"):
        make(np.ones((4, 2, 3)))[key]


@given(explanations())
@QUICK
def test_iterating_and_joining_gives_the_whole_again(e):
    assert [len(one) for one in e] == [1] * len(e)
    if len(e):
        assert Explanation.concatenate(list(e)) == e


def test_joining_pads_the_narrower_with_nan_and_zero():
    narrow, wide = make(np.ones((1, 2, 2))), make(np.ones((1, 2, 4)))
    joined = Explanation.concatenate([narrow, wide])
    assert joined.lengths.tolist() == [2, 4]
    assert np.isnan(joined.series[0, 0, 2:]).all()
    assert joined.scores[0, :, 2:].tolist() == [[0, 0], [0, 0]]
    np.testing.assert_array_equal(joined.time, wide.time)
    np.testing.assert_allclose(joined.completeness_error(), 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"classes": [5, 6]},
        {"method": "x"},
        {"bias": [1, 1]},
        {"attention": np.ones((1, 3))},
        {"time": [5, 6, 7]},
        {"channel_contributions": np.ones((1, 2, 1, 3))},
    ],
)
def test_explanations_by_different_models_are_not_joined(changes):
    with pytest.raises(ParameterError, match=f"differ in .*{next(iter(changes))}"):
        Explanation.concatenate([make(np.ones((1, 2, 3))), make(np.ones((1, 2, 3)), **changes)])


def test_joining_nothing_is_refused():
    with pytest.raises(ParameterError, match="at least one"):
        Explanation.concatenate([])


def test_explanations_are_equal_only_to_their_like():
    e = make(np.ones((1, 2, 3)))
    assert e == make(np.ones((1, 2, 3)))
    assert e != make(np.zeros((1, 2, 3)))
    assert e != "explanation"
    with pytest.raises(TypeError):
        hash(e)


# Targets


def test_a_target_is_a_label_or_else_a_class_name():
    e = make(np.ones((2, 2, 3)), classes=[10, 20], class_names=("low", "20 high"))
    assert e.class_codes(20).tolist() == [1, 1]
    assert e.class_codes("low").tolist() == [0, 0]
    assert e.class_codes([20, 10]).tolist() == [1, 0]
    assert e.class_codes(np.array([10, 20])).tolist() == [0, 1]


def test_an_unknown_target_names_the_nearest_class():
    e = make(np.ones((1, 2, 3)), classes=["spike", "calm"])
    with pytest.raises(LabelError, match="Did you mean 'spike'"):
        e.class_codes("spkie")
    with pytest.raises(LabelError, match="one for each of the 1 cases; got 2"):
        e.class_codes(["spike", "calm"])


# Intervals


def test_intervals_of_a_case_solved_by_hand():
    # Support 1 + 4 + 3 + 2 = 10; the fewest points with 80 % of it are 4, 3, 2 = 9.
    evidence = [1.0, 0.0, 4.0, 3.0, -5.0, 2.0]
    e = make([[np.zeros(6), evidence]], time=np.arange(6) * 10)
    assert e.top_intervals(target=1, coverage=0.8) == [
        Interval(0, "1", 2, 4, 20, 30, 0.7, 3.5, "support"),
        Interval(0, "1", 5, 6, 50, 50, 0.2, 2.0, "support"),
    ]
    bridged = e.top_intervals(target=1, coverage=0.8, max_gap=1)
    assert bridged == [Interval(0, "1", 2, 6, 20, 50, pytest.approx(0.9), 1.0, "support")]
    assert e.top_intervals(target=1, kind="refute") == [Interval(0, "1", 4, 5, 40, 40, 1.0, -5.0, "refute")]


def test_only_the_largest_n_intervals_of_each_case_are_given():
    e = make([[[1.0, 0, 2.0, 0, 3.0]], [[9.0, 0, 0, 0, 0]]])
    assert [(i.case, i.start) for i in e.top_intervals(1, coverage=1)] == [(0, 4), (1, 0)]
    assert [(i.case, i.start) for i in e.top_intervals(None, coverage=1)] == [(0, 4), (0, 2), (0, 0), (1, 0)]


def test_intervals_of_a_slice_name_the_cases_that_were_chosen():
    e = make(np.arange(24.0).reshape(8, 1, 3))
    assert [interval.case for interval in e[[7, 3]].top_intervals(1)] == [7, 3]
    assert format_intervals(e[7].top_intervals(1)).splitlines()[1].split()[0] == "7"


def test_of_equal_evidence_the_earlier_is_taken():
    assert strongest_timepoints(np.ones(4), coverage=0.5).tolist() == [True, True, False, False]


def test_intervals_prefer_contributions_and_fall_back_to_scores():
    scores, contributions = [[[0.0, 1.0]]], [[[1.0, 0.0]]]
    assert make(scores, contributions=contributions).top_intervals()[0].start == 0
    assert make(scores, contributions=None, bias=None).top_intervals()[0].start == 1


def test_a_case_without_such_evidence_has_no_interval():
    e = make([[[0.0, -1.0]], [[0.0, 1.0]]])
    assert [i.case for i in e.top_intervals()] == [1]
    assert format_intervals(e[0].top_intervals()) == "No intervals: there is no evidence of this kind."


EVIDENCE = numpy_strategies.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e9, 1e9))


@given(EVIDENCE, st.sampled_from(["support", "refute"]), st.floats(0.01, 1), st.integers(0, 3))
@QUICK
def test_spans_are_the_chosen_timepoints_and_nothing_but_gaps(evidence, kind, coverage, max_gap):
    strength = np.maximum(evidence if kind == "support" else -evidence, 0)
    spans = find_spans(evidence, kind, coverage, max_gap)
    covered = np.zeros(len(evidence), dtype=bool)
    for span in spans:
        assert not covered[span.start : span.stop].any()
        covered[span.start : span.stop] = True
    shares = [span.share for span in spans]
    assert shares == sorted(shares, reverse=True)
    total = math.fsum(strength)
    if total == 0:
        assert spans == []
        return
    assert sum(shares) >= coverage - 1e-9
    if coverage == 1:
        assert sum(shares) == pytest.approx(1)
    if max_gap == 0:
        # The slow oracle: take the largest until there is enough.
        order = sorted(range(len(strength)), key=lambda t: (-strength[t], t))
        fewest = next(
            k for k in range(len(order) + 1) if math.fsum(strength[order[:k]]) >= coverage * total * (1 - 1e-9)
        )
        assert fewest <= covered.sum() <= (fewest + 1 if coverage < 1 else (strength > 0).sum())
        assert strength[covered].min() >= strength[~covered].max(initial=0)


@given(EVIDENCE)
@QUICK
def test_shares_of_all_intervals_at_full_coverage_sum_to_one(evidence):
    shares = [interval.share for interval in make(evidence[None, None]).top_intervals(None, coverage=1)]
    assert sum(shares) == pytest.approx(1 if (evidence > 0).any() else 0)


@pytest.mark.parametrize("wrong", [{"n": 0}, {"coverage": 0}, {"coverage": 1.1}, {"max_gap": -1}])
def test_a_request_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        make(np.ones((1, 1, 2))).top_intervals(**wrong)


def test_an_unknown_kind_of_evidence_is_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'support'"):
        make(np.ones((1, 1, 2))).top_intervals(kind="suport")


def test_intervals_become_a_data_frame_as_they_are():
    pandas = pytest.importorskip("pandas")
    time = np.datetime64("2024-01-01", "ns") + np.arange(3) * np.timedelta64(1, "D")
    table = pandas.DataFrame(make(np.ones((2, 1, 3)), time=time).top_intervals(coverage=1))
    assert table.columns.tolist() == list(Interval._fields)
    assert table["end_time"].tolist() == [pandas.Timestamp("2024-01-03")] * 2


def test_the_text_table_is_aligned_whatever_the_names():
    rows = [
        Interval(0, "a\nb", 0, 5, 0, 4, 0.5, 1.25, "support"),
        Interval(11, "longer name", 3, 4, 3.5, 3.5, 1.0, -0.5, "refute"),
    ]
    heading, first, second = format_intervals(rows).split("\n")
    assert heading.index("kind") == first.index("support") == second.index("refute")
    assert len(heading) == len(first) == len(second)
    assert "a\\nb" in first
    heading, wide, narrow = format_intervals([rows[0]._replace(class_name="水泵"), rows[1]]).split("\n")
    assert len(wide) + 2 == len(narrow) == len(heading), "each of the two characters is two columns wide"


# Files


@given(explanations())
@QUICK
def test_json_gives_back_what_it_was_given(e):
    text = e.to_json()
    json.loads(text, parse_constant=pytest.fail)
    back = Explanation.from_json(text)
    assert back == e
    assert back.scores.dtype == e.scores.dtype
    assert back.time.dtype == e.time.dtype
    assert list(map(type, back.classes.tolist())) == list(map(type, e.classes.tolist()))


@given(explanations())
@QUICK
def test_npz_gives_back_what_it_was_given(tmp_path, e):
    e.save(tmp_path / "e.npz")
    assert Explanation.load(tmp_path / "e.npz") == e


def test_csv_has_a_row_for_every_timepoint_of_a_cases_own_length(tmp_path):
    scores = np.array([[[0.1, 0.0]], [[0.2, 1 / 3]]])
    e = make(
        scores,
        series=[[[5.0, np.nan]], [[np.nan, 7.0]]],
        lengths=[1, 2],
        attention=[[0.5, 0.0], [0.25, 1.0]],
        class_names=('say "hi", please',),
        time=[10, 20],
    )
    e.save(tmp_path / "e.csv")
    with (tmp_path / "e.csv").open(newline="", encoding="utf-8") as file:
        heading, *rows = csv.reader(file)
    name = 'say "hi", please'
    assert heading == ["case", "timepoint", "time", "channel_0", "attention", f"score_{name}", f"contribution_{name}"]
    assert rows == [
        ["0", "0", "10", "5.0", "0.5", "0.1", "0.1"],
        ["1", "0", "10", "", "0.25", "0.2", "0.2"],
        ["1", "1", "20", "7.0", "1.0", repr(1 / 3), repr(1 / 3)],
    ]


@pytest.mark.parametrize("suffix", ["json", "npz", "csv"])
def test_a_saved_slice_tells_which_cases_it_holds(tmp_path, suffix):
    path = tmp_path / f"e.{suffix}"
    chosen = make(np.arange(24.0).reshape(8, 1, 3))[[7, 3]]
    chosen.save(path)
    if suffix == "csv":
        with path.open(newline="", encoding="utf-8") as file:
            assert [row["case"] for row in csv.DictReader(file)] == ["7"] * 3 + ["3"] * 3
        return
    assert Explanation.load(path).cases.tolist() == [7, 3]
    if suffix == "json":
        assert json.loads(path.read_text())["cases"] == [7, 3]


def test_csv_has_a_column_for_every_channel_of_every_class(tmp_path):
    split = np.arange(8.0).reshape(1, 2, 2, 2)
    names = ("speed", "force")
    e = make(split.sum(axis=2), series=np.zeros((1, 2, 2)), channel_contributions=split, channel_names=names)
    e.save(tmp_path / "e.csv")
    heading, *rows = (tmp_path / "e.csv").read_text().splitlines()
    columns = [f"contribution_{label}_channel_{channel}" for label in (0, 1) for channel in names]
    assert heading.split(",")[3:5] == ["channel_speed", "channel_force"]
    assert heading.split(",")[-4:] == columns
    assert [[float(cell) for cell in row.split(",")[-4:]] for row in rows] == split.reshape(4, 2).T.tolist()


def test_documents_without_channels_or_case_numbers_are_those_of_earlier_versions():
    e = make(np.ones((2, 2, 3)))
    document = json.loads(e.to_json())
    del document["channel_contributions"], document["channel_names"], document["cases"]
    assert Explanation.from_json(json.dumps(document)) == e


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_a_saved_file_loads_and_the_suffix_may_be_in_capitals(tmp_path, suffix):
    e = make(np.ones((2, 2, 3)), members=(make(np.zeros((2, 2, 3))),))
    e.save(tmp_path / f"E.{suffix.upper()}")
    assert Explanation.load(tmp_path / f"E.{suffix.upper()}") == e
    assert [path.name for path in tmp_path.iterdir()] == [f"E.{suffix.upper()}"]


def test_an_unknown_suffix_is_refused_and_nothing_written(tmp_path):
    with pytest.raises(UnknownNameError, match=r"known: \.csv, \.json, \.npz"):
        make(np.ones((1, 1, 2))).save(tmp_path / "e.pickle")
    with pytest.raises(UnknownNameError, match=r"known: \.json, \.npz"):
        Explanation.load(tmp_path / "e.csv")
    assert not list(tmp_path.iterdir())


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "e.npz"
    e = make(np.ones((1, 1, 2)))
    e.save(path)

    def full(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="disk full"):
        make(np.zeros((1, 1, 2))).save(path)
    assert Explanation.load(path) == e
    assert list(tmp_path.iterdir()) == [path]


def edited(**changes: Any) -> str:
    return json.dumps({**json.loads(make(np.ones((1, 2, 3))).to_json()), **changes})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"format": NaN}', "NaN is not JSON"),
        ("[1, 2]", "not written by"),
        ('{"format": "other"}', "not written by"),
        (edited(version=2), "version 2.*upgrade"),
        (edited(version="1"), "version must be 1"),
        (edited(scores=None), "contradicts itself: scores"),
        (edited(series={"dtype": "object", "values": []}), "'object' is missing, or stands for nothing"),
        (edited(series={"dtype": "float64", "values": [[[1, 2], [3]]]}), "inhomogeneous"),
        (edited(logits={"dtype": "float64", "values": [[1.0]]}), r"logits must have shape \(1, 2\)"),
        (edited(logits={"dtype": "float64", "values": [[None, 1.0]]}), "logits must be finite"),
        (edited(lengths=[1.5]), "lengths must be 1 integers"),
        (edited(cases=[1, 2]), "cases must be 1 integers"),
        (edited(cases="seven"), "cases must be 1 integers"),
        (edited(time={"dtype": "U1000000000", "values": [0, 1, 2]}), "stands for nothing"),
        (edited(members=[3]), "can be read"),
        (edited(n_cases="many"), "can be read"),
    ],
)
def test_damaged_and_foreign_json_is_refused_with_the_reason(text, words):
    with pytest.raises(StorageError, match=words):
        Explanation.from_json(text)


@given(st.integers(0, 10_000))
@QUICK
def test_a_cut_json_is_refused_wherever_it_is_cut(position):
    text = make(np.ones((1, 2, 3))).to_json()
    with pytest.raises(StorageError):
        Explanation.from_json(text[: position % len(text)])


@given(st.data())
@QUICK
def test_a_damaged_npz_is_refused_or_says_the_same(tmp_path, data):
    path = tmp_path / "e.npz"
    e = make(np.ones((1, 2, 3)))
    e.save(path)
    content = bytearray(path.read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:position]
    else:
        content[position] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    with contextlib.suppress(StorageError):
        assert Explanation.load(path) == e


def test_pickles_and_other_arrays_are_not_read(tmp_path):
    path = tmp_path / "e.npz"
    with path.open("wb") as file:
        np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(StorageError, match=r"e\.npz: .*allow_pickle"):
        Explanation.load(path)
    with path.open("wb") as file:
        np.save(file, np.ones(3))
    with pytest.raises(StorageError, match="not written by"):
        Explanation.load(path)
    with path.open("wb") as file:
        np.savez(file, scores=np.ones(3))
    with pytest.raises(StorageError, match="not written by"):
        Explanation.load(path)


def test_copies_and_pickles_are_read_only_too():
    explanation = Explanation(
        series=np.zeros((1, 1, 3)),
        lengths=np.array([3]),
        scores=np.ones((1, 2, 3)),
        logits=np.zeros((1, 2)),
        classes=np.array([0, 1]),
    )
    for again in (copy.deepcopy(explanation), pickle.loads(pickle.dumps(explanation))):
        assert np.array_equal(again.scores, explanation.scores)
        with pytest.raises(ValueError, match="read-only"):
            again.scores[0, 0, 0] = 2.0

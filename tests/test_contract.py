"""Claims about what every classifier does alike: one `explain`, names of classes, and warnings about odd series."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from millet import AveragedClassifier, Dataset, MilletClassifier, RocketMilletClassifier
from millet.errors import ParameterError, SeriesError
from millet.evaluation import evaluate
from millet.metrics import perturbation_curve
from millet.posthoc import explain


def rocket(**parameters):
    return RocketMilletClassifier(**{"n_features": 84, "random_state": 0, "n_jobs": 1, "verbose": 0, **parameters})


def network(**parameters):
    return MilletClassifier("lite", **{"n_epochs": 1, "random_state": 0, "n_jobs": 1, "verbose": 0, **parameters})


KINDS = {
    "network": network,
    "random convolutions": rocket,
    "average": lambda: AveragedClassifier([rocket(), rocket(head="ridge")]),
}


@pytest.fixture(scope="module", params=KINDS)
def fitted(request, bumps):
    return KINDS[request.param]().fit(*bumps)


def test_every_classifier_explains_with_the_same_keywords(fitted, bumps):
    plain = fitted.explain(bumps[0][:3])
    found = fitted.explain(bumps[0][:3], members=True, channels=fitted.splits_channels)
    assert len(found.members) == fitted.n_members_
    np.testing.assert_array_equal(found.logits, plain.logits)
    assert (found.channel_contributions is not None) == fitted.splits_channels


def test_what_can_not_be_split_among_channels_is_refused(bumps):
    with pytest.raises(ParameterError, match="tell channels apart"):
        network().fit(*bumps).explain(bumps[0], channels=True)


def test_classes_are_called_by_the_names_that_are_given(fitted, bumps):
    found = fitted.explain(bumps[0][:2], members=True, class_names=["Bump!", "Flat!"])
    assert found.class_names == ("Bump!", "Flat!")
    assert found.predicted[0] in fitted.classes_
    assert all(member.class_names == found.class_names for member in found.members)
    some = fitted.explain(bumps[0][:2], class_names={"flat": "level"})
    assert some.class_names == ("bump", "level")
    by_name, by_label = some.top_intervals(target="level"), fitted.explain(bumps[0][:2]).top_intervals(target="flat")
    assert [interval.start for interval in by_name] == [interval.start for interval in by_label]


def test_channels_are_called_by_the_names_that_are_given(fitted, bumps):
    found = fitted.explain(bumps[0][:2], members=True, channel_names=["speed"])
    assert found.channel_names == ("speed",)
    assert all(member.channel_names == found.channel_names for member in found.members)
    assert fitted.explain(bumps[0][:2]).channel_names == ("0",)
    for names in ("speed", ["speed", "force"]):
        with pytest.raises(ParameterError, match="channel_names must be 1 "):
            fitted.explain(bumps[0][:2], channel_names=names)


@pytest.mark.parametrize("names", ["ab", ["one"], ["one", "two", "three"], {"Flat": "level"}])
def test_names_that_do_not_fit_the_classes_are_refused(bumps, names):
    with pytest.raises(ParameterError, match=r"2 names|names by label"):
        rocket().fit(*bumps).explain(bumps[0], class_names=names)


def test_swapped_time_and_channels_are_noticed(bumps):
    X, y = bumps
    swapped = np.concatenate([X, X**2], axis=1).transpose(0, 2, 1)
    with pytest.warns(UserWarning, match=r"50 channels of 2 timepoints.*transpose"):
        rocket().fit(swapped, y)
    with pytest.raises(SeriesError, match=r"single timepoint.*transpose"):
        rocket().fit(X.transpose(0, 2, 1), y)
    leads = np.random.default_rng(0).normal(size=(len(y), 500, 12))
    with pytest.warns(UserWarning, match=r"500 channels of 12 timepoints.*transpose"):
        rocket().fit(leads, y)


def test_a_placeholder_for_missing_values_is_noticed_in_training_and_later(bumps):
    X, y = bumps
    gaps = X.copy()
    gaps[2, 0, :3] = -999
    with pytest.warns(UserWarning, match="value -999 .* first in case 2"):
        rocket().fit(gaps, y)
    fitted = rocket().fit(X, y)
    with pytest.warns(UserWarning, match="value -999 .* first in case 0"):
        fitted.predict(gaps[2:])


def test_a_warning_points_at_the_line_that_asked_and_comes_once(fitted, bumps):
    gaps = bumps[0][:3].copy()
    gaps[1, 0, :3] = -999
    for ask in (fitted.predict, fitted.predict_proba, fitted.explain):
        with warnings.catch_warnings(record=True, action="default") as caught:
            ask(gaps)
        assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings(action="error"):
        perturbation_curve(fitted, gaps, np.zeros((3, gaps.shape[2])))  # the user has been told


def test_another_number_of_channels_is_refused_in_words(bumps):
    X, y = bumps
    levels = np.concatenate([X, X, X], axis=1)
    levels[y == "bump"] += 5
    scaled = rocket().fit(levels, y)
    assert not isinstance(scaled.normalisation_, bool)
    for fewer in (X, levels[0], levels[:, :2], [levels[0, :2], levels[1, :2, :9]]):
        with pytest.raises(SeriesError, match="fitted on series with 3"):
            scaled.predict(fewer)
    going_on = network(warm_start=True).fit(levels, y)
    with pytest.raises(SeriesError, match="2 channels"):
        going_on.fit(levels[:, :2], y)


def test_channels_that_are_numbered_are_told_apart(bumps):
    X, y = bumps
    frames = [pd.DataFrame(case.repeat(2, axis=0).T, columns=[101, 102]) for case in X]
    fitted = rocket().fit(frames, y)
    with pytest.raises(SeriesError, match=r"'101', '102'.*'102', '101'"):
        fitted.predict([frame[[102, 101]] for frame in frames])


def test_a_frame_of_series_has_channels_and_no_features(bumps):
    X, y = bumps
    fitted = rocket().fit(pd.DataFrame({"dim_0": list(X[:, 0])}), y)
    assert not hasattr(fitted, "feature_names_in_")
    expected = fitted.predict(X)
    np.testing.assert_array_equal(fitted.predict(pd.DataFrame(X[:, 0])), expected)
    np.testing.assert_array_equal(fitted.predict(X[:, 0]), expected)


def test_constant_series_that_normalising_erases_are_noticed(bumps):
    _, y = bumps
    levels = np.where(y == "bump", 1.0, 0.0)[:, None] * np.ones(20)
    with pytest.warns(UserWarning, match="normalise=False"):
        rocket().fit(levels, y)
    assert rocket(normalise=False).fit(levels, y).score(levels, y) == 1.0
    average = AveragedClassifier([rocket(normalise=False)]).fit(levels, y)
    assert not average.normalises_


@pytest.mark.parametrize("n_jobs", [-2, None])
def test_jobs_are_counted_as_joblib_does(bumps, n_jobs):
    one, other = (rocket(n_jobs=jobs).fit(*bumps).logits(bumps[0]) for jobs in (1, n_jobs))
    np.testing.assert_array_equal(one, other)


def test_programs_without_a_console_work(fitted, bumps, monkeypatch):
    X, y = bumps
    monkeypatch.setattr("sys.stderr", None)
    again = clone(fitted).set_params(**({"verbose": 1} if "verbose" in fitted.get_params(deep=False) else {}))
    assert len(again.fit(X, y).predict(X)) == len(y)
    assert evaluate(fitted, Dataset(X=X[:4], y=y[:4]), metrics=["aopcr"])["aopcr"] is not None
    assert len(explain("random", fitted, X[:2])) == 2


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 1")
def test_labels_may_be_strings_of_variable_width(bumps):
    X, y = bumps
    fitted = rocket().fit(X, y.astype(np.dtypes.StringDType()))
    assert fitted.classes_.tolist() == sorted(set(y.tolist()))
    assert fitted.explain(X[:2], class_names=None).classes.dtype.kind == "U"

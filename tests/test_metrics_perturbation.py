"""Perturbation curves, AOPCR, comprehensiveness, sufficiency, and the models they are asked of."""

import dataclasses

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from millet import MilletClassifier, RocketMilletClassifier
from millet.bags import as_bags
from millet.errors import LabelError, MilletError, ParameterError, UnknownNameError
from millet.metrics import (
    FRACTIONS,
    aopc,
    aopcr,
    comprehensiveness,
    faithfulness,
    gini,
    normalised_aopcr,
    perturbation_curve,
    sufficiency,
)
from millet.metrics.removal import FILLS
from naive_metrics import aopcr as slow_aopcr
from naive_metrics import erasure, most_relevant_first
from naive_metrics import perturbation_curve as slow_curve

RNG = np.random.default_rng(0)


def toy_logits(series):
    """Three classes that see the mean, the largest value, and how often neighbours differ in sign."""
    values = np.asarray(series, dtype=np.float64)
    return [values.mean(), values.max(), np.mean(np.diff(np.sign(values[0])) != 0) if values.shape[1] > 1 else 0.5]


def toy_model(X):
    return np.array([toy_logits(series) for series in X])


def unequal_cases(seed, lengths, n_channels=1):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n_channels, length)) for length in lengths]


def padded(rows, width):
    return np.array([[*row, *[0.0] * (width - len(row))] for row in rows])


@pytest.fixture(scope="module")
def classifier(bumps):
    return MilletClassifier("fcn", n_epochs=4, random_state=0, n_jobs=1, verbose=0).fit(*bumps)


lengths_lists = st.lists(st.integers(1, 45), min_size=1, max_size=5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 999), lengths_lists, st.integers(1, 2), st.integers(1, 9))
def test_aopcr_agrees_with_the_plain_loop(seed, lengths, n_channels, batch_size):
    cases = unequal_cases(seed, lengths, n_channels)
    scores = np.random.default_rng(seed).integers(0, 4, size=(len(cases), max(lengths))).astype(float)  # many ties
    targets = [int(np.argmax(toy_logits(case))) for case in cases]
    expected = slow_aopcr(toy_logits, cases, scores.tolist(), targets, random_state=seed)
    found = aopcr(toy_model, cases, scores, batch_size=batch_size, random_state=seed)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 999), lengths_lists, st.integers(0, 2))
def test_curves_agree_with_the_plain_loop_for_any_class(seed, lengths, target):
    cases = unequal_cases(seed, lengths)
    scores = padded([case[0] for case in cases], max(lengths))
    expected = [slow_curve(toy_logits, case, most_relevant_first(case[0].tolist()), target) for case in cases]
    np.testing.assert_allclose(perturbation_curve(toy_model, cases, scores, target), expected, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 999), st.lists(st.integers(1, 120), min_size=1, max_size=4), st.booleans())
def test_erasure_agrees_with_the_plain_loop(seed, lengths, keep):
    cases = unequal_cases(seed, lengths)
    scores = padded([case[0] for case in cases], max(lengths))
    metric = sufficiency if keep else comprehensiveness
    expected = [
        0.0
        if case.shape[1] == 1
        else erasure(toy_logits, case, case[0].tolist(), int(np.argmax(toy_logits(case))), keep)
        for case in cases
    ]
    np.testing.assert_allclose(metric(toy_model, cases, scores), expected, atol=1e-12)


def test_a_hand_solved_curve():
    # The logit is the sum of 20 values; each step removes the largest one.
    X = np.arange(20.0, 0.0, -1.0)[None]
    twentieths = [step / 20 for step in range(1, 11)]
    curve = perturbation_curve(lambda X: np.stack([X.sum(axis=1), X[:, 0] * 0], axis=1), X, X, fractions=twentieths)
    np.testing.assert_allclose(curve[0], -np.cumsum([0, *range(20, 10, -1)]))
    assert aopc(curve) == pytest.approx(935 / 11)
    assert aopc(curve, divisor=10) == pytest.approx(93.5)


def test_the_paper_removes_5_percent_of_a_case_at_a_time_rounded_down():
    seen = []

    def model(X):
        seen.extend(len(series) for series in X)
        return np.tile([1.0, 0.0], (len(X), 1))

    perturbation_curve(model, np.zeros((1, 97)), np.zeros((1, 97)))
    assert sorted(set(seen), reverse=True) == [97 - 97 * step // 20 for step in range(11)]
    seen.clear()
    perturbation_curve(model, np.zeros((1, 100)), np.zeros((1, 100)))
    # The released code removes int((1 - 0.55) * 100) = 44 timepoints where 45 would be 45 %.
    assert 100 - 44 in seen


def test_results_depend_neither_on_the_batch_size_nor_on_later_cases(classifier, bumps):
    X = [series[:, : 50 - 3 * (case % 4)] for case, series in enumerate(bumps[0][:6])]
    scores = classifier.explain(X).scores
    expected = faithfulness(classifier, X, scores)
    for batch_size in (1, 500):
        found = faithfulness(classifier, X, scores, batch_size=batch_size)
        np.testing.assert_allclose(found.aopcr, expected.aopcr, atol=1e-5)
    fewer = faithfulness(classifier, X[:3], scores[:3])
    np.testing.assert_allclose(fewer.aopcr, expected.aopcr[:3], atol=1e-5)
    np.testing.assert_allclose(fewer.random_curves, expected.random_curves[:, :3], atol=1e-5)
    other = faithfulness(classifier, X, scores, random_state=1)
    np.testing.assert_allclose(other.curve, expected.curve, atol=1e-5)
    assert abs(other.random_curves - expected.random_curves).max() > 1e-3


def test_a_batch_never_holds_more_series_than_asked():
    seen = []

    def model(X):
        seen.append(len(X))
        return np.tile([1.0, 0.0], (len(X), 1))

    aopcr(model, RNG.normal(size=(30, 40)), RNG.normal(size=(30, 40)), batch_size=9)
    assert max(seen) == 9
    assert sum(seen) == 30 * (1 + 4 * 10)  # the whole series is asked about once, not once an order


def test_the_classifier_removes_after_normalising_and_keeps_positions(classifier, bumps):
    import torch

    X = bumps[0][:3] * 7 + 100
    removed = np.zeros((3, 50), dtype=bool)
    removed[0, 10:20] = removed[1, ::2] = True
    found = classifier.logits(X, removed=removed)
    values = as_bags(X).batch(range(3)).values
    for case in range(3):
        kept = np.flatnonzero(~removed[case])
        with torch.inference_mode():
            output = classifier.networks_[0](
                torch.from_numpy(values[case : case + 1][:, :, kept]), positions=torch.from_numpy(kept)
            )
        np.testing.assert_allclose(found[case], output.logits[0], atol=1e-5)
    np.testing.assert_allclose(classifier.logits(X), classifier.logits(X, removed=np.zeros((3, 50), bool)), atol=1e-5)
    np.testing.assert_allclose(classifier.logits(X), classifier.explain(X).logits, atol=1e-6)


def test_curves_of_the_classifier_agree_with_removing_one_case_at_a_time(classifier, bumps):
    X = bumps[0][18:22]
    explanation = classifier.explain(X)
    curve = perturbation_curve(classifier, X, explanation.scores)
    for case, target in enumerate(explanation.predicted_codes):
        order = np.argsort(-explanation.scores[case, target], kind="stable")
        for step, fraction in enumerate((0.0, *FRACTIONS)):
            removed = np.isin(np.arange(50), order[: int(fraction * 50)])[None]
            logit = classifier.logits(X[case : case + 1], removed=removed)[0, target]
            assert curve[case, step] == pytest.approx(logit - explanation.logits[case, target], abs=1e-5)


@pytest.mark.parametrize(
    ("removed", "message"),
    [
        (np.ones((3, 50), dtype=bool), "leaves nothing of case 0"),
        (np.zeros((3, 49), dtype=bool), r"\(3, 50\)"),
        (np.zeros((2, 50), dtype=bool), r"\(3, 50\)"),
        (np.zeros((3, 50)), "bool"),
    ],
)
def test_a_bad_removal_is_refused(classifier, bumps, removed, message):
    with pytest.raises(ParameterError, match=message):
        classifier.logits(bumps[0][:3], removed=removed)


def test_good_evidence_beats_chance_and_its_opposite_loses(classifier, bumps):
    X = bumps[0][15:25]
    scores = classifier.explain(X).scores
    found = aopcr(classifier, X, scores)
    assert found.mean() > 0
    assert aopcr(classifier, X, -scores).mean() < 0
    np.testing.assert_array_equal(aopcr(classifier, X, classifier.explain(X)), found)
    with pytest.raises(ParameterError, match=r"got an Explanation.*pass e\.scores"):
        gini(classifier.explain(X))


def test_constant_scores_are_an_order_of_time():
    X = RNG.normal(size=(2, 40))
    found = perturbation_curve(toy_model_flat, X, np.ones((2, 40)))
    np.testing.assert_array_equal(found, perturbation_curve(toy_model_flat, X, -np.tile(np.arange(40), (2, 1))))


def toy_model_flat(X):
    return toy_model([series[None] for series in X])


@settings(max_examples=15, deadline=None)
@given(st.floats(0.01, 100), st.floats(-50, 50), st.integers(0, 99))
def test_normalised_aopcr_does_not_feel_the_scale_of_the_logits(factor, shift, seed):
    X = np.random.default_rng(seed).normal(size=(4, 30))
    expected = normalised_aopcr(toy_model_flat, X, X)
    scaled = normalised_aopcr(lambda X: toy_model_flat(X) * factor + shift, X, X)
    np.testing.assert_allclose(scaled, expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        aopcr(lambda X: toy_model_flat(X) * factor + shift, X, X), factor * aopcr(toy_model_flat, X, X), atol=1e-9
    )


def test_normalised_aopcr_is_the_same_of_logits_and_of_probabilities(classifier, bumps):
    class OnlyProbabilities:
        def predict_proba(self, X):
            return classifier.predict_proba(X)

    X = bumps[0][:6]
    # Filled, since a model that does not delete by itself normalises what is left anew.
    settings = {"removal": "mean", "scores": classifier.explain(X).scores, "X": X}
    found = normalised_aopcr(OnlyProbabilities(), **settings)
    np.testing.assert_allclose(found, normalised_aopcr(classifier, **settings), rtol=1e-4)


def test_a_model_without_an_opinion_has_no_normalised_aopcr():
    found = faithfulness(lambda X: np.zeros((len(X), 3)), np.ones((2, 30)), np.ones((2, 30)))
    assert np.isnan(found.normalised_aopcr).all()
    assert (found.aopcr == 0).all()


# --- Removal --------------------------------------------------------------------------------------------------------


def test_fills_of_a_case_solved_by_hand():
    series = np.array([[1.0, 9.0, 5.0, np.nan, 7.0, 8.0]])
    gone = np.array([True, True, False, True, False, True])
    mean = FILLS["mean"](series, gone, np.random.default_rng(0))
    np.testing.assert_allclose(mean, [[6, 6, 5, 6, 7, 6]])
    line = FILLS["interpolate"](series, gone, np.random.default_rng(0))
    np.testing.assert_allclose(line, [[5, 5, 5, 6, 7, 7]])


@pytest.mark.parametrize("fill", FILLS)
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 999), st.integers(2, 60), st.integers(1, 3))
def test_fills_change_what_is_gone_and_nothing_else(fill, seed, length, n_channels):
    rng = np.random.default_rng(seed)
    series = rng.normal(size=(n_channels, length))
    gone = rng.random(length) < 0.5
    gone[0] = False
    before = series.copy()
    filled = FILLS[fill](series, gone, np.random.default_rng(seed))
    np.testing.assert_array_equal(series, before)
    np.testing.assert_array_equal(filled[:, ~gone], series[:, ~gone])
    assert np.isfinite(filled).all()


def test_noise_has_the_channels_mean_and_deviation_and_grows_with_removal():
    series = RNG.normal(5, 3, size=(1, 20_000))
    everything = FILLS["noise"](series, np.ones(20_000, bool), np.random.default_rng(3))
    assert everything.mean() == pytest.approx(5, abs=0.1)
    assert everything.std() == pytest.approx(3, abs=0.1)
    half = np.arange(20_000) < 10_000
    np.testing.assert_array_equal(
        FILLS["noise"](series, half, np.random.default_rng(3))[:, half], everything[:, half]
    )


@pytest.mark.parametrize("removal", FILLS)
def test_replacement_keeps_the_length(removal):
    seen = set()

    def model(X):
        seen.update(series.shape for series in X)
        return toy_model(X)

    X = RNG.normal(size=(3, 2, 40))
    curve = perturbation_curve(model, X, X[:, 0], removal=removal)
    assert seen == {(2, 40)}
    assert np.abs(curve[:, 1:]).max() > 0


# --- Any model ------------------------------------------------------------------------------------------------------


def test_series_of_pandas_are_found_whatever_they_are_called(classifier, bumps):
    X = bumps[0][:4]
    series = pd.Series(list(X[:, 0]), index=range(100, 104))
    scores = classifier.explain(X)
    np.testing.assert_array_equal(aopcr(classifier, series, scores), aopcr(classifier, list(X[:, 0]), scores))


def test_channels_of_a_table_of_arrow_reach_the_model():
    columns = {name: [[1.0, 2.0, 3.0]] * 2 for name in ("a", "b")}
    shapes = []
    perturbation_curve(
        lambda X: shapes.extend(np.shape(case) for case in X) or np.zeros((len(X), 2)),
        pa.table(columns),
        np.zeros((2, 3)),
    )
    assert {shape[0] for shape in shapes} == {2}


def test_scikit_learn_models_are_read_by_their_log_probabilities():
    X, y = RNG.normal(size=(30, 12)), np.arange(30) % 3
    model = LogisticRegression().fit(X, y)
    curve = perturbation_curve(model, X, X, target=2, removal="mean", fractions=[0.5])
    filled = X.copy()
    for row in filled:
        row[np.argsort(-row, kind="stable")[:6]] = row.mean()
    expected = model.predict_log_proba(filled)[:, 2] - model.predict_log_proba(X)[:, 2]
    np.testing.assert_allclose(curve[:, 1], expected, atol=1e-9)


def test_a_target_is_a_label_where_the_model_or_the_explanation_knows_labels(classifier, bumps):
    X, y = RNG.normal(size=(30, 12)), np.array([3, 1, 2] * 10)
    by_number, by_word = (
        LogisticRegression().fit(X, y),
        LogisticRegression().fit(X, np.array(["x", "a", "b", "c"])[y]),
    )
    last = perturbation_curve(by_number.predict_log_proba, X, X, target=2, removal="mean")
    np.testing.assert_allclose(perturbation_curve(by_number, X, X, target=3, removal="mean"), last, atol=1e-9)
    np.testing.assert_allclose(perturbation_curve(by_word, X, X, target=["c"] * 30, removal="mean"), last, atol=1e-9)
    series = bumps[0][:4]
    named = classifier.explain(series, class_names=["up", "down"])
    by_code = perturbation_curve(classifier.logits, series, named.scores, target=1, removal="mean")
    by_name = perturbation_curve(classifier, series, named, target="down", removal="mean")
    np.testing.assert_allclose(by_name, by_code, atol=1e-5)


def test_an_explanation_of_other_cases_lengths_or_classes_is_refused(classifier, bumps):
    X = np.asarray(bumps[0])
    explanation = classifier.explain(X)
    reordered = explanation[::-1]
    assert np.isfinite(aopcr(classifier, X[::-1], reordered)).all()
    for other, message in (
        (reordered, "The explanation is of cases"),
        (classifier.explain(np.concatenate([X, X], axis=-1)), "number or lengths differ"),
        (explanation[1:], "number or lengths differ"),
        (dataclasses.replace(explanation, classes=explanation.classes[::-1]), "must have the model's classes"),
    ):
        for metric in (aopcr, perturbation_curve, comprehensiveness):
            with pytest.raises(ParameterError, match=message):
                metric(classifier, X, other)


@pytest.mark.parametrize("removal", ["mean", "interpolate", "noise"])
def test_a_classifier_fitted_on_a_data_frame_is_asked_about_replaced_values_without_a_warning(removal, bumps):
    X, y = bumps
    frame = pd.DataFrame(np.asarray(X)[:, 0], columns=[f"t{number}" for number in range(np.shape(X)[-1])])
    fitted = RocketMilletClassifier(n_features=84, random_state=0, n_jobs=1, verbose=0).fit(frame, y)
    explanation = fitted.explain(frame)
    found = perturbation_curve(fitted, frame, explanation, removal=removal)  # warnings are errors here
    np.testing.assert_array_equal(found, perturbation_curve(fitted, frame.to_numpy(), explanation, removal=removal))


def test_the_method_predict_proba_stands_for_the_classifier_in_curves_too(classifier, bumps):
    X = bumps[0][:4]
    scores = classifier.explain(X)
    by_method = perturbation_curve(classifier.predict_proba, X, scores)
    np.testing.assert_array_equal(by_method, perturbation_curve(classifier, X, scores))


def test_decision_functions_are_read_and_two_classes_share_one_number():
    X, y = RNG.normal(size=(30, 12)), np.arange(30) % 2
    model = LinearSVC().fit(X, y)
    curve = [perturbation_curve(model, X, X, target=k, removal="mean", fractions=[0.5])[:, 1] for k in (0, 1)]
    np.testing.assert_allclose(curve[0], -curve[1])
    assert perturbation_curve(LinearSVC().fit(X, np.arange(30) % 3), X, X, removal="mean").shape == (30, 11)


def test_probabilities_of_zero_are_finite():
    X = RNG.normal(size=(6, 12))
    model = DummyClassifier().fit(X, [0, 0, 0, 0, 0, 1])
    assert np.isfinite(perturbation_curve(model, X, X)).all()


@pytest.mark.parametrize("kind", ["array2", "array3", "list1", "list2", "padded"])
def test_the_model_is_given_what_the_user_has(kind):
    values = RNG.normal(size=(4, 1, 30))
    values[1, :, 25:] = np.nan
    X = {
        "array2": np.nan_to_num(values[:, 0]), "array3": np.nan_to_num(values),
        "list1": [case[0][~np.isnan(case[0])] for case in values],
        "list2": [case[:, ~np.isnan(case[0])] for case in values],
        "padded": values,
    }[kind]  # fmt: skip
    seen = []

    def model(given):
        seen.append(given)
        return np.array([[np.nanmean(series), 0.0] for series in given])

    perturbation_curve(model, X, np.nan_to_num(values[:, 0]))
    assert {type(given) for given in seen} == {list if kind.startswith("list") else np.ndarray}
    assert {np.ndim(given[0]) for given in seen} == {1 if kind in ("array2", "list1") else 2}
    if kind == "padded":
        assert {given.shape[2] for given in seen[:1]} == {30}
        assert not any(np.isnan(given).any() for given in seen[1:])


def test_a_data_frame_is_a_table_to_the_model():
    X = RNG.normal(size=(3, 20))
    np.testing.assert_array_equal(
        perturbation_curve(toy_model_flat, pd.DataFrame(X), X), perturbation_curve(toy_model_flat, X, X)
    )


class Overconfident:
    def predict_proba(self, X):
        return np.full((len(X), 2), 1.5)


class Failing:
    def predict_proba(self, X):
        raise RuntimeError("no such luck")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda X: np.zeros(len(X)), r"must return \(n_cases, n_classes\) numbers, .* got shape \(3,\)"),
        (lambda X: np.zeros((len(X) + 1, 2)), r"got shape \(4, 2\)"),
        (lambda X: np.zeros((len(X), 1)), r"got shape \(3, 1\)"),
        (lambda X: [["a", "b"]] * len(X), "must return numbers"),
        (lambda X: np.full((len(X), 2), np.nan), "finite numbers; got .nan, nan. for series 0"),
        (lambda X: np.zeros((len(X), 2 if X.shape[1] == 20 else 3)), "same number of classes"),
        (Failing(), "Failing.predict_proba failed on .*RuntimeError: no such luck"),
        (Overconfident(), "ValueError: probabilities must lie between 0 and 1; got 1.5 to 1.5"),
        ("a model", "must be a fitted MilletClassifier.*got str"),
        (LogisticRegression(), "not fitted yet"),
    ],
)  # fmt: skip
def test_a_model_that_fails_is_named(model, message):
    with pytest.raises(MilletError, match=message):
        perturbation_curve(model, np.ones((3, 20)), np.ones((3, 20)))


def test_a_model_that_needs_one_length_gets_advice():
    X = RNG.normal(size=(6, 12))
    model = LogisticRegression().fit(X, [0, 1] * 3)
    with pytest.raises(ParameterError, match=r"features.*removal='mean', 'interpolate' or 'noise'"):
        perturbation_curve(model, X, X)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"scores": np.full((3, 20), np.nan)}, ParameterError, "scores must be finite; 60 of 60"),
        ({"scores": np.ones((3, 19))}, ParameterError, r"\(3, 20\).*got shape \(3, 19\)"),
        ({"scores": np.ones((2, 20))}, ParameterError, r"got shape \(2, 20\)"),
        ({"scores": np.ones((3, 5, 20))}, ParameterError, r"\(3, 3, 20\)"),
        ({"scores": 1.0}, ParameterError, r"got shape \(\)"),
        ({"scores": "abc"}, ParameterError, "array of numbers"),
        ({"target": 3}, LabelError, "No class 3; the classes are 0, 1, 2"),
        ({"target": [0, 1]}, LabelError, "each of the 3 cases"),
        ({"target": ["a", "b", "c"]}, LabelError, "No class 'a'"),
        ({"fractions": [0.5, 1.0]}, ParameterError, "above 0 and below 1"),
        ({"fractions": []}, ParameterError, "above 0 and below 1"),
        ({"fractions": [0.2, 0.1]}, ParameterError, "increase"),
        ({"removal": "meen"}, UnknownNameError, "Did you mean 'mean'"),
        ({"batch_size": 0}, ParameterError, "batch_size"),
        ({"random_state": None}, ParameterError, "random_state"),
    ],
)
def test_bad_input_is_refused_in_words(changes, error, message):
    arguments = {"model": toy_model_flat, "X": np.ones((3, 20)), "scores": np.ones((3, 20)), **changes}
    with pytest.raises(error, match=message):
        perturbation_curve(**arguments)


def test_bad_curves_are_refused():
    with pytest.raises(ParameterError, match="curve must be"):
        aopc([1.0])
    with pytest.raises(ParameterError, match="divisor"):
        aopc([[0.0, 1.0]], divisor=0)
    assert len(FRACTIONS) == 10

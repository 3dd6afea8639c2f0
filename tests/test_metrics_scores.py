"""Metrics of the scores themselves: localisation, sparsity, agreement, randomisation, intervals."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap
from sklearn.metrics import balanced_accuracy_score, ndcg_score, roc_auc_score

import naive_metrics as naive
from millet import Explanation, MilletClassifier
from millet.errors import MilletError, ParameterError
from millet.metrics import (
    agreement,
    aup,
    auprc,
    aur,
    bootstrap_interval,
    entropy,
    gini,
    ndcg_at_n,
    randomisation_check,
    rank_correlation,
    top_overlap,
)
from millet.metrics.prediction import auroc, balanced_accuracy

LOCALISATION = [ndcg_at_n, aup, aur, auprc]
few_scores = st.lists(st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0]), min_size=1, max_size=12)


@st.composite
def scores_and_relevance(draw):
    scores = draw(few_scores)
    relevant = draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    return scores, relevant


# --- Localisation


@settings(max_examples=150, deadline=None)
@given(scores_and_relevance())
def test_ndcg_agrees_with_the_textbook_loop(case):
    scores, relevant = case
    found = ndcg_at_n([scores], [relevant])[0]
    assert found == pytest.approx(naive.ndcg_at_n(scores, relevant), nan_ok=True)


def test_ndcg_agrees_with_scikit_learn_where_there_are_no_ties():
    rng = np.random.default_rng(0)
    scores, relevant = rng.normal(size=(20, 50)), rng.random((20, 50)) < 0.2
    for case in range(20):
        expected = ndcg_score(relevant[[case]], scores[[case]], k=int(relevant[case].sum()))
        assert ndcg_at_n(scores[[case]], relevant[[case]])[0] == pytest.approx(expected)


def test_ndcg_solved_by_hand():
    # Two are relevant, and take places 1 and 3 of 4: (1 / log2(2)) / (1 / log2(2) + 1 / log2(3)).
    found = ndcg_at_n([[9, 8, 7, 6]], [[True, False, True, False]])
    assert found[0] == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_ties_rank_by_time():
    assert ndcg_at_n([[0, 0, 0]], [[True, False, False]])[0] == 1
    assert ndcg_at_n([[0, 0, 0]], [[False, False, True]])[0] == 0


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.integers(0, 999))
def test_all_relevant_is_exactly_one_and_so_is_the_perfect_order(n_timepoints, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(1, n_timepoints))
    assert ndcg_at_n(scores, np.ones((1, n_timepoints), dtype=bool))[0] == 1.0
    relevant = rng.random((1, n_timepoints)) < 0.3
    relevant[0, 0] = True
    assert ndcg_at_n(scores + 100 * relevant, relevant)[0] == 1.0


@settings(max_examples=60, deadline=None)
@given(scores_and_relevance())
def test_precision_and_recall_areas_agree_with_many_thresholds(case):
    scores, relevant = case
    found = aup([scores], [relevant])[0], aur([scores], [relevant])[0]
    if not any(relevant) or len(set(scores)) == 1:
        assert np.isnan(found).all()
    else:
        assert found == pytest.approx(naive.areas_by_threshold(scores, relevant), abs=1e-3)


@settings(max_examples=60, deadline=None)
@given(scores_and_relevance())
def test_auprc_agrees_with_the_step_function(case):
    scores, relevant = case
    expected = naive.average_precision(scores, relevant) if any(relevant) else math.nan
    assert auprc([scores], [relevant])[0] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("metric", LOCALISATION)
def test_beyond_its_end_a_case_has_no_timepoints(metric):
    rng = np.random.default_rng(1)
    scores, relevant = rng.normal(size=(2, 20)), rng.random((2, 20)) < 0.5
    relevant[:, 0] = True
    alone = metric(scores[:1, :8], relevant[:1, :8])
    assert metric(scores, relevant, lengths=[8, 20])[0] == alone[0]
    relevant[0, :8] = False
    assert np.isnan(metric(scores, relevant, lengths=[8, 20])[0])


@pytest.mark.parametrize("metric", LOCALISATION)
def test_scores_that_point_at_the_right_place_are_best(metric):
    relevant = np.array([[False, True, True, False, False]])
    assert metric(relevant.astype(float), relevant)[0] == 1
    assert metric(1 - relevant, relevant)[0] < 0.5


def test_the_range_of_huge_scores_is_finite():
    assert aup([[1e308, -1e308]], [[True, False]])[0] == 1
    assert gini([[1e308, 1e308]])[0] == 0


@pytest.mark.parametrize(
    ("scores", "relevant", "lengths", "message"),
    [
        ([[1.0, np.nan]], [[True, False]], None, "scores must be finite; 1 of 2 .* the first at .0, 1."),
        ([[1.0, 2.0]], [[True]], None, r"\(1, 2\); got \(1, 1\)"),
        ([[1.0, 2.0]], [[2, 0]], None, "True and False"),
        ([1.0, 2.0], [True, False], None, "one class; got shape"),
        (np.ones((0, 5)), np.ones((0, 5), bool), None, "got shape"),
        ([["a", "b"]], [[True, False]], None, "array of numbers"),
        ([[1.0, 2.0]], [[True, False]], [3], "from 1 to n_timepoints = 2"),
        ([[1.0, 2.0]], [[True, False]], [0], "from 1 to n_timepoints = 2"),
        ([[1.0, 2.0]], [[True, False]], [1.5], "integers"),
    ],
)
def test_bad_input_is_refused_in_words(scores, relevant, lengths, message):
    with pytest.raises(ParameterError, match=message):
        ndcg_at_n(scores, relevant, lengths=lengths)


# --- Sparsity


@settings(max_examples=100, deadline=None)
@given(few_scores)
def test_sparsity_agrees_with_the_loops(scores):
    assert gini([scores])[0] == pytest.approx(naive.gini(scores), nan_ok=True, abs=1e-12)
    assert entropy([scores])[0] == pytest.approx(naive.entropy(scores), nan_ok=True, abs=1e-12)


def test_sparsity_of_one_timepoint_and_of_all():
    one = np.zeros((1, 1000))
    one[0, 3] = -2
    assert gini(one)[0] == pytest.approx(0.999)
    assert entropy(one)[0] == 0
    assert gini(np.ones((1, 1000)))[0] == pytest.approx(0, abs=1e-12)
    assert entropy(np.ones((1, 1000)))[0] == pytest.approx(1)
    assert gini(np.ones((1, 1000)) * [[1] * 10 + [5] * 990], lengths=[10])[0] == pytest.approx(0, abs=1e-12)


# --- Agreement


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.integers(0, 9999), st.sampled_from([10, 30, 50]))
def test_agreement_agrees_with_the_loops(length, seed, percent):
    one, other = np.random.default_rng(seed).integers(0, 5, size=(2, 1, length)).astype(float)
    expected = naive.spearman(one[0].tolist(), other[0].tolist())
    assert rank_correlation(one, other)[0] == pytest.approx(expected, nan_ok=True)
    expected = naive.top_overlap(one[0].tolist(), other[0].tolist(), percent)
    assert top_overlap(one, other, fraction=percent / 100)[0] == pytest.approx(expected, nan_ok=True)


def explanation_of(scores, **changes):
    scores = np.asarray(scores, dtype=float)
    shape = (len(scores), 1, scores.shape[2])
    fields = {"lengths": np.full(len(scores), shape[2]), "classes": np.arange(scores.shape[1]), **changes}
    return Explanation(series=np.zeros(shape), scores=scores, logits=scores.mean(axis=2), **fields)


def test_members_and_seeds_are_compared_on_one_class():
    rng = np.random.default_rng(0)
    members = tuple(explanation_of(rng.normal(size=(4, 2, 30))) for _ in range(3))
    ensemble = explanation_of(np.mean([member.scores for member in members], axis=0), members=members)
    codes = ensemble.predicted_codes
    expected = agreement([member.scores[np.arange(4), codes] for member in members])
    np.testing.assert_array_equal(agreement(ensemble).rank_correlation, expected.rank_correlation)
    np.testing.assert_array_equal(agreement(ensemble).top_overlap, expected.top_overlap)
    np.testing.assert_array_equal(
        agreement(members, target=1).rank_correlation, agreement([m.scores[:, 1] for m in members]).rank_correlation
    )
    assert agreement([members[0], members[0]]).rank_correlation == pytest.approx(1)


def test_explanations_in_another_order_are_refused_and_the_same_cases_under_other_numbers_are_not():
    scores = np.random.default_rng(0).normal(size=(4, 2, 30))
    whole = dataclasses.replace(explanation_of(scores), series=np.arange(120.0).reshape(4, 1, 30))
    with pytest.raises(ParameterError, match="same cases, in the same order"):
        agreement([whole, whole[[1, 0, 2, 3]]])
    chosen = dataclasses.replace(explanation_of(scores[2:]), series=whole.series[2:])
    assert agreement([chosen, whole[2:]]).rank_correlation == pytest.approx(1)


def test_what_can_not_be_compared_is_refused():
    one = explanation_of(np.ones((2, 2, 5)))
    with pytest.raises(ParameterError, match="at least two"):
        agreement(one)
    with pytest.raises(ParameterError, match="same cases, in the same order"):
        agreement([one, explanation_of(np.ones((3, 2, 5)))])
    with pytest.raises(ParameterError, match="mixture"):
        agreement([one, np.ones((2, 5))])
    with pytest.raises(ParameterError, match="one shape"):
        rank_correlation(np.ones((2, 5)), np.ones((2, 6)))
    with pytest.raises(ParameterError, match="fraction"):
        top_overlap(np.ones((2, 5)), np.ones((2, 5)), fraction=1.5)


# --- Randomisation


@pytest.fixture(scope="module")
def classifier(bumps):
    return MilletClassifier("fcn", n_epochs=6, n_estimators=2, random_state=0, n_jobs=1, verbose=0).fit(*bumps)


def test_evidence_changes_when_the_weights_are_scrambled_and_the_model_does_not(classifier, bumps):
    X = bumps[0][15:25]
    before = classifier.explain(X)
    check = randomisation_check(classifier, X)
    assert np.nanmean(check.everything.rank_correlation) < 0.5
    assert np.nanmean(check.everything.absolute_rank_correlation) < 0.9
    assert (check.pooling.top_overlap <= 1).all()
    np.testing.assert_array_equal(classifier.explain(X).scores, before.scores)
    again = randomisation_check(classifier, X)
    np.testing.assert_array_equal(again.everything.rank_correlation, check.everything.rank_correlation)
    other = randomisation_check(classifier, X, random_state=1)
    assert not np.array_equal(other.everything.rank_correlation, check.everything.rank_correlation)


def test_an_explanation_of_the_series_alone_is_found_out(bumps):
    class EdgeDetector:
        """Shows where the series jumps, whatever its weights are."""

        networks_ = MilletClassifier("fcn", n_epochs=1, random_state=0, n_jobs=1, verbose=0).fit(*bumps).networks_

        def explain(self, X):
            jumps = np.abs(np.diff(X, axis=2, prepend=0))
            return explanation_of(np.concatenate([jumps, jumps], axis=1))

    check = randomisation_check(EdgeDetector(), bumps[0][:4])
    for stage in check:
        assert stage.rank_correlation == pytest.approx(1)
        assert stage.top_overlap == pytest.approx(1)


def test_only_a_fitted_classifier_can_be_scrambled():
    with pytest.raises(ParameterError, match="fitted MilletClassifier"):
        randomisation_check(lambda X: X, np.ones((2, 5)))


# --- Intervals


def test_the_interval_agrees_with_scipys():
    values = np.random.default_rng(0).gamma(2.0, size=80)
    expected = bootstrap((values,), np.mean, method="percentile", n_resamples=4000, rng=np.random.default_rng(0))
    found = bootstrap_interval(values, n_resamples=4000)
    assert found == pytest.approx(tuple(expected.confidence_interval), abs=0.02)


def test_the_interval_holds_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(1)
    held = 0
    for seed in range(200):
        low, high = bootstrap_interval(rng.normal(size=50), confidence=0.9, n_resamples=300, random_state=seed)
        held += low <= 0 <= high
    assert 0.8 < held / 200 < 0.96


def test_blocks_do_not_change_an_interval(monkeypatch):
    values = np.arange(30.0)
    expected = bootstrap_interval(values, np.median)
    monkeypatch.setattr("millet.metrics.bootstrap.BLOCK_VALUES", 90)
    assert bootstrap_interval(values, np.median) == expected


def test_of_one_value_the_interval_is_that_value():
    assert bootstrap_interval([3.0]) == (3.0, 3.0)


@pytest.mark.parametrize(
    ("values", "settings", "message"),
    [
        ([1.0, np.nan], {}, "values must be finite"),
        ([], {}, "at least one case"),
        ([[1.0]], {}, "one number a case"),
        ([1.0], {"confidence": 1.0}, "confidence"),
        ([1.0], {"n_resamples": 0}, "n_resamples"),
        ([1.0], {"random_state": -1}, "random_state"),
    ],
)
def test_bad_values_are_refused(values, settings, message):
    with pytest.raises(MilletError, match=message):
        bootstrap_interval(values, **settings)


# --- Predictions


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 4), st.integers(2, 25), st.integers(0, 999))
def test_auroc_agrees_with_counting_pairs_in_every_resample(n_classes, n_cases, seed):
    rng = np.random.default_rng(seed)
    probabilities = rng.integers(1, 4, size=(n_cases, n_classes)).astype(float)  # many ties
    codes = rng.integers(0, n_classes, size=n_cases)
    drawn = rng.integers(0, n_cases, size=(3, n_cases))
    counts = np.stack([np.bincount(cases, minlength=n_cases) for cases in drawn])
    found = auroc(probabilities, codes, counts)
    for cases, value in zip(drawn, found, strict=True):
        expected = naive.auroc(probabilities[cases].tolist(), codes[cases].tolist())
        assert value == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_predictions_are_scored_as_scikit_learn_does(n_classes):
    rng = np.random.default_rng(n_classes)
    codes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, size=60)])
    logits = rng.normal(size=(len(codes), n_classes)) + np.eye(n_classes)[codes]
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    once = np.ones((1, len(codes)), dtype=np.int64)
    scores = probabilities[:, 1] if n_classes == 2 else probabilities
    expected = roc_auc_score(codes, scores, multi_class="ovo", average="weighted")
    assert auroc(probabilities, codes, once)[0] == pytest.approx(expected)
    correct = (logits.argmax(axis=1) == codes).astype(float)
    expected = balanced_accuracy_score(codes, logits.argmax(axis=1))
    assert balanced_accuracy(correct, codes, once)[0] == pytest.approx(expected)

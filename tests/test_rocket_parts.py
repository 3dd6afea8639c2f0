"""Parts of the ROCKET family against hand-solved toys and textbook formulas."""

import time

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.linear_model import RidgeClassifierCV

from millet.rocket.four import longest_stretch, sum_positive
from millet.rocket.heads import STIFFNESS, calibration, calibration_scale, fit_head
from millet.rocket.plan import HEAVY_TAPS, choose_channels, respond
from millet.rocket.ridge import PENALTIES, fit_ridge
from millet.rocket.scaling import LIMIT, scale_features, weighted_sum
from millet.rocket.series import represent
from millet.rocket.spreading import SPREADS, from_difference, lay
from millet.rocket.threads import for_each_block, n_threads

ONLY_CHANNEL = np.zeros(1, dtype=np.int32)


def test_a_kernel_answers_an_impulse_with_its_own_weights_reversed():
    impulse = np.zeros((1, 9), dtype=np.float32)
    impulse[0, 4] = 1.0
    answer = respond(impulse, ONLY_CHANNEL, 1, np.array([0, 1, 2], dtype=np.int32))
    np.testing.assert_array_equal(answer, [-1, -1, -1, -1, -1, -1, 2, 2, 2])


@pytest.mark.parametrize("level", [0.1, 1 / 3, 1e-20, 12345.678])
def test_every_kernel_answers_a_constant_with_exactly_zero(level):
    constant = represent(np.full((1, 40), level, dtype=np.float32), 40, False)
    for heavy in HEAVY_TAPS:
        assert (respond(constant, ONLY_CHANNEL, 2, heavy)[8:32] == 0).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(-30, 30))
def test_the_grid_moves_values_by_less_than_a_millionth_of_the_largest(seed, exponent):
    values = (np.random.default_rng(seed).normal(size=(1, 30)) * 2.0**exponent).astype(np.float32)
    assert np.abs(represent(values, 30, False) - values).max() <= 1e-6 * np.abs(values).max()


def test_workers_share_the_processors():
    shares = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(n_threads)(-1) for _ in range(2))
    assert shares == [max(1, joblib.cpu_count() // 2)] * 2 or shares == [1, 1]
    assert n_threads(-1) == joblib.cpu_count()


def test_an_error_in_one_block_ends_the_others():
    done = []

    def work(first, stop):
        time.sleep(0.01)
        done.append(first)
        if first == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        for_each_block(work, n_cases=200, block=1, threads=2)
    assert len(done) < 100


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0, 2.0]), min_size=1, max_size=30))
def test_pools_are_those_of_a_plain_loop(values):
    response = np.array(values, dtype=np.float32)
    positive = [t for t, value in enumerate(values) if value > 0.5]
    assert sum_positive(response, 0.5) == (
        len(positive),
        sum(values[t] for t in positive),
        sum(positive) + len(positive),
    )
    windows = [(start, stop) for start in range(len(values)) for stop in range(start + 1, len(values) + 1)]
    full = [(start, stop) for start, stop in windows if all(value > 0.5 for value in values[start:stop])]
    first, length = longest_stretch(response, 0.5)
    assert length == max((stop - start for start, stop in full), default=0)
    if length:
        assert first == next(start for start, stop in full if stop - start == length)


def test_a_share_is_laid_on_the_taps_that_lie_inside():
    series = np.array([[1.0, 0.0, 4.0, 0.0]], dtype=np.float32)
    sizes = np.array([1, 1, 1, 1, 2, 1, 1, 1, 1], dtype=np.float32)
    shares = np.array([[6.0], [0.0], [0.0], [0.0]])
    wanted = {"anchor": [6, 0, 0, 0], "taps": [3, 0, 3, 0], "weighted": [2, 0, 4, 0]}
    for spread, how in SPREADS.items():
        laid = np.zeros((1, 4, 1))
        lay(shares, series, ONLY_CHANNEL, sizes, 2, how, laid)
        np.testing.assert_array_equal(laid[0, :, 0], wanted[spread], err_msg=spread)


def test_a_weighted_share_falls_back_to_even_parts_where_all_is_zero():
    laid = np.zeros((1, 3, 1))
    lay(
        np.array([[0.0], [3.0], [0.0]]),
        np.zeros((1, 3), np.float32),
        ONLY_CHANNEL,
        np.ones(9, np.float32),
        1,
        2,
        laid,
    )
    np.testing.assert_allclose(laid[0, :, 0], [1, 1, 1])


def test_a_share_of_a_difference_belongs_to_both_of_its_points():
    np.testing.assert_array_equal(from_difference(np.array([[[2.0], [4.0]]]), 3)[0, :, 0], [1, 3, 2])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 12), st.integers(1, 20), st.integers(1, 3))
def test_left_out_predictions_are_those_of_fits_without_the_case(seed, n_cases, n_features, n_targets):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_cases, n_features)).astype(np.float32)
    if seed % 2:
        features[1] = features[0]  # twins: an eigenvalue of 0 besides that of the intercept
    features -= features.mean(axis=0)
    targets = rng.normal(size=(n_cases, n_targets))
    ridge = fit_ridge(features, targets, np.array([0.7]))
    whole = SklearnRidge(alpha=0.7).fit(features.astype(np.float64), targets)
    np.testing.assert_allclose(ridge.coefficients.T, whole.coef_.reshape(n_targets, -1), rtol=1e-4, atol=1e-5)
    for case in range(n_cases):
        others = np.arange(n_cases) != case
        alone = SklearnRidge(alpha=0.7).fit(features[others].astype(np.float64), targets[others])
        np.testing.assert_allclose(
            ridge.left_out[case], alone.predict(features[case : case + 1])[0], rtol=1e-3, atol=1e-4
        )


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n_features", [10, 200])
def test_the_ridge_head_is_scikit_learns(n_classes, n_features):
    rng = np.random.default_rng(n_features)
    codes = np.arange(60) % n_classes
    features = (rng.normal(size=(60, n_features)) + codes[:, None] * rng.normal(size=n_features)).astype(np.float32)
    features -= features.mean(axis=0)
    head = fit_head(features, codes, n_classes, "ridge")
    oracle = RidgeClassifierCV(alphas=PENALTIES).fit(features.astype(np.float64), codes)
    np.testing.assert_allclose(head.coefficients.T.squeeze(), oracle.coef_, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(head.intercepts, oracle.intercept_, atol=1e-6)


def test_of_two_classes_the_multinomial_head_is_the_ridge_head_times_one_number():
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 2
    features = (rng.normal(size=(60, 50)) + codes[:, None]).astype(np.float32)
    features -= features.mean(axis=0)
    ridge, multinomial = (fit_head(features, codes, 2, head) for head in ("ridge", "multinomial"))
    scale = multinomial.coefficients[0, 0] / ridge.coefficients[0, 0]
    assert scale > 0
    np.testing.assert_allclose(multinomial.coefficients, scale * ridge.coefficients)
    np.testing.assert_allclose(multinomial.intercepts, scale * ridge.intercepts)


def test_a_class_between_two_others_is_hidden_from_the_ridge_head_but_not_from_the_multinomial_one():
    rng = np.random.default_rng(0)
    codes = np.arange(300) % 3
    features = (codes[:, None] - 1 + 0.1 * rng.normal(size=(300, 1))).astype(np.float32)
    features -= features.mean(axis=0)
    heads = [fit_head(features, codes, 3, head) for head in ("ridge", "multinomial")]
    right = [np.mean((features @ head.coefficients + head.intercepts).argmax(axis=1) == codes) for head in heads]
    assert right[0] < 0.8
    assert right[1] > 0.99


def test_decisions_that_are_log_probabilities_are_hardly_mixed():
    rng = np.random.default_rng(2)
    logits = 2.0 * rng.normal(size=(5000, 3))
    codes = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    np.testing.assert_allclose(calibration(logits, codes), np.eye(3), atol=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_no_other_mixture_of_decisions_fits_better(seed):
    rng = np.random.default_rng(seed)
    codes = np.arange(40) % 4
    decisions = rng.normal(size=(40, 4)) + 2 * np.eye(4)[codes]
    scale = calibration_scale(decisions, codes)
    found = calibration(decisions, codes) / scale - np.eye(4)

    def loss(mixture):
        logits = scale * decisions @ (np.eye(4) + mixture)
        log_probabilities = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        wanted = (40 * np.eye(4)[codes] + 0.25) / 41
        return -np.sum(wanted * log_probabilities) + STIFFNESS / 2 * np.sum(mixture**2)

    for size in (1e-3, 1e-1):
        assert all(loss(found) < loss(found + size * rng.normal(size=(4, 4))) for _ in range(20))


def test_the_scale_of_calibration_recovers_the_temperature_that_made_the_labels():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(20_000, 3))
    codes = np.argmax(2.5 * logits + rng.gumbel(size=logits.shape), axis=1)
    assert calibration_scale(logits, codes) == pytest.approx(2.5, rel=0.05)


def test_sparse_features_keep_their_zeros_before_they_are_centred():
    features = np.array([[0.0], [1.0], [3.0], [0.0]], dtype=np.float32)
    column = features[:, 0].astype(np.float64)
    scale = scale_features(features, sparse=True)
    deviation = column.std(ddof=1) + 0.5**4 + 1e-8
    scaled = np.where(column == 0, 0, (column - 1) / deviation)
    np.testing.assert_allclose(features[:, 0], scaled - scaled.mean(), atol=1e-6)
    np.testing.assert_allclose(scale.deviations, deviation)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_feature_counts_no_more_than_some_way_beyond_what_was_seen(sparse):
    features = np.array([[0.0], [1.0], [5.0]], dtype=np.float32)
    scale = scale_features(features, sparse)
    assert scale.limits == pytest.approx([LIMIT * 3.0])
    kinds, weights = np.array([sparse]), np.ones((1, 1))
    for value, counted in [(4.0, 2.0), (1e6, LIMIT * 3.0), (-1e6, -LIMIT * 3.0)]:
        found = weighted_sum(np.array([value]), kinds, scale.centres, scale.limits, weights)
        assert found == pytest.approx([counted])


def test_small_subsets_of_channels_are_the_most_frequent():
    starts, channels = choose_channels(20, 4000, np.random.default_rng(0))
    sizes = np.bincount(np.diff(starts), minlength=10)
    assert sizes[0] == 0
    assert sizes.argmax() == 1
    assert len(sizes) == 10
    assert set(channels) == set(range(20))

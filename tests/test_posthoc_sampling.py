"""SHAP and LIME by coalitions: exact where they can be, fair to every class, and the same in any company."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_posthoc as naive
from millet import posthoc
from millet.errors import MilletError, ParameterError, UnknownNameError
from millet.nn import MilletNetwork
from millet.posthoc.coalitions import draw_coalitions, logits_of_coalitions, shap_kernel
from millet.posthoc.sampling import equal_segments
from millet.posthoc.subjects import make_subject


def interactions(X):
    """A model of any length whose timepoints and channels interact; three classes."""
    total = X.sum(axis=1)
    products = (total[:, 1:] * total[:, :-1]).sum(axis=1)
    return np.stack([total.max(axis=1), products, np.tanh(total).mean(axis=1)], axis=1)


def series(n_cases, n_channels, n_timepoints, seed=0):
    return np.random.default_rng(seed).normal(size=(n_cases, n_channels, n_timepoints))


@given(st.integers(1, 6), st.integers(1, 2), st.sampled_from(["zero", "mean", "removed", 0.5]), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_with_every_coalition_shap_is_the_average_over_all_orders_of_arrival(
    n_timepoints, n_channels, baseline, seed
):
    X = series(1, n_channels, n_timepoints, seed)
    replacements = {
        "zero": np.zeros_like(X[0]),
        "mean": np.tile(X[0].mean(axis=1, keepdims=True), (1, n_timepoints)),
        "removed": None,
        0.5: np.full_like(X[0], 0.5),
    }
    value = naive.coalition_value(interactions, X[0], replacements[baseline], n_classes=3)
    expected = naive.shapley_by_permutations(value, n_timepoints)
    found = posthoc.shap(interactions, X, baseline=baseline, n_samples=2**n_timepoints, progress=False)
    np.testing.assert_allclose(found.scores[0], expected.T, atol=1e-8)


def test_segment_shap_is_exact_too_and_shares_out_evenly():
    X = series(1, 1, 11)
    segments = equal_segments(11, 4)
    value = naive.coalition_value(interactions, X[0], np.zeros_like(X[0]), 3, segments)
    expected = naive.shapley_by_permutations(value, 4)
    found = posthoc.segment_shap(interactions, X, n_segments=4, baseline="zero", progress=False).scores[0]
    for segment in range(4):
        inside = found[:, segments == segment]
        np.testing.assert_allclose(inside.sum(axis=1), expected[segment], atol=1e-8)
        np.testing.assert_allclose(inside, inside[:, :1].repeat(inside.shape[1], axis=1))


@given(
    st.integers(2, 40),
    st.integers(1, 60),
    st.sampled_from(["uniform", "kernel"]),
    st.booleans(),
    st.sampled_from(["zero", "removed"]),
)
@settings(max_examples=25, deadline=None)
def test_scores_always_sum_to_the_logits_less_the_baselines(n_timepoints, n_samples, sampling, paired, baseline):
    X = series(2, 1, n_timepoints)
    found = posthoc.shap(
        interactions, X, n_samples=n_samples, sampling=sampling, paired=paired, baseline=baseline, progress=False
    )
    nothing = interactions(np.zeros((1, 1, n_timepoints))) if baseline == "zero" else np.zeros((1, 3))
    np.testing.assert_allclose(found.scores.sum(axis=2), interactions(X) - nothing, atol=1e-9)
    np.testing.assert_allclose(found.bias, nothing[0])
    assert found.completeness_error().max() < 1e-9


@pytest.mark.parametrize("sampling", ["uniform", "kernel"])
@pytest.mark.parametrize("paired", [True, False])
def test_an_additive_model_is_found_out_once_coalitions_outnumber_timepoints(sampling, paired):
    weights = np.random.default_rng(1).normal(size=(30, 2))
    X = series(1, 1, 30)
    found = posthoc.shap(
        lambda X: X[:, 0] @ weights,
        X,
        n_samples=80,
        sampling=sampling,
        paired=paired,
        baseline="zero",
        progress=False,
    )
    np.testing.assert_allclose(found.scores[0], X[0] * weights.T, atol=1e-9)


@pytest.mark.parametrize("sampling", ["uniform", "kernel"])
def test_more_coalitions_come_nearer_to_the_exact_values(sampling):
    X = series(1, 1, 12)
    exact = posthoc.shap(interactions, X, n_samples=2**12, progress=False).scores

    def error(n_samples):
        drawn = [
            posthoc.shap(
                interactions, X, n_samples=n_samples, sampling=sampling, random_state=seed, progress=False
            ).scores
            for seed in range(8)
        ]
        return np.abs(np.array(drawn) - exact).mean()

    assert error(4000) < error(100) / 2  # the square root of 4000 / 100 is 6.3


def test_pairs_cancel_what_coalitions_have_in_common():
    def jump(X):
        """Additive, but for a constant that only perturbed series get: noise in unpaired regressions."""
        whole = (X[:, 0] != 0).all(axis=1) | (X[:, 0] == 0).all(axis=1)
        return X[:, 0, :2] + 50.0 * ~whole[:, None]

    X = series(1, 1, 40)
    exact = np.zeros((2, 40))
    exact[[0, 1], [0, 1]] = X[0, 0, :2]

    def error(paired):
        scores = posthoc.shap(jump, X, n_samples=100, paired=paired, baseline="zero", progress=False).scores[0]
        return np.abs(scores - exact).max()

    assert error(paired=True) < 1e-9
    assert error(paired=False) > 0.1


@given(st.integers(2, 2000), st.data())
@settings(max_examples=30, deadline=None)
def test_the_kernel_is_the_published_one_up_to_a_factor(n_players, data):
    sizes = np.array(data.draw(st.lists(st.integers(1, n_players - 1), min_size=1, max_size=5)))
    expected = [naive.shap_kernel(int(size), n_players) for size in sizes]
    np.testing.assert_allclose(
        shap_kernel(sizes, n_players), [float(weight / max(expected)) for weight in expected], rtol=1e-8, atol=1e-300
    )


@given(st.integers(2, 12), st.integers(1, 100), st.sampled_from(["uniform", "kernel"]), st.booleans())
@settings(max_examples=50, deadline=None)
def test_coalitions_are_proper_and_as_many_as_asked_for(n_players, n_samples, sampling, paired):
    drawn = draw_coalitions(n_players, n_samples, np.random.default_rng(0), sampling=sampling, paired=paired)
    n_present = drawn.present.sum(axis=1)
    assert ((n_present > 0) & (n_present < n_players)).all()
    assert len(drawn.weights) == len(drawn.present)
    if 2**n_players - 2 <= n_samples:
        assert len({tuple(row) for row in drawn.present.tolist()}) == len(drawn.present) == 2**n_players - 2
    else:
        assert len(drawn.present) == n_samples + (n_samples % 2 if paired else 0)
    if drawn.paired:
        assert (drawn.present[::2] == ~drawn.present[1::2]).all()


@pytest.mark.parametrize("n_timepoints", [1, 5, 10, 1008])
@pytest.mark.parametrize("n_segments", [1, 3, 10, 32])
def test_segments_are_in_order_and_differ_by_one_timepoint_at_most(n_timepoints, n_segments):
    segments = equal_segments(n_timepoints, n_segments)
    sizes = np.bincount(segments)
    assert (np.diff(segments) >= 0).all()
    assert len(sizes) == min(n_segments, n_timepoints)
    assert sizes.max() - sizes.min() <= 1


def test_segment_lime_finds_the_segment_that_a_model_looks_at():
    X = series(3, 1, 60)
    X[:, 0, 20:30] += 3
    found = posthoc.segment_lime(
        lambda X: X[:, 0, 20:30].sum(axis=1)[:, None] * [[1.0, -1.0]],
        X,
        n_segments=6,
        baseline="zero",
        progress=False,
    )
    assert (found.scores[:, 0].argmax(axis=1) // 10 == 2).all()
    # A ridge shrinks a little; otherwise the drop of the whole segment, shared by ten timepoints.
    drop = X[:, 0, 20:30].sum(axis=1) / 10
    np.testing.assert_allclose(found.scores[:, 0, 25], drop, rtol=0.1)
    np.testing.assert_allclose(found.scores[:, 0], -found.scores[:, 1])
    assert found.contributions is None


@pytest.mark.parametrize("baseline", ["removed", "zero"])
def test_memory_is_bounded_by_batch_size_and_scores_do_not_depend_on_it(baseline):
    largest = []

    def watched(X):
        largest.append(X.size)
        return interactions(X)

    X = series(1, 2, 20)
    scores = {}
    for batch_size in (1, 3, 50):
        largest.clear()
        found = posthoc.shap(watched, X, n_samples=70, baseline=baseline, batch_size=batch_size, progress=False)
        scores[batch_size] = found.scores
        assert max(largest) <= batch_size * X[0].size
    np.testing.assert_allclose(scores[1], scores[3], atol=1e-9)
    np.testing.assert_allclose(scores[1], scores[50], atol=1e-9)


@given(st.integers(2, 30), st.integers(1, 2), st.integers(0, 50))
@settings(max_examples=15, deadline=None)
def test_a_network_is_asked_about_what_is_left_at_its_old_positions(n_timepoints, n_channels, seed):
    import torch

    torch.manual_seed(seed)
    network = MilletNetwork(n_channels, 3, "lite").eval()
    subject = make_subject(network, series(1, n_channels, n_timepoints), 8)
    values = subject.values(0)
    present = np.random.default_rng(seed).random((6, n_timepoints)) < 0.5
    present[0] = False
    found = logits_of_coalitions(subject, values, present, np.arange(n_timepoints), None, 2)
    assert (found[0] == 0).all()
    for row in np.flatnonzero(present.any(axis=1)):
        positions = np.flatnonzero(present[row])
        with torch.inference_mode():
            alone = network(torch.from_numpy(values[None][:, :, positions]), positions=torch.from_numpy(positions))
        np.testing.assert_allclose(found[row], alone.logits[0].numpy(), atol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, "n_samples must be an integer of at least 1; got 0"),
        ({"n_samples": 10.0}, "n_samples must be"),
        ({"sampling": "unifrom"}, "Did you mean 'uniform'"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(MilletError, match=message):
        posthoc.shap(interactions, series(1, 1, 5), progress=False, **options)


def test_segment_options_that_make_no_sense_are_refused():
    with pytest.raises(ParameterError, match="n_segments"):
        posthoc.segment_shap(interactions, series(1, 1, 5), n_segments=0)
    with pytest.raises(ParameterError, match="kernel_width"):
        posthoc.segment_lime(interactions, series(1, 1, 5), kernel_width=0)
    with pytest.raises(UnknownNameError, match="Did you mean 'n_segments'"):
        posthoc.explain("segment_lime", interactions, series(1, 1, 5), n_segment=3)


def test_a_penalty_that_outweighs_the_data_leaves_a_covariance(page_script):
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(0)
    present, answers, weights = rng.random((40, 9)) < 0.5, rng.normal(size=(40, 3)), rng.random(40)
    fitted = Ridge(alpha=1e9).fit(present, answers, sample_weight=weights)
    covariance = page_script("shap_table").covariance(present, answers, weights)
    np.testing.assert_allclose(fitted.coef_.T * 1e9, covariance * weights.sum(), rtol=1e-6)

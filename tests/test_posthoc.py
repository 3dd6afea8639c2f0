"""Post-hoc explanations: any model, any series, the same promises from every method."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import naive_posthoc as naive
from millet import AveragedClassifier, MilletClassifier, RocketMilletClassifier, posthoc
from millet.errors import LabelError, MilletError, MissingExtraError, ParameterError, SeriesError, UnknownNameError
from millet.nn import MilletNetwork
from millet.posthoc.subjects import make_subject

ANY_MODEL = ("kernel_shap", "lime", "occlusion", "random", "segment_lime", "segment_shap", "shap")
GRADIENTS = ("gradient_x_input", "integrated_gradients")
QUICK = {
    "kernel_shap": {"n_samples": 20},
    "lime": {"n_samples": 20, "alpha": 1e-3},
    "integrated_gradients": {"n_steps": 5},
    "segment_lime": {"n_samples": 20, "n_segments": 5},
    "segment_shap": {"n_samples": 20, "n_segments": 5},
    "shap": {"n_samples": 20},
}


def explain(method, model, X, **keywords):
    return posthoc.explain(method, model, X, progress=False, **{**QUICK.get(method, {}), **keywords})


def weighted_sums(X):
    """An additive model of 12 timepoints: class 0 looks at timepoints 3 and 4, class 1 at timepoint 9."""
    values = X.sum(axis=1)
    return np.stack([2 * values[:, 3] + values[:, 4], -values[:, 9]], axis=1)


@pytest.fixture(scope="module")
def classifier(bumps):
    return MilletClassifier("lite", n_epochs=3, random_state=0, verbose=0).fit(*bumps)


@pytest.fixture(scope="module")
def gap_classifier(bumps):
    return MilletClassifier("fcn", "gap", n_epochs=2, n_estimators=2, n_jobs=1, random_state=0, verbose=0).fit(*bumps)


@pytest.fixture(scope="module")
def unequal():
    """Three cases of two channels, of unequal length, one with missing values."""
    rng = np.random.default_rng(5)
    X = [rng.normal(size=(2, length)) for length in (12, 20, 16)]
    X[1][0, 4:7] = np.nan
    return X


@pytest.fixture(scope="module")
def network():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = MilletNetwork(2, 3, "lite").eval()
    with torch.no_grad():
        network.pooling.classify.weight.mul_(20)  # as confident as a trained one: a lasso drops what is faint
    return network


@pytest.mark.parametrize("method", ANY_MODEL)
def test_every_method_of_any_model_finds_what_an_additive_model_looks_at(method):
    X = np.random.default_rng(0).normal(size=(3, 2, 12)) + 5
    options = {"n_samples": 300} if method in ("kernel_shap", "lime", "shap") else {}
    options |= {"window": 1} if method == "occlusion" else {}
    options |= {"n_segments": 12, "n_samples": 300} if method.startswith("segment") else {}
    found = explain(method, weighted_sums, X, baseline="zero", **options)
    assert found.method == method
    np.testing.assert_allclose(found.logits, weighted_sums(X))
    if method == "random":
        return
    assert (found.scores[:, 0].argmax(axis=1) == 3).all()
    assert (found.scores[:, 1].argmin(axis=1) == 9).all()
    if method not in ("lime", "segment_lime"):  # those shrink
        values = X.sum(axis=1)
        np.testing.assert_allclose(found.scores[:, 0, 4], values[:, 4], rtol=1e-3)
        np.testing.assert_allclose(np.abs(found.scores[:, 1]).sum(axis=1), np.abs(values[:, 9]), rtol=0.02)


@pytest.mark.parametrize("method", [*ANY_MODEL, *GRADIENTS])
def test_a_case_gets_the_same_scores_alone_and_in_a_batch_and_none_on_padding(method, network, unequal):
    together = explain(method, network, unequal)
    assert together.scores.shape == (3, 3, 20)
    for case, series in enumerate(unequal):
        length = series.shape[1]
        alone = explain(method, network, [series])
        np.testing.assert_array_equal(alone.scores[0], together.scores[case, :, :length])
        assert (together.scores[case, :, length:] == 0).all()
        assert np.abs(together.scores[case, :, :length]).max() > 0


@pytest.mark.parametrize("method", [*ANY_MODEL, *GRADIENTS])
def test_a_target_gets_what_it_gets_among_all_classes_and_the_others_nothing(method, classifier, bumps):
    X = bumps[0][18:22]
    everything = explain(method, classifier, X)
    labels = ["flat", "bump", "flat", "bump"]
    chosen = explain(method, classifier, X, target=labels)
    for case, code in enumerate(everything.class_codes(labels)):
        np.testing.assert_allclose(chosen.scores[case, code], everything.scores[case, code], rtol=1e-6, atol=1e-7)
        assert (chosen.scores[case, 1 - code] == 0).all()
    assert chosen.contributions is None
    np.testing.assert_array_equal(everything.predicted, classifier.predict(X))


@pytest.mark.parametrize("method", ["kernel_shap", "lime", "random", "segment_lime", "segment_shap", "shap"])
def test_the_seed_decides_and_the_global_generators_are_left_alone(method, classifier, bumps):
    X = bumps[0][20:21]
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = explain(method, classifier, X, random_state=1)
    assert torch.equal(before[0], torch.random.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()  # noqa: NPY002
    np.testing.assert_array_equal(first.scores, explain(method, classifier, X, random_state=1).scores)
    assert not np.array_equal(first.scores, explain(method, classifier, X, random_state=2).scores)
    assert not np.array_equal(first.scores, explain(method, classifier, X, random_state=None).scores)


def test_two_cases_have_different_random_scores():
    scores = explain("random", weighted_sums, np.random.default_rng(0).normal(size=(2, 1, 12))).scores
    assert not np.array_equal(scores[0], scores[1])


def test_cam_is_what_a_network_with_global_average_pooling_computes(gap_classifier, bumps):
    X = bumps[0][::7]
    found, own = explain("cam", gap_classifier, X), gap_classifier.explain(X)
    np.testing.assert_allclose(found.scores, own.scores, atol=1e-5)
    np.testing.assert_allclose(found.bias, own.bias, atol=1e-6)
    assert found.completeness_error().max() < 1e-4
    assert found.method == "cam"


@pytest.mark.parametrize("model", ["classifier", "function"])
def test_cam_is_refused_where_there_is_none(model, classifier, bumps):
    model = classifier if model == "classifier" else weighted_sums
    with pytest.raises(ParameterError, match="pooling='gap'"):
        explain("cam", model, bumps[0][:2])


def test_by_default_a_classifiers_timepoints_are_removed_and_a_functions_replaced(classifier, bumps):
    X = bumps[0][20:22]
    removed = explain("shap", classifier, X)
    np.testing.assert_array_equal(removed.scores, explain("shap", classifier, X, baseline="removed").scores)
    np.testing.assert_array_equal(removed.bias, [0, 0])
    replaced = explain("shap", classifier, X, baseline="zero")
    blank = np.zeros((1, 1, 50), dtype=np.float32)
    with torch.inference_mode():
        nothing = classifier.networks_[0](torch.from_numpy(blank)).logits[0].numpy()
    np.testing.assert_allclose(replaced.bias, nothing, atol=1e-5)
    assert replaced.completeness_error().max() < 1e-5
    X = np.random.default_rng(0).normal(size=(1, 1, 12))
    np.testing.assert_array_equal(
        explain("shap", weighted_sums, X).scores, explain("shap", weighted_sums, X, baseline="zero").scores
    )


def test_contributions_are_left_out_where_the_baseline_differs_from_case_to_case():
    X = np.random.default_rng(0).normal(size=(2, 1, 12)) + 3
    found = explain("shap", weighted_sums, X, baseline="mean")
    assert found.contributions is None
    assert explain("shap", weighted_sums, X[:1], baseline="mean").completeness_error()[0] < 1e-9


@pytest.mark.parametrize(
    "baseline", [2.0, [2.0, 2.0], np.full((2, 12), 2.0), np.full((2, 15), 2.0), np.full((3, 2, 12), 2.0)]
)
@pytest.mark.parametrize(("method", "options"), [("shap", {"n_samples": 2**12}), ("occlusion", {})])
def test_a_baseline_may_be_given_as_values_of_several_shapes(method, options, baseline):
    X = np.random.default_rng(0).normal(size=(3, 2, 12))
    found = explain(method, weighted_sums, X, baseline=baseline, **options)
    shifted = explain(method, lambda X: weighted_sums(X + 2), X - 2, baseline="zero", **options)
    np.testing.assert_allclose(found.scores, shifted.scores, atol=1e-9)
    np.testing.assert_allclose(found.logits, shifted.logits)


@pytest.mark.parametrize(
    ("baseline", "message"),
    [
        ("zeros", "Did you mean 'zero'"),
        (np.zeros(3), r"got shape \(3,\)"),
        (np.zeros((2, 11)), r"got shape \(2, 11\)"),
        (np.zeros((2, 2, 12)), r"got shape \(2, 2, 12\)"),
        (np.zeros((1, 3, 2, 12)), "must be a number, or have shape"),
        (np.nan, "finite"),
        ({}, "a name or numbers"),
    ],
)
def test_a_baseline_that_does_not_fit_is_refused(baseline, message):
    with pytest.raises(MilletError, match=message):
        explain("shap", weighted_sums, np.zeros((3, 2, 12)), baseline=baseline)


@pytest.mark.parametrize(("method", "options"), [("kernel_shap", {}), ("occlusion", {"window": 1}), ("shap", {})])
def test_missing_values_are_taken_away_like_others(method, options):
    def model(X):  # a missing value counts for 5
        total = np.nan_to_num(X, nan=5.0)[:, 0].sum(axis=1)
        return np.stack([total, np.zeros(len(X))], axis=1)

    x = np.ones((1, 1, 8))
    x[0, 0, 2] = np.nan
    found = explain(method, model, x, baseline="zero", **options).scores[0, 0]
    np.testing.assert_allclose(found, [1, 1, 5, 1, 1, 1, 1, 1], atol=1e-4)


def test_lime_takes_missing_values_away_too(bumps):
    X = bumps[0][:1].copy()
    X[0, 0, 3:6] = np.nan
    rocket = RocketMilletClassifier(n_features=84, random_state=0, verbose=0).fit(*bumps)
    assert np.isfinite(explain("lime", rocket, X, baseline="zero", n_samples=20).scores).all()


@pytest.mark.parametrize("method", ["kernel_shap", "lime", "occlusion", "integrated_gradients"])
def test_captums_methods_say_that_they_cannot_remove(method, network):
    with pytest.raises(ParameterError, match=f"{method} can't remove timepoints"):
        explain(method, network, np.zeros((1, 2, 12)), baseline="removed")


@pytest.mark.parametrize(("window", "stride"), [(1, 1), (3, 1), (4, 2), (4, 3), (12, 1), (99, 99)])
def test_occlusion_is_the_mean_drop_of_the_windows_over_a_timepoint(window, stride):
    X = np.random.default_rng(3).normal(size=(1, 2, 12))
    found = explain("occlusion", weighted_sums, X, window=window, stride=stride, baseline="zero")
    expected = naive.occlusion(weighted_sums, X[0], np.zeros((2, 12)), min(window, 12), min(stride, window, 12))
    np.testing.assert_allclose(found.scores[0], expected, atol=1e-9)


def test_integrated_gradients_add_up_to_the_difference_from_the_baseline(network):
    X = np.random.default_rng(0).normal(size=(2, 2, 30))
    found = explain("integrated_gradients", network, X, n_steps=300)
    with torch.inference_mode():
        blank = network(torch.zeros(1, 2, 30)).logits[0].numpy()
    np.testing.assert_allclose(found.scores.sum(axis=2), found.logits - blank, atol=0.02)


@pytest.mark.parametrize("method", ["integrated_gradients", "gradient_x_input"])
def test_gradients_are_found_whatever_mode_the_caller_is_in(network, method):
    X = np.random.default_rng(0).normal(size=(2, 2, 30))
    with torch.inference_mode():
        inside = explain(method, network, X)
    np.testing.assert_array_equal(inside.scores, explain(method, network, X).scores)


def test_values_that_only_the_model_must_bear_are_explained():
    X = 1e300 * np.random.default_rng(0).normal(size=(2, 1, 6))
    found = explain("occlusion", lambda X: np.stack([np.sign(X[:, 0]).sum(axis=1), np.zeros(len(X))], axis=1), X)
    np.testing.assert_array_equal(found.predicted, np.sign(X[:, 0]).sum(axis=1) < 0)


def test_gradient_x_input_of_a_linear_module_is_its_weights_times_the_values():
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(24, 3)).double().eval()
    X = np.random.default_rng(0).normal(size=(2, 2, 12)).astype(np.float32)
    weights = module[1].weight.detach().numpy().reshape(3, 2, 12)
    found = explain("gradient_x_input", module, X)
    np.testing.assert_allclose(found.scores, (weights * X[:, None]).sum(axis=2), atol=1e-6)
    np.testing.assert_array_equal(found.classes, [0, 1, 2])


def test_a_module_of_another_kind_is_asked_about_shorter_series_if_told_to():
    class Extremes(torch.nn.Module):
        def forward(self, x):
            return torch.stack([x.amax(dim=(1, 2)), x.amin(dim=(1, 2)), x[:, 0, -1]], dim=1)

    def extremes(X):
        return Extremes()(torch.from_numpy(X)).numpy()

    X = np.random.default_rng(0).normal(size=(1, 2, 5))
    value = naive.coalition_value(extremes, X[0], None, n_classes=3)
    found = explain("shap", Extremes().eval(), X, baseline="removed", n_samples=30)
    np.testing.assert_allclose(found.scores[0], naive.shapley_by_permutations(value, 5).T, atol=1e-6)


@pytest.mark.parametrize("method", GRADIENTS)
def test_gradients_of_what_has_none_are_refused_in_words(method):
    with pytest.raises(ParameterError, match=r"needs gradients.* MilletClassifier or a torch module"):
        explain(method, weighted_sums, np.zeros((1, 1, 12)))


def test_a_module_in_training_mode_is_refused():
    with pytest.raises(ParameterError, match=r"module\.eval\(\)"):
        explain("shap", MilletNetwork(1, 2, "lite").train(), np.zeros((1, 1, 12)))


def test_a_module_that_returns_something_else_is_refused():
    class Odd(torch.nn.Module):
        def forward(self, x):
            return [x]

    with pytest.raises(ParameterError, match="tensor of logits"):
        explain("shap", Odd().eval(), np.zeros((1, 1, 12)))


@pytest.mark.parametrize("model", [LogisticRegression(), SVC()])
@pytest.mark.parametrize("method", ["shap", "segment_lime", "occlusion"])
def test_models_of_scikit_learn_are_explained_with_their_labels(method, model, bumps):
    X, y = bumps[0][:, 0], bumps[1]
    model.fit(X, y)
    found = explain(method, model, X[30:34], batch_size=3)
    np.testing.assert_array_equal(found.classes, ["bump", "flat"])
    np.testing.assert_array_equal(found.predicted, model.predict(X[30:34]))
    scores = found.scores[:, 0]
    assert scores[:, 12:20].mean() > scores[:, 20:].mean()
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found.probabilities, model.predict_proba(X[30:34]), atol=1e-9)


def test_a_function_is_given_series_as_they_were_brought(unequal):
    def watched(X):
        assert X.ndim == 3
        shapes.add(X.shape[1:])
        has_missing.append(np.isnan(X).any())
        return np.nansum(X, axis=2)

    shapes, has_missing = set(), []
    explain("shap", watched, unequal)
    assert shapes == {(2, 12), (2, 20), (2, 16)}
    assert any(has_missing)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda X: 1 / 0, "ZeroDivisionError"),
        (lambda X: np.zeros(len(X)), r"got shape \(3,\)"),
        (lambda X: np.zeros((1, 2)), r"got shape \(1, 2\)"),
        (lambda X: np.full((len(X), 2), np.nan), "finite"),
        (lambda X: "no", "numbers"),
        (lambda X: np.zeros((len(X), 2 if (X != 0).all() else 3)), "gave 2 outputs a case for the cases, but 3"),
        ("model", "got str"),
    ],
)
def test_a_model_that_fails_is_reported_in_words(model, message):
    with pytest.raises(ParameterError, match=message):
        explain("shap", model, np.ones((3, 1, 12)))


def test_a_model_with_more_labels_than_outputs_is_refused():
    class Odd:
        classes_ = np.array(["a", "b", "c"])

        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    with pytest.raises(ParameterError, match="gives 2 outputs"):
        explain("shap", Odd(), np.ones((3, 1, 12)))


def test_names_that_stand_for_nothing_are_met_with_the_nearest(classifier, bumps):
    X = bumps[0][:2]
    with pytest.raises(UnknownNameError, match="Did you mean 'shap'"):
        explain("shapp", classifier, X)
    with pytest.raises(UnknownNameError, match=r"Unknown option of shap 'n_sample'.*Did you mean 'n_samples'"):
        posthoc.explain("shap", classifier, X, n_sample=3)
    with pytest.raises(LabelError, match="Did you mean 'bump'"):
        explain("shap", classifier, X, target="bumb")
    with pytest.raises(LabelError, match="for each of the 2 cases"):
        explain("shap", classifier, X, target=["bump"])
    with pytest.raises(SeriesError, match="channels"):
        explain("shap", classifier, np.zeros((2, 3, 50)))


@pytest.mark.parametrize("method", ["kernel_shap", "lime", "occlusion", *GRADIENTS])
def test_without_captum_its_methods_say_how_to_install_it(method, monkeypatch, classifier, bumps):
    def missing(name, *arguments, **keywords):
        if name.partition(".")[0] == "captum":
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return real(name, *arguments, **keywords)

    import importlib

    real = importlib.import_module
    monkeypatch.setattr("millet.errors.importlib.import_module", missing)
    with pytest.raises(MissingExtraError, match=rf"'{method}' needs .*pip install 'millet-tsc\[explain\]'"):
        explain(method, classifier, bumps[0][:1])


def test_posthoc_starts_without_torch_and_captum():
    script = "import millet.posthoc, sys; print('torch' in sys.modules, 'captum' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False"]


def test_progress_is_silent_where_nobody_watches(capsys):
    posthoc.explain("random", weighted_sums, np.ones((2, 1, 12)), progress=True)
    assert capsys.readouterr() == ("", "")


def test_the_table_of_methods_is_what_the_documentation_lists():
    assert set(posthoc.METHODS) == {*ANY_MODEL, *GRADIENTS, "cam"}
    for name, method in posthoc.METHODS.items():
        assert getattr(posthoc, name) is method
        assert name in posthoc.explain.__doc__


def test_captum_asks_the_model_once_for_all_classes():
    calls = []

    def watched(X):
        calls.append(len(X))
        return weighted_sums(X)

    X = np.random.default_rng(0).normal(size=(1, 1, 12))
    explain("kernel_shap", watched, X, n_samples=40)
    assert sum(calls) <= 1 + 1 + 40  # the case, captum's own look at it, and the coalitions


def test_a_single_timepoint_has_all_that_the_case_has():
    def model(X):
        return np.stack([X.sum(axis=(1, 2)), -X.sum(axis=(1, 2))], axis=1)

    found = posthoc.explain("kernel_shap", model, np.full((1, 1, 1), 3.0), baseline="zero")
    assert found.scores.tolist() == [[[3.0], [-3.0]]]


def test_a_nested_frame_keeps_its_channels():
    seen = []

    def model(X):
        seen.append(np.shape(X))
        return np.zeros((len(X), 2))

    nested = pd.DataFrame({"a": [np.arange(5.0)] * 2, "b": [np.ones(5)] * 2})
    assert posthoc.explain("random", model, nested).series.shape == (2, 2, 5)
    assert {shape[1:] for shape in seen} == {(2, 5)}


@pytest.fixture(scope="module", params=["features", "average"])
def no_network(request, bumps, classifier):
    features = RocketMilletClassifier(n_features=200, random_state=0, verbose=0).fit(*bumps)
    return features if request.param == "features" else AveragedClassifier.of_fitted([features, classifier])


@pytest.mark.parametrize("method", ["occlusion", "segment_shap", "shap"])
def test_millets_other_classifiers_are_asked_about_unequal_lengths_and_gaps(method, no_network, bumps):
    X = np.array(bumps[0][:2], dtype=np.float64)
    X[0, 0, -8:] = np.nan  # ends earlier
    X[1, 0, 5:8] = np.nan
    scores = explain(method, no_network, X, baseline="zero").scores
    assert np.isfinite(scores).all()
    assert (scores[0, :, -8:] == 0).all()


def test_removed_timepoints_are_deleted_where_the_classifier_does_so(no_network, bumps):
    X = bumps[0][:1]
    kept = np.ones((1, X.shape[2]), dtype=bool)
    kept[0, 3:9] = False
    subject = make_subject(no_network, X, 8)
    assert np.array_equal(subject.ask_shortened(subject.values(0), kept), no_network.logits(X, removed=~kept))


def test_no_more_whole_series_than_a_batch_are_handed_to_a_classifier(no_network, bumps, monkeypatch):
    sizes = []
    logits = type(no_network).logits

    def counted(self, X, **keywords):
        sizes.append(len(X))
        return logits(self, X, **keywords)

    monkeypatch.setattr(type(no_network), "logits", counted)
    for model in (no_network, no_network.predict_proba):  # which stands for its owner
        explain("shap", model, bumps[0][:1], baseline="removed", n_samples=50, batch_size=8)
    assert max(sizes) == 8


def test_a_classifier_that_was_fitted_on_a_frame_is_asked_without_a_word(bumps):
    frame = pd.DataFrame(bumps[0][:, 0], columns=[f"t{number}" for number in range(bumps[0].shape[2])])
    features = RocketMilletClassifier(n_features=200, random_state=0, verbose=0).fit(frame, bumps[1])
    assert explain("occlusion", features, frame[:2]).scores.shape[0] == 2  # warnings are errors here


def test_the_level_of_a_series_does_not_change_what_is_said_about_a_classifier_that_normalises(bumps):
    features = RocketMilletClassifier(n_features=200, random_state=0, verbose=0, normalise=True).fit(*bumps)
    X = np.asarray(bumps[0][:2], dtype=np.float64)
    low, high = (explain("occlusion", features, X + level).scores for level in (0.0, 64.0))
    np.testing.assert_allclose(high, low, atol=1e-4)


def test_values_that_only_a_normalising_classifier_can_read_are_explained(bumps):
    features = RocketMilletClassifier(n_features=200, random_state=0, verbose=0, normalise=True).fit(*bumps)
    assert np.isfinite(explain("segment_shap", features, bumps[0][:1] * 1e200, baseline="mean").scores).all()

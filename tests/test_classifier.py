"""`MilletClassifier`: scikit-learn's contract, evidence that adds up, and what users bring."""

import copy
import importlib
import os
import pickle
import shutil
import subprocess
import sys
import tracemalloc
import warnings
from fractions import Fraction
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

import millet
from millet import Explanation, MilletClassifier, RocketMilletClassifier, fitting, load_classifier
from millet.errors import (
    LabelError,
    MilletError,
    ParameterError,
    SeriesError,
    StorageError,
    TrainingError,
    UnknownNameError,
)
from millet.nn import BACKBONES, POOLINGS, BagOutput, ConjunctivePooling, MilletNetwork, Pooling
from millet.nn.lite import Lite
from millet.training import Recipe


def quick(backbone="fcn", pooling="conjunctive", **parameters):
    return MilletClassifier(backbone, pooling, **{"n_epochs": 3, "random_state": 0, "n_jobs": 1, **parameters})


def all_weights(classifier):
    return [torch.cat([value.flatten().double() for value in n.state_dict().values()]) for n in classifier.networks_]


QUICK = {"n_epochs": 12, "batch_size": 32, "learning_rate": 0.01}


# Double precision: scikit-learn asks that a case's probabilities do not depend on its neighbours to 1e-7, and single
# precision keeps 1e-6 at best. Levels are kept, so that accuracies are checked as well.
@parametrize_with_checks([MilletClassifier("lite", precision="64-true", normalise=False, **QUICK)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([MilletClassifier("fcn", n_epochs=3, batch_size=32)])
def test_scikit_learn_contract_of_the_defaults(estimator, check):
    if check.func.__name__ == "check_methods_subset_invariance":
        pytest.skip("single precision: equal to 1e-6, the check asks for 1e-7")
    check(estimator)


@pytest.fixture(scope="module")
def fitted(bumps):
    return quick(n_epochs=8).fit(*bumps)


# -- predictions and evidence


def test_it_learns_and_finds_the_bump(bumps):
    X, y = bumps
    # Normalised, a series with a bump is lower everywhere else, which tells the classes apart as well.
    fitted = quick(n_epochs=8, normalise=False).fit(X, y)
    assert fitted.score(X, y) == 1.0
    scores = fitted.explain(X).scores[:, 0]  # for the class "bump"
    difference = scores[20:].mean(axis=0) - scores[:20].mean(axis=0)
    assert 8 <= np.abs(difference).argmax() < 24, "what sets the classes apart is the bump at 12 to 19"


def test_explain_and_predict_say_the_same(bumps, fitted):
    X, _ = bumps
    explanation = fitted.explain(X)
    assert np.array_equal(explanation.predicted, fitted.predict(X))
    assert explanation.probabilities == pytest.approx(fitted.predict_proba(X), abs=1e-12)
    assert np.array_equal(explanation.series, X)
    assert explanation.classes.tolist() == ["bump", "flat"]


def test_explaining_takes_one_forward_pass(bumps, fitted, monkeypatch):
    calls = []
    network = fitted.networks_[0]
    original = type(network).forward
    monkeypatch.setattr(type(network), "forward", lambda *args, **kw: (calls.append(1), original(*args, **kw))[1])
    fitted.explain(bumps[0])
    assert len(calls) == 1


@pytest.mark.parametrize("pooling", sorted(POOLINGS))
def test_contributions_add_up_for_every_pooling_and_its_ensemble(bumps, pooling):
    X, y = bumps
    explanation = quick(pooling=pooling, n_estimators=2).fit(X, y).explain(X, members=True)
    for part in (explanation, *explanation.members):
        if pooling == "attention":
            assert part.contributions is None
            assert part.bias is None
        else:
            assert part.contributions.mean(axis=2) + part.bias == pytest.approx(part.logits, abs=1e-5)
    assert np.mean([member.logits for member in explanation.members], axis=0) == pytest.approx(
        explanation.logits, abs=1e-6
    )
    assert explanation.spread.shape == explanation.scores.shape
    assert explanation.spread.max() > 0


@pytest.mark.parametrize("precision", ["bf16-true", "16-true"])
def test_a_network_of_half_precision_gives_arrays_that_numpy_has(bumps, precision):
    X, y = bumps
    clf = quick("lite", n_epochs=1, n_estimators=2, precision=precision).fit(X, y)
    assert next(clf.networks_[0].parameters()).dtype in (torch.bfloat16, torch.float16)
    explanation = clf.explain(X, members=True)
    for part in (explanation, *explanation.members):
        assert part.scores.dtype == part.contributions.dtype == part.bias.dtype == np.float32
        # Half precision keeps eight binary digits at least.
        size = np.abs(part.contributions).max() + np.abs(part.bias).max()
        assert part.completeness_error().max() <= 2**-7 * size
    assert np.array_equal(explanation.predicted, clf.predict(X))
    assert explanation.logits == pytest.approx(clf.logits(X))


@pytest.mark.parametrize("backbone", sorted(BACKBONES))
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_unequal_series_are_explained_alone_as_in_a_batch(backbone, data):
    lengths = data.draw(st.lists(st.integers(2, 60), min_size=4, max_size=6))
    n_channels = data.draw(st.integers(1, 3))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    X = [rng.normal(size=(n_channels, length)) for length in lengths]
    X[0][0, 0] = np.nan
    clf = quick(backbone, n_epochs=1).fit(X, np.arange(len(X)) % 2)
    together = clf.explain(X)
    assert together.lengths.tolist() == lengths
    assert together.completeness_error().max() < 1e-5
    for case, series in enumerate(X):
        alone = clf.explain([series])
        width = lengths[case]
        assert alone.logits[0] == pytest.approx(together.logits[case], abs=1e-5)
        assert alone.scores[0] == pytest.approx(together.scores[case, :, :width], abs=1e-5)
        assert not together.scores[case, :, width:].any()


def test_members_differ_and_ensembles_average_logits(bumps):
    X, y = bumps
    clf = quick(n_estimators=3).fit(X, y)
    one, two, three = all_weights(clf)
    assert not torch.equal(one, two)
    assert not torch.equal(two, three)


# -- reproducibility


def test_the_same_seed_gives_the_same_weights_whatever_n_jobs(bumps):
    X, y = bumps
    alone = quick(n_estimators=2, n_jobs=1).fit(X, y)
    beside = quick(n_estimators=2, n_jobs=2).fit(X, y)
    assert all(torch.equal(a, b) for a, b in zip(all_weights(alone), all_weights(beside), strict=True))
    assert alone.history_.column("selection_loss") == beside.history_.column("selection_loss")


def test_a_bigger_ensemble_begins_with_the_smaller_one(bumps):
    X, y = bumps
    assert torch.equal(all_weights(quick().fit(X, y))[0], all_weights(quick(n_estimators=1, n_jobs=2).fit(X, y))[0])


def test_fitting_does_not_touch_the_users_module(bumps):
    mine = torch.nn.Conv1d(1, 6, 5, padding=2)
    before = {name: value.clone() for name, value in mine.state_dict().items()}
    clf = quick(backbone=mine).fit(*bumps)
    assert all(torch.equal(before[name], value) for name, value in mine.state_dict().items())
    assert clf.networks_[0].backbone is not mine


@pytest.mark.slow
def test_an_ensemble_in_a_worker_has_the_weights_it_has_anywhere(bumps):
    X, y = bumps
    alone, in_workers = (
        cross_val_predict(quick(n_estimators=2, n_jobs=-1), X, y, cv=2, n_jobs=n_jobs, method="predict_proba")
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(in_workers, alone)


# -- scikit-learn's tools


def test_grid_search_in_processes(bumps):
    X, y = bumps
    search = GridSearchCV(quick(), {"pooling": ["gap", "conjunctive"]}, cv=2, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.5


def test_pipelines_calibration_cross_validation_clone_and_pickle(bumps):
    X, y = bumps
    pipeline = make_pipeline(FunctionTransformer(np.abs), quick()).fit(X[:, 0], y)
    assert pipeline.predict_proba(X[:, 0]).shape == (40, 2)
    assert cross_val_predict(quick(), X, y, cv=2).shape == (40,)
    calibrated = CalibratedClassifierCV(quick(), cv=2).fit(X, y)
    assert calibrated.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    copy = clone(quick(n_epochs=7))
    assert copy.n_epochs == 7
    trained = quick().fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(trained)).predict_proba(X), trained.predict_proba(X))


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [3, 17], [-1, 1], [False, True], [2.0, 5.0]],
    ids=str,
)
def test_labels_of_any_type_come_back(bumps, labels):
    X, y = bumps
    y = np.asarray(labels)[(y == "bump").astype(int)]
    predicted = quick(n_epochs=8).fit(X, y).predict(X)
    assert (predicted == y).all()
    assert predicted.dtype == y.dtype


def test_every_container_gives_the_same_predictions(bumps, fitted):
    X, _ = bumps
    expected = fitted.predict_proba(X)
    for same in (
        X[:, 0],
        list(X),
        [series[0] for series in X],
        torch.from_numpy(X),
        pd.DataFrame(X[:, 0]).to_numpy(),
    ):
        assert fitted.predict_proba(same) == pytest.approx(expected, abs=1e-6)


def test_real_data_of_other_libraries_forms(aeon_data):
    train = millet.load_file(aeon_data / "JapaneseVowels" / "JapaneseVowels_TRAIN.ts")
    clf = quick("lite", n_epochs=2, batch_size=32).fit(train.X, train.y)
    assert clf.n_channels_in_ == 12
    assert clf.explain(train.X[:5]).completeness_error().max() < 1e-5


# -- parameters


def test_several_channels_are_normalised_where_that_predicts_better(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    levels = rng.normal(size=(24, 2, 40)) * np.where(y == 1, 3, 1)[:, None, None]
    kept = quick(warm_start=True).fit(levels, y)
    assert not kept.normalises_
    kept.save(tmp_path / "model")
    assert np.array_equal(MilletClassifier.load(tmp_path / "model").logits(levels), kept.logits(levels))
    assert not kept.fit(rng.normal(size=(24, 2, 40)), y).normalises_, "networks that go on see what they saw"
    assert quick().fit(levels[:, :1], y).normalises_, "one channel is normalised, as in the paper"
    assert quick().fit(1e300 * levels, y).normalises_, "too large to be scaled"


@pytest.mark.parametrize("units", [1e-9, 1e6])
def test_units_of_several_channels_do_not_matter(units):
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    levels = rng.normal(size=(24, 2, 40)) * np.where(y == 1, 3, 1)[:, None, None]
    other_units = levels * [[1.0], [units]] + [[5.0], [7 * units]]
    same, other = (quick().fit(X, y) for X in (levels, other_units))
    assert not other.normalises_
    assert other.logits(other_units) == pytest.approx(same.logits(levels), abs=1e-3)


def test_warm_start_goes_on_and_adds_members(bumps):
    X, y = bumps
    clf = quick(warm_start=True, n_epochs=4).fit(X, y)
    cold = clf.history_[0].selection_loss
    clf.set_params(n_estimators=2).fit(X, y)
    assert len(clf.networks_) == 2
    first, second = clf.history_[0], clf.history_[4]
    assert (first.member, second.member) == (0, 1)
    assert first.selection_loss < cold / 2, "the first member went on from where it was"
    assert second.selection_loss > first.selection_loss, "the second began anew"
    with pytest.raises(SeriesError, match="warm_start"):
        clf.fit(np.repeat(X, 2, axis=1), y)


@pytest.mark.parametrize(
    ("name", "value"),
    [("backbone", "lite"), ("pooling", "additive"), ("padding", "zeros"), ("positions", False), ("dropout", 0.5)],
)
def test_what_was_fitted_is_saved_and_not_what_was_set_since(bumps, tmp_path, name, value):
    X, y = bumps
    clf = quick(n_epochs=1).fit(X, y)
    logits, method = clf.logits(X), clf.explain(X).method
    clf.set_params(**{name: value})
    assert np.array_equal(clf.logits(X), logits)
    clf.save(tmp_path)
    loaded = MilletClassifier.load(tmp_path)
    assert np.array_equal(loaded.logits(X), logits)
    assert loaded.explain(X).method == method == clf.explain(X).method == "conjunctive"
    assert getattr(loaded, name) != value
    with pytest.raises(ParameterError, match=f"networks of the previous fit, and {name} was changed since"):
        clf.set_params(warm_start=True).fit(X, y)


def test_a_warm_start_sees_series_prepared_as_before(bumps):
    clf = quick("lite", n_epochs=1, warm_start=True).fit(*bumps)
    with pytest.raises(ParameterError, match="and normalise was changed since"):
        clf.set_params(normalise=False).fit(*bumps)


def test_members_share_their_series_and_no_evidence_is_held_twice(bumps):
    clf = quick("lite", n_epochs=1, n_estimators=2).fit(*bumps)
    explanation = clf.explain(bumps[0], members=True)
    assert all(member.series is explanation.series for member in explanation.members)
    tracemalloc.start()
    kept = clf.explain(np.tile(bumps[0], (8, 1, 40)))
    size, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size >= kept.scores.nbytes + kept.contributions.nbytes + kept.series.nbytes
    assert peak < 1.6 * size, "what is computed is handed over, not copied"


def test_a_warm_start_drops_no_member(bumps):
    clf = quick("lite", n_epochs=1, n_estimators=2, warm_start=True).fit(*bumps)
    with pytest.raises(ParameterError, match="n_estimators=1 would drop some"):
        clf.set_params(n_estimators=1).fit(*bumps)
    assert len(clf.networks_) == 2


def test_floats_of_numpy_are_saved_and_checkpointed(bumps, tmp_path):
    recipe = Recipe(n_epochs=np.int32(1), weight_decay=np.float32(0.5))
    clf = quick("lite", recipe=recipe, learning_rate=np.float32(0.5), n_epochs=None, checkpoint_dir=tmp_path / "c")
    clf.set_params(early_stopping=True, validation_fraction=np.float32(0.25)).fit(*bumps).save(tmp_path / "model")
    assert MilletClassifier.load(tmp_path / "model").learning_rate == 0.5


def test_weights_that_the_last_step_ruined_are_not_kept(bumps):
    X, y = bumps
    few = [*np.flatnonzero(y == "bump")[:4], *np.flatnonzero(y != "bump")[:4]]
    # A step an epoch: its loss was computed before the weights were ruined.
    clf = quick("fcn", recipe="fast", learning_rate=1e12, batch_size=8, n_epochs=1, precision="32-true")
    with pytest.raises(TrainingError, match="ended with has no finite loss"):
        clf.fit(X[few], y[few])


def test_a_warm_start_knows_the_same_number_of_numpy(bumps):
    clf = quick("lite", n_epochs=1, dropout=0.5, warm_start=True).fit(*bumps)
    clf.set_params(dropout=np.float64(0.5)).fit(*bumps)


def test_numbers_of_numpy_may_be_parameters(bumps, tmp_path):
    X, y = bumps
    codes = (y == "bump").astype(np.int64)
    parameters = {"class_weight": dict(zip(np.unique(codes), [1.0, 2.0], strict=True)), "n_epochs": np.int64(1)}
    clf = quick("lite", **parameters, batch_size=np.int64(8), checkpoint_dir=tmp_path / "run").fit(X, codes)
    clf.save(tmp_path / "model")
    loaded = MilletClassifier.load(tmp_path / "model")
    assert loaded.class_weight == {0: 1.0, 1: 2.0}
    assert np.array_equal(loaded.logits(X), clf.logits(X))
    recipe = Recipe(n_epochs=np.int64(1), batch_size=np.int64(8))
    quick("lite", n_epochs=None, recipe=recipe).fit(X, codes).save(tmp_path / "other")
    assert MilletClassifier.load(tmp_path / "other").recipe == recipe


def test_trainings_in_threads_do_not_disturb_each_other(bumps):
    X, y = bumps
    alone = quick("lite", n_epochs=2).fit(X, y).logits(X)
    with joblib.parallel_config("threading"):
        found = joblib.Parallel(n_jobs=4)(joblib.delayed(quick("lite", n_epochs=2).fit)(X, y) for _ in range(4))
    for clf in found:
        assert np.array_equal(clf.logits(X), alone)


def test_a_fit_that_was_refused_leaves_the_checkpoint_folder_free(bumps, tmp_path):
    X, y = bumps
    with pytest.raises(UnknownNameError, match="Did you mean 'conjunctive'"):
        quick("lite", "conjuctive", checkpoint_dir=tmp_path / "run").fit(X, y)
    with pytest.raises(ParameterError, match="early_stopping can't set"):
        quick("lite", early_stopping=True, validation_fraction=0.01, checkpoint_dir=tmp_path / "run").fit(X, y)
    assert not (tmp_path / "run").exists()
    quick("lite", n_epochs=1, checkpoint_dir=tmp_path / "run").fit(X, y)
    for checkpoint in (tmp_path / "run").glob("member-*"):
        checkpoint.unlink()
    with pytest.raises(StorageError, match="another run"):
        quick("lite", n_epochs=1, learning_rate=0.1, checkpoint_dir=tmp_path / "run").fit(X, y)
    with pytest.raises(TrainingError, match="not finite in the first epoch"):
        quick("lite", n_epochs=1, learning_rate=1e30, checkpoint_dir=tmp_path / "failed").fit(X, y)
    quick("lite", n_epochs=1, checkpoint_dir=tmp_path / "failed").fit(X, y)
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="checkpoint_dir must be a folder"):
        quick("lite", n_epochs=1, checkpoint_dir=tmp_path / "file").fit(X, y)


def test_loading_leaves_the_random_generator_alone(bumps, tmp_path):
    quick("lite", n_epochs=1).fit(*bumps).save(tmp_path)
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    MilletClassifier.load(tmp_path)
    assert torch.rand(1) == expected


def test_a_backbone_with_shared_weights_is_saved(bumps, tmp_path):
    class Shared(nn.Module):
        d_out = 4

        def __init__(self, n_channels):
            super().__init__()
            self.first = nn.Conv1d(n_channels, 4, 3, padding=1)
            self.second = self.first

        def forward(self, x):
            return self.first(x) + self.second(x)

    X, y = bumps
    clf = quick(Shared, n_epochs=1).fit(X, y)
    clf.save(tmp_path)
    assert np.array_equal(MilletClassifier.load(tmp_path, backbone=Shared).logits(X), clf.logits(X))


def test_gradients_that_are_off_outside_are_on_in_training(bumps):
    expected = quick("lite", n_epochs=1).fit(*bumps).logits(bumps[0])
    for off in (torch.no_grad, torch.inference_mode):
        with off():
            clf = quick("lite", n_epochs=1).fit(*bumps)
        assert np.array_equal(clf.logits(bumps[0]), expected)


def test_a_model_that_was_refused_is_not_fitted(bumps):
    X, y = bumps
    frame = pd.DataFrame(X[:, 0], columns=[f"t{t}" for t in range(50)])
    clf = quick("lite", n_epochs=1)
    with pytest.raises(LabelError):
        clf.fit(frame, np.zeros(40))
    with pytest.raises(NotFittedError):
        clf.predict(frame)
    clf.fit(frame, y)
    with pytest.raises(LabelError):
        clf.fit(frame.rename(columns=str.upper), np.zeros(40))
    assert clf.feature_names_in_[0] == "t0", "that of the fit that was not refused"
    clf.predict(frame)


def test_nested_frames_have_channels_and_no_features(bumps):
    X, y = bumps
    nested = pd.DataFrame({"up": [pd.Series(row) for row in X[:, 0]], "down": [pd.Series(-row) for row in X[:, 0]]})
    clf = millet.RocketMilletClassifier(random_state=0, verbose=0).fit(nested, y)
    assert not hasattr(clf, "n_features_in_")
    assert clf.n_channels_in_ == 2
    both = np.stack([X[:, 0], -X[:, 0]], axis=1)
    assert np.array_equal(clf.logits(both), clf.logits(nested))


def test_channels_of_frames_are_told_apart_by_their_names(bumps, tmp_path):
    X, y = bumps
    frames = [pd.DataFrame({"up": row, "down": -row}) for row in X[:, 0]]
    clf = quick("lite", n_epochs=1).fit(frames, y)
    clf.save(tmp_path)
    swapped = [frame[["down", "up"]] for frame in frames]
    for fitted in (clf, MilletClassifier.load(tmp_path)):
        fitted.predict(frames)
        fitted.predict([frame.to_numpy().T for frame in frames])
        with pytest.raises(SeriesError, match=r"must be those of the training series .*'up', 'down'.*'down', 'up'"):
            fitted.predict(swapped)
    with pytest.raises(SeriesError, match=r"case 1 has \['down', 'up'\]"):
        clf.predict([frames[0], swapped[1]])
    nested = pd.DataFrame({"down": [pd.Series(-row) for row in X[:, 0]], "up": [pd.Series(row) for row in X[:, 0]]})
    with pytest.raises(SeriesError, match="must be those of the training series"):
        clf.predict(nested)
    single = quick("lite", n_epochs=1).fit([frame[["up"]] for frame in frames], y)
    single.predict([frame[["up"]].rename(columns={"up": f"case {n}"}) for n, frame in enumerate(frames)])


def test_arrays_beside_a_frame_are_not_asked_for_names(bumps):
    X, y = bumps
    frame = pd.DataFrame(X[:, 0], columns=[f"t{t}" for t in range(50)])
    clf = quick("lite", n_epochs=1).fit(frame, y)
    clf.predict(X)  # a warning would be an error here
    clf.predict(list(X))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        clf.predict(X[:, 0])


def test_a_callback_may_answer_with_numpys_truth(bumps):
    clf = quick("lite", n_epochs=4, callbacks=[lambda record: np.float64(record.train_loss) < 100]).fit(*bumps)
    assert len(clf.history_) == 1


@pytest.mark.parametrize("callbacks", [None, print, iter([print])])
def test_callbacks_are_a_list(bumps, callbacks):
    with pytest.raises(ParameterError, match="callbacks must be a list"):
        quick("lite", callbacks=callbacks).fit(*bumps)


def test_values_beyond_the_network_are_refused(bumps):
    clf = quick(n_epochs=1, normalise=False).fit(*bumps)
    for ask in (clf.predict, clf.predict_proba, clf.explain):
        with pytest.raises(SeriesError, match="logits of case 1 are not finite: its values are too large"):
            ask(bumps[0][:2] * np.array([1.0, 3e37])[:, None, None])


def test_a_device_that_is_not_there_is_refused_after_fitting_too(bumps):
    clf = quick("lite", n_epochs=1).fit(*bumps).set_params(device="gpu")
    with pytest.raises(UnknownNameError, match="device"):
        clf.predict(bumps[0])


def test_class_weight_moves_predictions_to_the_heavy_class():
    rng = np.random.default_rng(1)
    noise, y = rng.normal(size=(60, 1, 20)), np.repeat([0, 1], [50, 10])
    plain = quick(n_epochs=2).fit(noise, y).predict_proba(noise)[:, 1].mean()
    heavy = quick(n_epochs=2, class_weight={0: 1, 1: 50}).fit(noise, y).predict_proba(noise)[:, 1].mean()
    assert heavy > plain
    quick(n_epochs=1, class_weight="balanced").fit(noise, y)
    with pytest.raises(ParameterError, match="class_weight"):
        quick(class_weight="balancd").fit(noise, y)
    with pytest.raises(ParameterError, match="above 0 for at least one class"):
        quick(class_weight={0: 0, 1: 0}).fit(noise, y)


def test_early_stopping_keeps_cases_aside(bumps):
    X, y = bumps
    clf = quick(n_epochs=40, early_stopping=True, validation_fraction=0.25, n_iter_no_change=2).fit(X, y)
    assert len(clf.history_) <= 40
    with pytest.raises(ParameterError, match="early_stopping can't set"):
        quick(early_stopping=True).fit(X[[0, 1, 2, 20]], y[[0, 1, 2, 20]])


def test_a_recipe_object_with_changes(bumps):
    clf = quick(recipe=Recipe(n_epochs=50, schedule="one-cycle"), n_epochs=4).fit(*bumps)
    assert len(clf.history_) == 4
    assert clf.history_[-1].learning_rate < 0.001


def test_checkpoints_of_another_run_are_not_mixed_up(bumps, tmp_path):
    X, y = bumps
    quick(checkpoint_dir=tmp_path).fit(X, y)
    again = quick(checkpoint_dir=tmp_path).fit(X, y)
    assert again.score(X, y) >= 0
    for name, value in {"n_epochs": 4, "random_state": 5, "pooling": "gap", "max_time": 60}.items():
        with pytest.raises(StorageError, match=rf"another run \(different: {name}\)"):
            quick(**{"checkpoint_dir": tmp_path, name: value}).fit(X, y)
    with pytest.raises(StorageError, match="different: data"):
        quick(checkpoint_dir=tmp_path).fit(X + 1, y)


def test_checkpoints_that_began_with_other_weights_are_not_taken_up(bumps, tmp_path):
    X, y = bumps
    clf = quick(checkpoint_dir=tmp_path / "warm", warm_start=True).fit(X, y)
    with pytest.raises(StorageError, match="different: initial weights"):
        clf.fit(X, y)
    one, other = (fresh_lite(seed) for seed in (0, 1))
    first = quick(one, checkpoint_dir=tmp_path / "own").fit(X, y).logits(X)
    np.testing.assert_array_equal(quick(one, checkpoint_dir=tmp_path / "own").fit(X, y).logits(X), first)
    with pytest.raises(StorageError, match="different: initial weights"):
        quick(other, checkpoint_dir=tmp_path / "own").fit(X, y)


def fresh_lite(seed):
    torch.manual_seed(seed)
    return Lite(1)


def test_an_unseeded_run_resumes_with_its_own_seeds(bumps, tmp_path):
    X, y = bumps
    first = quick(random_state=None, checkpoint_dir=tmp_path).fit(X, y)
    second = quick(random_state=None, checkpoint_dir=tmp_path).fit(X, y)
    assert torch.equal(all_weights(first)[0], all_weights(second)[0])


def test_a_memory_map_is_never_loaded_whole(tmp_path):
    import tracemalloc

    path = tmp_path / "large.npy"
    large = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(20_000, 1, 500))
    large[:64] = np.random.default_rng(0).normal(size=(64, 1, 500))
    large[:, 0, ::7] += 1
    y = np.arange(20_000) % 2

    X = np.load(path, mmap_mode="r")
    tracemalloc.start()
    clf = quick("lite", max_time=0.5, n_epochs=1, batch_size=16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(X[:2_000], y[:2_000])
    small = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    clf._bags(X)
    large_peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert small < 60e6
    assert large_peak < 80e6, "40 MB of values were judged without being held"


# -- bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_epochs": -1}, "n_epochs must be an integer of at least 1"),
        ({"n_epochs": 0}, "n_epochs"),
        ({"n_estimators": 0}, "n_estimators"),
        ({"batch_size": -4}, "batch_size"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"max_time": 0}, "max_time"),
        ({"validation_fraction": 1.5}, "validation_fraction"),
        ({"n_iter_no_change": 0}, "n_iter_no_change"),
        ({"dropout": 1.0}, "dropout"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"callbacks": [42]}, "callbacks"),
        ({"normalise": "yes"}, "normalise"),
        ({"early_stopping": "no"}, "early_stopping must be True or False"),
        ({"warm_start": "no"}, "warm_start must be True or False"),
        ({"positions": "no"}, "positions must be True or False"),
    ],
)
def test_bad_parameters_are_refused_before_training(bumps, parameters, message):
    with pytest.raises(ParameterError, match=message):
        quick(**parameters).fit(*bumps)


@pytest.mark.parametrize(
    ("parameters", "suggestion"),
    [
        ({"backbone": "inceptontime"}, "inceptiontime"),
        ({"pooling": "conjuctive"}, "conjunctive"),
        ({"padding": "replicat"}, "replicate"),
        ({"recipe": "papr"}, "paper"),
        ({"device": "cppu"}, "cpu"),
    ],
)
def test_unknown_names_are_refused_with_a_suggestion(bumps, parameters, suggestion):
    with pytest.raises(UnknownNameError, match=f"Did you mean '{suggestion}'"):
        quick(**parameters).fit(*bumps)


def _with(X, position, value):
    X = X.copy()
    X[position] = value
    return X


BAD_DATA = {
    "one class": (lambda X, y: (X, np.zeros(40)), LabelError, "only one class"),
    "empty": (lambda X, y: (X[:0], y[:0]), SeriesError, "0 sample"),
    "infinity": (lambda X, y: (_with(X, (3, 0, 4), np.inf), y), SeriesError, "infinity .case 3."),
    "all NaN": (lambda X, y: (_with(X, 5, np.nan), y), SeriesError, "Case 5 has no observed value"),
    "label NaN": (lambda X, y: (X, np.where(np.arange(40) == 2, np.nan, 1.0)), LabelError, "missing label"),
    "too few labels": (lambda X, y: (X, y[:-1]), LabelError, "40 series, but 39 labels"),
    "objects": (lambda X, y: ([{"a": 1}] * 40, y), SeriesError, "Case 0"),
    "strings": (lambda X, y: (["abc"] * 40, y), SeriesError, "Case 0"),
    "one timepoint": (lambda X, y: (X[:, :, :1], y), SeriesError, "at least 2"),
    "continuous": (lambda X, y: (X, np.linspace(0.1, 0.9, 40)), LabelError, "continuous"),
}


@pytest.mark.parametrize("kind", BAD_DATA)
def test_bad_data_is_refused_before_training(bumps, kind, monkeypatch):
    monkeypatch.setattr("millet.classifier.fit_members", lambda *_: pytest.fail("training began"))
    spoil, error, message = BAD_DATA[kind]
    with pytest.raises(error, match=message):
        quick().fit(*spoil(*bumps))


def test_odd_but_usable_data_is_used(bumps):
    X, y = bumps
    for odd, labels in (
        (_with(X, 3, 7.0), y),  # a constant series
        (X[[0, 1, 2, 3, 25]], y[[0, 1, 2, 3, 25]]),  # a class with one case
        (X[[0, 25]], y[[0, 25]]),  # as many cases as classes
        (X[:, :, :2], y),  # two timepoints
        (_with(X, (slice(None), 0, slice(30, None)), np.nan), y),
    ):
        assert np.isfinite(quick().fit(odd, labels).logits(odd)).all()


def test_columns_that_can_not_be_remembered_are_refused_before_training(bumps, monkeypatch):
    monkeypatch.setattr("millet.classifier.fit_members", lambda *_: pytest.fail("training began"))
    frame = pd.DataFrame(bumps[0][:, 0]).rename(columns={0: "first"})
    with pytest.raises(MilletError, match="columns can't be remembered"):
        quick().fit(frame, bumps[1])


@pytest.mark.parametrize(("name", "value"), [("device", "gpu"), ("device", "cuda:7"), ("precision", "32 bits")])
def test_hardware_that_is_not_known_is_refused(bumps, tmp_path, name, value):
    with pytest.raises(UnknownNameError, match=f"Unknown {name}"):
        quick(**{name: value}, checkpoint_dir=tmp_path / "run").fit(*bumps)
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there_is_refused_before_training(bumps):
    with pytest.raises(ParameterError, match=r"device='cuda' is not there.*device='auto'"):
        quick(device="cuda").fit(*bumps)


def test_logarithms_of_probabilities_do_not_underflow(fitted, bumps):
    X, _ = bumps
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), fitted.predict_proba(X), rtol=1e-12)
    sure = np.array([[0.0, 2000.0]])
    fitted = copy.copy(fitted)
    fitted.logits = lambda X: sure
    assert fitted.predict_log_proba(X[:1]).tolist() == [[-2000.0, 0.0]]


def test_other_lengths_are_fine_at_predict_time_other_channels_are_not(bumps, fitted):
    X, _ = bumps
    assert fitted.predict(X[:, :, :33]).shape == (40,)
    assert fitted.predict([X[0, 0, :20], X[1, 0, :41]]).shape == (2,)
    with pytest.raises(SeriesError, match="X has 2 channels"):
        fitted.predict(np.repeat(X, 2, axis=1))


def test_the_interpretation_is_named_after_the_users_pooling(bumps):
    clf = quick(pooling=ConjunctivePooling, n_epochs=1).fit(*bumps)
    assert clf.explain(bumps[0][:2]).method == "ConjunctivePooling"


class ScaledPooling(Pooling):
    """Instance pooling that claims `factor` times the contributions that it has; a few large ones cancel."""

    factor = 1.0

    def forward(self, z, valid=None):
        said = self.classify(z).transpose(1, 2)
        if valid is not None:
            said = said * valid[:, None]
        n_own = said.shape[2] if valid is None else valid.sum(dim=1)[:, None]
        large = torch.zeros_like(said)
        large[:, :, 0], large[:, :, 1] = 1e3, -1e3
        return BagOutput(said.sum(dim=2) / n_own, said, None, (said + large) * self.factor, said.new_zeros(2))


@pytest.mark.parametrize("n_estimators", [1, 2])
def test_contributions_of_poolings_of_ones_own_that_do_not_add_up_are_warned_of(bumps, n_estimators, monkeypatch):
    X, y = bumps
    clf = quick(pooling=ScaledPooling, n_epochs=3, n_estimators=n_estimators).fit(X, y)
    series = [X[0], X[1][:, :20]]
    right = clf.explain(series)  # warnings are errors
    monkeypatch.setattr(ScaledPooling, "factor", 2.0)
    expected = np.abs(right.rebuilt_logits()).max()
    with pytest.warns(UserWarning, match="contributions of ScaledPooling do not add up.* must be the logit") as said:
        wrong = clf.explain(series)
    assert f"up to {expected:.2g} away" in str(said[0].message)
    assert said[0].filename == __file__
    np.testing.assert_array_equal(wrong.logits, right.logits)


def test_evidence_of_millets_own_poolings_is_not_checked_again(bumps, monkeypatch):
    monkeypatch.setattr(Explanation, "completeness_error", lambda self: pytest.fail("it was checked"))
    for pooling in ("conjunctive", ConjunctivePooling):
        quick(pooling=pooling, n_epochs=1).fit(*bumps).explain(bumps[0][:2])


class NotFinite(torch.nn.Module):
    def __init__(self, n_channels):
        super().__init__()
        self.embed = torch.nn.Conv1d(n_channels, 4, 1)

    def forward(self, x):
        return self.embed(x) * torch.nan


def test_a_loss_that_is_not_finite_is_blamed_on_parts_of_ones_own_too(bumps):
    with pytest.raises(TrainingError, match=r"Lower learning_rate.* Or the backbone NotFinite makes values that are"):
        quick(NotFinite, n_epochs=1).fit(*bumps)
    with pytest.raises(TrainingError, match=r"Or the backbone NotFinite or the pooling ScaledPooling makes"):
        quick(NotFinite, ScaledPooling, n_epochs=1).fit(*bumps)
    with pytest.raises(TrainingError, match=r"set normalise=True\.$"):
        quick("lite", n_epochs=1, learning_rate=1e30).fit(*bumps)


def test_a_millet_error_is_also_a_value_error():
    assert issubclass(SeriesError, MilletError)
    assert issubclass(SeriesError, ValueError)


@pytest.mark.parametrize(
    ("recipe", "asked", "has_bf16", "computed_in"),
    [
        ("fast", None, True, "bf16-mixed"),
        ("fast", None, False, "32-true"),
        ("fast", "32-true", True, "32-true"),
        ("paper", None, True, "32-true"),
        ("paper", "auto", True, "bf16-mixed"),
    ],
)
def test_the_recipe_says_what_to_compute_in_unless_the_user_does(
    bumps, monkeypatch, recipe, asked, has_bf16, computed_in
):
    monkeypatch.setattr(fitting, "_computes_in_bf16", lambda device: has_bf16)
    clf = quick("lite", recipe=recipe, precision=asked, device="cpu", n_epochs=1).fit(*bumps)
    assert clf.training_summary_["precision"] == computed_in
    assert {parameter.dtype for parameter in clf.networks_[0].parameters()} == {torch.float32}
    logits, explanation = clf.logits(bumps[0]), clf.explain(bumps[0])
    np.testing.assert_allclose(explanation.contributions.mean(2) + explanation.bias, logits, atol=1e-6)


def test_a_training_is_not_resumed_in_another_precision(bumps, monkeypatch, tmp_path):
    quick("lite", checkpoint_dir=tmp_path, precision="auto", device="cpu").fit(*bumps)
    here = fitting.choose_hardware("cpu", "auto")[1]
    monkeypatch.setattr(fitting, "_computes_in_bf16", lambda device: here == "32-true")
    with pytest.raises(StorageError, match="different: computes in"):
        quick("lite", checkpoint_dir=tmp_path, precision="auto", device="cpu").fit(*bumps)


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_a_network_of_double_precision_goes_on_in_a_lower_one(bumps, precision):
    clf = quick("lite", precision="64-true", warm_start=True, n_epochs=1, device="cpu").fit(*bumps)
    clf.set_params(precision=precision).fit(*bumps)
    assert {parameter.dtype for parameter in clf.networks_[0].parameters()} == {torch.float32}


# -- training that ended too early


def unlearnable(n_cases=8):
    """Cases of two classes that are all the same."""
    return np.tile(np.sin(np.arange(12.0)), (n_cases, 1)), np.arange(n_cases) % 2


def test_fit_warns_where_a_recipe_ended_before_much_was_learnt():
    X, y = unlearnable()
    with pytest.warns(ConvergenceWarning, match=r"loss of 0\.\d\d .* guessing has 0\.69: little was learnt") as found:
        clf = MilletClassifier("lite", random_state=0, verbose=0).fit(X, y)
    assert found[0].filename == __file__
    assert clf.training_summary_["kept_loss"] == [clf.history_[-1].train_loss]


def test_guessing_follows_the_weights_of_classes():
    X, y = unlearnable(9)
    with pytest.warns(ConvergenceWarning, match=r"guessing has 0\.37"):  # the entropy of 5 and 36
        MilletClassifier("lite", class_weight={0: 1, 1: 9}, random_state=0, verbose=0).fit(X, y)


@pytest.mark.parametrize("chosen", [{"n_epochs": 150}, {"recipe": Recipe(n_epochs=3)}, {"max_time": 0.05}])
def test_fit_does_not_warn_where_the_user_chose_how_long_to_train(chosen):
    X, y = unlearnable()
    MilletClassifier("lite", random_state=0, verbose=0, **chosen).fit(X, y)  # warnings are errors here


def test_fit_does_not_warn_where_the_cases_were_learnt():
    X, y = unlearnable()
    X = X + np.outer(y, np.linspace(0, 9, 12))
    assert MilletClassifier("lite", random_state=0, verbose=0).fit(X, y).score(X, y) == 1.0


OWN_MODULE = """
import torch

class Base(torch.nn.Module):
    scale = {"relu", "elu", "gelu", "tanh"}
    def __init__(self, n_channels):
        super().__init__()
        self.convolution = torch.nn.Conv1d(n_channels, 4, 5, padding=2)
    @staticmethod
    def activate(x):
        return torch.ACTIVATION(x)  # a comment

class Own(Base):
    def forward(self, x):
        return self.activate(self.convolution(x))
"""


def code_fingerprint(tmp_path, activation, hash_seed="0", comment="a comment"):
    (tmp_path / "own_part.py").write_text(OWN_MODULE.replace("ACTIVATION", activation).replace("a comment", comment))
    code = (
        "from millet.fitting import _given_code; from millet.nn import MilletNetwork; from own_part import Own; "
        "print(_given_code(MilletNetwork(1, 2, Own))['code of your own'])"
    )
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.slow
def test_the_fingerprint_of_ones_own_code_follows_what_is_written_and_nothing_else(tmp_path):
    first = code_fingerprint(tmp_path, "relu")
    assert code_fingerprint(tmp_path, "relu", hash_seed="1", comment="another one") == first
    assert code_fingerprint(tmp_path, "tanh") != first, "in a static method of a base class"


def test_a_backbone_that_was_edited_is_not_given_the_weights_of_its_old_code(bumps, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def fit(activation):
        (tmp_path / "own_part.py").write_text(OWN_MODULE.replace("ACTIVATION", activation))
        monkeypatch.delitem(sys.modules, "own_part", raising=False)
        importlib.invalidate_caches()
        settings = {"n_epochs": 2, "n_jobs": 1, "random_state": 0, "verbose": 0, "checkpoint_dir": tmp_path / "run"}
        return MilletClassifier(importlib.import_module("own_part").Own, **settings).fit(*bumps)

    first, again = fit("relu"), fit("relu")
    assert all(map(torch.equal, first.networks_[0].state_dict().values(), again.networks_[0].state_dict().values()))
    with pytest.raises(StorageError, match=r"another run \(different: code of your own\)"):
        fit("sigmoid")


def test_a_checkpoint_of_another_network_is_refused_in_words(bumps, tmp_path):
    settings = {"n_epochs": 2, "n_jobs": 1, "random_state": 0, "verbose": 0}
    MilletClassifier("fcn", checkpoint_dir=tmp_path / "a", **settings).fit(*bumps)
    MilletClassifier("lite", checkpoint_dir=tmp_path / "b", **settings).fit(*bumps)
    shutil.copy(tmp_path / "b" / "member-0.safetensors", tmp_path / "a" / "member-0.safetensors")
    with pytest.raises(StorageError, match="the checkpoint of another network"):
        MilletClassifier("fcn", checkpoint_dir=tmp_path / "a", **settings).fit(*bumps)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("pooling", ["conjunctive", "gap", "additive", "instance"])
def test_evidence_adds_up_in_half_precision_too(pooling, dtype, bumps):
    explanation = MilletClassifier.of_networks(MilletNetwork(1, 2, "fcn", pooling).to(dtype)).explain(bumps[0])
    assert explanation.completeness_error().max() < 1e-5 * max(1, np.abs(explanation.logits).max())


def test_a_network_in_half_precision_has_gradients_of_all_its_weights_in_inference_mode_too():
    network = MilletNetwork(1, 2, "fcn").to(torch.bfloat16).eval()
    network(torch.randn(2, 1, 20, dtype=torch.bfloat16)).logits.sum().backward()
    assert all(weight.grad is not None for weight in network.parameters())


def test_a_backbone_may_compute_in_a_higher_precision_than_its_input():
    class Double(torch.nn.Conv1d):
        def forward(self, x):
            return super().forward(x.double())

    network = MilletNetwork(1, 2, Double(1, 4, 3, padding=1).double())
    network.pooling.double()
    assert network.eval()(torch.randn(2, 1, 20)).logits.dtype == torch.float64


@pytest.mark.parametrize("random_state", ["x", -1, np.random.default_rng(0)])
@pytest.mark.parametrize("make", [partial(MilletClassifier, "lite", n_epochs=1), RocketMilletClassifier])
def test_a_random_state_that_is_none_is_refused_in_words(make, random_state, bumps):
    with pytest.raises(ParameterError, match="random_state must be None"):
        make(random_state=random_state, verbose=0).fit(*bumps)


def test_a_folder_for_checkpoints_must_be_a_path(bumps):
    with pytest.raises(ParameterError, match="checkpoint_dir must be the path"):
        MilletClassifier("lite", n_epochs=1, checkpoint_dir=3, verbose=0).fit(*bumps)


def test_rows_that_are_timepoints_are_noticed(bumps):
    clf = MilletClassifier("lite", n_epochs=1, random_state=0, verbose=0).fit(*bumps)
    with pytest.warns(UserWarning, match="a row of X is a case, not a timepoint"):
        clf.predict(bumps[0][0].T[:, None])
    long = pd.DataFrame({"x": [1.0, 5, 2, 7, 3, 4]}, index=pd.MultiIndex.from_product([range(2), range(3)]))
    with pytest.raises(SeriesError, match=r"reset_index\(drop=True\).*groupby\(level=0\)"):
        clf.fit(long, [0, 1])
    clf.fit([case.droplevel(0) for _, case in long.groupby(level=0)], [0, 1])
    assert (clf.n_channels_in_, clf.n_timepoints_in_) == (1, 3)


def test_other_columns_than_in_training_are_an_error_of_millets(bumps):
    frame = pd.DataFrame(bumps[0][:, 0]).rename(columns=str)
    clf = MilletClassifier("lite", n_epochs=1, random_state=0, verbose=0).fit(frame, bumps[1])
    with pytest.raises(SeriesError, match="feature names"):
        clf.predict(frame[frame.columns[::-1]])


def test_numbers_of_unusual_kinds_are_saved_or_refused_before_training(bumps, tmp_path):
    clf = MilletClassifier("lite", n_epochs=1, learning_rate=Fraction(1, 100), random_state=0, verbose=0).fit(*bumps)
    clf.save(tmp_path / "model")
    assert load_classifier(tmp_path / "model").get_params()["learning_rate"] == 0.01
    if np.dtype(np.longdouble) != np.dtype(np.float64):
        with pytest.raises(LabelError, match="Unknown label type"):
            clf.fit(bumps[0], (bumps[1] == bumps[1][0]).astype(np.longdouble))


def test_a_number_that_no_float_can_hold_is_refused():
    with pytest.raises(SeriesError, match="no array of numbers"):
        MilletClassifier("lite", n_epochs=1, verbose=0).fit([[10**400, 2], [1, 2]], [0, 1])


def test_names_of_channels_may_be_none(bumps):
    clf = MilletClassifier("lite", n_epochs=1, random_state=0, verbose=0).fit(*bumps)
    assert clf.explain(bumps[0][:1], channel_names=None).channel_names == ("0",)
    with pytest.raises(ParameterError, match="class_names must be 2 names"):
        clf.explain(bumps[0][:1], class_names=5)

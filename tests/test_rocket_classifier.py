"""`RocketMilletClassifier`: scikit-learn's contract, evidence that adds up, and what users bring."""

import hashlib
import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import millet
from millet import MilletClassifier, RocketMilletClassifier, load_classifier
from millet.errors import LabelError, MilletError, ParameterError, SeriesError, StorageError, UnknownNameError
from millet.rocket.model import HEADS, SPREADS, TRANSFORMS

FEW = dict.fromkeys(TRANSFORMS, 600)


def quick(features="minirocket", **parameters):
    return RocketMilletClassifier(
        features, **{"n_features": FEW[features], "random_state": 0, "n_jobs": 1, "verbose": 0, **parameters}
    )


# Levels are kept, so that accuracies are checked as well.
@parametrize_with_checks([quick(features, normalise=False, random_state=None) for features in TRANSFORMS])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([RocketMilletClassifier()])
def test_scikit_learn_contract_of_the_defaults(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fitted(bumps):
    return quick().fit(*bumps)


# -- predictions and evidence


def test_it_learns_and_finds_the_bump(bumps):
    X, y = bumps
    # Normalised, a series with a bump is lower everywhere else, which tells the classes apart as well.
    fitted = quick(normalise=False).fit(X, y)
    assert fitted.score(X, y) == 1.0
    scores = fitted.explain(X).scores[:, 0]  # for the class "bump"
    difference = scores[20:].mean(axis=0) - scores[:20].mean(axis=0)
    assert difference[12:20].mean() > 1.5 * np.delete(difference, np.s_[12:20]).mean()


def test_explain_and_predict_say_the_same(bumps, fitted):
    X, _ = bumps
    explanation = fitted.explain(X)
    assert np.array_equal(explanation.predicted, fitted.predict(X))
    assert explanation.probabilities == pytest.approx(fitted.predict_proba(X), abs=1e-12)
    assert np.array_equal(explanation.series, X)
    assert explanation.classes.tolist() == ["bump", "flat"]
    assert explanation.method == "minirocket"
    assert explanation.scores is explanation.contributions
    assert explanation.channel_contributions is None


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("features", TRANSFORMS)
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_evidence_adds_up_for_unequal_series_alone_as_in_a_batch(features, head, data):
    lengths = data.draw(st.lists(st.integers(1, 60), min_size=4, max_size=6).filter(lambda found: max(found) > 2))
    n_channels, n_classes = data.draw(st.integers(1, 3)), data.draw(st.integers(2, 3))
    spread = data.draw(st.sampled_from(sorted(SPREADS)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    X = [rng.normal(size=(n_channels, length)) for length in lengths]
    X[int(np.argmax(lengths))][0, 0] = np.nan
    clf = quick(features, head=head, spread=spread).fit(X, np.arange(len(X)) % n_classes)
    together = clf.explain(X, channels=True)
    assert together.lengths.tolist() == lengths
    assert together.completeness_error().max() < 1e-5
    assert together.channel_contributions.sum(axis=2) == pytest.approx(together.contributions, abs=1e-9)
    assert together.logits == pytest.approx(clf.logits(X), abs=1e-9)
    for case, series in enumerate(X):
        alone, width = clf.explain([series]), lengths[case]
        assert alone.logits[0] == pytest.approx(together.logits[case], abs=1e-9)
        assert alone.contributions[0] == pytest.approx(together.contributions[case, :, :width], abs=1e-9)
        assert not together.contributions[case, :, width:].any()


def test_only_the_channel_that_differs_is_blamed(bumps):
    X, y = bumps
    rng = np.random.default_rng(3)
    both = np.concatenate([np.tile(rng.normal(size=(1, 1, 50)), (40, 1, 1)), X], axis=1)  # the first says nothing
    clf = quick(n_features=None).fit(both, y)
    split = clf.explain(both, channels=True).channel_contributions
    spoken = (split[20:].mean(axis=0) - split[:20].mean(axis=0))[0]  # (channel, time), for "bump"
    assert np.abs(spoken[1]).sum() > 3 * np.abs(spoken[0]).sum()


def test_heads_predict_alike_and_only_one_is_calibrated(bumps):
    X, y = bumps
    rng = np.random.default_rng(5)
    y = np.where(rng.random(40) < 0.2, y[::-1], y)  # a fifth of the labels is wrong
    ridge, multinomial = (quick(head=head).fit(X, y) for head in ("ridge", "multinomial"))
    assert np.array_equal(ridge.predict(X), multinomial.predict(X))
    assert not np.allclose(ridge.predict_proba(X), multinomial.predict_proba(X))


def test_the_spread_moves_evidence_but_no_prediction(bumps, fitted):
    X, _ = bumps
    found = [clone_fitted(fitted).set_params(spread=spread).explain(X) for spread in SPREADS]
    for other in found[1:]:
        assert np.array_equal(other.logits, found[0].logits)
        assert not np.allclose(other.contributions, found[0].contributions)
    with pytest.raises(UnknownNameError, match="Did you mean 'taps'"):
        clone_fitted(fitted).set_params(spread="tap").explain(X)


def clone_fitted(classifier):
    return pickle.loads(pickle.dumps(classifier))


def test_removed_timepoints_shorten_the_normalised_series(bumps, fitted):
    X, _ = bumps
    removed = np.zeros((40, 50), dtype=bool)
    removed[:, 30:40] = True
    whole = clone_fitted(fitted)
    whole.normalisation_ = False
    mean, deviation = X.mean(axis=2, keepdims=True), X.std(axis=2, ddof=1, keepdims=True)
    left = np.delete((X - mean) / deviation, np.s_[30:40], axis=2)
    assert fitted.logits(X, removed=removed) == pytest.approx(whole.logits(left), abs=1e-4)
    assert np.array_equal(fitted.logits(X, removed=np.zeros((40, 50), dtype=bool)), fitted.logits(X))
    with pytest.raises(ParameterError, match="leaves nothing of case 0"):
        fitted.logits(X, removed=np.ones((40, 50), dtype=bool))
    with pytest.raises(ParameterError, match=r"bool of shape \(n_cases, n_timepoints\) = \(40, 50\)"):
        fitted.logits(X, removed=removed.astype(int))


# -- reproducibility


def test_the_same_seed_gives_the_same_model_whatever_n_jobs(bumps):
    X, y = bumps
    one, two = (quick(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert np.array_equal(one.logits(X), two.logits(X))
    assert one.explain(X) == two.explain(X)
    other = quick(random_state=1).fit(X, y)
    assert not np.array_equal(one.logits(X), other.logits(X))
    stream = np.random.RandomState(0)
    assert np.array_equal(quick(random_state=stream).fit(X, y).logits(X), one.logits(X))
    assert not np.array_equal(quick(random_state=stream).fit(X, y).logits(X), one.logits(X)), "the stream went on"


def test_predictions_do_not_depend_on_how_many_cases_are_asked_about_at_once(bumps, fitted, monkeypatch):
    X, _ = bumps
    expected = fitted.explain(X)
    monkeypatch.setattr("millet.rocket_classifier.BATCH_SIZE", 7)
    assert fitted.explain(X) == expected
    assert np.array_equal(fitted.logits(X), expected.logits)


# -- scikit-learn's tools, containers, labels


def test_clone_and_grid_search_in_processes(bumps):
    assert clone(quick(head="ridge")).head == "ridge"
    search = GridSearchCV(quick(n_features=84), {"head": sorted(HEADS)}, cv=2, n_jobs=2).fit(*bumps)
    assert search.best_score_ > 0.8


@pytest.mark.parametrize("labels", [["no", "yes"], [3, 17], [False, True], [2.0, 5.0]], ids=str)
def test_labels_of_any_type_come_back(bumps, labels):
    X, y = bumps
    y = np.asarray(labels)[(y == "bump").astype(int)]
    predicted = quick().fit(X, y).predict(X)
    assert (predicted == y).all()
    assert predicted.dtype == y.dtype


def test_every_container_gives_the_same_predictions(bumps, fitted):
    X, _ = bumps
    expected = fitted.predict_proba(X)
    for same in (X[:, 0], list(X), [series[0] for series in X], pd.DataFrame(X[:, 0]).to_numpy(), X.astype("f4")):
        assert fitted.predict_proba(same) == pytest.approx(expected, abs=1e-6)


def test_real_series_of_many_channels_and_unequal_lengths(aeon_data):
    train, test = millet.load_dataset("JapaneseVowels", aeon_data)
    clf = quick(n_features=2000).fit(train.X, train.y)
    assert clf.n_channels_in_ == 12
    assert not clf.normalises_, "the level tells vowels apart"
    assert clf.score(test.X[:100], test.y[:100]) > 0.9
    assert clf.explain(test.X[:5], channels=True).completeness_error().max() < 1e-5


def test_levels_are_taken_away_where_they_tell_nothing_and_kept_where_they_do(monkeypatch, tmp_path):
    monkeypatch.setattr("millet.rocket.normalising.MOST_CASES", 30)
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    shapes = rng.normal(size=(40, 2, 60))
    shapes[y == 1, 0, 20:30] += 3
    gains = rng.lognormal(0, 3, size=(40, 2, 1)) * shapes + rng.normal(0, 100, size=(40, 2, 1))
    assert quick().fit(gains, y).normalises_
    levels = rng.normal(size=(40, 2, 60)) * np.where(y == 1, 3, 1)[:, None, None]
    kept = quick().fit(levels, y)
    assert not kept.normalises_
    kept.save(tmp_path / "model")
    assert np.array_equal(load_classifier(tmp_path / "model").logits(levels), kept.logits(levels))
    assert quick().fit(levels[:, :1], y).normalises_, "one channel is normalised, as in the paper"
    assert np.allclose(quick().fit(1e31 * levels, y).logits(1e31 * levels), kept.logits(levels)), (
        "units do not matter"
    )
    assert quick().fit(1e300 * levels, y).normalises_, "too large to be scaled"
    assert not quick(normalise=False).fit(gains, y).normalises_


def test_a_memory_map_can_be_classified(bumps, fitted, tmp_path):
    X, _ = bumps
    np.save(tmp_path / "X.npy", X)
    assert np.array_equal(fitted.logits(np.load(tmp_path / "X.npy", mmap_mode="r")), fitted.logits(X))


def test_it_needs_no_torch(tmp_path):
    code = (
        "import sys, numpy as np, millet\n"
        "X, y = np.random.default_rng(0).normal(size=(8, 1, 20)), [0, 1] * 4\n"
        "clf = millet.RocketMilletClassifier(n_features=84, random_state=0).fit(X, y)\n"
        f"clf.save({str(tmp_path / 'm')!r}); millet.load_classifier({str(tmp_path / 'm')!r}).explain(X)\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "silent where nobody watches"


# -- bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_features": 0}, "n_features must be an integer of at least 1"),
        ({"n_features": 2.5}, "n_features"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"normalise": "yes"}, "normalise"),
        ({"head": "rige"}, "Did you mean 'ridge'"),
        ({"spread": "weigthed"}, "Did you mean 'weighted'"),
    ],
)
def test_bad_parameters_are_refused(bumps, parameters, message):
    with pytest.raises(MilletError, match=message):
        quick(**parameters).fit(*bumps)


def test_unknown_features_are_refused_with_a_suggestion(bumps):
    with pytest.raises(UnknownNameError, match=r"Unknown features 'minirockt'.*Did you mean 'minirocket'"):
        RocketMilletClassifier("minirockt").fit(*bumps)


def _with(X, position, value):
    X = X.copy()
    X[position] = value
    return X


BAD_DATA = {
    "one class": (lambda X, y: (X, np.zeros(40)), LabelError, "only one class"),
    "empty": (lambda X, y: (X[:0], y[:0]), SeriesError, "0 sample"),
    "infinity": (lambda X, y: (_with(X, (3, 0, 4), np.inf), y), SeriesError, "infinity .case 3."),
    "all NaN": (lambda X, y: (_with(X, 5, np.nan), y), SeriesError, "Case 5 has no observed value"),
    "too few labels": (lambda X, y: (X, y[:-1]), LabelError, "40 series, but 39 labels"),
    "one timepoint": (lambda X, y: (X[:, :, :1], y), SeriesError, "at least 2"),
}


@pytest.mark.parametrize("kind", BAD_DATA)
def test_bad_data_is_refused(bumps, kind):
    spoil, error, message = BAD_DATA[kind]
    with pytest.raises(error, match=message):
        quick().fit(*spoil(*bumps))


@pytest.mark.parametrize("features", TRANSFORMS)
def test_odd_but_usable_data_is_used(bumps, features):
    X, y = bumps
    odd = {
        "a constant series": (_with(X, 3, 7.0), y),
        "one case a class": (X[[0, 25]], y[[0, 25]]),
        "a class with one case": (X[[0, 1, 2, 3, 25]], y[[0, 1, 2, 3, 25]]),
        "two timepoints": (X[:, :, :2], y),
        "a channel without any value": (np.concatenate([X, np.full_like(X, np.nan)], axis=1), y),
        "missing values": (_with(X, (slice(None), 0, slice(30, None, 3)), np.nan), y),
        "thousands of channels": (np.random.default_rng(0).normal(size=(6, 2000, 20)), y[17:23]),
    }
    for what, (series, labels) in odd.items():
        explanation = quick(features).fit(series, labels).explain(series)
        assert explanation.completeness_error().max() < 1e-5, what
        assert np.isfinite(explanation.probabilities).all(), what
    with pytest.warns(UserWarning, match="Every training series is constant"):
        nothing = quick(features).fit(np.ones_like(X), y)
    assert nothing.explain(X).completeness_error().max() < 1e-5


def test_other_lengths_are_fine_at_predict_time_other_channels_are_not(bumps, fitted):
    X, _ = bumps
    assert fitted.predict(X[:, :, :33]).shape == (40,)
    assert fitted.predict([X[0, 0, :1], X[1, 0, :41]]).shape == (2,)
    with pytest.raises(SeriesError, match="X has 2 channels"):
        fitted.predict(np.repeat(X, 2, axis=1))


# -- storage


@pytest.fixture
def folder(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("features", TRANSFORMS)
def test_a_model_comes_back_with_everything(features, bumps, tmp_path):
    X, y = bumps
    clf = quick(features, head="ridge", spread="anchor", random_state=np.random.RandomState(0)).fit(X, y)
    clf.save(tmp_path / "model")
    for loaded in (RocketMilletClassifier.load(tmp_path / "model"), load_classifier(tmp_path / "model")):
        assert isinstance(loaded, RocketMilletClassifier)
        assert loaded.explain(X, channels=True) == clf.explain(X, channels=True)
        assert loaded.training_summary_ == clf.training_summary_
        assert (loaded.head, loaded.spread, loaded.n_features) == ("ridge", "anchor", FEW[features])


def test_saving_again_gives_the_same_files(fitted, folder, tmp_path):
    RocketMilletClassifier.load(folder).save(tmp_path / "again")
    for file in folder.iterdir():
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()


def test_kinds_of_models_are_not_mixed_up(folder, bumps, tmp_path):
    with pytest.raises(StorageError, match=r"holds a 'RocketMilletClassifier', not a MilletClassifier.*load_classif"):
        MilletClassifier.load(folder)
    MilletClassifier("lite", n_epochs=1, n_jobs=1, verbose=0).fit(*bumps).save(tmp_path / "network")
    with pytest.raises(StorageError, match="holds a 'MilletClassifier', not a RocketMilletClassifier"):
        RocketMilletClassifier.load(tmp_path / "network")
    assert isinstance(load_classifier(tmp_path / "network"), MilletClassifier)


def edit(folder, **changes):
    path = folder / "model.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def edit_model(folder, **changes):
    edit(folder, model={**json.loads((folder / "model.json").read_text())["model"], **changes})


def rewrite(folder, change):
    """Change the arrays, with a digest that fits them."""
    (member,) = folder.glob("*.safetensors")
    arrays = load(member.read_bytes())
    change(arrays)
    content = save(arrays)
    member.write_bytes(content)
    edit(folder, members=[{"file": member.name, "sha256": hashlib.sha256(content).hexdigest()}])


def truncate(folder):
    (member,) = folder.glob("*.safetensors")
    member.write_bytes(member.read_bytes()[:-9])


def forge(folder):
    (folder / "member-x.safetensors").write_bytes(b"forged")
    edit(folder, members=[{"file": "member-x.safetensors", "sha256": hashlib.sha256(b"forged").hexdigest()}])


DAMAGE = {
    "no members": lambda folder: edit(folder, members=[]),
    "member truncated": truncate,
    "no safetensors": forge,
    "other kind": lambda folder: edit(folder, kind="Elephant"),
    "no kind": lambda folder: edit(folder, kind=None),
    "no classes": lambda folder: edit(folder, classes={}),
    "too many classes": lambda folder: edit(folder, classes={"dtype": "int64", "values": [1, 2, 3]}),
    "other channels": lambda folder: edit(folder, n_channels=3),
    "unknown parameter": lambda folder: edit(folder, parameters={"x": 1}),
    "unknown features": lambda folder: edit(folder, parameters={"features": "elephant"}),
    "no model": lambda folder: edit(folder, model=None),
    "unknown transform": lambda folder: edit_model(folder, transform="elephant"),
    "not a number": lambda folder: rewrite(
        folder, lambda arrays: arrays.update(weights=np.full_like(arrays["weights"], np.nan))
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_model_is_refused(folder, kind):
    DAMAGE[kind](folder)
    with pytest.raises(StorageError):
        load_classifier(folder)


@pytest.mark.parametrize("features", TRANSFORMS)
def test_a_model_without_or_with_part_of_an_array_is_refused(features, bumps, tmp_path):
    clf = quick(features).fit(*bumps)
    folder = tmp_path / "model"
    for name, array in clf.model_.arrays().items():
        for change in (
            lambda arrays, name=name: arrays.pop(name),
            lambda arrays, name=name, array=array: arrays.update({name: np.ascontiguousarray(array[:-1])}),
            lambda arrays, name=name, array=array: arrays.update({name: array.astype(str(array.dtype)[:-2] + "16")}),
        ):
            clf.save(folder)
            rewrite(folder, change)
            with pytest.raises(StorageError):
                load_classifier(folder)

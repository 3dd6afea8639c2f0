"""`AveragedClassifier`: the mean of logits is the logit of the mean of evidence."""

import copy
import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

from millet import AveragedClassifier, MilletClassifier, RocketMilletClassifier, evaluate, load_classifier
from millet.datasets import Dataset
from millet.errors import ParameterError, SeriesError, StorageError
from millet.nn import FCN


def rocket(**parameters):
    return RocketMilletClassifier(**{"n_features": 252, "random_state": 0, "n_jobs": 1, "verbose": 0, **parameters})


def network(pooling="conjunctive", **parameters):
    settings = {"n_epochs": 3, "random_state": 0, "n_jobs": 1, "verbose": 0, **parameters}
    return MilletClassifier("lite", pooling, **settings)


@parametrize_with_checks([AveragedClassifier([rocket(normalise=False), rocket(normalise=False, head="ridge")])])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def both(bumps):
    return AveragedClassifier([network(), rocket()], weights=[3, 1]).fit(*bumps)


def test_logits_are_the_weighted_mean_and_the_evidence_adds_up(bumps, both):
    X, _ = bumps
    explanation = both.explain(X, members=True)
    one, two = (classifier.explain(X) for classifier in both.classifiers_)
    for name in ("logits", "scores", "contributions", "bias"):
        first, second = (getattr(part, name).astype(np.float64) for part in (one, two))
        assert getattr(explanation, name) == pytest.approx(0.75 * first + 0.25 * second, abs=1e-12)
    assert explanation.completeness_error().max() < 1e-5
    assert explanation.members == (one, two)
    assert explanation.method == "conjunctive + minirocket"
    assert explanation.spread.max() > 0
    assert both.explain(X).members == ()


def test_explain_and_predict_say_the_same(bumps, both):
    X, _ = bumps
    explanation = both.explain(X)
    assert np.array_equal(explanation.predicted, both.predict(X))
    assert explanation.probabilities == pytest.approx(both.predict_proba(X), abs=1e-12)
    assert explanation.logits == pytest.approx(both.logits(X), abs=1e-5)


def test_unequal_series_and_channels_add_up(bumps):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(2, length)) for length in (5, 30, 12, 2, 60, 9)]
    y = [0, 1, 2, 0, 1, 2]
    both = AveragedClassifier([network(n_epochs=1), rocket()]).fit(X, y)
    explanation = both.explain(X)
    assert explanation.completeness_error().max() < 1e-5
    assert explanation.lengths.tolist() == [5, 30, 12, 2, 60, 9]
    with pytest.raises(ParameterError, match="tell channels apart"):
        both.explain(X, channels=True)
    rockets = AveragedClassifier([rocket(), rocket(head="ridge")]).fit(X, y).explain(X, channels=True)
    assert rockets.channel_contributions.sum(axis=2) == pytest.approx(rockets.contributions, abs=1e-9)


def test_removed_timepoints_are_removed_for_every_classifier(bumps, both):
    X, _ = bumps
    removed = np.zeros((40, 50), dtype=bool)
    removed[:, 10:25] = True
    one, two = (classifier.logits(X, removed=removed) for classifier in both.classifiers_)
    assert both.logits(X, removed=removed) == pytest.approx(0.75 * one + 0.25 * two, abs=1e-12)


def test_without_contributions_of_all_there_are_only_scores(bumps):
    X, y = bumps
    explanation = AveragedClassifier([network("attention", n_epochs=1), rocket()]).fit(X, y).explain(X)
    assert explanation.contributions is None
    assert explanation.bias is None
    assert explanation.scores.any()


def test_fitted_classifiers_are_used_as_they_are(bumps, both):
    X, _ = bumps
    again = AveragedClassifier.of_fitted(both.classifiers_, weights=[3, 1])
    assert np.array_equal(again.logits(X), both.logits(X))
    assert again.classifiers_[0] is both.classifiers_[0]
    assert again.training_summary_["fingerprint"] == both.training_summary_["fingerprint"]


def test_fitting_leaves_the_given_classifiers_alone(bumps):
    given = rocket()
    average = AveragedClassifier([given])
    average.fit(*bumps)
    assert not hasattr(given, "model_")
    assert clone(average).classifiers[0].n_features == 252


def test_parameters_of_the_classifiers_are_searched_by_position(bumps):
    given = AveragedClassifier([rocket(), AveragedClassifier([network(), rocket()])])
    assert given.get_params()["1__0__n_epochs"] == 3
    given.set_params(**{"0__head": "ridge", "1__0__n_epochs": 5})
    assert (given.classifiers[0].head, given.classifiers[1].classifiers[0].n_epochs) == ("ridge", 5)
    average = AveragedClassifier([rocket(), rocket(random_state=1)])
    search = GridSearchCV(average, {"1__head": ["ridge", "multinomial"], "weights": [(1, 2)]}, cv=2).fit(*bumps)
    assert search.best_estimator_.classifiers[1].head == search.best_params_["1__head"]
    assert average.classifiers[1].head == "multinomial", "the given ones are left alone"
    with pytest.raises(ValueError, match="Invalid parameter '7'"):
        average.set_params(**{"7__head": "ridge"})


def test_a_classifier_is_replaced_by_its_position(bumps):
    first, other = rocket(), rocket(features="hydra", n_features=None)
    average = AveragedClassifier([first, rocket(random_state=1)])
    average.set_params(**{"0": other, "0__head": "ridge"})
    assert average.classifiers[0] is other
    assert (other.head, first.head) == ("ridge", "multinomial")
    given = [rocket()]
    search = GridSearchCV(AveragedClassifier(given), {"0": [rocket(features="hydra", n_features=None)]}, cv=2)
    search.fit(*bumps)
    assert search.best_estimator_.classifiers_[0].model_.transform == "hydra"
    assert given[0].features == "minirocket", "the given list is left alone"
    replaced = average.set_params(classifiers=[first], **{"0": other})
    assert replaced.classifiers == [other]


def test_weights_that_no_longer_fit_are_refused(bumps, both):
    average = copy.copy(both)
    average.set_params(weights=[1.0])
    with pytest.raises(ParameterError, match="weights must be 2 numbers"):
        average.predict(bumps[0])


def test_it_is_scored_as_a_model_with_members(bumps, both):
    X, y = bumps
    data = Dataset("Bumps", X, y, np.unique(y))
    row = evaluate(both, data, metrics=["accuracy", "agreement", "aopcr"], progress=False)
    assert row["accuracy"] == (both.predict(X) == y).mean()
    assert -1 <= row["agreement_rank_correlation"] <= 1


def test_it_is_saved_to_one_folder_and_comes_back(bumps, both, tmp_path):
    X, _ = bumps
    both.save(tmp_path / "model")
    assert len(list((tmp_path / "model").glob("*.safetensors"))) == 2
    for loaded in (AveragedClassifier.load(tmp_path / "model"), load_classifier(tmp_path / "model")):
        assert loaded.explain(X, members=True) == both.explain(X, members=True)
        assert loaded.weights == [3.0, 1.0]
        assert loaded.training_summary_ == both.training_summary_


@pytest.mark.parametrize(
    "damage",
    [
        lambda description: description["members"].pop(),
        lambda description: description["classifiers"].pop(),
        lambda description: description["classifiers"].clear(),
        lambda description: description["classifiers"][0].update(kind="Elephant"),
        lambda description: description["classifiers"][0].update(n_files="many"),
        lambda description: description.update(weights=[1.0]),
        lambda description: description.pop("classifiers"),
    ],
)
def test_a_damaged_model_is_refused(both, tmp_path, damage):
    both.save(tmp_path / "model")
    file = tmp_path / "model" / "model.json"
    description = json.loads(file.read_text())
    damage(description)
    file.write_text(json.dumps(description))
    with pytest.raises(StorageError):
        load_classifier(tmp_path / "model")


@pytest.mark.parametrize(
    ("classifiers", "weights", "message"),
    [
        ([], None, "at least one"),
        (None, None, "at least one"),
        ([rocket(), "hydra"], None, "evidence adds up; got str"),
        ([rocket()], [1, 2], "must be 1 numbers"),
        ([rocket()], [-1], "weights"),
        ([rocket()], [0], "not all 0"),
    ],
)
def test_what_can_not_be_averaged_is_refused(bumps, classifiers, weights, message):
    with pytest.raises(ParameterError, match=message):
        AveragedClassifier(classifiers, weights=weights).fit(*bumps)


def test_fitted_classifiers_must_be_of_one_kind_of_cases(bumps):
    X, y = bumps
    one = rocket().fit(X, y)
    with pytest.raises(ParameterError, match="same classes"):
        AveragedClassifier.of_fitted([one, rocket().fit(X, y == "bump")])
    with pytest.raises(ParameterError, match=r"same number of channels .*; got 1 and 2"):
        AveragedClassifier.of_fitted([one, rocket().fit(np.repeat(X, 2, axis=1), y)])
    with pytest.raises(NotFittedError):
        AveragedClassifier.of_fitted([one, rocket()])
    with pytest.raises(SeriesError, match="X has 2 channels, but AveragedClassifier"):
        AveragedClassifier.of_fitted([one]).predict(np.repeat(X, 2, axis=1))


def test_an_average_with_code_of_ones_own_says_how_to_save_it(tmp_path, bumps):
    X, y = bumps
    backbone = nn.Sequential(nn.Conv1d(1, 4, 3, padding=1))
    own = MilletClassifier(backbone, n_epochs=1, random_state=0, verbose=0).fit(X, y)
    with pytest.raises(StorageError, match="Save each classifier by itself"):
        AveragedClassifier.of_fitted([own]).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_an_average_of_fine_tuned_networks_is_saved(tmp_path, bumps):
    X, y = bumps
    tuned = MilletClassifier(FCN(1), n_epochs=1, random_state=0, verbose=0).fit(X, y)
    average = AveragedClassifier.of_fitted([tuned])
    average.save(tmp_path / "model")
    assert np.array_equal(load_classifier(tmp_path / "model").logits(X), average.logits(X))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_channels", 2),
        ("n_channels", float("inf")),
        ("feature_names", True),
        ("classes", {"kind": "str", "values": []}),
    ],
)
def test_a_description_that_contradicts_its_classifiers_is_refused(tmp_path, bumps, name, value):
    X, y = bumps
    fitted = RocketMilletClassifier(random_state=0, verbose=0).fit(X, y)
    AveragedClassifier.of_fitted(iter([fitted])).save(tmp_path / "model")
    file = tmp_path / "model" / "model.json"
    description = json.loads(file.read_text())
    assert name in description
    file.write_text(json.dumps({**description, name: value}).replace("Infinity", "1e400"))
    with pytest.raises(StorageError):
        load_classifier(tmp_path / "model")


def test_a_weight_that_is_no_list_is_refused(bumps):
    X, y = bumps
    with pytest.raises(ParameterError, match="must be a list of numbers"):
        AveragedClassifier([RocketMilletClassifier()], weights=5).fit(X, y)


def test_networks_with_one_folder_of_checkpoints_are_refused(bumps, tmp_path):
    one, other = (MilletClassifier("lite", n_epochs=1, checkpoint_dir=tmp_path / "c", verbose=0) for _ in range(2))
    for classifiers in ([one, other], [one, AveragedClassifier([other])]):
        with pytest.raises(ParameterError, match="can't share a checkpoint_dir"):
            AveragedClassifier(classifiers).fit(*bumps)
    assert not (tmp_path / "c").exists()

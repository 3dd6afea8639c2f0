"""`evaluate`: one flat row for any model, and ``millet evaluate``."""

import dataclasses
import json
import math

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from torch import nn

import millet
from millet import Dataset, MilletClassifier, RocketMilletClassifier
from millet.cli import cli
from millet.cli.evaluate import _print_table
from millet.errors import LabelError, MilletError, ParameterError, UnknownNameError
from millet.evaluation import METRICS, evaluate
from millet.metrics import aopcr, ndcg_at_n


@pytest.fixture(scope="module")
def web_traffic():
    return millet.make_web_traffic(2, sampling_interval=60, random_state=0, split="test")


@pytest.fixture(scope="module")
def classifier(web_traffic):
    parameters = {"n_epochs": 3, "n_estimators": 2, "random_state": 0, "n_jobs": 1, "verbose": 0}
    return MilletClassifier("fcn", **parameters).fit(web_traffic.X, web_traffic.y)


@pytest.fixture(scope="module")
def row(classifier, web_traffic):
    return evaluate(classifier, web_traffic)


def made_of(X, y, relevant=None):
    return Dataset("toy", np.asarray(X, dtype=float), np.asarray(y), np.unique(y), relevant)


def by_mean(X):
    """Two classes: the mean speaks for the second."""
    mean = np.array([np.mean(series) for series in X])
    return np.stack([-mean, mean], axis=1)


class Mute:
    """Predicts, but has nothing to say for it."""

    def __call__(self, X):
        return by_mean(X)

    def explain(self, X):
        return None


def test_the_method_predict_proba_stands_for_its_classifier(row, classifier, web_traffic):
    assert evaluate(classifier.predict_proba, web_traffic) == row


def test_the_row_holds_the_papers_columns_with_intervals(row, classifier, web_traffic):
    assert row["dataset"] == "WebTraffic"
    assert (row["split"], row["n_cases"], row["n_classes"], row["method"]) == ("test", 20, 10, "conjunctive")
    names = {*METRICS, "ndcg_at_n_without_all_relevant", "agreement_rank_correlation", "agreement_top_overlap"}
    for name in names - {"agreement"}:
        assert row[f"{name}_low"] <= row[name] + 1e-9, name
        assert row[name] <= row[f"{name}_high"] + 1e-9, name
    assert all(isinstance(value, float | int | str) for value in row.values())


def test_predictions_are_scored_as_scikit_learn_does(row, classifier, web_traffic):
    y, probabilities = web_traffic.y, classifier.predict_proba(web_traffic.X)
    predicted = classifier.predict(web_traffic.X)
    assert row["accuracy"] == pytest.approx(accuracy_score(y, predicted))
    assert row["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))
    assert row["auroc"] == pytest.approx(roc_auc_score(y, probabilities, multi_class="ovo", average="weighted"))
    assert row["loss"] == pytest.approx(log_loss(y, probabilities), rel=1e-5)


def test_evidence_of_the_predicted_and_of_the_true_class_is_scored(row, classifier, web_traffic):
    explanation = classifier.explain(web_traffic.X)
    assert row["aopcr"] == pytest.approx(aopcr(classifier, web_traffic.X, explanation.scores).mean(), abs=1e-5)
    true = explanation.scores[np.arange(20), explanation.class_codes(web_traffic.y)]
    values = ndcg_at_n(true, web_traffic.relevant)
    everywhere = web_traffic.relevant.all(axis=1)
    assert everywhere.sum() == 2
    assert (values[everywhere] == 1).all()
    assert row["ndcg_at_n"] == pytest.approx(np.nanmean(values))
    assert row["ndcg_at_n_without_all_relevant"] == pytest.approx(np.nanmean(values[~everywhere]))


def test_a_seed_gives_the_same_row_again(row, classifier, web_traffic):
    assert evaluate(classifier, web_traffic, progress=False, batch_size=32) == row
    other = evaluate(classifier, web_traffic, metrics=["accuracy"], random_state=1)
    assert other["accuracy"] == row["accuracy"]
    assert set(other) == {
        "dataset", "split", "n_cases", "n_classes", "method", "accuracy", "accuracy_low", "accuracy_high",
        "n_unscored", "unscored",
    }  # fmt: skip


def test_cases_that_can_not_be_scored_are_counted_and_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(14, 1, 30))
    relevant = np.zeros((14, 30), dtype=bool)
    relevant[[3, 5, 6], 4:9] = True
    scores = rng.normal(size=(14, 2, 30))
    scores[5] = 0
    found = evaluate(by_mean, made_of(X, np.arange(14) % 2, relevant), explanation=scores)
    assert found["n_unscored"] == 12
    nowhere = "no timepoint is relevant (11 cases: 0, 1, 2, 4, 7, 8, 9, 10, 11, 12, ...)"
    assert f"ndcg_at_n, aup, aur, auprc: {nowhere}" in found["unscored"]
    assert "aup, aur: the scores are constant (case 5)" in found["unscored"]
    assert "gini, entropy: all scores are 0, or there is a single one (case 5)" in found["unscored"]
    true = scores[np.arange(14), np.arange(14) % 2]
    assert found["ndcg_at_n"] == pytest.approx(ndcg_at_n(true, relevant)[[3, 5, 6]].mean())


def test_where_no_case_can_be_scored_the_number_is_unknown():
    X = np.random.default_rng(0).normal(size=(4, 1, 30))
    data = made_of(X, [0, 1, 0, 1], np.zeros((4, 30), dtype=bool))
    found = evaluate(by_mean, data, explanation=np.ones((4, 2, 30)))
    assert math.isnan(found["ndcg_at_n"])
    assert math.isnan(found["ndcg_at_n_without_all_relevant_low"])
    silent = evaluate(lambda X: np.zeros((len(X), 2)), data, explanation=np.ones((4, 2, 30)))
    assert math.isnan(silent["normalised_aopcr"])
    assert "the model tells no class from another (4 cases: 0, 1, 2, 3)" in silent["unscored"]


def test_of_a_single_class_there_is_no_auroc(classifier, web_traffic):
    few = dataclasses.replace(web_traffic, X=web_traffic.X[:2], y=web_traffic.y[:2], relevant=None)
    found = evaluate(classifier, few, metrics=["accuracy", "auroc", "balanced_accuracy"])
    assert math.isnan(found["auroc"])
    assert 0 <= found["balanced_accuracy"] <= 1


def test_cases_of_unequal_length_and_several_channels():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(2, length)) for length in (20, 31, 25, 40, 22, 33)]
    y = np.array(["a", "b"] * 3)
    classifier = MilletClassifier("fcn", n_epochs=2, random_state=0, n_jobs=1, verbose=0).fit(X, y)
    relevant = np.zeros((6, 40), dtype=bool)
    relevant[:, 5:10] = True
    data = Dataset("unequal", X, y, np.array(["a", "b"]), relevant)
    found = evaluate(classifier, data)
    assert found["n_unscored"] == 0
    assert 0 <= found["ndcg_at_n"] <= 1
    # Of an array whose cases end in NaN the same is known.
    stacked = np.full((6, 2, 45), np.nan)
    for row, series in zip(stacked, X, strict=True):
        row[:, : series.shape[1]] = series
    wide = np.pad(relevant, ((0, 0), (0, 5)))
    again = evaluate(classifier, Dataset("unequal", stacked, y, data.classes, wide))
    assert set(again) == set(found)
    for name, value in found.items():
        assert again[name] == (pytest.approx(value, abs=1e-5) if isinstance(value, float) else value), name


def test_a_scikit_learn_model_is_scored_without_an_explanation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 12))
    X[15:] += 1
    data = made_of(X, ["no"] * 15 + ["yes"] * 15)
    model = LogisticRegression().fit(X, data.y)
    found = evaluate(model, data)
    assert found["accuracy"] == model.score(X, data.y)
    assert "aopcr" not in found
    evidence = np.stack([-X * model.coef_, X * model.coef_], axis=1)
    assert evaluate(model, data, explanation=evidence, removal="mean")["aopcr"] > 0


def test_accuracies_follow_predict_where_it_is_not_the_greatest_logit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 12))
    data = made_of(X, np.arange(40) % 2)
    model = FixedThresholdClassifier(LogisticRegression(), threshold=0.7).fit(X, data.y)
    predicted = model.predict(X)
    n_other = (predicted != model.predict_proba(X).argmax(axis=1)).sum()
    assert n_other > 0
    with pytest.warns(UserWarning, match=f"predict gives {n_other} of 40 cases another class"):
        found = evaluate(model, data, metrics=["accuracy", "balanced_accuracy", "loss"], batch_size=7)
    assert found["accuracy"] == accuracy_score(data.y, predicted)
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(data.y, predicted))
    assert found["loss"] == pytest.approx(log_loss(data.y, model.predict_proba(X)))


def test_decisions_between_pairs_of_classes_are_not_taken_for_logits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 12))
    data = made_of(X, np.arange(30) % 3)
    with pytest.raises(ParameterError, match="in pairs; fit one with decision_function_shape='ovr'"):
        evaluate(SVC(decision_function_shape="ovo").fit(X, data.y), data)
    model = SVC(break_ties=True).fit(X, data.y)
    assert evaluate(model, data, metrics=["accuracy"])["accuracy"] == model.score(X, data.y)


@pytest.mark.parametrize("as_table", [True, False])
def test_a_torch_module_is_scored_at_every_cases_own_length(as_table):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = nn.Sequential(nn.Conv1d(1, 4, 3), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 2)).eval()
    rng = np.random.default_rng(0)
    series = [rng.normal(size=n) for n in (9, 12, 9, 7)]
    X = np.array([np.pad(one, (0, 12 - len(one)), constant_values=np.nan) for one in series])
    data = Dataset("toy", X if as_table else series, np.array([0, 1, 0, 1]), np.arange(2))

    def by_hand(cases):
        alone = [
            torch.tensor(case[~np.isnan(case)], dtype=torch.float32)[None, None] for case in map(np.ravel, cases)
        ]
        with torch.inference_mode():
            return np.concatenate([module(case).double().numpy() for case in alone])

    evidence = rng.normal(size=(4, 2, 12))
    names = ["accuracy", "loss", "aopcr"]
    found = evaluate(module, data, explanation=evidence, metrics=names, batch_size=3)
    expected = evaluate(by_hand, data, explanation=evidence, metrics=names)
    assert [found[name] for name in names] == pytest.approx([expected[name] for name in names], rel=1e-5)
    with pytest.raises(ParameterError, match=r"training mode.*module\.eval\(\)"):
        evaluate(module.train(), data)


def test_ones_own_arrays_are_a_dataset(classifier, web_traffic):
    own = Dataset(X=web_traffic.X[:, 0], y=web_traffic.y.tolist())
    theirs = evaluate(classifier, web_traffic, metrics=["accuracy", "loss"])
    assert evaluate(classifier, own, metrics=["accuracy", "loss"]) == {**theirs, "dataset": "", "split": ""}
    with pytest.raises(ParameterError, match=r"Dataset\(X=X, y=y\)"):
        evaluate(classifier, (web_traffic.X, web_traffic.y))


def test_a_method_that_gives_probabilities_stands_for_its_model():
    data = made_of(np.random.default_rng(0).normal(size=(30, 1, 12)), np.arange(30) % 2)
    model = LogisticRegression().fit(data.X[:, 0], data.y)
    assert evaluate(model.predict_proba, data) == evaluate(model, data)
    with pytest.warns(UserWarning, match="must return logits"):
        evaluate(lambda X: model.predict_proba(X[:, 0]), data, metrics=["accuracy"])


def test_without_labels_evidence_can_still_be_scored(classifier, web_traffic):
    unlabelled = dataclasses.replace(web_traffic, y=None)
    found = evaluate(classifier, unlabelled, metrics=["gini"])
    assert 0 < found["gini"] < 1
    with pytest.raises(ParameterError, match="'accuracy' needs the labels"):
        evaluate(classifier, unlabelled, metrics=["accuracy"])


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"metrics": ["acuracy"]}, UnknownNameError, "Did you mean 'accuracy'"),
        ({"metrics": ["aopcr"]}, ParameterError, "'aopcr' needs an explanation"),
        ({"metrics": ["ndcg_at_n"], "explanation": np.ones((4, 2, 9))}, ParameterError, "known to be relevant"),
        ({"metrics": ["agreement"], "explanation": np.ones((4, 2, 9))}, ParameterError, "members of an ensemble"),
        ({"explanation": np.ones((4, 9))}, ParameterError, r"\(4, 2, 9\); got shape \(4, 9\)"),
        ({"explanation": np.full((4, 2, 9), np.nan)}, ParameterError, "explanation must be finite"),
        ({"explanation": [[1.0], [1.0, 2.0]]}, ParameterError, "explanation must be an array of numbers; got list"),
        ({"model": lambda X: np.ones((len(X), 3))}, ParameterError, "3 numbers a case, but there are 2 classes"),
        ({"model": lambda X: 1 / 0}, ParameterError, "ZeroDivisionError"),
        ({"model": Mute()}, ParameterError, "explain must return an Explanation; got NoneType"),
        ({"random_state": "x"}, ParameterError, "random_state"),
    ],
)
def test_bad_input_is_refused_in_words(changes, error, message):
    data = made_of(np.random.default_rng(0).normal(size=(4, 1, 9)), [0, 1, 0, 1])
    with pytest.raises(error, match=message):
        evaluate(**{"model": by_mean, "dataset": data, **changes})


def test_labels_that_the_model_does_not_know_are_refused(classifier, web_traffic):
    strange = dataclasses.replace(web_traffic, y=np.where(np.arange(20) < 3, 77, web_traffic.y))
    with pytest.raises(LabelError, match=r"3 of 20 cases have a label that is none of the model's classes .* 77"):
        evaluate(classifier, strange)
    with pytest.raises(LabelError, match=r"another type: '0' \(str\) among classes such as 0 \(int\)"):
        evaluate(classifier, dataclasses.replace(web_traffic, y=web_traffic.y.astype(str)))


def test_an_explanation_of_something_else_is_refused(classifier, web_traffic):
    explanation = classifier.explain(web_traffic.X)
    with pytest.raises(ParameterError, match="number or lengths differ"):
        evaluate(classifier, web_traffic, explanation=explanation[:5])
    other = dataclasses.replace(explanation, classes=np.arange(100, 110), class_names=(), members=())
    with pytest.raises(ParameterError, match="model's classes"):
        evaluate(classifier, web_traffic, explanation=other)


def test_members_are_asked_only_for_what_needs_them(classifier, web_traffic):
    asked = []

    class Ensemble:
        classes_, n_members_ = classifier.classes_, 2
        predict_proba = staticmethod(classifier.predict_proba)

        def explain(self, X, **options):
            asked.append(options)
            return classifier.explain(X)

    evaluate(Ensemble(), web_traffic, metrics=["gini"])
    evaluate(Ensemble(), web_traffic, metrics=["accuracy"])
    with pytest.raises(ParameterError, match="members of an ensemble"):
        evaluate(Ensemble(), web_traffic, metrics=["agreement"])
    assert asked == [{}, {"members": True}]


def test_a_model_of_the_fast_lane_is_scored_by_every_metric_of_a_single_model(web_traffic):
    rocket = RocketMilletClassifier(n_features=252, random_state=0, n_jobs=1, verbose=0)
    row = evaluate(rocket.fit(web_traffic.X, web_traffic.y), web_traffic, progress=False)
    assert row["method"] == "minirocket"
    scored = {name for name in METRICS if name in row}
    assert scored == set(METRICS) - {"agreement"}
    assert all(np.isfinite(row[name]) for name in scored)


# --- The command


@pytest.fixture(scope="module")
def saved(aeon_data, tmp_path_factory):
    train, _ = millet.load_dataset("ItalyPowerDemand", aeon_data)
    folder = tmp_path_factory.mktemp("evaluate") / "power"
    MilletClassifier("lite", n_epochs=2, random_state=0, n_jobs=1, verbose=0).fit(train.X, train.y).save(folder)
    return folder


def run(*arguments):
    result = CliRunner().invoke(cli, ["evaluate", *map(str, arguments)])
    if isinstance(result.exception, MilletError):
        return result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_prints_a_table(saved, aeon_data):
    lines = run(saved, "ItalyPowerDemand", "--path", aeon_data, "--split", "train").splitlines()
    assert lines[0] == "ItalyPowerDemand (train): 67 cases of 2 classes"
    assert lines[2].split() == ["metric", "value", "95", "%", "interval"]
    assert [line.split("  ")[0] for line in lines[3:]][:5] == [
        "accuracy", "balanced accuracy", "auroc", "loss", "aopcr",
    ]  # fmt: skip


def test_the_command_prints_json(saved, aeon_data):
    file = aeon_data / "ItalyPowerDemand" / "ItalyPowerDemand_TRAIN.ts"
    row = json.loads(run(saved, file, "--json", "--metric", "accuracy", "--metric", "gini", "--quiet"))
    expected = evaluate(MilletClassifier.load(saved), millet.load_file(file), metrics=["accuracy", "gini"])
    assert row == expected
    assert "Did you mean 'auroc'" in str(run(saved, file, "--metric", "aurok"))


def test_the_table_names_cases_that_can_not_be_scored(capsys):
    data = made_of(np.random.default_rng(0).normal(size=(4, 1, 9)), [0, 1, 0, 1])
    _print_table(evaluate(by_mean, data, explanation=np.zeros((4, 2, 9)), metrics=["gini"]))
    said = " ".join(capsys.readouterr().out.split())
    assert "4 cases could not be scored by all metrics. gini: all scores are 0" in said
    assert "gini unknown unknown to unknown" in said


def test_what_is_unknown_is_null_in_json_and_said_in_the_table(saved, tmp_path):
    lines = ["1\t" + "\t".join(str(value) for value in np.sin(np.arange(24.0) * k)) for k in (1, 2)]
    (tmp_path / "one_class.tsv").write_text("\n".join(lines) + "\n")
    arguments = (saved, tmp_path / "one_class.tsv", "--metric", "auroc")
    assert json.loads(run(*arguments, "--json"))["auroc"] is None
    assert "unknown" in run(*arguments)


def test_one_metric_needs_no_list(web_traffic):
    row = evaluate(lambda X: np.tile(np.arange(10.0), (len(X), 1)), web_traffic, metrics="accuracy")
    assert row["accuracy"] == 0.1


def test_an_explanation_in_another_order_is_refused_beside_the_dataset(classifier, web_traffic):
    explanation = classifier.explain(web_traffic.X)
    order = np.arange(len(web_traffic))[::-1]
    with pytest.raises(ParameterError, match=r"of cases 19, 18, .* dataset.take\(explanation.cases\)"):
        evaluate(classifier, web_traffic, explanation=explanation[order], metrics="ndcg_at_n")
    turned = evaluate(classifier, web_traffic.take(order), explanation=explanation[order], metrics="ndcg_at_n")
    same = evaluate(classifier, web_traffic, explanation=explanation, metrics="ndcg_at_n")
    assert turned["ndcg_at_n"] == pytest.approx(same["ndcg_at_n"])


def test_few_cases_that_are_all_right_do_not_make_an_accuracy_certain():
    data = Dataset(X=np.random.default_rng(0).normal(size=(8, 1, 20)), y=np.arange(8) % 2)
    row = evaluate(lambda X: np.eye(2)[np.arange(len(X)) % 2], data, metrics=["accuracy"])
    assert row["accuracy"] == row["accuracy_high"] == 1
    assert row["accuracy_low"] == pytest.approx(8 / (8 + 1.96**2), abs=1e-3)


def test_some_cases_of_unequal_length_keep_their_known_regions():
    X = [np.zeros((1, length)) for length in (6, 3, 4)]
    relevant = np.eye(3, 6, dtype=bool)
    few = Dataset(X=X, y=["a", "b", "a"], relevant=relevant.tolist()).take([2, 1])
    np.testing.assert_array_equal(few.relevant, relevant[[2, 1], :4])
    assert few != few.take([0, 1]), "compared by identity: arrays have no equality that is a bool"


def test_a_pipeline_of_something_for_channels_is_handed_channels(bumps):
    X, y = bumps
    pipeline = make_pipeline(FunctionTransformer(lambda X: X[:, 0, ::2]), LogisticRegression()).fit(X, y)
    row = evaluate(pipeline, Dataset(X=X, y=y), metrics=["accuracy"])
    assert row["accuracy"] == pipeline.score(X, y)
    broken = make_pipeline(FunctionTransformer(lambda X: X.reshape(len(X), 3, 7)), LogisticRegression())
    broken.steps[0][1].fit(X)
    broken.steps[1][1].fit(X[:, 0], y)
    with pytest.raises(ParameterError, match=rf"failed on \(\d+, 1, {X.shape[2]}\)"):
        evaluate(broken, Dataset(X=X, y=y), metrics=["accuracy"])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"y": ["a", None]}, "missing label"),
        ({"y": [1, "a"]}, "all numbers or all strings"),
        ({"y": ["a", "b"], "relevant": [[True], [True, False]]}, "rows of unequal length"),
    ],
)
def test_a_dataset_of_wrong_parts_is_refused_in_words(parts, message):
    with pytest.raises(MilletError, match=message):
        Dataset(X=np.zeros((2, 5)), **parts)

"""Measurements: a fitted model, a test split and a method in; the numbers of one row out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millet.benchmark.models import MethodSpec
from millet.benchmark.rows import Row
from millet.contract import EvidenceClassifier
from millet.datasets import Dataset
from millet.errors import ParameterError
from millet.evaluation import METRICS, NEEDS, evaluate
from millet.explanation import Explanation
from millet.metrics import ndcg_at_n
from millet.posthoc import explain
from millet.report.names import OWN

# What `evaluate` says about the cases rather than the scores.
ABOUT_THE_CASES = ("dataset", "split", "n_cases", "n_classes", "method")
PREDICTIONS, QUICK_SECONDS = 3, 5.0


def measure(classifier: EvidenceClassifier, test: Dataset, method: MethodSpec, metrics: tuple[str, ...]) -> Row:
    """Return the metrics and times of one method.

    Parameters
    ----------
    classifier : EvidenceClassifier
    test : Dataset
        With labels.
    method : MethodSpec
        What explains; "own" is the model itself.
    metrics : tuple of str
        Those that do not apply are left out; empty for all that do.

    Returns
    -------
    dict
        What `millet.evaluate` gives except the dataset's name; `inference_seconds` for predicting (the quickest of
        three times where it takes only seconds), `explain_seconds` for explaining and `evaluate_seconds` for scoring
        all `n_cases`, and the same in `core_seconds`, the processor time of all threads. Nothing is explained where
        no metric asks for it. For the model itself also `per_class_accuracy`, `missed` (how often cases of each class
        were taken for which other) and, where it was explained and the relevant timepoints are known,
        `missed_ndcg_at_n` (how well the scores of the true class find them nevertheless). For another method that
        explains only some of the cases, also what the model's own evidence for these reaches, by the names of the
        metrics prefixed with `own_`.
    """
    cases = test if method.n_cases is None else spread(test, method.n_cases)
    times: Row = {}
    predicted = _clocked_prediction(classifier, cases, times)
    with _clocked("explain", times):
        explanation = explained(classifier, cases, method) if needs_evidence(metrics) else None
    with _clocked("evaluate", times):
        applicable = _applicable(metrics, cases, explanation)
        row: Row = dict(evaluate(classifier, cases, explanation=explanation, metrics=applicable, progress=False))
        if method.name != OWN and len(cases) < len(test):
            row |= _own_of_the_same(classifier, cases, applicable)
    del row["dataset"]  # the files may spell it differently from the experiment
    row |= {"method": method.name, **times}
    return row | _by_class(cases, predicted, explanation) if method.name == OWN else row


def _clocked_prediction(classifier: EvidenceClassifier, cases: Dataset, times: Row) -> NDArray[Any]:
    """Predict, repeatedly where it is quick, and note the quickest: the first sets things up, other work disturbs."""
    for _ in range(PREDICTIONS):
        taken: Row = {}
        with _clocked("inference", taken):
            predicted = classifier.predict(cases.X)
        if not times or taken["inference_core_seconds"] < times["inference_core_seconds"]:
            times |= taken
        if taken["inference_seconds"] > QUICK_SECONDS:
            break
    return predicted


@contextmanager
def _clocked(name: str, times: Row) -> Iterator[None]:
    """Note how long something takes by the clock, and how long processors work on it alone."""
    wall, core = time.perf_counter(), time.process_time()
    yield
    times[f"{name}_seconds"] = round(time.perf_counter() - wall, 4)
    times[f"{name}_core_seconds"] = round(time.process_time() - core, 4)


def check_metrics(metrics: tuple[str, ...], cases: Dataset) -> None:
    """Refuse metrics none of which can be computed on a dataset, whatever the model."""
    if cases.relevant is None and metrics and all("relevant" in METRICS[name] for name in metrics):
        raise ParameterError(
            f"{', '.join(metrics)} can't be measured on {cases.name}: that needs {NEEDS['relevant']}."
        )


def needs_evidence(metrics: tuple[str, ...]) -> bool:
    """Return whether any of the metrics (of all, where none is named) is about explanations."""
    return not metrics or any(METRICS[name] != ("labels",) for name in metrics)


def spread(data: Dataset, n_cases: int) -> Dataset:
    """Return some cases, evenly spread over the split, so that all classes occur even if sorted.

    Examples
    --------
    >>> from millet import make_web_traffic
    >>> spread(make_web_traffic(3, sampling_interval=60), 10).y.tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    if n_cases >= len(data):
        return data
    chosen = np.linspace(0, len(data) - 1, n_cases).round().astype(int)
    return data.take(chosen)


def explained(classifier: EvidenceClassifier, cases: Dataset, method: MethodSpec) -> Explanation:
    """Return what a method, or the model itself, says about some cases."""
    if method.name == OWN:
        return classifier.explain(cases.X, members=classifier.n_members_ > 1)
    return explain(method.name, classifier, cases.X, progress=False, **method.options)


def _own_of_the_same(classifier: EvidenceClassifier, cases: Dataset, metrics: list[str]) -> Row:
    of_scores = [name for name in metrics if "scores" in METRICS[name]]
    if not of_scores:
        return {}
    own = evaluate(classifier, cases, explanation=classifier.explain(cases.X), metrics=of_scores, progress=False)
    return {f"{OWN}_{name}": value for name, value in own.items() if name not in ABOUT_THE_CASES}


def _applicable(metrics: tuple[str, ...], cases: Dataset, explanation: Explanation | None) -> list[str]:
    available = {"labels", "scores"}
    available |= {"relevant"} if cases.relevant is not None else set()
    available |= {"members"} if explanation is not None and len(explanation.members) > 1 else set()
    return [name for name in metrics or METRICS if available.issuperset(METRICS[name])]


def _by_class(cases: Dataset, predicted: NDArray[Any], explanation: Explanation | None) -> Row:
    truth = np.asarray(cases.y)
    missed = Counter((str(t), str(p)) for t, p in zip(truth.tolist(), predicted.tolist(), strict=True) if t != p)
    row: Row = {
        "per_class_accuracy": {
            str(label): float((predicted[truth == label] == label).mean()) for label in np.unique(truth)
        },
        "missed": {
            label: {taken: n for (true, taken), n in sorted(missed.items()) if true == label}
            for label in sorted({true for true, _ in missed})
        },
    }
    if cases.relevant is not None and explanation is not None:
        row["missed_ndcg_at_n"] = _found_all_the_same(cases, truth, predicted != truth, explanation)
    return row


def _found_all_the_same(
    cases: Dataset, truth: NDArray[Any], wrong: NDArray[np.bool_], explanation: Explanation
) -> dict[str, float]:
    """Return the mean NDCG@n of each class's misclassified cases, by the scores of the true class."""
    codes = np.searchsorted(explanation.classes, truth)
    of_true = explanation.scores[np.arange(len(truth)), codes]
    relevant = np.asarray(cases.relevant)[:, : of_true.shape[1]]
    found = ndcg_at_n(of_true, relevant, lengths=explanation.lengths)
    means = {str(label): found[wrong & (truth == label)] for label in np.unique(truth[wrong])}
    return {label: float(np.nanmean(values)) for label, values in means.items() if not np.isnan(values).all()}

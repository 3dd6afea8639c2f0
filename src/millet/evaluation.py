"""Evaluation: a model and a dataset in, one flat row of numbers out.

In:  anything that predicts, one split of a dataset, and an explanation of its cases where there is one.
Out: a dictionary that fits one line of a table, with an interval beside every number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.checks import integer
from millet.datasets import Dataset
from millet.errors import LabelError, ParameterError, lookup, warn_user
from millet.explanation import Explanation
from millet.metrics import agreement, aup, auprc, aur, entropy, gini, ndcg_at_n
from millet.metrics.aopc import faithfulness_of
from millet.metrics.erasure import lost_probability
from millet.metrics.inputs import Floats, Integers, as_numbers, as_relevant
from millet.metrics.models import owner_of
from millet.metrics.prediction import auroc, balanced_accuracy
from millet.metrics.row import Row
from millet.metrics.subject import BATCH_SIZE, Subject

# What each metric needs besides the model and the series.
METRICS: dict[str, tuple[str, ...]] = {
    "accuracy": ("labels",),
    "balanced_accuracy": ("labels",),
    "auroc": ("labels",),
    "loss": ("labels",),
    "aopcr": ("scores",),
    "normalised_aopcr": ("scores",),
    "comprehensiveness": ("scores",),
    "sufficiency": ("scores",),
    "ndcg_at_n": ("scores", "labels", "relevant"),
    "aup": ("scores", "labels", "relevant"),
    "aur": ("scores", "labels", "relevant"),
    "auprc": ("scores", "labels", "relevant"),
    "gini": ("scores",),
    "entropy": ("scores",),
    "agreement": ("members",),
}
NEEDS = {
    "labels": "the labels of the cases (dataset.y)",
    "scores": "an explanation: a model with explain, or explanation=...",
    "relevant": "timepoints that are known to be relevant (dataset.relevant)",
    "members": "what the members of an ensemble say: several networks, or an explanation with members",
}
LOCALISATION: dict[str, Callable[..., Floats]] = {"ndcg_at_n": ndcg_at_n, "aup": aup, "aur": aur, "auprc": auprc}
SPARSITY: dict[str, Callable[..., Floats]] = {"gini": gini, "entropy": entropy}


def evaluate(
    model: Any,
    dataset: Dataset,
    *,
    explanation: Explanation | ArrayLike | None = None,
    metrics: str | Sequence[str] | None = None,
    removal: str = "remove",
    batch_size: int = BATCH_SIZE,
    random_state: int = 0,
    progress: bool = True,
) -> dict[str, float | int | str]:
    """Score a model's predictions and explanations on one split of a dataset.

    Parameters
    ----------
    model : object
        A fitted MILLET classifier; any model with `predict_proba` or `decision_function`; or a torch module or a
        function from series to (n_cases, n_classes) logits, in the order of `dataset.classes`.
    dataset : Dataset
        The cases, with labels, and with relevant timepoints where they are known. For your own arrays:
        ``Dataset(X=X, y=y)``.
    explanation : Explanation or array of shape (n_cases, n_classes, n_timepoints), optional
        What to score; by default what `model.explain` returns, if the model has that.
    metrics : str or sequence of str, optional
        Names in `millet.evaluation.METRICS`; by default all that have what they need.
    removal : str, default="remove"
        How timepoints are removed; see `millet.perturbation_curve`.
    batch_size : int, default=32
        Series given to the model at a time, which bounds the memory. The result does not depend on it.
    random_state : int, default=0
        Seed of the random orders and of the intervals.
    progress : bool, default=True
        Show a bar, on a terminal.

    Returns
    -------
    dict
        In this order: `dataset`, `split`, `n_cases`, `n_classes`, `method` (of the explanation); then each metric's
        mean over the cases, followed by `_low` and `_high`, the ends of its 95 % interval (Wilson's for accuracy, a
        bootstrap's for all else); finally `n_unscored`, the number of cases that some metric could not score, and
        `unscored`, which names them and says why. A number that can't be computed, such as the AUROC of a single
        class, is NaN. As in the paper, AOPCR and the like are for the predicted class, NDCG@n and the like for the
        true one. `ndcg_at_n` includes cases in which every timepoint is relevant, which get 1.0 by construction, as
        the paper's means do; `ndcg_at_n_without_all_relevant` does not.

    Raises
    ------
    LabelError
        If a label is not one of the model's classes.
    ParameterError
        If a metric was asked for that needs something that is not there, or the model fails.

    Examples
    --------
    >>> import millet
    >>> data = millet.make_web_traffic(2, sampling_interval=60, random_state=0)
    >>> row = millet.evaluate(lambda X: np.tile(np.arange(10.0), (len(X), 1)), data, metrics=["accuracy", "auroc"])
    >>> row["n_cases"], row["accuracy"], row["auroc"]
    (20, 0.1, 0.5)
    """
    if not isinstance(dataset, Dataset):
        raise ParameterError(f"dataset must be a Dataset, such as Dataset(X=X, y=y); got {type(dataset).__name__}.")
    model = owner_of(model)
    seed = integer("random_state", random_state, at_least=0)
    metrics = [metrics] if isinstance(metrics, str) else metrics
    for name in metrics or ():
        lookup("metric", name, METRICS)
    subject = Subject(
        model, dataset.X, classes=dataset.classes, removal=removal, batch_size=batch_size, random_state=seed,
        progress=progress,
    )  # fmt: skip
    classes = _classes(subject)
    codes = None if dataset.y is None else _codes(dataset.y, classes)
    if explanation is None and (metrics is None or any(METRICS[name][0] != "labels" for name in metrics)):
        explanation = _explained(model, dataset.X, members=metrics is None or "agreement" in metrics)
    evidence = _Evidence(explanation, dataset, subject, codes)
    chosen = _chosen(metrics, evidence.available)
    facts: dict[str, float | int | str] = {
        "dataset": dataset.name,
        "split": dataset.split,
        "n_cases": len(subject),
        "n_classes": len(classes),
        "method": evidence.method,
    }
    row = Row(facts, seed)
    _score_predictions(row, chosen, subject, classes, codes)
    _score_faithfulness(row, chosen, subject, evidence)
    _score_localisation(row, chosen, evidence)
    _score_scores(row, chosen, evidence)
    return row.finished()


@final
class _Evidence:
    """Scores in the shapes that metrics take, and what else is known about the cases."""

    def __init__(self, explanation: Any, dataset: Dataset, subject: Subject, codes: Integers | None) -> None:
        self.lengths = subject.lengths
        self.method = explanation.method if isinstance(explanation, Explanation) else ""
        longest = int(self.lengths.max())
        rows = np.arange(len(subject))
        predicted = subject.targets(None)
        self.available = {"labels"} if codes is not None else set()
        if explanation is not None:
            if not isinstance(explanation, Explanation):
                explanation = as_numbers("explanation", explanation)
                if explanation.ndim != 3:
                    raise ParameterError(
                        "explanation must be an Explanation, or scores of shape (n_cases, n_classes, n_timepoints) = "
                        f"{(*subject.logits.shape, longest)}; got shape {explanation.shape}."
                    )
            self.of_predicted = subject.scores_of(explanation, predicted)[:, :longest]
            self.available.add("scores")
            if codes is not None:
                self.of_true = subject.scores_of(explanation, codes)[:, :longest]
        if isinstance(explanation, Explanation) and len(explanation.members) > 1:
            self.members = [member.scores[rows, predicted, :longest] for member in explanation.members]
            self.available.add("members")
        if dataset.relevant is not None:
            known = np.asarray(dataset.relevant)[:, :longest]
            inside = np.arange(longest) < self.lengths[:, None]
            self.relevant = as_relevant(known, (len(subject), longest)) & inside
            self.all_relevant = self.relevant.sum(axis=1) == self.lengths
            self.available.add("relevant")


def _classes(subject: Subject) -> NDArray[Any]:
    """Return the labels in the order of the model's outputs."""
    classes = np.asarray(subject.classes)
    n_outputs = subject.logits.shape[1]
    if classes.shape != (n_outputs,):
        raise ParameterError(
            f"The model returns {n_outputs} numbers a case, but there are {len(classes)} classes: "
            f"{', '.join(map(str, classes.tolist()))}. It must return one number for each of them, in this order."
        )
    return classes


def _codes(labels: NDArray[Any], classes: NDArray[Any]) -> Integers:
    places = {label: code for code, label in enumerate(classes.tolist())}
    unknown = [label for label in labels.tolist() if label not in places]
    if unknown and set(map(str, unknown)) <= set(map(str, places)):
        raise LabelError(
            f"The labels are the model's classes, but of another type: {unknown[0]!r} "
            f"({type(unknown[0]).__name__}) among classes such as {next(iter(places))!r} "
            f"({type(next(iter(places))).__name__}). Convert them, as by y.astype(clf.classes_.dtype)."
        )
    if unknown:
        raise LabelError(
            f"{len(unknown)} of {len(labels)} cases have a label that is none of the model's classes "
            f"({', '.join(map(str, classes.tolist()))}); the first is {unknown[0]!r}. Leave these cases out, or "
            "train on all classes."
        )
    return np.array([places[label] for label in labels.tolist()], dtype=np.int64)


def _explained(model: Any, X: Any, *, members: bool) -> Explanation | None:
    if not hasattr(model, "explain"):
        return None
    has_members = members and getattr(model, "n_members_", 1) > 1
    explanation = model.explain(X, members=True) if has_members else model.explain(X)
    if not isinstance(explanation, Explanation):
        raise ParameterError(f"model.explain must return an Explanation; got {type(explanation).__name__}.")
    return explanation


def _chosen(asked: Sequence[str] | None, available: set[str]) -> set[str]:
    """Return the metrics to compute; refuse those that were asked for and can't be computed."""
    possible = {name for name, needs in METRICS.items() if available.issuperset(needs)}
    for name in asked or ():
        if name not in possible:
            missing = next(need for need in METRICS[name] if need not in available)
            raise ParameterError(f"The metric {name!r} needs {NEEDS[missing]}, and there is none.")
    return possible if asked is None else set(asked)


def _score_predictions(
    row: Row, chosen: set[str], subject: Subject, classes: NDArray[Any], codes: Integers | None
) -> None:
    if codes is None:
        return
    from scipy.special import log_softmax, softmax

    logits = subject.logits
    if chosen & {"accuracy", "balanced_accuracy"}:
        correct = _predicted(subject, classes) == codes
    if "accuracy" in chosen:
        row.add_share("accuracy", correct)
    if "balanced_accuracy" in chosen:
        row.add_statistic("balanced_accuracy", len(codes), lambda counts: balanced_accuracy(correct, codes, counts))
    if "auroc" in chosen:
        probabilities = softmax(logits, axis=1)
        row.add_statistic("auroc", len(codes), lambda counts: auroc(probabilities, codes, counts))
    if "loss" in chosen:
        row.add_mean("loss", -log_softmax(logits, axis=1)[np.arange(len(codes)), codes])


def _predicted(subject: Subject, classes: NDArray[Any]) -> Integers:
    """Return the positions of the predicted classes, which an estimator's `predict` decides if it has one."""
    greatest = subject.targets(None)
    labels = subject.predictions()
    if labels is None:
        return greatest
    places = {label: code for code, label in enumerate(classes.tolist())}
    predicted = np.array([places.get(label, -1) for label in labels.tolist()])
    if n_other := int((predicted != greatest).sum()):
        warn_user(
            f"The model's predict gives {n_other} of {len(predicted)} cases another class than the one that its "
            "predict_proba or decision_function rates highest. Accuracies follow predict; the loss, the AUROC and "
            "what is measured of explanations follow the ratings."
        )
    return predicted


def _score_faithfulness(row: Row, chosen: set[str], subject: Subject, evidence: _Evidence) -> None:
    if chosen & {"aopcr", "normalised_aopcr"}:
        found = faithfulness_of(subject, evidence.of_predicted)
        if "aopcr" in chosen:
            row.add_mean("aopcr", found.aopcr)
        if "normalised_aopcr" in chosen:
            row.add_mean("normalised_aopcr", found.normalised_aopcr, "the model tells no class from another")
    for name, keep in (("comprehensiveness", False), ("sufficiency", True)):
        if name in chosen:
            row.add_mean(name, lost_probability(subject, evidence.of_predicted, keep=keep))


def _score_localisation(row: Row, chosen: set[str], evidence: _Evidence) -> None:
    for name, metric in LOCALISATION.items():
        if name not in chosen:
            continue
        values = metric(evidence.of_true, evidence.relevant, lengths=evidence.lengths)
        nowhere = ~evidence.relevant.any(axis=1)
        reasons = np.where(nowhere, "no timepoint is relevant", "the scores are constant")
        row.add_mean(name, values, reasons.tolist())
        if name == "ndcg_at_n":
            row.add_mean(f"{name}_without_all_relevant", values[~evidence.all_relevant & ~nowhere])


def _score_scores(row: Row, chosen: set[str], evidence: _Evidence) -> None:
    for name, metric in SPARSITY.items():
        if name in chosen:
            values = metric(evidence.of_predicted, lengths=evidence.lengths)
            row.add_mean(name, values, "all scores are 0, or there is a single one")
    if "agreement" in chosen:
        found = agreement(evidence.members, lengths=evidence.lengths)
        constant = "a member's scores are constant"
        row.add_mean("agreement_rank_correlation", found.rank_correlation, constant)
        row.add_mean("agreement_top_overlap", found.top_overlap, constant)

"""Reporting: a model's explanation of a dataset as a page, with the scores that need no further forward pass.

In:  a fitted classifier, its explanation, and the dataset that this is about.
Out: an HTML file, by `millet.viewer`; used by the commands ``millet explain`` and ``millet demo``.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from millet.contract import EvidenceClassifier
from millet.datasets import Dataset
from millet.evaluation import evaluate
from millet.explanation import Explanation
from millet.viewer import model_facts, write_report

# All that can be read off an explanation; AOPCR and the like query the model about thousands of changed series.
PREDICTION_METRICS = ("accuracy", "balanced_accuracy", "auroc", "loss")


def report_run(
    path: str | os.PathLike[str],
    classifier: EvidenceClassifier,
    explanation: Explanation,
    dataset: Dataset,
) -> Path:
    """Write a report on what a classifier said about a dataset.

    Parameters
    ----------
    path : path-like
        The HTML file.
    classifier : MilletClassifier, RocketMilletClassifier or AveragedClassifier
        The classifier.
    explanation : Explanation
        What it said; its `cases` are numbers of cases in the dataset.
    dataset : Dataset
        All cases.

    Returns
    -------
    Path
        The file.
    """
    if not np.array_equal(explanation.cases, np.arange(len(dataset))):
        dataset = dataset.take(explanation.cases)
    return write_report(
        path,
        explanation,
        dataset=dataset,
        metrics=quick_scores(explanation, dataset),
        model=model_facts(classifier),
    )


def quick_scores(explanation: Explanation, dataset: Dataset) -> dict[str, float | int | str]:
    """Return the row of `millet.evaluate` with the metrics for which the explanation is enough.

    Empty without labels, or if a label is not one of the model's classes: the loss of such a case is not defined.
    """
    if dataset.y is None or not np.isin(dataset.y, explanation.classes).all():
        return {}
    known = Dataset(
        name=dataset.name, X=dataset.X, y=dataset.y, classes=explanation.classes, relevant=dataset.relevant,
        split=dataset.split,
    )  # fmt: skip
    return evaluate(
        lambda _: explanation.logits,  # asked once, about all cases
        known,
        explanation=explanation,
        metrics=[*PREDICTION_METRICS, *(["ndcg_at_n"] if dataset.relevant is not None else [])],
        batch_size=explanation.n_cases,
        progress=False,
    )

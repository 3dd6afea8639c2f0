"""Facts: what the report says about a model and how well it did.

In:  a fitted classifier, a row of scores, labels.
Out: labelled values that JSON can hold, for `millet.viewer.report`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What to call a score, and what it means; others are shown under their own name.
SCORES = {
    "accuracy": ("Accuracy", "Share of the cases whose most probable class is the true one."),
    "balanced_accuracy": ("Balanced accuracy", "Mean over the classes of the share that was found."),
    "auroc": ("AUROC", "Chance that a case of a class is ranked above a case of another."),
    "loss": ("Loss", "Mean cross entropy; 0 is certain and always right."),
    "aopcr": (
        "AOPCR",
        "How much faster the prediction falls when the strongest timepoints are removed than at random.",
    ),
    "ndcg_at_n": ("NDCG@n", "How well the strongest timepoints are those of the true region; 1 is perfectly."),
    "ndcg_at_n_without_all_relevant": (
        "NDCG@n with a region",
        "The same without cases that matter as a whole.",
    ),
}
# Scores between 0 and 1, which can be drawn on a bar.
SHARES = frozenset(SCORES) - {"loss", "aopcr"}


def model_facts(classifier: Any) -> dict[str, object]:
    """Return what a reader of the report may want to know about a fitted classifier.

    Parameters
    ----------
    classifier : EvidenceClassifier
        Fitted or loaded.

    Returns
    -------
    dict
        Label to value, in the order to show them.
    """
    summary = classifier.training_summary_
    facts: dict[str, object] = classifier.facts()
    if not summary["n_cases"]:  # networks from elsewhere, whose training is unknown
        return facts
    training = {"Trained on": f"{summary['n_cases']:,} cases", "Training time": f"{summary['seconds']:,.0f} s"}
    return facts | training


def describe_scores(metrics: Mapping[str, object]) -> list[dict[str, Any]]:
    """Return one entry per finite number of a flat row, with its interval where the row has one.

    Examples
    --------
    >>> row = {"dataset": "Web", "accuracy": 0.9, "accuracy_low": 0.8, "accuracy_high": 0.95}
    >>> [(entry["label"], entry["value"], entry["low"], entry["high"]) for entry in describe_scores(row)]
    [('Accuracy', 0.9, 0.8, 0.95)]
    """
    entries = []
    for name, value in metrics.items():
        is_end = any(name.endswith(end) and name.removesuffix(end) in metrics for end in ("_low", "_high"))
        is_count = name.startswith("n_")
        number = _finite(value)
        if is_end or is_count or number is None:
            continue
        label, hint = SCORES.get(name, (name.replace("_", " ").capitalize(), ""))
        low, high = _finite(metrics.get(f"{name}_low")), _finite(metrics.get(f"{name}_high"))
        entries.append(
            {"label": label, "hint": hint, "value": number, "low": low, "high": high, "isShare": name in SHARES}
        )
    return entries


def _finite(value: object) -> float | None:
    """Return the number, or None for anything that isn't one."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    number = float(np.real(value))
    return number if math.isfinite(number) else None


def accuracy_row(right: NDArray[np.bool_]) -> dict[str, float]:
    """Return the accuracy with Wilson's 95 % interval, which stays inside 0 ... 1 however few the cases are.

    Examples
    --------
    >>> {name: round(value, 3) for name, value in accuracy_row(np.array([True] * 9 + [False])).items()}
    {'accuracy': 0.9, 'accuracy_low': 0.596, 'accuracy_high': 0.982}
    """
    from scipy.stats import binomtest

    low, high = binomtest(int(right.sum()), len(right)).proportion_ci(method="wilson")
    return {"accuracy": float(right.mean()), "accuracy_low": float(low), "accuracy_high": float(high)}

"""Classify time series and see why.

A time series is a bag of timepoints; one forward pass gives the class and the signed, class-wise evidence of
every timepoint. Names and packages are loaded on first use, so ``import millet`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from millet.version import __version__

_HOMES = {
    "Dataset": "millet.datasets",
    "list_datasets": "millet.datasets",
    "load_dataset": "millet.datasets",
    "load_file": "millet.datasets",
    "make_web_traffic": "millet.datasets",
    "AveragedClassifier": "millet.averaged",
    "Explanation": "millet.explanation",
    "MilletClassifier": "millet.classifier",
    "MilletError": "millet.errors",
    "Recipe": "millet.training",
    "RocketMilletClassifier": "millet.rocket_classifier",
    "aopcr": "millet.metrics",
    "evaluate": "millet.evaluation",
    "load_classifier": "millet.loading",
    "ndcg_at_n": "millet.metrics",
    "perturbation_curve": "millet.metrics",
    "plot_explanation": "millet.plots",
}

PACKAGES = (
    "benchmark", "datasets", "errors", "explanation", "metrics", "nn", "plots", "posthoc", "report", "statistics",
    "training", "viewer",
)  # fmt: skip

__all__ = [
    "AveragedClassifier",
    "Dataset",
    "Explanation",
    "MilletClassifier",
    "MilletError",
    "Recipe",
    "RocketMilletClassifier",
    "__version__",
    "aopcr",
    "evaluate",
    "list_datasets",
    "load_classifier",
    "load_dataset",
    "load_file",
    "make_web_traffic",
    "ndcg_at_n",
    "perturbation_curve",
    "plot_explanation",
]

if TYPE_CHECKING:
    from millet.averaged import AveragedClassifier
    from millet.classifier import MilletClassifier
    from millet.datasets import Dataset, list_datasets, load_dataset, load_file, make_web_traffic
    from millet.errors import MilletError
    from millet.evaluation import evaluate
    from millet.explanation import Explanation
    from millet.loading import load_classifier
    from millet.metrics import aopcr, ndcg_at_n, perturbation_curve
    from millet.plots import plot_explanation
    from millet.rocket_classifier import RocketMilletClassifier
    from millet.training import Recipe


def __getattr__(name: str) -> Any:
    if name in PACKAGES:
        return importlib.import_module(f"millet.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'millet' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *PACKAGES])

"""Write docs/tables/posthoc_webtraffic.md: how good each explanation of WebTraffic is, and what it costs.

    python docs/scripts/posthoc_table.py --model model/ --cases 50

Every method explains the same model and the same cases, spread evenly over the test split. A class activation map
needs a network with global average pooling, and is in the table only where the model has it.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

import millet
from millet import metrics, posthoc
from millet.atomic import atomic_path

TABLE = Path(__file__).parents[1] / "tables" / "posthoc_webtraffic.md"
Explain = Callable[[object], millet.Explanation]


def methods_for(classifier: millet.MilletClassifier) -> dict[str, Explain]:
    """Return how to explain, by the name to print."""

    def by(method: str, **options: object) -> Explain:
        return lambda X: posthoc.explain(method, classifier, X, **options)

    chosen: dict[str, Explain] = {f"MILLET's own ({classifier.pooling})": classifier.explain}
    if classifier.pooling == "gap":
        chosen["`cam`"] = by("cam")
    chosen["`shap`"] = by("shap")
    chosen["`shap`, `paired=False`"] = by("shap", paired=False)
    chosen['`shap`, `baseline="zero"`'] = by("shap", baseline="zero")
    for method in sorted(set(posthoc.METHODS) - {"cam", "shap"}):
        chosen[f"`{method}`"] = by(method)
    return chosen


def ask_in_turns(
    methods: dict[str, Explain], cases: millet.Dataset, n_classes: int
) -> tuple[dict[str, NDArray[np.float64]], dict[str, float]]:
    """Return each method's scores of all cases, and its median seconds a case.

    Every method explains a case before the next case comes, so that a busy machine slows all alike.
    """
    scores = {name: np.zeros((len(cases), n_classes, cases.X.shape[2])) for name in methods}
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    for case in range(len(cases)):
        for name, explain in methods.items():
            start = time.perf_counter()
            scores[name][case] = explain(cases.X[case : case + 1]).scores[0]
            seconds[name].append(time.perf_counter() - start)
        print(f"{case + 1} of {len(cases)} cases explained", flush=True)
    return scores, {name: float(np.median(taken)) for name, taken in seconds.items()}


def measure(
    scores: NDArray[np.float64], classifier: millet.MilletClassifier, cases: millet.Dataset
) -> tuple[float, float, float]:
    """Return AOPCR, NDCG@n, and NDCG@n of the cases that have a signature."""
    codes = np.searchsorted(classifier.classes_, cases.y)
    aopcr = metrics.aopcr(classifier, cases.X, scores)
    ndcg = metrics.ndcg_at_n(scores[np.arange(len(cases)), codes], cases.relevant)
    has_signature = ~cases.relevant.all(axis=1)
    return float(aopcr.mean()), float(ndcg.mean()), float(ndcg[has_signature].mean())


def sample(dataset: millet.Dataset, n_cases: int) -> millet.Dataset:
    """Return cases spread evenly over a split, which has its classes in order."""
    rows = np.linspace(0, len(dataset) - 1, n_cases).astype(int)
    return dataclasses.replace(dataset, X=dataset.X[rows], y=dataset.y[rows], relevant=dataset.relevant[rows])


def describe(classifier: millet.MilletClassifier, cases: millet.Dataset) -> str:
    """Return what the numbers belong to, in Markdown."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("torch", "captum", "numpy"))
    epochs = classifier.training_summary_["n_epochs"]
    return f"""# Explanations of WebTraffic, compared

{len(cases)} test cases; a `MilletClassifier` with backbone `{classifier.backbone}` and pooling
`{classifier.pooling}`, trained for {" + ".join(map(str, epochs))} epochs, which classifies
{classifier.score(cases.X, cases.y):.0%} of them correctly. Seconds are medians, one case at a time, all classes
explained. MILLET {millet.__version__}, {versions}, on {torch.get_num_threads()} thread(s) of a CPU.
Written by `docs/scripts/posthoc_table.py`; [posthoc.md](../posthoc.md) says what to make of it.

| method | AOPCR | NDCG@n | NDCG@n without class 0 | seconds a case |
|---|---|---|---|---|
"""


def main() -> None:
    """Measure every method and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of a classifier trained on WebTraffic")
    parser.add_argument("--cases", type=int, default=50, help="test cases to explain (default: 50)")
    arguments = parser.parse_args()
    classifier = millet.MilletClassifier.load(arguments.model)
    cases = sample(millet.load_dataset("WebTraffic")[1], arguments.cases)
    scores, seconds = ask_in_turns(methods_for(classifier), cases, len(classifier.classes_))
    rows = []
    for name, found in scores.items():
        aopcr, ndcg, ndcg_signatures = measure(found, classifier, cases)
        rows.append(f"| {name} | {aopcr:.2f} | {ndcg:.3f} | {ndcg_signatures:.3f} | {seconds[name]:.3f} |")
    with atomic_path(TABLE) as temporary:
        temporary.write_text(describe(classifier, cases) + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

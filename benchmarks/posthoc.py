"""What explanations cost: MILLET's own evidence, SHAP with 500 coalitions, and captum's KernelShap with as many.

    python benchmarks/posthoc.py
    python benchmarks/posthoc.py --backbone fcn --rounds 9

At WebTraffic's sizes: 1008 timepoints, 10 classes. All variants take turns in one run and medians are compared, so a
busy machine slows all alike. The network is trained for one epoch on a few cases: its weights do not affect its cost.
captum fits one class at a time, here without asking the network again; MILLET's SHAP fits all ten at once.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import millet
from millet import posthoc

N_SAMPLES = 500


def medians(works: dict[str, Callable[[], object]], n_rounds: int) -> dict[str, float]:
    """Return the median seconds of each piece of work; they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(n_rounds + 1):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            if turn > 0:  # Imports and first allocations have a round of their own.
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def compare_evidence(classifier: millet.MilletClassifier, X: object, n_cases: int, n_rounds: int) -> float:
    """Print what evidence adds to a prediction; return the seconds of one case's own evidence."""
    taken = medians(
        {"predict_proba": lambda: classifier.predict_proba(X), "explain": lambda: classifier.explain(X)}, n_rounds
    )
    ratio = taken["explain"] / taken["predict_proba"]
    for name, seconds in taken.items():
        print(f"{name:34s} {seconds / n_cases * 1e3:9.2f} ms a case, in a batch of {n_cases}")
    print(f"explain / predict_proba            {ratio:9.2f}x   (wanted: at most 1.15x)\n")
    return taken["explain"] / n_cases


def compare_shap(classifier: millet.MilletClassifier, X: object, own_seconds: float, n_rounds: int) -> None:
    """Print what SHAP costs for one case, compared with captum's, also for one class, and MILLET's own evidence."""
    label = classifier.predict(X)[0]
    options = {"n_samples": N_SAMPLES, "progress": False}
    taken = medians(
        {
            "shap, all classes": lambda: posthoc.shap(classifier, X, **options),
            "  the same, baseline='zero'": lambda: posthoc.shap(classifier, X, baseline="zero", **options),
            "captum, one class": lambda: posthoc.kernel_shap(classifier, X, target=label, batch_size=1, **options),
            "  the same, in batches of 32": lambda: posthoc.kernel_shap(classifier, X, target=label, **options),
            "captum, all classes, in batches": lambda: posthoc.kernel_shap(classifier, X, **options),
        },
        n_rounds,
    )
    ours, _, one_class, batched, all_classes = taken.values()
    for name, seconds in taken.items():
        print(f"{name:34s} {seconds:9.3f} s a case {seconds / ours:9.2f}x")
    print(f"captum / shap, all classes         {all_classes / ours:9.2f}x   (wanted: at least 3x)")
    print(
        f"captum / shap, one class           {one_class / ours:9.2f}x   as it comes; {batched / ours:.2f}x in batches"
    )
    print(f"shap / own evidence                {ours / own_seconds:9.0f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backbone", default="lite", help="a backbone of MILLET (default: lite)")
    parser.add_argument("--pooling", default="conjunctive", help="a pooling of MILLET (default: conjunctive)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each (default: 5)")
    parser.add_argument("--cases", type=int, default=60, help="cases to predict and explain (default: 60)")
    arguments = parser.parse_args()
    train, test = millet.load_dataset("WebTraffic")
    classifier = millet.MilletClassifier(
        arguments.backbone, arguments.pooling, n_epochs=1, batch_size=16, random_state=0, verbose=0
    ).fit(train.X[::25], train.y[::25])
    X = test.X[:: len(test.X) // arguments.cases][: arguments.cases]
    print(f"{arguments.backbone}, {arguments.pooling}: {X.shape[2]} timepoints, {N_SAMPLES} coalitions\n")
    own_seconds = compare_evidence(classifier, X, len(X), 3 * arguments.rounds)
    compare_shap(classifier, X[-1:], own_seconds, arguments.rounds)


if __name__ == "__main__":
    main()

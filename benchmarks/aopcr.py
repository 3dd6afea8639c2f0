"""How fast AOPCR is compared with the plain loop over cases, orders and steps, and how much memory it takes.

    python benchmarks/aopcr.py [--backbone fcn] [--cases 8] [--lengths 150 500 1008]

The plain loop asks the model about one perturbed series at a time, as the formula reads: for every case, the order of
its evidence and three random ones, and in each of them the whole series and ten steps. Both take turns in one run and
medians are compared, so a busy machine slows both alike. Weights are random: they do not matter for speed. The last
lines show the peak memory of a process that evaluates few and many cases with one `batch_size`.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

from millet import MilletClassifier
from millet.metrics import FRACTIONS, aopc, aopcr


def make_classifier(backbone: str, length: int) -> MilletClassifier:
    rng = np.random.default_rng(0)
    classifier = MilletClassifier(backbone, n_epochs=1, n_jobs=1, random_state=0, verbose=0)
    return classifier.fit(rng.normal(size=(8, 1, length)), np.arange(8) % 4)


def plain_loop(classifier: MilletClassifier, X: np.ndarray, scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    length = X.shape[2]
    values = []
    for case, target in enumerate(targets):
        orders = [np.argsort(-scores[case, target], kind="stable")]
        orders += [np.random.default_rng([0, case, 1 + number]).permutation(length) for number in range(3)]
        areas = []
        for order in orders:
            curve = []
            for fraction in (0, *FRACTIONS):
                removed = np.zeros((1, length), dtype=bool)
                removed[0, order[: int(fraction * length + 1e-9)]] = True
                curve.append(classifier.logits(X[case : case + 1], removed=removed)[0, target])
            areas.append(aopc(np.array(curve) - curve[0]))
        values.append(areas[0] - np.mean(areas[1:]))
    return np.array(values)


def compare(backbone: str, n_cases: int, length: int, n_rounds: int) -> None:
    classifier = make_classifier(backbone, length)
    X = np.random.default_rng(1).normal(size=(n_cases, 1, length))
    explanation = classifier.explain(X)
    targets = explanation.predicted_codes
    slow, fast = [], []
    for _ in range(n_rounds):
        start = time.perf_counter()
        expected = plain_loop(classifier, X, explanation.scores, targets)
        slow.append(time.perf_counter() - start)
        start = time.perf_counter()
        found = aopcr(classifier, X, explanation.scores)
        fast.append(time.perf_counter() - start)
        assert np.allclose(found, expected, atol=1e-4)
    loop, batched = statistics.median(slow), statistics.median(fast)
    print(f"{backbone:15s} {length:6d} {n_cases:6d} {loop:10.2f} s {batched:8.2f} s {loop / batched:7.2f}x")


def peak_memory(n_cases: int, batch_size: int) -> float:
    """Return the peak memory of a new process, in MB."""
    command = [sys.executable, __file__, "--measure", str(n_cases), str(batch_size)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measure(n_cases: int, batch_size: int) -> None:
    classifier = make_classifier("fcn", 300)
    X = np.random.default_rng(1).normal(size=(n_cases, 1, 300))
    aopcr(classifier, X, X[:, 0], batch_size=batch_size)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backbone", default="inceptiontime")
    parser.add_argument("--cases", type=int, default=8)
    parser.add_argument("--lengths", type=int, nargs="+", default=[150, 500, 1008])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(*arguments.measure)
        return
    print("backbone        length  cases   plain loop      aopcr   faster")
    for length in arguments.lengths:
        compare(arguments.backbone, arguments.cases, length, arguments.rounds)
    for n_cases, batch_size in ((10, 32), (60, 32), (60, 256)):
        peak = peak_memory(n_cases, batch_size)
        print(f"fcn, length 300: {n_cases:3d} cases, batch_size {batch_size:3d}: peak {peak:5.0f} MB")


if __name__ == "__main__":
    main()

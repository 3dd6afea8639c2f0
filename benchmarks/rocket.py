"""How fast the fast lane is: fits compared with aeon's own classifiers, and what evidence costs.

    python benchmarks/rocket.py --path DATA --aeon-python other/bin/python

aeon may need other versions of numpy and numba than MILLET, so it runs in its own process, with the interpreter that
is given; the two take turns. The first fit of each side, on a tiny dataset, is shown by itself: it compiles into an
empty cache. Then follows evidence for one case of 1008 points and ten classes, and for a batch beside its logits.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

DATASETS = ("GunPoint", "Fish", "FordA", "ElectricDevices")
# From our features to the name of aeon's classifier.
RIVALS = {"minirocket": "MiniRocketClassifier", "multirocket-hydra": "MultiRocketHydraClassifier"}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", type=Path, help="Folder with datasets; without it, only evidence is timed.")
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--aeon-python", default=sys.executable, help="An interpreter that has aeon.")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--serve", choices=["ours", "aeon"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.n_jobs)
        return
    if given.path is not None:
        compare_fits(given.path, given.datasets, given.aeon_python, given.n_jobs)
    time_evidence()


def compare_fits(path: Path, datasets: Sequence[str], aeon_python: str, n_jobs: int) -> None:
    """Print the seconds of a fit of either side, which take turns."""
    from millet import load_dataset

    with tempfile.TemporaryDirectory() as folder:
        sides = {
            side: Side(side, python, n_jobs, Path(folder) / side)
            for side, python in (("ours", sys.executable), ("aeon", aeon_python))
        }
        rng = np.random.default_rng(0)
        save(Path(folder) / "first.npz", rng.normal(size=(20, 1, 50)), np.arange(20) % 2)
        for model in RIVALS:
            report(f"first call, {model}", [side.fit(model, Path(folder) / "first.npz") for side in sides.values()])
        for name in datasets:
            train, _ = load_dataset(name, path)
            save(Path(folder) / "data.npz", train.X, train.y)
            for model in RIVALS:
                report(f"{name}, {model}", [side.fit(model, Path(folder) / "data.npz") for side in sides.values()])
        for side in sides.values():
            side.stop()


def save(file: Path, X: np.ndarray, y: np.ndarray) -> None:
    """Write what both sides read."""
    np.savez(file, X=np.asarray(X, dtype=np.float32), y=np.unique(y, return_inverse=True)[1])


def report(what: str, seconds: list[float]) -> None:
    """Print one line."""
    ours, theirs = seconds
    print(f"{what:42} ours {ours:8.2f} s   aeon {theirs:8.2f} s   {theirs / ours:5.2f}x", flush=True)


class Side:
    """A process that fits what it is told to, and says how long that took."""

    def __init__(self, side: str, python: str, n_jobs: int, cache: Path) -> None:
        cache.mkdir()
        self._process = subprocess.Popen(
            [python, __file__, "--serve", side, "--n-jobs", str(n_jobs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        )

    def fit(self, model: str, file: Path) -> float:
        """Return the seconds of a fit."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([model, str(file)]) + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def stop(self) -> None:
        """End the process."""
        self._process.communicate()


def serve(side: str, n_jobs: int) -> None:
    """Fit what standard input names, one line per fit, until it ends."""
    make = make_ours if side == "ours" else make_aeon
    for line in sys.stdin:
        model, file = json.loads(line)
        data = np.load(file)
        classifier = make(model, n_jobs)
        started = time.perf_counter()
        classifier.fit(data["X"], data["y"])
        print(time.perf_counter() - started, flush=True)


def make_ours(model: str, n_jobs: int) -> Any:
    """Return our classifier, with the head of the originals."""
    from millet import RocketMilletClassifier

    return RocketMilletClassifier(model, head="ridge", n_jobs=n_jobs, random_state=0, verbose=0)


def make_aeon(model: str, n_jobs: int) -> Any:
    """Return aeon's classifier."""
    import warnings

    warnings.simplefilter("ignore")
    from aeon.classification import convolution_based

    return getattr(convolution_based, RIVALS[model])(n_jobs=n_jobs, random_state=0)


def time_evidence(n_cases: int = 32, n_timepoints: int = 1008, n_classes: int = 10) -> None:
    """Print what evidence costs: for one case, and for a batch beside its logits."""
    from millet import RocketMilletClassifier
    from millet.rocket.model import TRANSFORMS

    X = np.random.default_rng(0).normal(size=(n_cases, 1, n_timepoints)).cumsum(axis=2)
    y = np.arange(n_cases) % n_classes
    for features in TRANSFORMS:
        classifier = RocketMilletClassifier(features, random_state=0, n_jobs=1, verbose=0).fit(X, y)
        one = median_seconds(lambda fitted=classifier: fitted.explain(X[:1]))
        batch = median_seconds(lambda fitted=classifier: fitted.explain(X), n_rounds=3)
        logits = median_seconds(lambda fitted=classifier: fitted.logits(X), n_rounds=3)
        print(
            f"evidence, {features:18} one case {1e3 * one:7.1f} ms   a case of a batch "
            f"{1e3 * batch / n_cases:7.1f} ms, {batch / logits:4.1f}x its logits",
            flush=True,
        )


def median_seconds(work: Callable[[], object], n_rounds: int = 7) -> float:
    """Return the median seconds of some work that was done once before."""
    work()
    seconds = []
    for _ in range(n_rounds):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return float(np.median(seconds))


if __name__ == "__main__":
    main()

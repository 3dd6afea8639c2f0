"""Costs: how long cells will take, from what others took, or from a second's trial.

The unit is a pass: one timepoint of one case through a network, forwards, or what its features take.
"""

from __future__ import annotations

import functools
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import final

import numpy as np
import torch
import torch.nn.functional as F

from millet.benchmark.cells import Cell
from millet.benchmark.experiment import Experiment
from millet.benchmark.measure import needs_evidence
from millet.benchmark.models import OWN
from millet.benchmark.rows import Row
from millet.benchmark.sources import Size
from millet.nn import MilletNetwork
from millet.report.rows import core_seconds
from millet.rocket.model import TRANSFORMS
from millet.rocket_classifier import RocketMilletClassifier

# Forwards, backwards (twice the work), and the inference pass that selects the best epoch.
PASSES_PER_EPOCH = 4
# Predicting for the clock and for the scores; explaining, which costs random convolutions several passes; and four
# orders of removal in ten steps that leave 72.5 % of a series on average.
PASSES_TO_PREDICT = 2
PASSES_TO_EXPLAIN = {"network": 1, "rocket": 5}
PASSES_TO_REMOVE = 4 * 10 * 0.725
# The metrics that ask a model about series with timepoints removed.
REMOVING = {"aopcr", "normalised_aopcr", "comprehensiveness", "sufficiency"}
DEFAULT_SAMPLES = 500
UNKNOWN = Size(500, 500, 500)
CLOCKED = ("train", "inference", "explain", "evaluate")


@final
class Costs:
    """Estimates for the cells of one experiment.

    Parameters
    ----------
    experiment : Experiment
    path : Path, optional
        Folder with datasets.
    rows : iterable of dict
        Rows of this run, from which the speed of each backbone is taken; a backbone without any is tried.
    folder : Path, optional
        The run folder: ensembles train those members again whose models are not there any more.

    Attributes
    ----------
    rates : dict
        Seconds a pass, by backbone.
    absent : list of str
        Datasets whose size nobody knows, because they are not here.
    """

    def __init__(
        self, experiment: Experiment, path: Path | None, rows: Iterable[Row] = (), folder: Path | None = None
    ) -> None:
        self._experiment = experiment
        rows = list(rows)
        self._lost = set() if folder is None else _lost_members(rows, folder)
        sizes = {data.name: data.size(path) for data in experiment.datasets}
        self.absent = [name for name, size in sizes.items() if size is None]
        self._sizes = {name: size or UNKNOWN for name, size in sizes.items()}
        measured = self._measured_rates(rows)
        backbones = {single.backbone for model in experiment.models for single in model.singles}
        self.rates = {name: measured.get(name) or trial_rate(name) for name in sorted(backbones)}

    def seconds(self, cell: Cell) -> float:
        """Return the estimated seconds of a cell on one core; of an average, its parts' sum."""
        members = [replace(cell, repeat=repeat, methods=()) for repeat in range(self._experiment.repeats)]
        again = [member for member in members if cell.is_ensemble and member.place in self._lost]
        return sum(map(self._own_seconds, [cell, *again]))

    def _own_seconds(self, cell: Cell) -> float:
        singles = [replace(cell, model=single) for single in cell.model.singles]
        n_epochs = self._experiment.recipe.n_epochs
        return sum(self.rates[single.model.backbone] * self._passes(single, n_epochs) for single in singles)

    def _passes(self, cell: Cell, n_epochs: float) -> float:
        size = self._sizes[cell.data.name]
        n_networks = self._experiment.repeats if cell.is_ensemble else 1
        training = 1.0 if cell.model.is_rocket else n_epochs * PASSES_PER_EPOCH
        passes = 0.0 if cell.is_ensemble else training * size.n_train
        for method in cell.methods:
            n_cases = min(method.n_cases or size.n_test, size.n_test)
            asked = 0.0
            if "shap" in method.name or "lime" in method.name:
                asked = method.options.get("n_samples", DEFAULT_SAMPLES) / 2  # half the timepoints on average
            # Beside another method that explains some cases alone, the model's own evidence of these is scored.
            is_beside_own = method.name != OWN and n_cases < size.n_test and needs_evidence(self._experiment.metrics)
            n_scored = 2 if is_beside_own else 1
            passes += n_networks * n_cases * (n_scored * self._passes_per_evaluation(cell) + asked)
        return passes * size.n_timepoints

    def _passes_per_evaluation(self, cell: Cell) -> float:
        metrics = self._experiment.metrics
        passes = float(PASSES_TO_PREDICT)
        if needs_evidence(metrics):
            passes += PASSES_TO_EXPLAIN["rocket" if cell.model.is_rocket else "network"]
        if not metrics or REMOVING.intersection(metrics):
            passes += PASSES_TO_REMOVE
        return passes

    def _measured_rates(self, rows: Iterable[Row]) -> Mapping[str, float]:
        seconds: dict[str, float] = defaultdict(float)
        passes: dict[str, float] = defaultdict(float)
        models = {model.name: model for model in self._experiment.models}
        data = {spec.name: spec for spec in self._experiment.datasets}
        own = tuple(method for method in self._experiment.methods if method.name == OWN)
        for row in rows:
            model, spec = models.get(row["model"]), data.get(row["dataset"])
            # The row of an average does not tell which of its parts took the time; others are of another experiment.
            if model is None or spec is None or model.parts:
                continue
            spent = [core_seconds(row, kind) for kind in CLOCKED]
            is_single = row["status"] == "done" and row["method"] == OWN and not row["ensemble"]
            if is_single and None not in spent and "n_epochs_run" in row:
                seconds[model.backbone] += sum(known for known in spent if known is not None)
                passes[model.backbone] += self._passes(Cell(spec, model, row["repeat"], own), row["n_epochs_run"])
        return {name: seconds[name] / passes[name] for name in seconds}


def _lost_members(rows: Iterable[Row], folder: Path) -> set[Path]:
    """Return the places of networks that are done, and whose models are gone."""
    done = {
        Path(row["dataset"], row["model"], str(row["repeat"]))
        for row in rows
        if row["status"] == "done" and row["method"] == OWN and not row["ensemble"]
    }
    return {place for place in done if not (folder / "models" / place / "model.json").exists()}


@functools.cache
def trial_rate(backbone: str, n_cases: int = 8, n_timepoints: int = 256, n_steps: int = 2) -> float:
    """Return the seconds a pass of a backbone, or of features, measured on one core with noise.

    Examples
    --------
    >>> 0 < trial_rate("fcn", n_steps=1) < 0.01
    True
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        trial = _trial_of_features if backbone in TRANSFORMS else _trial_of_network
        step, n_passes = trial(backbone, n_cases, n_timepoints)
        step()  # the first one also sets things up
        clock = time.process_time()  # not the time of others, should the machine be busy
        for _ in range(n_steps):
            step()
        spent = time.process_time() - clock
    finally:
        torch.set_num_threads(before)
    return spent / (n_steps * n_passes * n_cases * n_timepoints)


def _trial_of_network(backbone: str, n_cases: int, n_timepoints: int) -> tuple[Callable[[], None], int]:
    network = MilletNetwork(1, 10, backbone)
    x = torch.zeros(n_cases, 1, n_timepoints)
    target = torch.zeros(n_cases, dtype=torch.long)

    def step() -> None:
        F.cross_entropy(network(x).logits, target).backward()  # type: ignore[no-untyped-call]
        with torch.inference_mode():
            network(x)

    return step, PASSES_PER_EPOCH


def _trial_of_features(features: str, n_cases: int, n_timepoints: int) -> tuple[Callable[[], None], int]:
    noise = np.random.default_rng(0).normal(size=(n_cases, 1, n_timepoints))
    classifier = RocketMilletClassifier(features, n_jobs=1, random_state=0, verbose=0)
    classifier.fit(noise, np.arange(n_cases) % 2)

    def step() -> None:
        classifier.logits(noise)

    return step, 1

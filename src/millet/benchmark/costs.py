"""Costs, how long cells will take: by this machine's speed, corrected by what other cells of the run really took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import final

from millet.benchmark.cells import Cell
from millet.benchmark.experiment import Experiment
from millet.benchmark.measure import needs_evidence
from millet.benchmark.models import MethodSpec
from millet.benchmark.rows import Row
from millet.benchmark.sources import Size
from millet.benchmark.speed import PASSES_PER_STEP, Speed, Work, trial_speed
from millet.fitting import choose_hardware
from millet.jsonl import finite
from millet.report.names import OWN

# Predicting, for the clock and for the scores; explaining, which takes several passes with random convolutions; and
# four orders of removal in ten steps that leave 72.5 % of a series on average.
PASSES_TO_PREDICT = 2
PASSES_TO_EXPLAIN = {"network": 1, "rocket": 5}
PASSES_TO_REMOVE = 4 * 10 * 0.725
# The metrics that ask a model about series with timepoints removed.
REMOVING = {"aopcr", "normalised_aopcr", "comprehensiveness", "sufficiency"}
# What methods ask of a model for each case, unless their options say otherwise: series; windows, length divided by
# stride; and gradients of every class, each of which takes three passes.
DEFAULT_SAMPLES, DEFAULT_WINDOWS, DEFAULT_STEPS = 500, 80, 50
# With networks, these remove timepoints, half of them on average, where others replace them.
SHORTENING = ("shap", "segment_shap", "segment_lime")
UNKNOWN = Size(500, 500, 500, 5)
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
        Rows of this run: where they have processor times, each backbone's speed is corrected by them.
    folder : Path, optional
        The run folder: ensembles train again those members whose models are no longer there.
    speeds : mapping, optional
        The speed of backbones, where it is known; others are measured.

    Attributes
    ----------
    speeds : dict
        The speed of each backbone.
    absent : list of str
        Datasets of unknown size, because they are not here.
    """

    def __init__(
        self,
        experiment: Experiment,
        path: Path | None,
        rows: Iterable[Row] = (),
        folder: Path | None = None,
        speeds: Mapping[str, Speed] | None = None,
    ) -> None:
        self._experiment = experiment
        rows = list(rows)
        self._lost = set() if folder is None else _lost_members(rows, folder)
        sizes = {data.name: data.size(path) for data in experiment.datasets}
        self.absent = [name for name, size in sizes.items() if size is None]
        self._sizes = {name: size or UNKNOWN for name, size in sizes.items()}
        _, precision = choose_hardware("cpu", experiment.recipe.precision)
        known = speeds or {}
        backbones = {single.backbone for model in experiment.models for single in model.singles}
        self.speeds = {name: known.get(name) or trial_speed(name, precision) for name in sorted(backbones)}
        for name, factor in self._corrections(rows).items():
            self.speeds[name] = self.speeds[name].times(factor)

    def seconds(self, cell: Cell) -> float:
        """Return the estimated seconds of a cell on one core; for an average, the sum over its parts."""
        members = [replace(cell, repeat=repeat, methods=()) for repeat in range(self._experiment.repeats)]
        again = [member for member in members if cell.is_ensemble and member.place in self._lost]
        return sum(map(self._own_seconds, [cell, *again]))

    def _own_seconds(self, cell: Cell) -> float:
        n_epochs = self._experiment.recipe.n_epochs_for(self._sizes[cell.data.name].n_train)
        singles = [replace(cell, model=single) for single in cell.model.singles]
        return sum(self.speeds[single.model.backbone].seconds(self._work(single, n_epochs)) for single in singles)

    def _work(self, cell: Cell, n_epochs: float) -> Work:
        size, recipe = self._sizes[cell.data.name], self._experiment.recipe
        n_training = size.n_train * size.n_timepoints
        inference = sum(self._passes_of_method(cell, method) for method in cell.methods)
        if cell.is_ensemble:  # its members are already trained
            return Work(inference=inference)
        if cell.model.is_rocket:
            return Work(training=n_training, inference=inference)
        if recipe.keep == "best":  # a pass over the training cases after every epoch
            inference += n_epochs * n_training
        steps = n_epochs * recipe.steps_per_epoch_for(size.n_train)
        return Work(PASSES_PER_STEP * n_epochs * n_training, steps, inference)

    def _passes_of_method(self, cell: Cell, method: MethodSpec) -> float:
        size, experiment = self._sizes[cell.data.name], self._experiment
        n_networks = experiment.repeats if cell.is_ensemble else 1
        n_cases = min(method.n_cases or size.n_test, size.n_test)
        asked = _passes_asked(method, size, shortens=cell.model.is_network)
        # Where another method explains only some cases, the model's own evidence for these is scored too.
        is_beside_own = method.name != OWN and n_cases < size.n_test and needs_evidence(experiment.metrics)
        n_scored = 2 if is_beside_own else 1
        return n_networks * n_cases * (n_scored * self._passes_per_evaluation(cell) + asked) * size.n_timepoints

    def _passes_per_evaluation(self, cell: Cell) -> float:
        metrics = self._experiment.metrics
        passes = float(PASSES_TO_PREDICT)
        if needs_evidence(metrics):
            passes += PASSES_TO_EXPLAIN["rocket" if cell.model.is_rocket else "network"]
        if not metrics or REMOVING.intersection(metrics):
            passes += PASSES_TO_REMOVE
        return passes

    def _corrections(self, rows: Iterable[Row]) -> Mapping[str, float]:
        """Return how many times as long as estimated the cells of each backbone took, by the median.

        Rows with clock times only do not count: nobody knows what else the machine did; nor do those in which what
        should be a number is none.
        """
        found: dict[str, list[float]] = defaultdict(list)
        models = {model.name: model for model in self._experiment.models}
        data = {spec.name: spec for spec in self._experiment.datasets}
        own = tuple(method for method in self._experiment.methods if method.name == OWN)
        for row in rows:
            model, spec = models.get(row["model"]), data.get(row["dataset"])
            # The row of an average does not say which part took the time; others belong to another experiment.
            if model is None or spec is None or model.parts:
                continue
            is_single = row["status"] == "done" and row["method"] == OWN and not row["ensemble"]
            n_epochs = finite(row.get("n_epochs_run"))
            spent = [seconds for kind in CLOCKED if (seconds := finite(row.get(f"{kind}_core_seconds"))) is not None]
            if is_single and n_epochs is not None and len(spent) == len(CLOCKED):
                work = self._work(Cell(spec, model, row["repeat"], own), n_epochs)
                if estimated := self.speeds[model.backbone].seconds(work):
                    found[model.backbone].append(sum(spent) / estimated)
        return {name: median(factors) for name, factors in found.items()}


def _passes_asked(method: MethodSpec, size: Size, *, shortens: bool) -> float:
    """Return how many whole series a method asks a model about to explain one."""
    options = method.options
    if "shap" in method.name or "lime" in method.name:
        n_samples = float(options.get("n_samples", DEFAULT_SAMPLES))
        return n_samples / 2 if shortens and method.name in SHORTENING and "baseline" not in options else n_samples
    if method.name == "occlusion":
        stride = options.get("stride")
        return float(DEFAULT_WINDOWS if stride is None else size.n_timepoints / stride)
    if method.name == "integrated_gradients":
        return 3.0 * size.n_classes * float(options.get("n_steps", DEFAULT_STEPS))
    return 3.0 * size.n_classes if method.name == "gradient_x_input" else 0.0


def _lost_members(rows: Iterable[Row], folder: Path) -> set[Path]:
    """Return the places of networks that are done but whose models are gone."""
    done = {
        Path(row["dataset"], row["model"], str(row["repeat"]))
        for row in rows
        if row["status"] == "done" and row["method"] == OWN and not row["ensemble"]
    }
    return {place for place in done if not (folder / "models" / place / "model.json").exists()}

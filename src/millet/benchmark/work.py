"""Work: one cell in, its rows out; whatever goes wrong with it becomes a row that says so.

Runs in a worker: a process on this machine, or on a cluster that sees the same run folder.
"""

from __future__ import annotations

import errno
import functools
import math
import os
import shutil
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from tqdm.auto import tqdm

from millet.averaged import AveragedClassifier
from millet.bags import as_bags
from millet.benchmark.cells import Cell
from millet.benchmark.job import Fingerprints, Job, failure_row, identity, other_cases, provenance
from millet.benchmark.measure import check_metrics, measure
from millet.benchmark.models import MethodSpec, ModelSpec
from millet.benchmark.pictures import keep_pictures
from millet.benchmark.provenance import PeakMemory
from millet.benchmark.rows import Row, keep_row, kept_rows
from millet.benchmark.sources import DataSpec
from millet.benchmark.status import EpochNote
from millet.classifier import MilletClassifier
from millet.contract import EvidenceClassifier, data_summary, split_fingerprint
from millet.datasets import Dataset
from millet.datasets.dataset import Series
from millet.errors import LabelError, StorageError, warn_user
from millet.labels import encode_labels
from millet.loading import load_classifier
from millet.locks import locked
from millet.rocket_classifier import RocketMilletClassifier

CHECKPOINT_SECONDS = 10.0
# What makes every further cell fail too, so that going on would only produce failures.
FATAL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
# Training seeds torch's global generator: two threads of one worker must not do so at once.
_ONE_CELL = threading.Lock()


class CellResult(NamedTuple):
    """What became of a cell: its rows; and why, where no further cell can be run."""

    cell: Cell
    rows: list[Row]
    seconds: float
    fatal: str = ""


def run_cell(job: Job) -> CellResult:
    """Train the model, or load it if an earlier run has trained it, and evaluate it by every method wanted."""
    _end_with(job.owner)
    rows: list[Row] = []
    fatal = ""
    with _ONE_CELL, _threads(job.n_threads):
        started = time.monotonic()  # not while another cell of this worker is under way
        try:
            for row in _rows(job, started):
                rows.append(row)
        except OSError as error:
            fatal = f"{error.strerror} ({error.filename or job.folder})"
    return CellResult(job.cell, rows, time.monotonic() - started, fatal)


def _rows(job: Job, started: float) -> Iterator[Row]:
    """Yield a row for each method: that of an earlier attempt, one measured now, or that of its failure.

    Raises only errors that would make every cell fail.
    """
    kept = kept_rows(job.kept)
    left = [method for method in job.cell.methods if method.name not in kept]
    doubts: list[str] = []
    if left:
        try:
            with _noted(doubts):
                classifier, test, fingerprints = _prepared(job)
        except Exception as error:
            yield from (kept.get(m.name) or _failure(job, m, error, started) for m in job.cell.methods)
            return
        # If the dataset has changed in the middle of the cell, all of it is measured again.
        kept = {name: row for name, row in kept.items() if not Fingerprints.of(row).differing(fingerprints)}
        left = [method for method in job.cell.methods if method.name not in kept]
    yield from (kept[method.name] for method in job.cell.methods if method not in left)
    for method in left:
        try:
            said = doubts.copy()
            with _noted(said):
                row = _measured(job, method, classifier, test, started) | {"test_fingerprint": fingerprints.test}
            row |= {"warnings": said} if said else {}
            keep_row(job.kept, row)
        except Exception as error:
            row = _failure(job, method, error, started)
        yield row


@contextmanager
def _noted(doubts: list[str]) -> Iterator[None]:
    """Add every warning, once, to what a row says: a worker's own output is seen by nobody."""
    with warnings.catch_warnings(record=True) as caught:
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", category)
        yield
    doubts.extend(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))


class _Prepared(NamedTuple):
    classifier: EvidenceClassifier
    test: Dataset
    fingerprints: Fingerprints


def _prepared(job: Job) -> _Prepared:
    """Return the trained model, the test split, and what tells whether other rows come from the same cases."""
    PeakMemory.start()
    train, test = _splits(job.cell.data, job.path, job.call)
    if train.y is None or test.y is None:
        raise LabelError(f"{job.cell.data.name} has no labels, and a benchmark needs them.")
    check_metrics(job.metrics, test)
    cases = _Cases(train.X, train.y, _fingerprint(train.X, train.y))
    fingerprints = Fingerprints(cases.fingerprint, split_fingerprint(test.X, test.y))
    if which := job.fingerprints.differing(fingerprints):
        raise StorageError(other_cases(job.cell.data.name, which))
    return _Prepared((_ensemble if job.cell.is_ensemble else _trained)(job, cases), test, fingerprints)


class _Cases(NamedTuple):
    X: Series
    y: NDArray[Any]
    fingerprint: str


def _fingerprint(X: Series, y: NDArray[Any]) -> str:
    bags = as_bags(X)
    return str(data_summary(bags, encode_labels(y, len(bags))[1])["fingerprint"])


def _measured(job: Job, method: MethodSpec, classifier: EvidenceClassifier, test: Dataset, started: float) -> Row:
    """Return the row of a method, and keep cases for pictures."""
    row = {**identity(job, method.name), "status": "done", "error": "", **_training_facts(classifier)}
    row |= measure(classifier, test, method, job.metrics)
    row |= _keep_pictures(job, method, classifier, test)
    return {**row, "cell_seconds": round(time.monotonic() - started, 3), **provenance()}


def _keep_pictures(job: Job, method: MethodSpec, classifier: EvidenceClassifier, test: Dataset) -> Row:
    """Keep cases for pictures, or warn that there are none: measurements deserve a row even without them."""
    try:
        return keep_pictures(job, method, classifier, test)
    except Exception as error:
        if _is_fatal(error):
            raise
        warn_user(f"There are no cases for pictures: {_described(error)}")
        return {}


_latest: tuple[Any, tuple[Dataset, Dataset]] | None = None


def _splits(data: DataSpec, path: Path | None, call: str) -> tuple[Dataset, Dataset]:
    """Load a dataset, unless it is that of the previous cell."""
    global _latest
    if _latest is None or _latest[0] != (data, path, call):
        _latest = None
        _latest = (data, path, call), data.load(path)
    return _latest[1]


def _trained(job: Job, cases: _Cases, *, is_wanted_anew: bool = True) -> EvidenceClassifier:
    folder = job.model_folder
    job.checkpoints.mkdir(parents=True, exist_ok=True)
    # A worker that was given up for lost may still be training; the second one then finds the first one's model.
    with locked(job.checkpoints.with_suffix(".lock")):
        if _has_model(job):
            found = _loaded(folder)
            # A model of other cases is replaced if its rows were removed to run it again, not if they are there.
            if not is_wanted_anew or found.training_summary_["fingerprint"] == cases.fingerprint:
                return found
        classifier = _untrained(job, len(cases.y))
        classifier.fit(cases.X, cases.y)
        classifier.save(folder)
        shutil.rmtree(job.checkpoints, ignore_errors=True)
    return _loaded(folder)


def _has_model(job: Job) -> bool:
    return (job.model_folder / "model.json").exists()


def _loaded(folder: Path) -> EvidenceClassifier:
    classifier = load_classifier(folder)
    for single in _singles(classifier):
        # A network computes with as many threads as torch has; other models must be told.
        single.set_params(n_jobs=torch.get_num_threads(), verbose=0)
    return classifier


def _singles(classifier: EvidenceClassifier) -> list[EvidenceClassifier]:
    """Return the classifiers that an average consists of, nested averages included; else the classifier itself."""
    if not isinstance(classifier, AveragedClassifier):
        return [classifier]
    return [single for part in classifier.classifiers_ for single in _singles(part)]


def _untrained(job: Job, n_cases: int) -> EvidenceClassifier:
    made = [_untrained_single(job, single, n_cases) for single in job.cell.model.singles]
    return AveragedClassifier(made) if len(made) > 1 else made[0]


def _untrained_single(job: Job, model: ModelSpec, n_cases: int) -> EvidenceClassifier:
    seed = job.seed + job.cell.repeat
    if model.is_rocket:
        return RocketMilletClassifier(
            model.backbone, random_state=seed, n_jobs=torch.get_num_threads(), verbose=0, **model.settings
        )
    return MilletClassifier(
        model.backbone,
        model.pooling,
        recipe=job.recipe,
        random_state=seed,
        # The networks of an average can't share a folder.
        checkpoint_dir=job.checkpoints / model.name if job.cell.model.parts else job.checkpoints,
        checkpoint_seconds=CHECKPOINT_SECONDS,
        callbacks=[EpochNote(job.checkpoints, job.recipe.n_epochs_for(n_cases))],
        n_jobs=1,
        verbose=0,
        **model.network_settings,
    )


def _ensemble(job: Job, cases: _Cases) -> EvidenceClassifier:
    """Put the members into one classifier, which averages their logits; those that are lost are trained again."""
    jobs = [job.of_member(repeat) for repeat in range(job.n_members)]
    lost = [str(member.cell.repeat) for member in jobs if not _has_model(member)]
    members = [_trained(member, cases, is_wanted_anew=False) for member in jobs]
    if lost:
        warn_user(f"Members trained again, since their models were gone: {', '.join(lost)}.")
    if {member.training_summary_["fingerprint"] for member in members} != {cases.fingerprint}:
        raise StorageError(other_cases(job.cell.data.name))
    networks = [member for member in members if isinstance(member, MilletClassifier)]
    return _ensemble_of_networks(networks) if networks else AveragedClassifier.of_fitted(members)


def _ensemble_of_networks(members: list[MilletClassifier]) -> MilletClassifier:
    """Put all networks into the first classifier: post-hoc methods look for them there."""
    ensemble = members[0]
    ensemble.set_params(n_estimators=len(members))
    ensemble.networks_ = [member.networks_[0] for member in members]
    ensemble.training_summary_ = {
        **ensemble.training_summary_,
        "n_epochs": [member.training_summary_["n_epochs"][0] for member in members],
        "kept_loss": [loss for member in members for loss in member.training_summary_.get("kept_loss", ())],
    }
    ensemble.history_ = type(ensemble.history_)([record for member in members for record in member.history_[-1:]])
    return ensemble


def _training_facts(classifier: EvidenceClassifier) -> Row:
    n_epochs, seconds, core_seconds = 0, 0.0, 0.0
    summary = classifier.training_summary_
    for single in _singles(classifier):
        if isinstance(single, MilletClassifier):
            n_epochs += sum(single.training_summary_["n_epochs"])
            # The last record of each network: its `seconds` kept counting where a training was resumed.
            last = single.history_[-len(single.networks_) :]
            seconds += sum(record.seconds for record in last)
            core_seconds += sum(math.nan if record.core_seconds is None else record.core_seconds for record in last)
        else:
            seconds += single.training_summary_["seconds"]
            core_seconds += single.training_summary_.get("core_seconds", math.nan)
    return {
        "n_epochs_run": n_epochs,
        "train_seconds": round(seconds, 3),
        "train_core_seconds": round(core_seconds, 3),
        "n_parameters": classifier.n_parameters_,
        **({"precision": summary["precision"]} if "precision" in summary else {}),
        **({"train_loss": sum(losses) / len(losses)} if (losses := summary.get("kept_loss")) else {}),
        "data_fingerprint": classifier.training_summary_["fingerprint"],
    }


def _failure(job: Job, method: MethodSpec, error: Exception, started: float) -> Row:
    """Return the row of a failure, unless all further ones would fail too."""
    if _is_fatal(error):
        raise error
    trace = "".join(traceback.format_exception(error))
    return failure_row(job, method.name, _described(error), time.monotonic() - started, trace)


def _is_fatal(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno in FATAL


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@contextmanager
def _threads(n_threads: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@functools.cache
def _end_with(owner: int | None) -> None:
    """End this worker when the process that started it has ended: nobody would take its results."""
    if owner is None or owner == os.getpid():
        return

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    # The default is a lock between processes, which is reported as leaked when a worker is killed.
    tqdm.set_lock(threading.RLock())

"""Fitting: from a classifier's parameters to trained members.

In:  the parameters, checked here before anything is trained, and the training cases.
Out: networks, history and a summary, for `millet.classifier`.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import inspect
import json
import os
import sys
import textwrap
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import entropy
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_class_weight

from millet.atomic import write_new
from millet.bags import Bags
from millet.checks import integer, jobs, number, random_generator, switch
from millet.contract import check_normalise, data_summary
from millet.description import plain_parameter
from millet.errors import ParameterError, StorageError, lookup, warn_user
from millet.nn import MilletNetwork
from millet.nn.turns import seeded, turn_to_train
from millet.training import History, Labelled, MemberPlan, Options, Recipe, as_recipe, train_members

Codes = NDArray[np.int64]

# As a fraction of the loss of guessing: given the time, networks of this size learn most training cases by heart.
LITTLE_LEARNT = 0.5
DEVICES = ("auto", "cpu", "cuda", "mps")
ARCHITECTURE = ("backbone", "pooling", "padding", "positions", "dropout")


def fit_members(
    classifier: Any,
    recipe: Recipe,
    bags: Bags,
    codes: Codes,
    classes: NDArray[Any],
    previous: Sequence[MilletNetwork],
) -> tuple[list[MilletNetwork], History, dict[str, Any]]:
    """Train the members that a classifier's parameters ask for.

    Parameters
    ----------
    classifier : MilletClassifier
        Only its parameters are read.
    recipe : Recipe
        What `check_parameters` made of them.
    bags, codes, classes
        The training cases, their class codes, and the labels these stand for.
    previous : sequence of MilletNetwork
        Members to continue from; empty to start anew.
    """
    started = time.monotonic()
    data = data_summary(bags, codes)
    rng = random_generator(classifier.random_state)
    seeds = [int(seed) for seed in rng.randint(np.iinfo(np.int32).max, size=classifier.n_estimators)]
    device, precision = choose_hardware(classifier.device, recipe.precision)
    folder = None if classifier.checkpoint_dir is None else Path(classifier.checkpoint_dir)
    begun = _begun(classifier, bags, codes, classes, previous, seeds, precision)
    if folder is not None:
        prepared = {
            "data": data["fingerprint"],
            "normalised": bags.normalisation is True,
            "computes in": precision,
            **_given_weights([*previous, classifier.backbone, classifier.pooling]),
            **_given_code(begun.networks[0]),
        }
        found = _claim_checkpoints(folder, classifier, recipe, prepared, seeds)
        if found != seeds:
            seeds = found
            begun = _begun(classifier, bags, codes, classes, previous, seeds, precision)
    training, validation, weights, networks = begun
    plans = []
    for member, (seed, network) in enumerate(zip(seeds, networks, strict=True)):
        options = Options(
            seed=seed,
            class_weights=weights,
            validation=validation,
            patience=classifier.n_iter_no_change,
            tolerance=classifier.tol,
            max_time=classifier.max_time,
            checkpoint=None if folder is None else folder / f"member-{member}.safetensors",
            checkpoint_seconds=classifier.checkpoint_seconds,
            callbacks=tuple(classifier.callbacks),
            progress=bool(classifier.verbose),
            member=member,
            n_members=len(seeds),
        )
        plans.append(MemberPlan(network, training, recipe, options, device, precision))
    with _released_on_failure(folder):
        trained = train_members(plans, classifier.n_jobs)
    history = History([record for _, member_history in trained for record in member_history])
    losses = [record.selection_loss for record in history.kept()]
    # Where the user, or cases that were set aside, decided how long to train, a high loss is no surprise.
    went_by_name = isinstance(classifier.recipe, str) and classifier.n_epochs is None and validation is None
    whole = [
        loss
        for loss, (_, found) in zip(losses, trained, strict=True)
        if len(found) == recipe.n_epochs_for(len(training))
    ]
    if went_by_name and whole:
        _warn_of_little_learnt(whole, codes[training.positions], weights)
    summary = {
        **data,
        "n_epochs": [len(member_history) for _, member_history in trained],
        "kept_loss": losses,
        "precision": precision,
        "seconds": round(time.monotonic() - started, 3),
    }
    return [network for network, _ in trained], history, summary


class _Begun(NamedTuple):
    """All that training begins with."""

    training: Labelled
    validation: Labelled | None
    weights: list[float] | None
    networks: list[MilletNetwork]


def _begun(
    classifier: Any,
    bags: Bags,
    codes: Codes,
    classes: NDArray[Any],
    previous: Sequence[MilletNetwork],
    seeds: Sequence[int],
    precision: str,
) -> _Begun:
    """Return what training with these seeds begins with, or refuse parameters with which it can't begin."""
    training, validation = _split(classifier, bags, codes, seeds[0])
    weights = _class_weights(classifier.class_weight, classes, codes[training.positions])
    networks = [
        copy.deepcopy(previous[member])
        if member < len(previous)
        else _new_network(classifier, bags.n_channels, len(classes), seed)
        for member, seed in enumerate(seeds)
    ]
    return _Begun(training, validation, weights, [_as_trained_in(precision, network) for network in networks])


def _warn_of_little_learnt(losses: Sequence[float], codes: Codes, weights: Sequence[float] | None) -> None:
    """Warn if training ended with a loss near that of knowing nothing but how frequent the classes are."""
    counts = np.bincount(codes) * (1.0 if weights is None else np.asarray(weights)[: codes.max() + 1])
    guessing = float(entropy(counts[counts > 0]))
    if max(losses) > LITTLE_LEARNT * guessing > 0:
        warn_user(
            f"Training ended with a loss of {max(losses):.2f} on the training cases, where guessing has "
            f"{guessing:.2f}: little was learnt, and predictions and evidence mean little. Train longer: "
            "n_epochs=..., or recipe='paper' where another one was used.",
            ConvergenceWarning,
        )


def check_parameters(classifier: Any) -> Recipe:
    """Check every parameter that is not the network's own, and return the recipe they amount to."""
    integer("n_estimators", classifier.n_estimators, at_least=1)
    integer("n_iter_no_change", classifier.n_iter_no_change, at_least=1)
    number("tol", classifier.tol, at_least=0)
    number("validation_fraction", classifier.validation_fraction, above=0, below=1)
    number("checkpoint_seconds", classifier.checkpoint_seconds, at_least=0)
    switch("early_stopping", classifier.early_stopping)
    switch("warm_start", classifier.warm_start)
    if classifier.max_time is not None:
        number("max_time", classifier.max_time, above=0)
    check_normalise(classifier.normalise)
    jobs(classifier.n_jobs)
    check_device(classifier.device)
    random_generator(classifier.random_state)
    folder = classifier.checkpoint_dir
    if folder is not None and not isinstance(folder, str | os.PathLike):
        raise ParameterError(f"checkpoint_dir must be the path of a folder; got {folder!r}.")
    callbacks = classifier.callbacks
    if not isinstance(callbacks, Collection) or not all(map(callable, callbacks)):
        raise ParameterError(f"callbacks must be a list of callables that take an EpochRecord; got {callbacks!r}.")
    return as_recipe(
        classifier.recipe,
        n_epochs=classifier.n_epochs,
        batch_size=classifier.batch_size,
        learning_rate=classifier.learning_rate,
        precision=classifier.precision,
    )


def architecture_of(classifier: Any) -> dict[str, Any]:
    """Return the parameters that decide what a network looks like."""
    return {name: getattr(classifier, name) for name in ARCHITECTURE}


def build_network(classifier: Any, n_channels: int, n_classes: int) -> MilletNetwork:
    """Return a network as the parameters describe it; modules are copied, never shared."""
    return MilletNetwork(
        n_channels,
        n_classes,
        copy.deepcopy(classifier.backbone),
        copy.deepcopy(classifier.pooling),
        padding=classifier.padding,
        positions=classifier.positions,
        dropout=classifier.dropout,
    )


def _new_network(classifier: Any, n_channels: int, n_classes: int, seed: int) -> MilletNetwork:
    # Whoever builds may train, so the turn to do so comes first: a thread that trains waits for the generator, too.
    with turn_to_train(), seeded(seed):
        return build_network(classifier, n_channels, n_classes)


def _as_trained_in(precision: str, network: MilletNetwork) -> MilletNetwork:
    """Return a network in single precision, which a given one may not have; for others, Fabric converts it itself."""
    return network.float() if precision in ("32-true", "16-mixed", "bf16-mixed") else network


def _split(classifier: Any, bags: Bags, codes: Codes, seed: int) -> tuple[Labelled, Labelled | None]:
    everything = np.arange(len(bags))
    if not classifier.early_stopping:
        return Labelled(bags, codes), None
    try:
        kept, aside = train_test_split(
            everything, test_size=float(classifier.validation_fraction), stratify=codes, random_state=seed
        )
    except ValueError as error:
        raise ParameterError(
            f"early_stopping can't set validation_fraction={classifier.validation_fraction} of {len(bags)} cases "
            f"aside with every class on both sides: {error} Use early_stopping=False, or more cases."
        ) from None
    return Labelled(bags, codes, kept), Labelled(bags, codes, aside)


def _class_weights(class_weight: Any, classes: NDArray[Any], codes: Codes) -> list[float] | None:
    if class_weight is None:
        return None
    try:
        weights = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    except (ValueError, TypeError) as error:
        raise ParameterError(f"class_weight={class_weight!r} can't be used: {error}") from None
    checked = [number("class_weight", float(weight), at_least=0) for weight in weights]
    if not any(checked):
        raise ParameterError("class_weight must be above 0 for at least one class; nothing would be learnt.")
    return checked


def check_device(device: str) -> None:
    """Refuse a device that is not available."""
    lookup("device", device, dict.fromkeys(DEVICES))
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not present.get(device, True):
        raise ParameterError(
            f"device={device!r} is not there, or this torch was not built for it. Use device='auto'."
        )


def choose_hardware(device: str, precision: str) -> tuple[str, str]:
    """Return device and precision with "auto" decided."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if precision == "auto":
        precision = "bf16-mixed" if _computes_in_bf16(device) else "32-true"
    return device, precision


def _computes_in_bf16(device: str) -> bool:
    """Return whether the hardware does, and environment variables that limit torch and oneDNN allow it."""
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device != "cpu" or os.environ.get("ATEN_CPU_CAPABILITY") in ("default", "avx2"):
        return False
    allowed = os.environ.get("ONEDNN_MAX_CPU_ISA", "DEFAULT").upper()
    if not any(word in allowed for word in ("DEFAULT", "ALL", "BF16", "FP16", "AMX", "AVX10")):
        return False
    return bool(getattr(torch.cpu, "_is_avx512_bf16_supported", bool)())


def _given_weights(modules: Sequence[Any]) -> dict[str, str]:
    """Return a fingerprint of the weights that training starts from, if they were given and not drawn."""
    given = [module for module in modules if isinstance(module, torch.nn.Module)]
    if not given:
        return {}
    digest = hashlib.sha256()
    for module in given:
        for name, tensor in module.state_dict().items():
            digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
            digest.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return {"initial weights": digest.hexdigest()}


def _given_code(network: MilletNetwork) -> dict[str, str]:
    """Return a fingerprint of classes that are neither MILLET's nor torch's: they can't use weights of other classes.

    It is of their source, without comments and docstrings; what they call elsewhere is not followed.
    """
    known = {"millet", "torch", *sys.stdlib_module_names}
    kinds = {kind for module in network.modules() for kind in type(module).__mro__}
    given = [kind for kind in kinds if kind.__module__.partition(".")[0] not in known]
    if not given:
        return {}
    shapes = repr([(name, tuple(value.shape)) for name, value in network.state_dict().items()])
    texts = sorted(f"{kind.__module__}.{kind.__qualname__} {_written(kind)}" for kind in given)
    return {"code of your own": hashlib.sha256("\n".join([shapes, *texts]).encode()).hexdigest()}


def _written(kind: type) -> str:
    """Return the syntax of a class; empty if its source is not known, as for one made by a function call."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and ast.get_docstring(node):
            del node.body[0]
    return ast.dump(tree)


def _differences(found: dict[str, Any], run: dict[str, Any]) -> list[str]:
    """Return the names of what differs between two runs; for parameters and recipes, of the parts that differ."""
    names = []
    for name, wanted in run.items():
        other = found.get(name)
        if isinstance(wanted, dict) and isinstance(other, dict):
            names += [part for part, value in wanted.items() if other.get(part) != value]
        elif other != wanted:
            names.append(name)
    return list(dict.fromkeys(names))


def _claim_checkpoints(
    folder: Path, classifier: Any, recipe: Recipe, prepared: dict[str, Any], seeds: list[int]
) -> list[int]:
    """Return the seeds of the run that the folder belongs to: this run, begun now or earlier."""
    irrelevant = {"n_jobs", "verbose", "callbacks", "checkpoint_dir", "checkpoint_seconds", "recipe", "random_state"}
    given = classifier.get_params(deep=False)
    parameters = {name: repr(plain_parameter(value)) for name, value in given.items() if name not in irrelevant}
    run = {"recipe": recipe.to_dict(), "parameters": parameters, **prepared}
    has_seed = classifier.random_state is not None
    path = folder / "run.json"
    if folder.exists() and not folder.is_dir():
        raise StorageError(f"checkpoint_dir must be a folder; {folder} is a file.")
    if write_new(path, json.dumps({**run, "seeds": seeds}, indent=2)):
        return seeds
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        found_seeds = [int(seed) for seed in found.pop("seeds")]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StorageError(f"{path} is damaged ({error}); delete {folder} to start anew.") from None
    if found != run or (has_seed and found_seeds != seeds):
        changed = sorted(_differences(found, run)) or ["random_state"]
        raise StorageError(
            f"{folder} holds the checkpoints of another run (different: {', '.join(changed)}). "
            "Choose another checkpoint_dir, or delete that one to start anew."
        )
    return found_seeds


@contextmanager
def _released_on_failure(folder: Path | None) -> Iterator[None]:
    """Release the folder again if training fails before its first checkpoint."""
    try:
        yield
    except Exception:
        if folder is not None and not any(folder.glob("member-*")):
            (folder / "run.json").unlink(missing_ok=True)
        raise

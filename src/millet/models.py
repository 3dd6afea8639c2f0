"""Models: a fitted classifier as a description in types that JSON has, and back.

Between `millet.classifier`, which knows parameters and networks, and `millet.storage`, which knows files.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn

from millet.bags import ChannelScale
from millet.contract import AUTO
from millet.description import (
    describe_input,
    describe_preprocessing,
    plain_parameter,
    restore_input,
    restore_normalisation,
    restoring,
)
from millet.errors import LabelError, ParameterError, StorageError
from millet.explanation.document import describe_labels
from millet.fitting import architecture_of, build_network
from millet.labels import as_labels
from millet.nn import BACKBONES, POOLINGS, BagOutput, MilletNetwork
from millet.nn.turns import seeded
from millet.training import EpochRecord, History, Recipe

KIND = "MilletClassifier"
# Not part of a model: they belong to the machine or the moment.
TRANSIENT = ("callbacks", "checkpoint_dir", "verbose", "n_jobs", "device")


def describe_classifier(classifier: Any) -> dict[str, Any]:
    """Return everything about a fitted classifier but its weights."""
    parameters = classifier.get_params(deep=False) | classifier.architecture_ | _own_parts(classifier)
    return {
        **describe_input(KIND, classifier),
        "parameters": {name: _encode_parameter(value) for name, value in parameters.items() if name not in TRANSIENT},
        "preprocessing": describe_preprocessing(classifier.normalisation_),
        "history": [[_finite(value) for value in record] for record in classifier.history_],
    }


def _own_parts(classifier: Any) -> dict[str, Any]:
    """Return the names of MILLET's backbone and pooling if given as modules or classes, and the padding."""
    networks, given = classifier.networks_, classifier.architecture_
    network = networks[0]
    found: dict[str, Any] = {}
    backbones = {kind: name for name, kind in BACKBONES.items()}
    if not isinstance(given["backbone"], str) and type(network.backbone) in backbones:
        edge = next(part.edge for part in network.backbone.modules() if hasattr(part, "edge"))
        sizes, shape = (network.n_channels, edge), (4, network.n_channels, 60)
        if all(_is_usual(member.backbone, sizes, shape) for member in networks):
            found |= {"backbone": backbones[type(network.backbone)], "padding": edge}
    poolings = {kind: name for name, kind in POOLINGS.items()}
    if not isinstance(given["pooling"], str) and type(network.pooling) in poolings:
        sizes, shape = (network.d_embedding, network.n_classes), (4, 60, network.d_embedding)
        if all(_is_usual(member.pooling, sizes, shape) for member in networks):
            found["pooling"] = poolings[type(network.pooling)]
    return found


def _is_usual(module: nn.Module, sizes: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
    """Return whether a new module of this kind with the same weights does the same: this one was not modified."""
    given = copy.deepcopy(module).cpu().double().eval()
    with seeded(0):  # which weights are drawn does not matter
        usual = type(module)(*sizes).double().eval()
        x = torch.randn(shape, dtype=torch.float64)
    try:
        usual.load_state_dict(given.state_dict())
        with torch.inference_mode():
            found, wanted = usual(x), given(x)
    except (RuntimeError, ParameterError):
        return False
    if isinstance(found, BagOutput):
        found, wanted = found.logits, wanted.logits
    return torch.equal(found, wanted)


def adopt_networks(kind: type, networks: Any, classes: Any, normalise: bool | ChannelScale) -> Any:
    """Build a fitted classifier from networks that were trained elsewhere."""
    members: list[Any] = list(networks) if isinstance(networks, list | tuple) else [networks]
    if not members or not all(isinstance(member, MilletNetwork) for member in members):
        kinds = sorted({type(member).__name__ for member in members}) or ["none"]
        raise ParameterError(f"networks must be one or several MilletNetworks; got {', '.join(kinds)}.")
    first: MilletNetwork = members[0]
    if any(_form_of(member) != _form_of(first) for member in members):
        raise ParameterError(
            "Networks of one classifier must be alike: backbone, pooling, precision, channels and classes."
        )
    normalisation = _as_normalisation(normalise, first.n_channels)
    settings = {"n_estimators": len(members), "positions": first.positions, "dropout": first.dropout.rate}
    is_bool = isinstance(normalisation, bool)
    classifier = kind(first.backbone, first.pooling, **settings, normalise=normalisation if is_bool else AUTO)
    classifier.networks_ = [copy.deepcopy(member).eval() for member in members]
    classifier.architecture_ = architecture_of(classifier)
    for name, value in _own_parts(classifier).items():
        setattr(classifier, name, value)
    classifier.architecture_ = architecture_of(classifier)
    classifier.classes_ = _as_classes(classes, first.n_classes)
    classifier.normalisation_ = normalisation
    classifier.n_channels_in_, classifier.n_timepoints_in_ = first.n_channels, 0
    classifier.channel_columns_ = []
    classifier.history_ = History([])
    nothing = {"n_cases": 0, "shortest": 0, "longest": 0, "fingerprint": "", "kept_loss": [], "seconds": 0.0}
    classifier.training_summary_ = {**nothing, "n_epochs": [0] * len(members)}
    return classifier


def _form_of(network: MilletNetwork) -> tuple[Any, ...]:
    """Return what must be the same for all networks of one classifier."""
    weights = [(name, tuple(value.shape), value.dtype) for name, value in network.state_dict().items()]
    edges = {part.edge for part in network.modules() if hasattr(part, "edge")}
    return type(network.backbone), type(network.pooling), network.positions, network.dropout.rate, edges, weights


def _as_normalisation(normalise: Any, n_channels: int) -> bool | ChannelScale:
    fits = isinstance(normalise, ChannelScale) and all(part.shape == (n_channels,) for part in normalise)
    if not fits and not isinstance(normalise, bool | np.bool_):
        raise ParameterError(
            f"normalise must be True, False, or the normalisation_ of a classifier of {n_channels} channels; got "
            f"{normalise!r}."
        )
    return normalise if isinstance(normalise, ChannelScale) else bool(normalise)


def _as_classes(classes: Any, n_classes: int) -> NDArray[Any]:
    try:
        labels = np.arange(n_classes) if classes is None else as_labels(classes)
    except LabelError as error:
        raise ParameterError(f"classes can't be used as labels: {error}") from None
    if len(labels) != n_classes or not np.array_equal(np.unique(labels), labels):
        raise ParameterError(
            f"classes must be {n_classes} labels in ascending order, one for each of the networks' logits; got "
            f"{labels.tolist()}."
        )
    return labels


def encode_network(network: MilletNetwork) -> bytes:
    """Return a network's weights in the format of safetensors."""
    return save({name: value.detach().cpu().contiguous().clone() for name, value in network.state_dict().items()})


def restore_classifier(
    kind: type,
    description: Mapping[str, Any],
    weights: Sequence[bytes],
    folder: object,
    backbone: Any,
    pooling: Any,
) -> Any:
    """Rebuild a fitted classifier from its description and weights."""
    with restoring(KIND, description, folder):
        parameters = {name: _decode_parameter(value) for name, value in description["parameters"].items()}
        for name, given in (("backbone", backbone), ("pooling", pooling)):
            parameters[name] = _own_code(name, parameters[name], given, folder)
        classifier = kind(**parameters)
        restore_input(classifier, description)
        classifier.normalisation_ = restore_normalisation(description)
        classifier.architecture_ = architecture_of(classifier)
        classifier.history_ = History([EpochRecord(*map(_number, values)) for values in description["history"]])
        classifier.networks_ = [_decode_network(classifier, content, folder) for content in weights]
    if not classifier.networks_:
        raise StorageError(f"{folder} has no members.")
    return classifier


def _decode_network(classifier: Any, content: bytes, folder: object) -> MilletNetwork:
    with seeded(0):  # which weights are drawn does not matter
        network = build_network(classifier, classifier.n_channels_in_, len(classifier.classes_)).eval()
    try:
        network.load_state_dict(load(content), assign=True)
    except SafetensorError as error:
        raise StorageError(f"{folder} is damaged: a member's weights can't be read: {error}.") from None
    _cast_what_is_not_stored(network)
    return network


def _cast_what_is_not_stored(network: MilletNetwork) -> None:
    """Give buffers such as LITE's hand-made filters, which are of single precision, the precision of the weights."""
    stored, dtype = network.state_dict().keys(), next(network.parameters()).dtype
    for name, buffer in list(network.named_buffers()):
        if name not in stored and buffer.is_floating_point():
            owner, _, own_name = name.rpartition(".")
            setattr(network.get_submodule(owner), own_name, buffer.to(dtype))


def _encode_parameter(value: Any) -> Any:
    if isinstance(value, Recipe):
        return {"recipe": value.to_dict()}
    if isinstance(value, dict):
        labels = np.array([plain_parameter(label) for label in value], dtype=object)
        return {"weights": [describe_labels(labels)["values"], [float(weight) for weight in value.values()]]}
    if isinstance(value, nn.Module):
        return {"code": f"{type(value).__module__}.{type(value).__qualname__}"}
    if isinstance(value, type):
        return {"code": f"{value.__module__}.{value.__qualname__}"}
    return plain_parameter(value)


def _decode_parameter(value: Any) -> Any:
    if isinstance(value, dict) and "recipe" in value:
        return Recipe(**value["recipe"])
    if isinstance(value, dict) and "weights" in value:
        return dict(zip(*value["weights"], strict=True))
    return value


def _own_code(name: str, stored: Any, given: Any, folder: object) -> Any:
    if not isinstance(stored, dict):
        return stored if given is None else given
    if isinstance(given, str):
        return given
    if given is None:
        raise StorageError(
            f"{folder} was made with a {name} of your own, {stored.get('code')}; code is not stored. "
            f"Pass it again: MilletClassifier.load(folder, {name}=...)."
        )
    kind = given if isinstance(given, type) else type(given)
    if str(stored.get("code")).rpartition(".")[2] != kind.__qualname__.rpartition(".")[2]:
        raise StorageError(f"{folder} was made with the {name} {stored.get('code')}, not with {kind.__qualname__}.")
    return given


def _finite(value: Any) -> Any:
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) else value

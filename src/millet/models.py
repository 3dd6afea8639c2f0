"""Models: a fitted classifier as a description that JSON can hold, and back.

Between `millet.classifier`, which knows parameters and networks, and `millet.storage`, which knows files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from millet.errors import MilletError, StorageError
from millet.explanation.document import decode_labels, encode_labels
from millet.fitting import build_network
from millet.training import EpochRecord, History, Recipe

KIND = "MilletClassifier"
# Not part of a model: they belong to the machine or the moment.
TRANSIENT = ("callbacks", "checkpoint_dir", "verbose", "n_jobs", "device")


def describe_classifier(classifier: Any) -> dict[str, Any]:
    """Return everything about a fitted classifier but its weights."""
    parameters = classifier.get_params(deep=False)
    return {
        "kind": KIND,
        "parameters": {name: _encode_parameter(value) for name, value in parameters.items() if name not in TRANSIENT},
        "classes": encode_labels(classifier.classes_),
        "n_channels": classifier.n_channels_in_,
        "n_timepoints": classifier.n_timepoints_in_,
        "n_features": getattr(classifier, "n_features_in_", None),
        "feature_names": [str(name) for name in getattr(classifier, "feature_names_in_", [])],
        "preprocessing": {"z_normalise": bool(classifier.normalise), "missing_values": "linear interpolation"},
        "training": classifier.training_summary_,
        "history": [[_finite(value) for value in record] for record in classifier.history_],
    }


def restore_classifier(
    kind: type,
    description: Mapping[str, Any],
    weights: Sequence[Mapping[str, Tensor]],
    folder: object,
    backbone: Any,
    pooling: Any,
) -> Any:
    """Build the fitted classifier that a description and weights stand for."""
    if description.get("kind") != KIND:
        raise StorageError(f"{folder} holds a {description.get('kind')!r}, not a {KIND}.")
    try:
        parameters = {name: _decode_parameter(value) for name, value in description["parameters"].items()}
        for name, given in (("backbone", backbone), ("pooling", pooling)):
            parameters[name] = _own_code(name, parameters[name], given, folder)
        classifier = kind(**parameters)
        classifier.classes_ = decode_labels(description["classes"])
        classifier.n_channels_in_ = int(description["n_channels"])
        classifier.n_timepoints_in_ = int(description["n_timepoints"])
        if description["n_features"] is not None:
            classifier.n_features_in_ = int(description["n_features"])
        if description["feature_names"]:
            classifier.feature_names_in_ = np.array(description["feature_names"], dtype=object)
        classifier.training_summary_ = dict(description["training"])
        classifier.history_ = History([EpochRecord(*map(_number, values)) for values in description["history"]])
        classifier.networks_ = [
            build_network(classifier, classifier.n_channels_in_, len(classifier.classes_)).eval() for _ in weights
        ]
        for network, state in zip(classifier.networks_, weights, strict=True):
            network.load_state_dict(state, assign=True)
    except MilletError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise StorageError(f"{folder} does not describe a {KIND} that this version can build: {error}") from None
    if not classifier.networks_:
        raise StorageError(f"{folder} has no members.")
    return classifier


def _encode_parameter(value: Any) -> Any:
    if isinstance(value, Recipe):
        return {"recipe": value.to_dict()}
    if isinstance(value, dict):
        labels = np.array(list(value), dtype=object)
        return {"weights": [encode_labels(labels)["values"], [float(weight) for weight in value.values()]]}
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None
    if isinstance(value, nn.Module):
        return {"code": f"{type(value).__module__}.{type(value).__qualname__}"}
    if isinstance(value, type):
        return {"code": f"{value.__module__}.{value.__qualname__}"}
    return value.item() if isinstance(value, np.generic) else value


def _decode_parameter(value: Any) -> Any:
    if isinstance(value, dict) and "recipe" in value:
        return Recipe(**value["recipe"])
    if isinstance(value, dict) and "weights" in value:
        return dict(zip(*value["weights"], strict=True))
    return value


def _own_code(name: str, stored: Any, given: Any, folder: object) -> Any:
    if not isinstance(stored, dict):
        return stored
    if given is None:
        raise StorageError(
            f"{folder} was made with a {name} of your own, {stored.get('code')}; code is not stored. "
            f"Pass it again: MilletClassifier.load(folder, {name}=...)."
        )
    return given


def _finite(value: Any) -> Any:
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) else value

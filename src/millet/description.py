"""Descriptions: what all fitted classifiers have in common, in types that JSON has, and back.

Between `millet.contract`, which knows the attributes, and `millet.storage`, which knows files.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from millet.bags import ChannelScale
from millet.contract import EvidenceClassifier
from millet.errors import MilletError, StorageError
from millet.explanation.document import decode_labels, describe_labels


def describe_input(kind: str, classifier: EvidenceClassifier) -> dict[str, Any]:
    """Return kind, classes, the shape of the training series, and how the training went."""
    return {
        "kind": kind,
        "classes": describe_labels(classifier.classes_),
        "n_channels": classifier.n_channels_in_,
        "n_timepoints": classifier.n_timepoints_in_,
        "n_features": getattr(classifier, "n_features_in_", None),
        "feature_names": [str(name) for name in getattr(classifier, "feature_names_in_", [])],
        "channel_columns": classifier.channel_columns_,
        "training": classifier.training_summary_,
    }


def restore_input(classifier: EvidenceClassifier, description: Mapping[str, Any]) -> None:
    """Set the attributes that `describe_input` described."""
    classifier.classes_ = decode_labels(description["classes"])
    classifier.n_channels_in_ = int(description["n_channels"])
    classifier.n_timepoints_in_ = int(description["n_timepoints"])
    if description["n_features"] is not None:
        classifier.n_features_in_ = int(description["n_features"])
    if not isinstance(description["feature_names"], list):
        raise StorageError(f"feature_names must be a list; got {description['feature_names']!r}.")
    if description["feature_names"]:
        classifier.feature_names_in_ = np.array(description["feature_names"], dtype=object)
    columns = description.get("channel_columns", [])  # models of an early version lack them
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise StorageError(f"channel_columns must be a list of names; got {columns!r}.")
    classifier.channel_columns_ = columns
    classifier.training_summary_ = dict(description["training"])


def describe_preprocessing(normalisation: bool | ChannelScale) -> dict[str, Any]:
    """Return what is done to values before a model sees them.

    Examples
    --------
    >>> describe_preprocessing(True)
    {'z_normalise': True, 'channels': None, 'missing_values': 'linear interpolation'}
    """
    scale = normalisation if isinstance(normalisation, ChannelScale) else None
    channels = None if scale is None else {name: part.tolist() for name, part in scale._asdict().items()}
    return {"z_normalise": normalisation is True, "channels": channels, "missing_values": "linear interpolation"}


def restore_normalisation(description: Mapping[str, Any]) -> bool | ChannelScale:
    """Return the normalisation that `describe_preprocessing` described."""
    told = description["preprocessing"]
    channels = told.get("channels")
    if channels is None:
        if not isinstance(told["z_normalise"], bool):
            raise StorageError(f"preprocessing.z_normalise must be true or false; got {told['z_normalise']!r}.")
        return told["z_normalise"]
    scale = ChannelScale(*(np.array(channels[name], dtype=np.float64) for name in ChannelScale._fields))
    shapes_fit = all(part.shape == (int(description["n_channels"]),) for part in scale)
    if not (shapes_fit and np.isfinite(scale).all() and (scale.deviations > 0).all()):
        raise StorageError("preprocessing.channels must hold a mean and a positive deviation for every channel.")
    return scale


def plain_parameter(value: Any) -> Any:
    """Return a parameter in a type that JSON has; a generator of random numbers is not part of a model.

    Examples
    --------
    >>> plain_parameter(np.int64(3)), plain_parameter(np.random.RandomState(0))
    (3, None)
    """
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    is_odd_number = isinstance(value, numbers.Real) and not isinstance(value, int | float)  # a Fraction, say
    return float(value) if is_odd_number else value


@contextmanager
def restoring(kind: str, description: Mapping[str, Any], folder: object) -> Iterator[None]:
    """Refuse a description of another kind; turn any failure inside into a StorageError that says what it was."""
    found = description.get("kind")
    if found != kind:
        raise StorageError(f"{folder} holds a {found!r}, not a {kind}. millet.load_classifier reads every kind.")
    try:
        yield
    except StorageError:
        raise
    except (
        MilletError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        RuntimeError,
        OverflowError,
    ) as error:
        raise StorageError(f"{folder} does not describe a {kind} that this version can build: {error}") from None

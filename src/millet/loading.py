"""Loading: a model folder of any kind becomes the classifier that wrote it."""

from __future__ import annotations

import importlib
from os import PathLike
from typing import Any

from millet.contract import EvidenceClassifier
from millet.errors import StorageError, lookup
from millet.storage import load_model

# Where each kind lives; imported when it is needed, since not every one needs torch.
KINDS = {
    "MilletClassifier": "millet.classifier",
    "RocketMilletClassifier": "millet.rocket_classifier",
    "AveragedClassifier": "millet.averaged",
}


def load_classifier(folder: str | PathLike[str]) -> EvidenceClassifier:
    """Read a saved classifier of any kind; nothing in the folder is executed.

    Parameters
    ----------
    folder : path-like
        What the method `save` of a classifier wrote.

    Returns
    -------
    MilletClassifier, RocketMilletClassifier or AveragedClassifier

    Raises
    ------
    StorageError
        If the folder is damaged, incomplete, foreign, or of a newer version; it says which.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from millet import RocketMilletClassifier, load_classifier
    >>> X, y = np.random.default_rng(0).normal(size=(8, 1, 20)), [0, 1] * 4
    >>> folder = tempfile.mkdtemp()
    >>> RocketMilletClassifier(n_features=84, random_state=0).fit(X, y).save(folder)
    >>> load_classifier(folder).classes_
    array([0, 1])
    """
    description, weights = load_model(folder)
    return restore_any(description, weights, folder)


def restore_any(description: dict[str, Any], weights: list[bytes], folder: object) -> EvidenceClassifier:
    """Rebuild a classifier of any kind from its description and weights."""
    try:
        kind = description["kind"]
        module = importlib.import_module(lookup("kind of model", kind, KINDS))
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{folder} holds no model that this version knows: {error}") from None
    classifier: EvidenceClassifier = getattr(module, kind).restore(description, weights, folder)
    return classifier

"""The document: an explanation in types that JSON has, and back.

In:  an `Explanation`, or a parsed document.
Out: read and written by `millet.explanation.files`, which decides where the large arrays go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from millet.errors import MilletError, StorageError

if TYPE_CHECKING:
    from millet.explanation.explanation import Explanation

FORMAT = "millet.explanation"
VERSION = 1

Encode = Callable[[str, NDArray[Any]], Any]
Decode = Callable[[Any, str], NDArray[Any]]

AXES = {
    "series": ("n_cases", "n_channels", "n_timepoints"),
    "scores": ("n_cases", "n_classes", "n_timepoints"),
    "logits": ("n_cases", "n_classes"),
    "attention": ("n_cases", "n_timepoints"),
    "contributions": ("n_cases", "n_classes", "n_timepoints"),
    "bias": ("n_classes",),
    "channel_contributions": ("n_cases", "n_classes", "n_channels", "n_timepoints"),
}
# The rest is shared with the members.
OWN_ARRAYS = ("scores", "logits", "attention", "contributions", "bias", "channel_contributions")
NUMBERS = {
    np.dtype(kind).name: np.dtype(kind)
    for kind in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}


def describe(explanation: Explanation, encode: Encode) -> dict[str, Any]:
    """Describe the explanation in types that JSON has; `encode` decides where the large arrays go."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "n_cases": explanation.n_cases,
        "n_channels": explanation.n_channels,
        "n_timepoints": explanation.n_timepoints,
        "n_classes": explanation.n_classes,
        "class_names": list(explanation.class_names),
        "channel_names": list(explanation.channel_names),
        "classes": describe_labels(explanation.classes),
        "time": _encode_time(explanation.time),
        "cases": explanation.cases.tolist(),
        "lengths": explanation.lengths.tolist(),
        "series": _encode_array("series", explanation.series, encode),
        **_own_document(explanation, encode, prefix=""),
    }


def _own_document(explanation: Explanation, encode: Encode, prefix: str) -> dict[str, Any]:
    """Describe what an explanation does not share with the ensemble it is a member of."""
    own: dict[str, Any] = {"method": explanation.method}
    for name in OWN_ARRAYS:
        own[name] = _encode_array(prefix + name, getattr(explanation, name), encode)
    own["members"] = [
        _own_document(member, encode, prefix=f"{prefix}members.{number}.")
        for number, member in enumerate(explanation.members)
    ]
    return own


def _encode_array(key: str, array: NDArray[Any] | None, encode: Encode) -> dict[str, Any] | None:
    return None if array is None else {"dtype": array.dtype.name, "values": encode(key, array)}


def describe_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Describe labels with their type, which JSON alone would lose."""
    names = {"U": "str", "O": "object"}
    return {"dtype": names.get(classes.dtype.kind, classes.dtype.name), "values": classes.tolist()}


def _encode_time(time: NDArray[Any]) -> dict[str, Any]:
    values = np.datetime_as_string(time) if time.dtype.kind == "M" else time
    return {"dtype": time.dtype.name, "values": values.tolist()}


def plain(array: NDArray[Any]) -> Any:
    """Return nested lists with None for NaN."""
    missing = np.isnan(array)
    if not missing.any():
        return array.tolist()
    objects = array.astype(object)
    objects[missing] = None
    return objects.tolist()


def parse(text: str | bytes) -> dict[str, Any]:
    """Parse a document; refuse one that is not ours, or of a version we don't know."""
    try:
        document = json.loads(text, parse_constant=lambda name: refuse(f"{name} is not JSON"))
    except StorageError:
        raise
    except (ValueError, RecursionError) as error:
        refuse(f"it is not JSON, or was cut short ({error})")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        refuse("it was not written by Explanation.save or Explanation.to_json")
    version = document.get("version")
    if not isinstance(version, int) or version < 1:
        refuse(f"version must be {VERSION}; it says {version!r}")
    if version > VERSION:
        refuse(f"it has version {version}, this MILLET reads up to {VERSION}; upgrade with pip install -U millet-tsc")
    return document


def read_document(document: dict[str, Any], decode: Decode) -> dict[str, Any]:
    """Turn a document into the constructor's keywords; `decode` finds the large arrays."""
    try:
        sizes = {name: int(document[name]) for name in ("n_cases", "n_channels", "n_timepoints", "n_classes")}
        shared = {
            "class_names": tuple(document["class_names"]),
            "classes": decode_labels(document["classes"]),
            "time": _decode_time(document["time"]),
            # Documents of earlier versions neither name their channels nor number their cases.
            "channel_names": tuple(document.get("channel_names", [])),
            "cases": np.array(document.get("cases", [])),
            "lengths": np.array(document["lengths"]),
            "series": _decode_array("series", document["series"], sizes, decode),
        }
        return _read_own(document, shared, sizes, decode)
    except KeyError as error:
        refuse(f"{error} is missing, or stands for nothing that is known")
    except (TypeError, ValueError, OverflowError, AttributeError, RecursionError) as error:
        if isinstance(error, MilletError):
            raise
        refuse(str(error))


def _read_own(
    document: dict[str, Any], shared: dict[str, Any], sizes: dict[str, int], decode: Decode
) -> dict[str, Any]:
    # Documents of earlier versions have no contributions of channels.
    stored = {"channel_contributions": None, **document}
    own = {name: _decode_array(name, stored[name], sizes, decode) for name in OWN_ARRAYS}
    members = [_read_own(member, shared, sizes, decode) for member in document["members"]]
    return {**shared, **own, "method": document["method"], "members": members}


def _decode_array(
    name: str, stored: dict[str, Any] | None, sizes: dict[str, int], decode: Decode
) -> NDArray[Any] | None:
    if stored is None:
        return None
    array = decode(stored["values"], stored["dtype"])
    shape = tuple(sizes[axis] for axis in AXES[name])
    if array.size == 0 and 0 in shape:
        return array.reshape(shape)  # nested lists lose the shape of an empty array
    if array.shape != shape:
        refuse(f"{name} must have shape {shape}; it has {array.shape}")
    return array


def decode_labels(stored: dict[str, Any]) -> NDArray[Any]:
    """Return the labels that `describe_labels` described."""
    types = {**NUMBERS, "str": np.dtype(str), "object": np.dtype(object)}
    return np.array(stored["values"], dtype=types[stored["dtype"]])


def _decode_time(stored: dict[str, Any]) -> NDArray[Any]:
    name = stored["dtype"]
    if re.fullmatch(r"datetime64\[\d{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]", name):
        return np.array(stored["values"], dtype="datetime64").astype(name)
    return np.array(stored["values"], dtype=NUMBERS[name])


def refuse(problem: str) -> NoReturn:
    """Raise StorageError with what is wrong with the document."""
    raise StorageError(f"This is not a saved explanation that can be read: {problem}.")

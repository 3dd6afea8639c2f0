"""Explanations on disk: one document for .json and .npz, a long table for .csv.

In:  an `Explanation`, or the path or text of a saved one.
Out: a whole file or none; the constructor's keywords. No pickle is written or read.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from millet.atomic import atomic_path
from millet.errors import FileMissingError, StorageError, lookup
from millet.explanation.document import NUMBERS, describe, parse, plain, read_document, refuse

if TYPE_CHECKING:
    from millet.explanation.explanation import Explanation


def save(explanation: Explanation, path: str | os.PathLike[str]) -> None:
    """Write by suffix: .json, .npz or .csv."""
    write = lookup("suffix for saving an explanation", Path(path).suffix.lower(), WRITERS)
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        write(explanation, file)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read by suffix, .json or .npz, into the constructor's keywords."""
    read = lookup("suffix for loading an explanation", Path(path).suffix.lower(), READERS)
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - closed below; only errors of opening are caught
    except FileNotFoundError:
        raise FileMissingError(f"{path} does not exist.") from None
    except OSError as error:
        raise StorageError(f"{path} can't be read: {error.strerror or error}.") from None
    with file:
        return read(file)


def to_json(explanation: Explanation) -> str:
    """Return the explanation as strict JSON (NaN as null)."""
    return json.dumps(describe(explanation, lambda _, array: plain(array)), allow_nan=False)


def from_json(text: str | bytes) -> dict[str, Any]:
    """Return the constructor's keywords from what `to_json` gave."""
    return read_document(parse(text), lambda values, dtype: np.array(values, dtype=NUMBERS[dtype]))


def _write_json(explanation: Explanation, file: IO[bytes]) -> None:
    file.write(to_json(explanation).encode("ascii"))


def _write_npz(explanation: Explanation, file: IO[bytes]) -> None:
    arrays: dict[str, NDArray[Any]] = {}

    def set_aside(key: str, array: NDArray[Any]) -> str:
        arrays[key] = array
        return key

    document = json.dumps(describe(explanation, set_aside), allow_nan=False)
    np.savez(file, allow_pickle=False, document=np.array(document), **arrays)


def _read_npz(file: IO[bytes]) -> dict[str, Any]:
    try:
        stored = np.load(file, allow_pickle=False)
        arrays = {key: stored[key] for key in stored} if isinstance(stored, Mapping) else {}
    except Exception as error:  # a damaged archive fails in a dozen ways, none of them the user's doing
        refuse(f"it is not an .npz file, or a damaged one ({error})")
    if "document" not in arrays:
        refuse("it was not written by Explanation.save")
    return read_document(parse(str(arrays["document"])), lambda key, _: arrays[key])


def _write_csv(explanation: Explanation, file: IO[bytes]) -> None:
    """Write one row per timepoint within a case's own length; a missing value is an empty cell."""
    columns = [f"channel_{channel}" for channel in explanation.channel_names]
    values = [explanation.series]
    if explanation.attention is not None:
        columns.append("attention")
        values.append(explanation.attention[:, None])
    columns += [f"score_{name}" for name in explanation.class_names]
    values.append(explanation.scores)
    if explanation.contributions is not None:
        columns += [f"contribution_{name}" for name in explanation.class_names]
        values.append(explanation.contributions)
    if explanation.channel_contributions is not None:
        columns += [
            f"contribution_{name}_channel_{channel}"
            for name in explanation.class_names
            for channel in explanation.channel_names
        ]
        n_cases, _, _, n_timepoints = explanation.channel_contributions.shape
        values.append(explanation.channel_contributions.reshape(n_cases, -1, n_timepoints))
    times = [str(moment) for moment in explanation.time]
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["case", "timepoint", "time", *columns])
    for row, (case, length) in enumerate(zip(explanation.cases.tolist(), explanation.lengths.tolist(), strict=True)):
        table = [cells for part in values for cells in plain(part[row, :, :length])]
        for timepoint, cells in enumerate(zip(*table, strict=True)):
            writer.writerow([case, timepoint, times[timepoint], *cells])
    text.detach()  # the caller closes the file


WRITERS: dict[str, Callable[[Explanation, IO[bytes]], None]] = {
    ".json": _write_json,
    ".npz": _write_npz,
    ".csv": _write_csv,
}
READERS: dict[str, Callable[[IO[bytes]], dict[str, Any]]] = {
    ".json": lambda file: from_json(file.read()),
    ".npz": _read_npz,
}

"""Readers for ``.npz`` and ``.npy``: arrays as NumPy saves them; pickled objects are refused, never opened."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millet.datasets.dataset import Series
from millet.datasets.labels import label_key, label_texts
from millet.datasets.readers.contents import Contents, check_every_case
from millet.datasets.readers.text import check_expansion
from millet.errors import DatasetFormatError

Array = NDArray[Any]
_MEMBERS = ("X", "y", "lengths", "relevant", "classes", "class_names", "channel_names")


def read_npz(file: Path) -> Contents:
    """Read an ``.npz`` with ``X`` and optionally labels, lengths, relevant timepoints and names.

    Parameters
    ----------
    file : Path
        The file.

    Returns
    -------
    Contents
        X as float64, cut to ``lengths`` where they are given.
    """
    members = _read_members(file)
    X = _as_cases(file, members["X"]).astype(np.float64, copy=False)
    n_cases, n_channels, n_timepoints = X.shape
    relevant = members.get("relevant")
    if relevant is not None:
        if relevant.shape != (n_cases, n_timepoints) or not np.isin(relevant, (0, 1)).all():
            raise DatasetFormatError(
                file, f"'relevant' must be true or false, of shape {(n_cases, n_timepoints)}; got {relevant.shape}."
            )
        relevant = relevant.astype(np.bool_)
    series: Series = X
    if "lengths" in members:
        lengths = _as_lengths(file, members["lengths"], n_cases, n_timepoints)
        series = _cut(X, lengths)
        relevant = None if relevant is None else relevant[:, : max(lengths)]
    check_every_case(file, series)
    labels = _as_labels(file, members["y"], n_cases) if "y" in members else None
    names = _class_names(file, labels, members.get("classes"), members.get("class_names"))
    channels = _channel_names(file, members.get("channel_names"), n_channels)
    return Contents(X=series, labels=labels, relevant=relevant, class_names=names, channel_names=channels)


def read_npy(file: Path) -> Contents:
    """Read an ``.npy`` as a memory map, and its labels from ``<stem>_y.npy`` beside it if that is there.

    Parameters
    ----------
    file : Path
        The file.

    Returns
    -------
    Contents
        X is a view of the memory-mapped file, in the file's own precision; whole numbers are read into memory.
    """
    X = _as_cases(file, _load(file, mmap_mode="r"))
    if not np.issubdtype(X.dtype, np.floating):
        X = X.astype(np.float64)
    check_every_case(file, X)
    label_file = file.with_name(f"{file.stem}_y.npy")
    labels = _as_labels(label_file, _load(label_file), len(X)) if label_file.is_file() else None
    return Contents(X=X, labels=labels)


def _load(file: Path, mmap_mode: Any = None) -> Array:
    # A damaged header makes NumPy raise nearly anything: SyntaxError, OverflowError, MemoryError, ...
    try:
        array = np.load(file, mmap_mode=mmap_mode, allow_pickle=False)
    except Exception as error:
        raise _damaged(file, "an array as numpy.save writes it", error) from error
    if not isinstance(array, np.ndarray):
        raise DatasetFormatError(file, "is a zip archive; expected one array. Call it .npz if it is one.")
    return array


def _read_members(file: Path) -> dict[str, Array]:
    try:
        with zipfile.ZipFile(file) as archive:
            n_unpacked = sum(member.file_size for member in archive.infolist())
        check_expansion(file, file.stat().st_size, n_unpacked)
        with np.load(file, allow_pickle=False) as arrays:
            _refuse_without_series(file, arrays.files)
            members = {name: arrays[name] for name in _MEMBERS if name in arrays.files}
    except DatasetFormatError:
        raise
    except Exception as error:
        raise _damaged(file, "arrays as numpy.savez writes them", error) from error
    for name, array in members.items():
        if not isinstance(array, np.ndarray):
            raise DatasetFormatError(file, f"its member {name!r} is not an array.")
    return members


def _refuse_without_series(file: Path, names: list[str]) -> None:
    if "X" not in names:
        found = f"; it holds {', '.join(map(repr, names[:20]))}" if names else ""
        raise DatasetFormatError(file, f"holds no array 'X'{found}. Expected X, and y where there are labels.")


def _damaged(file: Path, wanted: str, error: Exception) -> DatasetFormatError:
    # NumPy takes whatever begins like none of its own files for a pickle; real ones begin with 0x80.
    with file.open("rb") as opened:
        is_ours_or_pickle = opened.read(1) in (b"\x80", b"\x93", b"P")
    if not is_ours_or_pickle:
        return DatasetFormatError(file, f"is no file of NumPy's; expected {wanted}.")
    if "allow_pickle" in str(error) or "Python objects" in str(error):
        return DatasetFormatError(
            file, "holds pickled objects, which could run any code. Save arrays of numbers or text instead."
        )
    return DatasetFormatError(file, f"is damaged or cut off ({error}); expected {wanted}.")


def _as_cases(file: Path, X: Array) -> Array:
    """Return a view of shape (n_cases, n_channels, n_timepoints)."""
    is_number = np.issubdtype(X.dtype, np.floating) or np.issubdtype(X.dtype, np.integer)
    if not is_number or X.ndim not in (2, 3) or 0 in X.shape:
        raise DatasetFormatError(
            file,
            "X must be numbers of shape (n_cases, n_timepoints) or (n_cases, n_channels, n_timepoints), none of "
            f"them 0; got {X.dtype} of shape {X.shape}.",
        )
    return X[:, None, :] if X.ndim == 2 else X


def _as_labels(file: Path, y: Array, n_cases: int) -> list[str]:
    if y.shape != (n_cases,) or y.dtype.kind not in "iufbUS":
        raise DatasetFormatError(
            file, f"y must be numbers or text of shape ({n_cases},), one per case; got {y.dtype} of shape {y.shape}."
        )
    return label_texts(y)


def _as_lengths(file: Path, lengths: Array, n_cases: int, n_timepoints: int) -> list[int]:
    is_valid = lengths.shape == (n_cases,) and np.issubdtype(lengths.dtype, np.integer)
    if not is_valid or lengths.min() < 1 or lengths.max() > n_timepoints:
        raise DatasetFormatError(
            file, f"'lengths' must be {n_cases} whole numbers from 1 to {n_timepoints}, one per case."
        )
    return [int(length) for length in lengths]


def _cut(X: NDArray[np.float64], lengths: list[int]) -> Series:
    if len(set(lengths)) == 1:
        return np.ascontiguousarray(X[:, :, : lengths[0]])
    return [case[:, :length].copy() for case, length in zip(X, lengths, strict=True)]


def _channel_names(file: Path, names: Array | None, n_channels: int) -> list[str]:
    if names is None:
        return []
    texts = label_texts(names.ravel())
    if len(texts) != n_channels or len(set(texts)) < n_channels:
        raise DatasetFormatError(
            file, f"'channel_names' must be {n_channels} different names, one per channel; got {', '.join(texts)}."
        )
    return texts


def _class_names(
    file: Path, labels: list[str] | None, classes: Array | None, class_names: Array | None
) -> dict[str, str]:
    """Return the name of each label; refuse labels that the file's own list of classes lacks."""
    if labels is None or (classes is None and class_names is None):
        return {}
    distinct = sorted(set(labels), key=_by_number_then_text)
    listed = distinct if classes is None else label_texts(classes.ravel())
    names = listed if class_names is None else label_texts(class_names.ravel())
    if len(names) != len(listed):
        raise DatasetFormatError(file, f"'class_names' has {len(names)} names for {len(listed)} classes.")
    by_key = {label_key(label): name for label, name in zip(listed, names, strict=True)}
    unlisted = [label for label in distinct if label_key(label) not in by_key]
    if unlisted:
        raise DatasetFormatError(file, f"label {unlisted[0]!r} is not among its 'classes': {', '.join(listed[:20])}.")
    return {label: by_key[label_key(label)] for label in distinct}


def _by_number_then_text(label: str) -> tuple[bool, float, str]:
    key = label_key(label)
    return (False, key, "") if isinstance(key, float) else (True, 0.0, key)

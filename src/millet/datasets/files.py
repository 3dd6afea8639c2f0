"""Files to `Dataset`s: picks the reader by the file's suffix, and parses the labels of both splits together.

In:  paths. Out: `Dataset`, with X as float64 and labels as numbers or text.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millet.datasets.dataset import Dataset
from millet.datasets.labels import is_missing, label_key, parse_labels
from millet.datasets.readers.arff import read_arff
from millet.datasets.readers.contents import Contents, File
from millet.datasets.readers.csv_wide import read_csv
from millet.datasets.readers.numbers import shorten
from millet.datasets.readers.numpy_files import read_npy, read_npz
from millet.datasets.readers.parquet import read_parquet
from millet.datasets.readers.ts import read_ts
from millet.datasets.readers.tsv import read_tsv
from millet.datasets.readers.unlabelled import read_unlabelled
from millet.errors import DatasetFormatError, DatasetNotFoundError

Reader = Callable[[Path], Contents]

READERS: dict[str, Reader] = {
    ".ts": read_ts,
    ".tsv": read_tsv,
    ".txt": read_tsv,
    ".arff": read_arff,
    ".csv": read_csv,
    ".npz": read_npz,
    ".npy": read_npy,
    ".parquet": read_parquet,
    ".ts.gz": read_ts,
    ".tsv.gz": read_tsv,
    ".txt.gz": read_tsv,
    ".arff.gz": read_arff,
    ".csv.gz": read_csv,
}
"""The reader for each suffix; where a dataset is there in several formats, the first is taken."""


def load_file(path: File, *, labels: bool = True) -> Dataset:
    r"""Load one file of series.

    Parameters
    ----------
    path : str or path
        A file in one of the formats of `READERS`.
    labels : bool, default=True
        False if the rows of a .csv, .tsv or .txt file without a header are values and nothing else; the first column
        would be read as the label.

    Returns
    -------
    Dataset
        Named after the file, without ``_TRAIN`` or ``_TEST``, which gives the split. ``y`` is None where the
        file has no labels.

    Raises
    ------
    DatasetNotFoundError
        If the file does not exist.
    DatasetFormatError
        If it is not in a known format, or not what its format promises.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "Toy_TRAIN.csv").write_text("walk,0.1,0.2,0.3\nrun,0.5,0.1,0.9\n")
    >>> toy = load_file(folder / "Toy_TRAIN.csv")
    >>> toy.name, toy.split, toy.X.shape, toy.y.tolist()
    ('Toy', 'train', (2, 1, 3), ['walk', 'run'])
    """
    contents = _read(path, labels=labels)
    name, split = _name_and_split(Path(path))
    y = None if contents.labels is None else parse_labels(contents.labels)
    classes = np.array([], dtype=np.str_) if y is None else np.unique(y)
    return _dataset(path, contents, name, split, y, classes, dict(contents.class_names))


def load_splits(train_path: File, test_path: File, name: str) -> tuple[Dataset, Dataset]:
    r"""Load a training and a test file whose labels belong together.

    Parameters
    ----------
    train_path, test_path : str or path
        Files in one of the formats of `READERS`, not necessarily the same.
    name : str
        The dataset's name.

    Returns
    -------
    train, test : Dataset
        With labels of one type, and the same ``classes``.

    Raises
    ------
    DatasetFormatError
        If a file can't be read, the channels differ in number, name or order, or the test file has a label that
        the training file never has.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "Toy_TRAIN.csv").write_text("walk,0.1,0.2,0.3\nrun,0.5,0.1,0.9\n")
    >>> _ = (folder / "Toy_TEST.csv").write_text("run,0.4,0.2,0.8\n")
    >>> train, test = load_splits(folder / "Toy_TRAIN.csv", folder / "Toy_TEST.csv", "Toy")
    >>> test.y.tolist(), test.classes.tolist()
    (['run'], ['run', 'walk'])
    """
    train, test = _read(train_path), _read(test_path)
    n_channels, n_test_channels = train.X[0].shape[0], test.X[0].shape[0]
    if n_channels != n_test_channels:
        raise DatasetFormatError(
            test_path, f"has {n_test_channels} channels, expected {n_channels}, as in {train_path}."
        )
    if train.channel_names and test.channel_names and tuple(train.channel_names) != tuple(test.channel_names):
        raise DatasetFormatError(
            test_path,
            f"has the channels {', '.join(test.channel_names)}; expected {', '.join(train.channel_names)}, in this "
            f"order, as in {train_path}.",
        )
    if train.labels is None and test.labels is not None:
        raise DatasetFormatError(train_path, f"has no labels, yet {test_path} has.")
    train_labels, test_labels = list(train.labels or ()), list(test.labels or ())
    known = _known_labels(train_path, train_labels, test_path, test)
    spelled = set(train_labels)
    # 1.0 is class 1 of the training cases, even where other classes have names.
    test_labels = [label if label in spelled else known[label_key(label)] for label in test_labels]
    y = parse_labels([*train_labels, *test_labels])
    classes = np.unique(y)
    names = {**test.class_names, **train.class_names}
    train_y = None if train.labels is None else y[: len(train_labels)]
    test_y = None if test.labels is None else y[len(train_labels) :]
    return (
        _dataset(train_path, train, name, "train", train_y, classes, names),
        _dataset(test_path, test, name, "test", test_y, classes, names),
    )


def split_suffix(path: File) -> tuple[str, str]:
    """Return a file's name without its suffix, and the suffix in lower case; '' if it is unknown.

    Parameters
    ----------
    path : str or path
        The file, which need not exist.

    Examples
    --------
    >>> split_suffix("data/GunPoint_TRAIN.tsv.gz"), split_suffix("notes.doc")
    (('GunPoint_TRAIN', '.tsv.gz'), ('notes.doc', ''))
    """
    name = Path(path).name
    for suffix in sorted(READERS, key=len, reverse=True):
        if name.lower().endswith(suffix):
            return name[: -len(suffix)], suffix
    return name, ""


def _read(path: File, *, labels: bool = True) -> Contents:
    file = Path(path)
    if file.is_dir():
        raise DatasetFormatError(path, "is a folder; expected a file.")
    suffix = split_suffix(file)[1]
    if not suffix:
        raise DatasetFormatError(path, f"has no known suffix; expected one of {', '.join(READERS)}.")
    if not file.exists():
        raise DatasetNotFoundError(f"{path} is not there. Check the path.")
    try:
        contents = READERS[suffix](file) if labels else read_unlabelled(file, suffix)
    except OSError as error:
        raise DatasetFormatError(path, f"can't be read ({error.strerror or error}).") from error
    _check_labels(path, contents)
    return contents


def _check_labels(path: File, contents: Contents) -> None:
    for case, label in enumerate(contents.labels or ()):
        if is_missing(label) or not label.isprintable():
            which, line = _place(contents, case)
            problem = "has no label" if is_missing(label) else f"has {shorten(label)} for a label"
            raise DatasetFormatError(path, f"{which} {problem}; expected a number or a name.", line)


def _known_labels(
    train_path: File, train_labels: list[str], test_path: File, test: Contents
) -> dict[str | float, str]:
    """Return the training labels by what they mean; refuse a test label that means none of them."""
    known = {label_key(label): label for label in train_labels}
    for case, label in enumerate(test.labels or ()):
        if label_key(label) not in known:
            which, line = _place(test, case)
            listed = ", ".join(sorted(known.values())[:20]) + (", ..." if len(known) > 20 else "")
            raise DatasetFormatError(
                test_path, f"{which} has label {shorten(label)}, which {train_path} never has: {listed}.", line
            )
    return known


def _place(contents: Contents, case: int) -> tuple[str, int | None]:
    """Return how to name a case in a message, and its line where the format has lines."""
    if contents.lines is None:
        return f"case {case} (counted from 0)", None
    return "this case", contents.lines[case]


def _name_and_split(path: Path) -> tuple[str, str]:
    stem = split_suffix(path)[0]
    for split in ("train", "test"):
        if stem.lower().endswith(f"_{split}"):
            return stem[: -len(split) - 1], split
    return stem, ""


def _dataset(
    path: File,
    contents: Contents,
    name: str,
    split: str,
    y: NDArray[Any] | None,
    classes: NDArray[Any],
    class_names: dict[str, str],
) -> Dataset:
    by_key = {label_key(label): title for label, title in class_names.items()}
    return Dataset(
        name=name,
        X=contents.X,
        y=y,
        classes=classes,
        relevant=contents.relevant,
        split=split,
        source=str(path),
        class_names=tuple(by_key.get(label_key(str(label)), str(label)) for label in classes) if by_key else (),
        channel_names=tuple(contents.channel_names),
        case_names=tuple(contents.case_names),
    )

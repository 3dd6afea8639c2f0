"""Where commands get their cases from: a dataset by name, or a file; with labels that the model knows, or none.

In:  what was typed, and the classes of the model that is asked about it.
Out: `Dataset`, for every command that uses data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millet.errors import LabelError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from millet.datasets import Dataset

DATA_HELP = "Folder with datasets. [default: MILLET_DATA, else cache]"
NO_LABELS_HELP = "Of a .csv, .tsv or .txt file without a header: the first column is no label but a value."
SPLITS = ("train", "test")


def load_source(source: str, path: Path | None) -> tuple[Dataset, Dataset | None]:
    """Return the two splits of a dataset, or a file and None."""
    from millet.datasets import load_dataset, load_file

    _check_effects(source, path, split=None)
    return (load_file(source), None) if _is_file(source) else load_dataset(source, path)


def load_cases(source: str, path: Path | None, split: str | None, *, no_labels: bool = False) -> Dataset:
    """Return one split of a dataset, by default the test split, or a file."""
    from millet.datasets import load_file

    _check_effects(source, path, split)
    if no_labels:
        if not _is_file(source):
            raise ParameterError(f"--no-labels is for files, and {source} is a dataset. Leave it out.")
        return load_file(source, labels=False)
    train, test = load_source(source, path)
    return train if test is None or split == "train" else test


def load_known_cases(
    source: str, path: Path | None, split: str | None, classes: NDArray[Any], *, no_labels: bool = False
) -> Dataset:
    """Return what `load_cases` does, with labels of the same kind as a model's classes: numbers or text.

    Labels none of which is such a class are refused, since they must be something else; so is a first column that was
    taken for labels without a header, if most of its cells are not such classes: it may hold values.
    """
    import numpy as np

    from millet.datasets.labels import label_key

    dataset = load_cases(source, path, split, no_labels=no_labels)
    if dataset.y is None:
        return dataset
    # By its spelling, or else by its meaning: 1.0 is the class 1.
    spelled = {str(label): label for label in classes.tolist()}
    meant = {label_key(str(label)): label for label in classes.tolist()}
    texts = [str(label) for label in dataset.y.tolist()]
    found = [spelled.get(text, meant.get(label_key(text))) for text in texts]
    n_known = sum(label is not None for label in found)
    if n_known == 0 or (2 * n_known < len(found) and _are_labels_by_place(source)):
        raise LabelError(_foreign_labels(source, dataset.y, classes, n_known))
    labels = [own if label is None else label for own, label in zip(dataset.y.tolist(), found, strict=True)]
    return replace(dataset, y=np.array(labels, dtype=object if None in found else classes.dtype))


def check_kept(source: str, *outputs: Path | None) -> None:
    """Refuse to write over the file that the cases are read from."""
    for out in outputs:
        if out is not None and out.exists() and Path(source).is_file() and out.samefile(source):
            raise ParameterError(f"{out} is the file with the series, which would be lost. Write to another file.")


def _check_effects(source: str, path: Path | None, split: str | None) -> None:
    """Refuse options for datasets if the source is a file."""
    if path is not None and _is_file(source):
        raise ParameterError(f"--path says where datasets are, and {source} is a file. Leave it out.")
    if split is not None and _is_file(source):
        raise ParameterError(f"--split chooses a part of a dataset, and {source} is a file. Leave it out.")


def _is_file(source: str) -> bool:
    return bool(Path(source).suffix) or "/" in source or Path(source).is_file()


def _are_labels_by_place(source: str) -> bool:
    """Return whether the first column of a file was taken for labels without a header that says so."""
    from millet.datasets.files import split_suffix
    from millet.datasets.readers.unlabelled import label_comes_first

    return _is_file(source) and label_comes_first(Path(source), split_suffix(source)[1])


def _foreign_labels(source: str, y: NDArray[Any], classes: NDArray[Any], n_known: int) -> str:
    import numpy as np

    labels, known = _few(np.unique(y).tolist()), _few(classes.tolist())
    if _are_labels_by_place(source):
        found = f"only {n_known} of {len(y)} cases have" if n_known else "none of them is"
        return (
            f"The first column of {source} was read as labels ({labels}), and {found} a class of the model "
            f"({known}). If its rows are series without labels, add --no-labels; if not, correct the labels."
        )
    return (
        f"None of the labels of {source} ({labels}) is a class of the model ({known}). Correct the labels, leave "
        "them out of the file, or use a model that was trained on such series."
    )


def _few(labels: Iterable[Any], n: int = 5) -> str:
    texts = [str(label) for label in labels]
    return ", ".join(texts[:n]) + (", ..." if len(texts) > n else "")

"""Locate: a dataset's name in, the files of its two splits out, and both splits loaded.

In:  names, and folders: the `path` argument, else MILLET_DATA, else this platform's cache folder.
Out: `Splits` for `download` and `survey`; `load_dataset` and `list_datasets` for users.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from millet.datasets.catalogue import WEB_TRAFFIC, entries, find
from millet.datasets.dataset import Dataset
from millet.datasets.files import READERS, load_splits
from millet.errors import DatasetNotFoundError, ParameterError, did_you_mean

DATA_VARIABLE = "MILLET_DATA"

_SPLIT_FILE = re.compile(r"(?P<name>.+)_(?P<split>TRAIN|TEST)(?P<suffix>\..+)", re.IGNORECASE)


@dataclass(frozen=True)
class Splits:
    """The two files of one dataset.

    Attributes
    ----------
    name : str
        The dataset's name, as its files spell it.
    train, test : Path
        One file each.
    """

    name: str
    train: Path
    test: Path

    @property
    def format(self) -> str:
        """The format of the files, as their suffix names it: "ts", "tsv.gz" ..."""
        return _suffix_of(self.train).removeprefix(".")

    def load(self) -> tuple[Dataset, Dataset]:
        """Read both files."""
        return load_splits(self.train, self.test, self.name)


def load_dataset(name: str, path: str | os.PathLike[str] | None = None) -> tuple[Dataset, Dataset]:
    """Load both splits of a dataset by its name.

    "WebTraffic" is generated. Any other name stands for the files ``<Name>_TRAIN.<suffix>`` and
    ``<Name>_TEST.<suffix>``, in a folder of that name or directly in the folder that is searched.

    Parameters
    ----------
    name : str
        The dataset's name; if there is no exact match, upper and lower case are not distinguished.
    path : path-like, optional
        The folder to search: one that holds datasets, or the dataset's own. By default, the folders of the
        environment variable MILLET_DATA, else this platform's cache folder.

    Returns
    -------
    train, test : Dataset
        The two splits; X is (n_cases, n_channels, n_timepoints), or a list where lengths differ.

    Raises
    ------
    DatasetNotFoundError
        If no folder holds both splits; the message says where it looked and how to get them.

    Examples
    --------
    >>> train, test = load_dataset("WebTraffic")
    >>> train.X.shape, test.X.shape
    ((500, 1, 1008), (500, 1, 1008))
    """
    name = plain_name(name)
    generated = name.casefold() == WEB_TRAFFIC.name.casefold()
    if generated and path is None:
        return _generate()
    folders = search_folders(path)
    splits = find_splits(name, folders)
    if splits is not None:
        return splits.load()
    if generated:
        return _generate()
    raise DatasetNotFoundError(_not_found(name, folders))


def list_datasets(path: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the names that `load_dataset` can load now, in alphabetical order.

    Parameters
    ----------
    path : path-like, optional
        The folder to search, as for `load_dataset`.

    Examples
    --------
    >>> "WebTraffic" in list_datasets()
    True
    """
    return sorted({WEB_TRAFFIC.name, *scan(search_folders(path))}, key=str.casefold)


def plain_name(name: str) -> str:
    """Return the name, or refuse one that could lead out of the folder it is looked up in.

    Examples
    --------
    >>> plain_name("GunPoint")
    'GunPoint'
    """
    if not isinstance(name, str):
        raise ParameterError(f"A dataset's name must be a string; got {name!r}.")
    if not name or name.startswith(".") or ".." in name or re.search(r"[/\\:\x00-\x1f]", name):
        raise ParameterError(
            f"A dataset's name must be plain, such as 'GunPoint'; got {name!r}. "
            "To read from another folder pass it as path; to read one file use load_file."
        )
    return name


def search_folders(path: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the folders to search: the path, else those of MILLET_DATA, else the cache folder.

    Examples
    --------
    >>> search_folders("no/such/folder")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    millet.errors.DatasetNotFoundError: no/such/folder is not a folder; path must be one that holds ...
    """
    if path is not None:
        folder = Path(path).expanduser()
        if not folder.is_dir():
            raise DatasetNotFoundError(
                f"{folder} is not a folder; path must be one that holds datasets, or a dataset's own. "
                "To read one file use load_file."
            )
        return [folder]
    listed = os.environ.get(DATA_VARIABLE, "").split(os.pathsep)
    folders = [Path(folder).expanduser() for folder in listed if folder.strip()]
    return folders or [cache_folder()]


def cache_folder() -> Path:
    """Return where this platform keeps downloaded datasets; it need not exist."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("millet", appauthor=False)) / "datasets"


def find_splits(name: str, folders: list[Path]) -> Splits | None:
    """Return the files of a dataset from the first folder that holds both, or None.

    Parameters
    ----------
    name : str
        The dataset's name; its exact spelling wins over one that differs in upper and lower case.
    folders : list of Path
        Folders that hold datasets or are the dataset's own.

    Raises
    ------
    DatasetNotFoundError
        If only one of the two splits is there.
    """
    candidates = [files for folder in folders for files in _candidates(folder, name)]
    lonely: list[Path] = []
    for files in sorted(candidates, key=lambda files: files.name != name):
        splits = files.pair()
        if splits is not None:
            return splits
        lonely.append(files.only())
    if lonely:
        there = lonely[0]
        absent = "TEST" if _split_of(there) == "TRAIN" else "TRAIN"
        raise DatasetNotFoundError(
            f"Dataset '{name}' is not whole: {there} is there, but no {name}_{absent} file beside it. "
            "Put it there, or read the one file with load_file."
        )
    return None


def scan(folders: list[Path]) -> dict[str, Splits]:
    """Return every dataset whose two splits are in the folders, by name; the first folder wins.

    Examples
    --------
    >>> scan([])
    {}
    """
    found: dict[str, Splits] = {}
    for folder in folders:
        for files in _all_files(folder):
            splits = files.pair()
            if splits is not None:
                found.setdefault(splits.name, splits)
    return found


class _Files:
    """The files of one name in one folder: for each split, suffix to path."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.by_split: dict[str, dict[str, Path]] = {"TRAIN": {}, "TEST": {}}

    def pair(self) -> Splits | None:
        """Return the pair in the most preferred format, in a single format if possible."""
        train, test = self.by_split["TRAIN"], self.by_split["TEST"]
        if not train or not test:
            return None
        common = [suffix for suffix in READERS if suffix in train and suffix in test]
        if common:
            return Splits(self.name, train[common[0]], test[common[0]])
        return Splits(self.name, _preferred(train), _preferred(test))

    def only(self) -> Path:
        """Return the file of the one split that is there."""
        return _preferred(self.by_split["TRAIN"] or self.by_split["TEST"])


def _preferred(by_suffix: dict[str, Path]) -> Path:
    return next(by_suffix[suffix] for suffix in READERS if suffix in by_suffix)


def _split_of(file: Path) -> str:
    match = _SPLIT_FILE.fullmatch(file.name)
    return match["split"].upper() if match else ""


def _suffix_of(file: Path) -> str:
    match = _SPLIT_FILE.fullmatch(file.name)
    return match["suffix"].lower() if match else ""


def _candidates(folder: Path, name: str) -> Iterator[_Files]:
    folded = name.casefold()
    own = [child for child in _subfolders(folder) if child.name.casefold() == folded]
    for place in [*own, folder]:
        yield from (files for files in _files_in(place) if files.name.casefold() == folded)


def _all_files(folder: Path) -> Iterator[_Files]:
    for child in _subfolders(folder):
        for files in _files_in(child):
            if files.name.casefold() == child.name.casefold():
                yield files
    yield from _files_in(folder)


def _subfolders(folder: Path) -> list[Path]:
    # Hidden folders are left out: one of them holds unfinished downloads.
    return [child for child in _children(folder) if not child.name.startswith(".") and child.is_dir()]


def _files_in(folder: Path) -> list[_Files]:
    """Group a folder's readable split files by name, in alphabetical order."""
    groups: dict[str, _Files] = {}
    for child in _children(folder):
        match = _SPLIT_FILE.fullmatch(child.name)
        if match and match["suffix"].lower() in READERS and child.is_file():
            files = groups.setdefault(match["name"], _Files(match["name"]))
            files.by_split[match["split"].upper()][match["suffix"].lower()] = child
    return list(groups.values())


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:  # a folder that is absent or can't be read holds nothing that can be loaded
        return []


def _generate() -> tuple[Dataset, Dataset]:
    from millet.datasets.web_traffic import load_web_traffic

    return load_web_traffic()


def _not_found(name: str, folders: list[Path]) -> str:
    looked = ", ".join(f"{folder}" + ("" if folder.is_dir() else " (no such folder)") for folder in folders)
    known = find(name)
    if known is not None:
        advice = f" It is in the UCR archive: get it with 'millet datasets --download {known.name}'."
    else:
        advice = did_you_mean(name, [*entries(), *scan(folders), WEB_TRAFFIC.name])
        advice += f" Wanted: {name}/{name}_TRAIN and {name}_TEST with one of the suffixes {' '.join(READERS)}."
    return f"No dataset '{name}' in {looked}.{advice}"

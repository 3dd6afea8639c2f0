"""Download: a dataset's name in, a folder with its verified files out, or an error and nothing.

In:  one zip per dataset from the archive's public site, through `fetch` and `unpack`.
Out: ``<root>/<Name>/``, where `millet.datasets.locate` finds it.

All work happens in ``<root>/.downloads``, which `locate` never looks into; the finished folder is moved into
place by one rename, so that a process killed at any moment leaves nothing that loads as a dataset.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import urllib.parse
from pathlib import Path

from millet.datasets import catalogue
from millet.datasets.fetch import MissingFileError, discard, fetch
from millet.datasets.locate import Splits, find_splits, plain_name, search_folders
from millet.datasets.unpack import unpack
from millet.errors import DatasetNotFoundError, DownloadError, MilletError, ParameterError, did_you_mean
from millet.locks import locked

ARCHIVE_URL = "https://www.timeseriesclassification.com/aeon-toolkit"
URL_VARIABLE = "MILLET_ARCHIVE_URL"


def download(
    name: str,
    root: str | os.PathLike[str] | None = None,
    *,
    url: str | None = None,
    sha256: str | None = None,
    progress: bool = True,
) -> Path:
    """Download a dataset, verify it, and put it where `load_dataset` finds it.

    A dataset that is already there is left as it is. An interrupted download is continued by the next call.

    Parameters
    ----------
    name : str
        The dataset's name in the archive.
    root : path-like, optional
        The folder that holds datasets. By default, the first folder of the environment variable MILLET_DATA,
        else this platform's cache folder.
    url : str, optional
        The address of the folder that holds ``<Name>.zip``. By default, the environment variable
        MILLET_ARCHIVE_URL, else the archive's public site.
    sha256 : str, optional
        The digest the zip must have, in hexadecimal.
    progress : bool
        Whether to show a bar on standard error, if that is a terminal.

    Returns
    -------
    Path
        The dataset's folder, ``<root>/<Name>``.

    Raises
    ------
    DownloadError
        If the dataset can't be downloaded, is damaged, or is not the archive's original split.

    Examples
    --------
    >>> download("GunPoint", "datasets")  # doctest: +SKIP
    PosixPath('datasets/GunPoint')
    """
    name = _archive_name(name)
    folder = Path(root).expanduser() if root is not None else search_folders()[0]
    base = url or os.environ.get(URL_VARIABLE) or ARCHIVE_URL
    address = f"{base.rstrip('/')}/{urllib.parse.quote(name)}.zip"
    try:
        work = folder / ".downloads"
        work.mkdir(parents=True, exist_ok=True)
        with locked(work / f"{name}.lock"):
            return _download(name, folder, work, address, sha256, progress)
    except MissingFileError as error:
        raise DownloadError(f"{error}{did_you_mean(name, catalogue.entries())}") from error
    except MilletError:
        raise
    except OSError as error:
        raise DownloadError(
            f"Could not store '{name}' in {folder}: {error.strerror or error}. "
            "Make room, or choose another folder with path or MILLET_DATA, then run it again."
        ) from error


def _archive_name(name: str) -> str:
    known = catalogue.find(plain_name(name))
    if name.casefold() == catalogue.WEB_TRAFFIC.name.casefold():
        raise ParameterError("WebTraffic is generated, not downloaded: load_dataset('WebTraffic') is all it takes.")
    return known.name if known is not None else name


def _download(name: str, folder: Path, work: Path, address: str, sha256: str | None, progress: bool) -> Path:
    target = folder / name
    if _is_whole(name, target):
        return target
    if target.exists() and any(target.iterdir()):
        raise DownloadError(f"{target} exists but is no whole dataset. Move it away, then run it again.")
    archive = work / f"{name}.zip"
    if not archive.exists():
        fetch(address, archive, progress=progress)
    unpacked = work / name
    shutil.rmtree(unpacked, ignore_errors=True)  # left by a process that was killed here
    try:
        _require_digest(archive, sha256)
        unpack(archive, unpacked)
        splits = _unpacked_splits(name, unpacked)
        _require_original(splits)
        with contextlib.suppress(FileNotFoundError):
            target.rmdir()
        splits.train.parent.rename(target)
    except MilletError as error:
        # A damaged file must not be found again by the next run.
        discard(archive)
        raise DownloadError(f"{address} was refused: {error}") from error
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)
    discard(archive)
    return target


def _is_whole(name: str, target: Path) -> bool:
    try:
        return find_splits(name, [target]) is not None
    except DatasetNotFoundError:
        return False


def _require_digest(archive: Path, sha256: str | None) -> None:
    if sha256 is None:
        return
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256.lower():
        raise DownloadError(f"{archive.name} has the SHA-256 {digest}; wanted {sha256.lower()}.")


def _unpacked_splits(name: str, unpacked: Path) -> Splits:
    """Find the splits in the zip's folder, or in a folder inside it."""
    folders = [unpacked, *(child for child in sorted(unpacked.iterdir()) if child.is_dir())]
    splits = find_splits(name, folders)
    if splits is None:
        raise DownloadError(f"it holds no files {name}_TRAIN and {name}_TEST in a format that can be read.")
    return splits


def _require_original(splits: Splits) -> None:
    """Read both files as a user would, and compare them with the catalogue if it has the dataset."""
    train, test = splits.load()
    differences = catalogue.check(train, test) if catalogue.find(splits.name) else ()
    if differences:
        raise DownloadError(f"it is not the archive's original split: {', '.join(differences)}.")

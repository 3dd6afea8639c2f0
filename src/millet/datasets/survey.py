"""Survey: what is here, what the archive has, and whether the two agree.

In:  folders through `locate`, facts from `catalogue`.
Out: one `Row` per dataset, read by the command line and by scripts that check a whole archive.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from millet.datasets.catalogue import PAPER_DATASETS, WEB_TRAFFIC, Entry, check, entries, find, span
from millet.datasets.dataset import Dataset
from millet.datasets.locate import Splits, load_dataset
from millet.errors import MilletError


@dataclass(frozen=True)
class Row:
    """One dataset: what is known about it, and what reading it showed.

    Attributes
    ----------
    name : str
        The dataset's name.
    n_train, n_test, n_classes, n_channels : int or None
        Sizes as read, else as the archive states them, else None.
    length : str or None
        "150", "7-29" where lengths differ, "varies" where only that is known.
    type : str or None
        The archive's kind of measurement.
    in_paper : bool
        Whether it is one of the paper's 85.
    format : str or None
        The format of its files, "built-in", or None where it is not here.
    original : bool or None
        Whether it was read and is the archive's original split; None where that is not known.
    differences : tuple of str
        How it differs from the original split.
    error : str or None
        Why it could not be read.
    n_missing : int or None
        Missing values in both splits, where it was read.
    """

    name: str
    n_train: int | None = None
    n_test: int | None = None
    n_classes: int | None = None
    n_channels: int | None = None
    length: str | None = None
    type: str | None = None
    in_paper: bool = False
    format: str | None = None
    original: bool | None = None
    differences: tuple[str, ...] = ()
    error: str | None = None
    n_missing: int | None = None

    @property
    def here(self) -> bool:
        """Whether it can be loaded now."""
        return self.format is not None

    @property
    def verdict(self) -> str:
        """One word: "original", "differs", "broken", "unknown", or "-" where it is not here."""
        if self.error is not None:
            return "broken"
        if self.original is None:
            return "unknown" if self.here else "-"
        return "original" if self.original else "differs"


def outline(names: Iterable[str], here: dict[str, Splits]) -> list[Row]:
    """Describe datasets by what the catalogue and the file names tell, without reading a file.

    Parameters
    ----------
    names : iterable of str
        The datasets to describe.
    here : dict of str to Splits
        What is here, as `locate.scan` returns it.

    Examples
    --------
    >>> row, = outline(["GunPoint"], here={})
    >>> row.n_train, row.length, row.in_paper, row.here
    (50, '150', True, False)
    """
    return [_outline(name, files_of(name, here)) for name in names]


def files_of(name: str, here: dict[str, Splits]) -> Splits | None:
    """Return the files of a dataset, spelled exactly or in other upper and lower case, or None.

    Examples
    --------
    >>> files_of("GunPoint", here={}) is None
    True
    """
    if name in here:
        return here[name]
    return next((splits for other, splits in here.items() if other.casefold() == name.casefold()), None)


def _outline(name: str, splits: Splits | None) -> Row:
    built_in = "built-in" if name == WEB_TRAFFIC.name else None
    form = splits.format if splits is not None else built_in
    entry = WEB_TRAFFIC if name == WEB_TRAFFIC.name else find(name)
    if entry is None:
        return Row(name, format=form)
    return Row(
        name=name,
        n_train=entry.n_train,
        n_test=entry.n_test,
        n_classes=entry.n_classes,
        n_channels=1,
        length="varies" if entry.length is None else f"{entry.length}",
        type=entry.type,
        in_paper=entry.in_paper,
        format=form,
    )


def examine(row: Row, splits: Splits | None) -> Row:
    """Describe a dataset by actually reading it.

    Parameters
    ----------
    row : Row
        Its outline.
    splits : Splits or None
        Its files; None where it is generated.

    Returns
    -------
    Row
        The sizes as read; if a file can't be read, the outline and the error.
    """
    try:
        train, test = splits.load() if splits is not None else load_dataset(row.name)
    except MilletError as error:
        return replace(row, error=str(error))
    known = row.n_train is not None
    differences = check(train, test) if known else ()
    return replace(
        row,
        n_train=len(train),
        n_test=len(test),
        n_classes=len(train.classes),
        n_channels=train.n_channels,
        length=span(train, test),
        original=not differences if known else None,
        differences=differences,
        n_missing=_count_missing(train) + _count_missing(test),
    )


def _count_missing(split: Dataset) -> int:
    return sum(int(np.isnan(case).sum()) for case in split.X)


def coverage(here: Iterable[str]) -> tuple[list[Entry], list[Entry]]:
    """Split the UCR archive into what is here and what is missing.

    Examples
    --------
    >>> have, missing = coverage(["gunpoint", "Coffee", "BasicMotions"])
    >>> [entry.name for entry in have], len(missing)
    (['Coffee', 'GunPoint'], 126)
    """
    folded = {name.casefold() for name in here}
    have = [entry for entry in entries().values() if entry.name.casefold() in folded]
    return have, [entry for entry in entries().values() if entry not in have]


def summarise(here: Iterable[str], n_shown: int = 5) -> str:
    """Say in one sentence how much of the archive is here.

    Examples
    --------
    >>> summarise(["GunPoint", *PAPER_DATASETS[3:]], n_shown=2)
    "You have 82 of the 128 UCR datasets, 82 of the paper's 85; missing of these: Adiac, ArrowHead and 1 more."
    """
    have, missing = coverage(here)
    n_paper = sum(entry.in_paper for entry in have)
    counts = f"You have {len(have)} of the {len(entries())} UCR datasets, {n_paper} of the paper's "
    absent = [entry.name for entry in missing if entry.in_paper]
    if not absent:
        return f"{counts}{len(PAPER_DATASETS)}."
    shown = ", ".join(absent[:n_shown])
    rest = f" and {len(absent) - n_shown} more" if len(absent) > n_shown else ""
    return f"{counts}{len(PAPER_DATASETS)}; missing of these: {shown}{rest}."

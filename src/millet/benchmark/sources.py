"""Sources: the datasets that an experiment names, or generates, and how large they are.

In:  names of the archives, "paper85", or arguments of the WebTraffic generator.
Out: `DataSpec`, which a worker turns into two splits.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from millet.benchmark.tomltable import Table, refuse_duplicates
from millet.datasets import Dataset, list_datasets, load_dataset, make_web_traffic
from millet.datasets.catalogue import MULTIVARIATE_DATASETS, PAPER_DATASETS, WEB_TRAFFIC, entries, find
from millet.datasets.locate import find_splits, plain_name, search_folders
from millet.datasets.web_traffic import N_CASES_PER_CLASS, make_web_traffic_splits
from millet.errors import ParameterError, UnknownNameError, did_you_mean

ALL_OF_PAPER = "paper85"
LONGEST_NAME, MOST_BYTES = 100, 250  # folders are named after datasets, and file systems count bytes
GENERATOR_KEYS = ("n_cases_per_class", "classes", "n_timepoints", "sampling_interval", "random_state")


class Size(NamedTuple):
    """How large a dataset is."""

    n_train: int
    n_test: int
    n_timepoints: int
    n_classes: int


@dataclass(frozen=True)
class DataSpec:
    """A dataset of an experiment.

    Attributes
    ----------
    name : str
    generator : dict, optional
        Arguments of `millet.make_web_traffic`; None where the dataset is loaded by its name.
    """

    name: str
    generator: dict[str, Any] | None = field(default=None)

    def load(self, path: Path | None) -> tuple[Dataset, Dataset]:
        """Return the two splits."""
        if self.generator is None:
            return load_dataset(self.name, path)
        train, test = make_web_traffic_splits(**self.generator)
        return replace(train, name=self.name), replace(test, name=self.name)

    def size(self, path: Path | None) -> Size | None:
        """Return how large it is: as stated, or as the archive states, else by loading it; None where that fails."""
        if self.generator is not None:
            return _generated_size(**self.generator)
        entry = WEB_TRAFFIC if self.name == WEB_TRAFFIC.name else find(self.name)
        if entry is not None and entry.length is not None:
            return Size(entry.n_train, entry.n_test, entry.length, entry.n_classes)
        try:
            train, test = self.load(path)
        except Exception:
            # Its cells will say what is wrong with it; a plan goes on without it.
            return None
        longest = int(max(train.lengths.max(), test.lengths.max()))
        return Size(len(train), len(test), longest, len(train.classes))

    def to_dict(self) -> dict[str, Any]:
        """Return it in a form that JSON can hold."""
        return {"name": self.name} if self.generator is None else {"name": self.name, "generator": self.generator}


def parse_datasets(items: list[Any], path: Path | None) -> tuple[DataSpec, ...]:
    """Return the datasets of an experiment, checked.

    Parameters
    ----------
    items : list
        Names, "paper85" for all of the paper's, or tables: a `name` and arguments of `millet.make_web_traffic`.
    path : Path, optional
        Folder with datasets, whose names are known too.

    Examples
    --------
    >>> [data.name for data in parse_datasets(["Coffee", {"name": "Tiny", "n_cases_per_class": 2}], None)]
    ['Coffee', 'Tiny']
    """
    specs: list[DataSpec] = []
    for item in items:
        if item == ALL_OF_PAPER:
            specs += [DataSpec(name) for name in PAPER_DATASETS]
        elif isinstance(item, str):
            specs.append(DataSpec(_known_name(item, path)))
        else:
            specs.append(_generated(item))
    refuse_duplicates("datasets", [spec.name for spec in specs])
    return tuple(specs)


def _known_name(name: str, path: Path | None) -> str:
    found = find(plain_name(name))
    if found is not None:
        return found.name
    here = frozenset(list_datasets(path))
    if name not in here and name not in (*MULTIVARIATE_DATASETS, WEB_TRAFFIC.name):
        find_splits(name, search_folders(path))  # says so where only one of the splits is there
        hint = did_you_mean(name, here) or did_you_mean(
            name, [*entries(), *MULTIVARIATE_DATASETS, WEB_TRAFFIC.name, ALL_OF_PAPER]
        )
        where = "the cache" if path is None else str(path)
        own = ", ".join(sorted(here - {*entries(), *MULTIVARIATE_DATASETS, WEB_TRAFFIC.name}))
        known = f"{own} in {where}, {ALL_OF_PAPER}" if own else ALL_OF_PAPER
        raise UnknownNameError(
            f"Unknown dataset {name!r}; known: {known}, {WEB_TRAFFIC.name} and the names of the UCR and UEA "
            f"archives, which `millet datasets` lists.{hint}"
        )
    return name


def _generated_size(n_cases_per_class: int = N_CASES_PER_CLASS, **arguments: Any) -> Size:
    one_of_each = make_web_traffic(1, **arguments)
    n_cases = n_cases_per_class * len(one_of_each)
    return Size(n_cases, n_cases, one_of_each.X.shape[2], len(one_of_each.classes))


def _generated(item: Any) -> DataSpec:
    table = Table("a table of datasets", item)
    name = plain_name(table.text("name"))
    if find(name) is not None or name in (WEB_TRAFFIC.name, ALL_OF_PAPER):
        raise ParameterError(
            f"A generated dataset can't be called {name!r}, which stands for the published one; choose another name."
        )
    arguments = {key: table.take(key, None) for key in GENERATOR_KEYS if key in table}
    table.optional_integer("n_cases_per_class", at_least=1)
    table.optional_integer("random_state", at_least=0)
    table.finish()
    # Generate the smallest such dataset now: half a second that may save a grid of cells that all fail.
    smallest = make_web_traffic(**{**arguments, "n_cases_per_class": 1})
    if len(smallest) < 2:
        raise ParameterError(f"The generated dataset {name!r} has one class; a classifier needs at least two.")
    if len(name) > LONGEST_NAME or len(name.encode()) > MOST_BYTES:
        raise ParameterError(
            f"The name of a generated dataset may have {LONGEST_NAME} letters and {MOST_BYTES} bytes; "
            f"{name[:20]!r}… has {len(name)} and {len(name.encode())}."
        )
    return DataSpec(name, arguments)

"""Datasets: series that are already here, in files of the common formats or drawn by a generator.

In:  names, files and folders.
Out: `Dataset` pairs, read by everything above.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "Dataset": "millet.datasets.dataset",
    "list_datasets": "millet.datasets.locate",
    "load_dataset": "millet.datasets.locate",
    "load_file": "millet.datasets.files",
    "make_web_traffic": "millet.datasets.web_traffic",
}

__all__ = ["Dataset", "list_datasets", "load_dataset", "load_file", "make_web_traffic"]

if TYPE_CHECKING:
    from millet.datasets.dataset import Dataset
    from millet.datasets.files import load_file
    from millet.datasets.locate import list_datasets, load_dataset
    from millet.datasets.web_traffic import make_web_traffic


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'millet.datasets' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

"""Published: per-dataset results of others, from files that the user has.

In:  a folder with ``authors/<UCR|WebTraffic>/<Backbone>/test_<metric>.csv``, and ``train_loss.csv`` (columns
     ``<Pooling><Backbone> <run>`` and ``<Pooling><Backbone>Ensemble 0``); and
     ``bakeoff/bakeoff_redux_85_<metric>_split0.csv``.
Out: `Published`, which answers None for what it lacks and remembers which files were missing.
"""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from millet.datasets.catalogue import WEB_TRAFFIC
from millet.errors import DatasetFormatError, DatasetNotFoundError
from millet.report.names import BACKBONES, METRICS, POOLINGS, STATE_OF_THE_ART

# dataset -> column -> result
Results = dict[str, dict[str, float]]


@final
class Published:
    """Results of the paper's authors and of the bake-off, one number for each dataset.

    Parameters
    ----------
    folder : Path or None
        Where the files are; None for none at all.

    Attributes
    ----------
    missing : list of str
        The files that were asked for and are not there, relative to the folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        if folder is not None and not folder.is_dir():
            raise DatasetNotFoundError(
                f"No folder {folder} with published results. Leave out --published, or mend it."
            )
        self.folder = folder
        self.missing: list[str] = []
        self._read: dict[str, Results] = {}

    def runs(self, dataset: str, model: str, metric: str) -> NDArray[np.float64]:
        """Return the results of the authors' single runs, of shape (n_runs,); empty where there are none."""
        stem, line = self._authors(dataset, model, metric)
        runs = [line[name] for name in line if re.fullmatch(rf"{re.escape(stem)} \d+", name)]
        return np.array([value for value in runs if math.isfinite(value)], dtype=np.float64)

    def ensemble(self, dataset: str, model: str, metric: str) -> float | None:
        """Return the result of the ensemble of the authors' runs, or None."""
        stem, line = self._authors(dataset, model, metric)
        value = line.get(f"{stem}Ensemble 0", math.nan)
        return value if math.isfinite(value) else None

    def other(self, dataset: str, classifier: str, metric: str) -> float | None:
        """Return the bake-off's result for a classifier, under the paper's name for it, or None."""
        bakeoff = METRICS[metric].bakeoff
        if not bakeoff:
            return None
        line = self._file(f"bakeoff/bakeoff_redux_85_{bakeoff}_split0.csv", "").get(dataset, {})
        value = line.get(STATE_OF_THE_ART.get(classifier, classifier), math.nan)
        return value if math.isfinite(value) else None

    def _authors(self, dataset: str, model: str, metric: str) -> tuple[str, dict[str, float]]:
        pooling, _, backbone = model.partition("-")
        split, authors = METRICS[metric].split, METRICS[metric].authors
        if not authors or pooling not in POOLINGS or backbone not in BACKBONES:
            return "", {}
        kind = "WebTraffic" if dataset == WEB_TRAFFIC.name else "UCR"
        if metric == "ndcg_at_n" and kind == "UCR":
            return "", {}  # nobody knows which timepoints are relevant there
        results = self._file(f"authors/{kind}/{BACKBONES[backbone]}/{split}_{authors}.csv", BACKBONES[backbone])
        return f"{POOLINGS[pooling]}{BACKBONES[backbone]}", results.get(dataset, {})

    def _file(self, name: str, backbone: str) -> Results:
        """Return the results in a file: of the authors' models with a backbone or, without one, of the bake-off."""
        if self.folder is None:
            return {}
        if name not in self._read:
            path = self.folder / name
            self._read[name] = read_results(path) if path.is_file() else {}
            if path.is_file():
                _refuse_strange_columns(path, self._read[name], backbone)
            else:
                self.missing.append(name)
        return self._read[name]


def _refuse_strange_columns(path: Path, results: Results, backbone: str) -> None:
    """Refuse a file without any of the columns that are looked for: its results would be missing without a word."""
    if not results:
        raise DatasetFormatError(path, "expected a line for each dataset below the header.")
    columns = next(iter(results.values()))
    known = {f"{pooling}{backbone}" for pooling in POOLINGS.values()} if backbone else set(STATE_OF_THE_ART.values())
    if not any(re.sub(r"(Ensemble)? \d+$", "", name) in known for name in columns):
        wanted = f"<Pooling>{backbone} <run>, such as GAP{backbone} 0" if backbone else ", ".join(sorted(known))
        raise DatasetFormatError(path, f"expected columns {wanted}; got {', '.join(list(columns)[:5])}.", 1)


def read_results(path: Path) -> Results:
    r"""Read a table of results: one line per dataset, one column per classifier.

    Parameters
    ----------
    path : Path
        A CSV file with a header; the first column names the dataset. An empty cell stands for no result.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "accuracy.csv"
    >>> _ = path.write_text("dataset,PF,HC2\nBeef,0.7,0.8\n")
    >>> read_results(path)
    {'Beef': {'PF': 0.7, 'HC2': 0.8}}
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DatasetFormatError(path, f"expected text in UTF-8; {error.reason} at byte {error.start}.") from None
    with io.StringIO(text, newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            lines = [(reader.line_num, [cell.strip() for cell in line]) for line in reader if line]
        except csv.Error as error:
            raise DatasetFormatError(path, f"is no CSV: {error}.", reader.line_num) from None
    header = lines[0][1] if lines else []
    if len(header) < 2:
        raise DatasetFormatError(path, "expected a header: the dataset, then one column for each classifier.", 1)
    if len(set(header)) < len(header):
        raise DatasetFormatError(path, "a column is there twice.", 1)
    results: Results = {}
    for number, line in lines[1:]:
        if len(line) != len(header):
            raise DatasetFormatError(path, f"expected {len(header)} cells as in the header; got {len(line)}.", number)
        if line[0] in results:
            raise DatasetFormatError(path, f"the dataset {line[0]} was there before.", number)
        results[line[0]] = {
            column: _number(cell, path, number) for column, cell in zip(header[1:], line[1:], strict=True)
        }
    return results


def _number(cell: str, path: Path, line: int) -> float:
    if not cell:
        return math.nan
    try:
        return float(cell)
    except ValueError:
        raise DatasetFormatError(path, f"expected a number; got {cell!r}.", line) from None

"""Examples: test cases that a benchmark keeps, so that explanations of them can be shown side by side.

In:  an `Explanation` of some test cases and their perturbation curves; later the rows and the run folder.
Out: what rows say about these cases; files ``examples/<dataset>/<model>/<method>.npz`` with the evidence, but without
     series, which are in the dataset. Read by `millet.report.comparison`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.explanation import Explanation
from millet.metrics import FRACTIONS, Faithfulness, aopc
from millet.report.evidence import slimmed
from millet.report.rows import Row

FOLDER = KEY = "examples"  # in the run folder, in rows, and in experiment files


def choose_examples(y: ArrayLike, n_each: int) -> NDArray[np.intp]:
    """Return the first cases of each class.

    Examples
    --------
    >>> choose_examples(["b", "a", "b", "b", "a", "a"], 2)
    array([0, 1, 2, 4])
    """
    labels = np.asarray(y)
    return np.sort(np.concatenate([np.flatnonzero(labels == label)[:n_each] for label in np.unique(labels)]))


@dataclasses.dataclass(frozen=True)
class Example:
    """What a row says about one test case.

    Attributes
    ----------
    case : int
        Its number in the test split.
    label, predicted : str
        The true class, and what the model took it for.
    curve, random_curve : sequence of float
        Change of the predicted class's logit as timepoints are removed, in the explanation's and in random orders.
    """

    case: int
    label: str
    predicted: str
    curve: Sequence[float]
    random_curve: Sequence[float]

    @property
    def aopcr(self) -> float:
        """The area between the two curves."""
        return float(aopc(self.curve) - aopc(self.random_curve))


def describe_examples(explanation: Explanation, y: ArrayLike, found: Faithfulness) -> list[dict[str, Any]]:
    """Return what a row says about some cases, in a form that JSON can hold.

    Parameters
    ----------
    explanation : Explanation
        Of the cases; its `cases` are their numbers in the test split.
    y : array-like of shape (n_cases,)
        Their labels.
    found : Faithfulness
        Their perturbation curves.
    """
    parts = zip(
        explanation.cases.tolist(),
        map(str, np.asarray(y).tolist()),
        map(str, explanation.predicted.tolist()),
        found.curve.tolist(),
        found.random_curves.mean(axis=0).tolist(),
        strict=True,
    )
    return [dataclasses.asdict(Example(*part)) for part in parts]


def keep_examples(folder: Path, dataset: str, model: str, method: str, explanation: Explanation) -> Path:
    """Keep the evidence of some test cases beside the rows, for pictures.

    Parameters
    ----------
    folder : Path
        The run folder.
    dataset, model, method : str
        Whose explanation it is.
    explanation : Explanation
        Of the cases; its `cases` are their numbers in the test split. The series are left out.
    """
    path = examples_file(folder, dataset, model, method)
    path.parent.mkdir(parents=True, exist_ok=True)
    no_series = np.full(explanation.series.shape, np.nan, dtype=np.float32)
    slimmed(explanation, series=no_series, scores=explanation.scores.astype(np.float32)).save(path)
    return path


def examples_file(folder: Path, dataset: str, model: str, method: str) -> Path:
    """Return where the evidence of a method is kept."""
    return folder / FOLDER / dataset / model / f"{method}.npz"


def examples_of(row: Row) -> dict[int, Example]:
    """Return the cases that a row describes; none where the description makes no sense."""
    listed = row.content.get(KEY)
    try:
        found = [Example(**item) for item in listed] if isinstance(listed, list) else []
    except TypeError:
        return {}
    return {one.case: one for one in found} if all(map(_is_sound, found)) else {}


def _is_sound(one: Example) -> bool:
    are_named = isinstance(one.case, int) and isinstance(one.label, str) and isinstance(one.predicted, str)
    return are_named and all(
        isinstance(curve, list)
        and len(curve) == 1 + len(FRACTIONS)
        and all(isinstance(value, int | float) and math.isfinite(value) for value in curve)
        for curve in (one.curve, one.random_curve)
    )

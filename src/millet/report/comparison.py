"""Side by side: CAM, SHAP and the models' own evidence on the same cases, with their perturbation curves (Fig. 7).

In:  while a benchmark runs, an `Explanation` of some test cases; later its `Run`, and the dataset for their series.
Out: files ``examples/<dataset>-<model>-<method>.npz``, without any series, which are the dataset's; one `Section`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.datasets import Dataset, load_dataset
from millet.datasets.web_traffic import make_web_traffic_splits
from millet.errors import MilletError
from millet.explanation import Explanation
from millet.metrics import aopc
from millet.plots import plot_comparison
from millet.plots.figures import figure_or_new
from millet.report.evidence import readable
from millet.report.layout import Picture, Section, Table, mean, shown
from millet.report.names import model_title
from millet.report.published import Published
from millet.report.rows import OWN, Row, Run

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

TITLE = "Side by side"
FOLDER = "examples"
CURVE, RANDOM_CURVE = "example_curves", "example_random_curves"  # in rows, by the number of the case
TITLES = {"cam": "CAM", "shap": "SHAP", OWN: "MILLET"}  # in the paper's order; other methods come before the last
WIDTH, HEIGHT = 11.0, 2.9
NOTHING = (
    "No cases were kept to be shown side by side: an experiment keeps them where it says how many of each class, "
    "such as `examples = 2`."
)


def choose_examples(y: ArrayLike, n_each: int) -> NDArray[np.intp]:
    """Return the first cases of each class.

    Examples
    --------
    >>> choose_examples(["b", "a", "b", "b", "a", "a"], 2)
    array([0, 1, 2, 4])
    """
    labels = np.asarray(y)
    return np.sort(np.concatenate([np.flatnonzero(labels == label)[:n_each] for label in np.unique(labels)]))


def keep_examples(folder: Path, dataset: str, model: str, method: str, explanation: Explanation) -> Path:
    """Keep what a method says of some test cases beside the rows, for pictures.

    Parameters
    ----------
    folder : Path
        The run folder.
    dataset, model, method : str
        Whose explanation it is.
    explanation : Explanation
        Of the cases; its `cases` are their numbers in the test split. The series are left out.
    """
    path = _file(folder, dataset, model, method)
    path.parent.mkdir(parents=True, exist_ok=True)
    dataclasses.replace(
        explanation,
        series=np.full_like(explanation.series, np.nan),
        attention=None,
        contributions=None,
        bias=None,
        channel_contributions=None,
        members=(),
    ).save(path)
    return path


def _file(folder: Path, dataset: str, model: str, method: str) -> Path:
    return folder / FOLDER / f"{dataset}-{model}-{method}.npz"


@dataclasses.dataclass(frozen=True)
class Explainer:
    """A model and a method, and what they say of the cases that are kept.

    Attributes
    ----------
    row : Row
        What was measured of it.
    name : str
        The method's, and the model's where the method explains several.
    explanation : Explanation
        Of the cases that are kept; the series are not.
    """

    row: Row
    name: str
    explanation: Explanation

    def place(self, case: int) -> int:
        """Return the place of a case of the test split among those that are kept."""
        return int(np.flatnonzero(self.explanation.cases == case)[0])

    def curve(self, case: int, key: str = CURVE) -> list[float]:
        """Return the change of the logit as timepoints go."""
        found: list[float] = self.row.content[key][str(case)]
        return found

    def aopcr(self, case: int) -> float:
        """Return the area between the random curves and the explanation's."""
        return float(aopc(self.curve(case)) - aopc(self.curve(case, RANDOM_CURVE)))


def explainers_of(run: Run, dataset: str) -> list[Explainer]:
    """Return all explanations of a dataset's kept cases, in the paper's order: CAM, SHAP, others, MILLET."""
    found = []
    for row in run.done:
        if row.dataset == dataset and not row.ensemble and _has_curves(row):
            explanation = _readable_cases(run.folder, row)
            if explanation is not None:
                found.append((row, explanation))
    with_cam = {row.model for row, _ in found if row.method == "cam"}
    # What a model with GAP says of itself is its class activations.
    found = [(row, kept) for row, kept in found if row.method != OWN or row.model not in with_cam]
    methods = [row.method for row, _ in found]
    ranks = {method: rank for rank, method in enumerate(("cam", "shap", "", OWN))}
    named = [
        Explainer(row, _title(row) if methods.count(row.method) == 1 else _full_title(row), kept)
        for row, kept in found
    ]
    return sorted(named, key=lambda one: ranks.get(one.row.method, ranks[""]))


def _has_curves(row: Row) -> bool:
    curves, random = (row.content.get(key) for key in (CURVE, RANDOM_CURVE))
    return isinstance(curves, dict) and isinstance(random, dict) and curves.keys() == random.keys()


def _readable_cases(folder: Path, row: Row) -> Explanation | None:
    """Return what is kept beside a row, or None where the file is gone, damaged, or of other cases."""
    path = _file(folder, row.dataset, row.model, row.method)
    kept = readable(path) if path.is_file() else None
    return kept if kept is not None and {str(case) for case in kept.cases} == set(row.content[CURVE]) else None


def _title(row: Row) -> str:
    return TITLES.get(row.method, row.method)


def _full_title(row: Row) -> str:
    return f"{_title(row)} of {model_title(row.model)}"


def comparison_section(run: Run, published: Published, path: str | os.PathLike[str] | None = None) -> Section:
    """Return the explanations of the same cases, dataset by dataset; `path` leads to the series."""
    tables, pictures, notes = [], [], []
    for dataset in run.datasets:
        explainers = explainers_of(run, dataset)
        if not explainers:
            continue
        test = _test_split(run, dataset, path, explainers)
        cases = _shown_cases(explainers, test)
        tables.append(_table(run, dataset, explainers, cases))
        if test is None:
            notes.append(f"No picture of {dataset}: its series are not at hand, or not those that were explained.")
        else:
            pictures.append(_picture(dataset, explainers, cases, test))
    return Section(TITLE, tuple(tables), tuple(pictures), tuple(notes) if tables else (NOTHING,))


def _test_split(
    run: Run, name: str, path: str | os.PathLike[str] | None, explainers: Sequence[Explainer]
) -> Dataset | None:
    """Return the test split, generated where the experiment says so; None where it is not at hand or another one."""
    listed = run.experiment.get("datasets")
    specs = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    generator = next((item.get("generator") for item in specs if item.get("name") == name), None)
    try:
        _, test = make_web_traffic_splits(**generator) if generator else load_dataset(name, path)
    except (MilletError, TypeError):
        return None
    return test if all(_fits(one.explanation, test) for one in explainers) else None


def _fits(kept: Explanation, test: Dataset) -> bool:
    """Return whether the cases that are kept may be those of a test split."""
    if kept.cases.max(initial=0) >= len(test) or (test.y is not None and not set(test.y) <= set(kept.classes)):
        return False
    shapes = [np.shape(test.X[case]) for case in kept.cases]
    return all(
        shape[0] == kept.n_channels and shape[1] >= length for shape, length in zip(shapes, kept.lengths, strict=True)
    )


def _shown_cases(explainers: Sequence[Explainer], test: Dataset | None) -> list[int]:
    """Return of each class the first case that all models got right, else the first; all cases without labels."""
    common = set.intersection(*({int(case) for case in one.explanation.cases} for one in explainers))
    cases = sorted(common)
    if test is None or test.y is None:
        return cases
    chosen = []
    for label in np.unique(test.y[cases]):
        of_class = [case for case in cases if test.y[case] == label]
        right = [case for case in of_class if all(_predicted(one, case) == label for one in explainers)]
        chosen.append((right or of_class)[0])
    return chosen


def _predicted(one: Explainer, case: int) -> Any:
    return one.explanation.predicted[one.place(case)]


def _table(run: Run, dataset: str, explainers: Sequence[Explainer], cases: Sequence[int]) -> Table:
    rows = []
    for one in explainers:
        numbers = [one.row.number(metric) for metric in ("aopcr", "gini")]
        of_shown = mean([one.aopcr(case) for case in cases])
        n_cases = one.row.number("n_cases")
        rows.append(
            (
                one.name,
                model_title(one.row.model),
                shown(n_cases, 0),
                shown(numbers[0]),
                shown(of_shown),
                shown(numbers[1]),
            )
        )
    header = ("explanation", "model", "test cases", "AOPCR", "AOPCR of those shown", "Gini")
    n_classes = len(explainers[0].explanation.classes)
    notes = (
        f"Shown: cases {', '.join(map(str, cases))}. Gini: from 0, where all timepoints have the same share of the "
        "evidence, to 1, where one has all of it.",
    )
    covered = f"{min(len(cases), n_classes)} of {n_classes} classes"
    return Table(f"{dataset}: explanations side by side", "Fig. 7", covered, header, tuple(rows), notes)


def _picture(dataset: str, explainers: Sequence[Explainer], cases: Sequence[int], test: Dataset) -> Picture:
    whose = "; ".join(f"{one.name}: {model_title(one.row.model)}" for one in explainers)
    caption = (
        f"{dataset}, cases {', '.join(map(str, cases))}. Left: the series. Middle: the series over the evidence for "
        "the predicted class, green for and red against, by each explanation. Right: what becomes of the logit as "
        f"the timepoints that each calls most relevant are taken away. {whose}."
    )
    return Picture(f"side_by_side_{dataset}", caption, lambda: _draw(explainers, cases, test))


def _draw(explainers: Sequence[Explainer], cases: Sequence[int], test: Dataset) -> FigureBase:
    with figure_or_new(None, WIDTH, HEIGHT * len(cases)) as canvas:
        for part, case in zip(canvas.subfigures(len(cases), 1, squeeze=False).flat, cases, strict=True):
            plot_comparison(
                {one.name: _with_series(one, case, test) for one in explainers},
                {one.name: one.curve(case) for one in explainers},
                label=None if test.y is None else test.y[case],
                figure=part,
            )
    return canvas


def _with_series(one: Explainer, case: int, test: Dataset) -> Explanation:
    kept = one.explanation[one.place(case)]
    length = int(kept.lengths[0])
    series = np.full(kept.series.shape, np.nan, dtype=np.float64)
    series[0, :, :length] = test.X[case][:, :length]
    names = dict(zip(test.classes.tolist(), test.class_names, strict=True))
    return dataclasses.replace(
        kept, series=series, class_names=tuple(names.get(label, str(label)) for label in kept.classes.tolist())
    )

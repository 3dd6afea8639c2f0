"""Side by side: CAM, SHAP and the models' own evidence on the same cases, with their perturbation curves (Fig. 7).

In:  `Run`, whose rows describe examples; the evidence that is kept beside them, and the dataset for their series.
Out: one `Section`. Tables follow from rows alone, pictures need the files and the dataset.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from millet.contract import split_fingerprint
from millet.datasets import Dataset, load_dataset
from millet.datasets.web_traffic import make_web_traffic_splits
from millet.explanation import Explanation
from millet.plots import plot_comparison
from millet.plots.comparison import height_of
from millet.plots.figures import figure_or_new
from millet.report.evidence import readable
from millet.report.examples import Example, examples_file, examples_of
from millet.report.layout import Picture, Section, Table, mean, shown
from millet.report.names import MILLET_POOLINGS, OWN, has_networks, model_title
from millet.report.published import Published
from millet.report.rows import Row, Run
from millet.report.ucr import are_of_the_paper
from millet.report.webtraffic import GINI_NOTE

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

TITLE = "Side by side"
CAM, SHAP, MILLET = "CAM", "SHAP", "MILLET"
WIDTH, MOST_HEIGHT = 11.0, 24.0  # in inches
NOTHING = (
    "No cases were kept to be shown side by side: an experiment keeps them if it says how many of each class, "
    "such as `examples = 2`."
)
SCALE_NOTE = "AOPCR grows with the scale of a model's logits: compare it between explanations of one model."


@dataclasses.dataclass(frozen=True, eq=False)
class Explainer:
    """A model and a method.

    Attributes
    ----------
    row : Row
        What was measured for it.
    name : str
        The method's name, and the model's where the method explains several.
    examples : mapping of int to Example
        By the number of the case.
    """

    row: Row
    name: str
    examples: Mapping[int, Example]

    def load(self, folder: Path) -> Explanation | None:
        """Return the evidence for the cases, or None where the file is gone, damaged, or about other cases."""
        path = examples_file(folder, self.row.dataset, self.row.model, self.row.method)
        kept = readable(path) if path.is_file() else None
        return kept if kept is not None and kept.cases.tolist() == list(self.examples) else None


def explainers_of(run: Run, dataset: str) -> list[Explainer]:
    """Return all explanations of a dataset's kept cases, in the paper's order: CAM, SHAP, others, MILLET."""
    found = [(row, examples) for row in run.done if row.dataset == dataset and (examples := examples_of(row))]
    with_cam = {row.model for row, _ in found if row.method == "cam"}
    # The own explanation of a model with GAP is its class activations.
    found = [(row, examples) for row, examples in found if row.method != OWN or row.model not in with_cam]
    titles = [_title(row) for row, _ in found]
    named = [
        Explainer(row, title if titles.count(title) == 1 else f"{title} of {model_title(row.model)}", examples)
        for title, (row, examples) in zip(titles, found, strict=True)
    ]
    ranks = {CAM: 0, SHAP: 1, MILLET: 3}
    return sorted(named, key=lambda one: ranks.get(_title(one.row), 2))


def _title(row: Row) -> str:
    if row.method == "cam":
        return CAM
    if row.method == "shap":
        return SHAP
    if row.method != OWN:
        return row.method
    if not has_networks(str(row.content.get("backbone") or row.model)):
        return model_title(row.model)  # the paper's methods are for networks
    pooling = row.content.get("pooling")
    return CAM if pooling == "gap" else MILLET if pooling in MILLET_POOLINGS else model_title(row.model)


def comparison_section(run: Run, published: Published, path: str | os.PathLike[str] | None = None) -> Section:
    """Return the explanations of the same cases, dataset by dataset; `path` leads to the series."""
    tables: list[Table] = []
    pictures: list[Picture] = []
    notes: list[str] = []
    for dataset in run.datasets:
        explainers = explainers_of(run, dataset)
        cases = _shown_cases(explainers)
        if not cases:
            continue
        tables.append(_table(run, dataset, explainers, cases))
        seen = {one: kept for one in explainers if (kept := one.load(run.folder)) is not None}
        test = _test_split(run, dataset, path, explainers[0].row.content.get("test_fingerprint"))
        if test is None or not seen:
            what = "its series" if test is None else "the evidence of these cases"
            notes.append(f"No picture of {dataset}: {what} can't be read, or differs from what was measured.")
        else:
            pictures.append(_picture(len(pictures), dataset, seen, cases, test))
    return Section(TITLE, tuple(tables), tuple(pictures), tuple(notes) if tables else (NOTHING,))


def _test_split(run: Run, name: str, path: str | os.PathLike[str] | None, fingerprint: Any) -> Dataset | None:
    """Return the test split, generated where the experiment says so; None where it is not at hand, or differs."""
    listed = run.experiment.get("datasets")
    specs = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    generator = next((item.get("generator") for item in specs if item.get("name") == name), None)
    try:
        _, test = make_web_traffic_splits(**generator) if generator else load_dataset(name, path)
    except (ValueError, TypeError, OSError):  # whatever a damaged description or file causes
        return None
    return test if test.y is not None and split_fingerprint(test.X, test.y) == fingerprint else None


def _shown_cases(explainers: Sequence[Explainer]) -> list[int]:
    """Return for each class the first case that all models got right, else the first; as many as a picture holds."""
    if not explainers:
        return []
    common = set.intersection(*(set(one.examples) for one in explainers))
    by_label: dict[str, list[int]] = {}
    for case in sorted(common):
        by_label.setdefault(explainers[0].examples[case].label, []).append(case)
    chosen = []
    for label, cases in list(by_label.items())[: max(1, int(MOST_HEIGHT / height_of(len(explainers))))]:
        right = [case for case in cases if all(one.examples[case].predicted == label for one in explainers)]
        chosen.append((right or cases)[0])
    return chosen


def _table(run: Run, dataset: str, explainers: Sequence[Explainer], cases: Sequence[int]) -> Table:
    rows = tuple(
        (
            one.name,
            model_title(one.row.model),
            shown(one.row.number("n_cases"), 0),
            shown(one.row.number("aopcr")),
            shown(own if is_same else None),
            shown(mean([one.examples[case].aopcr for case in cases])),
            shown(one.row.number("gini")),
        )
        for one in explainers
        for own, is_same in [run.own_beside(one.row, "aopcr")]
    )
    header = ("explanation", "model", "test cases", "AOPCR", "the model's own", "AOPCR of those shown", "Gini")
    n_kept = len({one.label for one in explainers[0].examples.values()})
    first = f", of the first {len(cases)} of {n_kept} classes, since more would make the picture too tall"
    which = ", ".join(map(str, cases)) + (first if n_kept > len(cases) else "")
    notes = (
        f"Shown: cases {which}. The model's own: the AOPCR of the model's own evidence on the same test cases. "
        f"{GINI_NOTE}",
        SCALE_NOTE,
    )
    n_classes = explainers[0].row.number("n_classes") or n_kept
    covered = f"{len(cases)} of {n_classes:.0f} classes"
    source = "Fig. 7" if are_of_the_paper([dataset]) else ""
    return Table(f"{dataset}: explanations side by side", source, covered, header, rows, notes)


def _picture(
    number: int, dataset: str, seen: Mapping[Explainer, Explanation], cases: Sequence[int], test: Dataset
) -> Picture:
    whose = "; ".join(f"{one.name}: {model_title(one.row.model)}" for one in seen)
    caption = (
        f"{dataset}, cases {', '.join(map(str, cases))}. Left: the series. Middle: the series over each "
        "explanation's evidence for the predicted class, green for and red against. Right: how the logit changes as "
        f"the timepoints that each calls most relevant are removed. {whose}."
    )
    return Picture(f"side_by_side_{number}", caption, lambda: _draw(seen, cases, test))


def _draw(seen: Mapping[Explainer, Explanation], cases: Sequence[int], test: Dataset) -> FigureBase:
    assert test.y is not None
    with figure_or_new(None, WIDTH, height_of(len(seen)) * len(cases)) as canvas:
        for part, case in zip(canvas.subfigures(len(cases), 1, squeeze=False).flat, cases, strict=True):
            plot_comparison(
                {one.name: _with_series(kept, case, test) for one, kept in seen.items()},
                {one.name: one.examples[case].curve for one in seen},
                label=test.y[case],
                figure=part,
            )
    return canvas


def _with_series(kept: Explanation, case: int, test: Dataset) -> Explanation:
    one = kept[int(np.flatnonzero(kept.cases == case)[0])]
    length = int(one.lengths[0])
    series = np.full(one.series.shape, np.nan)
    series[0, :, :length] = test.X[case][:, :length]
    names = dict(zip(test.classes.tolist(), test.class_names, strict=True))
    return dataclasses.replace(
        one, series=series, class_names=tuple(names.get(label, str(label)) for label in one.classes.tolist())
    )

"""Evidence: cases of WebTraffic with what a model said about them, kept beside its rows (Fig. 3 and 4, App. E.1).

In:  an `Explanation` of the test split; later the run folder, in which some of its cases are kept.
Out: files ``evidence/<dataset>-<case>.npz``, a few dozen kilobytes each, and the pictures of a report.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from millet.datasets.catalogue import WEB_TRAFFIC
from millet.datasets.web_traffic import WebTraffic, load_web_traffic
from millet.errors import MilletError, warn_user
from millet.explanation import Explanation
from millet.metrics import ndcg_at_n
from millet.plots import plot_explanation, plot_false_negative
from millet.plots.figures import figure_or_new
from millet.report.layout import Picture

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

FOLDER = "evidence"
MISSED = "Peak"  # the paper's hardest class
PANELS, SIDE_BY_SIDE = 3, 2
# A mean score that is a smaller fraction of the largest score of the same class is called next to nothing.
FAINT_PART = 0.05


def choose_cases(explanation: Explanation, test: WebTraffic) -> tuple[int, ...]:
    """Return the cases that are worth a picture.

    Parameters
    ----------
    explanation : Explanation
        That of the whole test split.
    test : WebTraffic
        The test split.

    Returns
    -------
    tuple of int
        For each class, the right case that the model is surest of; of the peaks that were missed, those whose region
        was found best, middling and worst.
    """
    predicted, names = explanation.predicted, np.array(test.class_names)[_codes(test)]
    sureness = explanation.probabilities.max(axis=1)
    chosen = []
    for name in test.class_names:
        right = np.flatnonzero((names == name) & (predicted == test.y))
        chosen += [int(right[sureness[right].argmax()])] if right.size else []
    missed = np.flatnonzero((names == MISSED) & (predicted != test.y))
    by_rank = missed[np.argsort(-_found(explanation[missed], test, missed), kind="stable")] if missed.size else missed
    chosen += [int(by_rank[place]) for place in sorted({0, len(by_rank) // 2, len(by_rank) - 1}) if by_rank.size]
    return tuple(chosen)


def save_evidence(folder: Path, explanation: Explanation, test: WebTraffic) -> tuple[Path, ...]:
    """Keep the cases that are worth a picture beside the rows, replacing those that were kept before.

    Parameters
    ----------
    folder : Path
        The run folder.
    explanation : Explanation
        That of the whole test split.
    test : WebTraffic
        The test split.
    """
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    paths = []
    for case in choose_cases(explanation, test):
        paths.append(folder / FOLDER / f"{WEB_TRAFFIC.name}-{case}.npz")
        slimmed(explanation[[case]], class_names=test.class_names).save(paths[-1])
    for stale in set((folder / FOLDER).glob(f"{WEB_TRAFFIC.name}-*.npz")) - set(paths):
        stale.unlink()
    return tuple(paths)


def slimmed(explanation: Explanation, **changes: Any) -> Explanation:
    """Return what pictures need, with some fields changed."""
    return dataclasses.replace(
        explanation, attention=None, contributions=None, bias=None, channel_contributions=None, members=(), **changes
    )


def load_evidence(folder: Path) -> dict[int, Explanation]:
    """Return the cases that are kept in a run folder, by their number in the test split."""
    found = {}
    for path in (folder / FOLDER).glob(f"{WEB_TRAFFIC.name}-*.npz"):
        match = re.fullmatch(rf"{WEB_TRAFFIC.name}-(\d+)", path.stem)
        if match and int(match[1]) < WEB_TRAFFIC.n_test:
            found[int(match[1])] = path
    return {case: kept for case, path in sorted(found.items()) if (kept := readable(path)) is not None}


def readable(path: Path) -> Explanation | None:
    """Return a case, or None where its file is damaged: tables do not depend on pictures."""
    try:
        return Explanation.load(path)
    except MilletError as error:
        warn_user(f"{path} is left out of the report: {error}", RuntimeWarning)
        return None


def evidence_pictures(folder: Path) -> tuple[Picture, ...]:
    """Return pictures of the cases that are kept in a run folder: right ones side by side, missed ones separately."""
    kept = load_evidence(folder)
    if not kept:
        return ()
    _, test = load_web_traffic()
    right = {case: found for case, found in kept.items() if found.predicted[0] == test.y[case]}
    by_class = sorted(right, key=lambda case: int(_codes(test)[case]))
    groups = [by_class[start : start + SIDE_BY_SIDE] for start in range(0, len(by_class), SIDE_BY_SIDE)]
    pictures = [
        _recognised(number, {case: right[case] for case in group}, test) for number, group in enumerate(groups)
    ]
    pictures += [_missed(case, found, test) for case, found in kept.items() if case not in right]
    return tuple(pictures)


def _recognised(number: int, right: dict[int, Explanation], test: WebTraffic) -> Picture:
    listed = " and ".join(f"{test.class_names[_codes(test)[case]]} (case {case})" for case in right)
    caption = (
        f"Recognised: {listed}, the case of each class that the model is surest of. From top to bottom: the series "
        "and its signature, the evidence for its class, both together."
    )
    return Picture(f"evidence_right_{number}", caption, lambda: _plot_right(right, test))


def _plot_right(right: dict[int, Explanation], test: WebTraffic) -> FigureBase:
    with figure_or_new(None, 5.0 * len(right), 4.6) as canvas:
        panels = canvas.subplots(PANELS, len(right), squeeze=False, sharex="col")
        for column, (case, found) in zip(panels.T, right.items(), strict=True):
            plot_explanation(found, relevant=test.relevant[case], label=test.y[case], axes=list(column))
    return canvas


def _missed(case: int, found: Explanation, test: WebTraffic) -> Picture:
    code = int(_codes(test)[case])
    name, taken_for = test.class_names[code], test.class_names[int(found.predicted_codes[0])]
    scores = found.scores[0, code]
    inside = scores[test.relevant[case]]
    caption = (
        f"Case {case}, {name} taken for {taken_for}. Inside the signature the evidence "
        f"{_says(float(inside.mean()), float(np.abs(scores).max()))} {name} (scores for {name} there from "
        f"{inside.min():+z.2f} to {inside.max():+z.2f}, mean {inside.mean():+z.2f}); NDCG@n "
        f"{float(_found(found, test, np.array([case]))[0]):.3f}, by chance {test.relevant[case].mean():.3f}."
    )
    series = test.base[case]

    def draw() -> FigureBase:
        return plot_false_negative(found, 0, series, test.relevant[case], label=test.y[case])

    return Picture(f"evidence_missed_{case}", caption, draw)


def _says(score: float, largest: float) -> str:
    """Return what a mean score says about a class, compared with the largest of its scores, whatever the sign."""
    if abs(score) <= FAINT_PART * largest:
        return "says next to nothing, on the whole, about"
    return "speaks for" if score > 0 else "speaks against"


def _codes(test: WebTraffic) -> NDArray[np.intp]:
    codes: NDArray[np.intp] = np.searchsorted(test.classes, test.y)
    return codes


def _found(explanation: Explanation, test: WebTraffic, cases: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return NDCG@n of the true class's scores."""
    of_true = explanation.scores[np.arange(len(cases)), _codes(test)[cases]]
    return np.asarray(ndcg_at_n(of_true, test.relevant[cases], lengths=explanation.lengths))

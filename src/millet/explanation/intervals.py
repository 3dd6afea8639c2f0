"""Intervals: the few stretches of time that hold most of the evidence.

In:  an `Explanation`, from its `top_intervals`.
Out: `Interval` rows, which `pandas.DataFrame` takes as they are, and a plain-text table of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.checks import integer, number
from millet.errors import ParameterError, lookup
from millet.tables import format_table

if TYPE_CHECKING:
    from millet.explanation.explanation import Explanation

SIGNS = {"support": 1.0, "refute": -1.0}


class Interval(NamedTuple):
    """A stretch of consecutive timepoints and the evidence it holds.

    Attributes
    ----------
    case : int
        The number of the case, as in `Explanation.cases`.
    class_name : str
        The class that the evidence is about.
    start, stop : int
        The timepoints ``start, ..., stop - 1``.
    start_time, end_time : int, float or numpy.datetime64
        The time of the first and of the last timepoint inside.
    share : float
        This stretch's part of all evidence of this kind in the case, between 0 and 1.
    mean_evidence : float
        Mean signed evidence of its timepoints.
    kind : str
        "support" (evidence for the class) or "refute" (against it).
    """

    case: int
    class_name: str
    start: int
    stop: int
    start_time: Any
    end_time: Any
    share: float
    mean_evidence: float
    kind: str


class Span(NamedTuple):
    """``evidence[start:stop]``, its share of the evidence of one sign, and its mean."""

    start: int
    stop: int
    share: float
    mean: float


def find_intervals(
    explanation: Explanation, n: int | None, target: ArrayLike | None, kind: str, coverage: float, max_gap: int
) -> list[Interval]:
    """Return the intervals that `Explanation.top_intervals` promises, case by case."""
    check_request(n, kind, coverage, max_gap)
    evidence = explanation.scores if explanation.contributions is None else explanation.contributions
    intervals = []
    for row, code in enumerate(explanation.class_codes(target).tolist()):
        case = int(explanation.cases[row])
        own = evidence[row, code, : explanation.lengths[row]]
        for span in find_spans(own, kind, coverage, max_gap)[:n]:
            times = _moment(explanation.time, span.start), _moment(explanation.time, span.stop - 1)
            name = explanation.class_names[code]
            intervals.append(Interval(case, name, span.start, span.stop, *times, span.share, span.mean, kind))
    return intervals


def _moment(time: NDArray[Any], timepoint: int) -> Any:
    moment = time[timepoint]
    # datetime64.item() turns nanoseconds into a bare integer.
    return moment if time.dtype.kind == "M" else moment.item()


def check_request(n: int | None, kind: str, coverage: float, max_gap: int) -> None:
    """Refuse a request for intervals that makes no sense."""
    lookup("kind of evidence", kind, SIGNS)
    if n is not None:
        integer("n, unless it is None for all intervals,", n, at_least=1)
    if number("coverage", coverage, above=0) > 1:
        raise ParameterError(f"coverage must be above 0 and at most 1 (0.8 keeps 80 %); got {coverage}.")
    integer("max_gap", max_gap, at_least=0)


def strongest_timepoints(strength: NDArray[np.float64], coverage: float) -> NDArray[np.bool_]:
    """Mark the fewest timepoints that hold this part of the total strength.

    Parameters
    ----------
    strength : ndarray of shape (n_timepoints,)
        Not negative.
    coverage : float
        Part of the total, in (0, 1].

    Returns
    -------
    ndarray of bool, shape (n_timepoints,)
        The largest are marked first; among equals, the earlier.

    Examples
    --------
    >>> strongest_timepoints(np.array([4.0, 0.0, 1.0, 5.0]), coverage=0.9)
    array([ True, False, False,  True])
    """
    if coverage == 1:
        return strength > 0
    order = np.argsort(-strength, kind="stable")
    held = np.cumsum(strength[order])
    # A hair below, so that 0.1 + 0.2 counts as 0.3.
    wanted = coverage * held[-1] * (1 - 1e-12)
    chosen = np.zeros(len(strength), dtype=bool)
    chosen[order[: int(np.searchsorted(held, wanted)) + 1]] = True
    return chosen & (strength > 0)


def find_spans(evidence: NDArray[np.floating[Any]], kind: str, coverage: float, max_gap: int) -> list[Span]:
    """Merge the strongest timepoints of one sign into spans, largest share first (ties: earliest).

    Examples
    --------
    >>> find_spans(np.array([0.0, 3.0, 3.0, -1.0, 2.0]), "support", coverage=1.0, max_gap=0)
    [Span(start=1, stop=3, share=0.75, mean=3.0), Span(start=4, stop=5, share=0.25, mean=2.0)]
    """
    evidence = np.asarray(evidence, dtype=np.float64)
    strength = np.maximum(SIGNS[kind] * evidence, 0.0)
    peak = strength.max(initial=0.0)
    if peak == 0:
        return []
    strength = strength / peak  # shares don't change, and sums can neither overflow nor vanish
    points = np.flatnonzero(strongest_timepoints(strength, coverage))
    breaks = np.flatnonzero(np.diff(points) > max_gap + 1) + 1
    total = strength.sum()
    spans = []
    for run in np.split(points, breaks):
        start, stop = int(run[0]), int(run[-1]) + 1
        share = float(strength[start:stop].sum() / total)
        spans.append(Span(start, stop, share, float(evidence[start:stop].mean())))
    return sorted(spans, key=lambda span: -span.share)


def format_intervals(intervals: Iterable[Interval]) -> str:
    """Lay intervals out as an aligned plain-text table.

    Parameters
    ----------
    intervals : iterable of Interval
        From `Explanation.top_intervals`.

    Returns
    -------
    str
        One line per interval under a line of headings; without a newline at the end.

    Examples
    --------
    >>> print(format_intervals([Interval(0, "spike", 3, 5, 30, 40, 0.75, 1.5, "support")]))
    case  class  kind     from  to  timepoints  share  mean evidence
       0  spike  support    30  40           2  75.0%           +1.5
    """
    headings = ("case", "class", "kind", "from", "to", "timepoints", "share", "mean evidence")
    rows = [
        (
            interval.case,
            _on_one_line(interval.class_name),
            interval.kind,
            interval.start_time,
            interval.end_time,
            interval.stop - interval.start,
            f"{interval.share:.1%}",
            f"{interval.mean_evidence:+.4g}",
        )
        for interval in intervals
    ]
    if not rows:
        return "No intervals: there is no evidence of this kind."
    return format_table(headings, rows, right=[heading for heading in headings if heading not in ("class", "kind")])


def _on_one_line(name: str) -> str:
    """Write tabs and newlines as escapes, since they would break the table."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in name)

"""Judging: what our runs say about a statement, and whether it holds.

In:  the sections of the page, with their runs; statements; and reasons that somebody has found and typed.
Out: `Table`, at the head of the page that `millet.report.reproduction` writes. Every figure is derived from rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from millet.report.layout import NONE, Table
from millet.report.overview import Part, anchor
from millet.report.published import Published
from millet.report.rows import Run

YES, PARTLY, NO = "yes", "in part", "no"
OPEN = "open"


class Finding(NamedTuple):
    """What our runs say, what that is compared with, and whether the statement holds."""

    ours: str
    beside: str
    holds: str


@dataclass(frozen=True)
class Statement:
    """Something that the paper states or its figures show, or on which our runs should agree with the authors'.

    Attributes
    ----------
    text : str
    section : str
        The section of the page that has the figures.
    judge : callable
        Turns the runs of that section and the published results into a `Finding`; None where they do not tell.
    """

    text: str
    section: str
    judge: Callable[[Sequence[Run], Published], Finding | None]


def judged(
    title: str,
    beside: str,
    statements: Mapping[str, Statement],
    parts: Sequence[Part],
    published: Published,
    reasons: Mapping[str, str],
) -> Table:
    """Return which statements hold, and why where one does not.

    Parameters
    ----------
    title, beside : str
        The table's heading, and that of the column that ours is compared with.
    statements : mapping of str to Statement
    parts : sequence of Part
        The sections of the page, with their runs.
    published : Published
        Results of the authors' single runs.
    reasons : mapping
        Why ours differs, by the keys of statements. Shown where a statement does not hold.
    """
    rows, verdicts = [], Counter[str]()
    for key, statement in statements.items():
        found = [part for part in parts if part.name == statement.section and part.run is not None]
        finding = statement.judge([part.run for part in found if part.run is not None], published)
        if finding is None:
            rows.append((statement.text, NONE, NONE, "not run", NONE))
            continue
        verdicts[finding.holds] += 1
        where = f"[{statement.text}](#{anchor(found[0].section.title)})"
        reason = NONE if finding.holds == YES else reasons.get(key, OPEN)
        rows.append((where, finding.ours, finding.beside, finding.holds, reason))
    counted = ", ".join(f"{n} {verdict}" for verdict in (YES, PARTLY, NO) if (n := verdicts[verdict]))
    are_all = verdicts.total() == len(statements)
    covered = (
        counted
        if are_all
        else f"{verdicts.total()} of {len(statements)} judged" + (f": {counted}" if counted else "")
    )
    header = ("what", "ours", beside, "holds", "why not")
    return Table(title, "", covered, header, tuple(rows), is_text=True, has_markup=True)


def by_first(
    judge: Callable[[Run, Published], Finding | None],
) -> Callable[[Sequence[Run], Published], Finding | None]:
    """Return a judge that asks the runs with the most datasets, or else rows, first, and takes the first finding."""

    def judge_runs(runs: Sequence[Run], published: Published) -> Finding | None:
        largest_first = sorted(runs, key=lambda run: (len(run.datasets), len(run.done)), reverse=True)
        return next((found for run in largest_first if (found := judge(run, published)) is not None), None)

    return judge_runs


def verdict_of(n_held: int, n_all: int) -> str:
    """Return "yes" where all held, "no" where fewer than half did.

    Examples
    --------
    >>> verdict_of(3, 3), verdict_of(2, 3), verdict_of(1, 3)
    ('yes', 'in part', 'no')
    """
    return YES if n_held == n_all else PARTLY if 2 * n_held >= n_all else NO


def how_many_hold(ours: Sequence[bool], theirs: Sequence[bool], what: str, of_paper: str = "") -> Finding | None:
    """Return how often something holds for us and in the paper's figures; in words where the paper has none."""
    if not ours:
        return None
    said = [f"{sum(found)} of {len(found)} {what}" for found in (ours, theirs)]
    return Finding(said[0], of_paper or said[1], verdict_of(sum(ours), len(ours)))

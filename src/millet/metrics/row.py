"""A row of numbers: means over cases with their intervals, and the names of the cases that could not be scored.

In:  one value per case and metric, NaN where there is none.
Out: a flat dictionary, which `millet.evaluation` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

import numpy as np

from millet.metrics.bootstrap import CONFIDENCE, N_RESAMPLES, bootstrap_interval, percentile_interval, resamples
from millet.metrics.inputs import Floats, Integers, Mask

Cell = float | int | str

# A message names at most this many cases; its count is of all.
NAMED_CASES = 10


@final
class Row:
    """One line of a table, filled metric by metric.

    Parameters
    ----------
    facts : dict
        What comes first: names and counts.
    random_state : int
        Seed of the intervals.

    Examples
    --------
    >>> row = Row({"n_cases": 4}, random_state=0)
    >>> row.add_mean("gini", np.array([0.5, 0.5, np.nan, 0.5]), "all scores are 0")
    >>> row.finished()["gini"], row.finished()["unscored"]
    (0.5, 'gini: all scores are 0 (case 2)')
    """

    def __init__(self, facts: dict[str, Cell], random_state: int) -> None:
        self._cells = dict(facts)
        self._seed = random_state
        self._unscored: dict[tuple[str, tuple[int, ...]], list[str]] = {}

    def add_mean(self, name: str, values: Floats, reason: str | Sequence[str] = "") -> None:
        """Add the mean of one value per case, and its interval.

        Parameters
        ----------
        name : str
        values : ndarray of shape (n_cases,)
            NaN where a case has none; such cases are left out of the mean, and named in the row.
        reason : str or sequence of str
            Why cases have none, in general or case by case.
        """
        missing = np.isnan(values)
        reasons = np.full(len(values), reason) if isinstance(reason, str) else np.asarray(reason)
        for why in np.unique(reasons[missing]).tolist():
            cases = np.flatnonzero(missing & (reasons == why))
            self._unscored.setdefault((why, tuple(cases.tolist())), []).append(name)
        kept = values[~missing]
        if len(kept):
            self._add(name, float(kept.mean()), *bootstrap_interval(kept, random_state=self._seed))
        else:
            self._add(name, np.nan, np.nan, np.nan)

    def add_share(self, name: str, held: Mask) -> None:
        """Add the share of cases for which something holds, and Wilson's interval.

        Where it holds for all cases or for none, so it does in every resample, and a bootstrap interval would have no
        width however few cases there are.
        """
        from scipy.stats import binomtest

        low, high = binomtest(int(held.sum()), len(held)).proportion_ci(CONFIDENCE, method="wilson")
        self._add(name, float(held.mean()), float(low), float(high))

    def add_statistic(self, name: str, n_cases: int, statistic: Callable[[Integers], Floats]) -> None:
        """Add a number that is not a mean, and its interval.

        Parameters
        ----------
        name : str
        n_cases : int
        statistic : callable
            Called with how often each case counts, (n_resamples, n_cases); returns (n_resamples,) numbers, NaN where
            a resample does not have one.
        """
        value = float(statistic(np.ones((1, n_cases), dtype=np.int64))[0])
        found = []
        for drawn in resamples(n_cases, N_RESAMPLES, self._seed):
            found.append(statistic(np.stack([np.bincount(cases, minlength=n_cases) for cases in drawn])))
        known = np.concatenate(found)
        known = known[~np.isnan(known)]
        self._add(name, value, *(percentile_interval(known, CONFIDENCE) if len(known) else (np.nan, np.nan)))

    def finished(self) -> dict[str, Cell]:
        """Return the row; `n_unscored` and `unscored` come last."""
        cases = {case for _, some in self._unscored for case in some}
        notes = [f"{', '.join(names)}: {reason} ({_named(some)})" for (reason, some), names in self._unscored.items()]
        return {**self._cells, "n_unscored": len(cases), "unscored": "; ".join(notes)}

    def _add(self, name: str, value: float, low: float, high: float) -> None:
        self._cells |= {name: value, f"{name}_low": low, f"{name}_high": high}


def _named(cases: tuple[int, ...]) -> str:
    if len(cases) == 1:
        return f"case {cases[0]}"
    names = ", ".join(map(str, cases[:NAMED_CASES]))
    return f"{len(cases)} cases: {names}{', ...' if len(cases) > NAMED_CASES else ''}"

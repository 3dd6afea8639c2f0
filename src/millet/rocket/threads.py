"""Threads: compiled functions on several cases at once, for as long as one call lasts."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
from joblib.parallel import get_active_backend


def n_threads(n_jobs: int) -> int:
    """Return how many threads `n_jobs` stands for, as joblib counts, but never more than there are processors.

    Inside a joblib worker, -1 and the like mean the worker's own share of the processors, which joblib sets.
    """
    if n_jobs < 0 and (get_active_backend()[0].nesting_level or 0) > 0:
        share = os.environ.get("OMP_NUM_THREADS", "")
        return int(share) if share.isdecimal() else 1
    return max(1, min(int(joblib.effective_n_jobs(n_jobs)), int(joblib.cpu_count())))


def for_each_block(work: Callable[[int, int], Any], n_cases: int, block: int, threads: int) -> None:
    """Call ``work(first, stop)`` for consecutive blocks that together cover all cases.

    The threads end with the call, so that none are left over in a process that forks.

    Examples
    --------
    >>> seen = []
    >>> for_each_block(lambda first, stop: seen.append((first, stop)), n_cases=5, block=2, threads=1)
    >>> seen
    [(0, 2), (2, 4), (4, 5)]
    """
    blocks = [(first, min(first + block, n_cases)) for first in range(0, n_cases, block)]
    if threads == 1 or len(blocks) == 1:
        for first, stop in blocks:
            work(first, stop)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            for done in [pool.submit(work, first, stop) for first, stop in blocks]:
                done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise

"""The grid while it runs: what is left, what is under way, and what each ensemble still waits for."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, final

from millet.benchmark.cells import Cell
from millet.benchmark.rows import Row
from millet.report.names import OWN

# A cell that ran alone when this many workers died is taken for the cause.
LOSSES_ALLOWED = 3


class GivenUp(NamedTuple):
    """A cell that is not to be run, or not again; why; and how long it was tried."""

    cell: Cell
    why: str
    seconds: float = 0.0


@final
class Grid:
    """Cells in the order to run them: an ensemble as soon as its members are there, else the longest cell first.

    After a worker died, nobody knows which of the cells under way was the cause: these come first, one at a time.

    Parameters
    ----------
    cells : iterable of Cell
        What is left.
    rows : iterable of dict
        What is already there.
    n_members : int
        Repeats that an ensemble consists of.
    cost : callable
        Estimated seconds of a cell.
    """

    def __init__(
        self, cells: Iterable[Cell], rows: Iterable[Row], n_members: int, cost: Callable[[Cell], float]
    ) -> None:
        cells = list(cells)
        self.cost = {cell.place: cost(cell) for cell in cells}
        self._n_members = n_members
        members = [cell for cell in cells if not cell.is_ensemble]
        # Both queues are read by the status line's thread and written by this one; a deque allows that.
        self._members = deque(sorted(members, key=lambda cell: -self.cost[cell.place]))
        self._ready: deque[Cell] = deque()
        self._suspects: deque[Cell] = deque()
        self._waiting = {cell.place.parent: cell for cell in cells if cell.is_ensemble}
        self._under_way: dict[Path, Cell] = {}
        self._begun: dict[Path, float] = {}
        self._losses: Counter[Path] = Counter()
        self._seconds_lost: defaultdict[Path, float] = defaultdict(float)
        self._status: defaultdict[Path, dict[int, str]] = defaultdict(dict)
        self.note(rows)

    def take(self) -> Iterator[Cell]:
        """Yield cells to run, until none can be run now; those to be run alone, one at a time."""
        if self._suspects:
            if not self._under_way:
                yield self._begin(self._suspects.popleft())
            return
        while self._ready or self._members:
            yield self._begin((self._ready or self._members).popleft())

    def _begin(self, cell: Cell) -> Cell:
        # In this order: another thread may ask at any moment how long the cells under way have been running.
        self._begun[cell.place] = time.monotonic()
        self._under_way[cell.place] = cell
        return cell

    @property
    def has_work(self) -> bool:
        """Whether cells are queued that `take` would yield, now or once others are done."""
        return bool(self._suspects or self._ready or self._members)

    @property
    def under_way(self) -> list[Cell]:
        """The cells that workers are running."""
        return list(self._under_way.values())

    def seconds_left(self, pace: float = 1.0) -> float:
        """Return the seconds on one core of everything that is not done, if cells take `pace` times their estimates.

        For cells under way, the time that they have already taken is subtracted.
        """
        queued = [*self._suspects, *self._ready, *self._members, *self._waiting.values()]
        left = sum(pace * self.cost[cell.place] for cell in queued)
        now = time.monotonic()
        for cell in self.under_way:
            left += max(0.0, pace * self.cost[cell.place] - (now - self._begun[cell.place]))
        return left

    def finish(self, cell: Cell, rows: Iterable[Row]) -> None:
        """Take note of a cell that was run, which may make an ensemble possible."""
        self._under_way.pop(cell.place, None)
        self.note(rows)

    def note(self, rows: Iterable[Row]) -> None:
        """Take note of rows, and of the ensembles whose members are now all there."""
        for row in rows:
            if row["method"] == OWN and not row["ensemble"]:
                self._status[Path(row["dataset"], row["model"])][row["repeat"]] = row["status"]
        for place in list(self._waiting):
            if list(self._status[place].values()).count("done") == self._n_members:
                self._ready.append(self._waiting.pop(place))

    def hopeless(self) -> list[GivenUp]:
        """Return ensembles that are impossible because a member failed; each of them once."""
        found = []
        for place in list(self._waiting):
            states = self._status[place]
            failed = sorted(repeat for repeat, status in states.items() if status == "failed")
            if failed and len(states) == self._n_members:
                found.append(
                    GivenUp(self._waiting.pop(place), f"these members failed: {', '.join(map(str, failed))}")
                )
        return found

    def lose(self, culprit: Cell | None = None) -> list[GivenUp]:
        """Queue what was under way again after a worker died; return the cells to give up.

        Nobody knows which of them was the cause, so they are to be run alone, unless a cluster names the one at which
        workers died: that one then comes last, and the others as if nothing had happened.
        """
        lost = list(self._under_way.values())
        self._under_way.clear()
        for cell in lost:
            self._seconds_lost[cell.place] += time.monotonic() - self._begun[cell.place]
        given_up = []
        blamed = lost[0] if culprit is None and len(lost) == 1 else culprit
        if blamed is not None:
            self._losses[blamed.place] += 1
            if self._losses[blamed.place] >= LOSSES_ALLOWED:
                lost = [cell for cell in lost if cell.place != blamed.place]
                why = f"its worker died {LOSSES_ALLOWED} times, perhaps for lack of memory"
                given_up.append(GivenUp(blamed, why, self._seconds_lost[blamed.place]))
        if culprit is None:
            self._suspects += lost
        else:
            self._queue_again(lost, last=culprit)
        return given_up

    def _queue_again(self, cells: list[Cell], last: Cell) -> None:
        """Queue cells where they were, except one, behind all others."""
        for cell in reversed(cells):
            queue = self._ready if cell.is_ensemble else self._members
            if cell.place == last.place:
                queue.append(cell)
            else:
                queue.appendleft(cell)

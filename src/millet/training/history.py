"""History: what happened in each epoch, kept as plain rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, NamedTuple, overload

from millet.atomic import atomic_path
from millet.jsonl import strict


class EpochRecord(NamedTuple):
    """One epoch of one ensemble member.

    Attributes
    ----------
    member, epoch : int
        Both counted from 0.
    train_loss : float
        Mean loss of the steps, in training mode.
    selection_loss : float
        Loss in inference mode that decides which epoch is kept: on the training set, or on the validation set
        with early stopping. An epoch that can no longer be the best is not evaluated to the end: its loss on the
        training set is then a lower bound, already above the best. Where the last weights are kept, and where time
        was up in the first epoch, nothing is evaluated, and this is `train_loss`.
    learning_rate : float
    seconds : float
        Since the member's training began, not counting pauses between resumed runs.
    best : bool
        Whether this epoch's weights were the best so far.
    core_seconds : float or None
        Processor time since the member's training began, of all threads of its (first) process together; other work
        of the machine is not counted. None where an earlier version did part of the training.
    """

    member: int
    epoch: int
    train_loss: float
    selection_loss: float
    learning_rate: float
    seconds: float
    best: bool
    core_seconds: float | None = None


class History(Sequence[EpochRecord]):
    """The epochs of all members, in order; a sequence of `EpochRecord` that ``pandas.DataFrame`` accepts as it is.

    Examples
    --------
    >>> history = History([EpochRecord(0, 0, 1.2, 1.1, 0.001, 3.0, True)])
    >>> history[0].selection_loss, history.column("train_loss")
    (1.1, [1.2])
    """

    def __init__(self, records: Sequence[EpochRecord] = ()) -> None:
        self._records = tuple(records)

    @overload
    def __getitem__(self, position: int) -> EpochRecord: ...
    @overload
    def __getitem__(self, position: slice) -> History: ...
    def __getitem__(self, position: int | slice) -> EpochRecord | History:
        if isinstance(position, slice):
            return History(self._records[position])
        return self._records[position]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[EpochRecord]:
        return iter(self._records)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and self._records == other._records

    def __hash__(self) -> int:
        return hash(self._records)

    def __repr__(self) -> str:
        members = len({record.member for record in self._records})
        return f"History({len(self)} epochs of {members} member{'s' * (members != 1)})"

    def column(self, name: str) -> list[Any]:
        """Return one field of every epoch."""
        return [getattr(record, name) for record in self._records]

    def kept(self) -> list[EpochRecord]:
        """Return the epoch whose weights each member ended with.

        Examples
        --------
        >>> better = EpochRecord(0, 0, 0.2, 0.2, 0.001, 1.0, best=True)
        >>> worse = EpochRecord(0, 1, 0.3, 0.3, 0.001, 2.0, best=False)
        >>> [record.epoch for record in History([better, worse]).kept()]
        [0]
        """
        return list({record.member: record for record in self._records if record.best}.values())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the epochs as CSV, or as one JSON object per line where the name ends in .jsonl.

        A loss that is not finite, as of an epoch in which training diverged, is null in JSON.
        """
        with atomic_path(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            if str(path).endswith(".jsonl"):
                file.writelines(json.dumps(strict(record._asdict()), allow_nan=False) + "\n" for record in self)
            else:
                writer = csv.writer(file)
                writer.writerow(EpochRecord._fields)
                writer.writerows(self._records)

"""Callbacks: what users may do after each epoch, and TensorBoard as an example of it."""

from __future__ import annotations

from os import PathLike
from typing import Any, Protocol

from millet.errors import import_extra
from millet.training.history import EpochRecord


class Callback(Protocol):
    """Anything that can be called with an `EpochRecord`; training of that member stops if it returns True.

    With members in processes (``n_jobs``), each process has its own copy, so it must be picklable.
    """

    def __call__(self, record: EpochRecord, /) -> bool | None:
        """Look at an epoch that has just ended."""
        ...


class TensorBoardCallback:
    """Write the losses of every member to TensorBoard event files (extra ``tensorboard``).

    Parameters
    ----------
    folder : path-like
        Each member gets a folder of its own inside.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        import_extra("tensorboard", "tensorboard", "TensorBoardCallback")
        self.folder = str(folder)
        self._writers: dict[int, Any] = {}

    def __call__(self, record: EpochRecord, /) -> None:
        """Write one epoch."""
        from torch.utils.tensorboard import SummaryWriter

        if record.member not in self._writers:
            self._writers[record.member] = SummaryWriter(f"{self.folder}/member-{record.member}")
        writer = self._writers[record.member]
        for name in ("train_loss", "selection_loss", "learning_rate"):
            writer.add_scalar(name, getattr(record, name), record.epoch)
        writer.flush()

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "_writers": {}}

"""The progress bar: epochs, losses and an ETA, on a terminal or in a notebook; silent elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from tqdm.auto import tqdm

from millet.training.history import EpochRecord
from millet.training.options import Options
from millet.watching import someone_watches


class EpochBar:
    """A bar that counts epochs, with an ETA from the mean speed of many of them.

    Where time is limited, it also says how much of it is left at most.
    """

    def __init__(self, n_epochs: int, done: int, options: Options, *, show: bool) -> None:
        self._options = options
        name = "training" if options.n_members == 1 else f"member {options.member + 1}/{options.n_members}"
        self._bar: Any = tqdm(
            total=n_epochs,
            initial=done,
            desc=name,
            unit="epoch",
            position=options.member,
            leave=options.n_members == 1,
            smoothing=0.05,
            disable=not (options.progress and show and someone_watches()),
        )

    def update(self, record: EpochRecord, best_loss: float) -> None:
        """Show one more epoch."""
        facts = {"loss": f"{record.train_loss:.4f}", "best": f"{best_loss:.4f}"}
        limit = self._options.max_time
        if limit is not None:
            facts["time left at most"] = tqdm.format_interval(max(0.0, limit - record.seconds))
        self._bar.set_postfix(facts, refresh=False)
        self._bar.update()

    def __enter__(self) -> EpochBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()

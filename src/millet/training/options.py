"""Options: settings of one training run, beyond the recipe, which belongs to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millet.training.callbacks import Callback
from millet.training.cases import Labelled


@dataclass(frozen=True)
class Options:
    """Settings of `train` beyond the recipe.

    Attributes
    ----------
    seed : int
        Decides the order of cases and the dropout of every epoch.
    class_weights : sequence of float, optional
        Weight of each class in the loss.
    validation : Labelled, optional
        Cases that select the best epoch and stop training early; without them the recipe says which weights are kept.
    patience, tolerance : int, float
        With a validation set: stop after `patience` epochs in a row without an improvement of `tolerance`.
    max_time : float, optional
        Most seconds to train, all resumed runs together; the schedule ends with them.
    checkpoint : Path, optional
        File to write every `checkpoint_seconds` and at the end, and to resume from.
    callbacks : sequence of Callback
    progress : bool
        Show a bar with ETA, on a terminal or in a notebook.
    member, n_members : int
        Which member of an ensemble this is, for the bar and the history.
    """

    seed: int = 0
    class_weights: Sequence[float] | None = None
    validation: Labelled | None = None
    patience: int = 10
    tolerance: float = 1e-4
    max_time: float | None = None
    checkpoint: Path | None = None
    checkpoint_seconds: float = 10.0
    callbacks: Sequence[Callback] = ()
    progress: bool = False
    member: int = 0
    n_members: int = 1

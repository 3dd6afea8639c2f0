"""Recipes: how to train, as plain values."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from millet.checks import integer, number
from millet.errors import ParameterError, lookup

OPTIMIZERS = ("adam", "adamw")
SCHEDULES = ("constant", "one-cycle")
KEEPS = ("best", "last")
PRECISIONS = ("auto", "32-true", "64-true", "16-true", "bf16-true", "16-mixed", "bf16-mixed")


@dataclass(frozen=True)
class Recipe:
    """How to train a network.

    The defaults are the paper's protocol (App. B.2, with the details of the released code).

    Attributes
    ----------
    n_epochs : int
        Passes over the training cases.
    batch_size : int, optional
        Cases per step; by default min(16, n_cases // `n_batches`), and at least `smallest_batch`.
    n_batches, smallest_batch : int
        For the default batch size where training cases are few.
    max_steps : int, optional
        Large training sets get fewer epochs, so that there are about this many steps; at least a tenth of `n_epochs`.
    learning_rate : float
        Step size; the highest one where the schedule varies it.
    optimizer : {"adam", "adamw"}
    weight_decay : float
    schedule : {"constant", "one-cycle"}
        "one-cycle" rises for the first 30 % of the steps, then falls to almost nothing, both along cosines.
    label_smoothing : float
        How much of each label is spread evenly over all classes.
    keep : {"best", "last"}
        Which weights training ends with. "best" are those of the epoch with the lowest loss on all training cases in
        inference mode, which costs a pass over them per epoch. "last" are those of the last epoch, for schedules that
        end in small steps. Where a validation set decides, the best are kept in either case.
    precision : str
        What training computes in, as Lightning Fabric names it; "auto" is "bf16-mixed" where the hardware supports
        that, else "32-true".

    Examples
    --------
    >>> Recipe().n_epochs, Recipe().batch_size_for(100)
    (1500, 10)
    >>> Recipe(n_epochs=20, schedule="one-cycle").rate_at(0.3)
    0.001
    """

    n_epochs: int = 1500
    batch_size: int | None = None
    n_batches: int = 10
    smallest_batch: int = 2
    max_steps: int | None = None
    learning_rate: float = 0.001
    optimizer: str = "adam"
    weight_decay: float = 0.0
    schedule: str = "constant"
    label_smoothing: float = 0.0
    keep: str = "best"
    precision: str = "32-true"

    def __post_init__(self) -> None:
        for name in ("n_epochs", "batch_size", "n_batches", "smallest_batch", "max_steps"):
            value = getattr(self, name)
            if value is not None or name not in ("batch_size", "max_steps"):
                self._store(name, integer(name, value, at_least=1))
        self._store("learning_rate", number("learning_rate", self.learning_rate, above=0))
        self._store("weight_decay", number("weight_decay", self.weight_decay, at_least=0))
        lookup("optimizer", self.optimizer, dict.fromkeys(OPTIMIZERS))
        lookup("schedule", self.schedule, dict.fromkeys(SCHEDULES))
        self._store("label_smoothing", number("label_smoothing", self.label_smoothing, at_least=0, below=1))
        lookup("keep", self.keep, dict.fromkeys(KEEPS))
        lookup("precision", self.precision, dict.fromkeys(PRECISIONS))

    def _store(self, name: str, value: float) -> None:
        """Store a number as Python's own kind, which JSON can hold, whatever kind was given."""
        object.__setattr__(self, name, value)

    def batch_size_for(self, n_cases: int) -> int:
        """Return the batch size for a training set of `n_cases`."""
        return self.batch_size or max(self.smallest_batch, min(16, n_cases // self.n_batches))

    def steps_per_epoch_for(self, n_cases: int) -> int:
        """Return the steps of an epoch on a training set of `n_cases`; the last one may have fewer cases."""
        return -(-n_cases // self.batch_size_for(n_cases))

    def n_epochs_for(self, n_cases: int) -> int:
        """Return the epochs for a training set of `n_cases`."""
        if self.max_steps is None:
            return self.n_epochs
        affordable = round(self.max_steps / self.steps_per_epoch_for(n_cases))
        return min(self.n_epochs, max(affordable, -(-self.n_epochs // 10)))

    def rate_at(self, progress: float) -> float:
        """Return the learning rate when `progress`, from 0 to 1, of the training is done."""
        if self.schedule == "constant":
            return self.learning_rate
        rise = 0.3
        lowest = self.learning_rate / 25
        if progress < rise:
            return lowest + (self.learning_rate - lowest) * (1 - math.cos(math.pi * progress / rise)) / 2
        fall = (min(progress, 1.0) - rise) / (1 - rise)
        # Never 0: the first step may come when time is already up.
        return max(self.learning_rate * (1 + math.cos(math.pi * fall)) / 2, self.learning_rate * 1e-4)

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe in a form that JSON can hold."""
        return dataclasses.asdict(self)


RECIPES: dict[str, Recipe] = {
    "fast": Recipe(
        n_epochs=150,
        n_batches=8,
        smallest_batch=4,
        max_steps=6000,
        learning_rate=0.003,
        optimizer="adamw",
        weight_decay=0.01,
        schedule="one-cycle",
        keep="last",
        precision="auto",
    ),
    "paper": Recipe(),
}


def as_recipe(recipe: str | Recipe, **changes: Any) -> Recipe:
    """Return a recipe by name or as given, with the changes that are not None.

    If `n_epochs` is among the changes, it holds however many steps it takes: `max_steps` is dropped unless given too.

    Examples
    --------
    >>> as_recipe("paper", n_epochs=10, batch_size=None).n_epochs
    10
    """
    if isinstance(recipe, str):
        recipe = lookup("recipe", recipe, RECIPES)
    if not isinstance(recipe, Recipe):
        raise ParameterError(f"recipe must be one of {sorted(RECIPES)} or a millet.Recipe; got {recipe!r}.")
    wanted = {name: value for name, value in changes.items() if value is not None}
    if "n_epochs" in wanted:
        wanted.setdefault("max_steps", None)
    return dataclasses.replace(recipe, **wanted)

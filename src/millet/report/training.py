"""Training: the loss on the training cases that networks end with, beside that of the authors' networks.

Where both agree, training ended alike, and its length does not explain other differences.

In:  `Run` and `Published`.
Out: `Table`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from millet.report.layout import Cell, Table, comparison
from millet.report.names import METRICS, model_title, with_others
from millet.report.published import Published
from millet.report.rows import Run

METRIC = "train_loss"
TITLE = f"{METRICS[METRIC].title}, as powers of ten"
# In single precision the loss of a case is a multiple of 1.2e-7: in means below this, all but one case or so are 0.
LEAST = 1e-9
NOTE = (
    "The loss on the training cases in the epoch that is kept, for single models: -6 stands for 0.000001, and 0 "
    f"counts as {math.log10(LEAST):.0f}."
)
FAST_NOTE = (
    "With the recipe \"fast\" it is the mean over the last epoch's steps, during learning; with the paper's it is "
    "measured after the epoch."
)


def powers_of_ten(losses: Iterable[float]) -> tuple[float, ...]:
    """Return the logarithms to base ten, of at least `LEAST`.

    Examples
    --------
    >>> powers_of_ten([0.01, 0.0])
    (-2.0, -9.0)
    """
    return tuple(math.log10(max(loss, LEAST)) for loss in losses)


def training_table(run: Run, published: Published, names: Sequence[str], heading: tuple[str, str, str]) -> Table:
    """Return the powers of ten of our and the authors' losses, by dataset and model, where ours are known."""
    cells = []
    for name in names:
        for model in with_others(run.models):
            # The authors' files are asked for only where there is something to compare.
            if ours := powers_of_ten(run.runs(name, model, METRIC)):
                theirs = powers_of_ten(published.runs(name, model, METRIC))
                cells.append(Cell(f"{name}, {model_title(model)}", None, None, ours, theirs))
    notes = (NOTE, FAST_NOTE) if any(row.recipe.startswith("fast") for row in run.done) else (NOTE,)
    return comparison(*heading, "dataset, model", cells, notes, is_detail=True)

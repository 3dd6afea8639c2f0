"""Cases: what all pictures of an `Explanation` need to know about the case they draw.

In:  `Explanation`.
Out: `OneCase`, and its channels drawn; read by `millet.plots.evidence` and `millet.plots.classes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.explanation import Explanation
from millet.plots.panels import (
    LONGEST_NAME,
    check_relevant,
    draw_region,
    draw_series,
    plain_text,
    say_if_unobserved,
    share_text,
    style,
    write_beside,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 9.0
LONGEST_LABEL = 14


@final
class OneCase:
    """One case without its padding, in the shapes that panels take.

    Parameters
    ----------
    explanation : Explanation
    case : int
        Which case; negative counts from the end.

    Attributes
    ----------
    length : int
        How many timepoints the case has.
    explanation : Explanation
        The one of this case alone.
    time : ndarray of shape (length,)
    series : ndarray of shape (n_channels, length)
    scores : ndarray of shape (n_classes, length)
    probabilities : ndarray of shape (n_classes,)
    predicted : int
        Position of the predicted class.
    """

    def __init__(self, explanation: Explanation, case: int) -> None:
        one = explanation[case]
        self.length = int(one.lengths[0])
        self.explanation = one
        self.time = one.time[: self.length]
        self.series = one.series[0, :, : self.length]
        self.scores = one.scores[0, :, : self.length]
        self.probabilities = one.probabilities[0]
        self.predicted = int(one.predicted_codes[0])

    def code(self, target: Any) -> int:
        """Return the position of the class that a label or name stands for."""
        return int(self.explanation.class_codes(target)[0])

    def name(self, code: int, limit: int = LONGEST_NAME) -> str:
        """Return what to call a class in a picture."""
        return plain_text(self.explanation.class_names[code], limit)

    def relevant(self, relevant: ArrayLike | None) -> NDArray[np.bool_] | None:
        """Return one bool for each of the case's own timepoints."""
        return check_relevant(relevant, self.length, self.explanation.n_timepoints)

    def title(self, label: Any) -> Callable[[int], str]:
        """Return what writes the title, given a limit for its names.

        It says what was predicted, with its probability and, if known, whether it is right.
        """
        true = None if label is None else self.code(label)

        def write(limit: int) -> str:
            title = f"Predicted: {self.said(self.predicted, limit)}"
            if true is None:
                return title
            return f"{title}  ·  true: {self.name(true, limit)} ({'right' if true == self.predicted else 'wrong'})"

        return write

    def said(self, code: int, limit: int) -> str:
        """Return what to call a class, with its probability."""
        return f"{self.name(code, limit)} ({share_text(self.probabilities[code])})"

    @property
    def channel_labels(self) -> list[str]:
        """What to write beside the panels of the channels."""
        unnamed = "value" if len(self.series) == 1 else "ch. {}"
        return [
            unnamed.format(channel) if name == str(channel) else plain_text(name, LONGEST_LABEL)
            for channel, name in enumerate(self.explanation.channel_names)
        ]


def draw_channels(axes: Sequence[Axes], one: OneCase, region: NDArray[np.bool_] | None) -> None:
    """Draw each channel on an axes of its own, with the region that is known to matter."""
    for channel, ax in enumerate(axes):
        if region is not None:
            draw_region(ax, one.time, region)
        draw_series(ax, one.time, one.series[channel])
        say_if_unobserved(ax, one.series[channel])
        style(ax, one.time, "", show_time=False)
    write_beside(axes, one.channel_labels)

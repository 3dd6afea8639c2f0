"""Cases: what all pictures of an `Explanation` need to know about the case they draw.

In:  `Explanation`.
Out: `OneCase`, and its channels drawn; read by `millet.plots.evidence` and `millet.plots.classes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from millet.explanation import Explanation
from millet.plots.panels import LONGEST_NAME, check_relevant, draw_region, draw_series, plain_text, style

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

    def title(self, label: Any) -> str:
        """Return what was predicted, with its probability and, if known, whether it is right."""
        title = f"Predicted: {self.name(self.predicted)} ({self.probabilities[self.predicted]:.1%})"
        if label is None:
            return title
        true = self.code(label)
        return f"{title}  ·  true: {self.name(true)} ({'right' if true == self.predicted else 'wrong'})"

    def channel_label(self, channel: int) -> str:
        """Return what to write beside the panel of a channel."""
        name = self.explanation.channel_names[channel]
        if name != str(channel):
            return plain_text(name, LONGEST_LABEL)
        return "value" if len(self.series) == 1 else f"ch. {channel}"


def draw_channels(axes: Sequence[Axes], one: OneCase, region: NDArray[np.bool_] | None) -> None:
    """Draw each channel on an axes of its own, with the region that is known to matter."""
    for channel, ax in enumerate(axes):
        if region is not None:
            draw_region(ax, one.time, region)
        draw_series(ax, one.time, one.series[channel])
        style(ax, one.time, one.channel_label(channel), show_time=False)

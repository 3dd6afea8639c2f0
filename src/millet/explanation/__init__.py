"""Evidence: what a classifier says about every case, and which timepoints made it say so.

In:  scores and logits, from `millet.classifier`.
Out: `Explanation`, read by `millet.plots` and by whoever saves, ranks or compares evidence.
"""

from millet.explanation.explanation import Explanation
from millet.explanation.intervals import Interval, format_intervals

__all__ = ["Explanation", "Interval", "format_intervals"]

"""Viewer: one self-contained HTML file that shows what a model said about every case, and why.

In:  an `Explanation` and, where known, labels, true regions, scores of the model and facts about it.
Out: a page that opens offline in any current browser.
"""

from millet.viewer.facts import model_facts
from millet.viewer.report import write_report

__all__ = ["model_facts", "write_report"]

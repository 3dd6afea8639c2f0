"""Pictures: series, where the classifier looked, and how much it mattered.

In:  an `Explanation`, or plain arrays.
Out: matplotlib figures. Every function draws on the figure or axes it is given, or makes a figure;
     it returns what it drew on and never shows it.
"""

from millet.plots.classes import plot_class_scores, plot_heatmap_classes
from millet.plots.comparison import plot_comparison
from millet.plots.curves import plot_perturbation_curves
from millet.plots.decimation import decimate
from millet.plots.evidence import plot_explanation, plot_false_negative
from millet.plots.figures import save_figure
from millet.plots.series import plot_construction, plot_examples

__all__ = [
    "decimate",
    "plot_class_scores",
    "plot_comparison",
    "plot_construction",
    "plot_examples",
    "plot_explanation",
    "plot_false_negative",
    "plot_heatmap_classes",
    "plot_perturbation_curves",
    "save_figure",
]

"""Post-hoc explanations of any model, for comparison with MILLET's own evidence.

In:  a model that can be asked, and series.
Out: the same `Explanation` that a `MilletClassifier` gives, so metrics and plots take either.
"""

from millet.posthoc.attribution import gradient_x_input, integrated_gradients, kernel_shap, lime, occlusion
from millet.posthoc.explain import METHODS, explain
from millet.posthoc.sampling import segment_lime, segment_shap, shap
from millet.posthoc.simple import cam, random

__all__ = [
    "METHODS",
    "cam",
    "explain",
    "gradient_x_input",
    "integrated_gradients",
    "kernel_shap",
    "lime",
    "occlusion",
    "random",
    "segment_lime",
    "segment_shap",
    "shap",
]

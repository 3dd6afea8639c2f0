"""One function for all methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from millet.errors import lookup
from millet.explanation import Explanation
from millet.posthoc.attribution import gradient_x_input, integrated_gradients, kernel_shap, lime, occlusion
from millet.posthoc.engine import BATCH_SIZE
from millet.posthoc.sampling import segment_lime, segment_shap, shap
from millet.posthoc.simple import cam, random

METHODS: dict[str, Callable[..., Explanation]] = {
    "cam": cam,
    "gradient_x_input": gradient_x_input,
    "integrated_gradients": integrated_gradients,
    "kernel_shap": kernel_shap,
    "lime": lime,
    "occlusion": occlusion,
    "random": random,
    "segment_lime": segment_lime,
    "segment_shap": segment_shap,
    "shap": shap,
}


def explain(
    method: str,
    model: Any,
    X: Any,
    *,
    target: ArrayLike | None = None,
    baseline: Any = None,
    batch_size: int = BATCH_SIZE,
    random_state: int | None = 0,
    progress: bool = True,
    **options: Any,
) -> Explanation:
    """Explain what any model says about every case, by a post-hoc method.

    Parameters
    ----------
    method : str
        A name in `METHODS`: "cam", "gradient_x_input", "integrated_gradients", "kernel_shap", "lime", "occlusion",
        "random", "segment_lime", "segment_shap" or "shap".
    model : MilletClassifier, torch module, object with ``predict_proba`` or ``decision_function``, or callable
        A callable maps series to (n_cases, n_classes): logits, or whatever is to be explained. It is given
        (n_cases, n_timepoints) where X is a 2-D array, else (n_cases, n_channels, n_timepoints), cases of equal
        length together. What is explained is the logits of MILLET's classifiers and, as in `millet.metrics`, the
        logarithm of other models' ``predict_proba``.
    X : array-like or list
        Series of equal or unequal length; NaN stands for missing values. A network sees them filled, other models
        as they are.
    target : label, sequence of one label per case, or None
        Explain this class alone; the scores of the others are 0. None explains all classes.
    baseline : str, number, array or None
        What stands in for timepoints that are taken away: "zero" (the mean of a z-normalised series), "mean" (of
        each channel of the case), a number, or an array of shape (n_channels,), (n_channels, n_timepoints) or
        (n_cases, n_channels, n_timepoints): in normalised units for a MilletClassifier that normalises, in those of X
        for all other models. "removed" takes them out, so that the series is shorter; "shap", "segment_shap" and
        "segment_lime" can do so, and a series without any timepoint then has logits of 0. None is "removed" where
        both the method and the model (MilletClassifier, MilletNetwork) can remove timepoints, "mean" for MILLET's
        other classifiers, which normalise what they are given, else "zero".
    batch_size : int, default=32
        Perturbed series to hold in memory and ask about at once; of shortened ones, as many as fit into that space.
    random_state : int or None, default=0
        A case's draws depend only on this and on its values, so its scores do not depend on other cases. None draws
        afresh.
    progress : bool, default=True
        Show a bar with ETA on a terminal or in a notebook.
    **options
        Options of the method; see the function of its name.

    Returns
    -------
    Explanation
        Scores per timepoint, for all channels together; exactly 0 beyond a case's end. Its `method` is the name.

    Raises
    ------
    ParameterError
        If the model fails, gives wrong shapes or NaN, or is of a kind the method can't explain.
    MissingExtraError
        If the method is captum's, and captum is not installed.
    UnknownNameError
        If there is no such method, or it has no such option.

    Examples
    --------
    >>> import numpy as np
    >>> def model(X):
    ...     return X[:, 0, [1, 4]] * [[2.0, 1.0]]       # class 0 looks at timepoint 1, class 1 at timepoint 4
    >>> explanation = explain("shap", model, np.ones((1, 1, 6)), baseline="zero")
    >>> explanation.scores[0].round(6) + 0.0
    array([[0., 2., 0., 0., 0., 0.],
           [0., 0., 0., 0., 1., 0.]])
    """
    run = lookup("method", method, METHODS)
    known = {name: None for name, p in inspect.signature(run).parameters.items() if p.kind is p.KEYWORD_ONLY}
    for name in options:
        lookup(f"option of {method}", name, known)
    return run(
        model,
        X,
        target=target,
        baseline=baseline,
        batch_size=batch_size,
        random_state=random_state,
        progress=progress,
        **options,
    )

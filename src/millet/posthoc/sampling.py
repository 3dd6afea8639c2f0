"""SHAP and LIME from sampled coalitions of timepoints, or of segments of a long series.

In:  one case as a `Question`.
Out: scores for all classes from one set of coalitions; the model is asked once per coalition, not once per class.
"""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from millet.checks import integer, number
from millet.errors import lookup
from millet.explanation import Explanation
from millet.posthoc.coalitions import SAMPLINGS, draw_coalitions, logits_of_coalitions
from millet.posthoc.engine import Answer, Question, Shared, explain_cases
from millet.posthoc.shapley import shapley_values
from millet.posthoc.subjects import Floats

N_SAMPLES = 500
N_SEGMENTS = 32


def shap(
    model: Any,
    X: Any,
    *,
    n_samples: int = N_SAMPLES,
    sampling: str = "uniform",
    paired: bool = True,
    **shared: Unpack[Shared],
) -> Explanation:
    """Shapley values of every timepoint, estimated from random coalitions (App. B.3 of the paper).

    Parameters
    ----------
    model, X
        As for `explain`.
    n_samples : int, default=500
        Coalitions to ask the model about; if no more exist, all are taken and the values are exact.
    sampling : {"uniform", "kernel"}, default="uniform"
        Draw all coalitions with the same chance and weight them by the SHAP kernel, as the paper does, or draw sizes
        by the kernel and give all the same weight.
    paired : bool, default=True
        Follow each coalition by its complement (Covert & Lee, 2021). The paper does not say; False draws all
        coalitions independently.
    **shared
        `target`, `baseline`, `batch_size`, `random_state`, `progress`; see `explain`.

    Returns
    -------
    Explanation
        The scores of a case sum to its logits minus those of the baseline. So there are also contributions, unless
        the baseline's logits differ from case to case.

    Examples
    --------
    A linear model, with weights 1, 2, 3 for one class and 1, 0, 0 for the other:

    >>> import numpy as np
    >>> def model(X):
    ...     return X[:, 0] @ np.array([[1.0, 1.0], [2.0, 0.0], [3.0, 0.0]])
    >>> shap(model, np.ones((1, 1, 3)), baseline="zero").scores[0].round(6) + 0.0
    array([[1., 2., 3.],
           [1., 0., 0.]])
    """
    ask = _Sampling(n_samples, sampling, paired)

    def score(question: Question) -> Answer:
        return _shap_answer(question, np.arange(question.n_timepoints), ask)

    return explain_cases("shap", score, model, X, shared, can_remove=True)


def segment_shap(
    model: Any,
    X: Any,
    *,
    n_segments: int = N_SEGMENTS,
    n_samples: int = N_SAMPLES,
    sampling: str = "uniform",
    paired: bool = True,
    **shared: Unpack[Shared],
) -> Explanation:
    """Shapley values of equal segments, each divided evenly among its timepoints.

    With fewer players than coalitions estimates are far better, at the price of detail inside a segment.

    Parameters
    ----------
    model, X
        As for `explain`.
    n_segments : int, default=32
        Segments of a case; a case with fewer timepoints has one per timepoint.
    n_samples, sampling, paired
        As for `shap`.
    **shared
        See `explain`.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> def model(X):
    ...     return X[:, 0, [0, 3]] * [[2.0, 1.0]]
    >>> segment_shap(model, np.ones((1, 1, 4)), n_segments=2, baseline="zero").scores[0].round(6) + 0.0
    array([[1. , 1. , 0. , 0. ],
           [0. , 0. , 0.5, 0.5]])
    """
    ask = _Sampling(n_samples, sampling, paired)
    integer("n_segments", n_segments, at_least=1)

    def score(question: Question) -> Answer:
        return _shap_answer(question, equal_segments(question.n_timepoints, n_segments), ask)

    return explain_cases("segment_shap", score, model, X, shared, can_remove=True)


def segment_lime(
    model: Any,
    X: Any,
    *,
    n_segments: int = N_SEGMENTS,
    n_samples: int = N_SAMPLES,
    kernel_width: float = 0.25,
    alpha: float = 1.0,
    **shared: Unpack[Shared],
) -> Explanation:
    """LIME on equal segments: a ridge regression near the whole case, each weight divided within its segment.

    Ribeiro, Singh & Guestrin, "Why Should I Trust You?" (KDD 2016). A coalition is weighted by
    exp(-d² / kernel_width²), where d is its cosine distance from the whole case, both as 0 and 1 per segment.

    Parameters
    ----------
    model, X
        As for `explain`.
    n_segments : int, default=32
    n_samples : int, default=500
        Random coalitions, each segment present with a chance of one half.
    kernel_width : float, default=0.25
    alpha : float, default=1.0
        Strength of the ridge penalty.
    **shared
        See `explain`.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> def model(X):
    ...     return X[:, 0, [0, 3]] * [[2.0, 1.0]]
    >>> scores = segment_lime(model, np.ones((1, 1, 4)), n_segments=2, baseline="zero").scores
    >>> bool(scores[0, 0, 0] > 0.9), bool(abs(scores[0, 0, 3]) < 0.1)
    (True, True)
    """
    integer("n_segments", n_segments, at_least=1)
    integer("n_samples", n_samples, at_least=1)
    number("kernel_width", kernel_width, above=0)
    number("alpha", alpha, above=0)

    def score(question: Question) -> Answer:
        segments = equal_segments(question.n_timepoints, n_segments)
        weights = _lime_weights(question, segments, n_samples, kernel_width, alpha)
        return Answer(_shared_out(weights, segments)[question.codes])

    return explain_cases("segment_lime", score, model, X, shared, can_remove=True)


def equal_segments(n_timepoints: int, n_segments: int) -> NDArray[np.int64]:
    """Return the segment of every timepoint; segment sizes differ by at most 1.

    Examples
    --------
    >>> equal_segments(5, 2)
    array([0, 0, 0, 1, 1])
    """
    return np.arange(n_timepoints) * min(n_segments, n_timepoints) // n_timepoints


class _Sampling:
    """How coalitions are drawn, checked before any model is asked."""

    def __init__(self, n_samples: int, sampling: str, paired: bool) -> None:
        self.n_samples = integer("n_samples", n_samples, at_least=1)
        lookup("sampling", sampling, SAMPLINGS)
        self.sampling, self.paired = sampling, paired


def _shap_answer(question: Question, player_of: NDArray[np.int64], how: _Sampling) -> Answer:
    subject, replacement = question.subject, question.replacement
    nothing = np.zeros(len(question.logits)) if replacement is None else subject.ask(replacement[None])[0]
    n_players = int(player_of[-1]) + 1
    coalitions = draw_coalitions(n_players, how.n_samples, question.rng, sampling=how.sampling, paired=how.paired)
    logits = logits_of_coalitions(
        subject, question.values, coalitions.present, player_of, replacement, question.batch_size
    )
    values = shapley_values(coalitions, logits, nothing, question.logits)
    scores = _shared_out(values, player_of)[question.codes]
    return Answer(scores, scores * question.n_timepoints, nothing)


def _lime_weights(
    question: Question, segments: NDArray[np.int64], n_samples: int, kernel_width: float, alpha: float
) -> Floats:
    """Return the weight of every segment for every class, (n_segments, n_classes)."""
    from sklearn.linear_model import Ridge

    n_segments = int(segments[-1]) + 1
    present = question.rng.random((n_samples, n_segments)) < 0.5
    present[0] = True  # the case itself
    logits = logits_of_coalitions(
        question.subject, question.values, present, segments, question.replacement, question.batch_size
    )
    distance = 1 - np.sqrt(present.mean(axis=1))  # cosine between presences and all ones
    nearness = np.exp(-((distance / kernel_width) ** 2))
    fitted = Ridge(alpha=alpha).fit(present, logits, sample_weight=nearness)
    return np.atleast_2d(fitted.coef_).T.astype(np.float64)


def _shared_out(values: Floats, player_of: NDArray[np.int64]) -> Floats:
    """Divide each player's values evenly among its timepoints: (n_players, K) to (K, n_timepoints)."""
    shares = values / np.bincount(player_of)[:, None]
    return np.asarray(shares[player_of].T)

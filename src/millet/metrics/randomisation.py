"""Model randomisation: evidence that stays the same when the weights are scrambled does not come from the model.

In:  a fitted classifier and series.
Out: how alike its evidence is before and after; near 0 is as it should be.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from millet.checks import integer
from millet.errors import ParameterError
from millet.metrics.agreement import rank_correlation, top_overlap
from millet.metrics.inputs import Floats


class Similarity(NamedTuple):
    """How alike the evidence of two models is, each of shape (n_cases,).

    Attributes
    ----------
    rank_correlation : ndarray
        Spearman's, of the scores; NaN for a case where either model's scores are constant.
    absolute_rank_correlation : ndarray
        The same for their absolute values, since scrambling may flip all signs.
    top_overlap : ndarray
        The part of the 10 % most relevant timepoints that both share; NaN likewise.
    """

    rank_correlation: Floats
    absolute_rank_correlation: Floats
    top_overlap: Floats


class Randomisation(NamedTuple):
    """What is left of the evidence when the pooling, or the whole network, is scrambled."""

    pooling: Similarity
    everything: Similarity


def randomisation_check(
    classifier: Any, X: Any, target: ArrayLike | None = None, *, random_state: int = 0
) -> Randomisation:
    """Scramble a classifier's weights, from the top down, and compare the evidence.

    Adebayo et al., "Sanity Checks for Saliency Maps" (2018): an explanation that does not change when the model does
    is a picture of the series, whatever it looks like. The weights of each layer are shuffled among themselves, in a
    copy; their distribution stays. First only those of the pooling, then all.

    Parameters
    ----------
    classifier : MilletClassifier
        Fitted; it is not changed.
    X : array-like or list
        The series.
    target : label, sequence of labels, or None
        The class whose evidence is compared; by default what the classifier predicts before the scrambling.
    random_state : int, default=0

    Returns
    -------
    Randomisation

    Examples
    --------
    >>> from millet import MilletClassifier
    >>> X = np.random.default_rng(0).normal(size=(8, 1, 30)); X[4:, 0, 10:15] += 5
    >>> classifier = MilletClassifier("fcn", n_epochs=2, random_state=0).fit(X, [0] * 4 + [1] * 4)
    >>> randomisation_check(classifier, X).everything.rank_correlation.shape
    (8,)
    """
    seed = integer("random_state", random_state, at_least=0)
    if not (hasattr(classifier, "explain") and getattr(classifier, "networks_", None)):
        raise ParameterError(
            "randomisation_check needs a fitted MilletClassifier, whose weights it can scramble; got "
            f"{type(classifier).__name__}."
        )
    before = classifier.explain(X)
    codes = before.class_codes(target)
    rows = np.arange(before.n_cases)
    found = []
    for part in ("pooling.", ""):
        after = scrambled(classifier, seed, part).explain(X)
        found.append(_similarity(before.scores[rows, codes], after.scores[rows, codes], before.lengths))
    return Randomisation(*found)


def scrambled(classifier: Any, random_state: int, part: str = "") -> Any:
    """Return a copy of a classifier with the values of each weight tensor shuffled.

    Parameters
    ----------
    classifier : MilletClassifier
    random_state : int
    part : str
        Only weights whose names begin with this; all by default.
    """
    twin = copy.deepcopy(classifier)
    for member, network in enumerate(twin.networks_):
        rng = np.random.default_rng([random_state, member])
        for name, weights in network.named_parameters():
            order = rng.permutation(weights.numel())
            if name.startswith(part):
                weights.data = weights.data.flatten()[order].view_as(weights)
    return twin


def _similarity(one: Floats, other: Floats, lengths: np.ndarray) -> Similarity:
    return Similarity(
        rank_correlation(one, other, lengths=lengths),
        rank_correlation(np.abs(one), np.abs(other), lengths=lengths),
        top_overlap(one, other, lengths=lengths),
    )

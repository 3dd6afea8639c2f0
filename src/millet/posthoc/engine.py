"""The engine: scores one case after the other, and puts the scores together as an `Explanation`.

In:  how a method scores one case, `ScoreCase`.
Out: the `Explanation` of all cases. A case's scores do not depend on the other cases: each is scored at its own
     length, with a generator of its own, seeded by `random_state` and its values.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm.auto import tqdm

from millet.checks import integer
from millet.explanation import Explanation
from millet.posthoc.baselines import Baseline
from millet.posthoc.subjects import Array, Floats, Subject, make_subject
from millet.watching import someone_watches

BATCH_SIZE = 32


class Shared(TypedDict, total=False):
    """The keywords of every method; `millet.posthoc.explain` describes them."""

    target: ArrayLike | None
    baseline: Any
    batch_size: int
    random_state: int | None
    progress: bool


@dataclass(frozen=True)
class Question:
    """One case to be explained.

    Attributes
    ----------
    subject : Subject
        The model.
    values : ndarray of shape (n_channels, n_timepoints)
        The case as the model sees it, at its own length.
    logits : ndarray of shape (n_classes,)
        What the model says about the whole case.
    codes : ndarray of int
        The classes to explain.
    replacement : ndarray of shape (n_channels, n_timepoints), or None
        What stands in for timepoints that are taken away; None where they are removed.
    rng : Generator
        The case's own.
    batch_size : int
    """

    subject: Subject
    values: Array
    logits: Floats
    codes: NDArray[np.int64]
    replacement: Array | None
    rng: np.random.Generator
    batch_size: int

    @property
    def n_timepoints(self) -> int:
        """The length of the case."""
        return int(self.values.shape[1])


@dataclass(frozen=True)
class Answer:
    """The scores of one case.

    Attributes
    ----------
    scores : ndarray of shape (n_codes, n_timepoints)
        One row for each of the question's classes.
    contributions : ndarray of shape (n_codes, n_timepoints), or None
        Evidence whose mean plus `bias` is the logit.
    bias : ndarray of shape (n_classes,), or None
    """

    scores: Array
    contributions: Array | None = None
    bias: Floats | None = None


ScoreCase = Callable[[Question], Answer]


def explain_cases(
    method: str, score: ScoreCase, model: Any, X: Any, shared: Shared, *, can_remove: bool = False
) -> Explanation:
    """Score every case and return the explanation.

    Parameters
    ----------
    method : str
        The method's name, for the explanation and for messages.
    score : callable
        From `Question` to `Answer`.
    model, X
        As for `millet.posthoc.explain`.
    shared : dict
        The keywords of every method, those that the user gave.
    can_remove : bool
        Whether the method can work with shorter series.
    """
    batch_size = integer("batch_size", shared.get("batch_size", BATCH_SIZE), at_least=1)
    seed = shared.get("random_state", 0)
    if seed is not None:
        integer("random_state", seed, at_least=0)
    subject = make_subject(model, X, batch_size)
    baseline = Baseline(shared.get("baseline"), subject, method, can_remove=can_remove)
    blank = _blank(subject, method)
    target = shared.get("target")
    n_classes = blank.n_classes
    codes = np.tile(np.arange(n_classes), (len(blank), 1)) if target is None else blank.class_codes(target)[:, None]
    answers = []
    for case in _watched(range(len(blank)), method, show=shared.get("progress", True)):
        values = subject.values(case)
        replacement = baseline.replacement(case, values)
        rng = case_generator(seed, values)
        logits = subject.logits[case]
        answers.append(score(Question(subject, values, logits, codes[case], replacement, rng, batch_size)))
    return _assembled(blank, codes, answers, complete=target is None)


def case_generator(seed: int | None, values: Array) -> np.random.Generator:
    """Return a generator that depends only on the seed and the case; None seeds it afresh.

    Examples
    --------
    >>> series = np.array([[1.0, 2.0]])
    >>> bool(case_generator(0, series).random() == case_generator(0, series.copy()).random())
    True
    """
    if seed is None:
        return np.random.default_rng()
    digest = hashlib.sha256(f"{values.shape}".encode() + np.ascontiguousarray(values).tobytes()).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])


def _blank(subject: Subject, method: str) -> Explanation:
    series = subject.bags.raw(np.arange(len(subject.bags)))
    return Explanation(
        series=series,
        lengths=subject.bags.lengths,
        scores=np.zeros((len(series), len(subject.classes), series.shape[2])),
        logits=subject.logits,
        classes=subject.classes,
        method=method,
    )


def _assembled(blank: Explanation, codes: NDArray[np.int64], answers: list[Answer], *, complete: bool) -> Explanation:
    """Fill in the answers. Contributions need all classes, and a bias that is the same for all cases."""
    scores = np.zeros(blank.scores.shape)
    contributions = np.zeros(blank.scores.shape)
    for case, answer in enumerate(answers):
        scores[case, codes[case], : answer.scores.shape[1]] = answer.scores
        if answer.contributions is not None:
            contributions[case, codes[case], : answer.scores.shape[1]] = answer.contributions
    biases = [answer.bias for answer in answers]
    first = biases[0]
    if not complete or first is None or any(bias is None or not np.array_equal(bias, first) for bias in biases):
        return dataclasses.replace(blank, scores=scores)
    return dataclasses.replace(blank, scores=scores, contributions=contributions, bias=first)


def _watched(cases: range, method: str, *, show: bool) -> Any:
    """Show a bar where somebody sees it: on a terminal or in a notebook."""
    return tqdm(cases, desc=method, unit="case", disable=not (show and someone_watches()))

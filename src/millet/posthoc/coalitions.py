"""Coalitions: which players are present, how much each coalition counts, and what the model says about it.

In:  a number of players (timepoints or segments of them) and a generator.
Out: `Coalitions` for the regressions of `millet.posthoc.shapley` and LIME, and the model's logits for them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from millet.errors import lookup
from millet.posthoc.subjects import Array, Floats, Subject

SAMPLINGS = {"kernel": "sizes as the SHAP kernel weighs them", "uniform": "every coalition equally likely"}


class Coalitions(NamedTuple):
    """Coalitions and how much each counts.

    Attributes
    ----------
    present : ndarray of bool, shape (m, n_players)
    weights : ndarray of shape (m,)
        The weight of each in the regression.
    paired : bool
        Whether every second coalition is the complement of the one before it.
    """

    present: NDArray[np.bool_]
    weights: Floats
    paired: bool = False


def shap_kernel(sizes: NDArray[np.int64], n_players: int) -> Floats:
    """Return the SHAP kernel of coalitions of these sizes, up to a factor; sizes are 1 to n_players - 1.

    Examples
    --------
    >>> shap_kernel(np.array([1, 2, 3]), 4).round(3)
    array([1. , 0.5, 1. ])
    """
    from scipy.special import gammaln

    rest = n_players - sizes
    # In logarithms: the number of ways to choose half of 1,100 players is beyond the range of floats.
    logarithms = gammaln(sizes + 1) + gammaln(rest + 1) - np.log(sizes) - np.log(rest)
    kernel: Floats = np.exp(logarithms - logarithms.max(initial=-np.inf))
    return kernel


def draw_coalitions(
    n_players: int, n_samples: int, rng: np.random.Generator, *, sampling: str, paired: bool
) -> Coalitions:
    """Return all coalitions if n_samples suffices, else that many at random; never the empty or the full one.

    Parameters
    ----------
    n_players : int
        A single player has no coalitions but these two, so none is returned.
    n_samples : int
        Rounded up to an even number if they are paired.
    rng : Generator
    sampling : {"kernel", "uniform"}
        "kernel" draws sizes in proportion to the SHAP kernel and gives all the same weight; "uniform" draws all
        coalitions with the same chance and weights them by the kernel. Both estimate the same regression.
    paired : bool
        Follow each coalition by its complement, which cancels what both have in common.
    """
    lookup("sampling", sampling, SAMPLINGS)
    if n_players < 62 and 2**n_players - 2 <= n_samples:
        present = (np.arange(1, 2**n_players - 1)[:, None] >> np.arange(n_players)) & 1 == 1
        return Coalitions(present, shap_kernel(present.sum(axis=1), n_players))
    n_drawn = -(-n_samples // 2) if paired else n_samples
    present = _draw_by_size(n_players, n_drawn, rng) if sampling == "kernel" else _draw_alike(n_players, n_drawn, rng)
    if paired:
        present = np.stack([present, ~present], axis=1).reshape(-1, n_players)
    weights = np.ones(len(present)) if sampling == "kernel" else shap_kernel(present.sum(axis=1), n_players)
    return Coalitions(present, weights, paired)


def _draw_by_size(n_players: int, n_drawn: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    sizes = np.arange(1, n_players)
    chances = 1 / (sizes * (n_players - sizes))
    drawn = rng.choice(sizes, size=n_drawn, p=chances / chances.sum())
    ranks = rng.random((n_drawn, n_players)).argsort(axis=1).argsort(axis=1)
    present: NDArray[np.bool_] = ranks < drawn[:, None]
    return present


def _draw_alike(n_players: int, n_drawn: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    present: NDArray[np.bool_] = rng.integers(2, size=(n_drawn, n_players), dtype=np.uint8) == 1
    while (extreme := present.all(axis=1) | ~present.any(axis=1)).any():
        present[extreme] = rng.integers(2, size=(int(extreme.sum()), n_players), dtype=np.uint8) == 1
    return present


def logits_of_coalitions(
    subject: Subject,
    values: Array,
    present: NDArray[np.bool_],
    player_of: NDArray[np.int64],
    replacement: Array | None,
    batch_size: int,
) -> Floats:
    """Return the model's logits for one case with only the coalitions' timepoints.

    Parameters
    ----------
    subject : Subject
    values : ndarray of shape (n_channels, n_timepoints)
        The case.
    present : ndarray of bool, shape (m, n_players)
    player_of : ndarray of int, shape (n_timepoints,)
        The player that each timepoint belongs to.
    replacement : ndarray of shape (n_channels, n_timepoints), or None
        What stands where a player is absent; None to remove its timepoints.
    batch_size : int
        Whole series to hold in memory at once; of shorter ones, proportionally more.

    Returns
    -------
    ndarray of shape (m, n_classes)
    """
    logits = np.zeros((len(present), len(subject.classes)))  # 0 for a series without any timepoint
    counts = present @ np.bincount(player_of, minlength=present.shape[1])  # timepoints of each coalition
    if replacement is None:
        rows = np.argsort(-counts, kind="stable")  # similar lengths together, for little padding
        rows = rows[counts[rows] > 0]
    else:
        counts = np.full(len(present), len(player_of))
        rows = np.arange(len(present))
    start = 0
    while start < len(rows):
        stop = start + batch_size * len(player_of) // int(counts[rows[start]])
        chosen = rows[start:stop]
        kept = present[chosen][:, player_of]
        if replacement is None:
            logits[chosen] = subject.ask_shortened(values, kept)
        else:
            logits[chosen] = subject.ask(np.where(kept[:, None], values, replacement))
        start = stop
    return logits

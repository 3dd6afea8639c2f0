"""Slow oracles for post-hoc explanations: the definitions, without linear algebra or batches."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np


def shapley_by_permutations(value, n_players):
    """Average what each player adds over every order of arrival; value(frozenset of players) -> (n_classes,)."""
    total = None
    for order in itertools.permutations(range(n_players)):
        gains = []
        for place, player in enumerate(order):
            before = value(frozenset(order[:place]))
            gains.append((player, value(frozenset(order[: place + 1])) - before))
        if total is None:
            total = np.zeros((n_players, len(gains[0][1])))
        for player, gain in gains:
            total[player] += gain
    return total / math.factorial(n_players)


def shap_kernel(size, n_players):
    """The SHAP kernel as Lundberg and Lee write it, in fractions."""
    return Fraction(n_players - 1, math.comb(n_players, size) * size * (n_players - size))


def coalition_value(model, series, replacement, n_classes, player_of=None):
    """Return value(players): what a model says of a series (C, T) with only these players' timepoints.

    The others are replaced, or deleted where `replacement` is None; a series without timepoints has logits of 0.
    """
    player_of = list(range(series.shape[1])) if player_of is None else list(player_of)

    @functools.cache
    def value(players):
        columns = []
        for timepoint, player in enumerate(player_of):
            if player in players:
                columns.append(series[:, timepoint])
            elif replacement is not None:
                columns.append(replacement[:, timepoint])
        if not columns:
            return np.zeros(n_classes)
        return np.asarray(model(np.stack(columns, axis=1)[None]))[0]

    return value


def occlusion(model, series, replacement, window, stride):
    """Replace one window after the other; each timepoint has the mean drop of the windows over it."""
    n_timepoints = series.shape[1]
    whole = np.asarray(model(series[None]))[0]
    starts = [*range(0, n_timepoints - window, stride), n_timepoints - window]  # the last ends with the series
    drops = [[] for _ in range(n_timepoints)]
    for start in starts:
        changed = series.copy()
        changed[:, start : start + window] = replacement[:, start : start + window]
        drop = whole - np.asarray(model(changed[None]))[0]
        for timepoint in range(start, start + window):
            drops[timepoint].append(drop)
    return np.array([np.mean(found, axis=0) for found in drops]).T

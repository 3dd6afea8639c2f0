"""Hydra (Dempster et al. 2023): groups of random kernels compete at every timepoint; the features count who wins.

In:  cases, kernels and channels. Out: features (B, F), or each timepoint's share in their weighted sums.

In every group, the kernel with the largest value at a point gets that value as its vote, and the kernel with the
smallest value gets one vote. A feature is the square root of a kernel's votes. It belongs to the points that voted
for the kernel, in proportion to their votes; its centre belongs evenly to all points, each of which had a vote.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from millet.compiled import compiled
from millet.rocket.convolution import add_to, convolve
from millet.rocket.series import represent
from millet.rocket.spreading import WEIGHTED, lay

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int32]

EVERYONE = -1


@compiled
def hydra_features(
    values: Floats,
    lengths: NDArray[np.int64],
    difference: bool,
    dilations: Integers,
    kernels: Floats,
    channel_starts: Integers,
    channels: Integers,
    features: Doubles,
) -> None:
    """Write the features (B, F) of cases (B, C, T): in each dilation and group, first for largest, then for smallest.

    The kernels are (n_dilations, n_groups, group_size, 9).
    """
    n_groups, group_size = kernels.shape[1], kernels.shape[2]
    votes = np.empty((2, group_size))
    for case in range(len(values)):
        series = represent(values[case], lengths[case], difference)
        lead = 4 * dilations[-1]
        padded = np.zeros(series.shape[1] + 2 * lead, dtype=np.float32)
        extremes = np.empty((2, series.shape[1]), dtype=np.float32)
        winners = np.empty((2, series.shape[1]), dtype=np.uint32)
        feature = 0
        for position in range(len(dilations)):
            for group in range(n_groups):
                combination = position * n_groups + group
                chosen = channels[channel_starts[combination] : channel_starts[combination + 1]]
                pad_channels(series, chosen, lead, padded)
                compete(padded, lead, dilations[position], kernels[position, group], extremes, winners)
                count_votes(extremes, winners, votes)
                for side in range(2):
                    for kernel in range(group_size):
                        features[case, feature] = np.sqrt(max(votes[side, kernel], 0.0))
                        feature += 1


@compiled
def pad_channels(series: Floats, channels: Integers, lead: int, padded: Floats) -> None:
    """Add up some channels of (C, T) into `padded`, from `lead` on."""
    inside = padded[lead : lead + series.shape[1]]
    inside[:] = series[channels[0]]
    for position in range(1, len(channels)):
        add_to(series[channels[position]], inside)


@compiled
def compete(
    padded: Floats, lead: int, dilation: int, kernels: Floats, extremes: Floats, winners: NDArray[np.uint32]
) -> None:
    """Write the largest and the smallest value (2, T) of the kernels (group_size, 9), and which kernels have them."""
    n_points = extremes.shape[1]
    first = lead - 4 * dilation
    response = np.empty(n_points, dtype=np.float32)
    for kernel in range(len(kernels)):
        convolve(padded[first:], dilation, kernels[kernel], response)
        if kernel == 0:
            extremes[:] = response
            winners[:] = 0
        else:
            challenge(response, np.uint32(kernel), extremes[0], winners[0], extremes[1], winners[1])


@compiled
def challenge(
    response: Floats,
    kernel: np.uint32,
    largest: Floats,
    largest_of: NDArray[np.uint32],
    smallest: Floats,
    smallest_of: NDArray[np.uint32],
) -> None:
    """Replace the largest and smallest values where this kernel goes beyond them; the first of equals stays."""
    for t in range(len(response)):
        value = response[t]
        larger = value > largest[t]
        smaller = value < smallest[t]
        largest[t] = value if larger else largest[t]
        largest_of[t] = kernel if larger else largest_of[t]
        smallest[t] = value if smaller else smallest[t]
        smallest_of[t] = kernel if smaller else smallest_of[t]


@compiled
def count_votes(extremes: Floats, winners: NDArray[np.uint32], votes: Doubles) -> None:
    """Write each kernel's votes (2, group_size): its values where it was the largest; how often it was smallest."""
    votes[:] = 0.0
    for t in range(extremes.shape[1]):
        votes[0, winners[0, t]] += extremes[0, t]
        votes[1, winners[1, t]] += 1.0


@compiled
def hydra_shares(
    values: Floats,
    length: int,
    difference: bool,
    dilations: Integers,
    kernels: Floats,
    channel_starts: Integers,
    channels: Integers,
    weights: Doubles,
    centres: Doubles,
    spread: int,
    by_channel: bool,
) -> Doubles:
    """Return one case's shares (C or 1, T, K): nonzero features minus centres (F,), times weights (F, K)."""
    series = represent(values, length, difference)
    n_points = series.shape[1]
    n_groups, group_size = kernels.shape[1], kernels.shape[2]
    laid = np.zeros((len(series) if by_channel else 1, n_points, weights.shape[1]))
    lead = 4 * dilations[-1]
    padded = np.zeros(n_points + 2 * lead, dtype=np.float32)
    extremes = np.empty((2, n_points), dtype=np.float32)
    winners = np.empty((2, n_points), dtype=np.uint32)
    shares = np.zeros((n_points, weights.shape[1]))
    per_vote = np.zeros((2, group_size, weights.shape[1]))
    per_point = np.zeros((2, group_size, weights.shape[1]))
    feature = 0
    for position in range(len(dilations)):
        for group in range(n_groups):
            combination = position * n_groups + group
            chosen = channels[channel_starts[combination] : channel_starts[combination + 1]]
            pad_channels(series, chosen, lead, padded)
            compete(padded, lead, dilations[position], kernels[position, group], extremes, winners)
            own = slice(feature, feature + 2 * group_size)
            feature += 2 * group_size
            price_votes(extremes, winners, weights[own], centres[own], per_vote, per_point)
            if spread == WEIGHTED:
                for side in range(2):
                    for kernel in range(group_size):
                        add_votes(extremes, winners, per_vote, per_point, side, kernel, shares)
                        sizes = np.abs(kernels[position, group, kernel])
                        lay(shares, series, chosen, sizes, dilations[position], spread, laid)
                        shares[:] = 0.0
                continue
            add_votes(extremes, winners, per_vote, per_point, 0, EVERYONE, shares)
            add_votes(extremes, winners, per_vote, per_point, 1, EVERYONE, shares)
            if by_channel or group == n_groups - 1:
                lay(shares, series, chosen, kernels[position, group, 0], dilations[position], spread, laid)
                shares[:] = 0.0
    return laid


@compiled
def price_votes(
    extremes: Floats,
    winners: NDArray[np.uint32],
    weights: Doubles,
    centres: Doubles,
    per_vote: Doubles,
    per_point: Doubles,
) -> None:
    """Write what a vote for a kernel, and what every point, contributes to each class (2, group_size, K).

    A vote for the largest counts only where it is positive: a kernel's votes may include negative ones, and shares
    in proportion to those would exceed the whole.
    """
    group_size = per_vote.shape[1]
    votes = np.zeros((2, group_size))
    positive = np.zeros((2, group_size))
    count_votes(extremes, winners, votes)
    count_votes(np.maximum(extremes, np.float32(0.0)), winners, positive)
    for side in range(2):
        for kernel in range(group_size):
            feature = side * group_size + kernel
            price = 0.0
            centre = 0.0
            if votes[side, kernel] > 0.0:
                price = np.sqrt(votes[side, kernel]) / positive[side, kernel]
                centre = centres[feature] / extremes.shape[1]
            for k in range(weights.shape[1]):
                per_vote[side, kernel, k] = price * weights[feature, k]
                per_point[side, kernel, k] = -centre * weights[feature, k]


@compiled
def add_votes(
    extremes: Floats,
    winners: NDArray[np.uint32],
    per_vote: Doubles,
    per_point: Doubles,
    side: int,
    only: int,
    shares: Doubles,
) -> None:
    """Add what a point and its vote on one side contribute to its shares (T, K), for one kernel or for everyone."""
    evenly = np.zeros(shares.shape[1])
    for kernel in range(per_point.shape[1]):
        if only in (EVERYONE, kernel):
            evenly += per_point[side, kernel]
    for t in range(len(shares)):
        winner = winners[side, t]
        vote = max(np.float64(extremes[0, t]), 0.0) if side == 0 else 1.0
        if only != EVERYONE and only != winner:
            vote = 0.0
        price = per_vote[side, winner]
        share = shares[t]
        for k in range(len(share)):
            share[k] += evenly[k] + vote * price[k]

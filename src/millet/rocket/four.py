"""The four features of MultiRocket: how often a convolution exceeds a bias, how far, when and for how long.

In:  cases and a `Plan`. Out: features (B, F), or each timepoint's share in their weighted sums.

For each combination and bias (Tan et al. 2022): the proportion of positive values (PPV), their mean (MPV), the mean
of their indices (MIPV) and the longest stretch of them (LSPV). Indices count from 1, so that no positive value at
all gives 0, an empty sum; the published -1 for that, with indices from 0, is the same once features are centred.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from millet.compiled import compiled, compiled_reduction
from millet.rocket.convolution import convolve_fixed, sum_channels
from millet.rocket.ppv import count_above, count_steps, output_margin, tap_sizes
from millet.rocket.series import represent
from millet.rocket.spreading import WEIGHTED, lay

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int32]

N_POOLS = 4
N_TOGETHER = 4  # divides the number of kernels
ORDINALS = np.arange(1, 1025, dtype=np.float32)


@compiled
def four_features(
    values: Floats,
    lengths: NDArray[np.int64],
    difference: bool,
    heavy: Integers,
    dilations: Integers,
    n_biases: Integers,
    biases: Floats,
    channel_starts: Integers,
    channels: Integers,
    features: Doubles,
) -> None:
    """Write the features (B, 4 * n_biases) of cases (B, C, T): the four of one bias side by side."""
    n_kernels = len(heavy)
    widest = 4 * dilations[-1]
    for case in range(len(values)):
        series = represent(values[case], lengths[case], difference)
        n_points = series.shape[1]
        if n_points == 0:
            features[case] = 0.0
            continue
        padded = np.zeros(n_points + 2 * widest, dtype=np.float32)
        nine = np.empty(n_points, dtype=np.float32)
        response = np.empty(n_points, dtype=np.float32)
        bias = 0
        for position in range(len(dilations)):
            dilation = dilations[position]
            for kernel in range(n_kernels):
                combination = position * n_kernels + kernel
                if kernel == 0 or len(series) > 1:
                    chosen = channels[channel_starts[combination] : channel_starts[combination + 1]]
                    sum_channels(series, chosen, dilation, widest, padded, nine)
                convolve_fixed(padded, nine, dilation, widest, heavy[kernel], response)
                margin = output_margin(position + kernel, dilation, n_points)
                inside = response[margin : n_points - margin]
                for _ in range(n_biases[position]):
                    count, total, indices = sum_positive(inside, biases[bias])
                    own = features[case, N_POOLS * bias : N_POOLS * (bias + 1)]
                    own[0] = count / len(inside)
                    own[1] = total / count - biases[bias] if count > 0.0 else 0.0
                    own[2] = indices / count if count > 0.0 else 0.0
                    own[3] = longest_stretch(inside, biases[bias])[1]
                    bias += 1


@compiled_reduction
def sum_positive(response: Floats, bias: float) -> tuple[float, float, float]:
    """Return the number of values above the bias, their sum, and the sum of their indices, counted from 1.

    All three are exact: the values lie on the grid of `millet.rocket.series`.
    """
    count = 0.0
    total = 0.0
    indices = 0.0
    for first in range(0, len(response), len(ORDINALS)):
        block = response[first : first + len(ORDINALS)]
        # Within a block, counts and sums of indices are small enough to be exact in 32 bits.
        n_above = np.float32(0.0)
        ordinals = np.float32(0.0)
        for t in range(len(block)):
            n_above += np.float32(1.0) if block[t] > bias else np.float32(0.0)
            ordinals += ORDINALS[t] if block[t] > bias else np.float32(0.0)
        for t in range(len(block)):
            total += np.float64(block[t]) if block[t] > bias else 0.0
        count += float(n_above)
        indices += first * float(n_above) + float(ordinals)
    return count, total, indices


@compiled
def longest_stretch(response: Floats, bias: float) -> tuple[int, int]:
    """Return where the longest stretch of values above the bias starts (the first of equals), and its length."""
    n_points = len(response)
    longest = 0
    stop = 0
    start = 0
    while start + longest < n_points:
        # A longer stretch from `start` must include the point `longest` ahead: looking there first skips many.
        t = start + longest
        while t >= start and response[t] > bias:
            t -= 1
        if t >= start:
            start = t + 1
            continue
        t = start + longest + 1
        while t < n_points and response[t] > bias:
            t += 1
        longest = t - start
        stop = t
        start = t + 1
    return stop - longest, longest


@compiled
def four_shares(
    values: Floats,
    length: int,
    difference: bool,
    heavy: Integers,
    dilations: Integers,
    n_biases: Integers,
    biases: Floats,
    channel_starts: Integers,
    channels: Integers,
    weights: Doubles,
    centres: Doubles,
    spread: int,
    by_channel: bool,
) -> Doubles:
    """Return one case's shares (C or 1, T, K), adding up over time to (features - centres) times weights (F, K)."""
    series = represent(values, length, difference)
    n_points = series.shape[1]
    n_classes = weights.shape[1]
    laid = np.zeros((len(series) if by_channel else 1, n_points, n_classes))
    if n_points == 0:
        return laid
    n_kernels = len(heavy)
    widest = 4 * dilations[-1]
    padded = np.zeros(n_points + 2 * widest, dtype=np.float32)
    nine = np.empty(n_points, dtype=np.float32)
    responses = np.zeros((N_TOGETHER, n_points), dtype=np.float32)
    steps = np.zeros((N_TOGETHER, n_points), dtype=np.uint32)
    tables = np.zeros((N_TOGETHER, 3, n_biases.max() + 2, n_classes))
    shares = np.zeros((n_points, n_classes))
    stretches = np.zeros((n_points + 1, n_classes))
    apart = spread == WEIGHTED or by_channel
    n_together = 1 if apart else N_TOGETHER
    bias = 0
    for position in range(len(dilations)):
        dilation = dilations[position]
        for kernel in range(n_kernels):
            combination = position * n_kernels + kernel
            chosen = channels[channel_starts[combination] : channel_starts[combination + 1]]
            if kernel == 0 or len(series) > 1:
                sum_channels(series, chosen, dilation, widest, padded, nine)
            slot = kernel % n_together
            response = responses[slot]
            convolve_fixed(padded, nine, dilation, widest, heavy[kernel], response)
            margin = output_margin(position + kernel, dilation, n_points)
            stop = bias + n_biases[position]
            own = slice(N_POOLS * bias, N_POOLS * stop)
            count_steps(response, biases[bias:stop], margin, steps[slot])
            fill_tables(response, margin, biases[bias:stop], weights[own], centres[own], tables[slot], stretches)
            if slot == n_together - 1:
                add_from_threes(tables, steps, responses, shares)
            bias = stop
            if apart or kernel == n_kernels - 1:
                add_stretches(stretches, shares)
                lay(shares, series, chosen, tap_sizes(heavy[kernel]), dilation, spread, laid)
                shares[:] = 0.0
                stretches[:] = 0.0
    return laid


@compiled
def fill_tables(
    response: Floats,
    margin: int,
    biases: Floats,
    weights: Doubles,
    centres: Doubles,
    tables: Doubles,
    stretches: Doubles,
) -> None:
    """Write what a point of each step contributes: as such, per value, and per place; mark the stretches.

    Places count from 1 at the first point of the series, indices at the first point inside the margin.
    """
    inside = response[margin : len(response) - margin]
    n_inside = len(inside)
    tables[:, :2] = 0.0
    for bias in range(len(biases)):
        level = np.float64(biases[bias])
        count = count_above(inside, biases[bias])
        per_point = 1.0 / count if count > 0.0 else 0.0
        first, longest = longest_stretch(inside, biases[bias])
        ppv, mpv, mipv, lspv = N_POOLS * bias, N_POOLS * bias + 1, N_POOLS * bias + 2, N_POOLS * bias + 3
        for k in range(weights.shape[1]):
            centre = 0.0
            for feature in range(ppv, lspv + 1):
                centre += centres[feature] * weights[feature, k]
            tables[0, 1, k] -= centre / n_inside
            not_by_place = level * weights[mpv, k] + margin * weights[mipv, k]
            tables[0, bias + 2, k] = weights[ppv, k] / n_inside - not_by_place * per_point
            tables[1, bias + 2, k] = weights[mpv, k] * per_point
            tables[2, bias + 2, k] = weights[mipv, k] * per_point
            stretches[margin + first, k] += weights[lspv, k]
            stretches[margin + first + longest, k] -= weights[lspv, k]
    for bias in range(len(biases)):
        for table in tables:
            for k in range(weights.shape[1]):
                table[bias + 2, k] += table[bias + 1, k]


@compiled
def add_from_threes(tables: Doubles, steps: NDArray[np.uint32], responses: Floats, shares: Doubles) -> None:
    """Add what steps, values and place give to each point's shares (T, K): four kernels at once, to load less."""
    for t in range(len(shares)):
        a, a_by_value, a_by_place = tables[0, 0, steps[0, t]], tables[0, 1, steps[0, t]], tables[0, 2, steps[0, t]]
        b, b_by_value, b_by_place = tables[1, 0, steps[1, t]], tables[1, 1, steps[1, t]], tables[1, 2, steps[1, t]]
        c, c_by_value, c_by_place = tables[2, 0, steps[2, t]], tables[2, 1, steps[2, t]], tables[2, 2, steps[2, t]]
        d, d_by_value, d_by_place = tables[3, 0, steps[3, t]], tables[3, 1, steps[3, t]], tables[3, 2, steps[3, t]]
        a_value, b_value = np.float64(responses[0, t]), np.float64(responses[1, t])
        c_value, d_value = np.float64(responses[2, t]), np.float64(responses[3, t])
        place = np.float64(t + 1)
        share = shares[t]
        for k in range(len(share)):
            first = (a[k] + a_value * a_by_value[k]) + (b[k] + b_value * b_by_value[k])
            last = (c[k] + c_value * c_by_value[k]) + (d[k] + d_value * d_by_value[k])
            by_place = (a_by_place[k] + b_by_place[k]) + (c_by_place[k] + d_by_place[k])
            share[k] += first + last + place * by_place


@compiled
def add_stretches(stretches: Doubles, shares: Doubles) -> None:
    """Add to each point's shares (T, K) all the stretches (T + 1, K) that have started by then and not ended."""
    running = np.zeros(shares.shape[1])
    for t in range(len(shares)):
        for k in range(len(running)):
            running[k] += stretches[t, k]
            shares[t, k] += running[k]

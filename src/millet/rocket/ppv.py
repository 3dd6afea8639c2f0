"""PPV, the feature of MiniRocket: the proportion of a convolution's values that exceed a bias.

In:  cases and a `Plan`. Out: features (B, F), or each timepoint's share in their weighted sums.

The biases of a combination are ascending, so the weights of all biases below a value are one cumulative sum: a
point's share takes one table lookup per combination, not one per feature; and one for two combinations where the
series is long enough to be worth a joint table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from millet.compiled import compiled, compiled_reduction
from millet.rocket.convolution import convolve_fixed, sum_channels
from millet.rocket.series import represent
from millet.rocket.spreading import WEIGHTED, lay

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int32]

N_TABLES = 6  # this number and its double divide the number of kernels


@compiled
def ppv_features(
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
    """Write the features (B, F) of cases (B, C, T)."""
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
        feature = 0
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
                    features[case, feature] = count_above(inside, biases[feature]) / len(inside)
                    feature += 1


@compiled
def output_margin(parity: int, dilation: int, n_points: int) -> int:
    """Return how many points at either end a combination leaves out.

    Every other combination uses only the centres whose taps all lie inside, if there are any.
    """
    margin = 4 * dilation
    return 0 if parity % 2 == 0 or n_points <= 2 * margin else margin


@compiled_reduction
def count_above(response: Floats, bias: float) -> float:
    """Return how many values exceed the bias; exact for as many as 32-bit floats can count, 16 million."""
    count = np.float32(0.0)
    for value in response:
        count += np.float32(1.0) if value > bias else np.float32(0.0)
    return float(count)


@compiled
def ppv_shares(
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
    response = np.empty(n_points, dtype=np.float32)
    shares = np.zeros((n_points, n_classes))
    # Kernels of one dilation touch the same points: they need separate spreading only where sizes or channels differ.
    apart = spread == WEIGHTED or by_channel
    most_rows = n_biases.max() + 2
    steps = np.zeros((2, n_points), dtype=np.uint32)
    tables = np.zeros((2, most_rows, n_classes))
    joint_steps = np.zeros((N_TABLES, n_points), dtype=np.uint32)
    most_joint_rows = most_rows
    for n_rows in n_biases + 2:
        if n_rows * n_rows <= n_points:
            most_joint_rows = max(most_joint_rows, n_rows * n_rows)
    joint_tables = np.zeros((N_TABLES, most_joint_rows, n_classes))
    feature = 0
    for position in range(len(dilations)):
        dilation = dilations[position]
        n_rows = n_biases[position] + 2
        n_joined = 1 if apart or n_rows * n_rows > n_points else 2
        n_together = 1 if apart else n_joined * N_TABLES
        for kernel in range(n_kernels):
            combination = position * n_kernels + kernel
            chosen = channels[channel_starts[combination] : channel_starts[combination + 1]]
            if kernel == 0 or len(series) > 1:
                sum_channels(series, chosen, dilation, widest, padded, nine)
            convolve_fixed(padded, nine, dilation, widest, heavy[kernel], response)
            margin = output_margin(position + kernel, dilation, n_points)
            own = slice(feature, feature + n_biases[position])
            feature += n_biases[position]
            half = kernel % n_joined
            count_steps(response, biases[own], margin, steps[half])
            write_table(weights[own], centres[own], n_points - 2 * margin, tables[half])
            if half == n_joined - 1:
                slot = kernel % n_together // n_joined
                join(tables[:n_joined], steps[:n_joined], n_rows, joint_tables[slot], joint_steps[slot])
            if kernel % n_together == n_together - 1:
                add_from_tables(joint_tables, joint_steps, shares)
            if apart or kernel == n_kernels - 1:
                lay(shares, series, chosen, tap_sizes(heavy[kernel]), dilation, spread, laid)
                shares[:] = 0.0
    return laid


@compiled
def count_steps(response: Floats, biases: Floats, margin: int, steps: NDArray[np.uint32]) -> None:
    """Write 0 for a point in the margin, else 1 plus how many of the biases its value exceeds."""
    steps[:] = 1
    for bias in biases:
        for t in range(len(response)):
            steps[t] += np.uint32(response[t] > bias)
    steps[:margin] = 0
    steps[len(steps) - margin :] = 0


@compiled
def write_table(weights: Doubles, centres: Doubles, n_inside: int, table: Doubles) -> None:
    """Write what a point of each step gives to each class: the centres' part, and that of each bias exceeded."""
    table[:2] = 0.0
    for bias in range(len(weights)):
        for k in range(weights.shape[1]):
            table[1, k] -= centres[bias] * weights[bias, k] / n_inside
    for bias in range(len(weights)):
        for k in range(weights.shape[1]):
            table[bias + 2, k] = table[bias + 1, k] + weights[bias, k] / n_inside


@compiled
def join(
    tables: Doubles, steps: NDArray[np.uint32], n_rows: int, joint_table: Doubles, joint_steps: NDArray[np.uint32]
) -> None:
    """Join one or two tables, of which `n_rows` rows are in use, into one, and their steps into its row numbers."""
    joint_steps[:] = steps[0]
    joint_table[:n_rows] = tables[0, :n_rows]
    if len(tables) == 1:
        return
    for t in range(len(joint_steps)):
        joint_steps[t] += steps[1, t] * np.uint32(n_rows)
    for second in range(n_rows):
        for first in range(n_rows):
            for k in range(tables.shape[2]):
                joint_table[second * n_rows + first, k] = tables[0, first, k] + tables[1, second, k]


@compiled
def add_from_tables(tables: Doubles, steps: NDArray[np.uint32], shares: Doubles) -> None:
    """Add to each point's shares (T, K) the rows its steps select in the six tables: all at once, to load less."""
    for t in range(len(shares)):
        a = tables[0, steps[0, t]]
        b = tables[1, steps[1, t]]
        c = tables[2, steps[2, t]]
        d = tables[3, steps[3, t]]
        e = tables[4, steps[4, t]]
        f = tables[5, steps[5, t]]
        share = shares[t]
        for k in range(len(share)):
            share[k] += ((a[k] + b[k]) + (c[k] + d[k])) + (e[k] + f[k])


@compiled
def tap_sizes(heavy: Integers) -> Floats:
    """Return the absolute weights of a fixed kernel's taps."""
    sizes = np.ones(9, dtype=np.float32)
    for tap in heavy:
        sizes[tap] = 2.0
    return sizes

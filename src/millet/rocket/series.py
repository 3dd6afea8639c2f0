"""Series as the convolutions see them: one case over its own length, itself or its first difference.

Values are rounded to a grid on which every sum that the fixed kernels form is exact in 32 bits. So a convolution
does not depend on the order of its additions, and a flat stretch gives exactly 0, not rounding noise whose sign
would pass for a pattern. The grid is as fine as 32-bit floats are for the largest sum: nothing is lost. Each channel
has a grid of its own, and so has the sum of several, whatever the size of the other channels.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from millet.compiled import compiled

Floats = NDArray[np.float32]

# The sum of a fixed kernel's absolute weights.
LARGEST_SUM = 12.0
MANTISSA_BITS = 24


@compiled
def represent(values: Floats, length: int, difference: bool) -> Floats:
    """Return one case (C, T), cut to its length, or its first difference, on the grid of exact sums."""
    n_channels = values.shape[0]
    n_points = max(length - 1, 0) if difference else length
    series = np.empty((n_channels, n_points), dtype=np.float32)
    for channel in range(n_channels):
        for t in range(n_points):
            series[channel, t] = values[channel, t + 1] - values[channel, t] if difference else values[channel, t]
        round_to_grid(series[channel])
    return series


@compiled
def round_to_grid(values: Floats) -> None:
    """Round values (T,) in place to the grid on which every sum that a fixed kernel forms from them is exact."""
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    if largest > 0.0:
        step = 2.0 ** (math.ceil(math.log2(LARGEST_SUM * largest)) - MANTISSA_BITS)
        for t in range(len(values)):
            values[t] = np.float32(np.rint(np.float64(values[t]) / step) * step)

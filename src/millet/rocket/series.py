"""Series as the convolutions see them: one case over its own length, itself or its first difference.

Values are rounded to a grid on which every sum that the fixed kernels form is exact in 32 bits. So a convolution
does not depend on the order of its additions, and a flat stretch gives exactly 0, not rounding noise whose sign
would pass for a pattern. The grid is as fine as 32-bit floats are for the largest sum: nothing is lost.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from millet.compiled import compiled

Floats = NDArray[np.float32]

# The sum of a fixed kernel's absolute weights, and how many channels it adds up at most.
LARGEST_SUM = 12.0
MAX_CHANNELS = 9
MANTISSA_BITS = 24


@compiled
def represent(values: Floats, length: int, difference: bool) -> Floats:
    """Return one case (C, T), cut to its length, or its first difference, on the grid of exact sums."""
    n_channels = values.shape[0]
    n_points = max(length - 1, 0) if difference else length
    series = np.empty((n_channels, n_points), dtype=np.float32)
    largest = 0.0
    for channel in range(n_channels):
        for t in range(n_points):
            value = values[channel, t + 1] - values[channel, t] if difference else values[channel, t]
            series[channel, t] = value
            largest = max(largest, abs(value))
    if largest > 0.0:
        bound = LARGEST_SUM * min(n_channels, MAX_CHANNELS) * largest
        step = 2.0 ** (math.ceil(math.log2(bound)) - MANTISSA_BITS)
        for channel in range(n_channels):
            for t in range(n_points):
                series[channel, t] = np.float32(np.rint(np.float64(series[channel, t]) / step) * step)
    return series

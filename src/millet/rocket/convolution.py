"""Convolutions of a series with dilated kernels of nine taps, centred, with zeros beyond its ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from millet.compiled import compiled
from millet.rocket.series import round_to_grid

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]


@compiled
def sum_channels(series: Floats, channels: Integers, dilation: int, lead: int, padded: Floats, nine: Floats) -> None:
    """Add up some channels of (C, T) into `padded`, from `lead` on, and the nine taps of every point into `nine`.

    `padded` (at least T + 2 * lead, where lead is at least 4 * dilation) must be zero outside the series.
    """
    n_points = series.shape[1]
    inside = padded[lead : lead + n_points]
    inside[:] = series[channels[0]]
    for position in range(1, len(channels)):
        add_to(series[channels[position]], inside)
    if len(channels) > 1:
        round_to_grid(inside)
    first = lead - 4 * dilation
    nine[:] = padded[first : first + n_points]
    for tap in range(1, 9):
        add_to(padded[first + tap * dilation :][:n_points], nine)


@compiled
def add_to(source: Floats, target: Floats) -> None:
    """Add source to target, both (T,)."""
    for t in range(len(target)):
        target[t] += source[t]


@compiled
def convolve_fixed(padded: Floats, nine: Floats, dilation: int, lead: int, heavy: Integers, response: Floats) -> None:
    """Write at every point the convolution with a kernel whose three `heavy` taps weigh 2, and the others -1."""
    first = lead - 4 * dilation
    # Slices, because the compiler can't use vector instructions where an index might be negative.
    a = padded[first + heavy[0] * dilation :][: len(nine)]
    b = padded[first + heavy[1] * dilation :][: len(nine)]
    c = padded[first + heavy[2] * dilation :][: len(nine)]
    three = np.float32(3.0)
    for t in range(len(nine)):
        response[t] = three * (a[t] + b[t] + c[t]) - nine[t]


@compiled
def convolve(padded: Floats, dilation: int, kernel: Floats, response: Floats) -> None:
    """Write the convolution with a kernel (9,) at every point; its first tap starts where `padded` does."""
    n_points = len(response)
    a = padded[:n_points]
    b = padded[dilation:][:n_points]
    c = padded[2 * dilation :][:n_points]
    d = padded[3 * dilation :][:n_points]
    e = padded[4 * dilation :][:n_points]
    f = padded[5 * dilation :][:n_points]
    g = padded[6 * dilation :][:n_points]
    h = padded[7 * dilation :][:n_points]
    i = padded[8 * dilation :][:n_points]
    w0, w1, w2, w3, w4, w5, w6, w7, w8 = (
        kernel[0],
        kernel[1],
        kernel[2],
        kernel[3],
        kernel[4],
        kernel[5],
        kernel[6],
        kernel[7],
        kernel[8],
    )
    for t in range(n_points):
        first = w0 * a[t] + w1 * b[t] + w2 * c[t]
        middle = w3 * d[t] + w4 * e[t] + w5 * f[t]
        last = w6 * g[t] + w7 * h[t] + w8 * i[t]
        response[t] = first + middle + last

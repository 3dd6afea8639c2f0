"""Slow, obvious oracles: one value at a time, in plain Python, for the fast functions of the library."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

from scipy.stats import norm

# --- Bags ----------------------------------------------------------------------------------------------------------


def prepare_case(channels, normalise=True):
    """Return one case, a list of channels with NaN where missing, as a bag has it: cut, normalised, filled."""
    length = max(1 + last_observed(channel) for channel in channels)
    return [prepare_channel(channel[:length], normalise) for channel in channels]


def last_observed(channel):
    return max((t for t, value in enumerate(channel) if not math.isnan(value)), default=-1)


def prepare_channel(channel, normalise):
    observed = [(t, float(value)) for t, value in enumerate(channel) if not math.isnan(value)]
    if not observed:
        return [0.0] * len(channel)
    if normalise:
        normalised = z_normalise([value for _, value in observed])
        observed = [(t, value) for (t, _), value in zip(observed, normalised, strict=True)]
    return [value_on_line(t, observed) for t in range(len(channel))]


def z_normalise(values):
    """Return z-values by the sample standard deviation, computed exactly and rounded once."""
    exact = [Fraction(value) for value in values]
    variance = statistics.variance(exact) if len(exact) > 1 else Fraction(0)
    if variance == 0:
        return [0.0] * len(values)
    differences = [value - statistics.mean(exact) for value in exact]
    return [math.sqrt(difference**2 / variance) * (1 if difference > 0 else -1) for difference in differences]


def value_on_line(t, observed):
    """Return the value at t between its nearest (time, value) neighbours; beyond the ends, that of the end."""
    before = [point for point in observed if point[0] <= t]
    after = [point for point in observed if point[0] >= t]
    if not before:
        return after[0][1]
    if not after or before[-1][0] == t:
        return before[-1][1]
    (t0, v0), (t1, v1) = before[-1], after[0]
    return v0 + (v1 - v0) * (t - t0) / (t1 - t0)


# --- WebTraffic ----------------------------------------------------------------------------------------------------


def web_traffic(rng, codes, n_cases_per_class, n_timepoints=1008, interval=10):
    """Return (series, base, relevant timepoints) of every case; every number is drawn by a call of its own."""
    return [web_traffic_case(rng, code, n_timepoints, interval) for code in codes for _ in range(n_cases_per_class)]


def web_traffic_case(rng, code, n, interval):
    amplitude, bias, phase = rng.uniform(2, 4), rng.uniform(2.5, 5), rng.uniform(-0.05, 0.05)
    skew, noise, weekly_amplitude = rng.uniform(1, 3), rng.uniform(0.1, 0.3), rng.uniform(0.8, 1.2)
    days = [interval * n / 1440 * t / (n - 1) for t in range(n)]
    daily = [warped_sine(amplitude, bias, phase + 0.55, skew, day) for day in days]
    weekly = [warped_sine(weekly_amplitude, 1, 0.6, 2, day / 7) for day in days]
    weekly = [rng.normal(rate, 0) for rate in weekly]
    base = [rng.normal(rate, noise) for rate in daily]
    base = [sample * rate for sample, rate in zip(base, weekly, strict=True)]
    changed, relevant = inject(rng, code, base, interval)
    return [max(value, 0.0) for value in changed], base, relevant


def warped_sine(amplitude, bias, phase, skew, x):
    angle = 2 * math.pi * (x - phase)
    return amplitude / 2 * math.sin(angle - math.sin(angle) / skew) + bias


def inject(rng, code, base, interval):
    n = len(base)
    if code == 0:
        return base, list(range(n))
    if code == 1:
        marked = [rng.binomial(1, 0.01) for _ in range(n)]
        magnitudes = [rng.normal(3.0, 0.2) for _ in range(n)]
        signs = [rng.choice([-1, 1]) for _ in range(n)]
        changed = [base[t] + marked[t] * signs[t] * magnitudes[t] for t in range(n)]
        return changed, [t for t in range(n) if marked[t]]
    shortest = min(max(1, round(6 * 60 / interval)), n)
    longest = min(max(shortest, round(48 * 60 / interval)), n)
    length = rng.randint(shortest, longest + 1)
    start = rng.randint(0, n - length + 1)
    window = changed_window(rng, code, base, start, length)
    return base[:start] + window + base[start + length :], list(range(start, start + length))


def changed_window(rng, code, base, start, length):
    window = base[start : start + length]
    if code == 2:  # flip
        return window[::-1]
    if code == 3:  # skew
        share = 0.5 + rng.uniform(0.25, 0.45) * rng.choice([-1, 1])
        middle, left = length // 2, math.floor(share * length)
        places = evenly(0, middle, left) + evenly(middle, length - 1, length - left)
        return [value_on_line(place, list(enumerate(window))) for place in places]
    if code == 4:  # noise
        noise = rng.uniform(0.5, 1.0)
        return [value + rng.normal(0, noise) for value in window]
    if code == 5:  # cutoff
        level = rng.uniform(0.0, 0.2)
        return [rng.normal(level, 0.1) for _ in window]
    if code == 6:  # average
        width = rng.randint(5, 10)
        return [moving_average(base, t, width) for t in range(start, start + length)]
    if code == 7:  # wander
        drift = rng.uniform(2, 3) * rng.choice([-1, 1])
        return [value + step for value, step in zip(window, evenly(0, drift, length), strict=True)]
    scale = rng.uniform(1.5, 2.5) * (1 if code == 8 else -1)  # peak, trough
    places = evenly(-5, 5, length)
    return [value * (1 + scale * norm.pdf(place)) for value, place in zip(window, places, strict=True)]


def evenly(first, last, count):
    return [first + (last - first) * step / (count - 1) if count > 1 else first for step in range(count)]


def moving_average(series, t, width):
    """Return the mean of `width` values around t, the odd one out before it; values beyond the ends are 0."""
    last = t + (width - 1) // 2
    return sum(series[u] for u in range(last - width + 1, last + 1) if 0 <= u < len(series)) / width

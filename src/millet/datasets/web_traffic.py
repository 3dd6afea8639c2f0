"""WebTraffic: the paper's synthetic dataset, in which the timepoints that matter are known.

Out: `WebTraffic` datasets, equal to the published ones with the default arguments.

Appendix C.1 of the paper. The text differs from the released data in two places; the released data are followed
(decision 2): the noise is drawn from U(0.1, 0.3), not U(2, 4), and a spike from N(3.0, 0.2), not N(3.0, 2.0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from millet.checks import integer, number
from millet.datasets.dataset import Dataset
from millet.errors import ParameterError, lookup

Values = NDArray[np.float64]

NAME = "WebTraffic"
PUBLISHED_SEED = 12
N_CASES_PER_CLASS = 50
MINUTES_PER_DAY = 1440
CLASS_NAMES = ("None", "Spikes", "Flip", "Skew", "Noise", "Cutoff", "Average", "Wander", "Peak", "Trough")


class Season(NamedTuple):
    """The six parameters of one base series, in the order in which they are drawn."""

    daily_amplitude: float
    bias: float
    phase: float
    skew: float
    noise: float
    weekly_amplitude: float


class Signature(NamedTuple):
    """What was injected into one series.

    `locations` are half-open spans of timepoints; `amount` is the signature's own parameter (NaN where it has
    none): new midpoint, noise, cutoff level, averaging width, drift or scale.
    """

    name: str
    locations: tuple[tuple[int, int], ...]
    amount: float


@dataclass(frozen=True)
class WebTraffic(Dataset):
    """A `Dataset` that also knows how it was made.

    Attributes
    ----------
    base : ndarray of shape (n_cases, 1, n_timepoints)
        Every series before its signature was injected.
    daily_rate, daily_sample, weekly_rate : ndarray of shape (n_cases, n_timepoints)
        The steps that lead to `base`: base = daily sample × weekly rate.
    seasons : tuple of Season
        The parameters of every base series.
    signatures : tuple of Signature
        What was injected, and where.
    """

    X: Values = field(kw_only=True, repr=False)
    y: NDArray[np.int64] = field(kw_only=True, repr=False)
    relevant: NDArray[np.bool_] = field(kw_only=True, repr=False)
    base: Values = field(kw_only=True, repr=False)
    daily_rate: Values = field(kw_only=True, repr=False)
    daily_sample: Values = field(kw_only=True, repr=False)
    weekly_rate: Values = field(kw_only=True, repr=False)
    seasons: tuple[Season, ...] = field(kw_only=True, repr=False)
    signatures: tuple[Signature, ...] = field(kw_only=True, repr=False)


def warped_sine(amplitude: float, bias: float, phase: float, skew: float, x: Values) -> Values:
    """Return the paper's WarpedSin: a sine whose rise and fall differ in steepness."""
    angle = 2 * np.pi * (x - phase)
    return amplitude / 2 * np.sin(angle - np.sin(angle) / skew) + bias


# Each injector draws from `rng` in the order of the released data and returns (new series, signature).
Injector = Callable[[RandomState, Values, "tuple[int, int]"], "tuple[Values, Signature]"]


def _draw_window(rng: RandomState, n_timepoints: int, bounds: tuple[int, int]) -> tuple[int, int]:
    length = int(rng.randint(bounds[0], bounds[1] + 1))
    start = int(rng.randint(0, n_timepoints - length + 1))
    return start, start + length


def _windowed(name: str, change: Callable[[RandomState, Values, int, int], tuple[Values, float]]) -> Injector:
    def inject(rng: RandomState, series: Values, bounds: tuple[int, int]) -> tuple[Values, Signature]:
        start, stop = _draw_window(rng, len(series), bounds)
        window, amount = change(rng, series, start, stop)
        changed = series.copy()
        changed[start:stop] = window
        return changed, Signature(name, ((start, stop),), amount)

    return inject


def _none(rng: RandomState, series: Values, bounds: tuple[int, int]) -> tuple[Values, Signature]:
    return series.copy(), Signature("none", (), np.nan)


def _spikes(rng: RandomState, series: Values, bounds: tuple[int, int]) -> tuple[Values, Signature]:
    marked = rng.binomial(1, 0.01, len(series)).astype(bool)
    magnitude = rng.normal(3.0, 0.2, len(series))
    # The released data drew `choice([-1, 1])` once per point; this is the same stream in one call.
    sign = 2 * rng.randint(0, 2, len(series)) - 1
    changed = series + np.where(marked, sign * magnitude, 0.0)
    locations = tuple((int(point), int(point) + 1) for point in np.flatnonzero(marked))
    return changed, Signature("spikes", locations, np.nan)


def _flip(rng: RandomState, series: Values, start: int, stop: int) -> tuple[Values, float]:
    return series[start:stop][::-1], np.nan


def _skew(rng: RandomState, series: Values, start: int, stop: int) -> tuple[Values, float]:
    amount = rng.uniform(0.25, 0.45)
    share = 0.5 + amount * _sign(rng)
    length = stop - start
    middle, left = length // 2, int(np.floor(share * length))
    where = np.concatenate([np.linspace(0, middle, left), np.linspace(middle, length - 1, length - left)])
    return np.interp(where, np.arange(length), series[start:stop]), share


def _noise(rng: RandomState, series: Values, start: int, stop: int) -> tuple[Values, float]:
    noise = rng.uniform(0.5, 1.0)
    return series[start:stop] + rng.normal(0.0, noise, stop - start), noise


def _cutoff(rng: RandomState, series: Values, start: int, stop: int) -> tuple[Values, float]:
    level = rng.uniform(0.0, 0.2)
    return rng.normal(level, 0.1, stop - start), level


def _average(rng: RandomState, series: Values, start: int, stop: int) -> tuple[Values, float]:
    width = int(rng.randint(5, 10))
    # Cut by hand: NumPy's own "same" has the length of the longer of the two, and a series may be very short.
    same = np.convolve(series, np.ones(width))[(width - 1) // 2 :]
    return (same / width)[start:stop], float(width)


def _wander(rng: RandomState, series: Values, start: int, stop: int) -> tuple[Values, float]:
    drift = rng.uniform(2.0, 3.0)
    drift *= _sign(rng)
    return series[start:stop] + np.linspace(0, drift, stop - start), drift


def _bump(direction: int) -> Callable[[RandomState, Values, int, int], tuple[Values, float]]:
    def change(rng: RandomState, series: Values, start: int, stop: int) -> tuple[Values, float]:
        scale = direction * rng.uniform(1.5, 2.5)
        density = np.exp(-(np.linspace(-5, 5, stop - start) ** 2) / 2) / np.sqrt(2 * np.pi)
        return series[start:stop] * (1 + scale * density), scale

    return change


def _sign(rng: RandomState) -> int:
    return int(rng.choice([-1, 1]))


INJECTORS: tuple[Injector, ...] = (
    _none,
    _spikes,
    _windowed("flip", _flip),
    _windowed("skew", _skew),
    _windowed("noise", _noise),
    _windowed("cutoff", _cutoff),
    _windowed("average", _average),
    _windowed("wander", _wander),
    _windowed("peak", _bump(+1)),
    _windowed("trough", _bump(-1)),
)


def make_web_traffic(
    n_cases_per_class: int = N_CASES_PER_CLASS,
    *,
    classes: Iterable[int | str] | None = None,
    n_timepoints: int | None = None,
    sampling_interval: float = 10.0,
    random_state: int | RandomState = PUBLISHED_SEED,
    split: str = "",
) -> WebTraffic:
    """Generate one split of the WebTraffic dataset.

    With the default arguments this is the published training split, to the last digit. Passing one
    ``RandomState`` to two calls continues its stream, which is how the published test split is made.

    Parameters
    ----------
    n_cases_per_class : int, default=50
        How many series of each class; the classes come in order.
    classes : iterable of int or str, optional
        Which of the ten classes, by number (0 to 9) or name ("Peak"); all by default.
    n_timepoints : int, optional
        Length of every series; one week by default (1008 points of 10 minutes).
    sampling_interval : float, default=10.0
        Minutes between two timepoints. Seasons and signature windows keep their duration.
    random_state : int or numpy.random.RandomState, default=12
        Seed, or the legacy generator to continue.
    split : str, default=""
        What to call this split.

    Returns
    -------
    WebTraffic
        X of shape (n_cases, 1, n_timepoints). `relevant` marks the signature's timepoints; for class 0 every
        timepoint is marked, which is the published convention (NDCG@n is 1 there by construction).

    Examples
    --------
    >>> train = make_web_traffic()
    >>> train.X.shape, train.class_names[8]
    ((500, 1, 1008), 'Peak')
    >>> small = make_web_traffic(3, classes=["None", "Peak"], sampling_interval=60, random_state=0)
    >>> small.X.shape, small.classes
    ((6, 1, 168), array([0, 8]))
    """
    codes = _class_codes(classes)
    n_cases_per_class = integer("n_cases_per_class", n_cases_per_class, at_least=1)
    sampling_interval = number("sampling_interval", sampling_interval, above=0)
    if n_timepoints is None:
        n_timepoints = max(2, round(7 * MINUTES_PER_DAY / sampling_interval))
    n_timepoints = integer("n_timepoints", n_timepoints, at_least=2)
    rng = _as_random_state(random_state)

    cases = [
        _make_case(rng, code, n_timepoints, sampling_interval) for code in codes for _ in range(n_cases_per_class)
    ]
    return WebTraffic(
        name=NAME,
        X=np.stack([case.series for case in cases])[:, None],
        y=np.repeat(np.array(codes), n_cases_per_class),
        classes=np.array(codes),
        class_names=tuple(CLASS_NAMES[code] for code in codes),
        relevant=np.stack([_relevant(case.signature, n_timepoints) for case in cases]),
        split=split,
        source=f"millet.make_web_traffic, seed {'continued' if rng is random_state else random_state}",
        base=np.stack([case.base for case in cases])[:, None],
        daily_rate=np.stack([case.daily_rate for case in cases]),
        daily_sample=np.stack([case.daily_sample for case in cases]),
        weekly_rate=np.stack([case.weekly_rate for case in cases]),
        seasons=tuple(case.season for case in cases),
        signatures=tuple(case.signature for case in cases),
    )


def load_web_traffic() -> tuple[WebTraffic, WebTraffic]:
    """Return the published training and test split, 500 series each, from one random stream."""
    return make_web_traffic_splits()


def make_web_traffic_splits(*, random_state: int = PUBLISHED_SEED, **arguments: Any) -> tuple[WebTraffic, WebTraffic]:
    """Generate a training and a test split from one random stream, as the published ones are made.

    Parameters
    ----------
    random_state : int, default=12
        Seed of the stream.
    **arguments
        Arguments of `make_web_traffic`.

    Examples
    --------
    >>> train, test = make_web_traffic_splits(n_cases_per_class=2, classes=["None", "Peak"], sampling_interval=60)
    >>> len(train), len(test), bool((train.X == test.X).all())
    (4, 4, False)
    """
    rng = _as_random_state(random_state)
    train, test = (make_web_traffic(**arguments, random_state=rng, split=split) for split in ("train", "test"))
    return train, test


class _Case(NamedTuple):
    season: Season
    signature: Signature
    daily_rate: Values
    daily_sample: Values
    weekly_rate: Values
    base: Values
    series: Values


def _make_case(rng: RandomState, code: int, n_timepoints: int, interval: float) -> _Case:
    season = Season(
        daily_amplitude=rng.uniform(2, 4),
        bias=rng.uniform(2.5, 5),
        phase=rng.uniform(-0.05, 0.05),
        skew=rng.uniform(1, 3),
        noise=rng.uniform(0.1, 0.3),
        weekly_amplitude=rng.uniform(0.8, 1.2),
    )
    n_days = n_timepoints * interval / MINUTES_PER_DAY
    days = np.linspace(0, n_days, n_timepoints)
    weeks = np.linspace(0, n_days / 7, n_timepoints)
    daily_rate = warped_sine(season.daily_amplitude, season.bias, season.phase + 0.55, season.skew, days)
    weekly_rate = warped_sine(season.weekly_amplitude, 1.0, 0.6, 2.0, weeks)
    # The released data "sampled" the weekly rate too, with standard deviation 0: these draws are discarded.
    rng.normal(size=n_timepoints)
    daily_sample = rng.normal(daily_rate, season.noise)
    base = daily_sample * weekly_rate
    series, signature = INJECTORS[code](rng, base, _window_bounds(n_timepoints, interval))
    return _Case(season, signature, daily_rate, daily_sample, weekly_rate, base, np.maximum(series, 0.0))


def _window_bounds(n_timepoints: int, interval: float) -> tuple[int, int]:
    """Return the shortest and longest signature window: a quarter of a day and two days, inside the series."""
    shortest = min(max(1, round(0.25 * MINUTES_PER_DAY / interval)), n_timepoints)
    longest = min(max(shortest, round(2 * MINUTES_PER_DAY / interval)), n_timepoints)
    return shortest, longest


def _relevant(signature: Signature, n_timepoints: int) -> NDArray[np.bool_]:
    marked = np.full(n_timepoints, signature.name == "none")
    for start, stop in signature.locations:
        marked[start:stop] = True
    return marked


def _as_random_state(random_state: int | RandomState) -> RandomState:
    if isinstance(random_state, RandomState):
        return random_state
    try:
        return RandomState(random_state)
    except (TypeError, ValueError):
        raise ParameterError(
            "random_state must be an integer from 0 to 4294967295 or a numpy.random.RandomState; "
            f"got {random_state!r}."
        ) from None


def _class_codes(classes: Iterable[int | str] | None) -> list[int]:
    if classes is None:
        return list(range(len(CLASS_NAMES)))
    by_name = {name: code for code, name in enumerate(CLASS_NAMES)}
    by_number = {str(code): code for code in by_name.values()}
    table = {**by_name, **by_number}
    wanted = [classes] if isinstance(classes, str) or not isinstance(classes, Iterable) else list(classes)
    codes = sorted({lookup("WebTraffic class", str(item), table) for item in wanted})
    if not codes:
        raise ParameterError("classes must name at least one of the ten WebTraffic classes; got none.")
    return codes

"""Speed: how fast this machine trains and queries each kind of model, from a trial of a second on one core.

The unit is a pass: one timepoint of one case forwards through a network, or what its features take. A training step
has a cost of its own on top, however few timepoints it sees.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from millet.nn import MilletNetwork
from millet.rocket.model import TRANSFORMS
from millet.rocket_classifier import RocketMilletClassifier

# Forwards, and backwards, which is twice as much work.
PASSES_PER_STEP = 3
# Cases and timepoints of a batch that keeps a core busy, and of one whose cost is mostly that of any step.
LARGE = (8, 256)
SMALL = (2, 32)
# The clocks of some systems tick only sixty times a second.
CLOCK_SECONDS = 0.06


class Work(NamedTuple):
    """What a cell asks of a model: passes in training, training steps, and passes in inference."""

    training: float = 0.0
    steps: float = 0.0
    inference: float = 0.0


class Speed(NamedTuple):
    """Seconds on one core: for a pass in training, for a training step on top, and for a pass in inference."""

    training: float
    step: float
    inference: float

    def seconds(self, work: Work) -> float:
        """Return how long something takes.

        Examples
        --------
        >>> Speed(training=2.0, step=10.0, inference=1.0).seconds(Work(training=3, steps=2, inference=4))
        30.0
        """
        return sum(each * many for each, many in zip(self, work, strict=True))

    def times(self, factor: float) -> Speed:
        """Return the speed of a model or a machine that takes `factor` times as long."""
        return Speed(*(factor * each for each in self))


@functools.cache
def trial_speed(backbone: str, precision: str = "32-true", n_trials: int = 3) -> Speed:
    """Return the speed of a backbone, or of features, measured on one core.

    Parameters
    ----------
    backbone : str
    precision : str
        What training computes in; "bf16-mixed" is tried as such, everything else in single precision.
    n_trials : int
        The quickest of this many trials counts.

    Examples
    --------
    >>> speed = trial_speed("fcn", n_trials=1)
    >>> 0 < speed.inference < 0.01, speed.step >= 0
    (True, True)
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return (
            _speed_of_features(backbone, n_trials)
            if backbone in TRANSFORMS
            else _speed_of_network(backbone, precision, n_trials)
        )
    finally:
        torch.set_num_threads(before)


def _speed_of_network(backbone: str, precision: str, n_trials: int) -> Speed:
    network = MilletNetwork(1, 10, backbone)
    optimizer = torch.optim.Adam(network.parameters(), fused=True)

    def train(n_cases: int, n_timepoints: int) -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16-mixed"):
            logits = network(torch.zeros(n_cases, 1, n_timepoints)).logits
        F.cross_entropy(logits.float(), torch.zeros(n_cases, dtype=torch.long)).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()

    def infer(n_cases: int, n_timepoints: int) -> None:
        with torch.inference_mode():
            network(torch.zeros(n_cases, 1, n_timepoints))

    network.train()
    large, small = (_quickest(functools.partial(train, *size), n_trials) for size in (LARGE, SMALL))
    n_large, n_small = (PASSES_PER_STEP * n_cases * n_timepoints for n_cases, n_timepoints in (LARGE, SMALL))
    training = max(0.0, large - small) / (n_large - n_small)
    network.eval()
    inference = _quickest(functools.partial(infer, *LARGE), n_trials) / (n_large / PASSES_PER_STEP)
    return Speed(training, max(0.0, small - training * n_small), inference)


def _speed_of_features(features: str, n_trials: int) -> Speed:
    n_cases, n_timepoints = LARGE
    noise = np.random.default_rng(0).normal(size=(n_cases, 1, n_timepoints))
    classifier = RocketMilletClassifier(features, n_jobs=1, random_state=0, verbose=0)
    classifier.fit(noise, np.arange(n_cases) % 2)
    a_pass = _quickest(lambda: classifier.logits(noise), n_trials) / (n_cases * n_timepoints)
    return Speed(a_pass, 0.0, a_pass)


def _quickest(work: Callable[[], object], n_trials: int) -> float:
    """Return the seconds of processor time, which do not count other work if the machine is busy."""
    work()  # the first time also sets things up
    found = []
    for _ in range(n_trials):
        n_times, clock = 0, time.process_time()
        while (spent := time.process_time() - clock) < CLOCK_SECONDS:
            work()
            n_times += 1
        found.append(spent / n_times)
    return min(found)

"""How the cost of a training step grows with timepoints, cases in the batch, channels and classes.

    python benchmarks/growth.py [--threads 2] [--backbone inceptiontime]

Time is the median of steps that take turns; memory is the peak of a fresh process that takes two steps, minus that of
one whose series have next to no length. Both should be linear in the number of timepoints. An exponent of 1 is
linear, and one below 1 means that a fixed part still counts; over a tenfold increase, up to 1.1 is taken for noise of
the caches.
"""

from __future__ import annotations

import itertools
import math
import multiprocessing
from dataclasses import dataclass

import click
import torch
from measuring import Work, medians, training_step
from tqdm import tqdm

from millet.benchmark.provenance import PeakMemory
from millet.nn import MilletNetwork
from millet.tables import format_table

LINEAR = 1.1
SHORTEST_PROBE = 8


@dataclass(frozen=True)
class Size:
    """One batch and the network for it."""

    n_timepoints: int
    batch_size: int = 1
    n_channels: int = 1
    n_classes: int = 10


@dataclass(frozen=True)
class Growth:
    """A quantity that grows with one of the sizes."""

    what: str
    unit: str
    by: str
    sizes: tuple[int, ...]
    values: tuple[float, ...]

    @property
    def exponents(self) -> list[float]:
        """The power with which the quantity grows from each size to the next."""
        pairs = itertools.pairwise(zip(self.sizes, self.values, strict=True))
        return [math.log(after / before) / math.log(large / small) for (small, before), (large, after) in pairs]

    @property
    def verdict(self) -> str:
        """Whether the growth up to the largest size is at most linear."""
        return "met" if self.exponents[-1] <= LINEAR else "not met"


FULL: dict[str, list[Size]] = {
    "n_timepoints": [Size(length) for length in (100, 1_000, 10_000, 100_000)],
    "batch_size": [Size(250, batch_size=number) for number in (1, 4, 16, 64)],
    "n_channels": [Size(500, batch_size=4, n_channels=number) for number in (1, 4, 16, 64)],
    "n_classes": [Size(500, batch_size=4, n_classes=number) for number in (2, 10, 60)],
}
QUICK: dict[str, list[Size]] = {
    "n_timepoints": [Size(length) for length in (100, 1_000)],
    "batch_size": [Size(50, batch_size=number) for number in (1, 4)],
    "n_channels": [Size(50, n_channels=number) for number in (1, 4)],
    "n_classes": [Size(50, n_classes=number) for number in (2, 10)],
}


def step_of(size: Size, backbone: str) -> Work:
    network = MilletNetwork(size.n_channels, size.n_classes, backbone)
    x = torch.randn(size.batch_size, size.n_channels, size.n_timepoints)
    return training_step(network, x, torch.arange(size.batch_size) % size.n_classes)


def growth_of_time(by: str, sizes: list[Size], backbone: str, n_rounds: int) -> Growth:
    numbers = [getattr(size, by) for size in sizes]
    works = {str(number): step_of(size, backbone) for number, size in zip(numbers, sizes, strict=True)}
    taken = medians(works, n_rounds)
    return Growth("time", "ms", by, tuple(numbers), tuple(seconds * 1e3 for seconds in taken.values()))


def growth_of_memory(sizes: list[Size], backbone: str, n_threads: int) -> Growth:
    probes = [(size, backbone, n_threads) for size in (Size(SHORTEST_PROBE), *sizes)]
    # Each process is forked from one that has imported everything and computed nothing.
    with multiprocessing.get_context("forkserver").Pool(1, maxtasksperchild=1) as pool:
        base, *peaks = pool.starmap(peak_of_steps, probes, chunksize=1)
    lengths = tuple(size.n_timepoints for size in sizes)
    return Growth("memory", "MB", "n_timepoints", lengths, tuple(max(peak - base, 0.1) for peak in peaks))


def peak_of_steps(size: Size, backbone: str, n_threads: int) -> float:
    """Take two steps and return this process's peak memory, in MB."""
    torch.set_num_threads(n_threads)
    step = step_of(size, backbone)
    step()
    step()
    return PeakMemory.read()


def measure_growth(*, quick: bool, backbone: str, n_rounds: int) -> list[Growth]:
    """Return how time grows with every size, and memory with the number of timepoints."""
    grid = QUICK if quick else FULL
    bar = tqdm(grid.items(), desc="growth", unit="size", disable=None, leave=False)
    found = [growth_of_time(by, sizes, backbone, n_rounds) for by, sizes in bar]
    return [*found, growth_of_memory(grid["n_timepoints"], backbone, torch.get_num_threads())]


def format_growth(growths: list[Growth]) -> str:
    rows: list[list[object]] = []
    for growth in growths:
        exponents = [None, *(f"{exponent:.2f}" for exponent in growth.exponents)]
        for size, value, exponent in zip(growth.sizes, growth.values, exponents, strict=True):
            rows.append([growth.what, growth.by, f"{size:,}", f"{value:,.1f} {growth.unit}", exponent])
    return format_table(["of a step", "by", "size", "cost", "exponent"], rows, right=["size", "cost", "exponent"])


@click.command(help=__doc__)
@click.option("--threads", type=click.IntRange(min=1), default=torch.get_num_threads(), show_default=True)
@click.option("--backbone", default="inceptiontime", show_default=True)
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--quick", is_flag=True, help="Small sizes, to see that everything runs.")
def main(threads: int, backbone: str, rounds: int, quick: bool) -> None:
    torch.set_num_threads(threads)
    click.echo(format_growth(measure_growth(quick=quick, backbone=backbone, n_rounds=rounds)))


if __name__ == "__main__":
    main()

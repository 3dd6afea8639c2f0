"""How fast training and inference are compared with plain torch modules, and how near to what this machine can do.

    python benchmarks/engine.py [--threads 2] [--quick] [--rows rows.json]

All variants take turns in one process and medians are compared, so a busy machine slows all alike. The plain networks
(`benchmarks/plain.py`) have the same weights and compute in single precision. The measured peak is the fastest of
several convolutions. Where the processor does not compute in bf16, the goals for bf16 do not apply.

Losses and gradients are compared on the batch that is timed, without dropout and in double precision, which takes the
same code paths: in single precision rounding decides ReLUs and maxima, and plain torch is 1e-3 from its own double
precision.
Inference is in single precision whatever training was in, unless `torch.autocast` asks for less; poolings stay in
single precision even then, so that evidence adds up.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
import numpy as np
import torch
import torch.nn.functional as F
from goals import Row, at_most, faster, format_rows, not_on_this_cpu
from growth import Growth, format_growth, measure_growth
from measuring import Work, best_convolution, count_flops, logits_of, medians, training_step
from plain import PlainNetwork, PlainTraining
from torch import Tensor, nn
from tqdm import tqdm

import millet
from millet.atomic import atomic_path
from millet.bags import as_bags
from millet.benchmark.provenance import machine, versions
from millet.fitting import choose_hardware
from millet.nn import MilletNetwork
from millet.training import Labelled, Options, Recipe, make_fabric, train

NAMES = {"fcn": "FCN", "resnet": "ResNet", "inceptiontime": "InceptionTime"}
N_CLASSES = 10
STEP_TOLERANCE = 1e-4
FP32, BF16 = "32-true", "bf16-mixed"
SHORT = {FP32: "fp32", BF16: "bf16"}
INFERENCE_TOLERANCES = {FP32: 1e-5, BF16: 1e-2}


@dataclass(frozen=True)
class Sizes:
    """How much is measured; `stride` thins out WebTraffic's 1008 timepoints."""

    stride: int
    batch_size: int
    n_training_cases: int
    n_explained_cases: int
    n_rounds: int
    n_small_epochs: int


FULL = Sizes(stride=1, batch_size=16, n_training_cases=64, n_explained_cases=48, n_rounds=5, n_small_epochs=5)
QUICK = Sizes(stride=16, batch_size=4, n_training_cases=8, n_explained_cases=4, n_rounds=1, n_small_epochs=1)


@dataclass(frozen=True)
class Bench:
    """The data, sizes and measured peaks (one per precision) that all figures share."""

    sizes: Sizes
    x: Tensor
    target: Tensor
    peaks: dict[str, float]

    @property
    def best_precision(self) -> str:
        """bf16 where the processor computes in it."""
        return BF16 if BF16 in self.peaks else FP32

    @property
    def n_timepoints(self) -> int:
        """Length of every series."""
        return self.x.shape[2]

    def speed(self, operations: int, seconds: float, precision: str) -> tuple[float, float]:
        """Return the GFLOP/s that were reached, and what fraction of the peak they are."""
        reached = operations / seconds
        return reached / 1e9, reached / self.peaks[precision]


def prepare(sizes: Sizes) -> Bench:
    """Take WebTraffic's series, the classes in turn, and measure the peaks."""
    training, _ = millet.load_dataset("WebTraffic")
    in_turn = np.arange(len(training.X)).reshape(N_CLASSES, -1).T.ravel()
    X = np.asarray(training.X)[in_turn, :, :: sizes.stride]
    x = torch.from_numpy(as_bags(X).batch(np.arange(len(X))).values)
    target = torch.from_numpy(np.asarray(training.y)[in_turn])
    dtypes = {FP32: torch.float32}
    if choose_hardware("cpu", "auto")[1] == BF16:
        dtypes[BF16] = torch.bfloat16
    peaks = {
        precision: best_convolution(sizes.batch_size, x.shape[2], sizes.n_rounds, dtype)
        for precision, dtype in dtypes.items()
    }
    return Bench(sizes, x, target, peaks)


def gradients(network: nn.Module, x: Tensor, target: Tensor) -> tuple[float, Tensor]:
    """Return the loss of a batch and all gradients end to end, in the order of the parameters' names."""
    loss = F.cross_entropy(logits_of(network.train()(x)), target)
    loss.backward()
    parts = [parameter.grad.double().ravel() for _, parameter in sorted(network.named_parameters())]
    return loss.item(), torch.cat(parts)


def relative(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


def compare_gradients(backbone: str, x: Tensor, target: Tensor) -> tuple[float, float]:
    """Return the relative differences of our loss and gradients from the plain ones, in double precision."""
    ours = MilletNetwork(x.shape[1], N_CLASSES, backbone, dropout=0.0).double()
    plain = PlainNetwork(x.shape[1], N_CLASSES, backbone, x.shape[2], dropout=0.0).double()
    plain.load_state_dict(ours.state_dict())
    loss, gradient = gradients(plain, x.double(), target)
    our_loss, our_gradient = gradients(ours, x.double(), target)
    return abs(our_loss - loss) / loss, relative(our_gradient, gradient)


def measure_steps(bench: Bench, backbone: str, least: dict[str, float]) -> list[Row]:
    """Compare a training step in single precision and, where the processor has it, in bf16."""
    x, target = bench.x[: bench.sizes.batch_size], bench.target[: bench.sizes.batch_size]
    plain = PlainNetwork(1, N_CLASSES, backbone, bench.n_timepoints)
    works = {"plain": training_step(plain, x, target)}
    for precision in bench.peaks:
        works[precision] = training_step(MilletNetwork(1, N_CLASSES, backbone), x, target, precision)
    taken = medians(works, bench.sizes.n_rounds)
    operations = count_flops(plain, tuple(x.shape), backward=True)
    rows = []
    for precision, goal in least.items():
        figure = f"{NAMES[backbone]} step, {SHORT[precision]}"
        if precision not in taken:
            rows.append(not_on_this_cpu(figure, goal))
            continue
        found, agrees = "", True
        if precision == FP32:
            loss, gradient = compare_gradients(backbone, x, target)
            found = f"loss {loss:.0e}, gradients {gradient:.0e}"
            agrees = max(loss, gradient) <= STEP_TOLERANCE
        ours = taken[precision]
        speed = bench.speed(operations, ours, precision)
        rows.append(faster(figure, taken["plain"], ours, goal, found=found, agrees=agrees, speed=speed))
    return rows


def measure_epochs(bench: Bench) -> list[Row]:
    """Compare whole epochs on WebTraffic, and those of LITE with those of InceptionTime."""
    sizes, precision = bench.sizes, bench.best_precision
    x, target = bench.x[: sizes.n_training_cases], bench.target[: sizes.n_training_cases]
    cases = Labelled(as_bags(x.numpy()), target.numpy())
    recipe = Recipe(n_epochs=1, batch_size=sizes.batch_size)
    plain = PlainNetwork(1, N_CLASSES, "inceptiontime", bench.n_timepoints)
    networks = {backbone: MilletNetwork(1, N_CLASSES, backbone) for backbone in ("inceptiontime", "lite")}
    works: dict[str, Work] = {"plain": PlainTraining(plain, x, target, sizes.batch_size).run_epoch}
    for backbone, network in networks.items():
        works[backbone] = partial(run_training, network, cases, recipe, precision)
    taken = medians(works, min(sizes.n_rounds, 3))
    operations = count_flops(plain.train(), tuple(x.shape), backward=True)
    operations += count_flops(plain.eval(), tuple(x.shape), backward=False)
    ours, light = taken["inceptiontime"], taken["lite"]
    name = SHORT[precision]
    speed = bench.speed(operations, ours, precision)
    return [
        faster(f"WebTraffic epoch, {name}", taken["plain"], ours, 3.5, speed=speed),
        faster(f"LITE epoch, {name}", ours, light, 10, compared_with="our InceptionTime"),
    ]


def run_training(
    network: MilletNetwork, cases: Labelled, recipe: Recipe, precision: str, options: Options | None = None
) -> None:
    train(network, cases, recipe, options, make_fabric("cpu", precision))


def measure_inference(bench: Bench) -> list[Row]:
    """Compare the classifier's `explain`, series in and `Explanation` out, with plain logits and scores."""
    sizes = bench.sizes
    classifier = millet.MilletClassifier(
        n_epochs=2, batch_size=sizes.batch_size, device="cpu", random_state=0, verbose=0
    ).fit(bench.x[: 2 * N_CLASSES].numpy(), bench.target[: 2 * N_CLASSES].numpy())
    plain = PlainNetwork(1, N_CLASSES, "inceptiontime", bench.n_timepoints).eval()
    plain.load_state_dict(classifier.networks_[0].state_dict())
    x = bench.x[: sizes.n_explained_cases]
    X = x.numpy()

    def infer() -> list[tuple[Tensor, Tensor]]:
        with torch.no_grad():
            return [plain(batch) for batch in x.split(sizes.batch_size)]

    def explain(precision: str) -> millet.Explanation:
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == BF16):
            return classifier.explain(X)

    works: dict[str, Work] = {"plain": infer, **{precision: partial(explain, precision) for precision in bench.peaks}}
    taken = medians(works, sizes.n_rounds)
    expected = torch.cat([logits for logits, _ in infer()]).double()
    operations = count_flops(plain, tuple(x.shape), backward=False)
    rows = []
    for precision, tolerance in INFERENCE_TOLERANCES.items():
        figure = f"inference with evidence, {SHORT[precision]}"
        if precision not in taken:
            rows.append(not_on_this_cpu(figure, 2))
            continue
        difference = torch.tensor(explain(precision).logits) - expected
        worst = float(difference.abs().max() / expected.abs().max())
        speed = bench.speed(operations, taken[precision], precision)
        found, agrees = f"logits {worst:.0e}", worst <= tolerance
        rows.append(faster(figure, taken["plain"], taken[precision], 2, found=found, agrees=agrees, speed=speed))
    return rows


def measure_small(bench: Bench) -> list[Row]:
    """Compare our training with bare passes of the same network, on series of ItalyPowerDemand's size."""
    n_cases, n_timepoints, n_epochs = 67, 24, bench.sizes.n_small_epochs
    codes = np.arange(n_cases) % 2
    bags = as_bags(np.random.default_rng(0).standard_normal((n_cases, 1, n_timepoints)))
    x, target = torch.from_numpy(bags.batch(np.arange(n_cases)).values), torch.from_numpy(codes)
    batch_size = Recipe().batch_size_for(n_cases)
    network = MilletNetwork(1, 2)
    bare = copy.deepcopy(network).train()

    def pass_bare() -> None:
        for _ in range(n_epochs):
            for batch, codes_of_batch in zip(x.split(batch_size), target.split(batch_size), strict=True):
                bare.zero_grad()
                F.cross_entropy(bare(batch).logits, codes_of_batch).backward()

    # A single case to select by: steps are compared, not the selection.
    options = Options(validation=Labelled(bags, codes, np.array([0])), patience=n_epochs)
    cases, recipe = Labelled(bags, codes), Recipe(n_epochs=n_epochs)
    ours = partial(run_training, network, cases, recipe, FP32, options)
    taken = medians({"bare": pass_bare, "ours": ours}, bench.sizes.n_rounds)
    n_steps = n_epochs * -(-n_cases // batch_size)
    return [at_most("small data, a step, fp32", taken["bare"] / n_steps, taken["ours"] / n_steps, 1.3, "bare passes")]


def rows_of_growth(growths: list[Growth]) -> list[Row]:
    """Judge whether time and memory are linear in the number of timepoints."""
    return [
        Row(f"{growth.what} by timepoints", "linear", growth.verdict, "", found=f"t^{growth.exponents[-1]:.2f}")
        for growth in growths
        if growth.by == "n_timepoints"
    ]


def measure_speed(bench: Bench) -> list[Row]:
    """Return every figure that is a ratio of times."""
    sections: dict[str, Callable[[], list[Row]]] = {
        "InceptionTime": lambda: measure_steps(bench, "inceptiontime", {FP32: 2.0, BF16: 3.2}),
        "FCN": lambda: measure_steps(bench, "fcn", {FP32: 1.0, BF16: 1.8}),
        "ResNet": lambda: measure_steps(bench, "resnet", {FP32: 1.0, BF16: 1.8}),
        "epochs": lambda: measure_epochs(bench),
        "inference": lambda: measure_inference(bench),
        "small data": lambda: measure_small(bench),
    }
    rows: list[Row] = []
    with tqdm(sections.items(), unit="part", disable=None, leave=False) as bar:
        for name, measure in bar:
            bar.set_description(name)
            rows += measure()
    return rows


def as_json(facts: dict[str, object], peaks: dict[str, float], rows: list[Row], growths: list[Growth]) -> str:
    content = {
        "machine": facts,
        "peak_gflops": peaks,
        "rows": [dataclasses.asdict(row) for row in rows],
        "growth": [{**dataclasses.asdict(growth), "exponents": growth.exponents} for growth in growths],
    }
    return json.dumps(content, indent=2) + "\n"


@click.command(help=__doc__)
@click.option("--threads", type=click.IntRange(min=1), default=torch.get_num_threads(), show_default=True)
@click.option("--quick", is_flag=True, help="Small sizes, to see that everything runs; the ratios mean nothing.")
@click.option("--rows", "file", type=click.Path(path_type=Path, dir_okay=False), help="Write the rows here, as JSON.")
def main(threads: int, quick: bool, file: Path | None) -> None:
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    sizes = QUICK if quick else FULL
    bench = prepare(sizes)
    facts = {**machine(), **versions()}
    peaks = {SHORT[precision]: speed / 1e9 for precision, speed in bench.peaks.items()}
    click.echo(", ".join(f"{name} {value}" for name, value in facts.items() if value is not None))
    click.echo("Best convolution: " + ", ".join(f"{name} {speed:.1f} GFLOP/s" for name, speed in peaks.items()))
    rows = measure_speed(bench)
    click.echo(f"\n{format_rows(rows)}\n")
    growths = measure_growth(quick=quick, backbone="inceptiontime", n_rounds=min(sizes.n_rounds, 3))
    click.echo(f"{format_growth(growths)}\n")
    for row in rows_of_growth(growths):
        click.echo(f"{row.figure}: {row.found}, wanted: {row.goal}: {row.verdict}")
    if file is not None:
        with atomic_path(file) as temporary:
            temporary.write_text(as_json(facts, peaks, [*rows, *rows_of_growth(growths)], growths), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Write docs/tables/plain_training.md: GAP FCN by the paper's recipe in plain PyTorch, beside ours and the authors'.

    python docs/scripts/plain_training.py --path data/ucr --published published ECG200

Network, training and selection of the epoch use nothing of millet, so that a mistake in our engine would show as a
difference. Ours are the rows in results/ucr_small.
"""

from __future__ import annotations

import argparse
import copy
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm.auto import tqdm

from millet import load_dataset
from millet.atomic import atomic_path
from millet.datasets import Dataset
from millet.metrics import aopcr
from millet.report import Published, read_run
from millet.report.training import powers_of_ten

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "tables" / "plain_training.md"
RUN = ROOT / "results" / "ucr_small"
MODEL = "gap-fcn"
METRICS = ("train_loss", "accuracy", "aopcr")
HEADER = ("dataset", "of", "runs", "training loss, as a power of ten", "accuracy", "AOPCR")
Floats = NDArray[np.float64]


class PlainNetwork(nn.Module):
    """FCN and global average pooling, of torch's own parts."""

    def __init__(self, n_classes: int) -> None:
        super().__init__()
        layers = [layer for i, o, k in ((1, 128, 8), (128, 256, 5), (256, 128, 3)) for layer in self._block(i, o, k)]
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(128, n_classes)

    @staticmethod
    def _block(n_in: int, n_out: int, kernel_size: int) -> tuple[nn.Module, ...]:
        zeros = nn.ConstantPad1d(((kernel_size - 1) // 2, kernel_size // 2), 0.0)
        return zeros, nn.Conv1d(n_in, n_out, kernel_size), nn.BatchNorm1d(n_out), nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits, (n_cases, n_classes)."""
        logits: Tensor = self.classifier(self.features(x).mean(-1))
        return logits

    def class_activations(self, x: Tensor) -> Tensor:
        """Return the scores, (n_cases, n_classes, n_timepoints)."""
        return self.classifier.weight @ self.features(x)


class Trained(NamedTuple):
    """What one training came to, under the names of rows."""

    train_loss: float
    accuracy: float
    aopcr: float


def train(train_x: Tensor, codes: Tensor, seed: int, n_epochs: int = 1500) -> tuple[PlainNetwork, float]:
    """Return the network of the epoch with the lowest loss of the training cases, and that loss."""
    torch.manual_seed(seed)
    network = PlainNetwork(int(codes.max()) + 1)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    batch_size = max(2, min(16, len(codes) // 10))
    best, least = copy.deepcopy(network), math.inf
    for _ in tqdm(range(n_epochs), desc=f"seed {seed}"):
        network.train()
        for batch in torch.randperm(len(codes)).split(batch_size):
            optimizer.zero_grad()
            F.cross_entropy(network(train_x[batch]), codes[batch]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        network.eval()
        with torch.no_grad():
            loss = F.cross_entropy(network(train_x), codes).item()
        if loss < least:
            best, least = copy.deepcopy(network), loss
        if loss == 0:
            break
    return best, least


def normalised(data: Dataset) -> Floats:
    """Return the series, (n_cases, 1, n_timepoints), each with mean 0 and sample standard deviation 1."""
    series = np.stack([np.asarray(case, dtype=np.float64) for case in data.X])
    deviation = series.std(axis=2, ddof=1, keepdims=True)
    return (series - series.mean(axis=2, keepdims=True)) / np.where(deviation == 0, 1, deviation)


def evaluate(network: PlainNetwork, loss: float, x: Floats, codes: NDArray[np.int64]) -> Trained:
    """Return the accuracy and the AOPCR of class activations."""

    @torch.no_grad()
    def logits(series: list[Floats] | Floats) -> Floats:
        # Series of which timepoints were taken away have several lengths.
        return np.stack([network(torch.as_tensor(case[None]).float())[0].numpy() for case in series])

    with torch.no_grad():
        scores = network.class_activations(torch.as_tensor(x).float()).numpy()
    accuracy = float((logits(x).argmax(axis=1) == codes).mean())
    return Trained(loss, accuracy, float(aopcr(logits, x, scores, progress=False).mean()))


def plain_runs(name: str, path: str, n_runs: int) -> list[Trained]:
    """Train and evaluate on one dataset."""
    splits = load_dataset(name, path)
    (train_x, train_codes), (test_x, test_codes) = (
        (normalised(data), np.searchsorted(splits[0].classes, data.y)) for data in splits
    )
    found = []
    for seed in range(n_runs):
        network, loss = train(torch.as_tensor(train_x).float(), torch.as_tensor(train_codes), seed)
        found.append(evaluate(network, loss, test_x, test_codes))
    return found


def line(name: str, of: str, losses: Sequence[float], accuracies: Sequence[float], aopcrs: Sequence[float]) -> str:
    """Return a line of the table: means, and the least and the greatest; nothing of no runs."""
    if not aopcrs:
        return ""
    columns = powers_of_ten(losses), accuracies, aopcrs
    numbers = [f"{fmean(found):.2f}, {min(found):.2f} to {max(found):.2f}" for found in columns]
    return f"| {name} | {of} | {len(aopcrs)} | {' | '.join(numbers)} |"


def main() -> None:
    """Train, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--path", required=True, help="folder with UCR datasets")
    parser.add_argument("--published", type=Path, help="folder with the authors' results")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    ours, published = read_run(RUN), Published(options.published)
    lines = [f"| {' | '.join(HEADER)} |", "| --- | --- |" + " --: |" * (len(HEADER) - 2)]
    for name in options.datasets:
        lines.append(line(name, "plain PyTorch", *zip(*plain_runs(name, options.path, options.runs), strict=True)))
        lines.append(line(name, "millet", *(ours.runs(name, MODEL, metric) for metric in METRICS)))
        lines.append(line(name, "authors", *(published.runs(name, MODEL, metric).tolist() for metric in METRICS)))
    text = (
        "GAP FCN by the paper's recipe: means of single networks, their least and greatest. Plain PyTorch is a loop "
        "of a page without anything of ours but the metric (`docs/scripts/plain_training.py`).\n\n"
    )
    with atomic_path(TABLE) as temporary:
        temporary.write_text(text + "\n".join(found for found in lines if found) + "\n", encoding="utf-8")
    print(f"Wrote {TABLE}.")


if __name__ == "__main__":
    main()

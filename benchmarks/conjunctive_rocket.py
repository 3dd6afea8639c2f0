"""Whether attention helps random convolutions: a Conjunctive head on frozen embeddings of timepoints.

    python benchmarks/conjunctive_rocket.py --path DATA
    python benchmarks/conjunctive_rocket.py --quick

The embedding of a timepoint is what some hundred dilated kernels of MiniRocket find there, standardised on training
cases, never trained. Heads on top: "ridge", on its means over time; "instance", linear too, by gradient descent;
"conjunctive", with attention; "from ridge", the same starting from the ridge's weights. "minirocket" is the fast
lane. All learn from training splits. With `--path`, UCR datasets are judged in three folds; else WebTraffic by series
of another seed, where NDCG@n is for evidence at the kernels' centres / on their taps. Seconds are processor time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from torch import Tensor, nn

import millet
from millet.bags import as_bags
from millet.nn import ConjunctivePooling, InstancePooling, MilletNetwork, Pooling
from millet.rocket.heads import both_signs, fit_head
from millet.rocket.plan import HEAVY_TAPS, N_KERNELS, N_TAPS, make_plan
from millet.rocket.scaling import scale_features
from millet.training import Labelled, Options, Recipe, as_recipe, train
from millet.training.memory import reusing_memory

DATASETS = ("GunPoint", "ECG200", "ArrowHead", "Beef", "ToeSegmentation1", "Lightning7")
HEADS = ("minirocket", "ridge", "instance", "conjunctive", "from ridge")
SEED, JUDGING_SEED = 0, 2024
Floats = NDArray[np.floating[Any]]
Evidence = tuple[Floats, Floats, Floats]  # logits (B, K); scores (B, K, T) at centres, and laid on taps
Model = Callable[[Floats], Evidence]


class Embedding:
    """MiniRocket's features before their mean over time is taken: series (B, 1, T) to embeddings (B, D, T)."""

    def __init__(self, X: Floats, n_features: int) -> None:
        self.plan = make_plan(as_bags(X).batch(range(len(X))), False, n_features, np.random.default_rng(SEED))
        self.sizes = (N_KERNELS * self.plan.n_biases).tolist()  # how many features each dilation has
        self.kernels = torch.full((N_KERNELS, 1, N_TAPS), -1.0)
        self.kernels.scatter_(2, torch.from_numpy(HEAVY_TAPS).long()[:, None], 2.0)
        deviations, centres = torch.std_mean(self.responses(X), dim=(0, 2))
        self.centres, self.deviations = centres[:, None], deviations[:, None].clamp(min=1e-6)

    def responses(self, X: Floats) -> Tensor:
        """Return whether each kernel exceeds each of its biases at each timepoint, 1 or 0."""
        values = torch.from_numpy(as_bags(X).batch(range(len(X))).values)
        biases = torch.split(torch.from_numpy(self.plan.biases), self.sizes)
        parts = []
        for dilation, own in zip(self.plan.dilations.tolist(), biases, strict=True):
            response = F.conv1d(values, self.kernels, padding="same", dilation=dilation)  # (B, 84, T)
            parts.append((response[:, :, None] > own.view(N_KERNELS, -1, 1)).flatten(1, 2).float())
        return torch.cat(parts, dim=1)

    def __call__(self, X: Floats) -> Tensor:
        """Return standardised responses."""
        return self.responses(X).sub_(self.centres).div_(self.deviations)

    def lay_on_taps(self, z: Tensor, weights: Tensor, attention: Tensor | float) -> Tensor:
        """Return attention times weights (K, D) times embeddings, evenly on the taps of each kernel: (B, K, T)."""
        taps, laid = torch.full((1, 1, N_TAPS), 1 / N_TAPS), []
        parts = torch.split(z, self.sizes, dim=1), torch.split(weights, self.sizes, dim=1)
        for dilation, own, weight in zip(self.plan.dilations.tolist(), *parts, strict=True):
            centred = attention * (weight @ own)
            flat = F.conv1d(centred.flatten(0, 1)[:, None], taps, padding="same", dilation=dilation)
            laid.append(flat.view_as(centred))
        return torch.stack(laid).sum(dim=0)


def fit(head: str, X: Floats, codes: NDArray[np.int64], n_features: int, recipe: Recipe) -> tuple[Model, float]:
    """Fit one of `HEADS`, and return how long that took."""
    started = time.process_time()
    if head == "minirocket":
        rocket = millet.RocketMilletClassifier(head, random_state=SEED, n_jobs=1, verbose=0).fit(X, codes)
        model: Model = partial(explain_rocket, rocket)
    else:
        embedding = Embedding(X, n_features)
        model = partial(explain_network, fit_network(head, embedding(X), codes, recipe), embedding)
    return model, time.process_time() - started


def fit_network(head: str, z: Tensor, codes: NDArray[np.int64], recipe: Recipe) -> MilletNetwork:
    """Return a head on embeddings (B, D, T), as a network without a backbone."""
    torch.manual_seed(SEED)
    sizes = z.shape[1], int(codes.max()) + 1
    pooling = InstancePooling(*sizes) if head in ("ridge", "instance") else ConjunctivePooling(*sizes)
    if "ridge" in head:
        set_to_ridge(pooling, z, codes, factor=1.0 if head == "ridge" else 2.0)  # untrained attention is about a half
    network = MilletNetwork(*sizes, nn.Identity(), pooling, positions=False, dropout=0.0)
    if head != "ridge":
        with reusing_memory():
            train(network, Labelled(as_bags(z.numpy(), normalise=False), codes), recipe, Options(seed=SEED))
    return network.eval()


@torch.no_grad()
def set_to_ridge(pooling: Pooling, z: Tensor, codes: NDArray[np.int64], factor: float) -> None:
    """Give a pooling's classifier the weights, times a factor, of the fast lane's head on means over time."""
    means = z.mean(dim=2).numpy()
    scale = scale_features(means, sparse=False)
    linear = fit_head(means, codes, int(codes.max()) + 1, "multinomial")
    weights = both_signs(linear.coefficients / scale.deviations[:, None])  # (D, K)
    biases = both_signs(linear.intercepts[None])[0] - scale.centres @ weights
    pooling.classify.weight.copy_(torch.from_numpy(factor * weights.T))
    pooling.classify.bias.copy_(torch.from_numpy(factor * biases))


def explain_rocket(rocket: millet.RocketMilletClassifier, X: Floats) -> Evidence:
    """Return what the fast lane says about series."""
    centred, laid = (rocket.set_params(spread=spread).explain(X) for spread in ("anchor", "taps"))
    return laid.logits, centred.scores, laid.scores


@torch.inference_mode()
def explain_network(network: MilletNetwork, embedding: Embedding, X: Floats) -> Evidence:
    """Return what a head on embeddings says about series."""
    assert isinstance(network.pooling, Pooling)
    classify, parts = network.pooling.classify, []
    for first in range(0, len(X), 16):
        z = embedding(X[first : first + 16])
        output = network(z)
        attention = 1.0 if output.attention is None else output.attention[:, None]
        spread = embedding.lay_on_taps(z, classify.weight, attention) + attention * classify.bias[:, None]
        parts.append((output.logits, output.scores, spread))
    logits, centred, laid = (torch.cat(part).numpy() for part in zip(*parts, strict=True))
    return logits, centred, laid


def compare_accuracy(datasets: Sequence[Any], heads: Sequence[str], *settings: Any) -> None:
    """Print the accuracy of every head in three folds of every training split."""
    print_rows(["accuracy", *heads], ["---", *["--:"] * len(heads)])
    folds = StratifiedKFold(3, shuffle=True, random_state=SEED)
    found = np.zeros((len(datasets), len(heads), 2))  # accuracy and seconds
    for row, dataset in enumerate(datasets):
        codes = np.unique(dataset.y, return_inverse=True)[1]
        for column, head in enumerate(heads):
            for kept, left_out in folds.split(dataset.X, codes):
                model, taken = fit(head, dataset.X[kept], codes[kept], *settings)
                right = model(dataset.X[left_out])[0].argmax(axis=1) == codes[left_out]
                found[row, column] += np.sum(right) / len(codes), taken / folds.get_n_splits()
        print_rows([dataset.name, *(f"{accuracy:.3f}" for accuracy, _ in found[row])])
    print_rows(["mean", *(f"{accuracy:.3f}" for accuracy, _ in found.mean(axis=0))])
    print_rows(["seconds", *(f"{seconds:.2f}" for _, seconds in found.mean(axis=0))])


def compare_evidence(training: Any, judging: Any, heads: Sequence[str], *settings: Any) -> None:
    """Print how every head that learned from one WebTraffic dataset does on another."""
    print_rows(["WebTraffic", "accuracy", "loss", "NDCG@n", "seconds"], ["---", *["--:"] * 4])
    for head in heads:
        fit(head, training.X[::2], training.y[::2], 84, Recipe(n_epochs=1))  # for imports and compilation
        model, seconds = fit(head, training.X, training.y, *settings)
        logits, *kinds = model(judging.X)
        loss = F.cross_entropy(torch.tensor(logits), torch.from_numpy(judging.y))
        own = np.arange(len(judging.y)), judging.y
        ndcg = " / ".join(f"{np.nanmean(millet.ndcg_at_n(kind[own], judging.relevant)):.3f}" for kind in kinds)
        accuracy = np.mean(logits.argmax(axis=1) == judging.y)
        print_rows([head, f"{accuracy:.3f}", f"{loss:.3f}", ndcg, f"{seconds:.1f}"])


def print_rows(*rows: Sequence[str]) -> None:
    """Print rows of a Markdown table."""
    print("\n".join(f"| {' | '.join(cells)} |" for cells in rows), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", type=Path, help="Folder with UCR datasets; without it, WebTraffic.")
    parser.add_argument("--heads", nargs="+", default=HEADS, choices=HEADS)
    parser.add_argument("--n-features", type=int, default=252, help="Size of an embedding.")
    parser.add_argument("--n-epochs", type=int)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--quick", action="store_true", help="Both tables, of a few small series.")
    given = parser.parse_args()
    settings = given.n_features, as_recipe("fast", n_epochs=given.n_epochs, learning_rate=given.learning_rate)
    if given.quick:
        training, judging = (millet.make_web_traffic(3, sampling_interval=60, random_state=seed) for seed in (0, 1))
        compare_accuracy([training], given.heads, 84, Recipe(n_epochs=1))
        print()
        compare_evidence(training, judging, given.heads, 84, Recipe(n_epochs=1))
    elif given.path is not None:
        compare_accuracy([millet.load_dataset(name, given.path)[0] for name in DATASETS], given.heads, *settings)
    else:
        judging = millet.make_web_traffic(random_state=JUDGING_SEED)
        compare_evidence(millet.make_web_traffic(), judging, given.heads, *settings)


if __name__ == "__main__":
    main()

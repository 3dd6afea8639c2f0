"""Write docs/tables/resnet_activations.md: ResNet with the paper's recipe, by where its blocks apply ReLU.

    python docs/scripts/resnet_activations.py --path data/ucr --published published --runs 3 SonyAIBORobotSurface1
    python docs/scripts/resnet_activations.py --path data/ucr --published published --pooling conjunctive MoteStrain

The released code applies ReLU after the last of a block's three convolutions, the original ResNet after the first
two. This script trains networks of the second kind and keeps their rows in results/resnet_activations.jsonl; those
already there are not trained again, and the table shows all of them. Rows of the first kind are in results/ucr_small.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from millet import MilletClassifier, evaluate, load_dataset
from millet.atomic import atomic_path
from millet.benchmark.provenance import commit, machine, versions
from millet.nn.backbones import BlockBackbone, ResNet, ResNetBlock
from millet.report import Published, read_run
from millet.report.names import model_title
from millet.report.training import powers_of_ten

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "tables" / "resnet_activations.md"
ROWS = ROOT / "results" / "resnet_activations.jsonl"
RUN = ROOT / "results" / "ucr_small"
METRICS = ("train_loss", "accuracy", "loss", "aopcr")
HEADER = ("dataset", "model", "ReLU", "runs", "training loss, as a power of ten", "accuracy", "test loss", "AOPCR")
INTRODUCTION = """# Where ResNet applies ReLU

ResNet trained with the paper's recipe: the mean over single networks, and their least and greatest. A block has
three convolutions. In the released code ReLU follows only the last of them, and our `ResNet` does the same; in the
original ResNet (Wang et al., 2017) it follows the first two. [Decision 15](../decisions/0015-resnet-as-released.md)
says what follows. A training loss of 0 counts as -9. Written by `docs/scripts/resnet_activations.py`.

"""


class OriginalResNet(BlockBackbone):
    """ResNet with ReLU after the first two convolutions of each block."""

    d_out = ResNet.d_out

    def __init__(self, n_channels: int, padding: str = "replicate") -> None:
        super().__init__()
        self.blocks = ResNet(n_channels, padding).blocks
        for block in self.blocks:
            assert isinstance(block, ResNetBlock)
            for part in block.blocks:
                part.relu = not part.relu  # type: ignore[assignment]


def known_rows() -> list[dict[str, object]]:
    """Return what was trained so far."""
    return [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []


def train(name: str, pooling: str, path: str, seed: int) -> dict[str, object]:
    """Train and evaluate one network."""
    training, test = load_dataset(name, path)
    classifier = MilletClassifier(OriginalResNet, pooling, recipe="paper", random_state=seed, n_jobs=1)
    classifier.fit(training.X, training.y)
    found = evaluate(classifier, test, metrics=[metric for metric in METRICS if metric != "train_loss"])
    return {
        "dataset": name,
        "model": f"{pooling}-resnet",
        "seed": seed,
        "n_epochs_run": classifier.training_summary_["n_epochs"][0],
        "train_loss": classifier.training_summary_["kept_loss"][0],
        **{metric: found[metric] for metric in METRICS if metric in found},
        "versions": versions(),
        "commit": commit(),
        "machine": machine(),
    }


def line(name: str, model: str, where: str, *columns: Sequence[float]) -> str:
    """Return a line of the table: means, and the least and the greatest; nothing where there are no runs."""
    losses, *others = columns
    if not losses:
        return ""
    numbers = [f"{fmean(c):.2f}, {min(c):.2f} to {max(c):.2f}" for c in (powers_of_ten(losses), *others)]
    return f"| {name} | {model_title(model)} | {where} | {len(losses)} | {' | '.join(numbers)} |"


def table(published: Published) -> str:
    """Return the page, in Markdown."""
    rows, ours = known_rows(), read_run(RUN)
    lines = [f"| {' | '.join(HEADER)} |", "| --- | --- | --- |" + " --: |" * (len(HEADER) - 3)]
    for of in dict.fromkeys((row["dataset"], row["model"]) for row in rows):
        original = [row for row in rows if (row["dataset"], row["model"]) == of]
        lines += [
            line(*of, "as released", *(ours.runs(*of, metric) for metric in METRICS)),
            line(*of, "as in the original", *([row[metric] for row in original] for metric in METRICS)),
            line(*of, "the authors' runs", *(published.runs(*of, metric).tolist() for metric in METRICS)),
        ]
    return INTRODUCTION + "\n".join(found for found in lines if found) + "\n"


def main() -> None:
    """Train what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--pooling", choices=("gap", "conjunctive"), default="gap")
    parser.add_argument("--path", required=True, help="folder with UCR datasets")
    parser.add_argument("--published", type=Path, help="folder with the authors' results")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    for name in options.datasets:
        for seed in range(options.runs):
            wanted = (name, f"{options.pooling}-resnet", seed)
            if not any((row["dataset"], row["model"], row["seed"]) == wanted for row in known_rows()):
                row = train(name, options.pooling, options.path, seed)
                with ROWS.open("a") as rows:
                    rows.write(json.dumps(row) + "\n")
    with atomic_path(TABLE) as temporary:
        temporary.write_text(table(Published(options.published)), encoding="utf-8")
    print(f"Wrote {TABLE}.")


if __name__ == "__main__":
    main()

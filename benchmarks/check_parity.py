"""Read checkpoints of the authors' code and compare what MILLET computes with what that code computed.

    python benchmarks/check_parity.py FOLDER

FOLDER holds pairs of files: ``<name>.pth``, a state_dict, and ``<name>.npz`` with `x`, `logits`, `interpretation`,
`perturbation_curve` and `aopc`. All must agree to 1e-4; the exit code is 1 if one does not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
import numpy as np

from millet import MilletClassifier
from millet.metrics import aopc, perturbation_curve
from millet.nn import load_authors_checkpoint
from millet.tables import format_table

TOLERANCE = 1e-4
HEADER = ["checkpoint", "logits", "interpretation", "perturbation curve", "AOPC", "agrees"]


def differences(checkpoint: Path, padding: str) -> list[float]:
    """Return the largest difference of each array."""
    classifier = MilletClassifier.of_networks(load_authors_checkpoint(checkpoint, padding), normalise=False)
    with np.load(checkpoint.with_suffix(".npz")) as known:
        explanation = classifier.explain(known["x"])
        curve = perturbation_curve(classifier, known["x"], explanation)
        ours = {
            "logits": explanation.logits,
            "interpretation": explanation.scores,
            "perturbation_curve": curve,
            "aopc": aopc(curve),
        }
        return [float(np.abs(value - known[name]).max()) for name, value in ours.items()]


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--padding", default="replicate", show_default=True, help="Padding of the convolutions.")
def main(folder: Path, padding: str) -> None:
    """Compare every checkpoint in a folder."""
    found = {path.stem: differences(path, padding) for path in sorted(folder.glob("*.pth"))}
    if not found:
        sys.exit(f"{folder} holds no .pth files.")
    agree = {name: max(values) <= TOLERANCE for name, values in found.items()}
    rows = [[name, *(f"{v:.1e}" for v in values), "yes" if agree[name] else "NO"] for name, values in found.items()]
    print(format_table(HEADER, rows, right=HEADER[1:]))
    sys.exit(0 if all(agree.values()) else 1)


if __name__ == "__main__":
    main()

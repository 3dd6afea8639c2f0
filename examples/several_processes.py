"""One network, trained by two processes that share each batch, with the same result as one process."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from millet import make_web_traffic
from millet.bags import as_bags
from millet.nn import MilletNetwork
from millet.training import Labelled, Options, Recipe, make_fabric, train

RECIPE = Recipe(n_epochs=20, batch_size=8, learning_rate=0.01, schedule="one-cycle")


def work(fabric: Any, cases: Labelled, network: MilletNetwork, path: Path) -> None:
    """Train on this process's part of every batch; the first process saves the weights, which all have."""
    train(network, cases, RECIPE, Options(seed=0), fabric)
    if fabric.is_global_zero:
        save_file(network.state_dict(), path)
    fabric.barrier()
    torch.distributed.destroy_process_group()


def main() -> None:
    split = make_web_traffic(8, classes=["None", "Cutoff"], sampling_interval=60)
    codes = np.unique(split.y, return_inverse=True)[1]  # classes are 0, 1 ... here
    cases = Labelled(as_bags(split.X), codes)
    torch.manual_seed(0)
    network = MilletNetwork(n_channels=1, n_classes=2, backbone="lite")
    with TemporaryDirectory() as folder:
        weights = Path(folder) / "network.safetensors"
        make_fabric("cpu", "32-true", processes=2).launch(work, cases, network, weights)
        network.load_state_dict(load_file(weights))
    batch = cases.bags.batch(range(len(codes)))
    with torch.inference_mode():
        output = network.eval()(torch.from_numpy(batch.values), torch.from_numpy(batch.lengths))
    right = output.logits.argmax(dim=1).numpy() == codes
    print(f"Training accuracy after {RECIPE.n_epochs} epochs: {right.mean():.0%}")


if __name__ == "__main__":
    main()

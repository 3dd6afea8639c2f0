"""A backbone of your own under Conjunctive pooling: any module from (B, C, T) to (B, D, T) will do."""

import numpy as np
import torch
from torch import Tensor, nn

from millet import MilletClassifier


class GatedConvolutions(nn.Module):
    """Two convolutions, the second of which decides how much of the first passes."""

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        self.values = nn.Conv1d(n_channels, 32, kernel_size=17, padding="same")
        self.gates = nn.Conv1d(n_channels, 32, kernel_size=17, padding="same")
        self.norm = nn.BatchNorm1d(32)

    def forward(self, x: Tensor) -> Tensor:
        """Embed every timepoint."""
        return self.norm(torch.tanh(self.values(x)) * torch.sigmoid(self.gates(x)))


def main() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 1, 100)), np.tile(["fast", "slow"], 60)
    starts = rng.integers(0, 80, size=120)
    for case, start in enumerate(starts):  # the classes differ in one short wave, somewhere in the noise
        X[case, 0, start : start + 20] += 3 * np.sin(np.arange(20) * (1.2 if y[case] == "fast" else 0.6))

    classifier = MilletClassifier(
        GatedConvolutions, n_epochs=40, batch_size=16, learning_rate=0.01, random_state=0, verbose=0
    ).fit(X[:80], y[:80])
    print(f"Accuracy on 40 unseen series: {classifier.score(X[80:], y[80:]):.0%}")

    explanation = classifier.explain(X[80:])
    for case in range(4):
        evidence = explanation.scores[case, list(classifier.classes_).index(explanation.predicted[case])]
        print(
            f"Series {case} is {explanation.predicted[case]}: its wave starts at {starts[80 + case]:2}, "
            f"and the evidence is strongest at {evidence.argmax():2}."
        )


if __name__ == "__main__":
    main()

"""Draw the pictures of the documentation from a saved WebTraffic model: ``python docs/scripts/pictures.py MODEL``.

A model to draw from is what ``millet demo`` leaves in ``millet-demo/model``.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import millet
from millet.plots import plot_examples, plot_explanation, save_figure

IMAGES = Path(__file__).parent.parent / "images"


def main() -> None:
    """Draw every picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    model = parser.parse_args().model
    _, test = millet.load_dataset("WebTraffic")
    save_figure(plot_examples(test.X, test.y, test.class_names, test.relevant), IMAGES / "classes.png", dpi=90)
    explanation = millet.load_classifier(model).explain(test.X)
    explanation = dataclasses.replace(explanation, class_names=test.class_names)
    peaks = [case for case in range(len(test)) if test.y[case] == 8]
    case = max(peaks, key=lambda peak: explanation.probabilities[peak, 8])
    figure = plot_explanation(explanation, case=case, relevant=test.relevant[case], label=test.y[case])
    save_figure(figure, IMAGES / "evidence-peak.png", dpi=110)


if __name__ == "__main__":
    main()

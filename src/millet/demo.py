"""The demo: WebTraffic, a model worth looking at, and its evidence beside the truth, in pictures and on a page."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np

from millet.classifier import MilletClassifier
from millet.datasets.web_traffic import WebTraffic, load_web_traffic
from millet.explanation import Explanation, format_intervals
from millet.plots import plot_examples, plot_explanation, save_figure
from millet.reporting import report_run
from millet.tables import format_table
from millet.training import Recipe

Say = Callable[[str], None]

# A light network and a short schedule, so that it takes minutes on two cores; both limits hold on a slow machine.
RECIPE = Recipe(
    n_epochs=40, batch_size=16, learning_rate=0.01, optimizer="adamw", weight_decay=0.01, schedule="one-cycle"
)
MAX_SECONDS = 130.0


def run_demo(out: Path, say: Say) -> MilletClassifier:
    """Train on WebTraffic, show the results, and save model, pictures and report to a folder.

    Parameters
    ----------
    out : Path
        Folder for the model, the pictures and the report.
    say : callable
        Takes the text to show.
    """
    train, test = load_web_traffic()
    say(
        f"WebTraffic: a week of page views, {len(train)} series to learn from and {len(test)} to test on, "
        f"{train.lengths[0]} timepoints each. {len(train.classes) - 1} classes have an anomaly at a known place, one "
        "has none."
    )
    say(f"Training two LITE networks with Conjunctive pooling, side by side: at most {MAX_SECONDS:.0f} seconds.")
    classifier = MilletClassifier(
        backbone="lite",
        n_estimators=2,
        recipe=RECIPE,
        max_time=MAX_SECONDS,
        random_state=0,
        checkpoint_dir=out / "checkpoints",
    )
    classifier.fit(train.X, train.y)
    explanation = dataclasses.replace(classifier.explain(test.X), class_names=test.class_names)
    say("")
    say(_results(explanation, test, classifier))
    classifier.set_params(checkpoint_dir=None).save(out / "model")
    pictures = _draw(out, explanation, test)
    example = _example_of(8, explanation, test)
    say("")
    say(f"Why is test series {example} a {test.class_names[8]}? The timepoints that speak for it:")
    say(format_intervals(explanation[example].top_intervals(n=3, max_gap=5)))
    where = np.flatnonzero(test.relevant[example])
    say(f"The signature was injected at timepoints {where[0]} to {where[-1]}.")
    say("")
    say(f"Model: {out / 'model'}")
    say("Pictures, with the true region of each signature:")
    for picture in pictures:
        say(f"  {picture}")
    report = report_run(out / "report.html", classifier, explanation, test)
    say("")
    say("Every test series with its evidence, to explore in a browser:")
    say(str(report))
    return classifier


def _results(explanation: Explanation, test: WebTraffic, classifier: MilletClassifier) -> str:
    right = explanation.predicted == test.y
    rows: list[list[object]] = [
        [name, int((test.y == label).sum()), f"{right[test.y == label].mean():.2f}"]
        for label, name in zip(test.classes, test.class_names, strict=True)
    ]
    rows.append(["all", len(test), f"{right.mean():.3f}"])
    seconds = classifier.history_[-1].seconds
    return (
        format_table(["class", "test series", "accuracy"], rows, right=["test series", "accuracy"])
        + f"\n\n{max(classifier.training_summary_['n_epochs'])} epochs in {seconds:.0f} seconds. "
        f"Contributions add up to the logits to {explanation.completeness_error().max():.0e}."
    )


def _draw(out: Path, explanation: Explanation, test: WebTraffic) -> list[Path]:
    overview = out / "classes.png"
    save_figure(plot_examples(test.X, test.y, test.class_names, test.relevant), overview)
    pictures = [overview]
    for code, name in enumerate(test.class_names):
        if name == "None":
            continue
        case = _example_of(code, explanation, test)
        figure = plot_explanation(explanation, case=case, relevant=test.relevant[case], label=test.y[case])
        pictures.append(out / f"evidence-{name.lower()}.png")
        save_figure(figure, pictures[-1])
    return pictures


def _example_of(code: int, explanation: Explanation, test: WebTraffic) -> int:
    """Return the case of a class that the model is surest of."""
    cases = np.flatnonzero(test.y == test.classes[code])
    return int(cases[explanation.probabilities[cases, code].argmax()])

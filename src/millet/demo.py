"""The demo: WebTraffic, a model worth looking at, and its evidence beside the truth, in pictures and on a page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from millet.averaged import AveragedClassifier
from millet.classifier import MilletClassifier
from millet.datasets.web_traffic import WebTraffic, load_web_traffic
from millet.explanation import Explanation, format_intervals
from millet.plots import plot_examples, plot_explanation, save_figure
from millet.reporting import report_run
from millet.rocket_classifier import RocketMilletClassifier
from millet.tables import format_table
from millet.training import as_recipe

Say = Callable[[str], None]

# Light networks and a short schedule, so that it takes minutes on two cores; slow machines stop at the time limit.
RECIPE = as_recipe("fast", n_epochs=40, learning_rate=0.005)
MAX_SECONDS = 110.0
FEATURES = "multirocket-hydra"


def run_demo(out: Path, say: Say) -> AveragedClassifier:
    """Learn WebTraffic in both lanes, show the results, and save model, pictures and report in a folder.

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
    say("")
    say("The fast lane: a linear model of random convolutions (MultiRocket-Hydra) ...")
    rocket = RocketMilletClassifier(FEATURES, random_state=0).fit(train.X, train.y)
    say(f"  test accuracy {rocket.score(test.X, test.y):.3f} after {rocket.training_summary_['seconds']:.0f} seconds")
    say(f"Two LITE networks with Conjunctive pooling, side by side, for at most {MAX_SECONDS:.0f} seconds ...")
    networks = MilletClassifier(
        backbone="lite",
        n_estimators=2,
        recipe=RECIPE,
        max_time=MAX_SECONDS,
        random_state=0,
        checkpoint_dir=out / "checkpoints",
    )
    networks.fit(train.X, train.y)
    n_epochs, seconds = max(networks.training_summary_["n_epochs"]), networks.history_[-1].seconds
    say(f"  test accuracy {networks.score(test.X, test.y):.3f} after {n_epochs} epochs in {seconds:.0f} seconds")
    say("All three together: logits are averaged, so the evidence still adds up.")
    networks.set_params(checkpoint_dir=None)
    classifier = AveragedClassifier.of_fitted([networks, rocket], weights=[2, 1])
    explanation = classifier.explain(test.X, class_names=test.class_names)
    say("")
    say(_results(explanation, test))
    classifier.save(out / "model")
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


def _results(explanation: Explanation, test: WebTraffic) -> str:
    right = explanation.predicted == test.y
    rows: list[list[object]] = [
        [name, int((test.y == label).sum()), f"{right[test.y == label].mean():.2f}"]
        for label, name in zip(test.classes, test.class_names, strict=True)
    ]
    rows.append(["all", len(test), f"{right.mean():.3f}"])
    return (
        format_table(["class", "test series", "accuracy"], rows, right=["test series", "accuracy"])
        + f"\n\nContributions add up to the logits to {explanation.completeness_error().max():.0e}."
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

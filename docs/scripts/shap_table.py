"""Write docs/tables/shap_surrogates.md: what SHAP finds on WebTraffic, by how coalitions are turned into values.

    python docs/scripts/shap_table.py --model "Instance FCN=models/instance-fcn" --cases 20

All ways explain the same models and cases. The ways that do not pair see the same coalitions.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

import millet
from millet import metrics
from millet.atomic import atomic_path
from millet.benchmark.measure import spread
from millet.posthoc.coalitions import Coalitions, draw_coalitions, logits_of_coalitions
from millet.posthoc.shapley import shapley_values
from millet.posthoc.subjects import Subject, make_subject
from millet.report import paper_table

TABLE = Path(__file__).parents[1] / "tables" / "shap_surrogates.md"
N_COALITIONS, BATCH_SIZE = 500, 32
PAIRED = "least squares on logits, paired (`posthoc.shap`)"
UNPAIRED = "least squares on logits (`paired=False`)"
EVEN = "covariance with logits, all coalitions alike"
KERNEL = "covariance with logits, SHAP kernel"
PROBABILITIES = "covariance with probabilities, SHAP kernel"
Floats = NDArray[np.float64]


def covariance(present: NDArray[np.bool_], answers: Floats, weights: Floats) -> Floats:
    """Return the weighted covariance of each timepoint's presence with the answers, (n_timepoints, n_classes).

    It is what a ridge regression gives, up to a factor, where its penalty outweighs the data. With the SHAP kernel as
    weights every penalty does: for 1008 timepoints these weights are about 1e-305.
    """
    shares = weights / weights.sum()
    centred = present - shares @ present
    covariances: Floats = centred.T @ (shares[:, None] * (answers - shares @ answers))
    return covariances


def values_of(subject: Subject, case: int) -> Iterator[tuple[str, Floats]]:
    """Yield the scores of one case, (n_classes, n_timepoints), by each way."""
    series = subject.values(case)
    players = np.arange(series.shape[1])
    rng = np.random.default_rng(case)
    everything = subject.logits[case]
    nothing = np.zeros_like(everything)

    def ask(paired: bool) -> tuple[Coalitions, Floats]:
        drawn = draw_coalitions(len(players), N_COALITIONS, rng, sampling="uniform", paired=paired)
        return drawn, logits_of_coalitions(subject, series, drawn.present, players, None, BATCH_SIZE)

    pairs, logits = ask(paired=True)
    yield PAIRED, shapley_values(pairs, logits, nothing, everything).T
    drawn, logits = ask(paired=False)
    yield UNPAIRED, shapley_values(drawn, logits, nothing, everything).T
    yield EVEN, covariance(drawn.present, logits, np.ones(len(logits))).T
    yield KERNEL, covariance(drawn.present, logits, drawn.weights).T
    yield PROBABILITIES, covariance(drawn.present, softmax(logits, axis=1), drawn.weights).T


def rows_of(title: str, classifier: millet.MilletClassifier, cases: millet.Dataset) -> list[str]:
    """Return the lines of one model."""
    own = classifier.explain(cases.X)
    rng = np.random.default_rng(0)
    scores: dict[str, list[Floats]] = {
        "MILLET's own evidence": list(own.scores),
        "random": list(rng.random(own.scores.shape)),
    }
    subject = make_subject(classifier, cases.X, BATCH_SIZE)
    for case in range(len(cases)):
        for way, found in values_of(subject, case):
            scores.setdefault(way, []).append(found)
        print(f"{title}: {case + 1} of {len(cases)} cases explained", flush=True)
    codes = np.searchsorted(classifier.classes_, cases.y)
    lines = []
    for way, found in scores.items():
        stacked = np.stack(found)
        aopcr = metrics.aopcr(classifier, cases.X, stacked)
        ndcg = metrics.ndcg_at_n(stacked[np.arange(len(cases)), codes], cases.relevant)
        error = aopcr.std(ddof=1) / np.sqrt(len(aopcr))
        lines.append(f"| {title} | {way} | {aopcr.mean():.2f} ± {error:.2f} | {ndcg.mean():.3f} |")
    return [*lines, *published_row(title, classifier.pooling, classifier.backbone)]


def published_row(title: str, pooling: str, backbone: str) -> Iterator[str]:
    """Yield the line of the paper's own SHAP, which explained ensembles, where it has that model."""
    paper = paper_table("webtraffic_explanations")
    aopcr, ndcg = (paper.value(metric, f"shap-{pooling}", backbone) for metric in ("aopcr", "ndcg_at_n"))
    if aopcr is not None and ndcg is not None:
        yield f"| {title} | the paper's SHAP (App. D.2) | {aopcr:.2f} | {ndcg:.3f} |"


def describe(n_cases: int) -> str:
    """Return what the numbers belong to, in Markdown."""
    return f"""# SHAP on WebTraffic, by the way values are found

{n_cases} test cases, spread evenly over the split, and {N_COALITIONS} random coalitions for each; timepoints that are
not in a coalition are removed. AOPCR ± its standard error. Written by `docs/scripts/shap_table.py`.

The paper does not say how it turned coalitions into values. Code that its first author released with earlier work
fits *probabilities* by a ridge regression, weighs coalitions by the SHAP kernel, and does not pair them. With as many
timepoints as here the kernel's weights are so small (about 1e-305) that any penalty outweighs them, and what is left
of the regression is a covariance in which some forty of the {N_COALITIONS} coalitions carry the weight (in
twenty draws the effective number was 2 to 177). The rows below go from our SHAP to that one, step by step. The same
ridge regressions on paired coalitions were tried with one network, and left out: they lie near those without pairs.

| model | values | AOPCR | NDCG@n |
|---|---|--:|--:|
"""


def main() -> None:
    """Measure every way with every model and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", required=True, help="TITLE=FOLDER of a classifier of WebTraffic")
    parser.add_argument("--cases", type=int, default=20, help="test cases to explain (default: 20)")
    arguments = parser.parse_args()
    cases = spread(millet.load_dataset("WebTraffic")[1], arguments.cases)
    named = [model.partition("=") for model in arguments.model]
    classifiers = {title: millet.MilletClassifier.load(folder) for title, _, folder in named}
    lines = [line for title, classifier in classifiers.items() for line in rows_of(title, classifier, cases)]
    with atomic_path(TABLE) as temporary:
        temporary.write_text(describe(len(cases)) + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"Wrote {TABLE}.")


if __name__ == "__main__":
    main()

"""Put published per-dataset results through this package's statistics and compare with the paper's tables.

    python benchmarks/check_published.py PUBLISHED

PUBLISHED holds ``authors/`` and ``bakeoff/`` as `millet report --published` reads them. Means must agree to 0.001
and average ranks to 0.3. The exit code is 1 if one does not and the reason is not known.

What is known: the paper used an earlier version of the bake-off's results, in which some numbers were different.

- HC2 did a little worse.
- Hydra-MR, RDST and WEASEL-D give 0 or 1, not probabilities, and their AUROC was different.
- The loss was in bits, of probabilities clipped at 0.01: those three then have (1 - accuracy) × log2(100). The files
  have it in nats and almost unclipped, so neither it nor any rank that depends on it can be compared.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from millet.datasets.catalogue import PAPER_DATASETS
from millet.errors import MilletError
from millet.report.names import METRICS, MODELS, STATE_OF_THE_ART
from millet.report.paper import paper_table
from millet.report.published import Published
from millet.statistics import average_ranks, count_wins, head_to_head
from millet.tables import format_table

MEAN_TOLERANCE, RANK_TOLERANCE = 0.001, 0.3
SAYS_0_OR_1 = ("Hydra-MR", "RDST", "WEASEL-D")
KNOWN = "other version"
SHORT = tuple(model for model in MODELS if model.startswith(("gap", "conjunctive")))
HEADER = ["classifier", "mean", "paper", "rank", "paper's", "wins", "paper's wins", "agrees"]


def result(published: Published, dataset: str, classifier: str, metric: str) -> float:
    if classifier in STATE_OF_THE_ART:
        value = published.other(dataset, classifier, metric)
    else:
        value = published.ensemble(dataset, classifier, metric)
    if value is None:
        raise click.ClickException(
            f"No {metric} of {classifier} on {dataset}. Missing: {published.missing or 'a cell'}"
        )
    return value


def gather(published: Published, classifiers: tuple[str, ...], metric: str) -> NDArray[np.float64]:
    rows = [[result(published, dataset, name, metric) for name in classifiers] for dataset in PAPER_DATASETS]
    return np.array(rows)


def verdict(metric: str, classifier: str, mean_off: float, rank_off: float) -> str:
    other_mean = {
        "accuracy": classifier == "HC2",
        "balanced_accuracy": classifier == "HC2",
        "auroc": classifier in SAYS_0_OR_1,
        "loss": classifier in STATE_OF_THE_ART,
    }[metric]
    # A classifier that does better or worse moves in rank as well; where all seven do, all classifiers move.
    other_rank = other_mean or metric == "loss"
    if mean_off > MEAN_TOLERANCE and not other_mean:
        return "NO"
    if rank_off > RANK_TOLERANCE and not other_rank:
        return "NO"
    return "yes" if mean_off <= MEAN_TOLERANCE and rank_off <= RANK_TOLERANCE else KNOWN


def compare(published: Published, table: str, models: tuple[str, ...], metric: str) -> list[str]:
    classifiers = (*STATE_OF_THE_ART, *models)
    values = gather(published, classifiers, metric)
    better = METRICS[metric].higher_is_better
    means = values.mean(axis=0)
    ranks = average_ranks(values, higher_is_better=better)
    wins = count_wins(values, higher_is_better=better, decimals=3)
    rows, verdicts = [], []
    for classifier, mean, rank, won in zip(classifiers, means, ranks, wins, strict=True):
        paper = paper_table(table).parts[metric].get(classifier)
        if paper is None:
            continue
        verdicts.append(verdict(metric, classifier, abs(mean - paper["mean"]), abs(rank - paper["rank"])))
        shown = [f"{mean:.4f}", f"{paper['mean']:.3f}", f"{rank:.3f}", f"{paper['rank']:.3f}", won, paper["wins"]]
        rows.append([classifier, *shown, verdicts[-1]])
    click.echo(f"\n{table}, {METRICS[metric].title}")
    click.echo(format_table(HEADER, rows, right=HEADER[1:7]))
    return verdicts


def check_bits(published: Published) -> list[str]:
    """Show that the paper's losses for the bake-off are in bits, of probabilities clipped at 0.01."""
    accuracy = gather(published, SAYS_0_OR_1, "accuracy").mean(axis=0)
    bits = (1 - accuracy) * math.log2(100)
    paper = [paper_table("ucr_all").parts["loss"][name]["mean"] for name in SAYS_0_OR_1]
    click.echo("\nLoss in bits of probabilities clipped at 0.01: " + ", ".join(
        f"{name} {ours:.3f} (paper {theirs:.3f})" for name, ours, theirs in zip(SAYS_0_OR_1, bits, paper, strict=True)
    ))  # fmt: skip
    # An accuracy that is off by 0.0005 moves this by 0.0033.
    return ["yes" if abs(ours - theirs) < 0.0035 else "NO" for ours, theirs in zip(bits, paper, strict=True)]


def check_grids(published: Published) -> list[str]:
    """Compare the means of the authors' own models, single ones and ensembles."""
    verdicts = []
    for table, part, metric in (
        ("ucr_performance", "accuracy", "accuracy"),
        ("ucr_performance", "balanced_accuracy", "balanced_accuracy"),
        ("ucr_aopcr", "ensemble", "aopcr"),
        ("ucr_aopcr", "single", "aopcr"),
    ):
        worst = 0.0
        for model in MODELS:
            if part == "single":
                ours = np.mean([published.runs(dataset, model, metric).mean() for dataset in PAPER_DATASETS])
            else:
                ours = gather(published, (model,), metric).mean()
            pooling, backbone = model.split("-")
            worst = max(worst, abs(float(ours) - paper_table(table).parts[part][pooling][backbone]))
        verdicts.append("yes" if worst <= MEAN_TOLERANCE else "NO")
        click.echo(f"{table}, {part}: greatest difference of 15 means {worst:.4f}: {verdicts[-1]}")
    return verdicts


def check_duels(published: Published) -> list[str]:
    """Count the datasets on which Conjunctive InceptionTime is as good or better, by balanced accuracy."""
    verdicts = []
    for other, paper in paper_table("comparisons").parts["wins_or_draws"].items():
        ours, theirs = gather(published, ("conjunctive-inceptiontime", other), "balanced_accuracy").T
        duel = head_to_head(ours, theirs)
        count = duel.wins + duel.draws
        verdicts.append("yes" if count == paper["count"] else KNOWN if other == "HC2" else "NO")
        click.echo(
            f"Conjunctive InceptionTime against {other}: {duel.wins} wins, {duel.draws} draws, {duel.losses} losses; "
            f"wins or draws {count}, paper {paper['count']}: {verdicts[-1]}"
        )
    return verdicts


@click.command()
@click.argument("folder", metavar="PUBLISHED", type=click.Path(path_type=Path))
def check_published(folder: Path) -> None:
    """Compare published per-dataset results with the paper's tables of 85 UCR datasets."""
    verdicts: list[str] = []
    try:
        published = Published(folder)
        for metric in ("accuracy", "balanced_accuracy", "auroc", "loss"):
            verdicts += compare(published, "ucr_all", MODELS, metric)
            verdicts += compare(published, "ucr_summary", SHORT, metric)
        verdicts += check_bits(published)
        click.echo()
        verdicts += check_grids(published)
        verdicts += check_duels(published)
    except MilletError as error:
        raise click.ClickException(str(error)) from error
    counts = {answer: verdicts.count(answer) for answer in ("yes", KNOWN, "NO")}
    click.echo(f"\n{counts['yes']} agree, {counts[KNOWN]} differ as known, {counts['NO']} differ.")
    sys.exit(1 if counts["NO"] else 0)


if __name__ == "__main__":
    check_published()

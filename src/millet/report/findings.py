"""Findings: what the published per-dataset results say about the paper's tables.

In:  `Published`; no run of ours.
Out: one `Section`.
"""

from __future__ import annotations

import math
from pathlib import Path

from millet.datasets.catalogue import PAPER_DATASETS
from millet.report.field import SHORT, Field, gather_field
from millet.report.layout import NONE, Section, Table, shown, shown_difference
from millet.report.names import METRICS, MODELS, STATE_OF_THE_ART, model_title
from millet.report.paper import paper_table
from millet.report.placing import WIN_DECIMALS
from millet.report.published import Published
from millet.report.ranking import BEST, RIVALS
from millet.report.rows import Run
from millet.report.ucr import coverage
from millet.statistics import count_wins, deviations_from_median, head_to_head
from millet.statistics.ranks import TIE_DECIMALS

TITLE = "The published figures"
PREDICTION = ("accuracy", "balanced_accuracy", "auroc", "loss")
# These give 0 or 1 instead of probabilities.
CRISP = ("Hydra-MR", "RDST", "WEASEL-D")
CLIP = 0.01
PRINTED = 0.0006  # half of the paper's last digit, and a little for the rounding of ours


def findings_section(published: Published) -> Section:
    """Return where the paper's tables and the published per-dataset results agree, and where they can't agree.

    Parameters
    ----------
    published : Published
        Without a folder there are no findings.
    """
    fields = {metric: _field(published, metric) for metric in PREDICTION}
    whole = {*MODELS, *STATE_OF_THE_ART}, set(PAPER_DATASETS)
    if any((set(field.classifiers), set(field.datasets)) != whole for field in fields.values()):
        note = f"This needs the published results of all {len(whole[0])} classifiers on all {len(whole[1])} datasets."
        return Section(TITLE, notes=(note,))
    accuracy = fields["accuracy"]
    tables = (
        _means(fields),
        _losses(accuracy, fields["loss"]),
        _wins(fields),
        _duels(accuracy, fields["balanced_accuracy"]),
        _steadiness(published, accuracy),
    )
    return Section(TITLE, tables)


def _field(published: Published, metric: str) -> Field:
    nothing = Run(Path(), {}, ())
    return gather_field(nothing, published, MODELS, PAPER_DATASETS, metric)


def _means(fields: dict[str, Field]) -> Table:
    rows = []
    for classifier in fields["accuracy"].classifiers:
        cells = []
        for metric, field in fields.items():
            ours = float(field.column(classifier).mean())
            paper = paper_table("ucr_all").value(metric, classifier, "mean")
            agree = paper is not None and abs(ours - paper) <= PRINTED
            cells.append(shown(paper) if agree else f"{shown(ours, 4)}, not {shown(paper)}")
        rows.append((model_title(classifier), *cells))
    n_agree = sum("not" not in cell for row in rows for cell in row[1:])
    note = (
        f"{n_agree} of {len(rows) * len(fields)} means are the paper's; where one is not, the first number is that "
        "of the files. Losses of the state of the art are in another unit in the paper (next table). The AUROCs of "
        f"classifiers that output 0 or 1 ({', '.join(CRISP)}) may have been averaged in another way, which was not "
        "tried. The other differences are within 0.002, and may come from later versions of the files."
    )
    header = ("classifier", *(METRICS[metric].title for metric in fields))
    covered = coverage(fields["accuracy"].datasets)
    return Table(
        "Means of the published results", paper_table("ucr_all").table, covered, header, tuple(rows), (note,)
    )


def _losses(accuracy: Field, loss: Field) -> Table:
    rows = []
    for classifier in CRISP:
        bits = (1 - float(accuracy.column(classifier).mean())) * math.log2(1 / CLIP)
        paper = paper_table("ucr_all").value("loss", classifier, "mean")
        files = float(loss.column(classifier).mean())
        rows.append((classifier, shown(paper), shown(bits), shown_difference(bits, paper), shown(files)))
    nats = float(loss.column(BEST).mean())
    paper = paper_table("ucr_all").value("loss", BEST, "mean")
    rows.append((model_title(BEST), shown(paper), NONE, NONE, shown(nats)))
    note = (
        f"A classifier that outputs 0 or 1, clipped at {CLIP}, has a loss of log2(1 / {CLIP}) bits wherever it errs: "
        "that gives the paper's figure. The files' losses are in nats and all but unclipped, and so are the paper's "
        "for its own models. Its loss column therefore mixes two units, and neither its means nor its ranks can be "
        "compared."
    )
    header = ("classifier", "paper", f"(1 − accuracy) × log2(1 / {CLIP})", "difference", "files, in nats")
    title = "The unit of the paper's losses"
    return Table(title, paper_table("ucr_all").table, coverage(loss.datasets), header, tuple(rows), (note,))


def _wins(fields: dict[str, Field]) -> Table:
    rows = []
    for metric, field in fields.items():
        if metric == "loss":  # two units: see the table of losses
            continue
        better = METRICS[metric].higher_is_better
        paper = [paper_table("ucr_all").value(metric, name, "wins") for name in field.classifiers]
        cells = []
        for decimals in (WIN_DECIMALS, TIE_DECIMALS):
            ours = count_wins(field.values, higher_is_better=better, decimals=decimals)
            cells.append(f"{sum(int(won) == theirs for won, theirs in zip(ours, paper, strict=True))}")
        rows.append((METRICS[metric].title, *(f"{cell} of {len(paper)}" for cell in cells)))
    note = "How many of the classifiers have as many wins as in the paper, with wins counted in two ways."
    header = ("metric", f"rounded to {WIN_DECIMALS} decimals", "not rounded")
    covered = coverage(fields["accuracy"].datasets)
    return Table("How wins are counted", paper_table("ucr_all").table, covered, header, tuple(rows), (note,))


def _duels(accuracy: Field, balanced: Field) -> Table:
    rows = []
    for rival in RIVALS:
        duels = [head_to_head(field.column(BEST), field.column(rival)) for field in (accuracy, balanced)]
        count = paper_table("comparisons").value("wins_or_draws", rival, "count")
        rows.append((model_title(rival), *(str(duel.wins + duel.draws) for duel in duels), shown(count, 0)))
    by_accuracy, by_balanced = (sum(row[column] == row[3] for row in rows) for column in (1, 2))
    note = (
        "The paper does not name the metric of its head-to-head counts. By accuracy "
        f"{by_accuracy} of {len(rows)} agree, by balanced accuracy {by_balanced}."
    )
    header = ("against", "by accuracy", "by balanced accuracy", "paper")
    title = f"Wins or draws of {model_title(BEST)}"
    return Table(title, "App. D.3", coverage(balanced.datasets), header, tuple(rows), (note,))


def _steadiness(published: Published, accuracy: Field) -> Table:
    short = gather_field(Run(Path(), {}, ()), published, SHORT, PAPER_DATASETS, "accuracy")
    variances = {}
    for field in (accuracy, short):
        found = deviations_from_median(field.values).var(axis=0)
        variances[len(field.classifiers)] = dict(zip(field.classifiers, found, strict=True))
    rows = tuple(
        (model_title(name), *(f"{found[name]:.5f}" for found in variances.values())) for name in (BEST, *RIVALS)
    )
    steadiest = [min((BEST, *RIVALS[1:]), key=found.__getitem__) for found in variances.values()]
    note = (
        "Variance of accuracy − median, where the median is that of all classifiers, or of GAP, Conjunctive and the "
        f"state of the art. The steadiest of {model_title(BEST)}, {RIVALS[1]} and {RIVALS[2]} is "
        + " or ".join(f"{model_title(name)} (among {size})" for name, size in zip(steadiest, variances, strict=True))
        + "."
    )
    header = ("classifier", *(f"among {size}" for size in variances))
    return Table("Which median", "App. E.3", coverage(accuracy.datasets), header, rows, (note,))

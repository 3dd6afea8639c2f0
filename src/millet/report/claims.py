"""Claims: what the paper says, and whether our runs say the same.

In:  `Run`, `Published`, and reasons that somebody has found out and typed.
Out: one `Table`, at the head of the page that `millet.report.reproduction` writes. Every figure follows from rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from millet.datasets.catalogue import WEB_TRAFFIC
from millet.report.ablation import step_means
from millet.report.cost import parameters_agree, shap_times
from millet.report.false_negatives import PEAK, by_class
from millet.report.layout import NONE, Table, mean, shown
from millet.report.names import BACKBONES, METRICS, MILLET_POOLINGS, MODELS, POOLINGS
from millet.report.overview import PAPER_RECIPE, Part, anchor
from millet.report.paper import paper_table
from millet.report.published import Published
from millet.report.ranking import BEST, RIVALS
from millet.report.rows import OWN, Run
from millet.report.training import training_cells
from millet.report.ucr import ucr_datasets
from millet.statistics import run_spread

YES, PARTLY, NO = "yes", "in part", "no"
OPEN = "open"
KITCHEN = "LargeKitchenAppliances"
MANY_TIMES = 100  # what counts as hundreds


class Finding(NamedTuple):
    """What our runs say of a claim, what the paper's figures say, and whether the claim holds."""

    ours: str
    paper: str
    holds: str


@dataclass(frozen=True)
class Claim:
    """Something that the paper states, or that its figures show.

    Attributes
    ----------
    text : str
    section : str
        The section of the page that has the figures.
    judge : callable
        From one run and the published results to a `Finding`; None where the run says nothing about it.
    """

    text: str
    section: str
    judge: Callable[[Run, Published], Finding | None]


def claims_table(parts: Sequence[Part], published: Published, reasons: Mapping[str, str]) -> Table:
    """Return what holds of the paper's claims, and why not where one does not.

    Parameters
    ----------
    parts : sequence of Part
        The sections of the page, with their runs; of several runs the first that says anything about a claim counts.
    published : Published
        Results of the authors' single runs.
    reasons : mapping
        By the keys of `CLAIMS`: why ours differs. Shown where a claim does not hold.
    """
    rows, verdicts = [], Counter[str]()
    for key, claim in CLAIMS.items():
        finding, part = _first_finding(claim, parts, published)
        if finding is None or part is None:
            rows.append((claim.text, NONE, NONE, "not run", NONE))
            continue
        verdicts[finding.holds] += 1
        where = f"[{claim.text}](#{anchor(part.section.title)})"
        reason = NONE if finding.holds == YES else reasons.get(key, OPEN)
        rows.append((where, finding.ours, finding.paper, finding.holds, reason))
    counted = ", ".join(f"{n} {verdict}" for verdict in (YES, PARTLY, NO) if (n := verdicts[verdict]))
    covered = f"{verdicts.total()} of {len(CLAIMS)} claims judged" + (f": {counted}" if counted else "")
    header = ("the paper's claim", "ours", "paper", "holds", "why not")
    return Table("What holds", "", covered, header, tuple(rows), is_text=True, has_markup=True)


def _first_finding(
    claim: Claim, parts: Sequence[Part], published: Published
) -> tuple[Finding, Part] | tuple[None, None]:
    for part in parts:
        if part.name == claim.section and part.run is not None:
            finding = claim.judge(part.run, published)
            if finding is not None:
                return finding, part
    return None, None


def verdict_of(n_held: int, n_all: int) -> str:
    """Return "yes" where all held, "no" where none did.

    Examples
    --------
    >>> verdict_of(3, 3), verdict_of(1, 3), verdict_of(0, 3)
    ('yes', 'in part', 'no')
    """
    return YES if n_held == n_all else PARTLY if n_held else NO


def _counted(ours: Sequence[bool], theirs: Sequence[bool], what: str, of_paper: str = "") -> Finding | None:
    """Return how often something holds for us and in the paper's figures; in words where it has none."""
    if not ours:
        return None
    said = [f"{sum(found)} of {len(found)} {what}" for found in (ours, theirs)]
    return Finding(said[0], of_paper or said[1], verdict_of(sum(ours), len(ours)))


def _against_authors(run: Run, published: Published, datasets: Sequence[str], metric: str) -> Finding | None:
    """Judge whether our single models lie within the authors' spread, model by model and dataset by dataset."""
    cells = [(dataset, model, metric) for dataset in datasets for model in MODELS]
    return _placed([(run.single(*cell), published.runs(*cell)) for cell in cells])


def _placed(pairs: Iterable[tuple[float | None, ArrayLike]]) -> Finding | None:
    """Judge how many of our means lie within the spread of the authors' runs beside them."""
    places: Counter[str] = Counter()
    for ours, theirs in pairs:
        if ours is None or np.size(theirs) < 2:
            continue
        spread = run_spread(theirs)
        near = spread.verdict(ours) != "no"
        places["inside" if near else "above" if ours > spread.high else "below"] += 1
    if not places:
        return None
    n_all = places.total()
    several = f" of {n_all}" if n_all > 1 else ""
    ours_says = ", ".join(f"{places[place]} {place}" for place in ("inside", "above", "below") if places[place])
    return Finding(f"{ours_says}{several}", f"{n_all} inside", verdict_of(places["inside"], n_all))


def _web_spread(metric: str) -> Callable[[Run, Published], Finding | None]:
    return lambda run, published: _against_authors(run, published, [WEB_TRAFFIC.name], metric)


def _ucr_spread(metric: str, *, by_the_paper: bool) -> Callable[[Run, Published], Finding | None]:
    def judge(run: Run, published: Published) -> Finding | None:
        if (run.experiment.get("recipe") == PAPER_RECIPE) is not by_the_paper:
            return None
        return _against_authors(run, published, ucr_datasets(run)[0], metric)

    return judge


def _training_losses(run: Run, published: Published) -> Finding | None:
    if run.experiment.get("recipe") != PAPER_RECIPE:
        return None
    cells = training_cells(run, published, ucr_datasets(run)[0])
    return _placed([(mean(cell.our_runs), cell.authors_runs) for cell in cells])


def _better_than_gap(run: Run, published: Published) -> Finding | None:
    """Judge whether the paper's best model is on average at least as accurate as the GAP that it replaces."""
    models = BEST, RIVALS[0]
    names = [name for name in ucr_datasets(run)[0] if all(run.runs(name, model, "accuracy") for model in models)]
    if not names:
        return None
    ours = [[fmean(run.runs(name, model, "accuracy")) for model in models] for name in names]
    theirs = [[published.runs(name, model, "accuracy").tolist() for model in models] for name in names]
    gain, paper = fmean(best - gap for best, gap in ours), NONE
    if all(runs for pair in theirs for runs in pair):
        paper = f"{fmean(fmean(best) - fmean(gap) for best, gap in theirs):+.3f}"
    return Finding(f"{gain:+.3f} on {len(names)} datasets", paper, YES if gain >= 0 else NO)


def _better_than_shap(metric: str) -> Callable[[Run, Published], Finding | None]:
    def judge(run: Run, published: Published) -> Finding | None:
        paper = paper_table("webtraffic_explanations")
        better, theirs_better = [], []
        for pooling in MILLET_POOLINGS:
            for backbone in BACKBONES:
                model = f"{pooling}-{backbone}"
                ours = run.beside_own(WEB_TRAFFIC.name, model, metric, "shap")
                theirs = [paper.value(metric, line, backbone) for line in (pooling, f"shap-{pooling}")]
                if ours is None or theirs[0] is None or theirs[1] is None:
                    continue
                better.append(ours.own > ours.method)
                theirs_better.append(theirs[0] > theirs[1])
        return _counted(better, theirs_better, "models")

    return judge


def _best_of(metric: str) -> Callable[[Run, Published], Finding | None]:
    """Judge whether the best MIL pooling is at least as good as GAP, whose evidence is CAM, with every backbone."""

    def judge(run: Run, published: Published) -> Finding | None:
        better, theirs_better = [], []
        for backbone in BACKBONES:
            models = [f"{pooling}-{backbone}" for pooling in POOLINGS]
            ours = [run.single(WEB_TRAFFIC.name, model, metric) for model in models]
            theirs = [published.runs(WEB_TRAFFIC.name, model, metric) for model in models]
            if None in ours or any(runs.size == 0 for runs in theirs):
                continue
            better.append(_last_are_better([value for value in ours if value is not None], metric))
            theirs_better.append(_last_are_better([float(runs.mean()) for runs in theirs], metric))
        return _counted(better, theirs_better, "backbones")

    return judge


def _last_are_better(values: Sequence[float], metric: str) -> bool:
    first, *others = values
    return max(others) >= first if METRICS[metric].higher_is_better else min(others) <= first


def _is_sparser(run: Run, published: Published) -> Finding | None:
    """Judge whether Conjunctive's evidence is on fewer timepoints than CAM's, with every backbone."""
    sparser = []
    for backbone in BACKBONES:
        own = run.single(WEB_TRAFFIC.name, f"conjunctive-{backbone}", "gini")
        cam = run.single(WEB_TRAFFIC.name, f"gap-{backbone}", "gini", "cam")
        if own is not None and cam is not None:
            sparser.append(own > cam)
    return _counted(sparser, (), "backbones", of_paper="seen in examples")


def _leads_side_by_side(run: Run, published: Published) -> Finding | None:
    """Judge whether the evidence of the paper's best model is better than SHAP's of it."""
    found = run.beside_own(KITCHEN, BEST, "aopcr", "shap")
    if found is None:
        return None
    counts = [shown(run.single(KITCHEN, BEST, "n_cases", method), 0) for method in (OWN, "shap")]
    of, of_shap = (
        ("", f" on {counts[1]} cases") if found.are_same_cases else (f" ({counts[0]} cases)", f" ({counts[1]})")
    )
    said = f"{shown(found.own)}{of} against {shown(found.method)}{of_shap}"
    return Finding(said, "seen in three cases", YES if found.own > found.method else NO)


def _attention_is_worst(run: Run, published: Published) -> Finding | None:
    worst: list[bool] = []
    theirs_worst: list[bool] = []
    paper = paper_table("webtraffic_explanations")
    for backbone in BACKBONES:
        ours = [run.single(WEB_TRAFFIC.name, f"{pooling}-{backbone}", "ndcg_at_n") for pooling in MILLET_POOLINGS]
        theirs = [paper.value("ndcg_at_n", pooling, backbone) for pooling in MILLET_POOLINGS]
        if None in ours or None in theirs:
            continue
        for found, verdicts in ((ours, worst), (theirs, theirs_worst)):
            known = [value for value in found if value is not None]
            verdicts.append(known[MILLET_POOLINGS.index("attention")] == min(known))
    return _counted(worst, theirs_worst, "backbones")


def _peaks_are_missed(run: Run, published: Published) -> Finding | None:
    accuracy, missed = by_class(run)
    if PEAK not in accuracy:
        return None
    hardest = min(accuracy, key=accuracy.__getitem__)
    taken = missed.get(PEAK, {})
    for_none = taken.get("0", 0)
    n_missed = sum(taken.values())
    held = (hardest == PEAK) + (2 * for_none > n_missed)
    lowest = "the lowest" if hardest == PEAK else f"the lowest is class {hardest}, {shown(accuracy[hardest])}"
    ours = f"Peak {shown(accuracy[PEAK])}, {lowest}; {for_none} of {n_missed} missed are taken for None"
    theirs = paper_table("false_negatives").value("accuracy", "peak", "mean")
    return Finding(ours, f"Peak {shown(theirs)}, the lowest; mostly taken for None", verdict_of(held, 2))


def _ablation_gains(metric: str) -> Callable[[Run, Published], Finding | None]:
    def judge(run: Run, published: Published) -> Finding | None:
        ours, theirs = step_means(run, metric)
        if ours[0] is None or ours[-1] is None or theirs[0] is None or theirs[-1] is None:
            return None
        gain, their_gain = ours[-1] - ours[0], theirs[-1] - theirs[0]
        return Finding(f"{gain:+.3f}", f"{their_gain:+.3f}", YES if (gain > 0) == (their_gain > 0) else NO)

    return judge


def _parameters(run: Run, published: Published) -> Finding | None:
    agree = parameters_agree(run)
    if not agree:
        return None
    return Finding(f"{sum(agree)} of {len(agree)} models agree", "", verdict_of(sum(agree), len(agree)))


def _shap_is_slow(run: Run, published: Published) -> Finding | None:
    ours, theirs = shap_times(run)
    if ours is None or theirs is None:
        return None
    return Finding(f"{ours:.0f} times", f"{theirs:.0f} times", YES if ours >= MANY_TIMES else NO)


# In the order of the page. The keys are those of the reasons.
CLAIMS = {
    "web_accuracy": Claim(
        "WebTraffic: accuracies lie within the authors' spread", "webtraffic", _web_spread("accuracy")
    ),
    "web_loss": Claim("WebTraffic: losses lie within the authors' spread", "webtraffic", _web_spread("loss")),
    "web_aopcr": Claim("WebTraffic: AOPCRs lie within the authors' spread", "webtraffic", _web_spread("aopcr")),
    "web_ndcg": Claim("WebTraffic: NDCG@n lies within the authors' spread", "webtraffic", _web_spread("ndcg_at_n")),
    "gap_accuracy": Claim("A MIL pooling is at least as accurate as GAP", "webtraffic", _best_of("accuracy")),
    "cam_aopcr": Claim("Its evidence is at least as good as CAM, by AOPCR", "webtraffic", _best_of("aopcr")),
    "cam_ndcg": Claim("Its evidence is at least as good as CAM, by NDCG@n", "webtraffic", _best_of("ndcg_at_n")),
    "shap_aopcr": Claim("MILLET explains better than SHAP, by AOPCR", "webtraffic", _better_than_shap("aopcr")),
    "shap_ndcg": Claim("MILLET explains better than SHAP, by NDCG@n", "webtraffic", _better_than_shap("ndcg_at_n")),
    "attention": Claim("Attention explains worst of the poolings, by NDCG@n", "webtraffic", _attention_is_worst),
    "sparse": Claim("Conjunctive's evidence is sparser than CAM's (Gini)", "webtraffic", _is_sparser),
    "peaks": Claim("Peaks are missed most, and taken for None", "false_negatives", _peaks_are_missed),
    "ucr_training": Claim(
        "UCR: the paper's recipe ends with training losses within the authors' spread", "ucr", _training_losses
    ),
    "ucr_protocol": Claim(
        "UCR: the paper's recipe gives accuracies within the authors' spread",
        "ucr",
        _ucr_spread("accuracy", by_the_paper=True),
    ),
    "ucr_aopcr": Claim(
        "UCR: the paper's recipe gives AOPCRs within the authors' spread",
        "ucr",
        _ucr_spread("aopcr", by_the_paper=True),
    ),
    "ucr_fast": Claim(
        'UCR: the recipe "fast" gives accuracies within the authors\' spread',
        "ucr",
        _ucr_spread("accuracy", by_the_paper=False),
    ),
    "ucr_gap": Claim("UCR: Conjunctive InceptionTime is at least as accurate as GAP", "ucr", _better_than_gap),
    "side_by_side": Claim(
        f"{KITCHEN}: MILLET explains better than SHAP, by AOPCR", "comparison", _leads_side_by_side
    ),
    "ablation_accuracy": Claim(
        "From GAP to MILLET, balanced accuracy rises", "ablation", _ablation_gains("balanced_accuracy")
    ),
    "ablation_aopcr": Claim("From GAP to MILLET, AOPCR rises", "ablation", _ablation_gains("aopcr")),
    "parameters": Claim("Numbers of parameters", "parameters", _parameters),
    "shap_cost": Claim("SHAP takes hundreds of times as long as a prediction", "run_time", _shap_is_slow),
}

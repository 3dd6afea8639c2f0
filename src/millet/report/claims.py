"""Claims: what the paper says, or its figures show, and whether our runs say the same.

In:  `Run` and `Published`.
Out: `CLAIMS`, which `millet.report.judging` turns into a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from millet.datasets.catalogue import WEB_TRAFFIC
from millet.report.ablation import step_means
from millet.report.cost import inference_above_gap, parameters_agree, shap_times
from millet.report.false_negatives import PEAK, by_class
from millet.report.judging import NO, PARTLY, YES, Finding, Statement, by_first, how_many_hold, verdict_of
from millet.report.layout import NONE, shown
from millet.report.names import BACKBONES, METRICS, MILLET_POOLINGS, OWN, POOLINGS
from millet.report.paper import paper_table
from millet.report.published import Published
from millet.report.ranking import BEST
from millet.report.rows import Run
from millet.report.ucr import ucr_datasets

KITCHEN = "LargeKitchenAppliances"


def _gain(run: Run, published: Published, cells: Sequence[tuple[str, str]], metric: str) -> tuple[float, str]:
    """Return how far Conjunctive is above GAP on average over datasets and backbones: ours, and the authors'."""
    pairs = [
        [(dataset, f"{pooling}-{backbone}") for pooling in ("conjunctive", "gap")] for dataset, backbone in cells
    ]
    ours = [[fmean(run.runs(*cell, metric)) for cell in pair] for pair in pairs]
    theirs = [[published.runs(*cell, metric).tolist() for cell in pair] for pair in pairs]
    paper = NONE
    if all(runs for pair in theirs for runs in pair):
        paper = f"{fmean(fmean(best) - fmean(gap) for best, gap in theirs):+.3f}"
    return fmean(best - gap for best, gap in ours), paper


def _has_both(run: Run, dataset: str, backbone: str, metric: str) -> bool:
    return all(run.runs(dataset, f"{pooling}-{backbone}", metric) for pooling in ("conjunctive", "gap"))


def _above_gap_on_ucr(metric: str) -> Callable[[Run, Published], Finding | None]:
    """Judge whether the paper's best model is on average at least as good as the GAP that it replaces."""

    def judge(run: Run, published: Published) -> Finding | None:
        backbone = BEST.partition("-")[2]
        cells = [(name, backbone) for name in ucr_datasets(run)[0] if _has_both(run, name, backbone, metric)]
        if not cells:
            return None
        gain, paper = _gain(run, published, cells, metric)
        return Finding(
            f"{gain:+.3f} on {len(cells)} dataset{'s' * (len(cells) != 1)}", paper, YES if gain >= 0 else NO
        )

    return judge


def _above_gap_on_traffic(metric: str) -> Callable[[Run, Published], Finding | None]:
    """Judge whether Conjunctive, averaged over all backbones, is at least as good as GAP, whose evidence is CAM."""

    def judge(run: Run, published: Published) -> Finding | None:
        cells = [(WEB_TRAFFIC.name, backbone) for backbone in BACKBONES]
        if not all(_has_both(run, *cell, metric) for cell in cells):
            return None
        gain, paper = _gain(run, published, cells, metric)
        return Finding(f"{gain:+.3f}", paper, YES if gain > 0 else NO)

    return judge


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
        return how_many_hold(better, theirs_better, "models")

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
        return how_many_hold(better, theirs_better, "backbones")

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
    return how_many_hold(sparser, (), "backbones", of_paper="seen in examples")


def _is_sparser_side_by_side(run: Run, published: Published) -> Finding | None:
    own, cam = run.single(KITCHEN, BEST, "gini"), run.single(KITCHEN, f"gap-{BEST.partition('-')[2]}", "gini")
    if own is None or cam is None:
        return None
    return Finding(f"{shown(own)} against {shown(cam)}", "seen in three cases", YES if own > cam else NO)


def _leads_side_by_side(run: Run, published: Published) -> Finding | None:
    """Judge whether the own evidence of the paper's best model is better than SHAP's for it."""
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
    return how_many_hold(worst, theirs_worst, "backbones")


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


def _is_almost_as_fast(run: Run, published: Published) -> Finding | None:
    ours, theirs = inference_above_gap(run)
    if ours is None or theirs is None:
        return None
    return Finding(f"up to {ours:+.1f} %", f"up to {theirs:+.1f} %", YES if ours <= theirs else NO)


def _shap_is_slow(run: Run, published: Published) -> Finding | None:
    ours, theirs = shap_times(run)
    if ours is None or theirs is None:
        return None
    holds = YES if ours >= theirs else PARTLY if 2 * ours >= theirs else NO
    return Finding(f"{ours:.0f} times", f"{theirs:.0f} times", holds)


# In the order of the page. The keys are those of the reasons.
CLAIMS = {
    "gap_accuracy": Statement(
        "WebTraffic: the best MIL pooling is at least as accurate as GAP",
        "webtraffic",
        by_first(_best_of("accuracy")),
    ),
    "cam_aopcr": Statement(
        "WebTraffic: the best pooling's evidence is at least as good as CAM, by AOPCR",
        "webtraffic",
        by_first(_best_of("aopcr")),
    ),
    "cam_ndcg": Statement(
        "WebTraffic: the best pooling's evidence is at least as good as CAM, by NDCG@n",
        "webtraffic",
        by_first(_best_of("ndcg_at_n")),
    ),
    "conjunctive_accuracy": Statement(
        "WebTraffic: Conjunctive is more accurate than GAP, on average over the backbones",
        "webtraffic",
        by_first(_above_gap_on_traffic("accuracy")),
    ),
    "conjunctive_aopcr": Statement(
        "WebTraffic: Conjunctive explains better than CAM by AOPCR, on average over the backbones",
        "webtraffic",
        by_first(_above_gap_on_traffic("aopcr")),
    ),
    "conjunctive_ndcg": Statement(
        "WebTraffic: Conjunctive explains better than CAM by NDCG@n, on average over the backbones",
        "webtraffic",
        by_first(_above_gap_on_traffic("ndcg_at_n")),
    ),
    "shap_aopcr": Statement(
        "WebTraffic: MILLET explains better than SHAP, by AOPCR", "webtraffic", by_first(_better_than_shap("aopcr"))
    ),
    "shap_ndcg": Statement(
        "WebTraffic: MILLET explains better than SHAP, by NDCG@n",
        "webtraffic",
        by_first(_better_than_shap("ndcg_at_n")),
    ),
    "attention": Statement(
        "WebTraffic: Attention explains worst of the poolings, by NDCG@n", "webtraffic", by_first(_attention_is_worst)
    ),
    "sparse": Statement(
        "WebTraffic: Conjunctive's evidence is sparser than CAM's (Gini)", "webtraffic", by_first(_is_sparser)
    ),
    "peaks": Statement("Peaks are missed most, and taken for None", "false_negatives", by_first(_peaks_are_missed)),
    "ucr_gap": Statement(
        "UCR: Conjunctive InceptionTime is at least as accurate as GAP",
        "ucr",
        by_first(_above_gap_on_ucr("accuracy")),
    ),
    "ucr_cam": Statement(
        "UCR: Conjunctive InceptionTime explains better than CAM, by AOPCR",
        "ucr",
        by_first(_above_gap_on_ucr("aopcr")),
    ),
    "side_by_side": Statement(
        f"{KITCHEN}: MILLET explains better than SHAP, by AOPCR", "comparison", by_first(_leads_side_by_side)
    ),
    "sparse_side_by_side": Statement(
        f"{KITCHEN}: MILLET's evidence is sparser than CAM's (Gini)", "comparison", by_first(_is_sparser_side_by_side)
    ),
    "ablation_accuracy": Statement(
        "From GAP to MILLET, balanced accuracy rises", "ablation", by_first(_ablation_gains("balanced_accuracy"))
    ),
    "ablation_aopcr": Statement("From GAP to MILLET, AOPCR rises", "ablation", by_first(_ablation_gains("aopcr"))),
    "parameters": Statement("Numbers of parameters", "parameters", by_first(_parameters)),
    "inference": Statement(
        "A prediction takes at most 7.5 % longer than with GAP", "run_time", by_first(_is_almost_as_fast)
    ),
    "shap_cost": Statement("SHAP takes over 800 times as long as a prediction", "run_time", by_first(_shap_is_slow)),
}

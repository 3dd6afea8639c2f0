"""Agreement: whether what was measured could be one more of the authors' own runs.

In:  `Run` and `Published`.
Out: `CHECKS`, which `millet.report.judging` turns into a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

from millet.datasets.catalogue import WEB_TRAFFIC
from millet.report.judging import YES, Finding, Statement, verdict_of
from millet.report.names import MODELS
from millet.report.overview import PAPER_RECIPE
from millet.report.published import Published
from millet.report.rows import Run
from millet.report.training import METRIC as TRAINING
from millet.report.training import powers_of_ten
from millet.report.ucr import ucr_datasets
from millet.statistics import chance_inside, chance_of_so_few, run_spread

# Too few lie inside if as few or fewer would by chance with a probability below this.
RARE = 0.05
ASSUMPTIONS = (
    "What chance gives assumes that results vary normally from run to run, and independently from cell to cell. Both "
    "are only assumptions: models on one dataset share its test cases, and accuracies move in steps and may all "
    "reach the highest possible value."
)


def _traffic(run: Run) -> tuple[str, ...]:
    return (WEB_TRAFFIC.name,)


def _by_the_paper(run: Run) -> tuple[str, ...]:
    return ucr_datasets(run)[0] if run.experiment.get("recipe") == PAPER_RECIPE else ()


def _by_another_recipe(run: Run) -> tuple[str, ...]:
    return ucr_datasets(run)[0] if run.experiment.get("recipe") != PAPER_RECIPE else ()


def _within_spread(
    metric: str,
    datasets_of: Callable[[Run], Sequence[str]],
    scale: Callable[[Iterable[float]], Sequence[float]] = tuple,
) -> Callable[[Sequence[Run], Published], Finding | None]:
    """Judge whether our single models lie within the authors' spread, model by model and dataset by dataset.

    If several runs have the same cell, the first counts.
    """

    def judge(runs: Sequence[Run], published: Published) -> Finding | None:
        cells: dict[tuple[str, str], tuple[Sequence[float], Sequence[float]]] = {}
        for run in runs:
            for cell in ((dataset, model) for dataset in datasets_of(run) for model in MODELS):
                # The authors' files are asked for only where there is something to compare.
                if cell not in cells and (ours := scale(run.runs(*cell, metric))):
                    theirs = scale(published.runs(*cell, metric).tolist())
                    if len(theirs) >= 2:
                        cells[cell] = ours, theirs
        return _placed(list(cells.values()))

    return judge


def _placed(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Finding | None:
    """Judge how many of our means lie within the spread of the authors' runs, compared with how many do by chance."""
    if not pairs:
        return None
    places: Counter[str] = Counter()
    for ours, theirs in pairs:
        spread, average = run_spread(theirs), fmean(ours)
        near = spread.verdict(average) != "no"
        places["inside" if near else "above" if average > spread.high else "below"] += 1
    chances = [chance_inside(len(ours), len(theirs)) for ours, theirs in pairs]
    n_all, n_inside = len(pairs), places["inside"]
    is_chance = chance_of_so_few(n_inside, chances) >= RARE
    said = ", ".join(f"{places[place]} {place}" for place in ("inside", "above", "below") if places[place])
    return Finding(
        f"{said} of {n_all}", f"{sum(chances):.1f} inside", YES if is_chance else verdict_of(n_inside, n_all)
    )


# In the order of the page. The keys are those of the reasons.
CHECKS = {
    "web_accuracy": Statement("WebTraffic: accuracies", "webtraffic", _within_spread("accuracy", _traffic)),
    "web_loss": Statement("WebTraffic: losses", "webtraffic", _within_spread("loss", _traffic)),
    "web_aopcr": Statement("WebTraffic: AOPCRs", "webtraffic", _within_spread("aopcr", _traffic)),
    "web_ndcg": Statement("WebTraffic: NDCG@n", "webtraffic", _within_spread("ndcg_at_n", _traffic)),
    "ucr_training": Statement(
        "UCR, the paper's recipe: training losses", "ucr", _within_spread(TRAINING, _by_the_paper, powers_of_ten)
    ),
    "ucr_protocol": Statement(
        "UCR, the paper's recipe: accuracies", "ucr", _within_spread("accuracy", _by_the_paper)
    ),
    "ucr_aopcr": Statement("UCR, the paper's recipe: AOPCRs", "ucr", _within_spread("aopcr", _by_the_paper)),
    "ucr_fast": Statement(
        'UCR, the recipe "fast": accuracies', "ucr", _within_spread("accuracy", _by_another_recipe)
    ),
}

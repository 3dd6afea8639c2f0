"""Ranking: mean, rank and wins among the state of the art, and their pictures (Tab. 2, App. D.3, Fig. 5, 6).

In:  `Run` and `Published`.
Out: one `Section`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millet.datasets.catalogue import PAPER_DATASETS
from millet.report.field import SHORT, Field, gather_field, singles_notes
from millet.report.figures import plot_head_to_head, plot_trade_off
from millet.report.layout import NONE, Picture, Section, Table, mean, shown, without_empty_columns
from millet.report.names import METRICS, MODELS, model_title, with_others
from millet.report.paper import paper_table
from millet.report.placing import critical_difference_picture, rank_figures, ranks_table, significance_table
from millet.report.published import Published
from millet.report.rows import Run
from millet.report.ucr import all_datasets, are_of_the_paper, coverage, heading, ucr_datasets
from millet.report.webtraffic import SCALE_NOTE, shortened_note
from millet.statistics import head_to_head, pareto_front
from millet.tables import counted

HEADER = (
    "classifier",
    "source",
    "mean",
    "rank",
    "wins",
    "authors: mean",
    "rank ",
    "wins ",
    "paper, 85: mean / rank / wins",
)
BEST, RIVALS = "conjunctive-inceptiontime", ("gap-inceptiontime", "HC2", "Hydra-MR")
LOSS_NOTE = (
    "The paper's losses for the state of the art are in bits, from probabilities clipped at 0.01; all others are in "
    "nats. Neither those losses nor any ranks among them can be compared with ours."
)
AXES = ("accuracy", "aopcr")  # of the trade-off
METRICS_RANKED = ("accuracy", "balanced_accuracy", "auroc", "loss")


def ranking_section(run: Run, published: Published) -> Section:
    """Return the tables and pictures that place our models among other classifiers, and among themselves."""
    names = ucr_datasets(run)[0]
    tables, pictures = _of_all_models(run, published)
    if are_of_the_paper(names):
        more_tables, more_pictures = _as_in_the_paper(run, published, names)
        tables, pictures = [*more_tables, *tables], [*more_pictures, *pictures]
    notes = () if tables else ("Ranks need several models, or the results of other classifiers (--published).",)
    trade_off = _trade_off(run, names)
    if trade_off is not None:
        tables.append(trade_off[0])
        pictures.append(trade_off[1])
    return Section("Ranking", tuple(tables), tuple(pictures), (*notes, *shortened_note(run)))


def _as_in_the_paper(run: Run, published: Published, names: Sequence[str]) -> tuple[list[Table], list[Picture]]:
    """Return what the paper shows, with our results in place of its authors'."""
    tables = [
        table
        for metric in METRICS_RANKED
        for source, models in (("ucr_summary", SHORT), ("ucr_all", MODELS))
        if (table := _ranks(run, published, source, models, names, metric)) is not None
    ]
    pictures: list[Picture] = []
    field = gather_field(run, published, SHORT, names, "balanced_accuracy")
    if len(field.datasets) > 1 and len(field.classifiers) > 1 and any(field.ours):
        tables.append(significance_table(field, source="Fig. 5"))
        pictures.append(critical_difference_picture(field))
    pairs = {rival: _pair(run, published, rival, names) for rival in RIVALS}
    duels = {
        rival: pair for rival, pair in pairs.items() if len(pair.datasets) > 1 and pair.has_ours_among(rival, BEST)
    }
    if duels:
        tables.append(_duels(duels))
        pictures += [_duel(pair, rival) for rival, pair in duels.items()]
    return tables, pictures


def _pair(run: Run, published: Published, rival: str, names: Sequence[str]) -> Field:
    """Return the best model and a rival on all datasets that these two have, whatever others lack."""
    models, others = ((BEST, rival), ()) if rival in MODELS else ((BEST,), (rival,))
    return gather_field(run, published, models, names, "balanced_accuracy", others=others)


def _of_all_models(run: Run, published: Published) -> tuple[list[Table], list[Picture]]:
    """Return the ranks of all our models, where the paper's tables lack some of them or some of the datasets.

    On the paper's datasets, models that the paper does not have are ranked among the state of the art; on others,
    all our models are ranked among themselves.
    """
    everywhere = all_datasets(run)
    shared = [name for name in everywhere if name in PAPER_DATASETS]
    tables: list[Table] = []
    pictures: list[Picture] = []
    if shared and not set(run.models) <= set(MODELS):
        tables, pictures = _placed(run, published, shared, "all our models", "critical_difference_models")
    if len(shared) < len(everywhere):
        of = "all our models, on all datasets" if shared else "all our models"
        more_tables, more_pictures = _placed(run, Published(None), everywhere, of, "critical_difference_all")
        tables, pictures = tables + more_tables, pictures + more_pictures
    return tables, pictures


def _placed(
    run: Run, published: Published, names: Sequence[str], of: str, file: str
) -> tuple[list[Table], list[Picture]]:
    fields = {metric: gather_field(run, published, run.models, names, metric) for metric in METRICS_RANKED}
    telling = {
        metric: field
        for metric, field in fields.items()
        if field.datasets and len(field.classifiers) > 1 and any(field.ours)
    }
    tables = [ranks_table(field, metric, of) for metric, field in telling.items()]
    field = telling.get("balanced_accuracy")
    if field is None or len(field.datasets) < 2:
        return tables, []
    return [*tables, significance_table(field, of)], [critical_difference_picture(field, file, of)]


def _ranks(
    run: Run, published: Published, source: str, models: Sequence[str], names: Sequence[str], metric: str
) -> Table | None:
    field = gather_field(run, published, models, names, metric)
    if not field.datasets or len(field.classifiers) < 2 or not any(field.ours):
        return None
    authors = gather_field(run, published, models, field.datasets, metric, with_ours=False)
    comparable = authors.classifiers == field.classifiers and authors.datasets == field.datasets
    ours, theirs = rank_figures(field, metric), rank_figures(authors, metric) if comparable else None
    paper = paper_table(source)
    rows = []
    for place, classifier in enumerate(field.classifiers):
        figures = paper.parts[metric].get(classifier)
        rows.append((
            model_title(classifier), "ours" if field.ours[place] else "published", *ours[place],
            *(theirs[place] if theirs else (NONE,) * 3),
            f"{figures['mean']:.3f} / {figures['rank']:.3f} / {figures['wins']}" if figures else NONE,
        ))  # fmt: skip
    notes = [
        f"Ranks and wins among {len(field.classifiers)} classifiers on {counted(len(field.datasets), 'dataset')}. "
        "Authors: the same with the authors' results in place of ours. Wins are counted at three decimals, as the "
        "paper seems to do."
    ]
    notes += [*([LOSS_NOTE] if metric == "loss" else []), *field.notes]
    title = f"{METRICS[metric].title} among {len(field.classifiers)} classifiers"
    is_detail = (source, metric) != ("ucr_summary", "balanced_accuracy")
    header, shown_rows = without_empty_columns(HEADER, rows)
    return Table(*heading(title, paper.table, field.datasets), header, shown_rows, tuple(notes), is_detail)


def _duels(pairs: Mapping[str, Field]) -> Table:
    paper = paper_table("comparisons")
    are_all_ours = all(all(field.ours) for field in pairs.values())

    def title(name: str, field: Field) -> str:
        is_ours = field.ours[field.classifiers.index(name)] and not are_all_ours
        return f"{model_title(name)}{' (ours)' if is_ours else ''}"

    rows = []
    for rival, field in pairs.items():
        duel = head_to_head(field.column(BEST), field.column(rival))
        best = NONE if not duel.wins else f"{field.datasets[duel.best]} {duel.gains[duel.best]:+.3f}"
        worst = NONE if not duel.losses else f"{field.datasets[duel.worst]} {duel.gains[duel.worst]:+.3f}"
        count = paper.value("wins_or_draws", rival, "count")
        rows.append((
            title(rival, field), f"{duel.wins} / {duel.draws} / {duel.losses}",
            f"{duel.wins + duel.draws} of {len(field.datasets)}", f"{count:.0f} of 85", best, worst,
        ))  # fmt: skip
    header = ("against", "wins / draws / losses", "wins or draws", "paper", "greatest gain", "greatest loss")
    heads = f"{title(BEST, next(iter(pairs.values())))} head to head, balanced accuracy"
    covered = {name for field in pairs.values() for name in field.datasets}
    notes = tuple(dict.fromkeys(note for field in pairs.values() for note in field.notes))
    return Table(*heading(heads, "App. D.3", covered), header, tuple(rows), notes)


def _duel(field: Field, rival: str) -> Picture:
    titles = (field.title(BEST), field.title(rival))
    return Picture(
        f"head_to_head_{rival}",
        f"{titles[0]} against {titles[1]}: balanced accuracy, {coverage(field.datasets)}. Above the line, and in "
        f"green, {titles[0]} is better; wins, draws and losses are its own.",
        lambda: plot_head_to_head(field.column(BEST), field.column(rival), field.datasets, titles),
    )


def _trade_off(run: Run, names: Sequence[str]) -> tuple[Table, Picture] | None:
    # The paper leaves out Attention, whose evidence does not tell classes apart.
    models = [model for model in with_others(run.models) if not model.startswith("attention-")]
    complete = {model: {name for name in names if run.has(name, model, "aopcr")} for model in models}
    widest = max(map(len, complete.values()))
    # A model that was only just begun would leave hardly any datasets in common.
    models = [model for model in models if complete[model] and 2 * len(complete[model]) >= widest]
    common = [name for name in names if all(name in complete[model] for model in models)]
    results = {metric: [run.alike(name, models, metric) for name in common] for metric in AXES}
    points: dict[str, tuple[float, float]] = {}
    for model in models:
        accuracy, aopcr = (mean([found.values.get(model) for found in results[metric]]) for metric in AXES)
        if accuracy is not None and aopcr is not None:
            points[model] = (accuracy, aopcr)
    if len(points) < 2:
        return None
    n_single = sum(not all(found.are_ensembles for found in both) for both in zip(*results.values(), strict=True))
    notes = singles_notes(n_single, len(common))
    front = pareto_front(list(points.values()))
    rows = tuple(
        (model_title(model), shown(accuracy), shown(aopcr), "yes" if on_front else "no")
        for (model, (accuracy, aopcr)), on_front in zip(points.items(), front, strict=True)
    )
    header = ("model", "accuracy", "AOPCR", "on the Pareto front")
    table_ = Table(*heading("Accuracy and AOPCR", "Fig. 6", common), header, rows, (SCALE_NOTE, *notes))
    caption = f"Accuracy and AOPCR of our models, {coverage(common)}; the line is the Pareto front."
    titled = {model_title(model): point for model, point in points.items()}
    return table_, Picture("trade_off", caption, lambda: plot_trade_off(titled))

"""Lengths of training: the same models after few epochs and many, since the level of AOPCR depends on them.

In:  all runs of a results folder, and the authors' runs of 1500 epochs.
Out: one `Table`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millet.datasets.catalogue import WEB_TRAFFIC
from millet.report.layout import Table, mean, shown
from millet.report.names import METRICS, MODELS, OWN, PAPER_EPOCHS, model_title
from millet.report.published import Published
from millet.report.rows import Run

SHOWN = ("accuracy", "aopcr")


def lengths_table(runs: Sequence[Run], published: Published) -> Table | None:
    """Return accuracy and AOPCR of models on WebTraffic by epochs of training; None without two lengths.

    Parameters
    ----------
    runs : sequence of Run
        Runs of any recipe; single models count, ensembles do not.
    published : Published
        The authors' runs, which had 1500 epochs.
    """
    lengths = sorted({length for run in runs for _, length, _ in _results(run, SHOWN[0])})
    rows = []
    for model in MODELS:
        cells = [
            [_ours(runs, model, metric, length) for length in lengths] + [_authors(published, model, metric)]
            for metric in SHOWN
        ]
        if sum(value is not None for value in cells[0][:-1]) > 1:
            rows.append((model_title(model), *(shown(value) for metric_cells in cells for value in metric_cells)))
    if not rows:
        return None
    columns = [*(f"{length} epochs" for length in lengths), f"authors, {PAPER_EPOCHS}"]
    header = ("model", *(f"{METRICS[metric].title}: {column}" for metric in SHOWN for column in columns))
    note = "Means of single models; besides the length of training, the recipe and its schedule differ."
    covered = f"{len(rows)} of {len(MODELS)} models"
    return Table(f"{WEB_TRAFFIC.name}: by length of training", "", covered, header, tuple(rows), (note,))


def _results(run: Run, metric: str) -> Iterator[tuple[str, int, float]]:
    """Yield model, epochs and result of every single model on WebTraffic."""
    for row in run.done:
        value, n_epochs = row.number(metric), row.number("n_epochs_run")
        is_single = row.dataset == WEB_TRAFFIC.name and row.method == OWN and not row.ensemble
        if is_single and value is not None and n_epochs and row.model in MODELS:
            yield row.model, int(n_epochs), value


def _ours(runs: Sequence[Run], model: str, metric: str, length: int) -> float | None:
    return mean([
        value
        for run in runs
        for found, n_epochs, value in _results(run, metric)
        if (found, n_epochs) == (model, length)
    ])  # fmt: skip


def _authors(published: Published, model: str, metric: str) -> float | None:
    return mean([float(value) for value in published.runs(WEB_TRAFFIC.name, model, metric)])

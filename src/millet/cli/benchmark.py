"""``millet benchmark``: run a grid of datasets, models and repeats, or continue one that was interrupted."""

from __future__ import annotations

from pathlib import Path

import click

from millet.cli.messages import wrap
from millet.cli.models import explained_interruption
from millet.cli.sources import DATA_HELP
from millet.errors import ParameterError


@click.command()
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option(
    "--tier",
    type=click.Choice(["smoke", "short", "paper"]),
    default="smoke",
    show_default=True,
    help="Of the experiment: to see that it runs, to see the trend, or in full.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Run folder; with --plan only what it lacks is shown.")
@click.option("--path", type=click.Path(path_type=Path), help=DATA_HELP)
@click.option("--n-jobs", default=-1, show_default=True, help="Cells at a time; -1 is one a core, or all workers.")
@click.option(
    "--backend", default="loky", show_default=True, help="Where: loky (processes of this machine), dask or ray."
)
@click.option("--scheduler", help="Address of a Dask or Ray cluster, such as tcp://host:8786.")
@click.option("--only", multiple=True, help="A dataset or model to run this time; may be given several times.")
@click.option("--repeats", type=click.IntRange(min=1), help="Run this many repeats this time, and no ensembles.")
@click.option("--retry-failed", is_flag=True, help="Run cells again that failed.")
@click.option("--plan", is_flag=True, help="Only say what there is to run, and what it will cost.")
@click.pass_context
def benchmark(
    ctx: click.Context, experiment: Path, tier: str, out: Path | None, path: Path | None, n_jobs: int, backend: str,
    scheduler: str | None, only: tuple[str, ...], repeats: int | None, retry_failed: bool, plan: bool,
) -> None:  # fmt: skip
    """Run a grid of datasets, models and repeats from an experiment file.

    EXPERIMENT is a TOML file, or the name of one that comes with MILLET, such as webtraffic or ucr.

    After an interruption, the same command continues where it stopped, as does one with another --only or --repeats.
    A cell that fails is recorded, and the others are run; the exit code is then 1.
    """
    from millet.benchmark import describe_plan, load_experiment, run_benchmark
    from millet.tables import counted

    if plan:
        workers = _n_workers(n_jobs)
        click.echo(
            describe_plan(
                experiment, tier, path, workers, out=out, only=only, repeats=repeats, retry_failed=retry_failed
            )
        )
        return
    if out is None:
        raise ParameterError("Say where the rows go: --out runs/NAME. Or ask what it will cost: --plan.")
    grid = load_experiment(experiment, tier, path)
    with explained_interruption(out):
        outcome = run_benchmark(
            grid,
            out,
            path=path,
            n_jobs=n_jobs,
            backend=backend,
            scheduler=scheduler,
            retry_failed=retry_failed,
            only=only,
            repeats=repeats,
            say=click.echo,
        )
    n_cells = counted(outcome.n_cells, "cell")
    click.echo(wrap(f"{n_cells}, {outcome.n_run} of them run now. Rows are in {out / 'rows.jsonl'}"))
    if outcome.warned:
        n_rows, first = counted(len(outcome.warned), "row"), outcome.warned[0]["warnings"][0]
        click.echo(wrap(f"{n_rows} with warnings, in the field `warnings`; the first: {first}"), err=True)
    for row in outcome.failed:
        title = (
            f"{row['dataset']} {row['model']} {'ensemble' if row['ensemble'] else row['repeat']} ({row['method']})"
        )
        click.echo(wrap(f"Failed: {title}: {row['error']}"), err=True)
    if outcome.failed:
        click.echo("Run them again with --retry-failed.", err=True)
        ctx.exit(1)


def _n_workers(n_jobs: int) -> int:
    from joblib import effective_n_jobs

    from millet.benchmark.backends import check_n_jobs

    check_n_jobs(n_jobs)
    return int(effective_n_jobs(n_jobs))

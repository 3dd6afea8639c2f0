"""``millet fit``, ``predict`` and ``explain``: train a model, use it, and look at why."""

from __future__ import annotations

import csv
import dataclasses
import shutil
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from millet.cli.messages import wrap
from millet.errors import LabelError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millet.contract import EvidenceClassifier
    from millet.datasets import Dataset
    from millet.explanation import Explanation

DATA_HELP = "Folder with datasets. [default: MILLET_DATA, else cache]"
TABLE_SUFFIXES = (".json", ".npz", ".csv")
PICTURE_SUFFIXES = (".png", ".pdf", ".svg")


@click.command()
@click.argument("source", metavar="DATASET|FILE")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the model.")
@click.option(
    "--model",
    default="conjunctive-inceptiontime",
    show_default=True,
    help="In seconds: minirocket, multirocket, hydra or multirocket-hydra. Networks: fcn, resnet, inceptiontime or "
    "lite, or with another pooling than conjunctive, such as gap-fcn. Several joined by + are averaged.",
)
@click.option("--head", help="Of the first four: multinomial or ridge. [default: multinomial]")
@click.option("--spread", help="Of the first four, of evidence: taps, anchor or weighted. [default: taps]")
@click.option("--recipe", help="How to train networks: fast or paper. [default: fast]")
@click.option("--n-estimators", type=int, help="Networks in the ensemble; the paper's has 5. [default: 1]")
@click.option("--n-epochs", type=int, help="Passes over the training cases. [default: the recipe's]")
@click.option("--batch-size", type=int, help="Cases a step. [default: the recipe's]")
@click.option("--learning-rate", type=float, help="[default: the recipe's]")
@click.option("--max-time", type=float, help="Seconds of training for each network.")
@click.option(
    "--early-stopping", is_flag=True, default=None, help="Stop when the loss on cases set aside no longer improves."
)
@click.option("--random-state", default=0, show_default=True, help="Seed.")
@click.option("--n-jobs", default=-1, show_default=True, help="Networks, or cases, at a time; -1 is one a core.")
@click.option("--path", type=click.Path(path_type=Path), help=DATA_HELP)
@click.option("--quiet", is_flag=True, help="No progress bar.")
def fit(source: str, out: Path, model: str, path: Path | None, quiet: bool, **options: Any) -> None:
    """Train a model on a dataset (its training split) or a file.

    After an interruption of a single network's training, the same command goes on where it was.
    """
    from millet.storage import check_target
    from millet.zoo import count_with, make_classifier

    check_target(out)
    unfinished = out.with_name(f"{out.name}.unfinished")
    # Two networks can't share a folder of checkpoints.
    checkpoints = {"checkpoint_dir": unfinished} if count_with("checkpoint_dir", model) == 1 else {}
    given = {name: value for name, value in options.items() if value is not None}
    classifier = make_classifier(model, **given, **checkpoints, verbose=int(not quiet))
    train, test = load_source(source, path)
    if train.y is None:
        raise LabelError(f"{source} has no labels; training needs one for every series.")
    with explained_interruption(unfinished) if checkpoints else nullcontext():
        classifier.fit(train.X, train.y)
    classifier.save(out)
    if checkpoints:
        shutil.rmtree(unfinished, ignore_errors=True)
    click.echo(_fit_summary(classifier, train, test))
    click.echo(f"Saved to {out}")
    click.echo(f"Next: millet explain {out} {source} --out evidence.png --case 0")


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("source", metavar="DATASET|FILE")
@click.option("--out", type=click.Path(path_type=Path), help="CSV file to write. [default: standard output]")
@click.option(
    "--split", type=click.Choice(["train", "test"]), default="test", show_default=True, help="Of a dataset."
)
@click.option("--path", type=click.Path(path_type=Path), help=DATA_HELP)
def predict(model: Path, source: str, out: Path | None, split: str, path: Path | None) -> None:
    """Classify the series of a dataset or file: one line a case, as CSV."""
    from millet.atomic import atomic_path
    from millet.loading import load_classifier

    classifier = load_classifier(model)
    cases = load_cases(source, path, split)
    probabilities = classifier.predict_proba(cases.X)
    predicted = classifier.classes_[probabilities.argmax(axis=1)]
    header = ["case", "predicted", "probability", *(["label"] if cases.y is not None else [])]
    header += [f"p_{label}" for label in classifier.classes_]
    rows = [
        [case, predicted[case], f"{row.max():.6g}", *([] if cases.y is None else [cases.y[case]])]
        + [f"{value:.6g}" for value in row]
        for case, row in enumerate(probabilities)
    ]
    if out is None:
        _write_csv(sys.stdout, header, rows)
    else:
        with atomic_path(out) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            _write_csv(file, header, rows)
    if cases.y is not None:
        click.echo(f"Accuracy {(predicted == cases.y).mean():.3f} over {len(cases)} cases", err=True)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("source", metavar="DATASET|FILE")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write: .json, .npz or .csv for the numbers; .png, .pdf or .svg for pictures, one a case.",
)
@click.option(
    "--report", type=click.Path(path_type=Path), help="HTML file to write: all cases to look at in a browser."
)
@click.option("--case", "cases", type=int, multiple=True, help="Only this case (from 0); may be repeated.")
@click.option("--channels", is_flag=True, help="Split the numbers among the channels; not for networks.")
@click.option("--target", help="Class to show evidence for. [default: the predicted one]")
@click.option("--palette", default="green-red", show_default=True, help="green-red or colorblind.")
@click.option(
    "--split", type=click.Choice(["train", "test"]), default="test", show_default=True, help="Of a dataset."
)
@click.option("--path", type=click.Path(path_type=Path), help=DATA_HELP)
def explain(
    model: Path, source: str, out: Path | None, report: Path | None, cases: tuple[int, ...], channels: bool,
    target: str | None, palette: str, split: str, path: Path | None,
) -> None:  # fmt: skip
    """Show the evidence of every timepoint, as numbers, as pictures or as a page to explore."""
    _check_explain_targets(out, report)
    from millet.loading import load_classifier

    classifier = load_classifier(model)
    if channels and not classifier.splits_channels:
        raise ParameterError(f"--channels needs a model that can tell channels apart; {model} holds networks.")
    dataset = load_cases(source, path, split)
    chosen = list(cases) or list(range(len(dataset)))
    outside = [case for case in chosen if not 0 <= case < len(dataset)]
    if outside:
        raise ParameterError(f"--case {outside[0]} is not there; {source} has the cases 0 to {len(dataset) - 1}.")
    explanation = named_explanation(classifier, dataset, chosen, channels=channels)
    written = [] if out is None else _write_evidence(explanation, dataset, chosen, out, target, palette)
    if report is not None:
        from millet.reporting import report_run

        written.append(report_run(report, classifier, explanation, dataset, cases=chosen))
    for file in written:
        click.echo(str(file))


def _check_explain_targets(out: Path | None, report: Path | None) -> None:
    """Refuse what can't be written, before any work."""
    if out is None and report is None:
        raise ParameterError("Say what to write: --out for numbers or pictures, --report for a page, or both.")
    for option, file, suffixes in (
        ("--out", out, TABLE_SUFFIXES + PICTURE_SUFFIXES),
        ("--report", report, (".html",)),
    ):
        if file is not None and file.suffix.lower() not in suffixes:
            raise ParameterError(f"{option} must end in one of {', '.join(suffixes)}; got {str(file)!r}.")


def load_source(source: str, path: Path | None) -> tuple[Dataset, Dataset | None]:
    """Return the two splits of a dataset, or a file and None."""
    from millet.datasets import load_dataset, load_file

    if Path(source).suffix or "/" in source or Path(source).is_file():
        return load_file(source), None
    return load_dataset(source, path)


def load_cases(source: str, path: Path | None, split: str) -> Dataset:
    """Return one split of a dataset, or a file."""
    train, test = load_source(source, path)
    return train if test is None or split == "train" else test


def named_explanation(
    classifier: EvidenceClassifier, dataset: Dataset, cases: list[int], *, channels: bool
) -> Explanation:
    """Explain some cases of a dataset, in the words that the dataset has for its classes."""
    X = [dataset.X[case] for case in cases]
    asked: dict[str, Any] = {"channels": True} if channels else {}
    explanation = classifier.explain(X, **asked)
    names = dict(zip(dataset.classes.tolist(), dataset.class_names, strict=True))
    class_names = tuple(str(names.get(label, label)) for label in classifier.classes_.tolist())
    return dataclasses.replace(explanation, class_names=class_names)


@contextmanager
def explained_interruption(checkpoints: Path) -> Iterator[None]:
    """On Ctrl-C, say where the work is and how to go on, where there is any."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(err=True)
        if checkpoints.exists():
            click.echo(
                wrap(f"The training so far is kept in {checkpoints}. Run the same command to go on."), err=True
            )
        raise


def _fit_summary(classifier: EvidenceClassifier, train: Dataset, test: Dataset | None) -> str:
    from millet.tables import format_table

    summary = classifier.training_summary_
    rows: list[list[object]] = [["cases", f"{len(train)} of {len(classifier.classes_)} classes"]]
    if "n_epochs" in summary:
        rows.append(["epochs", ", ".join(map(str, summary["n_epochs"]))])
    rows += [
        ["seconds", f"{summary['seconds']:.0f}" if summary["seconds"] > 10 else f"{summary['seconds']:.1f}"],
        ["training accuracy", f"{classifier.score(train.X, train.y):.3f}"],
    ]
    if test is not None and test.y is not None:
        rows.append(["test accuracy", f"{classifier.score(test.X, test.y):.3f}"])
    return format_table(["", train.name], rows)


def _write_evidence(
    explanation: Explanation, dataset: Dataset, cases: list[int], out: Path, target: str | None, palette: str
) -> list[Path]:
    if out.suffix.lower() in PICTURE_SUFFIXES:
        return _draw_cases(explanation, dataset, cases, out, target, palette)
    explanation.save(out)
    return [out]


def _draw_cases(
    explanation: Explanation, dataset: Dataset, cases: list[int], out: Path, target: str | None, palette: str
) -> list[Path]:
    from tqdm import tqdm

    from millet.plots import plot_explanation, save_figure

    written = []
    for row, case in enumerate(tqdm(cases, unit="picture", disable=None, leave=False)):
        file = out if len(cases) == 1 else out.with_stem(f"{out.stem}-{case}")
        figure = plot_explanation(
            explanation,
            case=row,
            target=target,
            relevant=None if dataset.relevant is None else dataset.relevant[case],
            label=None if dataset.y is None else dataset.y[case],
            palette=palette,
        )
        save_figure(figure, file)
        written.append(file)
    return written


def _write_csv(file: IO[str], header: list[str], rows: list[list[Any]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)

"""``millet fit`` and ``predict``: train a model, and use it."""

from __future__ import annotations

import csv
import shlex
import shutil
import sys
from collections import Counter
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from millet.cli.messages import wrap
from millet.cli.sources import DATA_HELP, NO_LABELS_HELP, SPLITS, check_kept, load_known_cases, load_source
from millet.errors import LabelError, ParameterError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from millet.contract import EvidenceClassifier
    from millet.datasets import Dataset

NORMALISE = {"auto": "auto", "yes": True, "no": False}


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
@click.option("--head", help="For minirocket to multirocket-hydra: multinomial or ridge. [default: multinomial]")
@click.option("--spread", help="For the same, where evidence goes: taps, anchor or weighted. [default: taps]")
@click.option(
    "--normalise",
    type=click.Choice(list(NORMALISE)),
    help="z-normalise each channel of each series; no where levels tell the class. auto is yes for one channel; for "
    "several, training cases that are left out decide. [default: auto]",
)
@click.option("--recipe", help="How to train networks: fast or paper. [default: fast]")
@click.option("--n-estimators", type=int, help="Networks in the ensemble; the paper's has 5. [default: 1]")
@click.option("--n-epochs", type=int, help="Passes over the training cases. [default: the recipe's]")
@click.option("--batch-size", type=int, help="Cases a step. [default: the recipe's]")
@click.option("--learning-rate", type=float, help="[default: the recipe's]")
@click.option("--max-time", type=float, help="Seconds of training for each network.")
@click.option(
    "--early-stopping", is_flag=True, default=None, help="Stop when the loss on cases set aside no longer improves."
)
@click.option(
    "--class-weight", type=click.Choice(["balanced"]), help="Networks only: let rare classes count as much as others."
)
@click.option("--device", help="Networks only: cpu, cuda or mps. [default: the best there is]")
@click.option("--random-state", default=0, show_default=True, help="Seed.")
@click.option("--n-jobs", default=-1, show_default=True, help="Networks, or cases, at a time; -1 is one a core.")
@click.option("--path", type=click.Path(path_type=Path), help=DATA_HELP)
@click.option("--quiet", is_flag=True, help="No progress bar.")
def fit(source: str, out: Path, model: str, path: Path | None, quiet: bool, **options: Any) -> None:
    """Train a model on a dataset (its training split) or a file.

    After an interruption the same command continues where it stopped, unless several networks are averaged by +.
    """
    from millet.storage import DESCRIPTION, check_target
    from millet.zoo import count_with, make_classifier

    out = out if out.name not in ("", "..") else out.resolve()
    check_target(out)
    unfinished = out.with_name(f"{out.name}.unfinished")
    # Two networks can't share a folder of checkpoints.
    checkpoints = {"checkpoint_dir": unfinished} if count_with("checkpoint_dir", model) == 1 else {}
    if checkpoints:
        _check_unfinished(unfinished)
    given = {name: value for name, value in options.items() if value is not None}
    _check_options(model, given, list(options))
    if "normalise" in given:
        given["normalise"] = NORMALISE[given["normalise"]]
    classifier = make_classifier(model, **given, **checkpoints, verbose=int(not quiet))
    train, test = load_source(source, path)
    if train.y is None:
        raise LabelError(f"{source} has no labels; training needs one for every series.")
    _remark_on_lonely_classes(train.y.tolist())
    with explained_interruption(unfinished) if checkpoints else nullcontext():
        classifier.fit(train.X, train.y)
    replaced = ", in place of the model that was there" if (out / DESCRIPTION).exists() else ""
    classifier.save(out)
    if checkpoints:
        shutil.rmtree(unfinished, ignore_errors=True)
    click.echo(_fit_summary(classifier, train, test))
    click.echo(f"Saved to {out}{replaced}")
    click.echo(f"Next: millet explain {_typed(out)} {_typed(source)} --out evidence.png --case 0")


def _check_unfinished(folder: Path) -> None:
    """Refuse a folder that is not ours: it is removed when the training is done."""
    files = [file.name for file in folder.iterdir() if not file.name.startswith(".")] if folder.is_dir() else []
    if files and "run.json" not in files:
        raise StorageError(
            f"{folder} is where an unfinished training would be kept, and holds something else ({files[0]}). Move it "
            "away, or choose another --out."
        )


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("source", metavar="DATASET|FILE")
@click.option("--out", type=click.Path(path_type=Path), help="CSV file to write. [default: standard output]")
@click.option("--split", type=click.Choice(SPLITS), help="Of the dataset, if one is named. [default: test]")
@click.option("--no-labels", is_flag=True, help=NO_LABELS_HELP)
@click.option("--path", type=click.Path(path_type=Path), help=DATA_HELP)
def predict(
    model: Path, source: str, out: Path | None, split: str | None, no_labels: bool, path: Path | None
) -> None:
    """Classify the series of a dataset or file: one line per case, as CSV."""
    from millet.atomic import atomic_path
    from millet.loading import load_classifier

    check_kept(source, out)
    if out is not None and out.suffix.lower() not in ("", ".csv", ".txt"):
        raise ParameterError(f"Predictions are written as CSV, so --out must end in .csv; got {str(out)!r}.")
    classifier = load_classifier(model)
    cases = load_known_cases(source, path, split, classifier.classes_, no_labels=no_labels)
    probabilities = classifier.predict_proba(cases.X)
    predicted = classifier.classes_[probabilities.argmax(axis=1)]
    columns: dict[str, Iterable[Any]] = {
        "case": range(len(cases)),
        **({"name": cases.case_names} if cases.case_names else {}),
        "predicted": predicted,
        "probability": [f"{row.max():.6g}" for row in probabilities],
        **({"label": cases.y} if cases.y is not None else {}),
        **{
            f"p_{label}": [f"{value:.6g}" for value in probabilities[:, code]]
            for code, label in enumerate(classifier.classes_)
        },
    }
    header, rows = list(columns), [list(row) for row in zip(*columns.values(), strict=True)]
    if out is None or str(out) == "-":
        _write_csv(sys.stdout, header, rows)
    else:
        with atomic_path(out) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            _write_csv(file, header, rows)
    if cases.y is not None:
        click.echo(f"Accuracy {(predicted == cases.y).mean():.3f} over {len(cases)} cases", err=True)


@contextmanager
def explained_interruption(checkpoints: Path) -> Iterator[None]:
    """On Ctrl-C, say where the work so far is kept, if any, and how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(err=True)
        if checkpoints.exists():
            click.echo(
                wrap(f"The training so far is kept in {checkpoints}. Run the same command to go on."), err=True
            )
        raise


def _check_options(model: str, given: Iterable[str], offered: list[str]) -> None:
    """Refuse an option that the model does not have, and name those that it has."""
    from millet.zoo import count_with

    useful = [name for name in offered if count_with(name, model)]
    for name in given:
        if name not in useful:
            raise ParameterError(
                f"The model {model!r} has no option {_flag(name)}; it has {', '.join(map(_flag, useful))}."
            )


def _remark_on_lonely_classes(labels: list[Any]) -> None:
    """Print a note if most classes have a single case, since these may not be labels at all."""
    counts = Counter(labels)
    n_lonely = list(counts.values()).count(1)
    if 2 * n_lonely > len(counts):
        click.echo(
            wrap(
                f"Note: {n_lonely} of {len(counts)} classes have a single case. Are these the labels? Without a "
                "header, they are read from the first column."
            ),
            err=True,
        )


def _typed(path: str | Path) -> str:
    """Return a path or name as it must be typed into a shell."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


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


def _write_csv(file: IO[str], header: list[str], rows: list[list[Any]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)

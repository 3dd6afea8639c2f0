"""``millet explain``: which timepoints made a model decide as it did."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from millet.cli.sources import DATA_HELP, NO_LABELS_HELP, SPLITS, check_kept, load_known_cases
from millet.errors import ParameterError
from millet.watching import someone_watches

if TYPE_CHECKING:
    from millet.contract import EvidenceClassifier
    from millet.datasets import Dataset
    from millet.explanation import Explanation

TABLE_SUFFIXES = (".json", ".npz", ".csv")
PICTURE_SUFFIXES = (".png", ".pdf", ".svg")
DEFAULT_PALETTE = "green-red"


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
@click.option("--target", help="Pictures only: class to show evidence for. [default: the predicted one]")
@click.option("--palette", help=f"Pictures only: green-red or colorblind. [default: {DEFAULT_PALETTE}]")
@click.option("--split", type=click.Choice(SPLITS), help="Of the dataset, if one is named. [default: test]")
@click.option("--no-labels", is_flag=True, help=NO_LABELS_HELP)
@click.option("--path", type=click.Path(path_type=Path), help=DATA_HELP)
def explain(
    model: Path, source: str, out: Path | None, report: Path | None, cases: tuple[int, ...], channels: bool,
    target: str | None, palette: str | None, split: str | None, no_labels: bool, path: Path | None,
) -> None:  # fmt: skip
    """Show the evidence of every timepoint, as numbers, as pictures or as a page to explore."""
    _check_files(out, report)
    check_kept(source, out, report)
    _check_effects(out, target, palette, channels)
    import numpy as np

    from millet.loading import load_classifier

    classifier = load_classifier(model)
    if channels and not classifier.splits_channels:
        raise ParameterError(f"--channels needs a model that can tell channels apart; {model} holds networks.")
    dataset = load_known_cases(source, path, split, classifier.classes_, no_labels=no_labels)
    chosen = list(cases) or list(range(len(dataset)))
    outside = [case for case in chosen if not 0 <= case < len(dataset)]
    if outside:
        raise ParameterError(f"--case {outside[0]} is not there; {source} has the cases 0 to {len(dataset) - 1}.")
    names = _class_names(classifier, dataset)
    label = None if target is None else _target_label(target, classifier, names)
    X = [dataset.X[case] for case in chosen]
    explanation = classifier.explain(X, channels=channels, class_names=names, channel_names=dataset.channel_names)
    explanation = dataclasses.replace(explanation, cases=np.array(chosen))
    written = [] if out is None else _write_evidence(explanation, dataset, out, label, palette or DEFAULT_PALETTE)
    if report is not None:
        from millet.reporting import report_run

        written.append(report_run(report, classifier, explanation, dataset))
    for file in written:
        click.echo(str(file))


def _check_files(out: Path | None, report: Path | None) -> None:
    """Refuse what can't be written, before any work."""
    if out is None and report is None:
        raise ParameterError("Say what to write: --out for numbers or pictures, --report for a page, or both.")
    for option, file, suffixes in (
        ("--out", out, TABLE_SUFFIXES + PICTURE_SUFFIXES),
        ("--report", report, (".html",)),
    ):
        if file is not None and file.suffix.lower() not in suffixes:
            raise ParameterError(f"{option} must end in one of {', '.join(suffixes)}; got {str(file)!r}.")


def _check_effects(out: Path | None, target: str | None, palette: str | None, channels: bool) -> None:
    """Refuse an unknown palette, and options that have no effect on what is written."""
    from millet.plots.palettes import find_palette

    if palette is not None:
        find_palette(palette)
    suffix = "" if out is None else out.suffix.lower()
    for option, is_given, suffixes, why in (
        ("--target", target is not None, PICTURE_SUFFIXES, "numbers and the page hold the evidence for all classes"),
        ("--palette", palette is not None, PICTURE_SUFFIXES, "numbers have no colours, and the page has a switch"),
        ("--channels", channels, TABLE_SUFFIXES, "only the numbers are split among the channels"),
    ):
        if is_given and suffix not in suffixes:
            raise ParameterError(
                f"{option} changes nothing here: {why}. Leave it out, or write to an --out that ends in one of "
                f"{', '.join(suffixes)}."
            )


def _class_names(classifier: EvidenceClassifier, dataset: Dataset) -> tuple[str, ...]:
    """Return what the dataset calls the model's classes, however it spells their labels."""
    from millet.datasets.labels import label_key

    names = {
        label_key(str(label)): name for label, name in zip(dataset.classes.tolist(), dataset.class_names, strict=True)
    }
    return tuple(str(names.get(label_key(str(label)), label)) for label in classifier.classes_.tolist())


def _target_label(target: str, classifier: EvidenceClassifier, names: tuple[str, ...]) -> Any:
    """Return the label that was typed, either as text or by the name of its class."""
    from millet.explanation.targets import find_codes

    labels = classifier.classes_.tolist()
    typed = {str(label): label for label in labels}.get(target, target)
    return labels[int(find_codes(typed, classifier.classes_, names, n_cases=1)[0])]


def _write_evidence(explanation: Explanation, dataset: Dataset, out: Path, target: Any, palette: str) -> list[Path]:
    if out.suffix.lower() in PICTURE_SUFFIXES:
        return _draw_cases(explanation, dataset, out, target, palette)
    explanation.save(out)
    return [out]


def _draw_cases(explanation: Explanation, dataset: Dataset, out: Path, target: Any, palette: str) -> list[Path]:
    from tqdm import tqdm

    from millet.plots import plot_explanation, save_figure

    written = []
    known = set(explanation.classes.tolist())  # a title can't name the class of a label that the model does not know
    bar = tqdm(explanation.cases.tolist(), unit="picture", disable=not someone_watches(), leave=False)
    for row, case in enumerate(bar):
        file = out if len(explanation) == 1 else out.with_stem(f"{out.stem}-{case}")
        figure = plot_explanation(
            explanation,
            case=row,
            target=target,
            relevant=None if dataset.relevant is None else dataset.relevant[case, : explanation.n_timepoints],
            label=None if dataset.y is None or dataset.y[case] not in known else dataset.y[case],
            palette=palette,
        )
        save_figure(figure, file)
        written.append(file)
    return written

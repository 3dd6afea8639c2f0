"""The document: a run in, ``report.md`` with its pictures out.

In:  a run folder, and published results where the user has them.
Out: files, and `Report`, which the command ``millet report`` prints.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from millet.atomic import atomic_path
from millet.datasets.catalogue import WEB_TRAFFIC
from millet.datasets.locate import search_folders
from millet.errors import StorageError, did_you_mean
from millet.plots import save_figure
from millet.report.ablation import ablation_section, has_steps
from millet.report.comparison import comparison_section
from millet.report.complexity import complexity_section
from millet.report.cost import parameters_section, run_time_section
from millet.report.examples import KEY as EXAMPLES
from millet.report.false_negatives import false_negatives_section
from millet.report.layout import Picture, Section, Table, no_markup
from millet.report.progress import progress_of
from millet.report.properties import properties_section
from millet.report.published import Published
from millet.report.ranking import ranking_section
from millet.report.rows import Run, read_run
from millet.report.ucr import are_of_the_paper, ucr_section
from millet.report.webtraffic import webtraffic_section
from millet.tables import counted

SECTIONS: dict[str, Callable[[Run, Published], Section]] = {
    "webtraffic": webtraffic_section,
    "false_negatives": false_negatives_section,
    "ucr": ucr_section,
    "ranking": ranking_section,
    "comparison": comparison_section,
    "properties": properties_section,
    "ablation": ablation_section,
    "parameters": parameters_section,
    "run_time": run_time_section,
    "complexity": complexity_section,
}
# A table that an experiment file lists, and the section it is in; a section's own name stands for all its tables.
TABLES = {
    "webtraffic_prediction": "webtraffic",
    "webtraffic_interpretability": "webtraffic",
    "per_class_accuracy": "false_negatives",
    "ucr_prediction": "ucr",
    "ucr_interpretability": "ucr",
    "ucr_sota": "ranking",
    "dataset_properties": "properties",
    "model_variance": "properties",
    "ablation_balanced_accuracy": "ablation",
    "ablation_aopcr": "ablation",
    **{name: name for name in SECTIONS},
}


@dataclass(frozen=True)
class Report:
    """What was written.

    Attributes
    ----------
    path : Path
        The Markdown file; pictures are beside it.
    pictures : tuple of Path
        The PNG files.
    text : str
        The same tables for a terminal.
    """

    path: Path
    pictures: tuple[Path, ...]
    text: str


def write_report(
    folder: str | os.PathLike[str],
    *,
    published: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Report:
    """Turn the rows of a benchmark into the paper's tables and figures, ours beside the published ones.

    Parameters
    ----------
    folder : path-like
        The run folder, with ``run.json`` and ``rows.jsonl``.
    published : path-like, optional
        Folder with the authors' and the bake-off's per-dataset results; see `millet.report.published`.
    out : path-like, optional
        Where to write; by default the folder ``report`` inside the run folder. Pictures that an earlier report there
        shows and this one does not are removed.
    path : path-like, optional
        Folder with datasets, as for `millet.load_dataset`; the balance of their classes and the series of the cases
        that are shown come from them.

    Returns
    -------
    Report

    Raises
    ------
    DatasetNotFoundError
        If there is no run, no folder of published results, or no folder `path`.
    DatasetFormatError
        If a file has another content.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "run.json").write_text('{"name": "toy", "tables": ["complexity"]}')
    >>> _ = (folder / "rows.jsonl").write_text("")
    >>> write_report(folder).path.name
    'report.md'
    """
    search_folders(path)  # refuses one that is not there
    run = read_run(folder)
    results = Published(None if published is None else Path(published))
    target = Path(folder) / "report" if out is None else Path(out)
    names, notes = chosen_sections(run)
    sections = [build_section(name, run, results, path) for name in names]
    comparable = bool(run.done) and (are_of_the_paper(run.datasets) or WEB_TRAFFIC.name in run.datasets)
    notes = (*run.notes, *notes, *(missing_notes(results) if comparable else ()))
    page = target / "report.md"
    _check_own(page)
    before = _pictures_of(page)
    pictures = sum((save_pictures(section, target) for section in sections), ())
    with atomic_path(page) as temporary:
        temporary.write_text(_markdown(run, sections, notes), encoding="utf-8")
    for stale in before - set(pictures):
        stale.unlink(missing_ok=True)
    return Report(page, pictures, _text(run, sections, notes))


def _check_own(page: Path) -> None:
    """Refuse to replace a page that no report was written to: its third line says how far its run has come."""
    if page.is_file() and not re.match(r"# .*\n\n.*\d failed\b", page.read_text("utf-8", "replace")):
        raise StorageError(f"{page} is not a report of MILLET's, and would be lost. Choose another --out.")


def _pictures_of(page: Path) -> set[Path]:
    """Return the files that an earlier report shows as `shown_picture` does; whatever else is there is not ours."""
    if not page.is_file():
        return set()
    ours = r"^!\[(.+)\]\((\w[\w.-]*\.png)\)\n\n\1$"
    found = re.findall(ours, page.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return {page.parent / name for _, name in found}


def chosen_sections(run: Run) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the sections that a run's report has, and what to say about unknown ones.

    The experiment's list ``tables`` decides; where it has none, what its rows are about.
    """
    listed = run.experiment.get("tables")
    if isinstance(listed, list) and listed:
        wanted = [str(name).replace("-", "_") for name in listed]
        notes = tuple(
            f"Unknown table {name!r} in run.json; known: {', '.join(TABLES)}.{did_you_mean(name, TABLES)}"
            for name in wanted
            if name not in TABLES
        )
        return tuple(dict.fromkeys(TABLES[name] for name in wanted if name in TABLES)), notes
    is_traffic = WEB_TRAFFIC.name in run.datasets
    others = [name for name in run.datasets if name != WEB_TRAFFIC.name]
    names = ["webtraffic", "false_negatives"] if is_traffic else []
    names += ["ucr", "ranking"] if others else []
    names += ["properties"] if others and are_of_the_paper(others) else []
    names += ["comparison"] if any(EXAMPLES in row.content for row in run.done) else []
    names += ["ablation"] if has_steps(run) else []
    return tuple(names), ()


def build_section(name: str, run: Run, published: Published, path: str | os.PathLike[str] | None = None) -> Section:
    """Return one of `SECTIONS`; `path` leads to datasets, where a section looks into them."""
    if name == "comparison":
        return comparison_section(run, published, path)
    if name == "properties":
        return properties_section(run, published, path)
    return SECTIONS[name](run, published)


def missing_notes(results: Published) -> tuple[str, ...]:
    """Say which published results are not at hand."""
    if results.folder is None:
        return (
            "Published per-dataset results were not given (--published): without them nothing is said about the "
            "authors' spread, and the state of the art is missing.",
        )
    if results.missing:
        return (f"Missing among the published results: {', '.join(sorted(results.missing))}.",)
    return ()


def save_pictures(section: Section, target: Path, prefix: str = "", dpi: float = 200) -> tuple[Path, ...]:
    """Draw and save the pictures of a section, and return the files."""
    paths = []
    for picture in section.pictures:
        figure = picture.draw().get_figure(root=True)
        assert figure is not None
        paths.append(target / f"{prefix}{picture.name}.png")
        save_figure(figure, paths[-1], dpi=dpi)
    return tuple(paths)


def shown_picture(picture: Picture, file: str) -> str:
    """Return a picture and its caption as Markdown."""
    caption = no_markup(picture.caption)
    return f"![{caption}]({file})\n\n{caption}"


def run_facts(run: Run) -> str:
    """Return one line on how much of its plan a run has done, and how."""
    recipes = sorted({row.recipe for row in run.done} - {""})
    precisions = sorted({str(row.content["precision"]) for row in run.done if row.content.get("precision")})
    tier = run.experiment.get("tier")
    parts = [
        _so_many(len(run.datasets), len(run.planned("datasets")), "dataset"),
        _so_many(len(run.models), len(run.planned("models")), "model"),
        *_progress(run),
        f"{len(run.failed)} failed",
        *([f"tier {tier}"] if tier else []),
        *([f"recipe {'; '.join(recipes)}"] if recipes else []),
        *([f"trained in {' and '.join(precisions)}"] if precisions else []),
    ]
    return ", ".join(parts) + "."


def _progress(run: Run) -> list[str]:
    """Say how many trainings and ensembles there are, and how many were planned."""
    progress = progress_of(run)
    parts = [_so_many(*progress.trainings, "training")]
    if not progress.trainings.planned or progress.ensembles.planned:
        parts.append(_so_many(*progress.ensembles, "ensemble"))
    return parts


def _so_many(found: int, planned: int, word: str) -> str:
    """Say how many there are, and out of how many where that is known."""
    return f"{found} of {counted(planned, word)}" if planned else counted(found, word)


def failures_table(run: Run) -> Table | None:
    """Return the cells that failed; None where none did."""
    if not run.failed:
        return None
    rows = tuple(
        (
            row.dataset,
            row.model,
            "ensemble" if row.ensemble else str(row.repeat),
            row.method,
            "".join(letter if letter.isprintable() else "�" for letter in " ".join(row.error.split())),
        )
        for row in run.failed
    )
    covered = f"{len(run.failed)} of {len(run.failed) + len(run.done)} rows"
    return Table("Failed", "", covered, ("dataset", "model", "repeat", "method", "error"), rows, is_text=True)


def _markdown(run: Run, sections: list[Section], notes: tuple[str, ...]) -> str:
    parts = [no_markup(f"# {run.name}"), *map(no_markup, (run_facts(run), *notes))]
    for section in sections:
        parts += [f"## {section.title}", *map(no_markup, section.notes)]
        parts += [table.to_markdown() for table in section.tables]
        parts += [shown_picture(picture, f"{picture.name}.png") for picture in section.pictures]
    failures = failures_table(run)
    parts += [] if failures is None else ["## Failures", failures.to_markdown()]
    return "\n\n".join(parts) + "\n"


def _text(run: Run, sections: list[Section], notes: tuple[str, ...]) -> str:
    parts = [f"{run.name}: {run_facts(run)}", *notes]
    for section in sections:
        parts += [section.title.upper(), *section.notes, *(table.to_text() for table in section.tables)]
    failures = failures_table(run)
    parts += [] if failures is None else [failures.to_text()]
    return "\n\n".join(parts)

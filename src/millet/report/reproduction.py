"""Reproduction: all runs of a results folder on one page: what of the paper is there, partly there or missing.

In:  run folders, which `millet.benchmark` wrote; published results; what the rest costs, from whoever knows.
Out: a Markdown page and its pictures; the same rows give the same page.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from millet.atomic import atomic_path
from millet.report.agreement import ASSUMPTIONS, CHECKS
from millet.report.claims import CLAIMS
from millet.report.document import (
    build_section,
    chosen_sections,
    failures_table,
    missing_notes,
    run_facts,
    save_pictures,
    shown_picture,
)
from millet.report.field_claims import field_claims
from millet.report.findings import findings_section
from millet.report.judging import judged
from millet.report.layout import Table, no_markup
from millet.report.lengths import lengths_table
from millet.report.names import BACKBONES, OWN
from millet.report.overview import ITEMS, Part, overview
from millet.report.published import Published
from millet.report.rows import Run, read_run
from millet.report.webtraffic import shortened_note
from millet.tables import counted

TITLE = "Reproduction of the paper"
DPI = 100
SHORT_ID = 9  # letters of a commit
# Longer tables are folded away, and so are details.
OPEN_ROWS = 24
READING = (
    "This page compares our runs with the paper. A script writes it (`docs/scripts/reproduction.py`) from three "
    "sources: the rows in `results`, the figures of the paper's tables (`results/published`), and per-dataset "
    "results that the authors and others have published. Only the reasons in the first two tables are written by "
    "hand (`results/reasons.toml`).",
    "Four things to know before you read on:",
    "- Every table says how much of the paper's grid it covers; *At a glance* says which runs follow a recipe other "
    'than the paper\'s, such as "fast" with a tenth of its steps, or have fewer networks.\n'
    "- *The authors'*, in the table of claims, is what their single networks give on the same datasets or, where "
    "there are no such figures, what the paper prints; of claims about all 85 datasets it is what their ensembles "
    "give on those.\n"
    "- A claim holds, *yes*, if it is so in our rows, however little is between them: networks of one model often "
    "differ by more, as the tables show. It holds *in part* if it is so in at least half of its cases.\n"
    "- *Inside spread*: does the mean of our networks lie between the lowest and the highest of the authors' five "
    "runs, or within two standard deviations of their mean? Chance alone puts some outside; the second table says "
    "how many. It says yes if chance would put so few inside at least once in twenty times.",
)
OTHERS = (
    "Shown elsewhere: random convolutions in [the fast lane](rocket.md), LITE and runs in bf16 beside [the recipe "
    '"fast"](tables/fast_recipe.md), SHAP as it may have been computed for the paper in [its own table]'
    "(tables/shap_surrogates.md)."
)


def read_results(folder: str | os.PathLike[str]) -> tuple[Run, ...]:
    """Read all runs below a folder, in the order of their names.

    Parameters
    ----------
    folder : path-like
        One with run folders; anything that is not a run folder, or has no rows yet, is ignored.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "toy").mkdir()
    >>> _ = (folder / "toy" / "run.json").write_text('{"name": "toy"}')
    >>> _ = (folder / "toy" / "rows.jsonl").write_text("")
    >>> [run.name for run in read_results(folder)]
    ['toy']
    """
    folders = sorted(path.parent for path in Path(folder).glob("*/run.json"))
    return tuple(read_run(path) for path in folders if (path / "rows.jsonl").is_file())


def write_reproduction(
    runs: Sequence[Run],
    published: Published,
    page: str | os.PathLike[str],
    *,
    pictures: str | os.PathLike[str],
    costs: Table | None = None,
    path: str | os.PathLike[str] | None = None,
    reasons: Mapping[str, str] | None = None,
) -> Path:
    r"""Write the page on what has been reproduced of the paper, and its pictures.

    Parameters
    ----------
    runs : sequence of Run
        From `read_results`.
    published : Published
        Per-dataset results of others.
    page : path-like
        The Markdown file.
    pictures : path-like
        A folder for this page only, below the page's; PNG files in it that the page does not show are removed.
    costs : Table, optional
        What the rest of the paper's grids would cost.
    path : path-like, optional
        Folder with datasets, for the balance of their classes and the series of the cases that are shown.
    reasons : mapping, optional
        Why our runs differ from the paper, by the keys of `millet.report.claims.CLAIMS`,
        `millet.report.field_claims.field_claims` and `millet.report.agreement.CHECKS`.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> page = write_reproduction([], Published(None), folder / "page.md", pictures=folder / "pictures")
    >>> page.read_text().split("\n")[0]
    '# Reproduction of the paper'
    """
    target, shown = Path(page), Path(pictures)
    parts = page_parts(runs, published, path)
    findings = Part("findings", findings_section(published), None)
    written = {file for part in parts for file in save_pictures(part.section, shown, part.prefix, DPI)}
    for stale in set(shown.glob("*.png")) - written:
        stale.unlink()
    relative = Path(os.path.relpath(shown, target.parent)).as_posix()
    blocks = [f"# {TITLE}", *READING, *missing_notes(published)]
    blocks += [
        table.to_markdown(level=2) for table in (*verdicts(parts, published, reasons or {}, path), overview(parts))
    ]
    blocks += _bodies(parts, relative) + _body(findings, relative, with_run=False) + _runs(runs)
    blocks += [] if costs is None else [costs.to_markdown(level=2)]
    with atomic_path(target) as temporary:
        temporary.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    return target


def verdicts(
    parts: Sequence[Part],
    published: Published,
    reasons: Mapping[str, str],
    path: str | os.PathLike[str] | None = None,
) -> tuple[Table, Table]:
    """Return which of the paper's claims hold, and where our runs agree with the authors'."""
    claims = {**CLAIMS, **field_claims(path)}
    return (
        judged("What holds, and what does not", "the authors'", claims, parts, published, reasons),
        replace(
            judged("Agreement with the authors' runs", "by chance", CHECKS, parts, published, reasons),
            notes=(ASSUMPTIONS,),
        ),
    )


def page_parts(runs: Sequence[Run], published: Published, path: str | os.PathLike[str] | None = None) -> list[Part]:
    """Return the sections of the page, in its order, each with the run behind it."""
    parts = []
    nothing = Run(Path(), {}, ())
    for name, item in ITEMS.items():
        if not item.experiment:
            parts.append(Part(name, build_section(name, nothing, published), None))
            continue
        for run in _fullest([run for run in runs if _is_of_the_paper(run) and name in chosen_sections(run)[0]]):
            parts.append(Part(name, build_section(name, run, published, path), run))
    return _with_lengths(parts, lengths_table(runs, published))


def _with_lengths(parts: list[Part], table: Table | None) -> list[Part]:
    """Put the table of training lengths, which covers several runs, below the last section on WebTraffic."""
    places = [place for place, part in enumerate(parts) if part.name == "webtraffic"]
    if table is None or not places:
        return parts
    last = parts[places[-1]]
    section = replace(last.section, tables=(*last.section.tables, table))
    return [*parts[: places[-1]], replace(last, section=section), *parts[places[-1] + 1 :]]


def _fullest(runs: Sequence[Run]) -> list[Run]:
    """Return the run with the most rows of each experiment; no briefly trained one if others were trained in full."""
    best: dict[str, Run] = {}
    for run in runs:
        if run.name not in best or len(run.done) > len(best[run.name].done):
            best[run.name] = run
    whole = [run for run in best.values() if not shortened_note(run)]
    return whole or list(best.values())


def _is_of_the_paper(run: Run) -> bool:
    """Return whether any row has one of the paper's backbones; the others have tables of their own."""
    return any(row.content.get("backbone") in BACKBONES for row in run.done)


def _runs(runs: Sequence[Run]) -> list[str]:
    """List what was run, at what cost, and what failed."""
    lines = [f"- `{run.folder.name}`: {no_markup(f'{run_facts(run)} {_spent(run)}')}" for run in runs]
    failures = [_folded(table) for run in runs if (table := failures_table(run)) is not None]
    listed = "\n".join(lines) if lines else "There are no runs yet."
    return ["## Runs", listed, *([OTHERS] if lines else []), *failures]


def _spent(run: Run) -> str:
    """Return what a run cost, on which machine, and which commits its rows come from."""
    kinds = ("train", "inference", "explain", "evaluate")
    core_seconds = 0.0
    for row in run.done:
        # An ensemble and a second method repeat the training time of the model.
        spent_on = kinds[1:] if row.ensemble or row.method != OWN else kinds
        core_seconds += sum(row.core_seconds(kind) or 0.0 for kind in spent_on)
    machines = {_machine(row.content.get("machine")) for row in run.done}
    versions = {_version(row.content.get("versions")) for row in run.done}
    facts = [*sorted(machines - {""}), *sorted(versions - {""})]
    spent = f"{core_seconds / 3600:.2f} core hours" + (f" on {'; '.join(facts)}." if facts else ".")
    return " ".join([spent, *_commits(run)])


def _commits(run: Run) -> list[str]:
    """Say how many commits the rows come from, in the order of the rows, and how many had local changes."""
    states = list(dict.fromkeys(str(row.content["commit"]) for row in run.done if row.content.get("commit")))
    if not states:
        return []
    short = [state[:SHORT_ID] + "+" * state.endswith("+") for state in states]
    n_commits = counted(len({state.removesuffix("+") for state in states}), "commit")
    n_changed = sum(state.endswith("+") for state in states)
    changed = f", {n_changed} with local changes (+)" if n_changed else ""
    return [f"Rows of {n_commits}, {' to '.join(dict.fromkeys((short[0], short[-1])))}{changed}."]


def _machine(machine: object) -> str:
    if not isinstance(machine, dict):
        return ""
    processor = machine.get("gpu") or machine.get("processor") or machine.get("system")
    n_threads = machine.get("n_threads")
    return f"{processor}, {n_threads} thread{'s' if n_threads != 1 else ''}" if processor else ""


def _version(versions: object) -> str:
    if not isinstance(versions, dict) or not versions.get("millet"):
        return ""
    return f"version {versions['millet']} with torch {versions.get('torch')}"


def _bodies(parts: Sequence[Part], pictures: str) -> list[str]:
    blocks: list[str] = []
    for before, part in zip([None, *parts[:-1]], parts, strict=True):
        is_first = before is None or before.name != part.name
        blocks += _body(part, pictures, with_run=part.run is not None, with_title=is_first)
    return blocks


def _body(part: Part, pictures: str, *, with_run: bool, with_title: bool = True) -> list[str]:
    blocks = [f"## {part.section.title}"] if with_title else []
    if with_run and part.run is not None:
        blocks.append(f"**Run `{part.run.folder.name}`**: {no_markup(run_facts(part.run))}")
    blocks += [*map(no_markup, part.section.notes), *(_folded(table) for table in part.section.tables)]
    blocks += [
        shown_picture(picture, f"{pictures}/{part.prefix}{picture.name}.png") for picture in part.section.pictures
    ]
    return blocks


def _folded(table: Table) -> str:
    """Return a table as Markdown; a long one is folded behind its heading."""
    text = table.to_markdown()
    if len(table.rows) <= OPEN_ROWS and not table.is_detail:
        return text
    heading, rest = text.split("\n\n", 1)
    return f"{heading}\n\n<details>\n<summary>{len(table.rows)} rows</summary>\n\n{rest}\n\n</details>"

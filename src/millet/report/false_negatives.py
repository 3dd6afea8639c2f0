"""False negatives: which classes are missed, what they are taken for, and whether the region was found (App. E.1).

In:  `Run`, whose rows carry accuracies and errors by class, and the evidence that is kept beside them.
Out: one `Section`.
"""

from __future__ import annotations

from typing import Any

from millet.datasets.catalogue import WEB_TRAFFIC
from millet.datasets.web_traffic import CLASS_NAMES
from millet.report.evidence import evidence_pictures
from millet.report.layout import NONE, Section, Table, shown
from millet.report.names import model_title
from millet.report.paper import paper_table
from millet.report.published import Published
from millet.report.rows import Row, Run
from millet.report.webtraffic import dataset_notes, is_published, traffic_dataset

PEAK, MODEL = "8", "conjunctive-inceptiontime"
TITLE = "False negatives"


def false_negatives_section(run: Run, published: Published) -> Section:
    """Return, class by class, how Conjunctive InceptionTime errs on WebTraffic."""
    name = traffic_dataset(run)
    rows = _rows(run, name)
    accuracy, missed = by_class(run)
    if not accuracy:
        missing = f"No accuracy by class for {model_title(MODEL)} on {name} yet."
        return Section(TITLE, notes=(missing, *dataset_notes(run, name)))
    found = _means([row.content for row in rows], "missed_ndcg_at_n")
    several = f" Means of {len(rows)} single models; their missed cases are counted together."
    # The paper says nothing about generated cases.
    paper = {label: (_paper(label),) if is_published(name) else () for label in accuracy}
    table = Table(
        f"{name}: {model_title(MODEL)} by class",
        paper_table("false_negatives").table if is_published(name) else "",
        f"{len(accuracy)} of {WEB_TRAFFIC.n_classes} classes",
        ("class", "accuracy", *(("paper",) if is_published(name) else ()), "taken for", "NDCG@n of those missed"),
        tuple(
            (
                class_title(label),
                _number(accuracy[label]),
                *paper[label],
                _confused(missed, label),
                _number(found.get(label)),
            )
            for label in accuracy
        ),
        (
            "NDCG@n from the scores for the true class: where it is high, the model "
            "found the region although it predicted another class." + (several if len(rows) > 1 else ""),
        ),
    )
    pictures = evidence_pictures(run.folder) if is_published(name) else ()
    return Section(TITLE, (table,), pictures, dataset_notes(run, name))


def by_class(run: Run) -> tuple[dict[str, float], dict[str, dict[str, int]]]:
    """Return the accuracy of each class, and how often cases of each were taken for which other."""
    contents = [row.content for row in _rows(run, traffic_dataset(run))]
    return _means(contents, "per_class_accuracy"), _sums(contents, "missed")


def class_title(label: str) -> str:
    """Return what a class of WebTraffic is called.

    Examples
    --------
    >>> class_title("8"), class_title("other")
    ('Peak', 'other')
    """
    return CLASS_NAMES[int(label)] if label.isdigit() and int(label) < len(CLASS_NAMES) else label


def _rows(run: Run, name: str) -> tuple[Row, ...]:
    return run.find(name, MODEL, ensemble=True) or run.find(name, MODEL, ensemble=False)


def _mapping(content: dict[str, Any], key: str) -> dict[str, Any]:
    value = content.get(key)
    return value if isinstance(value, dict) else {}


def _means(contents: list[dict[str, Any]], key: str) -> dict[str, float]:
    """Return the mean of each class over the rows that have one."""
    values: dict[str, list[float]] = {}
    for content in contents:
        for label, value in _mapping(content, key).items():
            if isinstance(value, int | float):
                values.setdefault(label, []).append(value)
    return {label: sum(found) / len(found) for label, found in values.items()}


def _sums(contents: list[dict[str, Any]], key: str) -> dict[str, dict[str, int]]:
    """Return how often each class was taken for each other, in all rows together."""
    counts: dict[str, dict[str, int]] = {}
    for content in contents:
        for label, taken in _mapping(content, key).items():
            for other, n in _mapping({key: taken}, key).items():
                of_label = counts.setdefault(label, {})
                of_label[other] = of_label.get(other, 0) + n
    return counts


def _paper(label: str) -> str:
    paper = paper_table("false_negatives")
    if label == PEAK:
        return shown(paper.value("accuracy", "peak", "mean"))
    low, high = (paper.value("accuracy", "others", end) for end in ("low", "high"))
    return f"{shown(low)} to {shown(high)}"


def _confused(missed: dict[str, Any], label: str) -> str:
    taken = _mapping(missed, label)
    counts = sorted(((n, other) for other, n in taken.items() if isinstance(n, int)), reverse=True)
    return ", ".join(f"{class_title(other)} ({n})" for n, other in counts) or NONE


def _number(value: Any) -> str:
    return shown(value if isinstance(value, int | float) else None)

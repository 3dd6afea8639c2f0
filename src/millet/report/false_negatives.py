"""False negatives: which classes are missed, what for, and whether the region was found all the same (App. E.1).

In:  `Run`, whose rows carry accuracies and errors by class, and the evidence that is kept beside them.
Out: one `Section`.
"""

from __future__ import annotations

from typing import Any

from millet.datasets.catalogue import WEB_TRAFFIC
from millet.report.evidence import evidence_pictures
from millet.report.layout import NONE, Section, Table, shown
from millet.report.names import model_title
from millet.report.paper import paper_table
from millet.report.published import Published
from millet.report.rows import Run
from millet.report.webtraffic import foreign_note, traffic_dataset

PEAK, MODEL = "8", "conjunctive-inceptiontime"
TITLE = "False negatives"


def false_negatives_section(run: Run, published: Published) -> Section:
    """Return, class by class, how Conjunctive InceptionTime errs on WebTraffic."""
    name = traffic_dataset(run)
    rows = run.find(name, MODEL, ensemble=run.has_ensembles)
    accuracy = _mapping(rows[-1].content if rows else {}, "per_class_accuracy")
    if not accuracy:
        return Section(TITLE, notes=(f"No accuracy by class of {model_title(MODEL)} on {name} yet.",))
    paper = paper_table("false_negatives")
    missed, found = (_mapping(rows[-1].content, key) for key in ("missed", "missed_ndcg_at_n"))
    table = Table(
        f"{name}: {model_title(MODEL)} by class",
        paper.table,
        f"{len(accuracy)} of {WEB_TRAFFIC.n_classes} classes",
        ("class", "accuracy", "paper", "taken for", "NDCG@n of those missed"),
        tuple(
            (label, _number(accuracy[label]), _paper(label), _confused(missed, label), _number(found.get(label)))
            for label in accuracy
        ),
        (
            "Class 8 is Peak, class 0 None. NDCG@n by the scores of the true class: where it is high, the model "
            "found the region although it predicted another class.",
        ),
    )
    pictures = evidence_pictures(run.folder) if name == WEB_TRAFFIC.name else ()
    return Section(TITLE, (table,), pictures, foreign_note(name))


def _mapping(content: dict[str, Any], key: str) -> dict[str, Any]:
    value = content.get(key)
    return value if isinstance(value, dict) else {}


def _paper(label: str) -> str:
    paper = paper_table("false_negatives")
    if label == PEAK:
        return shown(paper.value("accuracy", "peak", "mean"))
    low, high = (paper.value("accuracy", "others", end) for end in ("low", "high"))
    return f"{shown(low)} to {shown(high)}"


def _confused(missed: dict[str, Any], label: str) -> str:
    taken = _mapping(missed, label)
    counts = sorted(((n, other) for other, n in taken.items() if isinstance(n, int)), reverse=True)
    return ", ".join(f"{other} ({n})" for n, other in counts) or NONE


def _number(value: Any) -> str:
    return shown(value if isinstance(value, int | float) else None)

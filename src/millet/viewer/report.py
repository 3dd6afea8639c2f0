"""The report: everything about a run of a model in one HTML file.

In:  an `Explanation`, and what else is known.
Out: a file without a single external reference. Its data are JSON and base64 in elements that never run; its one
     script and one style are allowed by their hashes, and nothing else is.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millet.atomic import atomic_path
from millet.datasets import Dataset
from millet.errors import ParameterError
from millet.explanation import Explanation
from millet.explanation.matching import check_same_cases
from millet.version import __version__
from millet.viewer.facts import accuracy_row, describe_scores
from millet.viewer.packing import kept_classes, pack, pack_case, runs, sorted_bytes

# In their order on the page: later ones use earlier ones.
SCRIPTS = (
    "codec", "data", "axis", "numbers", "intervals", "palette", "marks", "painter",
    "chart", "gestures", "list", "confusion", "classes", "case", "export", "main",
)  # fmt: skip
PROBE_CASES = 8
UNSAFE_IN_HTML = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def write_report(
    path: str | os.PathLike[str],
    explanation: Explanation,
    *,
    dataset: Dataset | None = None,
    metrics: Mapping[str, object] | None = None,
    model: Mapping[str, object] | None = None,
    title: str | None = None,
    case_names: Sequence[object] | None = None,
) -> Path:
    """Write one HTML file to look at every case and the evidence in it; it needs no network and no server.

    Parameters
    ----------
    path : path-like
        The file, usually ``.html``; written whole or not at all.
    explanation : Explanation
        The cases. The page shows its `scores`, as the plots do.
    dataset : Dataset, optional
        The same cases: its labels, class names and relevant timepoints are shown where it has them.
    metrics : mapping, optional
        A flat row of scores: ``name``, and ``name_low`` and ``name_high`` where there is an interval. Without
        an "accuracy", it is computed from the labels, with Wilson's 95 % interval.
    model : mapping, optional
        Facts about the model to show, label to value; `model_facts` gives those of a classifier.
    title : str, optional
        By default the dataset's name.
    case_names : sequence, optional
        What to call the cases; by default what the dataset calls them, else their numbers, `explanation.cases`.

    Returns
    -------
    Path
        The file.

    Notes
    -----
    Numbers are rounded: series to 16 significant bits, scores to 11 (three digits). Where all the evidence would take
    more than about 13 MB, each case keeps that of its most probable classes and of the true one.

    Examples
    --------
    >>> import tempfile
    >>> e = Explanation(
    ...     series=[[[0.0, 9.0, 1.0]]], lengths=[3], classes=["calm", "spike"], logits=[[-1.0, 1.0]],
    ...     scores=[[[0.0, -3.0, 0.0], [0.0, 3.0, 0.0]]],
    ... )
    >>> write_report(Path(tempfile.mkdtemp()) / "report.html", e, title="A spike").name
    'report.html'
    """
    content = _Content(explanation, dataset, case_names)
    description = {
        "title": title or _dataset_title(dataset) or "What the model saw",
        "version": __version__,
        "method": explanation.method,
        "source": dataset.source if dataset is not None else "",
        "scores": describe_scores(content.with_accuracy(metrics or {})),
        "facts": [[str(label), str(value)] for label, value in (model or {}).items()],
        **content.describe(),
    }
    target = Path(path)
    with atomic_path(target) as temporary, temporary.open("wb") as file:
        for part in _page(description, content):
            file.write(part.encode("utf-8", "xmlcharrefreplace"))
    return target


class _Content:
    """The cases in the page's terms: codes for classes, runs for regions."""

    def __init__(self, explanation: Explanation, dataset: Dataset | None, names: Sequence[object] | None) -> None:
        if explanation.n_cases == 0:
            raise ParameterError("A report needs at least one case; this explanation has none.")
        for what, given in (("dataset", dataset), ("case_names", names)):
            if given is not None and len(given) != explanation.n_cases:
                raise ParameterError(
                    f"{what} must have one entry for each of the {explanation.n_cases} explained cases; "
                    f"got {len(given)}."
                )
        if dataset is not None:
            check_same_cases(explanation, dataset.X)
            names = (dataset.case_names or None) if names is None else names
        self.explanation = explanation
        numbers = explanation.cases.tolist()
        if names is None and numbers != list(range(explanation.n_cases)):
            names = numbers
        self.case_names = None if names is None else [str(name) for name in names]
        self.class_names = _class_names(explanation, dataset)
        self.channel_names = _channel_names(explanation, dataset)
        self.truth = self._truth(dataset)
        self.regions = None if dataset is None or dataset.relevant is None else self._regions(dataset.relevant)
        self.kept = kept_classes(explanation.probabilities, explanation.lengths, self._known_truth())
        probe = range(0, explanation.n_cases, -(-explanation.n_cases // PROBE_CASES))
        sizes = [sum(len(self.packed(case, way)) for case in probe) for way in (False, True)]
        self.differences = sizes[1] < sizes[0]

    def _truth(self, dataset: Dataset | None) -> NDArray[np.int64] | None:
        """Return the code of each true class; classes that the model does not know come after those it does."""
        if dataset is None or dataset.y is None:
            return None
        codes = {label: code for code, label in enumerate(self.explanation.classes.tolist())}
        names = dict(zip(dataset.classes.tolist(), dataset.class_names, strict=True))
        for label in dataset.y.tolist():
            if label not in codes:
                codes[label] = len(codes)
                self.class_names.append(str(names.get(label, label)))
        return np.array([codes[label] for label in dataset.y.tolist()], dtype=np.int64)

    def _known_truth(self) -> NDArray[np.int64] | None:
        if self.truth is None:
            return None
        return np.where(self.truth < self.explanation.n_classes, self.truth, -1)

    def _regions(self, relevant: NDArray[np.bool_]) -> list[list[list[int]]]:
        lengths = self.explanation.lengths.tolist()
        short = [case for case, length in enumerate(lengths) if len(relevant[case]) < length]
        if short:
            raise ParameterError(
                f"dataset.relevant must cover every timepoint; case {short[0]} has {lengths[short[0]]} of them "
                f"and {len(relevant[short[0]])} marks."
            )
        marks = [np.asarray(relevant[case][:length], dtype=bool) for case, length in enumerate(lengths)]
        # Where all timepoints matter, as in a class without a signature, there is no region to point at.
        return [[] if mark.all() else runs(mark) for mark in marks]

    def with_accuracy(self, metrics: Mapping[str, object]) -> Mapping[str, object]:
        if self.truth is None or "accuracy" in metrics:
            return metrics
        return {**accuracy_row(self.explanation.predicted_codes == self.truth), **metrics}

    def describe(self) -> dict[str, Any]:
        e = self.explanation
        confidence = e.probabilities.max(axis=1)
        return {
            "classes": self.class_names,
            "nClasses": e.n_classes,
            "channels": self.channel_names,
            "hasAttention": e.attention is not None,
            # Where the scores are also the contributions, their mean plus the bias is the logit; the page says so.
            "bias": None if e.bias is None or not _same(e.scores, e.contributions) else _plain(e.bias),
            "time": _describe_time(e.time),
            "differences": self.differences,
            "cases": {
                "names": self.case_names,
                "lengths": e.lengths.tolist(),
                "truth": None if self.truth is None else self.truth.tolist(),
                "predicted": e.predicted_codes.tolist(),
                # Rounded down: what is almost certain is not called certain.
                "confidence": _plain(np.floor(confidence * 1e6) / 1e6),
                "kept": None if self.kept.all() else [np.flatnonzero(row).tolist() for row in self.kept],
                "regions": self.regions,
            },
        }

    def packed(self, case: int, differences: bool) -> str:
        e = self.explanation
        length = int(e.lengths[case])
        return pack_case(
            e.series[case, :, :length],
            e.scores[case, self.kept[case], :length],
            e.logits[case],
            None if e.attention is None else e.attention[case, :length],
            differences=differences,
        )


def _dataset_title(dataset: Dataset | None) -> str:
    if dataset is None or not dataset.name:
        return ""
    return f"{dataset.name} ({dataset.split})" if dataset.split else dataset.name


def _class_names(explanation: Explanation, dataset: Dataset | None) -> list[str]:
    """Return the explanation's names; where one is only the label, the dataset may have a better one."""
    known = {} if dataset is None else dict(zip(dataset.classes.tolist(), dataset.class_names, strict=True))
    labels = explanation.classes.tolist()
    return [
        str(known.get(label, name)) if name == str(label) else name
        for label, name in zip(labels, explanation.class_names, strict=True)
    ]


def _channel_names(explanation: Explanation, dataset: Dataset | None) -> list[str | None]:
    """Return the explanation's names, or else the dataset's; None for a channel that is only a number."""
    names = explanation.channel_names
    numbers = tuple(map(str, range(explanation.n_channels)))
    if names == numbers and dataset is not None and dataset.channel_names:
        names = dataset.channel_names
    return [None if name == number else name for name, number in zip(names, numbers, strict=True)]


def _describe_time(time: NDArray[Any]) -> dict[str, Any]:
    """Return start and step where the timepoints are evenly spaced, otherwise all of them, packed."""
    kind = "datetime" if time.dtype.kind == "M" else "number"
    if kind == "datetime":
        moments = (time - np.datetime64(0, "ms")) / np.timedelta64(1, "ms")
    else:
        moments = time.astype(np.float64)
    step = float(moments[-1] - moments[0]) / max(1, len(moments) - 1) or 1.0
    even = moments[0] + step * np.arange(len(moments))
    if np.abs(even - moments).max() <= 1e-6 * step:
        return {"kind": kind, "start": float(moments[0]), "step": step, "packed": None}
    return {"kind": kind, "packed": pack(sorted_bytes(moments.astype("<f8"))), "size": len(moments)}


def _same(scores: NDArray[Any], contributions: NDArray[Any] | None) -> bool:
    return contributions is not None and np.array_equal(scores, contributions)


def _plain(values: NDArray[Any]) -> list[float]:
    return [float(f"{value:.6g}") for value in values.tolist()]


def _page(description: Mapping[str, Any], content: _Content) -> Iterator[str]:
    style, script = _asset("report.css"), "\n".join(_asset(f"scripts/{name}.js") for name in SCRIPTS)
    head, _, tail = _asset("report.html").partition("{{cases}}")
    parts = {
        "policy": _policy(style, script),
        "title": html.escape(str(description["title"])),
        "style": style,
        "script": script,
        "data": json.dumps(description, allow_nan=False).translate(UNSAFE_IN_HTML),
    }
    yield _fill(head, parts)
    for case in range(content.explanation.n_cases):
        packed = content.packed(case, content.differences)
        yield f'<script type="text/plain" id="case-{case}">{packed}</script>\n'
    yield _fill(tail, parts)


def _fill(template: str, parts: Mapping[str, str]) -> str:
    """Replace every {{name}} in one pass, so that what is put in is never read as a template."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def _policy(style: str, script: str) -> str:
    """Return a content security policy that allows only this style and this script, and fetches nothing."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return resources.files("millet.viewer").joinpath("assets", *name.split("/")).read_text(encoding="utf-8")

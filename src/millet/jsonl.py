"""JSON lines: one object per line, which one process appends to and any other may read.

In:  the rows of a benchmark, whose last line may be torn.
Out: `Lines`, read by `millet.benchmark` and `millet.report`, which must not disagree about what a row is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from millet.errors import DatasetFormatError

REMEDY = "Remove that line; millet benchmark then runs its cell again."


class Lines(NamedTuple):
    """What a file of JSON lines holds.

    Attributes
    ----------
    objects : list of (int, dict)
        The number of each line, counted from 1, and its content.
    torn : int, optional
        The number of the last line, if its writer was killed before it was whole.
    n_bytes : int
        The size of the file without a torn line.
    """

    objects: list[tuple[int, dict[str, Any]]]
    torn: int | None
    n_bytes: int


def read_lines(path: Path) -> Lines:
    r"""Read a file of JSON lines; blank lines are skipped, and a last line need not end in a newline.

    Raises
    ------
    DatasetFormatError
        If a line is no JSON object, and is not merely the torn last one.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> _ = path.write_text('{"a": 1}\n\n{"a": 2}\n{"a')
    >>> read_lines(path)
    Lines(objects=[(1, {'a': 1}), (3, {'a': 2})], torn=4, n_bytes=19)
    """
    content = path.read_bytes()
    objects: list[tuple[int, dict[str, Any]]] = []
    end = 0
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        start, end = end, end + len(line)
        if not line.strip():
            continue
        try:
            found = json.loads(line.decode("utf-8-sig"))
        except ValueError as error:
            if not content[end:].strip():
                return Lines(objects, number, start)
            raise DatasetFormatError(path, f"expected one JSON object; {error}. {REMEDY}", number) from error
        if not isinstance(found, dict):
            raise DatasetFormatError(path, f"expected a JSON object; got a {type(found).__name__}. {REMEDY}", number)
        objects.append((number, found))
    return Lines(objects, None, end)


def refuse_repeated(path: Path, keys: Iterable[tuple[int, Hashable]]) -> None:
    """Refuse a file in which two lines, given by their numbers, have the same key.

    Examples
    --------
    >>> refuse_repeated(Path("rows.jsonl"), [(1, "a"), (2, "b"), (3, "a")])
    Traceback (most recent call last):
    millet.errors.DatasetFormatError: rows.jsonl, line 3: line 1 is about a too. Keep one of the two lines.
    """
    lines: dict[Hashable, int] = {}
    for number, key in keys:
        first = lines.setdefault(key, number)
        if first != number:
            said = ", ".join(map(str, key)) if isinstance(key, tuple) else key
            raise DatasetFormatError(path, f"line {first} is about {said} too. Keep one of the two lines.", number)


def finite(value: object) -> float | None:
    """Return a value if it is a finite number, or None.

    Examples
    --------
    >>> finite(2), finite("2"), finite(True), finite(math.nan)
    (2.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def strict(value: Any) -> Any:
    """Return a value as JSON has it: null for NaN and infinities, at any depth.

    Examples
    --------
    >>> strict({"loss": math.inf, "runs": [0.5, math.nan]})
    {'loss': None, 'runs': [0.5, None]}
    """
    if isinstance(value, dict):
        return {name: strict(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [strict(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

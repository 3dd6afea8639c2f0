"""Reader for ``.parquet``: one row per series, as numeric columns or as one column of lists per channel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from millet.datasets.dataset import Series
from millet.datasets.labels import label_texts
from millet.datasets.readers.columns import (
    CASE_NAMES,
    LABEL_NAMES,
    check_no_time,
    check_values_named,
    find_label,
    folded,
    is_index,
    named,
)
from millet.datasets.readers.contents import Contents, Floats, check_every_case, stack_cases
from millet.errors import DatasetFormatError, import_extra


def read_parquet(file: Path) -> Contents:
    """Read a ``.parquet`` file; needs the extra ``parquet``.

    Parameters
    ----------
    file : Path
        The file.

    Returns
    -------
    Contents
        Without labels where no column is called label, class, target or y.
    """
    parquet = import_extra("pyarrow.parquet", "parquet", "Reading .parquet files")
    pyarrow = import_extra("pyarrow", "parquet", "Reading .parquet files")
    try:
        table = parquet.ParquetFile(file).read()
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
        raise DatasetFormatError(
            file, f"is damaged or cut off ({error}); expected a table as Parquet stores it."
        ) from error
    names = folded(table.column_names)
    label_column = find_label(file, names, line=None)
    index = _index_columns(pyarrow, table, names)
    columns = [c for c in range(len(names)) if c != label_column and c not in index]
    if not table.num_rows or not columns:
        raise DatasetFormatError(file, f"holds {table.num_rows} rows and {len(columns)} columns of values.")
    if any(name in CASE_NAMES and (c not in index or _repeats(table.column(c))) for c, name in enumerate(names)):
        raise DatasetFormatError(
            file,
            "has a column of cases; one row a timepoint is read from .csv only. Write one row a case, with a "
            "list for each channel.",
        )
    are_lists = [_is_list(pyarrow, table.schema.field(c).type) for c in columns]
    if any(are_lists) and not all(are_lists):
        raise DatasetFormatError(file, "mixes columns of lists and of numbers; expected one kind beside the label.")
    if not are_lists[0]:
        check_no_time(file, [names[c] for c in columns], line=None)
        check_values_named(file, [names[c] for c in columns], line=None)
    X = _read_lists(file, pyarrow, table, columns) if are_lists[0] else _read_wide(file, pyarrow, table, columns)
    check_every_case(file, X)
    labels = None if label_column is None else label_texts(table.column(label_column).to_pylist())
    titles = [table.column_names[c].strip() for c in columns] if are_lists[0] else []
    return Contents(X=X, labels=labels, channel_names=named(titles))


def _index_columns(pyarrow: Any, table: Any, names: list[str]) -> set[int]:
    """Return the columns that are a data frame's index: noted as such by pandas, or named as it names them."""
    noted = (table.schema.pandas_metadata or {}).get("index_columns", [])
    noted = {name for name in noted if isinstance(name, str)}  # a range is stored in no column
    return {
        c
        for c, title in enumerate(table.column_names)
        if title in noted
        or names[c].startswith("__index_level_")
        or (is_index(names, c) and not _is_list(pyarrow, table.schema.field(c).type))
    }


def _repeats(column: Any) -> bool:
    return len(column.unique()) < len(column)


def _is_list(pyarrow: Any, kind: Any) -> bool:
    types = pyarrow.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _numbers(file: Path, pyarrow: Any, name: str, column: Any) -> Floats:
    """Return a column of numbers as float64, NaN where it is null."""
    types = pyarrow.types
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_null(column.type)):
        raise DatasetFormatError(
            file,
            f"column {name!r} holds {column.type}; expected numbers. If it is the label, call it one of: "
            f"{', '.join(sorted(LABEL_NAMES))}.",
        )
    values = column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)


def _read_wide(file: Path, pyarrow: Any, table: Any, columns: list[int]) -> Series:
    X = np.empty((table.num_rows, 1, len(columns)))
    titles = table.column_names
    for timepoint, c in enumerate(columns):
        X[:, 0, timepoint] = _numbers(file, pyarrow, titles[c], table.column(c).combine_chunks())
    return X


def _read_lists(file: Path, pyarrow: Any, table: Any, columns: list[int]) -> Series:
    compute = import_extra("pyarrow.compute", "parquet", "Reading .parquet files")
    channels: list[Floats] = []
    lengths: list[np.ndarray[Any, Any]] = []
    for c in columns:
        column = table.column(c).combine_chunks()
        if column.null_count:
            raise DatasetFormatError(file, f"column {table.column_names[c]!r} holds rows without a list.")
        channels.append(_numbers(file, pyarrow, table.column_names[c], compute.list_flatten(column)))
        lengths.append(compute.list_value_length(column).to_numpy(zero_copy_only=False))
    for case, found in enumerate(zip(*lengths, strict=True)):
        if len(set(found)) > 1 or found[0] == 0:
            raise DatasetFormatError(
                file,
                f"the channels of case {case} (counted from 0) have {', '.join(map(str, found))} values; "
                "expected equally many in each, and at least one.",
            )
    flat = np.stack(channels)  # (n_channels, timepoints of all cases)
    return stack_cases([case[None] for case in np.split(flat, np.cumsum(lengths[0])[:-1], axis=1)])

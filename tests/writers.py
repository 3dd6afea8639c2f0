"""Simple writers, one a format, for files whose contents are known to the last bit."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

Cases = list[np.ndarray]
"""One array of shape (n_channels, n_timepoints) per case."""

Writer = Callable[[Path, Cases, list[str]], None]


def _numbers(row: np.ndarray, delimiter: str = ",", missing: str = "NaN") -> str:
    return delimiter.join(missing if np.isnan(value) else repr(float(value)) for value in row)


def write_tsv(file: Path, cases: Cases, labels: list[str], delimiter: str = "\t") -> None:
    rows = [f"{label}{delimiter}{_numbers(case[0], delimiter)}" for case, label in zip(cases, labels, strict=True)]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")


def write_comma_txt(file: Path, cases: Cases, labels: list[str]) -> None:
    write_tsv(file, cases, labels, delimiter=",")


def write_blank_txt(file: Path, cases: Cases, labels: list[str]) -> None:
    rows = [f"  {label}  {_numbers(case[0], '   ')}" for case, label in zip(cases, labels, strict=True)]
    file.write_text("\n".join(rows), encoding="utf-8")


def ts_header(cases: Cases, labels: list[str]) -> str:
    is_equal = len({case.shape[1] for case in cases}) == 1
    length = f"@seriesLength {cases[0].shape[1]}\n" if is_equal else ""
    return (
        "# A comment\n@problemName Toy\n@timeStamps false\n@missing true\n"
        f"@univariate {str(len(cases[0]) == 1).lower()}\n@dimensions {len(cases[0])}\n"
        f"@equalLength {str(is_equal).lower()}\n{length}"
        f"@classLabel true {' '.join(sorted(set(labels)))}\n@data\n"
    )


def write_ts(file: Path, cases: Cases, labels: list[str], missing: str = "?") -> None:
    rows = [
        ":".join([*(_numbers(channel, missing=missing) for channel in case), label])
        for case, label in zip(cases, labels, strict=True)
    ]
    file.write_text(ts_header(cases, labels) + "\n".join(rows) + "\n", encoding="utf-8")


def _arff_classes(labels: list[str]) -> str:
    return "@attribute class {" + ",".join(f"'{label}'" for label in sorted(set(labels))) + "}\n@data\n"


def write_arff(file: Path, cases: Cases, labels: list[str]) -> None:
    attributes = "".join(f"@attribute att{t} numeric\n" for t in range(cases[0].shape[1]))
    rows = [f"{_numbers(case[0], missing='?')},'{label}'\n" for case, label in zip(cases, labels, strict=True)]
    file.write_text("@relation Toy\n" + attributes + _arff_classes(labels) + "".join(rows), encoding="utf-8")


def write_relational_arff(file: Path, cases: Cases, labels: list[str]) -> None:
    attributes = "".join(f"@attribute att{t} numeric\n" for t in range(cases[0].shape[1]))
    header = f"@relation Toy\n@attribute series relational\n{attributes}@end series\n{_arff_classes(labels)}"
    rows = []
    for case, label in zip(cases, labels, strict=True):
        channels = r"\n".join(_numbers(channel, missing="?") for channel in case)
        rows.append(f'"{channels}",{label}\n')
    file.write_text(header + "".join(rows), encoding="utf-8")


def write_csv_wide(file: Path, cases: Cases, labels: list[str]) -> None:
    longest = max(case.shape[1] for case in cases)
    with file.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow([*(f"t{t}" for t in range(longest)), "Label"])
        for case, label in zip(cases, labels, strict=True):
            padding = [""] * (longest - case.shape[1])
            writer.writerow([*(repr(float(value)) for value in case[0]), *padding, label])


def write_csv_bare(file: Path, cases: Cases, labels: list[str]) -> None:
    with file.open("w", newline="", encoding="utf-8") as handle:
        for case, label in zip(cases, labels, strict=True):
            csv.writer(handle, quoting=csv.QUOTE_ALL).writerow([label, *(repr(float(value)) for value in case[0])])


def write_csv_long(file: Path, cases: Cases, labels: list[str]) -> None:
    """Write the timepoints last to first, so that only a reader that sorts by time gets them right."""
    with file.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["case_id", "time", "class", *(f"channel {c}" for c in range(len(cases[0])))])
        for position, (case, label) in enumerate(zip(cases, labels, strict=True)):
            for t in reversed(range(case.shape[1])):
                writer.writerow([f"case {position}", t / 4, label, *(repr(float(value)) for value in case[:, t])])


def write_npz(file: Path, cases: Cases, labels: list[str]) -> None:
    lengths = [case.shape[1] for case in cases]
    X = np.full((len(cases), len(cases[0]), max(lengths)), np.nan)
    for row, case in zip(X, cases, strict=True):
        row[:, : case.shape[1]] = case
    np.savez(file, X=X, y=np.array(labels), lengths=np.array(lengths))


def write_npy(file: Path, cases: Cases, labels: list[str]) -> None:
    np.save(file, np.stack(cases))
    np.save(file.with_name(f"{file.stem}_y.npy"), np.array(labels))


def write_parquet(file: Path, cases: Cases, labels: list[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"channel {c}": [case[c].tolist() for case in cases] for c in range(len(cases[0]))}
    pq.write_table(pa.table({"label": labels, **columns}), file)


def write_parquet_wide(file: Path, cases: Cases, labels: list[str]) -> None:
    import pandas as pd

    frame = pd.DataFrame(np.stack(cases)[:, 0], columns=[f"t{t}" for t in range(cases[0].shape[1])])
    frame["y"] = labels
    frame.to_parquet(file)

"""How fast UCR files are read compared with numpy.loadtxt and pandas.read_csv, and with how much extra memory.

    python benchmarks/reading.py DIR

DIR holds ``<Name>/<Name>_TRAIN.tsv``. The three readers take turns in one run and medians are compared, so a
busy machine slows all alike. Extra memory is the peak while reading, minus the array that is returned, as a
multiple of that array.
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

from millet.datasets.files import load_file

NAMES = ("ItalyPowerDemand", "GunPoint", "ECG5000", "FaceAll", "OSULeaf", "Wafer", "ElectricDevices", "FordA")


def read_with_millet(file: Path) -> np.ndarray:
    return load_file(file).X


def read_with_numpy(file: Path) -> np.ndarray:
    return np.loadtxt(file, delimiter="\t")


def read_with_pandas(file: Path) -> np.ndarray:
    import pandas as pd

    return pd.read_csv(file, sep="\t", header=None).to_numpy()


READERS: tuple[Callable[[Path], np.ndarray], ...] = (read_with_millet, read_with_numpy, read_with_pandas)


def time_readers(file: Path, n_rounds: int) -> list[float]:
    """Return each reader's median seconds; the readers take turns."""
    seconds: list[list[float]] = [[] for _ in READERS]
    for _ in range(n_rounds):
        for reader, taken in zip(READERS, seconds, strict=True):
            start = time.perf_counter()
            reader(file)
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in seconds]


def extra_memory(file: Path) -> float:
    """Return the peak beyond the returned array, in multiples of it."""
    tracemalloc.start()
    X = read_with_millet(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (peak - X.nbytes) / X.nbytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where <Name>/<Name>_TRAIN.tsv are")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each reader (default: 7)")
    arguments = parser.parse_args()
    print("dataset              MB    millet     numpy    pandas   ms/MB   vs best   extra memory")
    found = [file for name in NAMES if (file := arguments.folder / name / f"{name}_TRAIN.tsv").is_file()]
    for file in sorted(found, key=lambda file: file.stat().st_size):
        for reader in READERS:
            reader(file)  # Imports and reading from the disk happen here, for all alike.
        millet, numpy, pandas = time_readers(file, arguments.rounds)
        megabytes = file.stat().st_size / 1e6
        print(
            f"{file.parent.name:17s} {megabytes:5.1f} {millet * 1e3:6.1f} ms {numpy * 1e3:6.1f} ms "
            f"{pandas * 1e3:6.1f} ms {millet * 1e3 / megabytes:7.1f} {millet / min(numpy, pandas):8.2f}x "
            f"{extra_memory(file):12.2f}x"
        )


if __name__ == "__main__":
    main()

"""Shared by all tests: one thread (the machine may be busy), no pictures on screens, small labelled series."""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("MPLBACKEND", "agg")
# Two threads that wait for each other on a busy machine are slower than one.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def aeon_data():
    """The folder of real datasets that the wheel of aeon ships."""
    spec = importlib.util.find_spec("aeon")
    assert spec is not None, "aeon ships the data for this test: pip install 'millet-tsc[dev]'"
    return Path(spec.origin).parent / "datasets" / "data"


@pytest.fixture(scope="session")
def bumps():
    """(X, y): 40 noisy series of 50 timepoints; half of them have a bump at 12 to 19."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1, 50))
    X[20:, 0, 12:20] += 4
    return X, np.repeat(["flat", "bump"], 20)


@pytest.fixture(scope="session")
def page_script():
    """A function that gives a script of docs/scripts as a module, by its name."""

    def load(name):
        file = Path(__file__).parent.parent / "docs" / "scripts" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"page_{name}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def one_thread():
    """Compute with one thread: several wait for each other in loops that take processor time."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)

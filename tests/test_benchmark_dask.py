"""The benchmark on a real Dask cluster of processes, one of which is killed midway."""

import os
import signal
import time

import joblib
import numpy as np
import pytest

from millet import MilletClassifier
from millet.benchmark import load_experiment, read_rows, run_benchmark
from millet.benchmark.backends import open_pool
from millet.errors import ParameterError

EXPERIMENT = """
name = "toy"
datasets = [{ name = "Tiny", n_cases_per_class = 2, classes = ["None", "Peak"], sampling_interval = 240 }]
models = [{ backbones = ["lite"], poolings = ["gap", "conjunctive"] }]
metrics = ["accuracy", "aopcr"]
repeats = 2
training = { n_epochs = 2 }
[tiers.smoke]
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Dask's own making: ports, and a worker that was killed
def test_rows_survive_the_loss_of_a_worker(tmp_path):
    distributed = pytest.importorskip("distributed")
    (tmp_path / "toy.toml").write_text(EXPERIMENT)
    experiment = load_experiment(tmp_path / "toy.toml")
    run_benchmark(experiment, tmp_path / "here", n_jobs=1)
    killed = []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        workers = [worker.pid for worker in cluster.workers.values()]
        for n_jobs, n_cells, n_workers in ((-1, 9, 2), (1, 9, 1), (7, 9, 2), (-1, 1, 1)):
            with open_pool("dask", n_jobs, n_cells, cluster.scheduler_address) as pool:
                assert pool.n_workers == n_workers

        def kill_one(line):
            if not killed:
                killed.append(line)
                os.kill(workers[0], signal.SIGKILL)

        run_benchmark(
            experiment, tmp_path / "there", backend="dask", scheduler=cluster.scheduler_address, say=kill_one
        )
    assert killed
    here, there = (
        {(row["model"], row["repeat"], row["method"]): (row["status"], row["accuracy"]) for row in read_rows(folder)}
        for folder in (tmp_path / "here", tmp_path / "there")
    )
    assert len(read_rows(tmp_path / "there")) == 6
    assert here == there


def test_a_scheduler_that_is_not_there_is_an_error_that_says_how_to_start_one(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("millet.benchmark.backends.CONNECT_SECONDS", 1)
    started = time.monotonic()
    with (
        pytest.raises(ParameterError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:9.*dask scheduler"),
        open_pool("dask", -1, 1, "tcp://127.0.0.1:9"),
    ):
        pass
    assert time.monotonic() - started < 20


@pytest.mark.filterwarnings("ignore")  # of Dask's own making
def test_members_are_trained_by_a_dask_that_works_in_threads(bumps):
    distributed = pytest.importorskip("distributed")
    X, y = bumps
    parameters = {"n_epochs": 1, "n_estimators": 2, "random_state": 0, "verbose": 0}
    alone = MilletClassifier("lite", n_jobs=1, **parameters).fit(X, y).logits(X)
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
    with distributed.Client(**options), joblib.parallel_config("dask"):
        found = MilletClassifier("lite", n_jobs=2, **parameters).fit(X, y)
    assert np.array_equal(found.logits(X), alone)

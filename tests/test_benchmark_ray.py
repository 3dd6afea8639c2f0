"""The benchmark on a real Ray cluster of processes, one of which is killed midway."""

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager

import pytest

from millet.benchmark import load_experiment, read_rows, run_benchmark
from millet.benchmark.backends import RAY_RETRIES, WorkerLostError, open_pool
from millet.benchmark.work import run_cell
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

# Ends when its standard input does, so also with this process, however that one ends.
HEAD = """
import sys, ray
cluster = ray.init(
    address="local", num_cpus=2, object_store_memory=80 * 2**20, include_dashboard=False, log_to_driver=False,
    _node_ip_address="127.0.0.1", _temp_dir=sys.argv[1],
)
print(cluster.address_info["gcs_address"], flush=True)
sys.stdin.read()
"""

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Without this Ray takes 127.0.0.1 for the machine's own address, and listens on all its interfaces.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
    # Else Ray writes one into the home folder. Made once: a process keeps the first that it has seen.
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
}


@pytest.fixture(autouse=True, scope="module")
def ray_on_loopback():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        # Only now: some of these are read when Ray is imported.
        pytest.importorskip("ray")
        yield


@contextmanager
def cluster(**environment):
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="ray") as folder:
        for name, value in environment.items():
            patch.setenv(name, value)
        # Not in tmp_path: the names of sockets must be short.
        command = [sys.executable, "-c", HEAD, folder]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as head:
            address = head.stdout.readline().strip()
            assert address.startswith("127.0.0.1:")
            yield address
            head.stdin.close()
            head.wait()


@pytest.fixture(scope="module")
def address(ray_on_loopback):
    with cluster() as found:
        yield found


def toy(folder):
    (folder / "toy.toml").write_text(EXPERIMENT)
    return load_experiment(folder / "toy.toml")


def outcomes(folder):
    wanted = ("model", "repeat", "status", "accuracy", "aopcr")
    return sorted(tuple(row[name] for name in wanted) for row in read_rows(folder))


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_rows_are_those_of_a_run_on_this_machine_and_survive_the_loss_of_a_worker(address, tmp_path, monkeypatch):
    experiment = toy(tmp_path)
    run_benchmark(experiment, tmp_path / "here", n_jobs=1)
    run_benchmark(experiment, tmp_path / "there", backend="ray", scheduler=address)
    at_work = tmp_path / "at_work"
    at_work.mkdir()

    def noted_cell(job):
        note = at_work / str(os.getpid())
        note.touch()
        result = run_cell(job)
        note.unlink()
        return result

    killed = []

    def kill_one(line):
        for note in [] if killed else list(at_work.iterdir())[:1]:
            os.kill(int(note.name), signal.SIGKILL)
            if note.exists():
                killed.append(note)

    monkeypatch.setattr("millet.benchmark.backends.run_cell", noted_cell)
    run_benchmark(experiment, tmp_path / "lossy", backend="ray", scheduler=address, say=kill_one)
    assert len(killed) == 1
    assert list(at_work.iterdir()) == killed  # It was in the middle of a cell.
    assert len(outcomes(tmp_path / "here")) == 6
    assert outcomes(tmp_path / "here") == outcomes(tmp_path / "there") == outcomes(tmp_path / "lossy")


@pytest.mark.slow
def test_workers_are_kept_busy_and_each_job_is_taken_once(address, monkeypatch):
    n_under_way = []

    def jobs():
        for job in range(5):
            n_under_way.append(job + 1 - len(results))
            yield job

    results = []
    monkeypatch.setattr("millet.benchmark.backends.run_cell", lambda job: 10 * job)
    with open_pool("ray", -1, 5, address) as pool:
        assert pool.n_workers == 2
        for result in pool.stream(jobs().__iter__):
            results.append(result)
    assert sorted(results) == [0, 10, 20, 30, 40]
    assert n_under_way == [1, 2, 2, 2, 2]


@pytest.mark.slow
def test_a_cell_that_kills_every_worker_is_given_up_and_the_others_are_stopped(address, tmp_path, monkeypatch):
    def cell(job):
        (tmp_path / f"{job}-{os.getpid()}").touch()
        if job == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(600)

    monkeypatch.setattr("millet.benchmark.backends.run_cell", cell)
    with open_pool("ray", -1, 2, address) as pool:
        with pytest.raises(WorkerLostError):
            list(pool.stream(iter(["endless", "deadly"]).__iter__))
        assert len(list(tmp_path.glob("deadly-*"))) == 1 + RAY_RETRIES
        (endless,) = tmp_path.glob("endless-*")
        deadline = time.monotonic() + 60
        while is_alive(int(endless.name.partition("-")[2])):
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.slow
def test_a_cell_that_lacks_memory_is_given_up(monkeypatch):
    monkeypatch.setattr("millet.benchmark.backends.run_cell", lambda job: time.sleep(600))
    # Of which more is in use on any machine, so that Ray kills whatever runs.
    with (
        cluster(RAY_memory_usage_threshold="0.0001") as address,
        open_pool("ray", -1, 1, address) as pool,
        pytest.raises(WorkerLostError, match="memory"),
    ):
        list(pool.stream(iter([0]).__iter__))


@pytest.mark.slow
def test_an_error_of_the_code_itself_is_not_taken_for_a_lost_worker(address, monkeypatch):
    def cell(job):
        raise ImportError("no MILLET here")

    monkeypatch.setattr("millet.benchmark.backends.run_cell", cell)
    with open_pool("ray", -1, 1, address) as pool, pytest.raises(ImportError, match="no MILLET here"):
        list(pool.stream(iter([0]).__iter__))


def test_a_cluster_that_is_not_there_is_an_error_that_says_how_to_start_one():
    with (
        pytest.raises(ParameterError, match=r"no Ray cluster at 127\.0\.0\.1:9.*ray start --head"),
        open_pool("ray", -1, 1, "127.0.0.1:9"),
    ):
        pass

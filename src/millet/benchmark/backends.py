"""Backends, where cells run: processes on this machine, Dask or Ray."""

from __future__ import annotations

import functools
import os
import socket
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, final

import joblib
from joblib.externals.loky import ProcessPoolExecutor

from millet.benchmark.job import Job
from millet.benchmark.work import CellResult, run_cell
from millet.errors import ParameterError, import_extra, lookup

CONNECT_SECONDS = 30
# How often a cell whose worker died is given to another one before all are stopped; three times in Dask too.
RAY_RETRIES = 3
# Where libraries read their number of threads when they are loaded.
THREADS_OF = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


class WorkerLostError(Exception):
    """A worker died, and the cells it was running are lost; `job` is the one that killed several, where known."""

    def __init__(self, message: str, job: Job | None = None) -> None:
        super().__init__(message)
        self.job = job


Jobs = Callable[[], Iterator[Job]]
Stream = Callable[[Jobs], Iterator[CellResult]]


@final
@dataclass(frozen=True)
class Pool:
    """Workers that are ready.

    Attributes
    ----------
    n_workers : int
    stream : callable
        From jobs to results as they come. It is given a function that yields what can be run now, asks it again when
        results have come, and takes a job when there is a worker for it. Raises WorkerLostError if a worker died and
        no other took over.
    n_threads : int, optional
        Threads of each worker; None where the cluster decides that.
    owner : int, optional
        The process with which the workers are to end.
    """

    n_workers: int
    stream: Stream
    n_threads: int | None = None
    owner: int | None = None


def _stream(executor: Executor, n_workers: int, jobs: Jobs) -> Iterator[CellResult]:
    """Keep `n_workers` busy, and ask for more jobs whenever a result has come, which may have made some possible."""
    under_way: dict[Future[CellResult], Job] = {}
    while True:
        under_way |= {executor.submit(run_cell, job): job for job in islice(jobs(), n_workers - len(under_way))}
        if not under_way:
            return
        finished, _ = wait(under_way, return_when=FIRST_COMPLETED)
        for future in sorted(finished, key=lambda future: future.exception() is not None):
            job = under_way.pop(future)
            try:
                result = future.result()
            except Exception as error:
                # By name, since Dask may not be installed; it has tried the cell with several workers by then.
                if type(error).__name__ == "KilledWorker":
                    raise WorkerLostError(str(error), job) from error
                raise
            yield result


def _process_stream(n_workers: int, n_threads: int, jobs: Jobs) -> Iterator[CellResult]:
    """Run cells in processes of their own, even with a single worker: if one dies, this process lives on."""
    executor = ProcessPoolExecutor(max_workers=n_workers, env=dict.fromkeys(THREADS_OF, str(n_threads)))
    is_done = False
    try:
        yield from _stream(executor, n_workers, jobs)
        is_done = True
    except BrokenExecutor as error:
        raise WorkerLostError(str(error)) from error
    finally:
        # After an interruption, they would otherwise go on with cells whose results nobody takes.
        executor.shutdown(kill_workers=not is_done)


def _dask_stream(client: Any, n_workers: int, jobs: Jobs) -> Iterator[CellResult]:
    """Hand cells to Dask as futures: joblib's backend for it takes all of a cluster, and asks for jobs only once."""
    executor = client.get_executor(pure=False)
    try:
        yield from _stream(executor, n_workers, jobs)
    finally:
        executor.shutdown(wait=False)  # cancels what is left, after an interruption


def _ray_stream(ray: Any, n_workers: int, jobs: Jobs) -> Iterator[CellResult]:
    """Keep all workers busy by Ray's own means: its joblib backend returns results only when all are there."""
    # Ray itself would retry a cell that lacks memory for ever.
    remote = ray.remote(max_retries=0)(run_cell)
    under_way = {remote.remote(job): (job, RAY_RETRIES) for job in islice(jobs(), n_workers)}
    while under_way:
        (first,), _ = ray.wait(list(under_way), num_returns=1)
        job, n_retries = under_way.pop(first)
        try:
            result: CellResult = ray.get(first)
        except ray.exceptions.RayTaskError:
            # Raised by code in a worker, which is alive: the next one would raise it too.
            raise
        except ray.exceptions.RayError as error:
            if n_retries:
                under_way[remote.remote(job)] = job, n_retries - 1
                continue
            for reference in under_way:
                ray.cancel(reference, force=True)
            raise WorkerLostError(str(error), job) from error
        yield result
        # After the yield: this result may have made an ensemble possible.
        free = n_workers - len(under_way)
        under_way |= {remote.remote(job): (job, RAY_RETRIES) for job in islice(jobs(), free)}


@contextmanager
def local_pool(n_jobs: int, n_cells: int, scheduler: None) -> Iterator[Pool]:
    """Share this machine's cores among processes, no more than there are cores."""
    n_workers = max(1, min(joblib.effective_n_jobs(n_jobs), joblib.cpu_count(), n_cells))
    n_threads = max(1, joblib.cpu_count() // n_workers)
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdigit() and int(limit) > 0:
        n_threads = min(n_threads, int(limit))
    with warnings.catch_warnings():
        # Workers whose memory has grown are replaced on purpose; those that die are reported elsewhere.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor")
        stream = functools.partial(_process_stream, n_workers, n_threads)
        yield Pool(n_workers, stream, n_threads, os.getpid())


@contextmanager
def dask_pool(n_jobs: int, n_cells: int, scheduler: str) -> Iterator[Pool]:
    """Use the workers of a Dask cluster, which see the run folder under the same path."""
    distributed: Any = import_extra("distributed", "dask", "--backend dask")
    try:
        client = distributed.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"There is no Dask scheduler at {scheduler}: {error}. Start one: dask scheduler"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError:
            raise ParameterError(
                f"The Dask scheduler at {scheduler} has no workers: dask worker {scheduler}"
            ) from None
        n_all = sum(client.nthreads().values())
        n_workers = max(1, min(n_all if n_jobs == -1 else n_jobs, n_all, n_cells))
        yield Pool(n_workers, functools.partial(_dask_stream, client, n_workers))


def _knock(scheduler: str) -> None:
    """Find out whether anybody listens: Ray itself goes on trying for minutes."""
    host, _, port = scheduler.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return  # such as "auto": Ray knows where
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ParameterError(
            f"There is no Ray cluster at {scheduler}: {error}. Start one: ray start --head"
        ) from error


@contextmanager
def ray_pool(n_jobs: int, n_cells: int, scheduler: str) -> Iterator[Pool]:
    """Use the workers of a Ray cluster, which see the run folder under the same path."""
    ray: Any = import_extra("ray", "ray", "--backend ray")
    _knock(scheduler)
    try:
        ray.init(address=scheduler, log_to_driver=False)
    except Exception as error:
        raise ParameterError(f"Ray could not be reached at {scheduler}: {error}") from error
    try:
        n_cores = int(ray.cluster_resources().get("CPU", 1))
        n_workers = max(1, min(n_cores if n_jobs == -1 else n_jobs, n_cells))
        yield Pool(n_workers, functools.partial(_ray_stream, ray, n_workers))
    finally:
        ray.shutdown()


BACKENDS: dict[str, Callable[..., Any]] = {"dask": dask_pool, "loky": local_pool, "ray": ray_pool}
ADDRESSES = {
    "dask": "the address of a scheduler: --scheduler tcp://host:8786",
    # Without one, Ray would start here, and listen on every interface of the machine.
    "ray": "the address of a cluster: --scheduler head:6379, or auto",
}


def check_n_jobs(n_jobs: int) -> None:
    """Refuse a number of workers that makes no sense."""
    if n_jobs != -1 and n_jobs < 1:
        raise ParameterError(f"n_jobs must be at least 1, or -1 for all cores; got {n_jobs}.")


def check_place(backend: str, n_jobs: int, scheduler: str | None) -> None:
    """Refuse what `open_pool` can't open, as far as that can be told before anything is started."""
    lookup("backend", backend, BACKENDS)
    check_n_jobs(n_jobs)
    if scheduler is None and backend in ADDRESSES:
        raise ParameterError(f"--backend {backend} needs {ADDRESSES[backend]}")
    if scheduler is not None and backend not in ADDRESSES:
        raise ParameterError(
            f"--scheduler {scheduler} is for --backend dask or ray; processes of this machine need none."
        )


@contextmanager
def open_pool(backend: str, n_jobs: int, n_cells: int, scheduler: str | None) -> Iterator[Pool]:
    """Prepare workers.

    Parameters
    ----------
    backend : {"loky", "dask", "ray"}
    n_jobs : int
        The most workers; -1 is one per core, or all of a cluster. This machine never has more than one per core.
    n_cells : int
        No more workers than this are started.
    scheduler : str, optional
        The address of a cluster.
    """
    check_place(backend, n_jobs, scheduler)
    with BACKENDS[backend](n_jobs, n_cells, scheduler) as pool:
        yield pool

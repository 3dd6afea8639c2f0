"""Members: the networks of an ensemble, trained one after the other or in processes of their own, not in threads.

A member uses the same number of threads whether or not others run beside it, because that number decides the order
of summation: the weights are the same whatever `n_jobs` is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import joblib
import torch
from joblib.parallel import get_active_backend

from millet.nn import MilletNetwork
from millet.nn.turns import turn_to_train
from millet.training.cases import Labelled
from millet.training.history import History
from millet.training.loop import make_fabric, train
from millet.training.memory import reusing_memory
from millet.training.options import Options
from millet.training.recipe import Recipe

# A step on fewer timepoints than this takes longer with two threads than with one.
THREADING_TIMEPOINTS = 2048


@dataclass(frozen=True)
class MemberPlan:
    """One member: a network with its initial weights, and how to train it."""

    network: MilletNetwork
    cases: Labelled
    recipe: Recipe
    options: Options
    device: str
    precision: str


def train_members(plans: Sequence[MemberPlan], n_jobs: int | None) -> list[tuple[MilletNetwork, History]]:
    """Train all members, `n_jobs` of them at a time (-1: as many as there are cores).

    Inside a joblib worker that can only start threads, they are trained one after the other: threads would share
    torch's settings. Trainings that were begun in several threads take turns for the same reason.
    """
    with turn_to_train():  # another training may have changed the number of threads, and will restore it
        threads = threads_per_member(len(plans), _timepoints_per_step(plans[0]))
    workers = min(joblib.effective_n_jobs(n_jobs), len(plans))
    if workers == 1 or getattr(get_active_backend()[0], "uses_threads", False):
        return [_train_member(plan, threads) for plan in plans]
    trained: list[tuple[MilletNetwork, History]] = joblib.Parallel(n_jobs=workers)(
        joblib.delayed(_train_member)(plan, threads) for plan in plans
    )
    return trained


def threads_per_member(n_members: int, timepoints_per_step: int) -> int:
    """Return how many threads a member computes with: its share of the cores if all ran at once.

    One thread finishes a step on few timepoints sooner than several could synchronise.
    """
    if timepoints_per_step < THREADING_TIMEPOINTS:
        return 1
    if n_members == 1:
        return torch.get_num_threads()
    return max(1, min(torch.get_num_threads(), int(joblib.cpu_count()) // n_members))


def _timepoints_per_step(plan: MemberPlan) -> int:
    return plan.recipe.batch_size_for(len(plan.cases)) * int(plan.cases.lengths.max())


def _train_member(plan: MemberPlan, threads: int) -> tuple[MilletNetwork, History]:
    with turn_to_train(), _torch_threads(threads), reusing_memory():
        fabric = make_fabric(plan.device, plan.precision)
        history = train(plan.network, plan.cases, plan.recipe, plan.options, fabric)
    return plan.network.cpu(), history


@contextmanager
def _torch_threads(threads: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)

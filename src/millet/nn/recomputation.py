"""Recomputation: training on very long series without keeping the intermediate results of every layer.

After a block's forward pass only its result is kept; the rest is computed again for the gradients: a third more work,
for the memory of one block instead of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from millet.nn.processes import most_of_processes

# Timepoints in a batch above which blocks are recomputed; InceptionTime keeps some 25 KB for each timepoint.
RECOMPUTE_ABOVE = 200_000

Block = Callable[[Tensor, Tensor | None, Tensor | None], Tensor]

_recomputing = ContextVar("recomputing", default=False)


def recomputing() -> bool:
    """Whether the current pass repeats an earlier one, which running statistics have counted already."""
    return _recomputing.get()


def forgetful(block: nn.Module, compute: Block, x: Tensor, lengths: Tensor | None, valid: Tensor | None) -> Tensor:
    """Return what a block computes from (B, C, T); for very long batches nothing else is kept for the gradients."""
    if torch.is_grad_enabled() and block.training and _n_timepoints(x) > RECOMPUTE_ABOVE:
        kept: Tensor = checkpoint(
            compute,
            x,
            lengths,
            valid,
            use_reentrant=False,
            preserve_rng_state=False,  # blocks draw nothing
            context_fn=_contexts,
        )
        return kept
    return compute(x, lengths, valid)


def _n_timepoints(x: Tensor) -> int:
    """Return the most timepoints of any process: processes meet in every block, so all must recompute it, or none."""
    return most_of_processes(x.shape[0] * x.shape[2], x.device)


def _contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    return nullcontext(), _marked()


@contextmanager
def _marked() -> Iterator[None]:
    before = _recomputing.set(True)
    try:
        yield
    finally:
        _recomputing.reset(before)

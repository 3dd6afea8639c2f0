"""Checkpoints: a member's training, frozen between two epochs in one safetensors file.

Everything random is derived from the seed and the epoch's number, so weights, optimizer and counters are all there
is to keep. No pickle is written or read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from millet.atomic import atomic_path
from millet.errors import StorageError
from millet.training.history import EpochRecord

FORMAT = "millet-checkpoint"
VERSION = 1


@dataclass
class TrainingState:
    """Where a member's training stands after `epoch` finished epochs."""

    epoch: int = 0
    best_loss: float = float("inf")
    elapsed: float = 0.0
    core_elapsed: float | None = 0.0  # None where a checkpoint of an earlier version was resumed
    stale_epochs: int = 0
    finished: str = ""
    records: list[EpochRecord] = field(default_factory=list)
    best_weights: dict[str, Tensor] = field(default_factory=dict)


def save_checkpoint(path: Path, state: TrainingState, weights: dict[str, Tensor], optimizer: dict[str, Any]) -> None:
    """Write everything needed to go on, atomically."""
    tensors = {f"weights/{name}": value for name, value in weights.items()}
    tensors |= {f"best/{name}": value for name, value in state.best_weights.items()}
    scalars: dict[str, dict[str, Any]] = {}
    for parameter, slots in optimizer["state"].items():
        for slot, value in slots.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer/{parameter}/{slot}"] = value
            else:
                scalars.setdefault(str(parameter), {})[slot] = value
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "state": {
            "epoch": state.epoch,
            "best_loss": state.best_loss,
            "elapsed": state.elapsed,
            "core_elapsed": state.core_elapsed,
            "stale_epochs": state.stale_epochs,
            "finished": state.finished,
            "records": [list(record) for record in state.records],
        },
        "optimizer": {"param_groups": optimizer["param_groups"], "scalars": scalars},
    }
    contiguous = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    with atomic_path(path) as temporary:
        # Written here, not by safetensors, so that a full disk raises the usual error.
        temporary.write_bytes(save(contiguous, metadata={"millet": json.dumps(facts)}))


def load_checkpoint(path: Path) -> tuple[TrainingState, dict[str, Tensor], dict[str, Any]]:
    """Read what `save_checkpoint` wrote: state, weights, and the optimizer's state dict."""
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {}).get("millet", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError, ValueError) as error:
        raise StorageError(f"{path} is not a readable checkpoint: {error}. Delete it to start anew.") from None
    if facts.get("format") != FORMAT or facts.get("version") != VERSION:
        raise StorageError(
            f"{path} is not a checkpoint of this version of MILLET (format {facts.get('format')!r}, version "
            f"{facts.get('version')!r}). Delete it to start anew."
        )
    parts: dict[str, dict[str, Tensor]] = {"weights": {}, "best": {}}
    slots: dict[int, dict[str, Any]] = {
        int(parameter): dict(values) for parameter, values in facts["optimizer"]["scalars"].items()
    }
    for name, value in tensors.items():
        part, _, rest = name.partition("/")
        if part == "optimizer":
            parameter, _, slot = rest.partition("/")
            slots.setdefault(int(parameter), {})[slot] = value
        else:
            parts[part][rest] = value
    counters = facts["state"]
    counters.setdefault("core_elapsed", None)
    records = [EpochRecord(*values) for values in counters.pop("records")]
    state = TrainingState(**counters, records=records, best_weights=parts["best"])
    return state, parts["weights"], {"state": slots, "param_groups": facts["optimizer"]["param_groups"]}


def copy_weights(module: torch.nn.Module) -> dict[str, Tensor]:
    """Return a copy of a module's state dict on the CPU, which later steps do not change."""
    return {name: value.detach().cpu().clone() for name, value in module.state_dict().items()}

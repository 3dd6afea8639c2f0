"""The training loop: a network, bags and a recipe in; the trained network out.

The paper's protocol: after every epoch the training set is evaluated in inference mode, and the weights of the epoch
with the lowest loss are kept; a loss of 0 ends training. A recipe may keep the last weights instead. With a
validation set, its loss decides, and training stops when it has not improved for a while.

Lightning Fabric manages devices, precision and processes. Every process sees the whole batch and works on its part of
the rows, so that two processes compute what one would.
"""

from __future__ import annotations

import copy
import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from millet.errors import StorageError, TrainingError, warn_user
from millet.nn import BACKBONES, POOLINGS, MilletNetwork
from millet.nn.turns import seeded
from millet.training.cases import Labelled, inference_batches
from millet.training.checkpoint import TrainingState, copy_weights, load_checkpoint, save_checkpoint
from millet.training.history import EpochRecord, History
from millet.training.options import Options
from millet.training.progress import EpochBar
from millet.training.recipe import Recipe

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def train(
    network: MilletNetwork,
    cases: Labelled,
    recipe: Recipe,
    options: Options | None = None,
    fabric: Fabric | None = None,
) -> History:
    """Train a network in place; it ends with the weights that the recipe keeps, in inference mode.

    Parameters
    ----------
    network : MilletNetwork
    cases : Labelled
        The training cases.
    recipe : Recipe
    options : Options, optional
    fabric : lightning_fabric.Fabric, optional
        Device, precision and processes, already launched; the CPU in single precision by default, whatever the
        recipe says: only `MilletClassifier` reads the recipe's precision.

    Returns
    -------
    History
        One record per epoch.

    Raises
    ------
    TrainingError
        If the loss is not finite in the first epoch, or with the last weights where a recipe keeps those.
    """
    if fabric is None:
        fabric = make_fabric("cpu", "32-true")
    return _Trainer(network, cases, recipe, options or Options(), fabric).run()


def make_fabric(device: str, precision: str, processes: int = 1) -> Fabric:
    """Return a Fabric for one device, or for several processes on it."""
    from lightning_fabric import Fabric

    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it would announce every member's precision
    strategy = "auto" if processes == 1 else "ddp_spawn"
    return Fabric(accelerator=device, devices=processes, strategy=strategy, precision=precision)  # type: ignore[arg-type]


class _Trainer:
    def __init__(
        self, network: MilletNetwork, cases: Labelled, recipe: Recipe, options: Options, fabric: Fabric
    ) -> None:
        self.cases, self.recipe, self.options, self.fabric = cases, recipe, options, fabric
        self.network = network
        make = torch.optim.AdamW if recipe.optimizer == "adamw" else torch.optim.Adam
        # One kernel for all parameters: a step on few short series would otherwise spend most of its time here.
        fused = fabric.device.type in ("cpu", "cuda")
        plain = make(network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=fused)
        # Fabric's wrappers share the network's parameters; evaluation uses the bare network.
        self.wrapped, self.optimizer = fabric.setup(network, plain)
        self.batch_size = recipe.batch_size_for(len(cases))
        self.steps_per_epoch = recipe.steps_per_epoch_for(len(cases))
        self.n_epochs = recipe.n_epochs_for(len(cases))
        self.dtype = next(network.parameters()).dtype
        if self.dtype == torch.float16:
            # The usual 1e-8 is 0 there, as are squares of small gradients: some processors then divide 0 by 0.
            for group in self.optimizer.param_groups:
                group["eps"] = 1e-4
        self.loss_dtype = torch.promote_types(self.dtype, torch.float32)
        weights = options.class_weights
        self.class_weights = (
            None if weights is None else fabric.to_device(torch.tensor(weights, dtype=self.loss_dtype))
        )
        self.state = TrainingState()
        self.snapshot: tuple[TrainingState, dict[str, Tensor], dict[str, Any]] | None = None
        self.started, self.core_started = time.monotonic(), time.process_time()
        self.pass_seconds = 0.0  # of the last pass that selected an epoch

    def run(self) -> History:
        self._resume()
        saved_at = time.monotonic()
        bar = EpochBar(self.n_epochs, self.state.epoch, self.options, show=self.fabric.is_global_zero)
        with bar, self._saving_when_interrupted():
            while not self.state.finished:
                record = self._run_epoch()
                self._take_snapshot()
                bar.update(record, self.state.best_loss)
                if self.state.finished or time.monotonic() - saved_at >= self.options.checkpoint_seconds:
                    self._save()
                    saved_at = time.monotonic()
        if self.state.best_weights:
            self.network.load_state_dict(self.state.best_weights)
        self._check_outcome()
        self.network.dropout.rows = None
        self.network.eval()
        return History(self.state.records)

    def _check_outcome(self) -> None:
        """Refuse last weights that were ruined by the very last step, after which no loss was computed."""
        few = Labelled(self.cases.bags, self.cases.codes, self.cases.positions[: self.batch_size])
        if self.recipe.keep == "last" and not np.isfinite(self._inference_loss(few)):
            raise TrainingError(
                f"The network that training ended with has no finite loss. Lower learning_rate="
                f"{self.recipe.learning_rate}."
            )

    def _resume(self) -> None:
        path = self.options.checkpoint
        if path is not None and path.exists():
            self.state, weights, optimizer = load_checkpoint(path)
            try:
                self.network.load_state_dict(weights)
                self.optimizer.load_state_dict(optimizer)
            except (RuntimeError, ValueError) as error:
                reason = str(error).partition("\n")[0]
                raise StorageError(
                    f"{path} is the checkpoint of another network than this one ({reason}). Choose another "
                    "checkpoint_dir, or delete that one to start anew."
                ) from None
        self.started = time.monotonic() - self.state.elapsed
        self.core_started = time.process_time() - (self.state.core_elapsed or 0.0)

    def _take_snapshot(self) -> None:
        """Remember how things stand between two epochs, since interruptions come in the middle of one."""
        if self.options.checkpoint is not None and self.fabric.is_global_zero:
            state = replace(self.state, records=list(self.state.records))
            self.snapshot = state, copy_weights(self.network), copy.deepcopy(self.optimizer.state_dict())

    def _save(self) -> None:
        if self.options.checkpoint is not None and self.snapshot is not None:
            save_checkpoint(self.options.checkpoint, *self.snapshot)
            self.snapshot = None

    @contextmanager
    def _saving_when_interrupted(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._save()
            raise

    def _run_epoch(self) -> EpochRecord:
        epoch = self.state.epoch
        train_loss = self._take_steps(epoch)
        selection_loss = self._selection_loss(train_loss)
        self.state.elapsed = time.monotonic() - self.started
        if self.state.core_elapsed is not None:
            self.state.core_elapsed = round(time.process_time() - self.core_started, 3)
        finite = bool(np.isfinite(train_loss) and np.isfinite(selection_loss))
        keeps_last = self.recipe.keep == "last" and self.options.validation is None
        best = finite and (keeps_last or selection_loss < self.state.best_loss)
        improved = finite and selection_loss < self.state.best_loss - self.options.tolerance
        rate = self.optimizer.param_groups[0]["lr"]
        record = EpochRecord(
            self.options.member, epoch, train_loss, selection_loss, rate, round(self.state.elapsed, 3), best,
            self.state.core_elapsed,
        )  # fmt: skip
        self.state.stale_epochs = 0 if improved else self.state.stale_epochs + 1
        if best:
            self.state.best_loss = selection_loss
            self.state.best_weights = copy_weights(self.network)
        self.state.epoch += 1
        self.state.records.append(record)
        self.state.finished = self._reason_to_stop(record, finite)
        return record

    def _selection_loss(self, train_loss: float) -> float:
        validation = self.options.validation
        # After a first epoch that took all the time there is nothing to choose from.
        is_only_one = not self.state.best_weights and self._time_is_up()
        if is_only_one or (self.recipe.keep == "last" and validation is None):
            return train_loss
        started = time.monotonic()
        loss = (
            self._inference_loss(self.cases, give_up_above=self.state.best_loss)
            if validation is None
            else self._inference_loss(validation)
        )
        self.pass_seconds = time.monotonic() - started
        return loss

    def _reason_to_stop(self, record: EpochRecord, finite: bool) -> str:
        asked = [callback(record) for callback in self.options.callbacks if self.fabric.is_global_zero]
        stop_asked = self._as_the_first_says(any(isinstance(answer, bool | np.bool_) and answer for answer in asked))
        if not finite:
            self._report_non_finite(record)
            return "the loss was not finite"
        if stop_asked:
            return "a callback asked"
        if record.selection_loss == 0:
            return "the loss reached 0"
        if self.options.validation is not None and self.state.stale_epochs >= self.options.patience:
            return "the validation loss no longer improved"
        if self._time_is_up():
            return "the time was up"
        return "all epochs were run" if self.state.epoch >= self.n_epochs else ""

    def _report_non_finite(self, record: EpochRecord) -> None:
        if not self.state.best_weights:
            parts = _foreign_parts(self.network)
            cause = (
                f" Or {' or '.join(parts)} makes values that are not finite: try it on some cases." if parts else ""
            )
            raise TrainingError(
                f"The loss was not finite in the first epoch (training {record.train_loss}, inference "
                f"{record.selection_loss}). Lower learning_rate={self.recipe.learning_rate}, or set normalise=True."
                f"{cause}"
            )
        warn_user(
            f"The loss was not finite in epoch {record.epoch + 1}; training stopped, and the best weights before it "
            f"are kept (loss {self.state.best_loss:.4g}). Lower learning_rate={self.recipe.learning_rate}.",
            RuntimeWarning,
        )

    def _take_steps(self, epoch: int) -> float:
        """Run one epoch's steps and return their mean loss."""
        order = np.random.default_rng([self.options.seed, epoch]).permutation(len(self.cases))
        total = 0.0
        taken = 0
        self.wrapped.train()
        seed = int(np.random.SeedSequence([self.options.seed, epoch, 1]).generate_state(1)[0])
        # Backbones and poolings that draw random numbers themselves use torch's own generator.
        with (
            seeded(seed, self.fabric.device.type),
            self._drawing_from(torch.Generator(self.fabric.device).manual_seed(seed)),
        ):
            for start in range(0, len(order), self.batch_size):
                if taken and self._time_is_up():
                    break
                self._set_rate(epoch * self.steps_per_epoch + taken)
                chosen = order[start : start + self.batch_size]
                total += self._step(chosen) * len(chosen)
                taken += 1
        seen = min(taken * self.batch_size, len(order))
        return total / seen

    @contextmanager
    def _drawing_from(self, generator: torch.Generator) -> Iterator[None]:
        self.network.dropout.generator = generator
        try:
            yield
        finally:
            self.network.dropout.generator = None

    def _step(self, chosen: NDArray[np.int64]) -> float:
        x, lengths, target = self._tensors(self.cases, chosen)
        rows = self._share_of_rows(len(chosen))
        if self.fabric.world_size > 1:
            self.network.dropout.rows = rows, len(chosen)
        logits = self.wrapped(x[rows], None if lengths is None else lengths[rows]).logits
        loss = F.cross_entropy(
            logits.to(self.loss_dtype),
            target[rows],
            self.class_weights,
            reduction="sum",
            label_smoothing=self.recipe.label_smoothing,
        )
        share = loss / self._scale(target)
        # Processes average their gradients, so each one's share is multiplied by their number.
        self.fabric.backward(share * self.fabric.world_size)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return float(self._sum_over_processes(share.detach()))

    def _inference_loss(self, cases: Labelled, give_up_above: float = math.inf) -> float:
        """Return the mean loss in inference mode, each process evaluating its share of the cases.

        No case has a negative loss, so once the sum so far makes a mean above `give_up_above`, that lower bound is
        returned and the remaining cases are skipped.
        """
        self.wrapped.eval()
        mine = np.arange(self.fabric.global_rank, len(cases), self.fabric.world_size)
        scale = self._scale(torch.from_numpy(cases.codes[cases.positions]))
        enough = give_up_above * scale if self.fabric.world_size == 1 else math.inf
        total = torch.zeros((), dtype=torch.float64)
        with torch.no_grad(), self.fabric.autocast():
            for positions in inference_batches(cases.lengths[mine]):
                x, lengths, target = self._tensors(cases, mine[positions])
                logits = self.network(x, lengths).logits.to(self.loss_dtype)
                total += F.cross_entropy(logits, target, self.class_weights, reduction="sum").cpu()
                if total > enough:
                    break
        return float(self._sum_over_processes(total)) / scale

    def _tensors(self, cases: Labelled, chosen: NDArray[np.int64]) -> tuple[Tensor, Tensor | None, Tensor]:
        """Return values, lengths (None where all are the same) and codes, on the device."""
        batch, codes = cases.batch(chosen)
        x, target = self.fabric.to_device((torch.from_numpy(batch.values).to(self.dtype), codes))
        if (batch.lengths == x.shape[2]).all():
            return x, None, target
        return x, self.fabric.to_device(torch.from_numpy(batch.lengths)), target

    def _scale(self, target: Tensor) -> float:
        """Return what to divide a sum of losses by for their mean; 1 where all weights, and so all losses, are 0."""
        if self.class_weights is None:
            return float(len(target))
        return float(self.class_weights.cpu()[target.cpu()].sum()) or 1.0

    def _share_of_rows(self, n_rows: int) -> slice:
        rank, world = self.fabric.global_rank, self.fabric.world_size
        return slice(rank * n_rows // world, (rank + 1) * n_rows // world)

    def _sum_over_processes(self, value: Tensor) -> Tensor:
        if self.fabric.world_size == 1:
            return value
        summed: Any = self.fabric.all_reduce(value, reduce_op="sum")
        return torch.as_tensor(summed)

    def _set_rate(self, step: int) -> None:
        progress = step / (self.n_epochs * self.steps_per_epoch)
        if self.options.max_time is not None:
            progress = max(progress, self._part_of_time())
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.rate_at(progress)

    def _time_is_up(self) -> bool:
        return self.options.max_time is not None and self._part_of_time() >= 1

    def _part_of_time(self) -> float:
        """Return what part of `max_time` will be over after one more selection pass."""
        assert self.options.max_time is not None
        seconds = float(self._as_the_first_says(time.monotonic() - self.started + self.pass_seconds))
        return seconds / self.options.max_time

    def _as_the_first_says(self, value: Any) -> Any:
        """Return the first process's value in all of them: if each decided by itself, they would diverge."""
        return value if self.fabric.world_size == 1 else self.fabric.broadcast(value)


def _foreign_parts(network: MilletNetwork) -> list[str]:
    """Name the backbone and the pooling where they are not MILLET's own."""
    parts = {
        f"the backbone {type(network.backbone).__name__}": type(network.backbone) in BACKBONES.values(),
        f"the pooling {type(network.pooling).__name__}": type(network.pooling) in POOLINGS.values(),
    }
    return [name for name, is_known in parts.items() if not is_known]

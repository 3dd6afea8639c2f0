"""Networks as subjects: differentiable, and run in torch.

In:  a fitted `MilletClassifier`, or any torch module from (B, C, T) to (B, n_classes).
Out: `NetworkSubject`, for `millet.posthoc.subjects`; its `forward` carries gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from millet.bags import Bags, Batch, as_bags, remove_timepoints
from millet.fitting import choose_hardware
from millet.metrics.models import check_inference, logits_of
from millet.nn import MilletNetwork
from millet.posthoc.subjects import Array, Floats, Subject

if TYPE_CHECKING:
    from millet.classifier import MilletClassifier


@final
class NetworkSubject(Subject):
    """One or several networks, with averaged logits; values are as the networks see them: normalised and filled."""

    def __init__(self, networks: Sequence[nn.Module], bags: Bags, classes: Array | None, batch_size: int) -> None:
        self.networks = networks
        self.removes_timepoints = all(isinstance(network, MilletNetwork) for network in networks)
        parameter = next(networks[0].parameters(), torch.empty(0))
        self._device, self._dtype = parameter.device, parameter.dtype
        super().__init__(bags, classes, batch_size)

    def values(self, case: int) -> Array:
        """Return one case, normalised where the classifier does so, without missing values."""
        return np.asarray(self.bags.batch([case]).values[0])

    def forward(self, x: Tensor, **where: Tensor) -> Tensor:
        """Return the mean logits of the networks, (B, C, T) to (B, n_classes)."""
        x = x.to(self._device, self._dtype)
        logits = [_logits(network(x, **where)) for network in self.networks]
        return logits[0] if len(logits) == 1 else torch.stack(logits).mean(dim=0)

    def ask_shortened(self, values: Array, kept: NDArray[np.bool_]) -> Floats:
        """Remove timepoints as the paper does: those that stay keep their positions."""
        if not self.removes_timepoints:
            return super().ask_shortened(values, kept)
        n_rows, n_timepoints = kept.shape
        whole = Batch(np.broadcast_to(values, (n_rows, *values.shape)), np.full(n_rows, n_timepoints))
        left, positions = remove_timepoints(whole, ~kept)
        return self._judged(left.values, lengths=left.lengths, positions=positions)

    def _ask(self, values: Array) -> Floats:
        return self._judged(values)

    def _judged(self, values: Array, **where: NDArray[np.int64]) -> Floats:
        def run(series: Array) -> Array:
            with torch.inference_mode():
                on_device = {name: torch.from_numpy(array).to(self._device) for name, array in where.items()}
                logits = self.forward(torch.from_numpy(series), **on_device)
                return np.asarray(logits.cpu().double().numpy())

        return logits_of(run, values, len(values), advice="A module must map (B, C, T) to (B, n_classes).")


def classifier_subject(classifier: MilletClassifier, X: Any, batch_size: int) -> NetworkSubject:
    """Return a fitted classifier's networks and the cases, prepared as the classifier prepares them."""
    bags = classifier._bags(X)
    device, _ = choose_hardware(classifier.device, "32-true")
    networks = [network.to(device).eval() for network in classifier.networks_]
    return NetworkSubject(networks, bags, classifier.classes_, batch_size)


def module_subject(module: nn.Module, X: Any, batch_size: int) -> NetworkSubject:
    """Return a torch module and the cases, not normalised; the classes are 0, 1, 2 ..."""
    check_inference(module)
    return NetworkSubject([module], as_bags(X, normalise=False), None, batch_size)


def _logits(output: Any) -> Tensor:
    logits = getattr(output, "logits", output)
    if not isinstance(logits, Tensor):
        raise TypeError(f"a module must return a tensor of logits, or have them in `.logits`; got {type(output)}")
    return logits

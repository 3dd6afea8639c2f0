"""Outputs of networks as arrays for all cases.

In:  `BagOutput`, a batch at a time. Out: what an `Explanation` is made of, for `millet.classifier`.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from millet.bags import Bags
from millet.nn import BagOutput


def on_cpu(output: BagOutput) -> BagOutput:
    """Bring an output to where it becomes arrays, in a precision that NumPy has: bfloat16 is not one."""
    return BagOutput(*(None if part is None else _at_least_single(part.cpu()) for part in output))  # type: ignore[arg-type]


def _at_least_single(part: Tensor) -> Tensor:
    return part.to(torch.promote_types(part.dtype, torch.float32))


@final
class OutputArrays:
    """Arrays for all cases, filled a batch at a time; zeros beyond each case's end."""

    def __init__(self, bags: Bags, n_classes: int) -> None:
        self._shape = (len(bags), n_classes, bags.n_timepoints)
        self._arrays: dict[str, NDArray[np.float64]] = {"logits": np.zeros(self._shape[:2])}
        self._bias: NDArray[np.float64] | None = None

    def add(self, chosen: NDArray[np.int64], output: BagOutput) -> None:
        """Put the output for some cases in its place."""
        self._arrays["logits"][chosen] = output.logits
        for name in ("scores", "attention", "contributions"):
            value = getattr(output, name)
            if value is not None:
                shape = self._shape if value.ndim == 3 else (self._shape[0], self._shape[2])
                array = self._arrays.setdefault(name, np.zeros(shape, dtype=value.numpy().dtype))
                array[chosen, ..., : value.shape[-1]] = value
        if output.bias is not None:
            self._bias = output.bias.numpy()

    @property
    def logits(self) -> NDArray[np.float64]:
        """Return the logits of all cases, (n_cases, n_classes)."""
        return self._arrays["logits"]

    def fields(self) -> dict[str, Any]:
        """Return the arrays by the names that an `Explanation` has for them; nothing can be added any more."""
        for array in self._arrays.values():
            array.setflags(write=False)  # so that the explanation need not copy it
        return {**self._arrays, "bias": self._bias}

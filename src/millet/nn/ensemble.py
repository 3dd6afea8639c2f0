"""Ensembles: the logits of several networks, averaged, so that their evidence still adds up."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from millet.errors import ParameterError
from millet.nn.poolings import BagOutput


def average_outputs(outputs: Sequence[BagOutput]) -> BagOutput:
    """Average the logits and evidence of an ensemble's members.

    The paper's ensembles average the members' outputs. Averaging logits keeps the promise that contributions
    plus bias are the logit; what any member lacks (attention, contributions), the ensemble lacks too.

    Examples
    --------
    >>> import torch
    >>> member = BagOutput(torch.ones(1, 2), torch.ones(1, 2, 3), None, None, None)
    >>> average_outputs([member, member]).logits
    tensor([[1., 1.]])
    """
    if not outputs:
        raise ParameterError("An ensemble needs at least one member; got the outputs of none.")
    if len(outputs) == 1:
        return outputs[0]
    return BagOutput(
        logits=torch.stack([output.logits for output in outputs]).mean(0),
        scores=torch.stack([output.scores for output in outputs]).mean(0),
        attention=_mean_if_all([output.attention for output in outputs]),
        contributions=_mean_if_all([output.contributions for output in outputs]),
        bias=_mean_if_all([output.bias for output in outputs]),
    )


def _mean_if_all(parts: Sequence[Tensor | None]) -> Tensor | None:
    present = [part for part in parts if part is not None]
    return torch.stack(present).mean(0) if len(present) == len(parts) else None

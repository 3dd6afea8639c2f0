"""Networks: backbone, then positions, then dropout, then pooling.

In:  (B, C, T) values from `millet.bags`, lengths (B,) where they differ.
Out: `BagOutput`: one forward pass gives the prediction and its evidence.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache
from typing import Any, TypeVar, final

import torch
from torch import Tensor, nn
from torch.func import functional_call

from millet.checks import integer, number, switch
from millet.errors import ParameterError, SeriesError, lookup
from millet.nn.backbones import FCN, Backbone, InceptionTime, ResNet, valid_timepoints
from millet.nn.dropout import BatchDropout
from millet.nn.lite import Lite
from millet.nn.poolings import POOLINGS, BagOutput, GapPooling

BACKBONES: dict[str, type[Backbone]] = {"fcn": FCN, "inceptiontime": InceptionTime, "lite": Lite, "resnet": ResNet}

T = TypeVar("T", bound=nn.Module)

# Encodings of longer series take much memory to keep, and little time to compute compared with the network.
REMEMBERED_TIMEPOINTS = 20_000
HALF = (torch.bfloat16, torch.float16)
# The axes of what a pooling returns.
EVIDENCE_AXES = {
    "logits": ("B", "n_classes"),
    "scores": ("B", "n_classes", "T"),
    "attention": ("B", "T"),
    "contributions": ("B", "n_classes", "T"),
    "bias": ("n_classes",),
}


def positional_encoding(positions: Tensor, d_model: int) -> Tensor:
    """Return the sines and cosines of Vaswani et al. (2017) for any positions: (..., T) -> (..., T, d_model).

    Positions start at 0 as in the released code (the paper's text says 1). Single precision is the released code's
    too: checkpoints were trained with its rounding. Torch's default, which training in double precision changes, does
    not matter.
    """
    even = torch.arange(0, d_model, 2, device=positions.device, dtype=torch.float32)
    frequency = torch.exp(even * (-math.log(10000.0) / d_model))[:, None]
    angle = positions[..., None, :].to(frequency.dtype) * frequency
    # Laid out like the embeddings that it is added to: neighbouring timepoints are neighbours in memory.
    encoding = angle.new_empty((*positions.shape[:-1], d_model, positions.shape[-1]))
    encoding[..., 0::2, :] = angle.sin()
    encoding[..., 1::2, :] = angle.cos()[..., : d_model // 2, :]
    return encoding.transpose(-1, -2)


def _encoding_of_all(n_timepoints: int, d_model: int, device: torch.device) -> Tensor:
    """Return the encoding of all positions of a series, remembered unless the series is long."""
    make = _remembered_encoding if n_timepoints <= REMEMBERED_TIMEPOINTS else _remembered_encoding.__wrapped__
    return make(n_timepoints, d_model, device)


@lru_cache(maxsize=2)
def _remembered_encoding(n_timepoints: int, d_model: int, device: torch.device) -> Tensor:
    # An ordinary tensor, whoever asks first: one made in inference mode could not be used in training.
    with torch.inference_mode(False):
        return positional_encoding(torch.arange(n_timepoints, device=device), d_model)


@final
class MilletNetwork(nn.Module):
    """A time series classifier that shows its evidence.

    Parameters
    ----------
    n_channels, n_classes : int
        Channels of the input and classes of the output.
    backbone : str, class or Module, default="inceptiontime"
        A name in `BACKBONES`; or a class, called with `n_channels`; or any module that maps (B, C, T) to (B, D, T).
        A module whose ``forward`` takes `lengths` is given them; one that does not is run on one length at a time, so
        that unequal lengths are exact for it too. D is its `d_out`, or is found by a trial run.
    pooling : str, class or Module, default="conjunctive"
        A name in `POOLINGS`; or a class, called with (D, n_classes); or a module that maps (B, T, D) and `valid` to
        a `BagOutput`.
    padding : str, optional
        Padding of a named backbone's convolutions. By default as in the paper: "zeros" for GAP, else "replicate".
    positions : bool, optional
        Whether to add positional encodings. By default as in the paper: not for GAP.
    dropout : float, optional
        Dropout after the positions. By default as in the paper: 0 for GAP, else 0.1.

    Examples
    --------
    >>> import torch
    >>> network = MilletNetwork(n_channels=1, n_classes=3, backbone="fcn").eval()
    >>> output = network(torch.randn(2, 1, 50))
    >>> output.logits.shape, output.scores.shape
    (torch.Size([2, 3]), torch.Size([2, 3, 50]))
    """

    def __init__(
        self,
        n_channels: int,
        n_classes: int,
        backbone: str | type[nn.Module] | nn.Module = "inceptiontime",
        pooling: str | type[nn.Module] | nn.Module = "conjunctive",
        *,
        padding: str | None = None,
        positions: bool | None = None,
        dropout: float | None = None,
    ) -> None:
        super().__init__()
        self.n_channels = integer("n_channels", n_channels, at_least=1)
        self.n_classes = integer("n_classes", n_classes, at_least=1)
        original = pooling == "gap" or pooling is GapPooling or isinstance(pooling, GapPooling)
        self.positions = (not original) if positions is None else switch("positions", positions)
        rate = (0.0 if original else 0.1) if dropout is None else number("dropout", dropout, at_least=0, below=1)
        edge = ("zeros" if original else "replicate") if padding is None else padding
        self.backbone = _build_backbone(backbone, self.n_channels, edge)
        self._backbone_takes_lengths, self._backbone_needs_lengths = _takes_and_needs_lengths(self.backbone)
        self.d_embedding = _embedding_size(self.backbone, self.n_channels)
        self.dropout = BatchDropout(rate)
        self.pooling = _build_pooling(pooling, self.d_embedding, self.n_classes)

    def forward(self, x: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None) -> BagOutput:
        """Classify cases and show the evidence.

        Parameters
        ----------
        x : Tensor of shape (B, C, T)
        lengths : Tensor of shape (B,), optional
            Where each case ends, for cases of unequal length.
        positions : Tensor of shape (T,) or (B, T), optional
            The timepoints' positions where some were removed; 0 to T - 1 by default.

        Returns
        -------
        BagOutput
        """
        self._check(x, lengths, positions)
        if lengths is not None and bool((lengths == x.shape[2]).all()):
            lengths = None
        z = self._embed(x, lengths)
        if self.training:
            return self._show_evidence(z, lengths, positions)
        # Evidence must add up to the logits, whatever precision the embeddings were computed in.
        with torch.autocast(x.device.type, enabled=False) if _autocasting(x.device) else nullcontext():
            precise = torch.promote_types(torch.promote_types(x.dtype, z.dtype), torch.float32)
            return self._show_evidence(z.to(precise), lengths, positions)

    def _show_evidence(self, z: Tensor, lengths: Tensor | None, positions: Tensor | None) -> BagOutput:
        z = z.transpose(1, 2)  # (B, D, T) -> (B, T, D)
        if self.positions:
            encoding = (
                _encoding_of_all(z.shape[1], self.d_embedding, z.device)
                if positions is None
                else positional_encoding(positions, self.d_embedding)
            )
            z = z + encoding.to(z.dtype)
        valid = valid_timepoints(lengths, z.shape[1])
        return self._pool(self.dropout(z), None if valid is None else valid[:, 0])

    def _check(self, x: Tensor, lengths: Tensor | None, positions: Tensor | None) -> None:
        if x.ndim != 3 or x.shape[1] != self.n_channels or x.shape[2] < 1:
            raise SeriesError(
                f"x must be (n_cases, n_channels={self.n_channels}, n_timepoints); got shape {tuple(x.shape)}."
            )
        n_cases, _, n_timepoints = x.shape
        if lengths is not None and (
            lengths.shape != (n_cases,) or bool(((lengths < 1) | (lengths > n_timepoints)).any())
        ):
            raise SeriesError(
                f"lengths must be {n_cases} integers from 1 to {n_timepoints}, one a case of x; "
                f"got {lengths.tolist()}."
            )
        if positions is not None and positions.shape not in ((n_timepoints,), (n_cases, n_timepoints)):
            raise SeriesError(
                f"positions must be ({n_timepoints},) or ({n_cases}, {n_timepoints}), one a timepoint of x; "
                f"got shape {tuple(positions.shape)}."
            )

    def _embed(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        if lengths is None and not self._backbone_needs_lengths:
            return self._run_backbone(x)
        if lengths is None:
            lengths = _all_of_it(x)
        if self._backbone_takes_lengths:
            # Whatever a user's own backbone leaves beyond the end of a case, even NaN, must not reach the pooling.
            beyond = torch.arange(x.shape[2], device=x.device) >= lengths[:, None]
            return self._run_backbone(x, lengths=lengths).masked_fill(beyond[:, None], 0)
        return self._embed_by_length(x, lengths)

    def _run_backbone(self, x: Tensor, **lengths: Tensor) -> Tensor:
        z = self.backbone(x, **lengths)
        wanted = (x.shape[0], self.d_embedding, x.shape[2])
        came = tuple(z.shape) if isinstance(z, Tensor) else type(z).__name__
        if came != wanted:
            raise ParameterError(
                f"A backbone must map (B, C, T) = {tuple(x.shape)} to (B, D, T) = {wanted}, one embedding a "
                f"timepoint; this one gave {came}."
            )
        return z  # type: ignore[no-any-return]

    def _pool(self, z: Tensor, valid: Tensor | None) -> BagOutput:
        weight = next(self.pooling.parameters(), z)
        if self.training or weight.dtype == z.dtype or weight.dtype not in HALF:
            output = self.pooling(z, valid)
        else:
            weights = dict(self.pooling.named_parameters()) | dict(self.pooling.named_buffers())
            precise = {name: w.to(z.dtype) if w.is_floating_point() else w for name, w in weights.items()}
            output = functional_call(self.pooling, precise, (z, valid))
        n_cases, n_timepoints, _ = z.shape
        if not isinstance(output, BagOutput):
            raise ParameterError(
                f"A pooling must return a BagOutput with logits (B, n_classes) = {(n_cases, self.n_classes)}; "
                f"this one gave {type(output).__name__}."
            )
        for name, axes in EVIDENCE_AXES.items():
            part = getattr(output, name)
            wanted = tuple({"B": n_cases, "n_classes": self.n_classes, "T": n_timepoints}[axis] for axis in axes)
            if part is not None and tuple(part.shape) != wanted:
                raise ParameterError(
                    f"A pooling must return a BagOutput with {name} ({', '.join(axes)}) = {wanted}; this one gave "
                    f"{tuple(part.shape)}."
                )
        return output

    def _embed_by_length(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Run a backbone that knows nothing of lengths on the cases of one length at a time."""
        z = x.new_zeros((x.shape[0], self.d_embedding, x.shape[2]))
        for length in sorted(set(lengths.tolist())):
            chosen = lengths == length
            embedded = self._run_backbone(x[chosen, :, :length]).to(z.dtype)
            z = z.index_put((chosen.nonzero()[:, 0],), torch.nn.functional.pad(embedded, (0, x.shape[2] - length)))
        return z


def _autocasting(device: torch.device) -> bool:
    return device.type in ("cpu", "cuda") and torch.is_autocast_enabled(device.type)


def _build_backbone(backbone: Any, n_channels: int, padding: str) -> nn.Module:
    if isinstance(backbone, nn.Module):
        return backbone
    if not _is_module_class(backbone):
        backbone = _find("backbone", backbone, BACKBONES)
    settings = {}
    if issubclass(backbone, Backbone) and "padding" in inspect.signature(backbone).parameters:
        settings["padding"] = padding
    return _make("backbone", backbone, n_channels, **settings)


def _build_pooling(pooling: Any, d_in: int, n_classes: int) -> nn.Module:
    if isinstance(pooling, nn.Module):
        return pooling
    if not _is_module_class(pooling):
        pooling = _find("pooling", pooling, POOLINGS)
    return _make("pooling", pooling, d_in, n_classes)


def _find(kind: str, name: Any, table: dict[str, type[T]]) -> type[T]:
    if not isinstance(name, str):
        raise ParameterError(
            f"{kind} must be a name ({', '.join(table)}), a class of modules, or a module; got {name!r}. Of a "
            "function that makes modules, pass a module that it made."
        )
    return lookup(kind, name, table)


def _is_module_class(candidate: Any) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, nn.Module)


def _make(kind: str, build: Callable[..., nn.Module], *sizes: int, **settings: str) -> nn.Module:
    try:
        return build(*sizes, **settings)
    except TypeError as error:
        raise ParameterError(
            f"The {kind} class can't be called with {sizes}: {error}. "
            "If it needs more than that, pass a module of it."
        ) from error


def _takes_and_needs_lengths(backbone: nn.Module) -> tuple[bool, bool]:
    found = inspect.signature(backbone.forward).parameters.get("lengths")
    return found is not None, found is not None and found.default is inspect.Parameter.empty


def _all_of_it(x: Tensor) -> Tensor:
    """Return the lengths of cases without padding."""
    return torch.full((x.shape[0],), x.shape[2], device=x.device)


def _embedding_size(backbone: nn.Module, n_channels: int) -> int:
    declared = getattr(backbone, "d_out", None)
    if isinstance(declared, int):
        return declared
    was_training = backbone.training
    try:
        with torch.no_grad():
            x = torch.zeros(1, n_channels, 64)
            z = backbone.eval()(x, **({"lengths": _all_of_it(x)} if _takes_and_needs_lengths(backbone)[1] else {}))
    except Exception as error:
        raise ParameterError(
            f"The backbone failed on a series of shape (1, {n_channels}, 64): {error}. A backbone maps (B, C, T) "
            "to (B, D, T); set its attribute `d_out` to D if it can't be tried."
        ) from error
    finally:
        backbone.train(was_training)
    if not isinstance(z, Tensor) or z.ndim != 3 or z.shape[2] != 64:
        came = tuple(z.shape) if isinstance(z, Tensor) else type(z).__name__
        raise ParameterError(
            f"A backbone must map (B, C, T) = (1, {n_channels}, 64) to (B, D, 64), one embedding a timepoint; "
            f"this one gave {came}."
        )
    return int(z.shape[1])

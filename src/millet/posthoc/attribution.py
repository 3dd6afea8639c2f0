"""Methods from captum (extra ``explain``), run by its own code: Kernel SHAP, LIME, occlusion and gradients.

In:  one case as a `Question`; channels of a timepoint are perturbed together, or their attributions summed.
Out: scores per timepoint. Replacement is the only way captum takes timepoints away.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from millet.checks import integer, number
from millet.errors import ParameterError, import_extra
from millet.explanation import Explanation
from millet.posthoc.engine import Answer, Question, Shared, explain_cases
from millet.posthoc.subjects import Array

if TYPE_CHECKING:
    from torch import Tensor

N_SAMPLES = 500


def kernel_shap(model: Any, X: Any, *, n_samples: int = N_SAMPLES, **shared: Unpack[Shared]) -> Explanation:
    """Kernel SHAP of every timepoint (`captum.attr.KernelShap`).

    `shap` estimates the same values faster and can remove timepoints; this one is here for comparison.

    Parameters
    ----------
    model, X
        As for `explain`.
    n_samples : int, default=500
        Coalitions to ask the model about.
    **shared
        See `explain`. All classes share one set of coalitions; there is one regression per class.
    """
    integer("n_samples", n_samples, at_least=3)
    captum = _captum("kernel_shap")
    regress = _regression(captum.KernelShap, n_samples)

    def score(question: Question) -> Answer:
        return regress(question) if question.n_timepoints > 1 else _all_to_the_only_one(question)

    return explain_cases("kernel_shap", score, model, X, shared)


def lime(
    model: Any, X: Any, *, n_samples: int = N_SAMPLES, alpha: float = 0.01, **shared: Unpack[Shared]
) -> Explanation:
    """LIME with a lasso on every timepoint (`captum.attr.Lime`).

    Parameters
    ----------
    model, X
        As for `explain`.
    n_samples : int, default=500
        Random perturbations to ask the model about.
    alpha : float, default=0.01
        Strength of the lasso's penalty, as in captum; the stronger, the more timepoints get 0.
    **shared
        See `explain`. All classes share one set of perturbations; there is one regression per class.
    """
    integer("n_samples", n_samples, at_least=2)
    number("alpha", alpha, above=0)
    captum = _captum("lime")
    linear = import_extra("captum._utils.models.linear_model", "explain", "The method 'lime'")

    def make(forward: Callable[[Tensor], Tensor]) -> Any:
        return captum.Lime(forward, interpretable_model=linear.SkLearnLasso(alpha=alpha))

    return explain_cases("lime", _regression(make, n_samples), model, X, shared)


def occlusion(
    model: Any, X: Any, *, window: int | None = None, stride: int | None = None, **shared: Unpack[Shared]
) -> Explanation:
    """Drop of the output when a sliding window is replaced (`captum.attr.Occlusion`).

    Parameters
    ----------
    model, X
        As for `explain`.
    window : int, optional
        Timepoints replaced at once; by default a twentieth of the case.
    stride : int, optional
        Step between windows; by default a quarter of the window. Where windows overlap, their effects are averaged.
    **shared
        See `explain`. All classes cost no more than one.
    """
    for name, value in (("window", window), ("stride", stride)):
        if value is not None:
            integer(name, value, at_least=1)
    captum = _captum("occlusion")

    def score(question: Question) -> Answer:
        width = min(window or -(-question.n_timepoints // 20), question.n_timepoints)
        n_channels = len(question.values)
        forward, values, replacement = _mixable(question)
        attribution = captum.Occlusion(forward).attribute(
            values,
            sliding_window_shapes=(n_channels, width),
            strides=(n_channels, min(stride or max(1, width // 4), width)),
            baselines=replacement,
            perturbations_per_eval=question.batch_size,
        )
        # All channels of a timepoint have the attribution of the windows they share.
        return Answer(attribution[:, 0].cpu().double().numpy()[question.codes])

    return explain_cases("occlusion", score, model, X, shared)


def integrated_gradients(model: Any, X: Any, *, n_steps: int = 50, **shared: Unpack[Shared]) -> Explanation:
    """Gradients integrated along the path from the baseline to the case (`captum.attr.IntegratedGradients`).

    Parameters
    ----------
    model : MilletClassifier or torch module
        Gradients are taken with respect to the values the network sees, normalised where it normalises.
    X
        As for `explain`.
    n_steps : int, default=50
        Gradients to take along the path.
    **shared
        See `explain`. The cost grows with the number of classes.
    """
    integer("n_steps", n_steps, at_least=1)
    captum = _captum("integrated_gradients")

    def attribute(question: Question, code: int) -> Tensor:
        found: Tensor = captum.IntegratedGradients(_differentiable(question, "integrated_gradients")).attribute(
            _tensor(question.values),
            baselines=_tensor(question.replacement),
            target=code,
            n_steps=n_steps,
            internal_batch_size=question.batch_size,
        )
        return found

    return explain_cases("integrated_gradients", _summed_over_channels(attribute), model, X, shared)


def gradient_x_input(model: Any, X: Any, **shared: Unpack[Shared]) -> Explanation:
    """Multiply the gradient of the logit by the value (`captum.attr.InputXGradient`).

    Parameters
    ----------
    model : MilletClassifier or torch module
    X
        As for `explain`.
    **shared
        See `explain`; `baseline` has no effect, since the method measures from zero.
    """
    captum = _captum("gradient_x_input")

    def attribute(question: Question, code: int) -> Tensor:
        forward = _differentiable(question, "gradient_x_input")
        values = _tensor(question.values).requires_grad_()
        found: Tensor = captum.InputXGradient(forward).attribute(values, target=code)
        return found

    return explain_cases("gradient_x_input", _summed_over_channels(attribute), model, X, shared)


def _captum(feature: str) -> ModuleType:
    import_extra("captum", "explain", f"The method '{feature}'")  # so that the message names the package
    return import_extra("captum.attr", "explain", f"The method '{feature}'")


def _regression(make: Callable[..., Any], n_samples: int) -> Callable[[Question], Answer]:
    """Return how captum's KernelShap or Lime scores a case, one class after the other."""

    def score(question: Question) -> Answer:
        import torch

        from millet.nn.turns import seeded

        n_channels, n_timepoints = question.values.shape
        forward, values, replacement = _mixable(question)
        method = make(_remembering(forward))
        seed = int(question.rng.integers(2**62))
        rows = []
        for code in question.codes.tolist():
            # captum draws from torch's global generator, which is restored afterwards.
            with seeded(seed):
                rows.append(
                    method.attribute(
                        values,
                        baselines=replacement,
                        target=code,
                        feature_mask=torch.arange(n_timepoints).repeat(1, n_channels, 1),
                        n_samples=n_samples,
                        perturbations_per_eval=question.batch_size,
                    )[0, 0]
                )
        return Answer(torch.stack(rows).cpu().double().numpy())

    return score


def _all_to_the_only_one(question: Question) -> Answer:
    """Give a single timepoint the whole difference to its replacement: there are no coalitions to draw."""
    assert question.replacement is not None  # captum's methods replace
    gained = question.logits - question.subject.ask(question.replacement[None])[0]
    return Answer(gained[question.codes][:, None])


def _summed_over_channels(attribute: Callable[[Question, int], Tensor]) -> Callable[[Question], Answer]:
    def score(question: Question) -> Answer:
        import torch

        with torch.inference_mode(mode=False), torch.enable_grad():  # whatever mode the caller is in
            rows = [attribute(question, code).detach()[0].sum(dim=0) for code in question.codes.tolist()]
        return Answer(np.stack([row.cpu().double().numpy() for row in rows]))

    return score


def _tensor(values: Array | None) -> Tensor:
    import torch

    assert values is not None  # these methods are never asked to remove
    return torch.from_numpy(np.array(values)[None])


def _mixable(question: Question) -> tuple[Callable[[Tensor], Tensor], Tensor, Tensor]:
    """Return the model as a function of tensors, without gradients, the case, and what replaces it.

    Captum mixes these two by multiplying them by 0 and 1, but a missing value stays NaN whatever it is multiplied by.
    Where there is one, ones and zeros are mixed instead, and tell which of the two each value is taken from.
    """
    import torch

    case, other = _tensor(question.values), _tensor(question.replacement)
    if not (case.isnan() | other.isnan()).any():
        return lambda x: torch.from_numpy(question.subject.ask(x.numpy())), case, other

    def forward(x: Tensor) -> Tensor:
        return torch.from_numpy(question.subject.ask(torch.where(x > 0.5, case, other).numpy()))

    return forward, torch.ones_like(case), torch.zeros_like(case)


def _differentiable(question: Question, method: str) -> Callable[[Tensor], Tensor]:
    from millet.posthoc.networks import NetworkSubject

    if not isinstance(question.subject, NetworkSubject):
        raise ParameterError(
            f"{method} needs gradients, so a MilletClassifier or a torch module; any other model can be explained by "
            "shap, segment_shap, segment_lime, kernel_shap, lime or occlusion."
        )
    return question.subject.forward


def _remembering(forward: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Return a forward function that asks the model only once about the same input.

    Captum explains one class at a time; with the same seed every class gets the same perturbations.
    """
    known: dict[bytes, Tensor] = {}

    def remember(x: Tensor) -> Tensor:
        key = hashlib.sha256(x.numpy().tobytes()).digest()
        if key not in known:
            known[key] = forward(x)
        return known[key]

    return remember

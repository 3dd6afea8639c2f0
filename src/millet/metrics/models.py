"""Any model as one function: series in, one number per class out.

In:  a `MilletClassifier`, anything of scikit-learn's kind, a torch module, or a plain callable.
Out: logits, or what stands in for them, checked; read by `millet.metrics.perturbation`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millet.bags import as_bags
from millet.errors import MilletError, ParameterError, warn_user
from millet.metrics.inputs import Floats, Mask

# scikit-learn's log loss keeps probabilities away from 0 by this much.
SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)

WANTED = (
    "a fitted MilletClassifier, a model with predict_proba or decision_function, a torch module, or a function from "
    "series to (n_cases, n_classes)"
)


def deletes_timepoints(model: Any) -> bool:
    """Return whether the model can be asked for logits without some timepoints: `logits(X, removed=...)`."""
    method = getattr(model, "logits", None)
    return callable(method) and "removed" in inspect.signature(method).parameters


def logits_of(model: Any, X: Any, n_cases: int, *, removed: Mask | None = None, advice: str = "") -> Floats:
    """Return what a model says about some series: (n_cases, n_classes).

    Parameters
    ----------
    model : object
        The first of these that it has: `logits(X, removed=...)`, taken as it is; `predict_proba`, of which the
        logarithm is taken, with probabilities of at least 2.2e-16; `decision_function`, taken as it is, except that
        for two classes its one number d becomes -d/2 and d/2, whose softmax is the model's; the result of a torch
        module, which is given (B, C, T), cases of one length together and missing values filled; the result of any
        other callable, taken as it is. A scikit-learn estimator that takes only tables is given series of one channel
        as a table. An estimator's method `predict_proba` stands for the estimator.
    X : array or list
        The series, in a form that the model takes.
    n_cases : int
        How many series there are.
    removed : ndarray of bool, shape (n_cases, n_timepoints), optional
        Timepoints to delete; only for models that can do it themselves.
    advice : str
        What to tell the user if the model fails.

    Raises
    ------
    ParameterError
        If the model fails, or returns anything but (n_cases, n_classes) finite numbers.

    Examples
    --------
    >>> logits_of(lambda X: [[series.sum(), 0.0] for series in X], np.ones((1, 1, 5)), 1)
    array([[5., 0.]])
    """
    model = owner_of(model)
    name, call = _output_of(model)
    if removed is not None:
        return _checked(name, _called(name, lambda series: model.logits(series, removed=removed), X, ""), n_cases)
    return _checked(name, _called(name, call, _as_known(model, X), advice), n_cases)


def owner_of(model: Any) -> Any:
    """Return the estimator whose method `predict_proba` was passed in its place, or the model itself."""
    owner = getattr(model, "__self__", None)
    return owner if getattr(model, "__name__", "") == "predict_proba" and hasattr(owner, "predict_proba") else model


def _output_of(model: Any) -> tuple[str, Callable[[Any], Any]]:
    owner = type(model).__name__
    if deletes_timepoints(model):
        return f"{owner}.logits", model.logits
    if hasattr(model, "predict_proba"):
        return f"{owner}.predict_proba", lambda X: _log_probabilities(model.predict_proba(X))
    if hasattr(model, "decision_function"):
        return f"{owner}.decision_function", lambda X: _decisions(model, X)
    networks = sys.modules.get("millet.nn")  # whoever has a network has imported it
    if networks is not None and isinstance(model, networks.MilletNetwork):
        raise ParameterError(
            f"The model must be {WANTED}; got a MilletNetwork, of which "
            "MilletClassifier.of_networks(network) makes a classifier."
        )
    if is_module(model):
        check_inference(model)
        return f"The module {owner!r}", lambda X: _module_output(model, X)
    if callable(model):
        name = getattr(model, "__name__", owner)
        return f"The model {name!r}", lambda X: _warned_of_probabilities(name, model(X))
    raise ParameterError(f"The model must be {WANTED}; got {owner}.")


def is_module(model: Any) -> bool:
    """Return whether the model is a torch module; torch is not loaded to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def check_inference(module: Any) -> None:
    """Refuse a torch module in training mode."""
    if module.training:
        raise ParameterError("The module is in training mode, where its outputs vary; call module.eval() first.")


def _module_output(module: Any, X: Any) -> Any:
    torch = sys.modules["torch"]
    bags = as_bags(X, normalise=False)
    parameter = next(module.parameters(), torch.empty(0))
    logits: list[Any] = [None] * len(bags)
    for length in np.unique(bags.lengths):
        alike = np.flatnonzero(bags.lengths == length)
        with torch.inference_mode():
            output = module(torch.from_numpy(bags.batch(alike).values).to(parameter.device, parameter.dtype))
            rows = getattr(output, "logits", output).cpu().double().numpy()
        for case, row in zip(alike, rows, strict=True):
            logits[case] = row
    return np.stack(logits)


def predicts_otherwise(model: Any) -> bool:
    """Return whether the model has a `predict` that need not give the class with the greatest logit."""
    return not deletes_timepoints(model) and hasattr(model, "predict") and hasattr(model, "classes_")


def predictions_of(model: Any, X: Any) -> NDArray[Any]:
    """Return the labels that an estimator predicts for some series."""
    labels: NDArray[Any] = np.asarray(model.predict(_as_known(model, X)))
    return labels


def _as_known(model: Any, X: Any) -> Any:
    """Return series of one channel as a table, (n_cases, n_timepoints), if the estimator takes nothing else."""
    from sklearn.base import BaseEstimator
    from sklearn.utils import get_tags

    one_channel = isinstance(X, np.ndarray) and X.ndim == 3 and X.shape[1] == 1
    if not one_channel or not isinstance(model, BaseEstimator) or get_tags(model).input_tags.three_d_array:
        return X
    # A pipeline whose first step takes (n_cases, 1, n_timepoints) does not say so, but has counted one column.
    return X if getattr(model, "n_features_in_", None) == 1 else X[:, 0]


def _log_probabilities(probabilities: Any) -> Any:
    array = np.asarray(probabilities, dtype=np.float64)
    if (array < 0).any() or (array > 1 + 1e-6).any():
        raise ValueError(f"probabilities must lie between 0 and 1; got {array.min():g} to {array.max():g}")
    return np.log(np.maximum(array, SMALLEST_PROBABILITY))


def _warned_of_probabilities(name: str, output: Any) -> Any:
    """Return what a function returned, and warn if it looks like probabilities, since logits are expected."""
    array = np.asarray(output)
    if array.ndim == 2 and array.dtype.kind == "f" and (array > 0).all() and np.allclose(array.sum(axis=1), 1.0):
        warn_user(
            f"The function {name!r} seems to return probabilities; a function must return logits. Return their "
            "logarithms, or pass the model itself or its method predict_proba."
        )
    return output


def _decisions(model: Any, X: Any) -> Any:
    array = np.asarray(model.decision_function(X), dtype=np.float64)
    if array.ndim == 1:
        return np.stack([-array / 2, array / 2], axis=1)
    if getattr(model, "decision_function_shape", None) == "ovo":
        raise ParameterError(
            f"The decision_function of this {type(model).__name__} compares classes in pairs; fit one with "
            "decision_function_shape='ovr', which gives one number for each class."
        )
    return array


def _called(name: str, call: Callable[[Any], Any], X: Any, advice: str) -> Any:
    try:
        return call(X)
    except MilletError:
        raise
    except Exception as error:
        shape = getattr(X, "shape", None) or f"a list of {len(X)} series, the first of shape {X[0].shape}"
        problem = f"{type(error).__name__}: {error}".rstrip(".")
        raise ParameterError(f"{name} failed on {shape}: {problem}. {advice}".strip()) from error


def _checked(name: str, output: Any, n_cases: int) -> Floats:
    try:
        array = np.asarray(output, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{name} must return numbers of shape (n_cases, n_classes); got {type(output).__name__}."
        ) from None
    if array.ndim != 2 or len(array) != n_cases or array.shape[1] < 2:
        raise ParameterError(
            f"{name} must return (n_cases, n_classes) numbers, here ({n_cases}, at least 2); got shape {array.shape}."
        )
    if not np.isfinite(array).all():
        case = int((~np.isfinite(array)).any(axis=1).argmax())
        raise ParameterError(f"{name} must return finite numbers; got {array[case].tolist()} for series {case}.")
    return array

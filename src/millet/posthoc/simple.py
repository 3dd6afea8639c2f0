"""The two methods that perturb nothing: class activation maps, and chance."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from millet.errors import ParameterError
from millet.explanation import Explanation
from millet.posthoc.engine import Answer, Question, Shared, explain_cases


def cam(model: Any, X: Any, **shared: Unpack[Shared]) -> Explanation:
    """Class activation maps: the classifier's weights on every timepoint's embedding.

    Zhou et al., "Learning Deep Features for Discriminative Localization" (CVPR 2016). Only a network with global
    average pooling has them. They take one forward pass, and add up to the logits.

    Parameters
    ----------
    model : MilletClassifier or MilletNetwork
        With ``pooling="gap"``.
    X
        As for `explain`.
    **shared
        See `explain`; `baseline` has no effect.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> from millet.nn import MilletNetwork
    >>> network = MilletNetwork(1, 2, "fcn", "gap").eval()
    >>> explanation = cam(network, np.random.default_rng(0).normal(size=(1, 1, 20)))
    >>> bool(explanation.completeness_error()[0] < 1e-5)
    True
    """
    return explain_cases("cam", _activation_map, model, X, shared)


def random(model: Any, X: Any, **shared: Unpack[Shared]) -> Explanation:
    """Scores drawn from a standard normal distribution: what every method has to beat.

    Parameters
    ----------
    model, X
        As for `explain`.
    **shared
        See `explain`; `baseline` has no effect.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> random(lambda X: X[:, 0, :2], np.ones((1, 1, 3))).scores.shape
    (1, 2, 3)
    """
    return explain_cases("random", _chance, model, X, shared)


def _activation_map(question: Question) -> Answer:
    import torch

    from millet.nn import GapPooling, MilletNetwork, average_outputs
    from millet.posthoc.networks import NetworkSubject

    subject = question.subject
    networks = subject.networks if isinstance(subject, NetworkSubject) else []
    gap = [net for net in networks if isinstance(net, MilletNetwork) and isinstance(net.pooling, GapPooling)]
    if not gap or len(gap) < len(networks):
        raise ParameterError(
            "cam needs a MilletClassifier or MilletNetwork with pooling='gap': only there a class activation map is "
            "what the network computes. The other poolings give evidence of their own: model.explain(X)."
        )
    with torch.inference_mode():
        x = torch.from_numpy(question.values[None])
        output = average_outputs([network(x.to(next(network.parameters()))) for network in gap])
    maps = output.scores[0].cpu().double().numpy()[question.codes]
    bias = None if output.bias is None else output.bias.detach().cpu().double().numpy()
    return Answer(maps, maps, bias)


def _chance(question: Question) -> Answer:
    # Drawn for all classes even where one is asked for, so that its scores are the same.
    drawn = question.rng.standard_normal((len(question.logits), question.n_timepoints))
    return Answer(np.asarray(drawn[question.codes]))

"""The zoo: every classifier by the name that commands, experiments and tables use for it.

- features of the fast lane: ``minirocket``, ``multirocket``, ``hydra``, ``multirocket-hydra``;
- ``<pooling>-<backbone>``, such as ``conjunctive-inceptiontime``; a backbone alone has Conjunctive pooling;
- several of these joined by ``+``: the mean of their logits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from millet.contract import EvidenceClassifier
from millet.errors import ParameterError, UnknownNameError, did_you_mean

DEFAULT_POOLING = "conjunctive"


class Recognised(NamedTuple):
    """A kind of classifier, and the parameters that a name stands for."""

    kind: type[EvidenceClassifier]
    parameters: dict[str, str]

    @property
    def options(self) -> list[str]:
        """The parameters that the name leaves open."""
        return [name for name in self.kind._get_param_names() if name not in self.parameters]


def recognise(name: str) -> Recognised:
    """Return what the name of a single model stands for.

    Examples
    --------
    >>> recognise("hydra").parameters, recognise("gap-fcn").parameters
    ({'features': 'hydra'}, {'backbone': 'fcn', 'pooling': 'gap'})
    """
    from millet.rocket.model import TRANSFORMS

    if name in TRANSFORMS:
        from millet.rocket_classifier import RocketMilletClassifier

        return Recognised(RocketMilletClassifier, {"features": name})
    from millet.classifier import MilletClassifier
    from millet.nn import BACKBONES, POOLINGS

    pooling, backbone = name.split("-", 1) if "-" in name else (DEFAULT_POOLING, name)
    if pooling in POOLINGS and backbone in BACKBONES:
        return Recognised(MilletClassifier, {"backbone": backbone, "pooling": pooling})
    known = [*TRANSFORMS, *BACKBONES, *(f"{pooling}-{backbone}" for pooling in POOLINGS for backbone in BACKBONES)]
    raise UnknownNameError(
        f"Unknown model {name!r}; known: {', '.join(TRANSFORMS)}; a backbone ({', '.join(BACKBONES)}); "
        f"or <pooling>-<backbone>, with one of the poolings {', '.join(POOLINGS)}.{did_you_mean(name, known)}"
    )


def make_classifier(name: str, **parameters: Any) -> EvidenceClassifier:
    """Return an unfitted classifier.

    Parameters
    ----------
    name : str
        See `millet.zoo`.
    **parameters
        Parameters of the classifier; if several are averaged, each is given those that it has.

    Raises
    ------
    UnknownNameError
        If no classifier has that name.
    ParameterError
        If no classifier of that name has such a parameter.

    Examples
    --------
    >>> make_classifier("minirocket", random_state=0)
    RocketMilletClassifier(random_state=0)
    >>> make_classifier("hydra+lite", n_epochs=3).classifiers[1]
    MilletClassifier(backbone='lite', n_epochs=3)
    """
    parts = [recognise(part) for part in name.split("+")]
    for parameter in parameters:
        if not any(parameter in part.options for part in parts):
            options = sorted({option for part in parts for option in part.options})
            raise ParameterError(f"The model {name!r} has no parameter {parameter!r}; it has {', '.join(options)}.")
    made = [
        part.kind(**part.parameters, **{key: value for key, value in parameters.items() if key in part.options})
        for part in parts
    ]
    if len(made) == 1:
        return made[0]
    from millet.averaged import AveragedClassifier

    return AveragedClassifier(made)


def count_with(parameter: str, name: str) -> int:
    """Return how many of the classifiers that a name stands for have a parameter.

    Examples
    --------
    >>> count_with("n_epochs", "minirocket"), count_with("n_epochs", "minirocket+lite")
    (0, 1)
    """
    return sum(parameter in recognise(part).options for part in name.split("+"))

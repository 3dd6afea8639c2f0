"""Models and methods of an experiment: what is trained, and what else explains it.

In:  the tables ``[[models]]`` and ``[methods]`` of an experiment file.
Out: `ModelSpec` and `MethodSpec`, checked by building each network once.
"""

from __future__ import annotations

import inspect
import itertools
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from millet.benchmark.tomltable import Table, refuse_duplicates
from millet.checks import number
from millet.errors import MilletError, MissingExtraError, ParameterError, lookup
from millet.nn import BACKBONES, POOLINGS, MilletNetwork
from millet.posthoc import METHODS, explain
from millet.posthoc.coalitions import SAMPLINGS
from millet.report.names import OF_NETWORKS, OWN
from millet.rocket.model import HEADS, SPREADS, TRANSFORMS
from millet.zoo import recognise

NETWORK_SETTINGS = ("padding", "positions", "dropout")
PLURALS = {
    "backbone": "backbones", "pooling": "poolings", "features": "features", "head": "heads", "spread": "spreads",
}  # fmt: skip
# The mean over time of a linear function of convolutions at each timepoint is Instance pooling.
POOLING_OF_ROCKETS = "instance"


@dataclass(frozen=True)
class ModelSpec:
    """One model of the grid.

    Attributes
    ----------
    name : str
        "<pooling>-<backbone>", and the step of an ablation or else the settings where there are any; in the fast
        lane, the features, and head and spread where the experiment names them; for an average, the names of its
        parts, joined by "+".
    backbone, pooling : str
        In the fast lane, the features and "instance"; for an average, those of its parts, joined by "+".
    ensemble : bool
        Whether the repeats are also evaluated together.
    settings : dict
        `padding`, `positions` and `dropout` where the experiment sets them; `step` numbers an ablation's steps. In
        the fast lane, `head` and `spread` where the experiment names them.
    parts : tuple of ModelSpec
        The models whose logits are averaged; empty for a single model.
    """

    name: str
    backbone: str
    pooling: str
    ensemble: bool
    settings: dict[str, Any] = field(default_factory=dict)
    parts: tuple[ModelSpec, ...] = ()

    @property
    def singles(self) -> tuple[ModelSpec, ...]:
        """The parts of an average; for a single model, itself."""
        return self.parts or (self,)

    @property
    def is_rocket(self) -> bool:
        """Whether it belongs to the fast lane: a `RocketMilletClassifier`."""
        return self.backbone in TRANSFORMS

    @property
    def is_network(self) -> bool:
        """Whether it is a `MilletClassifier`."""
        return not (self.parts or self.is_rocket)

    @property
    def network_settings(self) -> dict[str, Any]:
        """The settings that are parameters of `MilletClassifier`."""
        return {name: value for name, value in self.settings.items() if name in NETWORK_SETTINGS}

    def to_dict(self) -> dict[str, Any]:
        """Return it in a form that JSON can hold; the name says all about the parts."""
        return {name: value for name, value in asdict(self).items() if name != "parts"}


@dataclass(frozen=True)
class MethodSpec:
    """A post-hoc method and where it is applied.

    Attributes
    ----------
    name : str
        One in `millet.posthoc.METHODS`, or "own" for what the model itself says.
    n_cases : int, optional
        Test cases to explain, evenly spread over the split; all by default.
    repeats : int, optional
        Explain only this many of the repeats, and no ensembles.
    poolings : tuple of str
        The poolings to explain.
    options : dict
        Options of the method.
    """

    name: str
    n_cases: int | None = None
    repeats: int | None = None
    poolings: tuple[str, ...] = tuple(POOLINGS)
    options: dict[str, Any] = field(default_factory=dict)

    def explains(self, model: ModelSpec) -> bool:
        """Whether it can explain this model, and is meant to."""
        fits = all(single.pooling in self.poolings for single in model.singles)
        return fits and (model.is_network or self.name not in OF_NETWORKS)

    def applies_to(self, model: ModelSpec, repeat: int) -> bool:
        """Whether it explains this repeat (-1: the ensemble) of a model."""
        return self.explains(model) and (self.repeats is None or 0 <= repeat < self.repeats)

    def to_dict(self) -> dict[str, Any]:
        """Return it in a form that JSON can hold."""
        return {**asdict(self), "poolings": list(self.poolings)}


def parse_models(items: list[Any], repeats: int) -> tuple[ModelSpec, ...]:
    """Return the models: names, also of averages, and tables of backbones x poolings or features x heads x spreads.

    Examples
    --------
    >>> [model.name for model in parse_models([{"backbones": ["fcn", "lite"], "poolings": ["gap"]}], repeats=1)]
    ['gap-fcn', 'gap-lite']
    >>> models = parse_models(["hydra", {"features": ["minirocket"], "heads": ["ridge"]}], repeats=1)
    >>> [model.name for model in models]
    ['hydra', 'minirocket-ridge']
    >>> [model.name for model in parse_models(["minirocket+lite"], repeats=1)]
    ['minirocket+conjunctive-lite']
    """
    specs: list[ModelSpec] = []
    for item in items:
        specs += _parse_name(item, repeats) if isinstance(item, str) else _parse_table(item, repeats)
    # An average is the same in whatever order its parts are named.
    refuse_duplicates("[[models]]", ["+".join(sorted(part.name for part in spec.singles)) for spec in specs])
    return tuple(specs)


def _parse_name(name: str, repeats: int) -> list[ModelSpec]:
    """Return the model of a name; for several joined by "+", their average."""
    tables = [
        {PLURALS[key]: [value] for key, value in recognise(part).parameters.items()} for part in name.split("+")
    ]
    parts = tuple(spec for table in tables for spec in _parse_table(table, repeats))
    if len(parts) == 1:
        return [parts[0]]
    names = [part.name for part in parts]
    if len(set(names)) < len(names):
        raise ParameterError(f"The average {name!r} names a model twice; with one seed, both would be the same.")
    backbone, pooling = ("+".join(getattr(part, key) for part in parts) for key in ("backbone", "pooling"))
    return [ModelSpec("+".join(names), backbone, pooling, repeats > 1, parts=parts)]


def _parse_table(item: Any, repeats: int) -> list[ModelSpec]:
    table = Table("[[models]]", item)
    ensemble = table.flag("ensemble", repeats > 1)
    if ensemble and repeats == 1:
        raise ParameterError("ensemble = true in [[models]] needs repeats of at least 2; there is 1.")
    specs = _parse_rockets(table, ensemble) if "features" in table else _parse_networks(table, ensemble)
    table.finish()
    return specs


def _parse_networks(table: Table, ensemble: bool) -> list[ModelSpec]:
    backbones, poolings = table.texts("backbones"), table.texts("poolings")
    settings = _parse_settings(Table("settings in [[models]]", table.take("settings", {})))
    # A network other than the paper's must not bear its name.
    changed = [f"step{settings['step']}"] if "step" in settings else [f"{key}={settings[key]}" for key in settings]
    specs = [
        ModelSpec("-".join([pooling, backbone, *changed]), backbone, pooling, ensemble, settings)
        for backbone in backbones
        for pooling in poolings
    ]
    for spec in specs:
        lookup("backbone", spec.backbone, BACKBONES)
        lookup("pooling", spec.pooling, POOLINGS)
        MilletNetwork(1, 2, spec.backbone, spec.pooling, **spec.network_settings)
    return specs


def _parse_rockets(table: Table, ensemble: bool) -> list[ModelSpec]:
    """Return one model for every combination; what is not named is the default, and not part of the name."""
    choices: list[list[tuple[str, str]]] = []
    for key, known in (("features", TRANSFORMS), ("head", HEADS), ("spread", SPREADS)):
        if PLURALS[key] in table:
            names = table.texts(PLURALS[key])
            for name in names:
                lookup(key, name, dict.fromkeys(known))
            choices.append([(key, name) for name in names])
    specs = []
    for (_, features), *others in itertools.product(*choices):
        name = "-".join([features, *(value for _, value in others)])
        specs.append(ModelSpec(name, features, POOLING_OF_ROCKETS, ensemble, dict(others)))
    return specs


def _parse_settings(table: Table) -> dict[str, Any]:
    """Return the settings that are there; `MilletNetwork` checks the values of its own."""
    settings: dict[str, Any] = {"step": table.integer("step", 1, at_least=1)} if "step" in table else {}
    settings |= {key: table.take(key, None) for key in NETWORK_SETTINGS if key in table}
    if "positions" in settings:
        table.flag("positions", False)
    table.finish()
    return settings


def parse_methods(value: Any, models: tuple[ModelSpec, ...]) -> tuple[MethodSpec, ...]:
    """Return the methods; the models' own explanations always come first.

    Examples
    --------
    >>> models = parse_models([{"backbones": ["fcn"], "poolings": ["gap"]}], repeats=1)
    >>> [method.name for method in parse_methods({"shap": {"n_cases": 3}}, models)]
    ['own', 'shap']
    """
    listed = Table("[methods]", value)
    Table("[methods.own]", listed.take(OWN, {})).finish()
    others = [_parse_method(name, options, models) for name, options in listed.rest().items()]
    return (MethodSpec(OWN), *others)


def _parse_method(name: str, options: Any, models: tuple[ModelSpec, ...]) -> MethodSpec:
    run = lookup("method", name, METHODS)
    table = Table(f"[methods.{name}]", options)
    n_cases = table.optional_integer("n_cases", at_least=1)
    repeats = table.optional_integer("repeats", at_least=1)
    # Only networks with this pooling have class activation maps.
    fitting = ("gap",) if name == "cam" else tuple(POOLINGS)
    poolings = table.texts("poolings") if "poolings" in table else fitting
    for pooling in poolings:
        lookup("pooling", pooling, POOLINGS)
    if others := [pooling for pooling in poolings if pooling not in fitting]:
        raise ParameterError(
            f"poolings in {table.where} must be of {', '.join(fitting)}, the only one with class activation maps; "
            f"got {', '.join(others)}. Leave poolings out."
        )
    spec = MethodSpec(name, n_cases, repeats, poolings, table.rest())
    if not any(spec.explains(model) for model in models):
        kind = "networks with " if name in OF_NETWORKS else ""
        raise ParameterError(f"[methods.{name}] applies to {kind}{', '.join(poolings)}, and there is no such model.")
    known = {key: found.default for key, found in inspect.signature(run).parameters.items() if found.kind is _KEYWORD}
    for option in spec.options:
        _check_option(table, option, lookup(f"option of {name}", option, known))
    _try_out(spec, table.where)
    return spec


def _try_out(spec: MethodSpec, where: str) -> None:
    """Refuse values that the method itself refuses, by asking it about a meaningless series."""
    if not spec.options or spec.name in OF_NETWORKS:
        return
    options = dict(spec.options)
    if isinstance(n_samples := options.get("n_samples"), int):
        options["n_samples"] = min(n_samples, 50)  # too few may be refused, never too many
    try:
        explain(spec.name, lambda X: np.zeros((len(X), 2)), np.arange(8.0)[None], progress=False, **options)
    except MissingExtraError:
        pass  # a plan needs no extras, and the cells will say so
    except MilletError as error:
        raise ParameterError(f"{where} can't be used: {error}") from None


def _check_option(table: Table, option: str, default: Any) -> None:
    """Refuse a value that is not of the default's kind; bounds are up to the method itself."""
    if isinstance(default, bool):
        table.flag(option, default)
    elif isinstance(default, float):
        number(f"{option} in {table.where}", table.take(option, default), above=0)
    elif isinstance(default, str):
        lookup(option, table.text(option, default), SAMPLINGS)
    else:
        table.integer(option, 1, at_least=1)


_KEYWORD = inspect.Parameter.KEYWORD_ONLY

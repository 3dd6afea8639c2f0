"""Experiments: a TOML file in; out, a grid that is checked before anything runs.

A file says what to run for one of the paper's tables, and in the sub-tables of ``[tiers]`` what is different in the
``smoke``, ``short`` and ``paper`` tier: a key there replaces the same key above.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from millet.benchmark.models import MethodSpec, ModelSpec, parse_methods, parse_models
from millet.benchmark.sources import DataSpec, parse_datasets
from millet.benchmark.tomltable import Table
from millet.carried import carried
from millet.datasets.locate import search_folders
from millet.errors import DatasetFormatError, ParameterError, lookup
from millet.evaluation import METRICS
from millet.report.document import TABLES
from millet.training import Recipe, as_recipe
from millet.training.recipe import RECIPES

TIERS = ("smoke", "short", "paper")
N_SEEDS = 2**32  # as many as NumPy's legacy generators accept


@dataclass(frozen=True)
class Experiment:
    """A grid: every dataset x model x repeat.

    Attributes
    ----------
    name, tier : str
    tables : tuple of str
        The tables of the report that its rows fill.
    datasets : tuple of DataSpec
    models : tuple of ModelSpec
    repeats : int
        Trainings of each model on each dataset.
    seed : int
        Repeat r is trained with seed + r, whatever the dataset and model, as in the paper.
    recipe_name : str
        The recipe in words.
    recipe : Recipe
    methods : tuple of MethodSpec
        Post-hoc methods to compare the models' own explanations with.
    metrics : tuple of str
        Names in `millet.evaluation.METRICS`; empty for all that apply.
    examples : int
        Test cases of each class to keep for pictures, with what every method says about them; in the first repeat.
    """

    name: str
    tier: str
    tables: tuple[str, ...]
    datasets: tuple[DataSpec, ...]
    models: tuple[ModelSpec, ...]
    repeats: int
    seed: int
    recipe_name: str
    recipe: Recipe
    methods: tuple[MethodSpec, ...]
    metrics: tuple[str, ...]
    examples: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it in a form that JSON can hold; two experiments are the same if these are."""
        return {
            "name": self.name,
            "tier": self.tier,
            "tables": list(self.tables),
            "datasets": [data.to_dict() for data in self.datasets],
            "models": [model.to_dict() for model in self.models],
            "repeats": self.repeats,
            "seed": self.seed,
            "recipe": self.recipe_name,
            "training": self.recipe.to_dict(),
            "methods": [method.to_dict() for method in self.methods],
            "metrics": list(self.metrics),
            "examples": self.examples,
        }


def load_experiment(
    file: str | PathLike[str], tier: str = "smoke", path: str | PathLike[str] | None = None
) -> Experiment:
    """Read an experiment file, and check all of it.

    Parameters
    ----------
    file : path-like
        A TOML file; ``docs/benchmark.md`` describes its keys. Or the name of one that comes with MILLET: "ucr", say.
    tier : {"smoke", "short", "paper"}
    path : path-like, optional
        Folder with datasets, as for `millet.load_dataset`; names found there may be used besides the archive's.

    Raises
    ------
    DatasetNotFoundError
        If there is no folder `path`.
    DatasetFormatError
        If the file is not TOML.
    UnknownNameError, ParameterError
        If a key or name is unknown, a value makes no sense, a cell appears twice, or the grid is empty.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "toy.toml"
    >>> _ = file.write_text('''
    ... name = "toy"
    ... datasets = ["Coffee"]
    ... models = [{ backbones = ["fcn"], poolings = ["gap", "conjunctive"] }]
    ... tiers = { smoke = { training = { n_epochs = 1 } } }
    ... ''')
    >>> experiment = load_experiment(file, "smoke")
    >>> [model.name for model in experiment.models], experiment.recipe_name
    (['gap-fcn', 'conjunctive-fcn'], 'paper, n_epochs=1')
    """
    search_folders(path)  # refuses one that is not there
    document = _read(Path(file))
    tiers = Table("[tiers]", document.pop("tiers", {}))
    overrides = {name: tiers.take(name, None) for name in TIERS if name in tiers}
    tiers.finish()
    lookup("tier", tier, dict.fromkeys(TIERS))
    if not overrides:
        raise ParameterError(f"{file} has no tiers; add at least one, such as an empty [tiers.{tier}].")
    lookup(f"tier of {file}", tier, overrides)
    chosen = Table(f"[tiers.{tier}]", overrides[tier])
    table = Table(f"{file}", {**document, **chosen.rest()})
    experiment = _parse(table, tier, None if path is None else Path(path))
    table.finish()
    return experiment


def tiers_of(file: str | PathLike[str]) -> list[str]:
    """Return the tiers that a file has, from the smallest to the largest."""
    found = _read(Path(file)).get("tiers", {})
    return [tier for tier in TIERS if tier in found]


def _read(file: Path) -> dict[str, Any]:
    if not file.suffix and not file.is_file():
        files = {known.stem: known for known in carried("experiments", "experiments").glob("*.toml")}
        file = lookup("experiment", str(file), files)
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))  # some editors begin a file with a mark
    except OSError as error:
        raise DatasetFormatError(file, f"can't be read: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DatasetFormatError(file, f"is no TOML: {error}.") from error


def _parse(table: Table, tier: str, path: Path | None) -> Experiment:
    name = table.text("name")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise ParameterError(f"name in {table.where} must consist of letters, digits, - and _; got {name!r}.")
    repeats = table.integer("repeats", 1, at_least=1)
    recipe_name, recipe = _parse_recipe(Table("[training]", table.take("training", {})))
    metrics = table.texts("metrics") if "metrics" in table else ()
    for metric in metrics:
        lookup("metric", metric, METRICS)
    tables = table.texts("tables") if "tables" in table else ()
    for listed in tables:
        lookup("table", listed.replace("-", "_"), TABLES)
    models = parse_models(table.items("models"), repeats)
    return Experiment(
        name=name,
        tier=tier,
        tables=tables,
        datasets=parse_datasets(table.items("datasets"), path),
        models=models,
        repeats=repeats,
        seed=_parse_seed(table, repeats),
        recipe_name=recipe_name,
        recipe=recipe,
        methods=parse_methods(table.take("methods", {}), models),
        metrics=metrics,
        examples=table.integer("examples", 0, at_least=0),
    )


def _parse_seed(table: Table, repeats: int) -> int:
    seed = table.integer("seed", 0, at_least=0)
    if seed + repeats >= N_SEEDS:
        raise ParameterError(
            f"seed + repeats in {table.where} must be below {N_SEEDS}, since each repeat has a seed of its own; got "
            f"{seed} + {repeats}."
        )
    return seed


def _parse_recipe(table: Table) -> tuple[str, Recipe]:
    """Return what to call the recipe, its name and what was changed; and the recipe."""
    name = table.text("recipe", "paper")
    lookup("recipe", name, RECIPES)
    changes = {key: table.take(key, None) for key in as_recipe(name).to_dict() if key in table}
    table.finish()
    words = [name, *(f"{key}={value}" for key, value in changes.items())]
    return ", ".join(words), as_recipe(name, **changes)

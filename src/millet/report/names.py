"""Names: how rows, files and tables call the same model, metric or classifier.

Out: registries that the other modules of `millet.report` walk through.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

BACKBONES = {"fcn": "FCN", "resnet": "ResNet", "inceptiontime": "InceptionTime"}
OTHER_BACKBONES = {"lite": "LITE"}  # that the paper does not have
POOLINGS = {
    "gap": "GAP",
    "attention": "Attention",
    "instance": "Instance",
    "additive": "Additive",
    "conjunctive": "Conjunctive",
}
# GAP is what the paper builds on; it proposes the rest.
MILLET_POOLINGS = tuple(pooling for pooling in POOLINGS if pooling != "gap")
MODELS = tuple(f"{pooling}-{backbone}" for backbone in BACKBONES for pooling in POOLINGS)

OWN = "own"  # the method of rows on what a model itself says

# Epochs that recipes ask for, the paper's among them.
PAPER_EPOCHS = 1500
RECIPE_EPOCHS = {"paper": PAPER_EPOCHS, "fast": 150}

# Methods that look into a network: at its gradients, or its class activations.
OF_NETWORKS = ("cam", "gradient_x_input", "integrated_gradients")
ROCKETS = {
    "minirocket": "MiniRocket",
    "multirocket": "MultiRocket",
    "hydra": "Hydra",
    "multirocket-hydra": "MultiRocket-Hydra",
}

# From the paper's name for a classifier to its column in the bake-off's files.
STATE_OF_THE_ART = {
    "Hydra-MR": "MR-Hydra",
    "FreshPRINCE": "FreshPRINCE",
    "PF": "PF",
    "RDST": "RDST",
    "RSTSF": "R-STSF",
    "WEASEL-D": "WEASEL-2",
    "HC2": "HC2",
}


@dataclass(frozen=True)
class Metric:
    """How a metric is named, shown and filed.

    Attributes
    ----------
    title : str
        Its name in tables.
    authors, bakeoff : str
        Its name in the file names of the published results; empty where they do not have it.
    higher_is_better : bool
        Whether more is better.
    split : str
        The split it is measured on, in the names of the authors' files.
    """

    title: str
    authors: str = ""
    bakeoff: str = ""
    higher_is_better: bool = True
    split: str = "test"


METRICS = {
    "accuracy": Metric("Accuracy", "acc", "accuracy"),
    "balanced_accuracy": Metric("Balanced accuracy", "bal_acc", "balacc"),
    "auroc": Metric("AUROC", "auroc", "auroc"),
    "loss": Metric("Loss", "loss", "logloss", higher_is_better=False),
    "train_loss": Metric("Training loss", "loss", higher_is_better=False, split="train"),
    "aopcr": Metric("AOPCR", "aopcr"),
    "ndcg_at_n": Metric("NDCG@n", "ndcg"),
    "ndcg_at_n_without_all_relevant": Metric("NDCG@n without cases that are relevant throughout"),
}


def with_others(models: Iterable[str]) -> tuple[str, ...]:
    """Return the paper's models, then those of a run that the paper does not have.

    Examples
    --------
    >>> with_others(["gap-fcn", "gap-lite"])[-2:]
    ('conjunctive-inceptiontime', 'gap-lite')
    """
    return tuple(dict.fromkeys((*MODELS, *models)))


def has_networks(name: str) -> bool:
    """Return whether a model, or what serves as its backbone, has networks to train; an average if any part has.

    Examples
    --------
    >>> has_networks("multirocket-hydra"), has_networks("inceptiontime"), has_networks("minirocket+gap-fcn")
    (False, True, True)
    """
    return any(part not in ROCKETS for part in name.split("+"))


def model_title(model: str) -> str:
    """Return a model's name as tables show it.

    Examples
    --------
    >>> model_title("conjunctive-inceptiontime"), model_title("hydra"), model_title("HC2")
    ('Conjunctive InceptionTime', 'Hydra', 'HC2')
    >>> model_title("minirocket+gap-lite")
    'MiniRocket + GAP LITE'
    """
    return " + ".join(_single_title(part) for part in model.split("+"))


def _single_title(model: str) -> str:
    pooling, _, backbone = model.partition("-")
    titles = BACKBONES | OTHER_BACKBONES
    if pooling in POOLINGS and backbone in titles:
        return f"{POOLINGS[pooling]} {titles[backbone]}"
    return ROCKETS.get(model, model)

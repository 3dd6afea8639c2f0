"""Training: recipes, the loop, checkpoints and history."""

from millet.training.callbacks import Callback, TensorBoardCallback
from millet.training.cases import Labelled, inference_batches
from millet.training.history import EpochRecord, History
from millet.training.loop import make_fabric, train
from millet.training.members import MemberPlan, train_members
from millet.training.options import Options
from millet.training.recipe import RECIPES, Recipe, as_recipe

__all__ = [
    "RECIPES",
    "Callback",
    "EpochRecord",
    "History",
    "Labelled",
    "MemberPlan",
    "Options",
    "Recipe",
    "TensorBoardCallback",
    "as_recipe",
    "inference_batches",
    "make_fabric",
    "train",
    "train_members",
]

"""Networks: torch modules and nothing else. Backbones, poolings, and the network that joins them."""

from millet.nn.backbones import FCN, Backbone, InceptionTime, ResNet
from millet.nn.checkpoints import load_authors_checkpoint
from millet.nn.ensemble import average_outputs
from millet.nn.lite import Lite
from millet.nn.network import BACKBONES, MilletNetwork, positional_encoding
from millet.nn.poolings import (
    POOLINGS,
    AdditivePooling,
    AttentionPooling,
    BagOutput,
    ConjunctivePooling,
    GapPooling,
    InstancePooling,
    Pooling,
    pooling_multiplications,
)

__all__ = [
    "BACKBONES",
    "FCN",
    "POOLINGS",
    "AdditivePooling",
    "AttentionPooling",
    "Backbone",
    "BagOutput",
    "ConjunctivePooling",
    "GapPooling",
    "InceptionTime",
    "InstancePooling",
    "Lite",
    "MilletNetwork",
    "Pooling",
    "ResNet",
    "average_outputs",
    "load_authors_checkpoint",
    "pooling_multiplications",
    "positional_encoding",
]

"""Checkpoints of the authors' released code, read into our networks.

In:  a ``state_dict`` file with two parts, ``feature_extractor.*`` and ``pool.*``.
Out: a `MilletNetwork` in inference mode, with the same logits and scores.
"""

from __future__ import annotations

import pickle
import re
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import torch
from torch import Tensor

from millet.errors import ParameterError, StorageError, lookup, warn_user
from millet.nn.network import MilletNetwork, positional_encoding
from millet.nn.poolings import POOLINGS

# Their names, as patterns, and ours. Blocks and layers have the same numbers.
_NAMES = {
    "fcn": [
        (r"instance_encoder\.(\d)\.conv_block\.0\.", r"blocks.\1.convolution."),
        (r"instance_encoder\.(\d)\.conv_block\.1\.", r"blocks.\1.norm."),
    ],
    "resnet": [
        (r"instance_encoder\.(\d)\.layers\.(\d)\.conv_block\.0\.", r"blocks.\1.blocks.\2.convolution."),
        (r"instance_encoder\.(\d)\.layers\.(\d)\.conv_block\.1\.", r"blocks.\1.blocks.\2.norm."),
        (r"instance_encoder\.(\d)\.residual\.0\.", r"blocks.\1.shortcut."),
        (r"instance_encoder\.(\d)\.residual\.(?:1\.)?(?=[a-z])", r"blocks.\1.shortcut_norm."),
    ],
    "inceptiontime": [
        (
            r"instance_encoder\.(\d)\.inception_modules\.(\d)\.bottleneck\.",
            r"blocks.\1.inceptions.\2.bottleneck.",
        ),
        (
            r"instance_encoder\.(\d)\.inception_modules\.(\d)\.conv_layers\.(\d)\.",
            r"blocks.\1.inceptions.\2.convolutions.\3.",
        ),
        (
            r"instance_encoder\.(\d)\.inception_modules\.(\d)\.max_pooling_w_bottleneck\.1\.",
            r"blocks.\1.inceptions.\2.after_pool.",
        ),
        (
            r"instance_encoder\.(\d)\.inception_modules\.(\d)\.activation\.0\.",
            r"blocks.\1.inceptions.\2.norm.",
        ),
        (r"instance_encoder\.(\d)\.residual\.0\.", r"blocks.\1.shortcut."),
        (r"instance_encoder\.(\d)\.residual\.1\.", r"blocks.\1.shortcut_norm."),
    ],
}
_POOL_NAMES = [
    (r"attention_head\.0\.", "attend.hidden."),
    (r"attention_head\.2\.", "attend.out."),
    (r"(?:bag|instance)_classifier\.", "classify."),
]
_POSITIONS = "positional_encoding.pe"
# Files in half precision round them.
POSITIONS_AGREE = 0.01


def load_authors_checkpoint(
    path: str | PathLike[str], padding: str | None = None, *, pooling: str | None = None
) -> MilletNetwork:
    """Read a checkpoint of the authors' released code.

    Backbone, channels, classes and pooling are recognised by the names and shapes in the file, with two exceptions.
    Additive and Conjunctive have the same parameters: the name of the file, or of its folder, decides between them
    if it contains either word; otherwise the file is taken for Conjunctive, with a warning. And no file records the
    padding of its convolutions. The released code replicates the edges unless told otherwise; the paper's GAP
    baselines padded with zeros.
    `MilletClassifier.of_networks` turns the network into a classifier, for predictions, evidence and metrics.

    Parameters
    ----------
    path : path-like
        A ``state_dict`` saved by torch; read with ``weights_only=True``.
    padding : str, optional
        Padding of the convolutions, which the file does not record; by default "replicate", with a warning for GAP.
    pooling : str, optional
        "additive" or "conjunctive", where the file leaves it open.

    Returns
    -------
    MilletNetwork
        In inference mode. Files may have any number of channels and classes.

    Raises
    ------
    StorageError
        If the file is not such a checkpoint.
    """
    parts = _read_parts(Path(path))
    features, pool = parts["feature_extractor"], parts["pool"]
    backbone = _backbone_of(features, path)
    name = _pooling_of(pool, Path(path), pooling)
    if padding is None and name == "gap":
        warn_user(
            f"{path} does not tell the padding of its convolutions; it is taken for 'replicate', which the released "
            "code does. The paper's GAP baselines padded with zeros: pass padding='zeros' for one of these, or "
            "padding='replicate'."
        )
    _check_positions(pool, path)
    network = MilletNetwork(
        n_channels=_n_channels(features, backbone, path),
        n_classes=_shape(pool, "classifier.weight", 2, path)[0],
        backbone=backbone,
        pooling=_sized_pooling(name, pool, path),
        padding=padding or "replicate",
        positions=_POSITIONS in pool,
    )
    d_in = network.pooling.classify.in_features  # type: ignore[union-attr]
    if d_in != network.d_embedding:
        raise StorageError(
            f"{path} is damaged, or of another size: its classifier takes embeddings of {d_in}, and those of the "
            f"paper's {backbone} are of {network.d_embedding}."
        )
    state = {f"backbone.{_rename(key, _NAMES[backbone])}": value for key, value in features.items()}
    state |= {f"pooling.{_rename(key, _POOL_NAMES)}": value for key, value in pool.items() if key != _POSITIONS}
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise StorageError(f"{path} is not a checkpoint of a {backbone} with {name} pooling: {error}") from None
    whole = [name for name, value in state.items() if not value.is_floating_point() and "num_batches" not in name]
    if whole:
        raise StorageError(f"{path} holds {state[whole[0]].dtype} weights ({whole[0]}); they must not be quantised.")
    broken = [name for name, value in network.state_dict().items() if not value.isfinite().all()]
    if broken:
        raise StorageError(f"{path} is damaged, or its training diverged: {broken[0]} is not finite.")
    return network.eval()


def _read_parts(path: Path) -> dict[str, dict[str, Tensor]]:
    try:
        _check_sums(path)
        state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise StorageError(f"{path} does not exist.") from None
    except pickle.UnpicklingError:
        raise StorageError(
            f"{path} holds more than weights, which could run any code when it is read, or is damaged. Save the "
            "state_dict alone: torch.save(network.state_dict(), path)."
        ) from None
    except StorageError:
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise StorageError(
            f"{path} is not a file of weights that torch can read, or is cut off ({reason})."
        ) from None
    try:
        networks = {prefix: parts for prefix, parts in _networks_in(state).items() if all(parts.values())}
    except RecursionError:
        raise StorageError(f"{path} nests without end: not a released checkpoint.") from None
    if not networks:
        raise StorageError(f"{path} has no `feature_extractor.*` and `pool.*` weights: not a released checkpoint.")
    if len(networks) > 1:
        raise StorageError(
            f"{path} holds several networks: {', '.join(sorted(networks))}. Save the state_dict of one alone."
        )
    return next(iter(networks.values()))


def _check_sums(path: Path) -> None:
    """Refuse a file whose parts have changed since it was saved, for which torch does not look."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as file:
            damaged = file.testzip()
        if damaged:
            raise StorageError(f"{path} is damaged: the part {damaged} has another checksum than when it was saved.")


def _networks_in(state: object, prefix: str = "") -> dict[str, dict[str, dict[str, Tensor]]]:
    """Return the two parts of every network in a file, however deeply nested, by the prefix of their names."""
    found: dict[str, dict[str, dict[str, Tensor]]] = {}
    if not isinstance(state, Mapping):
        return found
    for key, value in state.items():
        match = re.fullmatch(r"(.*?)(?:^|(?<=\.))(feature_extractor|pool)\.(.+)", str(key))
        if isinstance(value, Mapping):
            found |= _networks_in(value, f"{prefix}{key}.")
        elif match and isinstance(value, Tensor):
            parts = found.setdefault(f"{prefix}{match[1]}", {"feature_extractor": {}, "pool": {}})
            parts[match[2]][match[3]] = value
    return found


def _check_positions(pool: Mapping[str, Tensor], path: object) -> None:
    """Refuse positional encodings of other positions than ours, which take their place."""
    if _POSITIONS not in pool:
        return
    theirs = pool[_POSITIONS].float().squeeze()
    if theirs.ndim == 2:
        ours = positional_encoding(torch.arange(len(theirs)), theirs.shape[1])
        if bool(((ours - theirs).abs() < POSITIONS_AGREE).all()):
            return
    raise StorageError(
        f"The positional encodings in {path} are not those of the released code, which this network would add."
    )


def _backbone_of(features: Mapping[str, Tensor], path: object) -> str:
    joined = " ".join(features)
    if "inception_modules" in joined:
        return "inceptiontime"
    if ".layers." in joined:
        return "resnet"
    if ".conv_block." in joined:
        return "fcn"
    raise StorageError(f"{path} holds none of the backbones FCN, ResNet and InceptionTime.")


def _n_channels(features: Mapping[str, Tensor], backbone: str, path: object) -> int:
    first = {
        "fcn": "instance_encoder.0.conv_block.0.weight",
        "resnet": "instance_encoder.0.layers.0.conv_block.0.weight",
        "inceptiontime": "instance_encoder.0.residual.0.weight",
    }[backbone]
    return _shape(features, first, 3, path)[1]


def _pooling_of(pool: Mapping[str, Tensor], path: Path, asked: str | None) -> str:
    attends = any(key.startswith("attention_head.") for key in pool)
    per_timepoint = any(key.startswith("instance_classifier.") for key in pool)
    if not (attends and per_timepoint):
        found = "attention" if attends else "instance" if per_timepoint else "gap"
        if asked not in (None, found):
            raise ParameterError(f"{path} is a checkpoint with {found} pooling, not {asked!r}.")
        return found
    if asked is not None:
        lookup("pooling", asked, {"additive": None, "conjunctive": None})
        return asked
    for part in (path.name, path.parent.name):
        for name in ("additive", "conjunctive"):
            if name in part.lower():
                return name
    warn_user(
        f"{path.name} may hold Additive or Conjunctive pooling, which have the same parameters; it is taken for "
        "Conjunctive. Pass pooling='additive' if it is not."
    )
    return "conjunctive"


def _sized_pooling(name: str, pool: Mapping[str, Tensor], path: object) -> torch.nn.Module:
    n_classes, d_in = _shape(pool, "classifier.weight", 2, path)
    if name in ("gap", "instance"):
        return POOLINGS[name](d_in, n_classes)
    d_attention = _shape(pool, "attention_head.0.weight", 2, path)[0]
    return POOLINGS[name](d_in, n_classes, d_attention)


def _shape(part: Mapping[str, Tensor], ending: str, n_dimensions: int, path: object) -> tuple[int, ...]:
    for key, value in part.items():
        if key.endswith(ending) and value.ndim == n_dimensions and value.numel():
            return tuple(value.shape)
    raise StorageError(f"{path} lacks the weights {ending!r}: not a released checkpoint, or a damaged one.")


def _rename(key: str, names: list[tuple[str, str]]) -> str:
    for theirs, ours in names:
        if re.match(theirs, key):
            return re.sub(theirs, ours, key, count=1)
    return key

"""Claims about reading the released checkpoints, made here under their names by `naive_nn.AuthorsNetwork`."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from millet import MilletClassifier, load_classifier
from millet.bags import ChannelScale
from millet.errors import ParameterError, StorageError, UnknownNameError
from millet.metrics import perturbation_curve
from millet.nn import POOLINGS, AdditivePooling, ConjunctivePooling, MilletNetwork, load_authors_checkpoint
from millet.viewer import model_facts
from naive_nn import AuthorsNetwork, copy_weights, fill_by_formula

POSITIONS = "pool.positional_encoding.pe"
PAPER_BACKBONES = ["fcn", "inceptiontime", "resnet"]


def save_as_the_authors(network: MilletNetwork, backbone: str, pooling: str, path: Path) -> AuthorsNetwork:
    """Write the weights under the authors' names."""
    theirs = AuthorsNetwork(backbone, pooling, network.n_channels, network.n_classes, "replicate")
    torch.save(copy_weights(network, theirs).state_dict(), path)
    return theirs


def unusual_network(backbone: str, pooling: str, n_channels: int, n_classes: int) -> MilletNetwork:
    """Return a network in inference mode whose batch statistics are not those of a new one."""
    network = MilletNetwork(n_channels, n_classes, backbone, pooling, padding="replicate").eval()
    for name, tensor in network.state_dict().items():
        if name.endswith("running_mean"):
            tensor.uniform_(-0.5, 0.5)
        elif name.endswith("running_var"):
            tensor.uniform_(0.5, 1.5)
    return network


@pytest.mark.filterwarnings("ignore:.*does not tell the padding")
@pytest.mark.parametrize("backbone", PAPER_BACKBONES)
@pytest.mark.parametrize("pooling", sorted(POOLINGS))
@pytest.mark.parametrize(("n_channels", "n_classes"), [(1, 2), (1, 5), (3, 2), (3, 5)])
@torch.inference_mode()
def test_a_checkpoint_predicts_what_its_network_predicted(tmp_path, backbone, pooling, n_channels, n_classes):
    network = unusual_network(backbone, pooling, n_channels, n_classes)
    path = tmp_path / f"{pooling.capitalize()}.pth"
    theirs = save_as_the_authors(network, backbone, pooling, path)
    loaded = load_authors_checkpoint(path)
    assert not loaded.training
    assert type(loaded.pooling) is POOLINGS[pooling]
    x = torch.randn(2, n_channels, 30)
    output, expected = loaded(x), network(x)
    assert torch.equal(output.logits, expected.logits)
    assert torch.equal(output.scores, expected.scores)
    logits, scores = theirs(list(x))
    torch.testing.assert_close(output.logits, logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(output.scores, torch.stack(scores), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("n_channels", [2, 64, 128])
@torch.inference_mode()
def test_a_resnet_of_64_channels_has_a_first_shortcut_without_convolution(tmp_path, n_channels):
    network = unusual_network("resnet", "instance", n_channels, 3)
    path = tmp_path / "checkpoint.pth"
    save_as_the_authors(network, "resnet", "instance", path)
    has_convolution = "feature_extractor.instance_encoder.0.residual.0.weight" in torch.load(path, weights_only=True)
    assert has_convolution == (n_channels != 64)
    x = torch.randn(2, n_channels, 20)
    assert torch.equal(load_authors_checkpoint(path)(x).logits, network(x).logits)


# Weights by `fill_by_formula`, the series sin(t / 3) of 25 timepoints, 2 classes.
GOLDEN = {
    ("fcn", "additive"): [-0.94227, -0.19359],
    ("fcn", "attention"): [-0.94227, -0.19359],
    ("fcn", "conjunctive"): [-1.52934, -0.67608],
    ("fcn", "gap"): [7.38726, -1.74609],
    ("fcn", "instance"): [9.22519, 0.00125],
    ("inceptiontime", "additive"): [-1.28754, 0.83064],
    ("inceptiontime", "attention"): [-1.28754, 0.83064],
    ("inceptiontime", "conjunctive"): [-1.77060, 0.30949],
    ("inceptiontime", "gap"): [20.61251, -0.78104],
    ("inceptiontime", "instance"): [19.66960, -0.98840],
    ("resnet", "additive"): [-6.82713, -0.61372],
    ("resnet", "attention"): [-6.82713, -0.61372],
    ("resnet", "conjunctive"): [-6.84662, -0.83089],
    ("resnet", "gap"): [10.26743, -5.44175],
    ("resnet", "instance"): [21.14930, -2.81995],
}


@pytest.mark.parametrize("backbone", PAPER_BACKBONES)
@pytest.mark.parametrize("pooling", sorted(POOLINGS))
@torch.inference_mode()
def test_known_weights_give_known_numbers(tmp_path, backbone, pooling):
    oracle = fill_by_formula(AuthorsNetwork(backbone, pooling, 1, 2))
    path = tmp_path / f"{pooling}.pth"
    torch.save(oracle.state_dict(), path)
    x = torch.sin(torch.arange(25.0) / 3)[None, None]
    output = load_authors_checkpoint(path, "replicate")(x)
    logits, scores = oracle(list(x))
    torch.testing.assert_close(output.logits, logits, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(output.scores[0], scores[0], atol=1e-4, rtol=1e-4)
    np.testing.assert_allclose(output.logits[0], GOLDEN[backbone, pooling], atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("padding", ["zeros", "reflect", "circular"])
@torch.inference_mode()
def test_the_padding_is_what_the_caller_says(tmp_path, padding):
    network = unusual_network("fcn", "instance", 1, 2)
    path = tmp_path / "checkpoint.pth"
    torch.save(copy_weights(network, AuthorsNetwork("fcn", "instance", 1, 2)).state_dict(), path)
    oracle = copy_weights(network, AuthorsNetwork("fcn", "instance", 1, 2, padding))
    x = torch.randn(2, 1, 20)
    torch.testing.assert_close(load_authors_checkpoint(path, padding)(x).logits, oracle(list(x))[0])
    with pytest.raises(UnknownNameError, match="Did you mean 'zeros'"):
        load_authors_checkpoint(path, "zero")


@pytest.fixture
def weights() -> dict[str, torch.Tensor]:
    return AuthorsNetwork("fcn", "conjunctive", 1, 2).state_dict()


@pytest.mark.parametrize(("name", "kind"), [
    ("FCN-Additive.pth", AdditivePooling), ("additive_fcn.pth", AdditivePooling),
    ("ConjunctiveFCN.pth", ConjunctivePooling), ("fcn-CONJUNCTIVE.pth", ConjunctivePooling),
])  # fmt: skip
def test_the_files_name_tells_additive_from_conjunctive(tmp_path, weights, name, kind):
    torch.save(weights, tmp_path / name)
    assert type(load_authors_checkpoint(tmp_path / name).pooling) is kind


def test_without_such_a_name_it_is_conjunctive_with_a_warning(tmp_path, weights):
    path = tmp_path / "model.pth"
    torch.save(weights, path)
    with pytest.warns(UserWarning, match="may hold Additive or Conjunctive.*pooling='additive'") as caught:
        network = load_authors_checkpoint(path)
    assert type(network.pooling) is ConjunctivePooling
    assert caught[0].filename == __file__


@pytest.mark.parametrize(("pooling", "kind"), [("additive", AdditivePooling), ("conjunctive", ConjunctivePooling)])
def test_what_the_caller_says_of_the_pooling_decides(tmp_path, weights, pooling, kind):
    path = tmp_path / "Additive-or-Conjunctive.pth"
    torch.save(weights, path)
    assert type(load_authors_checkpoint(path, pooling=pooling).pooling) is kind
    with pytest.raises(UnknownNameError, match="Did you mean 'additive'"):
        load_authors_checkpoint(path, pooling="aditive")


def test_a_pooling_that_the_file_contradicts_is_refused(tmp_path):
    path = tmp_path / "model.pth"
    torch.save(AuthorsNetwork("fcn", "attention", 1, 2).state_dict(), path)
    with pytest.raises(ParameterError, match="with attention pooling, not 'conjunctive'"):
        load_authors_checkpoint(path, pooling="conjunctive")
    assert load_authors_checkpoint(path, pooling="attention").n_classes == 2


def test_names_under_a_prefix_are_found(tmp_path, weights):
    path = tmp_path / "conjunctive.pth"
    torch.save({f"net.{name}": tensor for name, tensor in weights.items()}, path)
    assert load_authors_checkpoint(path).n_channels == 1


# Files that are no checkpoints


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(StorageError, match=r"nowhere\.pth does not exist"):
        load_authors_checkpoint(tmp_path / "nowhere.pth")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(StorageError, match="not a file of weights"):
        load_authors_checkpoint(tmp_path)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 0.999))
def test_a_truncated_file_is_refused(tmp_path, weights, share):
    path = tmp_path / "conjunctive.pth"
    torch.save(weights, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(StorageError, match=r"conjunctive\.pth"):
        load_authors_checkpoint(path)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"\x80\x04]q\x00.", bytes(1000)])
def test_foreign_bytes_are_refused(tmp_path, content):
    path = tmp_path / "model.pth"
    path.write_bytes(content)
    with pytest.raises(StorageError, match=r"model\.pth"):
        load_authors_checkpoint(path)


class Mischief:
    """Touches a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("writer", [torch.save, lambda content, path: path.write_bytes(pickle.dumps(content))])
def test_code_in_a_file_is_not_run(tmp_path, weights, writer):
    path, mark = tmp_path / "conjunctive.pth", tmp_path / "run"
    writer({**weights, "pool.extra": Mischief(mark)}, path)
    with pytest.raises(StorageError, match=r"could run any code|that torch can read"):
        load_authors_checkpoint(path)
    assert not mark.exists()


@pytest.mark.parametrize("wrapper", ["state_dict", "model_state_dict"])
def test_weights_may_be_wrapped_as_training_scripts_do(tmp_path, weights, wrapper):
    torch.save({"epoch": 3, wrapper: weights}, tmp_path / "conjunctive.pth")
    assert load_authors_checkpoint(tmp_path / "conjunctive.pth").n_classes == 2


def test_a_flipped_byte_is_noticed(tmp_path, weights):
    path = tmp_path / "conjunctive.pth"
    torch.save(weights, path)
    content = bytearray(path.read_bytes())
    where = content.find(weights["feature_extractor.instance_encoder.1.conv_block.0.weight"].numpy().tobytes()[:64])
    content[where + 5] ^= 1
    path.write_bytes(content)
    with pytest.raises(StorageError, match=r"is damaged: the part .* has another checksum"):
        load_authors_checkpoint(path)


def test_positions_other_than_the_released_ones_are_refused(tmp_path, weights):
    path = tmp_path / "conjunctive.pth"
    torch.save({name: value.half() for name, value in weights.items()}, path)
    load_authors_checkpoint(path)
    for other in (2 * weights[POSITIONS], torch.zeros(5)):
        torch.save({**weights, POSITIONS: other}, path)
        with pytest.raises(StorageError, match=r"positional encodings in .* are not those of the released code"):
            load_authors_checkpoint(path)


def test_quantised_weights_are_refused(tmp_path, weights):
    path = tmp_path / "conjunctive.pth"
    name = "pool.attention_head.0.weight"
    torch.save({**weights, name: (100 * weights[name]).to(torch.int8)}, path)
    with pytest.raises(StorageError, match=r"torch\.int8 weights .* must not be quantised"):
        load_authors_checkpoint(path)


def test_weights_that_are_not_finite_are_refused(tmp_path, weights):
    name = next(iter(weights))
    torch.save({**weights, name: torch.full_like(weights[name], torch.nan)}, tmp_path / "conjunctive.pth")
    with pytest.raises(StorageError, match="is not finite"):
        load_authors_checkpoint(tmp_path / "conjunctive.pth")


@pytest.mark.parametrize("content", [
    {}, [], torch.zeros(3), {"weight": torch.zeros(3)}, {"feature_extractor.x": 1, "pool.x": 2},
    {"feature_extractor.x": torch.zeros(3), "pool.x": torch.zeros(3)},
    nn.Linear(2, 2).state_dict(), MilletNetwork(1, 2, "fcn").state_dict(),
])  # fmt: skip
def test_weights_of_something_else_are_refused(tmp_path, content):
    path = tmp_path / "model.pth"
    torch.save(content, path)
    with pytest.raises(StorageError, match=r"model\.pth"):
        load_authors_checkpoint(path)


@pytest.mark.parametrize("backbone", PAPER_BACKBONES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_checkpoint_with_a_weight_missing_added_or_misshapen_is_refused(tmp_path, backbone, data):
    state = AuthorsNetwork(backbone, "conjunctive", 3, 2).state_dict()
    name = data.draw(st.sampled_from([name for name in state if not name.endswith((".pe", "num_batches_tracked"))]))
    damage = data.draw(st.sampled_from(["missing", "added", "scalar", "empty", "longer", "deeper"]))
    tensor = state.pop(name)
    if damage == "added":
        state[name], state[f"{name.split('.')[0]}.surprise"] = tensor, tensor
    elif damage != "missing":
        state[name] = {
            "scalar": lambda: torch.zeros((1, 1)) if tensor.ndim == 0 else torch.zeros(()),
            "empty": lambda: torch.zeros((0, *tensor.shape)),
            "longer": lambda: torch.zeros((*tensor.shape[:-1], (tensor.shape or (1,))[-1] + 1)),
            "deeper": lambda: torch.zeros((*tensor.shape, 2)),
        }[damage]()
    path = tmp_path / "conjunctive.pth"
    torch.save(state, path)
    with pytest.raises(StorageError, match=r"conjunctive\.pth"):
        load_authors_checkpoint(path)


def test_reading_warns_of_nothing_where_nothing_is_open(tmp_path, weights):
    path = tmp_path / "conjunctive.pth"
    torch.save(weights, path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_authors_checkpoint(path)


def test_what_no_file_tells_is_said_of_gap(tmp_path):
    path = tmp_path / "model.pth"
    torch.save(AuthorsNetwork("fcn", "gap", 1, 2).state_dict(), path)
    with pytest.warns(UserWarning, match="does not tell the padding.*padding='zeros'"):
        load_authors_checkpoint(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_authors_checkpoint(path, "zeros")


@pytest.mark.parametrize("wrap", [
    lambda state: {"model": state, "epoch": 3},
    lambda state: {"checkpoint": {"net": state}},
    lambda state: {f"module.{name}": value for name, value in state.items()},
])  # fmt: skip
@torch.inference_mode()
def test_weights_are_found_whatever_they_are_wrapped_in(tmp_path, weights, wrap):
    torch.save(weights, tmp_path / "Conjunctive.pth")
    torch.save(wrap(weights), tmp_path / "ConjunctiveWrapped.pth")
    x = torch.randn(2, 1, 30)
    plain, wrapped = (
        load_authors_checkpoint(tmp_path / f"{name}.pth")(x).logits for name in ("Conjunctive", "ConjunctiveWrapped")
    )
    assert torch.equal(plain, wrapped)


def test_a_file_of_several_networks_is_refused_with_their_names(tmp_path, weights):
    several = {f"nets.{number}.{name}": value for number in (0, 1) for name, value in weights.items()}
    torch.save(several, tmp_path / "Conjunctive.pth")
    with pytest.raises(StorageError, match=r"holds several networks: nets\.0\., nets\.1\."):
        load_authors_checkpoint(tmp_path / "Conjunctive.pth")


def test_the_folder_tells_the_pooling_where_the_file_does_not(tmp_path, weights):
    (tmp_path / "AdditiveFCN").mkdir()
    torch.save(weights, tmp_path / "AdditiveFCN" / "run0.pth")
    assert type(load_authors_checkpoint(tmp_path / "AdditiveFCN" / "run0.pth").pooling) is AdditivePooling


@pytest.mark.parametrize("pooling", sorted(POOLINGS))
def test_a_checkpoint_becomes_a_classifier_that_explains_is_measured_and_saved(tmp_path, pooling):
    theirs = AuthorsNetwork("fcn", pooling, 1, 3).eval()
    path = tmp_path / f"{pooling}.pth"
    torch.save(theirs.state_dict(), path)
    network = load_authors_checkpoint(path, "replicate")
    clf = MilletClassifier.of_networks(network, ["a", "b", "c"], normalise=False)
    x = np.random.default_rng(0).normal(size=(3, 1, 40)).astype(np.float32)
    with torch.inference_mode():
        logits, scores = theirs(list(torch.from_numpy(x)))
    explanation = clf.explain(x)
    np.testing.assert_allclose(explanation.logits, logits, atol=1e-4)
    np.testing.assert_allclose(explanation.scores, torch.stack(scores), atol=1e-4)
    assert set(clf.predict(x)) <= {"a", "b", "c"}
    # Removed timepoints leave the positions of the others as they were.
    kept = np.sort(np.argsort(-explanation.scores[0, explanation.logits[0].argmax()], kind="stable")[2:])
    with torch.inference_mode():
        shorter = network(torch.from_numpy(x[:1, :, kept]), positions=torch.from_numpy(kept)).logits[0]
    code = explanation.logits[0].argmax()
    curve = perturbation_curve(clf, x, explanation, fractions=[0.05])
    assert curve[0, 1] == pytest.approx(float(shorter[code]) - explanation.logits[0, code], abs=1e-4)
    clf.save(tmp_path / "model")
    np.testing.assert_array_equal(load_classifier(tmp_path / "model").logits(x), clf.logits(x))
    with pytest.raises(ParameterError, match=r"MilletClassifier\.of_networks"):
        perturbation_curve(network, x, explanation)


def test_networks_that_are_not_alike_make_no_classifier():
    networks = [MilletNetwork(1, 2, "fcn"), MilletNetwork(1, 3, "fcn")]
    with pytest.raises(ParameterError, match="must be alike"):
        MilletClassifier.of_networks(networks)
    for other in (nn.Linear(2, 2), None, 3, []):
        with pytest.raises(ParameterError, match="one or several MilletNetworks"):
            MilletClassifier.of_networks(other)
    with pytest.raises(ParameterError, match="must be alike"):
        MilletClassifier.of_networks([networks[0], MilletNetwork(1, 2, "fcn").double()])
    with pytest.raises(ParameterError, match="normalise must be True, False"):
        MilletClassifier.of_networks(networks[0], normalise="no")
    for classes in (["a"], ["b", "a"], ["a", "a"]):
        with pytest.raises(ParameterError, match="2 labels in ascending order"):
            MilletClassifier.of_networks(networks[0], classes)


def test_an_ensemble_of_networks_averages_their_logits():
    networks = [MilletNetwork(1, 2, "fcn").eval() for _ in range(2)]
    x = np.random.default_rng(0).normal(size=(2, 1, 30)).astype(np.float32)
    with torch.inference_mode():
        mean = sum(network(torch.from_numpy(x)).logits for network in networks) / 2
    clf = MilletClassifier.of_networks(networks, normalise=False)
    np.testing.assert_allclose(clf.logits(x), mean, atol=1e-6)
    assert clf.get_params()["backbone"] == "fcn"
    assert clf.get_params()["n_estimators"] == 2


def test_networks_of_a_classifier_that_scales_channels_are_given_what_they_were_trained_on(tmp_path):
    rng = np.random.default_rng(0)
    scale = ChannelScale(means=np.array([100.0, -5.0]), deviations=np.array([10.0, 2.0]))
    network = MilletNetwork(2, 2, "fcn").eval()
    x = rng.normal(size=(3, 2, 30)) * 10 + 100
    clf = MilletClassifier.of_networks([network], normalise=scale)
    scaled = ((x - scale.means[:, None]) / scale.deviations[:, None]).astype(np.float32)
    with torch.inference_mode():
        np.testing.assert_allclose(clf.logits(x), network(torch.from_numpy(scaled)).logits, atol=1e-4)
    clf.save(tmp_path / "model")
    np.testing.assert_array_equal(load_classifier(tmp_path / "model").logits(x), clf.logits(x))


def test_a_changed_member_is_not_saved_as_if_it_were_usual(tmp_path):
    networks = [MilletNetwork(1, 2, "fcn").eval() for _ in range(2)]
    for part in networks[1].modules():
        if hasattr(part, "eps"):
            part.eps = 0.5
    clf = MilletClassifier.of_networks(networks)
    assert not isinstance(clf.get_params()["backbone"], str)
    clf.save(tmp_path / "model")
    with pytest.raises(StorageError, match="a backbone of your own"):
        load_classifier(tmp_path / "model")


def test_of_networks_from_elsewhere_no_training_is_told():
    facts = model_facts(MilletClassifier.of_networks(MilletNetwork(1, 2, "fcn")))
    assert facts["Backbone"] == "fcn"
    assert not {"Epochs", "Trained on", "Training time"} & facts.keys()


def test_a_file_that_holds_itself_is_refused(tmp_path):
    state = {}
    state["itself"] = state
    torch.save(state, tmp_path / "model.pth")
    with pytest.raises(StorageError):
        load_authors_checkpoint(tmp_path / "model.pth")

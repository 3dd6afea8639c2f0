"""Storage: a model comes back whole, or is refused with what is wrong."""

import hashlib
import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from millet import MilletClassifier, load_classifier, storage
from millet.errors import StorageError
from millet.nn import FCN, ConjunctivePooling, MilletNetwork
from millet.nn.backbones import ConvBlock
from millet.storage import load_model, save_model
from millet.training import Recipe


class OwnBackbone(torch.nn.Module):
    def __init__(self, n_channels):
        super().__init__()
        self.convolution = torch.nn.Conv1d(n_channels, 6, 5, padding=2)

    def forward(self, x):
        return self.convolution(x)


@pytest.fixture(scope="module")
def fitted(bumps):
    return MilletClassifier("fcn", n_epochs=2, n_estimators=2, n_jobs=1, random_state=0).fit(*bumps)


@pytest.fixture
def folder(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    return tmp_path / "model"


def test_a_model_comes_back_with_everything(fitted, folder, bumps):
    X, _ = bumps
    loaded = MilletClassifier.load(folder)
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.explain(X) == fitted.explain(X)
    assert loaded.history_ == fitted.history_
    assert loaded.training_summary_ == fitted.training_summary_
    assert loaded.get_params()["backbone"] == "fcn"
    assert loaded.n_channels_in_ == 1


@pytest.mark.parametrize(
    "parameters",
    [
        {"recipe": Recipe(n_epochs=1, schedule="one-cycle")},
        {"class_weight": {"flat": 1.0, "bump": 2.0}},
        {"random_state": np.random.RandomState(0)},
        {"pooling": "gap", "padding": "reflect", "positions": True},
        {"precision": "64-true"},
        {"backbone": "lite"},
        {"precision": "64-true", "backbone": "lite"},
        {"precision": "bf16-true", "backbone": "lite"},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_parameters_of_every_kind_survive(parameters, bumps, tmp_path):
    X, y = bumps
    clf = MilletClassifier(**{"backbone": "fcn", "n_epochs": 1, "random_state": 0, **parameters}).fit(X, y)
    clf.save(tmp_path / "model")
    loaded = MilletClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    for name in ("recipe", "class_weight", "padding", "precision"):
        assert getattr(loaded, name) == getattr(clf, name)


@pytest.mark.parametrize("labels", [["no", "ja"], [3, -7], [True, False], [0.5, 2.0]], ids=str)
def test_labels_keep_their_type(labels, bumps, tmp_path):
    X, y = bumps
    y = np.asarray([str(label) if labels == [0.5, 2.0] else label for label in labels])[(y == "bump").astype(int)]
    clf = MilletClassifier("fcn", n_epochs=1).fit(X, y)
    clf.save(tmp_path / "model")
    loaded = MilletClassifier.load(tmp_path / "model")
    assert loaded.classes_.dtype == clf.classes_.dtype
    assert loaded.classes_.tolist() == clf.classes_.tolist()


def test_code_of_the_users_own_must_be_brought_again(bumps, tmp_path):
    X, y = bumps
    clf = MilletClassifier(OwnBackbone, n_epochs=1, random_state=0).fit(X, y)
    clf.save(tmp_path / "model")
    with pytest.raises(StorageError, match=r"OwnBackbone.*code is not stored"):
        MilletClassifier.load(tmp_path / "model")
    loaded = MilletClassifier.load(tmp_path / "model", backbone=OwnBackbone)
    assert np.array_equal(loaded.predict_proba(X), clf.predict_proba(X))


def test_saving_again_replaces_the_model_and_leaves_no_rest(fitted, folder, bumps):
    small = MilletClassifier("fcn", n_epochs=1, random_state=1).fit(*bumps)
    small.save(folder)
    assert len(MilletClassifier.load(folder).networks_) == 1
    assert sorted(path.suffix for path in folder.iterdir()) == [".json", ".safetensors"]


def test_a_save_that_dies_midway_leaves_the_old_model(fitted, folder, bumps, monkeypatch):
    expected = MilletClassifier.load(folder).predict_proba(bumps[0])
    monkeypatch.setattr("millet.storage.json.dumps", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    small = MilletClassifier("fcn", n_epochs=1, random_state=1).fit(*bumps)
    with pytest.raises(OSError, match="disk full"):
        small.save(folder)
    assert np.array_equal(MilletClassifier.load(folder).predict_proba(bumps[0]), expected)


def test_a_folder_of_something_else_is_left_alone(fitted, tmp_path):
    (tmp_path / "thesis.tex").write_text("important")
    with pytest.raises(StorageError, match="left alone"):
        fitted.save(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="left alone"):
        fitted.save(tmp_path / "file")
    with pytest.raises(StorageError, match="file is a file"):
        fitted.save(tmp_path / "file" / "model")


def test_a_description_of_another_programs_model_is_left_alone(fitted, tmp_path):
    (tmp_path / "model.json").write_text('{"learner": {}}')
    with pytest.raises(StorageError, match="left alone"):
        fitted.save(tmp_path)
    assert (tmp_path / "model.json").read_text() == '{"learner": {}}'


def edit(folder, **changes):
    path = folder / "model.json"
    description = json.loads(path.read_text())
    description.update(changes)
    path.write_text(json.dumps(description))


def member_of(folder):
    return next(iter(sorted(folder.glob("*.safetensors"))))


DAMAGE = {
    "nothing there": (shutil.rmtree, "no model.json"),
    "no description": (lambda folder: (folder / "model.json").unlink(), "no model.json"),
    "truncated json": (lambda folder: (folder / "model.json").write_text('{"format": '), "is damaged"),
    "latin-1 json": (lambda folder: (folder / "model.json").write_bytes(b"\xff\xfe{}"), "is damaged"),
    "foreign json": (lambda folder: (folder / "model.json").write_text("[1, 2]"), "not the description"),
    "foreign format": (lambda folder: edit(folder, format="other"), "not the description"),
    "newer": (lambda folder: edit(folder, version=99), "format version 99"),
    "other kind": (lambda folder: edit(folder, kind="Elephant"), "'Elephant'"),
    "no members": (lambda folder: edit(folder, members=[]), "no members"),
    "members of another kind": (lambda folder: edit(folder, members=[3]), "can't be read"),
    "member missing": (lambda folder: member_of(folder).unlink(), "is missing"),
    "member truncated": (
        lambda folder: member_of(folder).write_bytes(member_of(folder).read_bytes()[:-9]),
        "is damaged",
    ),
    "member elsewhere": (
        lambda folder: edit(folder, members=[{"file": "../secret.safetensors", "sha256": ""}]),
        "outside the model's folder",
    ),
    "no classes": (lambda folder: edit(folder, classes={}), "does not describe"),
    "too few classes": (lambda folder: edit(folder, classes={"dtype": "str", "values": ["a"]}), "does not describe"),
    "unknown parameter": (lambda folder: edit(folder, parameters={"x": 1}), "does not describe"),
    "normalisation as text": (
        lambda folder: edit(folder, preprocessing={"z_normalise": "false"}),
        "must be true or false",
    ),
    "scale of other channels": (
        lambda folder: edit(
            folder, preprocessing={"z_normalise": False, "channels": {"means": [0.0, 1.0], "deviations": [1.0, 0.0]}}
        ),
        "positive deviation for every channel",
    ),
    "channels as text": (lambda folder: edit(folder, n_channels="many"), "does not describe"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_model_is_refused_with_what_is_wrong(folder, kind):
    damage, message = DAMAGE[kind]
    damage(folder)
    with pytest.raises(StorageError, match=message):
        MilletClassifier.load(folder)


def test_one_flipped_bit_is_noticed(folder):
    member = member_of(folder)
    content = bytearray(member.read_bytes())
    content[-100] ^= 1
    member.write_bytes(bytes(content))
    with pytest.raises(StorageError, match="not what was saved"):
        MilletClassifier.load(folder)


def test_the_model_folder_holds_json_and_safetensors_alone(folder):
    description = json.loads((folder / "model.json").read_text())
    assert {"millet", "torch", "numpy", "python"} == set(description["written_with"])
    assert description["training"]["n_cases"] == 40
    assert len(description["training"]["fingerprint"]) == 64
    assert description["preprocessing"]["z_normalise"] is True


def test_storage_knows_nothing_of_classifiers(tmp_path):
    save_model(tmp_path / "m", {"kind": "anything"}, [b"weights", b"of two"])
    description, members = load_model(tmp_path / "m")
    assert description["kind"] == "anything"
    assert members == [b"weights", b"of two"]


def test_weights_that_are_no_safetensors_are_refused_even_with_the_right_digest(folder):
    entry = {"file": "member-0-forged.safetensors", "sha256": hashlib.sha256(b"forged").hexdigest()}
    (folder / entry["file"]).write_bytes(b"forged")
    edit(folder, members=[entry])
    with pytest.raises(StorageError, match="can't be read"):
        MilletClassifier.load(folder)


@pytest.mark.parametrize("pooling", ["conjunctive", "gap"])
@pytest.mark.parametrize("padding", ["zeros", "replicate"])
def test_a_fine_tuned_network_is_loaded_as_any_other(bumps, tmp_path, pooling, padding):
    X, y = bumps
    network = MilletNetwork(1, 2, "lite", pooling, padding=padding)
    clf = MilletClassifier(network.backbone, network.pooling, n_epochs=1, random_state=0, n_jobs=1).fit(X, y)
    clf.save(tmp_path)
    loaded = load_classifier(tmp_path)
    assert (loaded.backbone, loaded.pooling, loaded.padding) == ("lite", pooling, padding)
    assert np.array_equal(loaded.logits(X), clf.logits(X))


def test_a_pooling_of_an_unusual_size_is_code_of_ones_own(bumps, tmp_path):
    X, y = bumps
    network = MilletNetwork(1, 2, "lite")
    pooling = ConjunctivePooling(network.d_embedding, 2, d_attention=3)
    clf = MilletClassifier("lite", pooling, n_epochs=1, random_state=0, n_jobs=1).fit(X, y)
    clf.save(tmp_path)
    with pytest.raises(StorageError, match="a pooling of your own"):
        MilletClassifier.load(tmp_path)
    assert np.array_equal(MilletClassifier.load(tmp_path, pooling=pooling).logits(X), clf.logits(X))


def _with_another_block(backbone):
    backbone.blocks.append(ConvBlock(128, 128, 3, "replicate"))


def _without_a_relu(backbone):
    backbone.blocks[1].relu = False


@pytest.mark.parametrize("change", [_with_another_block, _without_a_relu])
def test_a_backbone_that_was_changed_is_code_of_ones_own(bumps, tmp_path, change):
    X, y = bumps
    backbone = FCN(1)
    change(backbone)
    clf = MilletClassifier(backbone, n_epochs=1, random_state=0, n_jobs=1).fit(X, y)
    clf.save(tmp_path)
    with pytest.raises(StorageError, match="a backbone of your own"):
        MilletClassifier.load(tmp_path)
    assert np.array_equal(MilletClassifier.load(tmp_path, backbone=backbone).logits(X), clf.logits(X))


def test_another_class_than_that_of_the_model_is_refused(bumps, tmp_path):
    class Other(OwnBackbone):
        pass

    MilletClassifier(OwnBackbone, n_epochs=1, random_state=0, n_jobs=1).fit(*bumps).save(tmp_path)
    with pytest.raises(StorageError, match=r"made with the backbone .*OwnBackbone, not with .*Other"):
        MilletClassifier.load(tmp_path, backbone=Other)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_a_given_backbone_may_be_of_another_precision(bumps, dtype):
    backbone = MilletNetwork(1, 2, "lite").to(dtype).backbone
    clf = MilletClassifier(backbone, n_epochs=1, random_state=0, n_jobs=1).fit(*bumps)
    assert next(clf.networks_[0].parameters()).dtype == torch.float32
    assert next(backbone.parameters()).dtype == dtype, "the given one is left alone"


@pytest.mark.skipif(sys.platform == "win32", reason="folders can't be locked there")
def test_two_that_save_to_one_folder_leave_a_whole_model(tmp_path):
    models = [({"kind": name}, [name.encode()]) for name in "ab"]

    def save_often(model):
        for _ in range(20):
            save_model(tmp_path / "model", *model)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(save_often, models))
    description, weights = load_model(tmp_path / "model")
    assert ({"kind": description["kind"]}, weights) in models
    assert len(list((tmp_path / "model").iterdir())) == 2


def test_who_reads_while_another_model_is_saved_gets_the_one_or_the_other(tmp_path, monkeypatch):
    save_model(tmp_path / "model", {"kind": "old"}, [b"old"])
    read = storage._read_member

    def overtaken(*what):
        monkeypatch.setattr(storage, "_read_member", read)
        save_model(tmp_path / "model", {"kind": "new"}, [b"new"])
        return read(*what)

    monkeypatch.setattr(storage, "_read_member", overtaken)
    description, weights = load_model(tmp_path / "model")
    assert (description["kind"], weights) == ("new", [b"new"])


def test_a_model_whose_weights_were_lost_may_be_saved_anew(tmp_path):
    save_model(tmp_path / "model", {"kind": "old"}, [b"old"])
    next((tmp_path / "model").glob("member-*")).unlink()
    with pytest.raises(StorageError, match="is missing"):
        load_model(tmp_path / "model")
    save_model(tmp_path / "model", {"kind": "new"}, [b"new"])
    assert load_model(tmp_path / "model")[1] == [b"new"]


def test_a_description_that_nests_without_end_is_damaged(tmp_path):
    (tmp_path / "model.json").write_text("[" * 200_000)
    with pytest.raises(StorageError, match="is damaged"):
        load_model(tmp_path)

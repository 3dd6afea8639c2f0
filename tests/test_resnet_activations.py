"""The script that compares where ResNet applies ReLU."""

import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from millet.nn.backbones import ResNet
from millet.report import Published


@pytest.fixture(scope="module")
def script(page_script):
    return page_script("resnet_activations")


def test_the_original_applies_relu_after_the_first_two_convolutions_of_a_block(script):
    torch.manual_seed(0)
    backbone = script.OriginalResNet(1, "zeros").double().eval()
    x = torch.randn(2, 1, 30, dtype=torch.float64)
    expected = x
    for block in backbone.blocks:
        one, two, three = block.blocks

        def convolved(part, z):
            return part.norm(part.convolution(z), None)

        beside = expected if block.shortcut is None else block.shortcut(expected)
        inner = convolved(three, F.relu(convolved(two, F.relu(convolved(one, expected)))))
        expected = F.relu(inner + block.shortcut_norm(beside, None))
    with torch.no_grad():
        np.testing.assert_allclose(backbone(x), expected.detach(), atol=1e-10)
    assert [part.relu for part in ResNet(1).blocks[0].blocks] == [False, False, True]


def test_the_table_has_means_with_the_least_and_the_greatest(script, tmp_path, monkeypatch):
    rows = [
        {
            "dataset": "Toy",
            "model": model,
            "seed": seed,
            "train_loss": loss,
            "accuracy": 0.5 + seed / 4,
            "loss": 1.0,
            "aopcr": 2.0,
        }
        for model in ("gap-resnet", "conjunctive-resnet")
        for seed, loss in enumerate((0.01, 0.0001))
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(script, "ROWS", file)
    page = script.table(Published(None))
    for model in ("GAP ResNet", "Conjunctive ResNet"):
        assert (
            f"| Toy | {model} | as in the original | 2 | -3.00, -4.00 to -2.00 | 0.62, 0.50 to 0.75 | "
            "1.00, 1.00 to 1.00 | 2.00, 2.00 to 2.00 |"
        ) in page
    assert "authors' runs |" not in page

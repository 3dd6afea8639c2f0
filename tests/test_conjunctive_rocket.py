"""The trial of a Conjunctive head on random convolutions compares what it says it compares."""

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import millet
from millet.bags import as_bags
from millet.nn import ConjunctivePooling
from millet.rocket.banks import PpvBank
from millet.rocket.heads import fit_head
from millet.rocket.scaling import scale_features
from millet.training import Recipe

FOLDER = Path(__file__).parent.parent / "benchmarks"
N_CLASSES = 3


@pytest.fixture(scope="module")
def script():
    """The module, as `python benchmarks/conjunctive_rocket.py` runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield importlib.import_module("conjunctive_rocket")
    sys.modules.pop("conjunctive_rocket")


@pytest.fixture(scope="module")
def series():
    return np.random.default_rng(0).normal(size=(12, 1, 60)).cumsum(axis=2)


@pytest.fixture(scope="module")
def codes():
    return np.arange(12) % N_CLASSES


@pytest.fixture(scope="module")
def embedding(script, series):
    return script.Embedding(series, n_features=420)


def test_the_mean_of_an_embedding_is_minirockets_feature(embedding, series):
    bank = PpvBank(embedding.plan, difference=False)
    expected = bank.features(*as_bags(series).batch(np.arange(12)))
    combination = np.arange(84 * len(embedding.plan.dilations))
    whole = (combination // 84 + combination) % 2 == 0  # every other one leaves out the ends
    chosen = whole.repeat(np.repeat(embedding.plan.n_biases, 84))
    found = embedding.responses(series).mean(dim=2).numpy()
    assert found.shape == expected.shape
    np.testing.assert_allclose(found[:, chosen], expected[:, chosen], atol=1e-6)


def test_an_embedding_is_standardised_on_its_training_cases(embedding, series):
    deviations, means = torch.std_mean(embedding(series), dim=(0, 2))
    varies = embedding.responses(series).std(dim=(0, 2)) > 0
    torch.testing.assert_close(means, torch.zeros_like(means), atol=1e-4, rtol=0)
    torch.testing.assert_close(deviations[varies], torch.ones(int(varies.sum())), atol=1e-4, rtol=0)


def test_the_ridge_head_is_that_of_the_means_whatever_their_scale(script, embedding, series, codes):
    network = script.fit_network("ridge", embedding(series), codes, Recipe())
    logits, centred, _ = script.explain_network(network, embedding, series)
    means = embedding.responses(series).mean(dim=2).numpy()
    scale_features(means, sparse=False)
    linear = fit_head(means, codes, N_CLASSES, "multinomial")
    np.testing.assert_allclose(logits, means @ linear.coefficients + linear.intercepts, atol=1e-3)
    np.testing.assert_allclose(centred.mean(axis=2), logits, atol=1e-4)


def test_conjunctive_training_from_the_ridge_starts_with_its_logits(script, embedding, series, codes):
    z = embedding(series)
    pooling = ConjunctivePooling(z.shape[1], N_CLASSES)
    script.set_to_ridge(pooling, z, codes, factor=2.0)
    torch.nn.init.zeros_(pooling.attend.out.weight)
    torch.nn.init.zeros_(pooling.attend.out.bias)
    ridge = script.fit_network("ridge", z, codes, Recipe())
    with torch.no_grad():
        torch.testing.assert_close(pooling(z.transpose(1, 2)).logits, ridge(z).logits, atol=1e-4, rtol=0)


def test_a_share_is_laid_on_the_nine_taps_of_its_kernel(embedding):
    n_features, dilation, middle = sum(embedding.sizes), int(embedding.plan.dilations[-1]), 30
    z = torch.zeros(1, n_features, 60)
    z[0, -1, middle] = 18.0  # of the widest dilation
    laid = embedding.lay_on_taps(z, torch.ones(1, n_features), 0.5)
    expected = torch.zeros(60)
    expected[middle - 4 * dilation : middle + 4 * dilation + 1 : dilation] = 1.0
    torch.testing.assert_close(laid[0, 0], expected)


@pytest.mark.parametrize("head", ["minirocket", "ridge", "instance", "conjunctive", "from ridge"])
def test_every_head_explains_unseen_series(script, head):
    traffic = millet.make_web_traffic(4, classes=["Cutoff", "Peak"], sampling_interval=60, random_state=0)
    codes = np.repeat([0, 1], 4)
    model, seconds = script.fit(head, traffic.X[::2], codes[::2], 84, Recipe(n_epochs=2))
    logits, *scores = model(traffic.X[1::2])
    assert seconds >= 0
    assert logits.shape == (4, 2)
    assert [kind.shape for kind in scores] == [(4, 2, traffic.X.shape[2])] * 2
    assert all(np.isfinite(part).all() for part in (logits, *scores))


@pytest.mark.slow
def test_a_quick_run_prints_both_tables():
    command = [sys.executable, str(FOLDER / "conjunctive_rocket.py"), "--quick"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    by_dataset, by_head = (
        [row.strip("| ").split(" | ") for row in table.splitlines()] for table in run.stdout.split("\n\n")
    )
    heads = ["minirocket", "ridge", "instance", "conjunctive", "from ridge"]
    assert by_dataset[0] == ["accuracy", *heads]
    assert [row[0] for row in by_dataset[2:]] == ["WebTraffic", "mean", "seconds"]
    assert [row[0] for row in by_head[2:]] == heads
    assert {len(row) for row in by_head} == {5}

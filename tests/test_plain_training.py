"""Training in plain PyTorch, which our engine is compared with on the page of the reproduction."""

import math

import numpy as np
import pytest
import torch

from millet import Dataset
from millet.nn import MilletNetwork


@pytest.fixture(scope="module")
def script(page_script):
    return page_script("plain_training")


@pytest.fixture(scope="module")
def waves():
    """Slow and fast waves, easily told apart."""
    rng = np.random.default_rng(0)
    x = np.stack([np.sin(np.arange(30) * (0.3 + 0.5 * (case % 2)) + rng.uniform(0, 6)) for case in range(20)])
    return Dataset(X=x[:, None], y=np.arange(20) % 2)


def test_the_plain_network_is_the_papers(script):
    torch.manual_seed(0)
    # In double precision, where the order of sums does not matter.
    ours, plain = MilletNetwork(1, 3, "fcn", "gap").double().eval(), script.PlainNetwork(3).double().eval()
    for name, value in ours.state_dict().items():
        if "norm" in name and value.is_floating_point():
            value.uniform_(0.5, 1.5)  # as training leaves them, and not 0 and 1
    plain.load_state_dict(dict(zip(plain.state_dict(), ours.state_dict().values(), strict=True)))
    x = torch.randn(4, 1, 21, dtype=torch.float64)
    with torch.no_grad():
        found, activations = ours(x), plain.class_activations(x)
        torch.testing.assert_close(plain(x), found.logits, rtol=1e-9, atol=1e-9)
    # Ours may hold the bias, which is the same at every timepoint.
    centred, scores = (values - values.mean(-1, keepdim=True) for values in (activations, found.scores))
    torch.testing.assert_close(centred, scores, rtol=1e-9, atol=1e-9)
    assert scores.abs().max() > 1e-3, "else nothing was compared"


def test_it_learns_and_keeps_the_epoch_with_the_lowest_loss(script, waves):
    x = script.normalised(waves)
    np.testing.assert_allclose(x.std(axis=2, ddof=1), 1)
    codes = waves.y.astype(np.int64)
    network, loss = script.train(torch.as_tensor(x).float(), torch.as_tensor(codes), seed=0, n_epochs=8)
    with torch.no_grad():
        kept = torch.nn.functional.cross_entropy(network(torch.as_tensor(x).float()), torch.as_tensor(codes)).item()
    assert kept == pytest.approx(loss)
    assert loss < math.log(2) / 2
    found = script.evaluate(network, loss, x, codes)
    assert found.accuracy == 1
    assert math.isfinite(found.aopcr)


def test_a_line_tells_mean_least_and_greatest(script):
    line = script.line("Beef", "plain PyTorch", (1e-4, 1e-6), (0.5, 1.0), (1.0, 2.0))
    assert line == "| Beef | plain PyTorch | 2 | -5.00, -6.00 to -4.00 | 0.75, 0.50 to 1.00 | 1.50, 1.00 to 2.00 |"
    assert script.line("Beef", "authors", (), (), ()) == ""

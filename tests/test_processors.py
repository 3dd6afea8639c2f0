"""Claims about processors: the same results on plain ones, plain kernels on other devices, and shared cores."""

import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
import torch

from millet.fitting import choose_hardware
from millet.nn import BACKBONES, MilletNetwork
from millet.training.members import THREADING_TIMEPOINTS, threads_per_member

RESULTS = """
import sys
import numpy as np, torch
from millet import RocketMilletClassifier
from millet.nn import MilletNetwork

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 2, 60)).cumsum(axis=2)
rocket = RocketMilletClassifier("minirocket", n_features=168, random_state=0, n_jobs=1, verbose=0)
found = rocket.fit(X, np.arange(12) % 3).explain(X)
torch.manual_seed(0)
network = MilletNetwork(n_channels=2, n_classes=3, backbone="lite")
network(torch.from_numpy(X).float()).logits.square().sum().backward()
slopes = torch.cat([weight.grad.flatten() for weight in network.parameters() if weight.grad is not None])
np.savez(sys.argv[1], logits=found.logits, contributions=found.contributions, slopes=slopes.numpy())
"""


def results(folder, name, **settings):
    file = folder / f"{name}.npz"
    environment = {**os.environ, **settings, "NUMBA_CACHE_DIR": str(folder / name)} if settings else os.environ
    subprocess.run([sys.executable, "-c", RESULTS, str(file)], env=environment, check=True)
    return np.load(file)


@pytest.mark.slow
def test_compiled_loops_give_the_same_on_a_processor_without_wide_vectors(tmp_path):
    here = results(tmp_path, "here")
    plain = results(tmp_path, "plain", NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
    for name in ("logits", "contributions"):
        np.testing.assert_allclose(plain[name], here[name], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(plain["slopes"], here["slopes"], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_other_devices_get_plain_kernels(backbone):
    network = MilletNetwork(n_channels=1, n_classes=2, backbone=backbone).to("meta")
    output = network(torch.empty(2, 1, 40, device="meta"))
    output.logits.sum().backward()
    assert output.contributions.shape == (2, 2, 40)
    assert all(weight.grad is not None for weight in network.parameters())


@pytest.mark.parametrize(
    ("variables", "precision"),
    [
        ({}, "bf16-mixed"),
        ({"ONEDNN_MAX_CPU_ISA": "ALL"}, "bf16-mixed"),
        ({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_AMX"}, "bf16-mixed"),
        ({"ONEDNN_MAX_CPU_ISA": "AVX2"}, "32-true"),
        ({"ONEDNN_MAX_CPU_ISA": "avx512_core"}, "32-true"),
        ({"ATEN_CPU_CAPABILITY": "avx2"}, "32-true"),
    ],
)
def test_a_processor_that_is_held_back_does_not_compute_in_bf16(monkeypatch, variables, precision):
    monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda: True)
    for name in ("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert choose_hardware("cpu", "auto") == ("cpu", precision)
    monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda: False)
    assert choose_hardware("cpu", "auto") == ("cpu", "32-true")


def test_members_together_have_no_more_threads_than_there_are_cores():
    for n_members in (2, 3, 50):
        threads = threads_per_member(n_members, THREADING_TIMEPOINTS)
        assert 1 <= threads <= max(1, joblib.cpu_count() // n_members)
        assert threads <= torch.get_num_threads()
    assert threads_per_member(1, THREADING_TIMEPOINTS) == torch.get_num_threads()
    assert threads_per_member(1, THREADING_TIMEPOINTS - 1) == 1

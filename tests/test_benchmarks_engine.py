"""The speed table: it compares like with like, counts right and judges right. No test asserts a time."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from millet.datasets.catalogue import WEB_TRAFFIC
from millet.nn import MilletNetwork
from millet.nn.convolution import _Convolution
from millet.nn.maximum import _MaxPool3
from millet.nn.normalisation import _Normalisation
from millet.nn.single import _SingleConvolution
from millet.nn.spectral import _SpectralConvolution

FOLDER = Path(__file__).parent.parent / "benchmarks"
BACKBONES = ("fcn", "resnet", "inceptiontime")
OWN_WAYS = (_Convolution, _MaxPool3, _Normalisation, _SingleConvolution, _SpectralConvolution)


@pytest.fixture(scope="module")
def scripts():
    """The modules of the benchmark, by name, as `python benchmarks/engine.py` imports them."""
    names = ("plain", "measuring", "goals", "growth", "engine")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield {name: importlib.import_module(name) for name in names}
    for name in names:
        sys.modules.pop(name)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_the_plain_network_gives_our_logits_and_scores(scripts, backbone):
    ours = MilletNetwork(3, 4, backbone).eval()
    plain = scripts["plain"].PlainNetwork(3, 4, backbone, n_timepoints=45).eval()
    plain.load_state_dict(ours.state_dict())
    x = torch.randn(2, 3, 45, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        logits, scores = plain(x)
        expected = ours(x)
    torch.testing.assert_close(logits, expected.logits)
    torch.testing.assert_close(scores, expected.scores)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_the_plain_network_gives_our_loss_and_gradients(scripts, backbone, monkeypatch):
    own = []
    for kind in OWN_WAYS:
        forward = kind.forward
        monkeypatch.setattr(kind, "forward", lambda *given, kind=kind, way=forward: own.append(kind) or way(*given))
    generator = torch.Generator().manual_seed(0)
    x, target = torch.randn(8, 1, 160, generator=generator), torch.arange(8)
    assert max(scripts["engine"].compare_gradients(backbone, x, target)) <= 1e-7
    assert own, "a network that takes only torch's own ways proves nothing"


def test_the_plain_training_keeps_the_weights_of_the_lowest_loss(scripts):
    torch.manual_seed(0)
    network = scripts["plain"].PlainNetwork(1, 2, "fcn", n_timepoints=20)
    training = scripts["plain"].PlainTraining(network, torch.randn(10, 1, 20), torch.arange(10) % 2, batch_size=4)
    losses = []
    for _ in range(4):
        training.run_epoch()
        losses.append(training.selection_loss())
    network.load_state_dict(training.best)
    assert training.selection_loss() == pytest.approx(min(losses))


def test_an_inceptiontime_step_on_webtraffic_is_40_6_gflop(scripts):
    network = scripts["plain"].PlainNetwork(1, 10, "inceptiontime", n_timepoints=1008)
    operations = scripts["measuring"].count_flops(network, (16, 1, 1008), backward=True)
    assert round(operations / 1e9, 1) == 40.6


def test_operations_of_fcn_are_counted_as_by_hand(scripts):
    """Two a weight and timepoint; as many for the gradient of the weights, and of the inputs but for the series."""
    convolutions = [1 * 128 * 8, 128 * 256 * 5, 256 * 128 * 3]
    heads = [128 * 8, 8 * 1, 128 * 10]
    count, network = scripts["measuring"].count_flops, scripts["plain"].PlainNetwork(1, 10, "fcn", n_timepoints=30)
    forward = 2 * 30 * 5 * sum(convolutions + heads)
    assert count(network, (5, 1, 30), backward=False) == forward
    assert count(network, (5, 1, 30), backward=True) == 3 * forward - 2 * 30 * 5 * convolutions[0]


def test_works_take_turns_and_the_first_round_is_not_counted(scripts, monkeypatch):
    measuring, now, turns = scripts["measuring"], [0.0], []
    durations = {"slow": iter([100.0, 7.0, 5.0, 6.0]), "fast": iter([100.0, 1.0, 3.0, 2.0])}

    def work(name):
        turns.append(name)
        now[0] += next(durations[name])

    monkeypatch.setattr(measuring.time, "perf_counter", lambda: now[0])
    found = measuring.medians({name: lambda name=name: work(name) for name in durations}, n_rounds=3)
    assert found == {"slow": 6.0, "fast": 2.0}
    assert turns == ["slow", "fast"] * 4


def test_the_best_convolution_has_a_finite_speed(scripts):
    assert 0 < scripts["measuring"].best_convolution(batch_size=1, n_timepoints=10, n_rounds=1) < float("inf")


@pytest.mark.parametrize(
    ("power", "verdict"), [(0.5, "met"), (1, "met"), (1.05, "met"), (1.2, "not met"), (2, "not met")]
)
def test_growth_is_linear_up_to_the_noise_of_caches(scripts, power, verdict):
    sizes = (100, 1_000, 100_000)
    growth = scripts["growth"].Growth("time", "ms", "n_timepoints", sizes, tuple(3 * size**power for size in sizes))
    assert growth.exponents == pytest.approx([power, power])
    assert growth.verdict == verdict


@pytest.mark.parametrize(
    ("ours", "least", "agrees", "verdict"),
    [
        (1.0, 2, True, "met"),
        (1.01, 2, True, "not met"),
        (0.1, 2, False, "not met"),
        (2.05, 1, True, "met"),  # medians of the same work differ a little
        (2.1, 1, True, "not met"),
    ],
)
def test_a_goal_is_met_where_it_is_reached_and_the_numbers_agree(scripts, ours, least, agrees, verdict):
    row = scripts["goals"].faster("step", 2.0, ours, least, agrees=agrees)
    assert (row.verdict, row.ratio) == (verdict, 2.0 / ours)


def test_the_page_says_how_much_was_measured(scripts, page_script):
    sizes, note = scripts["engine"].FULL, page_script("engine_table").NOTE
    assert f"A batch has {sizes.batch_size} series of {WEB_TRAFFIC.length // sizes.stride} timepoints." in note
    assert f"{sizes.n_training_cases} of WebTraffic's {WEB_TRAFFIC.n_train} training cases" in note
    assert f"inference with evidence over {sizes.n_explained_cases}." in note


def test_overhead_is_judged_by_how_much_longer_ours_takes(scripts):
    verdicts = [scripts["goals"].at_most("step", 1.0, ours, 1.3, "bare").verdict for ours in (1.2, 1.4)]
    assert verdicts == ["met", "not met"]


@pytest.mark.slow
def test_a_quick_run_prints_and_writes_every_goal(tmp_path):
    file = tmp_path / "rows.json"
    command = [sys.executable, str(FOLDER / "engine.py"), "--quick", "--threads", "1", "--rows", str(file)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    content = json.loads(file.read_text(encoding="utf-8"))
    figures = [row["figure"] for row in content["rows"]]
    assert len(figures) == len(set(figures)) == 13
    assert all(figure in run.stdout for figure in figures)
    assert {row["verdict"] for row in content["rows"]} <= {"met", "not met", "not applicable"}
    for row in content["rows"]:
        without_times = row["verdict"] == "not applicable" or row["goal"] == "linear"
        assert (row["ratio"] is None) == without_times
    assert content["machine"]["n_threads"] == 1
    assert content["peak_gflops"]["fp32"] > 0
    (memory,) = (growth for growth in content["growth"] if growth["what"] == "memory")
    assert memory["values"][1] > 2 * memory["values"][0] > 0
    differences = re.findall(r"(?:loss|gradients|logits) (\S+e[-+]\d+)", run.stdout)
    assert len(differences) >= 7
    assert all(float(difference) <= 1e-2 for difference in differences)

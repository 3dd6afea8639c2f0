"""Claims about the backbones, against plain torch modules that see one case at a time."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from millet.errors import UnknownNameError
from millet.nn import BACKBONES, POOLINGS, Backbone, MilletNetwork
from millet.nn.convolution import PADDINGS
from millet.nn.lite import PEAK_LENGTHS, TREND_LENGTHS, Lite, hand_made_filters
from naive_nn import AuthorsNetwork, copy_weights, matching_tensors

# A few lengths only: torch prepares every convolution anew for each shape. `test_convolution` tries all lengths.
LENGTHS = st.lists(st.sampled_from([1, 2, 7, 39, 60]), min_size=1, max_size=3)
CHANNELS = st.integers(1, 3)
EDGES = st.sampled_from(sorted(PADDINGS))
SEEDS = st.integers(0, 2**32 - 1)
each_backbone = pytest.mark.parametrize("backbone", sorted(BACKBONES))
each_padding = pytest.mark.parametrize("padding", sorted(PADDINGS))


@pytest.fixture(autouse=True, scope="module")
def gradients_of_our_own() -> Iterator[None]:
    """Small as the cases here are, take the ways that long ones take."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("millet.nn.convolution.FEW_TIMEPOINTS", 1)
        patch.setattr("millet.nn.spectral.FEWEST_BLOCKS", {"training": {1: 1}, "inference": {1: 1}})
        patch.setattr("millet.nn.spectral.SHORTEST", 7)
        yield


@functools.cache
def random_backbone(backbone: str, padding: str, n_channels: int) -> Backbone:
    """Return a backbone in inference mode whose batch statistics are not those of a new one."""
    with torch.random.fork_rng():
        torch.manual_seed(n_channels)
        module = BACKBONES[backbone](n_channels, padding=padding)
        for name, tensor in module.state_dict().items():
            if name.endswith("running_mean"):
                tensor.uniform_(-0.5, 0.5)
            elif name.endswith("running_var"):
                tensor.uniform_(0.5, 1.5)
    return module.eval()


def random_cases(lengths: list[int], n_channels: int, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(n_channels, length, generator=generator) for length in lengths]


def lay_together(cases: list[Tensor], beyond: float) -> tuple[Tensor, Tensor]:
    """Return (B, C, T) with the value `beyond` after each case's end, and lengths (B,)."""
    lengths = torch.tensor([case.shape[1] for case in cases])
    x = torch.full((len(cases), len(cases[0]), int(lengths.max())), beyond, dtype=cases[0].dtype)
    for row, case in zip(x, cases, strict=True):
        row[:, : case.shape[1]] = case
    return x, lengths


@each_backbone
@settings(max_examples=6, deadline=None)
@given(padding=EDGES, lengths=LENGTHS, n_channels=CHANNELS, pooling=st.sampled_from(sorted(POOLINGS)), seed=SEEDS)
def test_a_network_predicts_what_plain_torch_predicts_case_by_case(
    backbone, padding, lengths, n_channels, pooling, seed
):
    module = random_backbone(backbone, padding, n_channels)
    ours = MilletNetwork(n_channels, 3, module, pooling).eval()
    oracle = copy_weights(ours, AuthorsNetwork(backbone, pooling, n_channels, 3, padding))
    cases = random_cases(lengths, n_channels, seed)
    with torch.inference_mode():
        output = ours(*lay_together(cases, beyond=0.0))
        logits, scores = oracle(cases)
    torch.testing.assert_close(output.logits, logits, atol=1e-5, rtol=1e-5)
    for ours_of_case, expected in zip(output.scores, scores, strict=True):
        torch.testing.assert_close(ours_of_case[:, : expected.shape[1]], expected, atol=1e-5, rtol=1e-5)


@each_backbone
@settings(max_examples=3, deadline=None)
# Of short cases alone max-pooling and LITE's wide filters make constants, which are normalised to 0, where ReLU has
# no derivative.
@given(padding=EDGES, lengths=LENGTHS.filter(lambda lengths: max(lengths) >= 39), n_channels=CHANNELS, seed=SEEDS)
def test_a_training_step_on_a_padded_batch_is_plain_torchs_on_the_valid_timepoints(
    backbone, padding, lengths, n_channels, seed
):
    ours = MilletNetwork(n_channels, 2, backbone, padding=padding, positions=False, dropout=0.0).double()
    oracle = AuthorsNetwork(backbone, "conjunctive", n_channels, 2, padding, positions=False).double()
    copy_weights(ours, oracle)
    cases = [case.double() for case in random_cases(lengths, n_channels, seed)]
    output = ours(*lay_together(cases, beyond=1e3))
    logits, _ = oracle(cases)
    torch.testing.assert_close(output.logits, logits, atol=1e-6, rtol=1e-6)
    output.logits.square().sum().backward()
    logits.square().sum().backward()
    for our_tensor, their_tensor in matching_tensors(ours, oracle):
        torch.testing.assert_close(our_tensor, their_tensor, atol=1e-6, rtol=1e-6)  # running statistics among them
        if our_tensor.requires_grad:
            torch.testing.assert_close(our_tensor.grad, their_tensor.grad, atol=1e-6, rtol=1e-5)


@each_backbone
@each_padding
@settings(max_examples=2, deadline=None)
@given(lengths=LENGTHS, n_channels=CHANNELS, seed=SEEDS)
def test_a_padded_batch_is_embedded_as_each_case_alone(backbone, padding, lengths, n_channels, seed):
    module = random_backbone(backbone, padding, n_channels)
    cases = random_cases(lengths, n_channels, seed)
    with torch.inference_mode():
        together = module(*lay_together(cases, beyond=1e6))
        for case, z in zip(cases, together, strict=True):
            torch.testing.assert_close(z[:, : case.shape[1]], module(case[None])[0], atol=1e-5, rtol=1e-5)


@each_backbone
@each_padding
def test_training_on_cases_that_end_early_is_training_on_the_cut_cases(backbone, padding):
    torch.manual_seed(0)
    padded = BACKBONES[backbone](2, padding=padding).double()
    cut = copy.deepcopy(padded)
    x = torch.stack(random_cases([20, 20, 20], 2, seed=1)).double()
    longer = torch.nn.functional.pad(x, (0, 13), value=1e3)
    z, expected = padded(longer, torch.full((3,), 20))[:, :, :20], cut(x)
    torch.testing.assert_close(z, expected, atol=1e-7, rtol=1e-7)
    z.pow(2).sum().backward()
    expected.pow(2).sum().backward()
    for ours, theirs in zip(padded.parameters(), cut.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-6, rtol=1e-6)
    for ours, theirs in zip(padded.buffers(), cut.buffers(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-7, rtol=1e-7)


@each_backbone
@pytest.mark.parametrize("training", [False, True])
def test_what_stands_beyond_a_cases_end_changes_nothing(backbone, training):
    cases = random_cases([7, 41, 1, 30], 2, seed=3)
    embeddings, statistics = [], []
    for beyond in (0.0, 1e6, -1e6):
        module = BACKBONES[backbone](2).train(training)
        module.load_state_dict(random_backbone(backbone, "replicate", 2).state_dict())
        x, lengths = lay_together(cases, beyond)
        with torch.no_grad():
            embedded = module(x, lengths)
        embeddings.append([z[:, :length] for z, length in zip(embedded, lengths.tolist(), strict=True)])
        statistics.append(module.state_dict())
    for others, state in zip(embeddings[1:], statistics[1:], strict=True):
        for first, other in zip(embeddings[0], others, strict=True):
            torch.testing.assert_close(first, other, atol=1e-6, rtol=1e-6)
        for name, tensor in statistics[0].items():
            torch.testing.assert_close(state[name], tensor, atol=1e-6, rtol=1e-6)


@each_backbone
@pytest.mark.parametrize("n_timepoints", [1, 2, 39, 5001, 20000])
def test_any_length_is_embedded_timepoint_by_timepoint(backbone, n_timepoints):
    module = random_backbone(backbone, "replicate", 1)
    x = random_cases([n_timepoints], 1, seed=0)[0][None]
    with torch.inference_mode():
        z = module(x)
        assert z.shape == (1, module.d_out, n_timepoints)
        assert z.isfinite().all()
        # No kernel stack reaches further than 150 timepoints, so the first 100 can't know how long the series is.
        torch.testing.assert_close(module(x[:, :, :300])[:, :, :100], z[:, :, :100], atol=1e-5, rtol=1e-5)


@each_backbone
@pytest.mark.parametrize("n_timepoints", [1, 2])
def test_a_batch_of_one_short_case_can_be_trained_on(backbone, n_timepoints):
    network = MilletNetwork(1, 2, backbone, dropout=0.0)
    logits = network(torch.ones(1, 1, n_timepoints)).logits
    logits.sum().backward()
    assert logits.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in network.parameters())


@each_backbone
@each_padding
def test_only_padding_with_zeros_disturbs_a_constant_series(backbone, padding):
    with torch.inference_mode():
        z = random_backbone(backbone, padding, 1)(torch.full((1, 1, 150), 2.0))
    disturbance = float((z - z[:, :, 75:76]).abs().max())
    assert (disturbance > 0.01) == (padding == "zeros")


@pytest.mark.parametrize(("backbone", "plain", "attending"), [
    ("fcn", 265.6, 266.6),
    ("resnet", 504.9, 505.9),
    ("inceptiontime", 422.3, 423.3),
])  # fmt: skip
@pytest.mark.parametrize("pooling", sorted(POOLINGS))
def test_parameter_counts_are_the_papers_for_seven_classes(backbone, plain, attending, pooling):
    network = MilletNetwork(1, 7, backbone, pooling)
    thousands = sum(parameter.numel() for parameter in network.parameters()) / 1000
    assert round(thousands, 1) == (plain if pooling in ("gap", "instance") else attending)


@pytest.mark.parametrize("lengths", [None, [20, 13, 9]])
@each_backbone
def test_recomputing_changes_memory_alone(backbone, lengths, monkeypatch):
    steps = []
    for limit in (10**9, 1):
        monkeypatch.setattr("millet.nn.recomputation.RECOMPUTE_ABOVE", limit)
        steps.append(_one_step(backbone, lengths))
    (*expected, n_kept), (*again, n_kept_again) = steps
    torch.testing.assert_close(again, expected)
    assert n_kept_again < n_kept / 2


def _one_step(backbone: str, lengths: list[int] | None) -> tuple[Tensor, dict[str, Tensor], list[Tensor], int]:
    """Return loss, weights and statistics, gradients, and how many tensors were kept for them."""
    x = torch.randn(3, 1, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    kept: list[Tensor] = []

    def keep(value: Tensor) -> Tensor:
        kept.append(value)
        return value

    with torch.random.fork_rng(), torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
        torch.manual_seed(0)
        network = MilletNetwork(1, 2, backbone, dropout=0.0).double()
        loss = network(x, None if lengths is None else torch.tensor(lengths)).logits.square().sum()
    n_kept = len(kept)
    loss.backward()
    gradients = [parameter.grad for parameter in network.parameters()]
    return loss.detach(), network.state_dict(), gradients, n_kept


@each_backbone
def test_an_unknown_padding_is_refused(backbone):
    with pytest.raises(UnknownNameError, match="Did you mean 'circular'"):
        BACKBONES[backbone](1, padding="circlar")


def test_lites_hand_made_filters_have_the_shapes_it_names():
    filters = hand_made_filters()[:, 0]
    assert filters.shape == (2 * len(TREND_LENGTHS) + len(PEAK_LENGTHS), max(PEAK_LENGTHS))
    assert (filters != 0).sum(1).tolist() == [n for n in TREND_LENGTHS for _ in range(2)] + list(PEAK_LENGTHS)
    assert torch.allclose(filters.sum(1), torch.zeros(len(filters)), atol=1e-5)  # a level is no rise, fall or peak
    assert filters[0][filters[0] != 0].tolist() == [-1, 1]
    assert filters[-5][filters[-5] != 0].tolist() == [-1, -1, 2, 2, -1, -1]
    assert filters[-4][filters[-4] != 0].tolist() == [-0.25, -1, -1, -0.25, 0.5, 2, 2, 0.5, -0.25, -1, -1, -0.25]


def test_lites_filters_answer_to_their_shapes():
    rise, peak = torch.zeros(1, 1, 200), torch.zeros(1, 1, 200)
    rise[0, 0, 100:] = 1.0
    peak[0, 0, 98:102] = 1.0
    lite = Lite(1)
    of_rise, of_peak = lite._hand_made(rise, None)[0], lite._hand_made(peak, None)[0]
    assert of_rise[0].argmax() == 99
    assert of_rise[0].max() == 1  # from 0 to 1
    assert of_rise[1].max() == 0  # the fall's filter hears nothing in a rise
    assert of_peak[-4].max() == of_peak[-4][97:102].max() > of_rise[-4].max()

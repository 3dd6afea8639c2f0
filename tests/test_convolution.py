"""Claims about padding, convolution, max-pooling and batch normalisation of cases that end at different times."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from millet.errors import SeriesError, UnknownNameError
from millet.nn.backbones import valid_timepoints
from millet.nn.convolution import PADDINGS, SameConv1d, extend
from millet.nn.maximum import max_pool_3
from millet.nn.normalisation import ValidBatchNorm1d
from naive_nn import Norm, convolve_case, largest_neighbours, pad_case

QUICK = settings(max_examples=20, deadline=None)
LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=4)
CHANNELS = st.integers(1, 3)
KERNELS = st.integers(1, 41)
SEEDS = st.integers(0, 2**32 - 1)
GARBAGE = st.sampled_from([0.0, 1e6, -1e6])
each_padding = pytest.mark.parametrize("padding", sorted(PADDINGS))


@pytest.fixture(autouse=True, scope="module")
def gradients_of_our_own() -> Iterator[None]:
    """Small as the cases here are, take the ways that long ones take."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("millet.nn.convolution.FEW_TIMEPOINTS", 1)
        yield


def ragged_batch(
    lengths: list[int], n_channels: int, seed: int, garbage: float = 0.0, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """Return random values (B, C, T) with `garbage` beyond each case's end, and lengths (B,)."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(len(lengths), n_channels, max(lengths), generator=generator, dtype=dtype)
    ends = torch.tensor(lengths)
    beyond = torch.arange(x.shape[2]) >= ends[:, None]
    return torch.where(beyond[:, None], torch.full_like(x, garbage), x), ends


@each_padding
@QUICK
@given(lengths=LENGTHS, left=st.integers(0, 70), right=st.integers(0, 70), seed=SEEDS, garbage=GARBAGE)
def test_each_case_is_padded_at_its_own_ends_as_numpy_pads_it(padding, lengths, left, right, seed, garbage):
    x, ends = ragged_batch(lengths, 2, seed, garbage)
    extended = extend(x, left, right, ends, padding)
    assert extended.shape[2] == left + x.shape[2] + right
    assert extended.isfinite().all()
    for case, length, ours in zip(x, lengths, extended, strict=True):
        expected = pad_case(case[:, :length], left, right, padding)
        assert torch.equal(ours[:, : left + length + right], expected)


@each_padding
@QUICK
@given(length=st.integers(1, 60), left=st.integers(0, 70), right=st.integers(0, 70), seed=SEEDS)
def test_lengths_that_fill_the_batch_pad_as_no_lengths_do(padding, length, left, right, seed):
    x, ends = ragged_batch([length, length], 1, seed)
    assert torch.equal(extend(x, left, right, None, padding), extend(x, left, right, ends, padding))


@QUICK
@given(
    length=st.integers(1, 60), left=st.integers(0, 70), right=st.integers(0, 70), swapped=st.booleans(), seed=SEEDS
)
def test_replicated_edges_of_many_values_and_their_gradients_are_those_of_few(length, left, right, swapped, seed):
    x, _ = ragged_batch([length, length], 3, seed, dtype=torch.float64)
    weights = torch.randn(2, left + length + right, 3).transpose(1, 2) if swapped else 1.5
    found = []
    for many in (0, x.numel() + 1):
        given_x = x.clone().requires_grad_()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("millet.nn.convolution.MANY_VALUES", many)
            output = extend(given_x, left, right, None, "replicate")
        (output.square() * weights).sum().backward()
        found.append((output.detach(), given_x.grad))
    torch.testing.assert_close(*found)


@each_padding
@QUICK
@given(lengths=LENGTHS, n_in=CHANNELS, n_out=CHANNELS, kernel_size=KERNELS, seed=SEEDS, garbage=GARBAGE)
def test_convolution_agrees_with_the_loop_over_each_case(padding, lengths, n_in, n_out, kernel_size, seed, garbage):
    x, ends = ragged_batch(lengths, n_in, seed, garbage)
    convolution = SameConv1d(n_in, n_out, kernel_size, padding)
    with torch.no_grad():
        output = convolution(x, ends)
        weight, bias = convolution.weight.numpy(), convolution.bias.numpy()
    assert output.shape == (len(lengths), n_out, max(lengths))
    for case, length, ours in zip(x.numpy(), lengths, output.numpy(), strict=True):
        expected = convolve_case(case[:, :length], weight, bias, padding)
        np.testing.assert_allclose(ours[:, :length], expected, atol=1e-5)


@each_padding
@QUICK
@given(length=st.integers(1, 60), n_in=CHANNELS, kernel_size=KERNELS, seed=SEEDS)
def test_convolution_of_equal_lengths_is_torchs_wherever_torch_has_it(padding, length, n_in, kernel_size, seed):
    x, _ = ragged_batch([length, length], n_in, seed)
    ours = SameConv1d(n_in, 2, kernel_size, padding)
    reference = nn.Conv1d(n_in, 2, kernel_size, padding="same", padding_mode=padding)
    reference.load_state_dict(ours.state_dict())
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch remarks that an even kernel copies the input
        try:
            expected = reference(x)
        except RuntimeError:  # reflect and circular stop where the kernel is longer than the series
            assert padding in ("reflect", "circular")
            assert kernel_size // 2 >= length - 1
            return
        torch.testing.assert_close(ours(x), expected, atol=1e-5, rtol=1e-5)


@each_padding
@settings(max_examples=15, deadline=None)
@given(lengths=LENGTHS, kernel_size=st.sampled_from([1, 2, 3, 8, 41]), seed=SEEDS, garbage=GARBAGE)
def test_gradients_of_the_convolution_are_those_of_each_case_alone(padding, lengths, kernel_size, seed, garbage):
    x, ends = ragged_batch(lengths, 2, seed, garbage, torch.float64)
    convolution = SameConv1d(2, 2, kernel_size, padding).double()
    together, alone = x.clone().requires_grad_(), x.clone().requires_grad_()
    inside = valid_timepoints(ends, x.shape[2])
    (convolution(together, ends).square() * inside).sum().backward()
    weight_gradient = convolution.weight.grad.clone()
    convolution.zero_grad()
    sum(convolution(case[None, :, :end]).square().sum() for case, end in zip(alone, lengths, strict=True)).backward()
    torch.testing.assert_close(together.grad * inside, alone.grad)
    torch.testing.assert_close(weight_gradient, convolution.weight.grad)
    assert (together.grad * ~inside == 0).all()


@each_padding
@settings(max_examples=10, deadline=None)
@given(
    lengths=LENGTHS,
    kernel_size=st.sampled_from([1, 8, 20, 41]),
    dilation=st.integers(1, 4),
    depthwise=st.booleans(),
    bias=st.booleans(),
    seed=SEEDS,
)
def test_wide_and_dilated_convolutions_and_their_gradients_are_torchs(
    padding, lengths, kernel_size, dilation, depthwise, bias, seed
):
    n_channels = 9
    ours = SameConv1d(
        n_channels,
        n_channels,
        kernel_size,
        padding,
        dilation=dilation,
        groups=n_channels if depthwise else 1,
        bias=bias,
    ).double()
    cases, ends = ragged_batch(lengths, n_channels, seed, 1e3, torch.float64)
    x, alone = cases.clone().requires_grad_(), cases.clone().requires_grad_()
    inside = valid_timepoints(ends, x.shape[2])
    (ours(x, ends).square() * inside).sum().backward()
    gradients = [parameter.grad for parameter in ours.parameters()]
    ours.zero_grad()
    reach = (kernel_size - 1) * dilation
    total = torch.zeros((), dtype=torch.float64)
    for case, length in zip(alone, lengths, strict=True):
        padded = pad_case(case[:, :length], reach // 2, reach - reach // 2, padding)
        total = total + F.conv1d(padded[None], ours.weight, ours.bias, 1, 0, dilation, ours.groups).square().sum()
    total.backward()
    torch.testing.assert_close(x.grad, alone.grad)
    for ours_gradient, parameter in zip(gradients, ours.parameters(), strict=True):
        torch.testing.assert_close(ours_gradient, parameter.grad)


def test_an_unknown_padding_is_refused_with_a_suggestion():
    with pytest.raises(UnknownNameError, match="Did you mean 'replicate'"):
        SameConv1d(1, 1, 3, "replicat")
    with pytest.raises(UnknownNameError, match="known: circular, reflect, replicate, zeros"):
        extend(torch.zeros(1, 1, 4), 1, 1, None, "same")


@QUICK
@given(lengths=LENGTHS, n_channels=CHANNELS, seed=SEEDS, garbage=GARBAGE)
def test_max_pooling_sees_neighbours_inside_the_case_alone(lengths, n_channels, seed, garbage):
    x, ends = ragged_batch(lengths, n_channels, seed, garbage)
    pooled = max_pool_3(x, ends)
    assert pooled.shape == x.shape
    for case, length, ours in zip(x.numpy(), lengths, pooled.numpy(), strict=True):
        np.testing.assert_array_equal(ours[:, :length], largest_neighbours(case[:, :length]))


def test_max_pooling_of_negative_values_does_not_invent_a_zero():
    assert max_pool_3(torch.tensor([[[-3.0, -2.0, -5.0, -7.0]]])).tolist() == [[[-2.0, -2.0, -2.0, -5.0]]]


@QUICK
@given(n_timepoints=st.integers(1, 12), n_values=st.integers(1, 4), seed=SEEDS)
def test_max_pooling_gives_the_gradient_to_the_leftmost_of_equal_values(n_timepoints, n_values, seed):
    generator = torch.Generator().manual_seed(seed)
    # Few distinct values make many ties.
    x = torch.randint(n_values, (3, 2, n_timepoints), generator=generator).double()
    theirs, ours = x.clone().requires_grad_(), x.clone().requires_grad_()
    weight = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    expected = nn.functional.max_pool1d(theirs, 3, stride=1, padding=1)
    pooled = max_pool_3(ours)
    assert torch.equal(pooled, expected)
    (expected * weight).sum().backward()
    (pooled * weight).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_asking_for_a_second_derivative_is_refused():
    x = torch.randn(1, 1, 9, requires_grad=True)
    (slope,) = torch.autograd.grad(max_pool_3(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def random_norm(kind: type[nn.BatchNorm1d], seed: int) -> nn.BatchNorm1d:
    generator = torch.Generator().manual_seed(seed)
    norm = kind(2).double()
    for tensor in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
        tensor.data.uniform_(0.5, 1.5, generator=generator)
    return norm


@QUICK
@given(
    lengths=LENGTHS.filter(lambda lengths: sum(lengths) > 1), seed=SEEDS, garbage=GARBAGE, n_steps=st.integers(1, 2)
)
def test_batch_statistics_count_valid_timepoints_alone(lengths, seed, garbage, n_steps):
    ours, oracle = random_norm(ValidBatchNorm1d, seed), random_norm(Norm, seed)
    x, ends = ragged_batch(lengths, 2, seed, garbage, torch.float64)
    inside = valid_timepoints(ends, x.shape[2])
    x.requires_grad_()
    alone = [case[:, :length].detach().clone().requires_grad_() for case, length in zip(x, lengths, strict=True)]
    for _ in range(n_steps):
        output, expected = ours(x, inside), oracle(alone)
    (output.pow(3) * inside).sum().backward()
    sum(case.pow(3).sum() for case in expected).backward()
    for position, length in enumerate(lengths):
        torch.testing.assert_close(output[position, :, :length], expected[position], atol=1e-7, rtol=1e-7)
        torch.testing.assert_close(x.grad[position, :, :length], alone[position].grad, atol=1e-7, rtol=1e-7)
        assert (x.grad[position, :, length:] == 0).all()
    for name, tensor in oracle.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], tensor, atol=1e-7, rtol=1e-7)
    torch.testing.assert_close(ours.weight.grad, oracle.weight.grad, atol=1e-7, rtol=1e-7)
    torch.testing.assert_close(ours.bias.grad, oracle.bias.grad, atol=1e-7, rtol=1e-7)


@QUICK
@given(lengths=LENGTHS, seed=SEEDS, garbage=GARBAGE)
def test_inference_uses_the_stored_statistics_and_leaves_them_alone(lengths, seed, garbage):
    norm = random_norm(ValidBatchNorm1d, seed).eval()
    before = {name: tensor.clone() for name, tensor in norm.state_dict().items()}
    x, ends = ragged_batch(lengths, 2, seed, garbage, torch.float64)
    inside = valid_timepoints(ends, x.shape[2])
    scale = norm.weight / (norm.running_var + norm.eps).sqrt()
    expected = (x - norm.running_mean[:, None]) * scale[:, None] + norm.bias[:, None]
    assert torch.allclose(norm(x, inside) * inside, expected * inside)
    assert all(torch.equal(tensor, before[name]) for name, tensor in norm.state_dict().items())


@pytest.mark.parametrize("told", [False, True])
def test_a_single_timepoint_normalises_to_the_bias(told):
    norm = random_norm(ValidBatchNorm1d, 0)
    mean, variance = norm.running_mean.clone(), norm.running_var.clone()
    x = torch.tensor([[[5.0], [-7.0]]], dtype=torch.float64, requires_grad=True)
    output = norm(x, torch.ones(1, 1, 1, dtype=torch.bool) if told else None)
    output.sum().backward()
    assert torch.equal(output[0, :, 0], norm.bias)
    torch.testing.assert_close(norm.running_mean, 0.9 * mean + 0.1 * x[0, :, 0].detach())
    torch.testing.assert_close(norm.running_var, 0.9 * variance)  # one value has no spread
    assert (x.grad == 0).all()


@pytest.mark.parametrize("kernel_size", [10, 40])
def test_gradients_under_autocast_are_those_of_single_precision_to_bf16(kernel_size):
    torch.manual_seed(0)
    convolution = SameConv1d(16, 16, kernel_size, "replicate")
    x = torch.randn(2, 16, 60, requires_grad=True)
    gradients = []
    for lower in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=lower):
            loss = convolution(x).float().square().mean()
        gradients.append(torch.autograd.grad(loss, [x, convolution.weight, convolution.bias]))
    for exact, rounded in zip(*gradients, strict=True):
        assert rounded.dtype == exact.dtype
        assert torch.allclose(rounded, exact, atol=0.05 * exact.abs().max().item())


@pytest.mark.parametrize("n_timepoints", [7, 60, 61])
@pytest.mark.parametrize(
    ("kernel_size", "dilation", "groups"),
    [(8, 1, 1), (10, 1, 1), (25, 1, 1), (40, 1, 1), (9, 2, 1), (20, 2, 16), (10, 4, 16)],
)
def test_gradients_are_those_of_torch(kernel_size, dilation, groups, n_timepoints):
    torch.manual_seed(0)
    ours = SameConv1d(16, 16, kernel_size, "zeros", dilation=dilation, groups=groups).double()
    reach = (kernel_size - 1) * dilation
    x = torch.randn(3, 16, n_timepoints, dtype=torch.float64, requires_grad=True)
    padded = torch.nn.functional.pad(x, (reach // 2, reach - reach // 2))
    plain = torch.nn.functional.conv1d(padded, ours.weight, ours.bias, dilation=dilation, groups=groups)
    wanted = torch.autograd.grad(plain.sin().sum(), [x, ours.weight, ours.bias])
    came = torch.autograd.grad(ours(x).sin().sum(), [x, ours.weight, ours.bias])
    for one, other in zip(came, wanted, strict=True):
        assert torch.allclose(one, other, atol=1e-10)


def test_a_second_derivative_is_refused_rather_than_wrong():
    convolution = SameConv1d(8, 8, 9, "replicate")
    x = torch.randn(1, 8, 20, requires_grad=True)
    (first,) = torch.autograd.grad(convolution(x).square().sum(), [x], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


@each_padding
@settings(max_examples=10, deadline=None)
@given(
    lengths=LENGTHS,
    kernel_size=st.integers(2, 21),
    dilation=st.integers(1, 4),
    channels_and_groups=st.sampled_from([(1, 5, 1), (3, 6, 3), (4, 4, 4)]),
    seed=SEEDS,
)
def test_kernels_of_a_single_channel_and_their_gradients_are_torchs(
    padding, lengths, kernel_size, dilation, channels_and_groups, seed
):
    n_in, n_out, groups = channels_and_groups
    ours = SameConv1d(n_in, n_out, kernel_size, padding, dilation=dilation, groups=groups).double()
    cases, ends = ragged_batch(lengths, n_in, seed, 1e3, torch.float64)
    x = cases.clone().requires_grad_()
    inside = valid_timepoints(ends, x.shape[2])
    came = ours(x, ends) * inside
    reach = (kernel_size - 1) * dilation
    for case, length, found in zip(x, lengths, came, strict=True):
        padded = pad_case(case[:, :length], reach // 2, reach - reach // 2, padding)
        wanted = F.conv1d(padded[None], ours.weight, ours.bias, 1, 0, dilation, groups)[0]
        torch.testing.assert_close(found[:, :length], wanted)
        sources = [x, ours.weight, ours.bias]
        gradients = torch.autograd.grad(found.square().sum(), sources, retain_graph=True)
        for gradient, oracle in zip(gradients, torch.autograd.grad(wanted.square().sum(), sources), strict=True):
            torch.testing.assert_close(gradient, oracle)


@pytest.mark.parametrize("shape", [(1, 3, 10), (1, 8, 10), (4, 10)])
def test_kernels_of_a_single_channel_refuse_other_channels(shape):
    with pytest.raises(SeriesError, match=r"x must be \(n_cases, 4, n_timepoints\)"):
        SameConv1d(4, 8, 5, "replicate", groups=4)(torch.zeros(shape))


@pytest.mark.parametrize("lengths", [[0, 3], [2, 11]])
def test_kernels_of_a_single_channel_refuse_lengths_out_of_bounds(lengths):
    with pytest.raises(SeriesError, match="Lengths must lie between 1 and 10"):
        SameConv1d(4, 8, 5, "replicate", groups=4)(torch.zeros(2, 4, 10), torch.tensor(lengths))

"""Compiled loops: bfloat16 as torch rounds it, and the same results on however many threads."""

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from millet.compiled import compiled
from millet.nn import loops, normalisation
from millet.nn.loops import array_of, narrow, share, wide
from millet.nn.maximum import max_pool_3
from millet.nn.normalisation import ValidBatchNorm1d
from millet.nn.single import convolve_single

QUICK = settings(max_examples=30, deadline=None)
PRECISIONS = [torch.float64, torch.float32, torch.bfloat16]


@pytest.fixture(autouse=True, scope="module")
def loops_for_few_values() -> Iterator[None]:
    """Small as the tensors here are, take the ways that large ones take."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(normalisation, "WORTH_LOOPING", 1)
        yield


@compiled
def lowered(values, out):
    for position in range(values.size):
        out[position] = narrow(values[position], out)


@compiled
def raised(values, out):
    for position in range(values.size):
        out[position] = wide(values[position])


@QUICK
@given(values=st.lists(st.floats(width=32), min_size=1, max_size=20))
def test_bfloat16_is_rounded_and_read_as_by_torch(values):
    single = torch.tensor(values, dtype=torch.float32)
    expected = single.bfloat16()
    ours = torch.empty_like(expected)
    lowered(array_of(single), array_of(ours))
    torch.testing.assert_close(ours, expected, rtol=0, atol=0, equal_nan=True)
    back = torch.empty_like(single)
    raised(array_of(expected), array_of(back))
    torch.testing.assert_close(back, expected.float(), rtol=0, atol=0, equal_nan=True)


@pytest.fixture
def three_threads(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(loops, "WORTH_SHARING", 1)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 7])
def test_threads_share_all_rows_and_do_none_twice(three_threads, n_rows):
    seen = np.zeros(n_rows, dtype=int)

    def count(first: int, stop: int) -> None:
        seen[first:stop] += 1

    share(count, n_rows, n_rows)
    assert (seen == 1).all()


@pytest.mark.skipif(not list((Path(torch.__file__).parent / "lib").glob("libgomp*")), reason="other threads")
def test_torchs_own_threads_take_part(three_threads):
    seen = set()
    share(lambda first, stop: seen.add((threading.get_ident(), first, stop)), 3, 3)
    assert sorted((first, stop) for _, first, stop in seen) == [(0, 1), (1, 2), (2, 3)]
    assert len({thread for thread, _, _ in seen}) == 3


def test_rows_that_a_signal_kept_from_being_done_are_noticed(three_threads, monkeypatch):
    def lose_a_part(work, *_):
        work(None)  # of the three that there should be

    team = loops._Team(lose_a_part, lambda: 0, lambda: 3)
    monkeypatch.setattr(loops, "_team", lambda: team)
    with pytest.raises(KeyboardInterrupt):
        share(lambda first, stop: None, 3, 3)


def test_an_error_in_a_thread_comes_out(three_threads):
    def fail(first: int, stop: int) -> None:
        raise ValueError(f"rows {first} to {stop}")

    with pytest.raises(ValueError, match="rows"):
        share(fail, 3, 3)


def test_where_torch_has_other_threads_one_does_it_all(three_threads, monkeypatch):
    monkeypatch.setattr(loops, "_openmp_of_torch", lambda: "no such library")
    loops._team.cache_clear()
    seen: list[tuple[int, int]] = []
    try:
        share(lambda first, stop: seen.append((first, stop)), 5, 5)
    finally:
        loops._team.cache_clear()
    assert seen == [(0, 5)]


def with_gradients(compute, *inputs: Tensor) -> list[Tensor]:
    inputs = tuple(tensor.detach().clone().requires_grad_() for tensor in inputs)
    output = compute(*inputs)
    return [output.detach(), *torch.autograd.grad(output, inputs, torch.cos(output.detach()))]


def norm_like(weight: Tensor, bias: Tensor) -> ValidBatchNorm1d:
    norm = ValidBatchNorm1d(len(weight)).to(weight.dtype)
    del norm.weight, norm.bias
    norm.weight, norm.bias = weight, bias
    return norm


@QUICK
@given(
    n_cases=st.integers(1, 4),
    n_channels=st.integers(1, 5),
    n_timepoints=st.integers(2, 40),
    level=st.sampled_from([0.0, 100.0]),
    relu=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_normalisation_is_that_of_torch(n_cases, n_channels, n_timepoints, level, relu, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n_cases, n_channels, n_timepoints, generator=generator, dtype=torch.float64) + level
    weight, bias = torch.randn(2, n_channels, generator=generator, dtype=torch.float64)

    def plainly(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        normal = F.batch_norm(x, None, None, weight, bias, training=True)
        return F.relu(normal) if relu else normal

    ours = with_gradients(lambda x, weight, bias: norm_like(weight, bias)(x, relu=relu), x, weight, bias)
    torch.testing.assert_close(ours, with_gradients(plainly, x, weight, bias), atol=1e-7, rtol=1e-7)


def test_few_values_are_counted_as_many_are(monkeypatch):
    x = torch.randn(3, 7, 50, dtype=torch.float64)
    looping, not_looping = ValidBatchNorm1d(7).double(), ValidBatchNorm1d(7).double()
    looping(x, relu=True)
    monkeypatch.setattr(normalisation, "WORTH_LOOPING", x.numel() + 1)
    monkeypatch.setattr(normalisation._Normalisation, "apply", None)
    not_looping(x, relu=True)
    torch.testing.assert_close(looping.state_dict(), not_looping.state_dict())


@pytest.mark.parametrize("group_bytes", [1, 1500])
def test_groups_of_channels_change_nothing(group_bytes, monkeypatch):
    x = torch.randn(3, 7, 50)
    expected = ValidBatchNorm1d(7)(x, relu=True)
    monkeypatch.setattr(normalisation, "GROUP_BYTES", group_bytes)
    assert torch.equal(ValidBatchNorm1d(7)(x, relu=True), expected)


def test_a_level_far_above_the_spread_is_taken_off_before_squares_are_added():
    x = torch.randn(4, 1, 1000) * 0.01 + 1000
    exact = F.batch_norm(x.double(), None, None, training=True)
    assert (ValidBatchNorm1d(1)(x) - exact).abs().max() < 0.05  # x itself is known to 6e-5, the spread is 0.01


@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_is_not_a_number_stays_so(precision):
    x = torch.randn(2, 3, 9).to(precision)
    x[1, 1, 4] = torch.nan
    assert ValidBatchNorm1d(3).to(torch.promote_types(precision, torch.float32))(x, relu=True)[:, 1].isnan().all()
    assert max_pool_3(x)[1, 1, 4].isnan()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_infinite_values_leave_the_gradients_of_others_alone(precision):
    x = torch.tensor([[[-torch.inf, 2.0, 1.0, 0.0]], [[1.0, 3.0, 2.0, 5.0]]]).to(precision)
    ours = with_gradients(max_pool_3, x)
    theirs = with_gradients(lambda x: F.max_pool1d(x, 3, stride=1, padding=1), x)
    torch.testing.assert_close(ours, theirs)


def loops_of(precision: torch.dtype) -> list[Tensor]:
    """Return what every loop makes of some series in a precision, and its gradients."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 6, 70, generator=generator).bfloat16().to(precision)  # the same in all
    real = torch.promote_types(precision, torch.float32)
    weight, bias = torch.randn(2, 6, generator=generator).to(real)
    kernels = torch.randn(12, 1, 5, generator=generator).to(real)
    ends = torch.tensor([70, 41, 3])
    return [
        *with_gradients(lambda x, weight, bias: norm_like(weight, bias)(x, relu=True), x, weight, bias),
        *with_gradients(max_pool_3, x),
        *with_gradients(lambda x, kernels: convolve_single(x, kernels, 70, 2, 4, ends), x, kernels),
    ]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_threads_change_nothing(precision, three_threads):
    shared = loops_of(precision)
    torch.set_num_threads(1)
    assert all(torch.equal(one, other) for one, other in zip(shared, loops_of(precision), strict=True))


@pytest.mark.parametrize(("precision", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.02)])
def test_lower_precisions_are_as_good_as_they_can_be(precision, tolerance):
    for found, exact in zip(loops_of(precision), loops_of(torch.float64), strict=True):
        assert (found.double() - exact).norm() <= tolerance * exact.norm()

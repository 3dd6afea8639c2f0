"""Convolutions by way of spectra: the sums that the direct way takes, whatever the lengths and the cuts."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from millet.nn import spectral
from millet.nn.convolution import PADDINGS, Affine, SameConv1d
from millet.nn.spectral import convolve_together, cut_for

QUICK = settings(max_examples=30, deadline=None)


@pytest.fixture(autouse=True, scope="module")
def always_spectral() -> Iterator[None]:
    """Take the way of spectra for small cases, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spectral, "FEWEST_BLOCKS", {"training": {1: 1}, "inference": {1: 1}})
        patch.setattr(spectral, "SHORTEST", 1)
        yield


def directly(convolutions: list[SameConv1d], x: Tensor, lengths: Tensor | None, afters=None) -> Tensor:
    afters = afters or [None] * len(convolutions)
    return torch.cat([one(x, lengths, after) for one, after in zip(convolutions, afters, strict=True)], dim=1)


def random_convolutions(kernel_sizes: list[int], padding: str, seed: int) -> list[SameConv1d]:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return [SameConv1d(8, 3, kernel_size, padding).double() for kernel_size in kernel_sizes]


@QUICK
@given(
    lengths=st.lists(st.integers(1, 260), min_size=1, max_size=3),
    kernel_sizes=st.lists(st.integers(1, 41), min_size=1, max_size=3),
    padding=st.sampled_from(sorted(PADDINGS)),
    seed=st.integers(0, 2**32 - 1),
)
def test_spectra_give_the_results_and_gradients_of_the_direct_way(lengths, kernel_sizes, padding, seed):
    convolutions = random_convolutions(kernel_sizes, padding, seed)
    generator = torch.Generator().manual_seed(seed)
    ends = torch.tensor(lengths)
    x = torch.randn(len(lengths), 8, max(lengths), generator=generator, dtype=torch.float64)
    inside = (torch.arange(max(lengths)) < ends[:, None])[:, None]
    weight = torch.randn(len(lengths), 3 * len(kernel_sizes), max(lengths), generator=generator).double() * inside
    results = []
    for way in (convolve_together, directly):
        values = x.clone().requires_grad_()
        convolved = way(convolutions, values, ends if min(lengths) < max(lengths) else None)
        parameters = [parameter for one in convolutions for parameter in one.parameters()]
        gradients = torch.autograd.grad((convolved * weight).sum(), [values, *parameters])
        results.append([convolved * inside, *gradients])
    torch.testing.assert_close(*results, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("n_timepoints", [50, 61, 200])
def test_a_scale_and_a_shift_are_applied_to_the_result(n_timepoints):
    convolutions = random_convolutions([10, 5], "replicate", seed=0)
    x = torch.randn(2, 8, n_timepoints, dtype=torch.float64)
    afters = [Affine(torch.tensor([2.0, -1.0, 0.5]), torch.tensor([1.0, 0.0, -3.0])) for _ in convolutions]
    with torch.no_grad():
        torch.testing.assert_close(
            convolve_together(convolutions, x, None, afters), directly(convolutions, x, None, afters)
        )


def test_single_precision_is_as_good_as_the_direct_way():
    convolutions = random_convolutions([10, 20, 40], "replicate", seed=1)
    x = torch.randn(4, 8, 500)
    with torch.no_grad():
        exact = directly(convolutions, x.double(), None)
        for one in convolutions:
            one.float()
        errors = [(way(convolutions, x, None) - exact).abs().max() for way in (convolve_together, directly)]
    assert errors[0] < 3e-6 * exact.abs().max()
    assert errors[0] < 10 * errors[1]


@pytest.mark.parametrize("n_timepoints", [1, 39, 60, 61, 1000, 100_000])
@pytest.mark.parametrize("n_taps", [1, 40])
def test_blocks_cover_the_series_and_fit_their_transforms(n_timepoints, n_taps):
    cut = cut_for(n_timepoints, n_taps)
    assert cut.n_blocks * cut.hop >= n_timepoints
    assert cut.size >= cut.hop + n_taps - 1
    assert cut.size % 2 == 0


def test_spectra_are_left_alone_where_they_do_not_pay(monkeypatch):
    monkeypatch.setattr(spectral, "FEWEST_BLOCKS", {"training": {20: 8, 8: 128}, "inference": {20: 24}})
    monkeypatch.setattr(spectral, "SHORTEST", 32)
    monkeypatch.setattr(spectral._SpectralConvolution, "apply", lambda *_: pytest.fail("took the way of spectra"))
    convolutions = random_convolutions([10], "replicate", seed=0)
    convolve_together(convolutions, torch.randn(8, 8, 31).double(), None)
    convolve_together(convolutions, torch.randn(3, 8, 50).double(), None)
    for one in convolutions:
        one.to(torch.float16)
    convolve_together(convolutions, torch.randn(6, 8, 300).to(torch.float16), None)


def test_bfloat16_is_about_as_good_as_the_direct_way():
    convolutions = random_convolutions([10, 20, 40], "replicate", seed=1)
    x = torch.randn(4, 8, 300, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def outcome(way, precision: torch.dtype | None) -> list[Tensor]:
        for one in convolutions:
            one.double() if precision is None else one.float()
        values = x.clone().requires_grad_() if precision is None else x.float().requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision is not None):
            convolved = way(convolutions, values, None)
        parameters = [one.weight for one in convolutions]
        gradients = torch.autograd.grad(convolved, [values, *parameters], torch.cos(convolved.detach()))
        return [part.detach().double() for part in (convolved, *gradients)]

    exact = outcome(directly, None)
    spectral_errors, direct_errors = (
        [
            float((found - wanted).norm() / wanted.norm())
            for found, wanted in zip(outcome(way, torch.bfloat16), exact, strict=True)
        ]
        for way in (convolve_together, directly)
    )
    assert max(spectral_errors) < 0.02
    assert all(ours < 3 * theirs for ours, theirs in zip(spectral_errors, direct_errors, strict=True))


def test_asking_for_a_second_derivative_is_refused():
    convolutions = random_convolutions([5], "zeros", seed=0)
    x = torch.randn(2, 8, 30, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(convolve_together(convolutions, x, None).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


@pytest.mark.slow
def test_results_and_gradients_hold_on_cpus_without_wide_vectors():
    plain_cpu = {**os.environ, "ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}
    chosen = [__file__, str(Path(__file__).with_name("test_convolution.py")), "-k", "gradients and not wide_vectors"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--no-cov", "-p", "no:xdist", "-p", "no:cacheprovider", *chosen],
        env=plain_cpu,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    assert " passed" in ran.stdout

"""Claims about the five poolings: the paper's equations by hand, evidence that adds up, and the cost it states."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from millet.errors import UnknownNameError
from millet.nn import POOLINGS, pooling_multiplications
from toys import ATTENTION, toy_bag, toy_pooling

QUICK = settings(max_examples=25, deadline=None)
each_pooling = pytest.mark.parametrize("pooling", sorted(POOLINGS))
ADDING_UP = ("additive", "conjunctive", "gap", "instance")

# Worked out on paper from the numbers in `toys`: y = W z + b is (6, 2, 9) and (-4, -3, -6).
LOGITS = {
    "gap": [17 / 3, -13 / 3],  # W (0, 7/3) + b
    "attention": [11 / 3, -13 / 4],  # W (1/6, 5/4) + b
    "instance": [17 / 3, -13 / 3],  # the mean of y
    "additive": [11 / 3, -13 / 4],  # the mean of W (a z) + b = (4.75, 1.25, 5) and (-3.5, -2.25, -4)
    "conjunctive": [19 / 6, -9 / 4],  # the mean of a y
}
SCORES = {
    "gap": [[5, 1, 8], [-2, -1, -4]],  # W z
    "attention": [ATTENTION, ATTENTION],
    "instance": [[6, 2, 9], [-4, -3, -6]],
    "additive": [[4.75 * 3 / 4, 1.25 / 4, 5 / 2], [-3.5 * 3 / 4, -2.25 / 4, -4 / 2]],
    "conjunctive": [[4.5, 0.5, 4.5], [-3, -0.75, -3]],
}
CONTRIBUTIONS = {
    "gap": SCORES["gap"],
    "attention": None,
    "instance": SCORES["instance"],
    "additive": [[4.75, 1.25, 5], [-3.5, -2.25, -4]],
    "conjunctive": SCORES["conjunctive"],
}
BIAS = {"gap": [1, -2], "attention": None, "instance": [0, 0], "additive": [0, 0], "conjunctive": [0, 0]}


def random_bags(sizes: list[int], d_in: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return embeddings (B, T, D) with large values outside each bag, and `valid` (B, T)."""
    z = torch.randn(len(sizes), max(sizes), d_in, generator=torch.Generator().manual_seed(seed))
    valid = torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]
    return torch.where(valid[:, :, None], z, torch.full_like(z, -1e6)), valid


def assert_values(tensor: Tensor | None, expected: Any) -> None:
    if expected is None:
        assert tensor is None
    else:
        assert tensor is not None
        torch.testing.assert_close(tensor, torch.tensor(expected, dtype=torch.float32))


@each_pooling
@torch.no_grad()
def test_three_timepoints_pool_to_what_the_paper_says_by_hand(pooling):
    output = toy_pooling(POOLINGS[pooling])(toy_bag())
    assert_values(output.logits[0], LOGITS[pooling])
    assert_values(output.scores[0], SCORES[pooling])
    assert_values(None if output.contributions is None else output.contributions[0], CONTRIBUTIONS[pooling])
    assert_values(output.bias, BIAS[pooling])
    attends = pooling in ("attention", "additive", "conjunctive")
    assert_values(None if output.attention is None else output.attention[0], ATTENTION if attends else None)


@each_pooling
@torch.no_grad()
def test_a_bag_in_a_larger_batch_pools_as_by_hand_and_has_no_evidence_outside(pooling):
    outside = torch.full((1, 2, 2), 1e6)
    z = torch.cat([torch.cat([toy_bag(), outside], dim=1), torch.randn(1, 5, 2)])
    valid = torch.tensor([[True, True, True, False, False], [True] * 5])
    output = toy_pooling(POOLINGS[pooling])(z, valid)
    assert_values(output.logits[0], LOGITS[pooling])
    assert_values(output.scores[0, :, :3], SCORES[pooling])
    for evidence in (output.scores, output.contributions, output.attention):
        assert evidence is None or (evidence[0, ..., 3:] == 0).all()


@pytest.mark.parametrize("pooling", ADDING_UP)
@QUICK
@given(sizes=st.lists(st.integers(1, 60), min_size=1, max_size=4), seed=st.integers(0, 1000))
@torch.no_grad()
def test_contributions_average_to_the_logits(pooling, sizes, seed):
    z, valid = random_bags(sizes, 16, seed)
    output = POOLINGS[pooling](16, 3)(z, valid)
    own_mean = output.contributions.sum(2) / torch.tensor(sizes)[:, None]
    torch.testing.assert_close(own_mean + output.bias, output.logits, atol=1e-5, rtol=1e-5)


@QUICK
@given(seed=st.integers(0, 1000))
@torch.no_grad()
def test_scores_are_the_contributions_but_for_additive_and_attention(seed):
    z, valid = random_bags([5, 9], 16, seed)
    for name in ("gap", "instance", "conjunctive"):
        output = POOLINGS[name](16, 3)(z, valid)
        assert torch.equal(output.scores, output.contributions)
    output = POOLINGS["additive"](16, 3)(z, valid)
    torch.testing.assert_close(output.scores, output.attention[:, None] * output.contributions)


@each_pooling
@QUICK
@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=4), seed=st.integers(0, 1000))
@torch.no_grad()
def test_bags_of_several_sizes_pool_as_each_alone(pooling, sizes, seed):
    z, valid = random_bags(sizes, 16, seed)
    module = POOLINGS[pooling](16, 3)
    together = module(z, valid)
    for position, size in enumerate(sizes):
        alone = module(z[position : position + 1, :size])
        torch.testing.assert_close(together.logits[position], alone.logits[0], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(together.scores[position, :, :size], alone.scores[0], atol=1e-5, rtol=1e-5)


@each_pooling
@torch.no_grad()
def test_the_order_of_a_bag_changes_its_evidence_alone(pooling):
    module, z = POOLINGS[pooling](16, 3), torch.randn(2, 10, 16)
    forward, backward = module(z), module(z.flip(1))
    torch.testing.assert_close(forward.logits, backward.logits)
    torch.testing.assert_close(forward.scores, backward.scores.flip(2))


@pytest.mark.parametrize("pooling", ["additive", "attention", "conjunctive"])
@torch.no_grad()
def test_attention_lies_between_0_and_1_and_need_not_sum_to_1(pooling):
    attention = POOLINGS[pooling](4, 2)(1e4 * torch.randn(3, 50, 4)).attention
    assert ((attention >= 0) & (attention <= 1)).all()
    assert (attention.sum(1) > 1.5).any()


class CountMultiplications(TorchDispatchMode):
    """Counts real multiplications as the paper does: products, weighting and averaging; activations are free."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name in ("mm", "bmm", "addmm"):
            left, right = args[-2:]
            self.count += left.numel() * right.shape[-1]
        elif name == "mul":
            self.count += output.numel()
        elif name in ("mean", "sum"):
            self.count += args[0].numel()
        return output


@each_pooling
@pytest.mark.parametrize(("n_timepoints", "n_classes"), [(463, 7), (1, 2), (30, 60)])
def test_a_forward_pass_makes_the_multiplications_that_are_stated(pooling, n_timepoints, n_classes):
    module, z = POOLINGS[pooling](128, n_classes), torch.randn(1, n_timepoints, 128)
    with CountMultiplications() as counter:
        module(z)
    stated = pooling_multiplications(pooling, n_timepoints, n_classes)
    weighing_the_scores = n_timepoints * n_classes if pooling == "additive" else 0
    assert counter.count == stated + weighing_the_scores


@pytest.mark.parametrize(("pooling", "per_timepoint", "per_class"), [
    ("gap", "d * c + d", "d * t + d"),
    ("attention", "d * a + 2 * d + a", "d"),
    ("instance", "d * c + c", "d * t + t"),
    ("additive", "d * c + d * a + a + d + c", "d * t + t"),
    ("conjunctive", "d * c + d * a + a + 2 * c", "d * t + 2 * t"),
])  # fmt: skip
def test_one_more_timepoint_or_class_costs_what_the_papers_table_says(pooling, per_timepoint, per_class):
    sizes = {"t": 463, "c": 7, "d": 100, "a": 5}
    cost = pooling_multiplications(pooling, **sizes)
    one_timepoint_more = pooling_multiplications(pooling, **{**sizes, "t": 464})
    one_class_more = pooling_multiplications(pooling, **{**sizes, "c": 8})
    assert one_timepoint_more - cost == eval(per_timepoint, {}, sizes)
    assert one_class_more - cost == eval(per_class, {}, sizes)


def test_the_papers_comparisons_of_cost_hold():
    cost = {name: pooling_multiplications(name, t=463, c=7) for name in POOLINGS}
    assert min(cost, key=cost.__getitem__) == "instance"  # with as few classes as attention units
    assert cost["instance"] < cost["gap"] < cost["conjunctive"] < cost["additive"]
    crowded = {name: pooling_multiplications(name, t=463, c=200) for name in POOLINGS}
    assert min(crowded, key=crowded.__getitem__) == "attention"
    assert crowded["additive"] < crowded["conjunctive"]  # more classes than embedding dimensions


def test_an_unknown_pooling_has_no_cost():
    with pytest.raises(UnknownNameError, match="Did you mean 'conjunctive'"):
        pooling_multiplications("conjuctive", t=10, c=2)

"""Claims about averaging the outputs of several networks."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from millet.errors import ParameterError
from millet.nn import POOLINGS, BagOutput, average_outputs
from toys import toy_bag, toy_pooling


@torch.no_grad()
def test_gap_and_conjunctive_average_as_by_hand():
    gap, conjunctive = (toy_pooling(POOLINGS[name])(toy_bag()) for name in ("gap", "conjunctive"))
    output = average_outputs([gap, conjunctive])
    # Gap: logits 17/3 and -13/3, scores (5, 1, 8) and (-2, -1, -4), bias 1 and -2.
    # Conjunctive: logits 19/6 and -9/4, scores (4.5, 0.5, 4.5) and (-3, -0.75, -3), bias 0.
    torch.testing.assert_close(output.logits, torch.tensor([[53 / 12, -79 / 24]]))
    torch.testing.assert_close(output.scores, torch.tensor([[[4.75, 0.75, 6.25], [-2.5, -0.875, -3.5]]]))
    torch.testing.assert_close(output.contributions, output.scores)
    torch.testing.assert_close(output.bias, torch.tensor([0.5, -1.0]))
    assert output.attention is None


@torch.no_grad()
def test_attention_is_averaged_where_every_member_attends():
    members = [toy_pooling(POOLINGS[name])(toy_bag()) for name in ("attention", "conjunctive", "additive")]
    output = average_outputs(members)
    torch.testing.assert_close(output.attention, torch.tensor([[3 / 4, 1 / 4, 1 / 2]]))
    assert output.contributions is None
    assert output.bias is None


@settings(max_examples=25, deadline=None)
@given(
    names=st.lists(st.sampled_from(["additive", "conjunctive", "gap", "instance"]), min_size=1, max_size=5),
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=3),
    seed=st.integers(0, 1000),
)
@torch.no_grad()
def test_evidence_of_any_mixture_adds_up_to_its_logits(names, sizes, seed):
    z = torch.randn(len(sizes), max(sizes), 6, generator=torch.Generator().manual_seed(seed))
    valid = torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]
    output = average_outputs([POOLINGS[name](6, 3)(z, valid) for name in names])
    own_mean = output.contributions.sum(2) / torch.tensor(sizes)[:, None]
    torch.testing.assert_close(own_mean + output.bias, output.logits, atol=1e-5, rtol=1e-5)
    assert (output.scores * ~valid[:, None] == 0).all()


def output_of(value: float, attention: Tensor | None = None) -> BagOutput:
    return BagOutput(torch.full((1, 2), value), torch.full((1, 2, 3), value), attention, None, None)


def test_every_member_counts_the_same():
    output = average_outputs([output_of(1.0), output_of(2.0), output_of(6.0)])
    assert (output.logits == 3).all()
    assert (output.scores == 3).all()


@pytest.mark.parametrize("lacking", [0, 1])
def test_what_one_member_lacks_the_ensemble_lacks(lacking):
    members = [output_of(1.0, attention=torch.ones(1, 3)) for _ in range(2)]
    assert average_outputs(members).attention is not None
    members[lacking] = output_of(1.0)
    assert average_outputs(members).attention is None


def test_a_single_member_is_the_ensemble():
    member = output_of(4.0)
    assert average_outputs([member]) is member


def test_no_members_are_no_ensemble():
    with pytest.raises(ParameterError, match="at least one member"):
        average_outputs([])

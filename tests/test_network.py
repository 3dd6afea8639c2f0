"""Claims about the network that joins backbone, positions, dropout and pooling, and about parts of one's own."""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from millet.errors import ParameterError, SeriesError, UnknownNameError
from millet.nn import (
    BACKBONES,
    FCN,
    POOLINGS,
    Backbone,
    BagOutput,
    ConjunctivePooling,
    GapPooling,
    MilletNetwork,
    average_outputs,
    positional_encoding,
)
from millet.nn.convolution import PADDINGS, SameConv1d
from millet.nn.dropout import BatchDropout
from naive_nn import AuthorsNetwork, copy_weights, encode_positions
from toys import ValuesAsEmbeddings, toy_bag, toy_pooling

# A few lengths only: torch prepares every convolution anew for each shape. `test_convolution` tries all lengths.
LENGTHS = st.lists(st.sampled_from([1, 2, 7, 39, 60]), min_size=1, max_size=3)
SEEDS = st.integers(0, 2**32 - 1)
each_backbone = pytest.mark.parametrize("backbone", sorted(BACKBONES))
each_pooling = pytest.mark.parametrize("pooling", sorted(POOLINGS))


def ragged_batch(lengths: list[int], n_channels: int, seed: int, beyond: float = 0.0) -> tuple[Tensor, Tensor]:
    """Return random values (B, C, T) with the value `beyond` after each case's end, and lengths (B,)."""
    x = torch.randn(len(lengths), n_channels, max(lengths), generator=torch.Generator().manual_seed(seed))
    ends = torch.tensor(lengths)
    return x.masked_fill((torch.arange(max(lengths)) >= ends[:, None])[:, None], beyond), ends


@functools.cache
def network_of(backbone: str, pooling: str, padding: str | None = None) -> MilletNetwork:
    """Return a network of two channels and three classes, in inference mode."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = MilletNetwork(2, 3, backbone, pooling, padding=padding).eval()
        for name, tensor in network.state_dict().items():
            if name.endswith("running_mean"):
                tensor.uniform_(-0.5, 0.5)
    return network


@each_backbone
@pytest.mark.parametrize("padding", sorted(PADDINGS))
@settings(max_examples=2, deadline=None)
@given(lengths=LENGTHS, seed=SEEDS)
@torch.inference_mode()
def test_a_padded_batch_predicts_what_each_case_predicts_alone(backbone, padding, lengths, seed):
    x, ends = ragged_batch(lengths, 2, seed, beyond=1e6)
    for pooling in POOLINGS:
        network = network_of(backbone, pooling, padding)
        together = network(x, ends)
        for position, length in enumerate(lengths):
            alone = network(x[position : position + 1, :, :length])
            torch.testing.assert_close(together.logits[position], alone.logits[0], atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(together.scores[position, :, :length], alone.scores[0], atol=1e-5, rtol=1e-5)
            for evidence in (together.scores, together.attention, together.contributions):
                assert evidence is None or (evidence[position, ..., length:] == 0).all()


@each_backbone
@each_pooling
@pytest.mark.parametrize("training", [False, True])
def test_what_stands_beyond_a_cases_end_changes_nothing(backbone, pooling, training):
    outputs = []
    for beyond in (0.0, 1e6):
        network = copy.deepcopy(network_of(backbone, pooling)).train(training)
        network.dropout.rate = 0.0
        with torch.no_grad():
            outputs.append(network(*ragged_batch([7, 39, 1], 2, seed=0, beyond=beyond)))
    for first, second in zip(*outputs, strict=True):
        if first is not None:
            torch.testing.assert_close(first, second, atol=1e-6, rtol=1e-6)


@each_backbone
@pytest.mark.parametrize("pooling", ["additive", "conjunctive", "gap", "instance"])
@torch.inference_mode()
def test_contributions_average_to_the_logits(backbone, pooling):
    lengths = [1, 39, 60]
    output = network_of(backbone, pooling)(*ragged_batch(lengths, 2, seed=1))
    own_mean = output.contributions.sum(2) / torch.tensor(lengths)[:, None]
    torch.testing.assert_close(own_mean + output.bias, output.logits, atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_attention_has_no_contributions():
    output = network_of("fcn", "attention")(torch.randn(1, 2, 20))
    assert output.contributions is None
    assert output.bias is None


@torch.inference_mode()
def test_lengths_that_fill_the_batch_are_no_lengths():
    network, x = network_of("fcn", "conjunctive"), torch.randn(3, 2, 20)
    assert torch.equal(network(x, torch.full((3,), 20)).logits, network(x).logits)


@torch.inference_mode()
def test_the_hand_solved_bag_passes_through_a_network_unchanged():
    network = MilletNetwork(
        2, 2, ValuesAsEmbeddings(2), toy_pooling(ConjunctivePooling), positions=False, dropout=0.0
    ).eval()
    output = network(toy_bag().transpose(1, 2))
    torch.testing.assert_close(output.logits, torch.tensor([[19 / 6, -9 / 4]]))


# Positions


@settings(max_examples=25, deadline=None)
@given(d_model=st.integers(1, 20), positions=st.lists(st.integers(0, 20000), min_size=1, max_size=6))
def test_positional_encodings_are_the_papers_sines_and_cosines(d_model, positions):
    encoding = positional_encoding(torch.tensor(positions), d_model)
    # The released code's single precision: an angle is exact to 2 ** -24 of itself, and its frequency likewise.
    rounding = 1e-6 + max(positions) * 2.0**-22
    np.testing.assert_allclose(encoding.numpy(), encode_positions(np.array(positions), d_model), atol=rounding)


def test_positional_encodings_do_not_depend_on_torchs_default_precision():
    expected = positional_encoding(torch.arange(30), 8)
    torch.set_default_dtype(torch.float64)  # as training in double precision does
    try:
        found = positional_encoding(torch.arange(30), 8)
    finally:
        torch.set_default_dtype(torch.float32)
    assert found.dtype == torch.float32
    assert torch.equal(found, expected)


def test_positions_start_at_0():
    assert positional_encoding(torch.arange(2), 4)[0].tolist() == [0.0, 1.0, 0.0, 1.0]


@torch.inference_mode()
def test_positions_are_0_to_the_last_unless_given():
    network, x = network_of("fcn", "conjunctive"), torch.randn(2, 2, 30)
    expected = network(x).logits
    for positions in (torch.arange(30), torch.arange(30).expand(2, 30)):
        torch.testing.assert_close(network(x, positions=positions).logits, expected)
    assert not torch.allclose(network(x, positions=torch.arange(30) + 5).logits, expected)


@torch.inference_mode()
def test_timepoints_keep_their_positions_when_others_are_removed():
    network = MilletNetwork(16, 3, ValuesAsEmbeddings(16), dropout=0.0).eval()
    x, kept = torch.randn(2, 16, 40), torch.tensor([3, 4, 11, 39])
    whole = network(x)
    shorter = network(x[:, :, kept], positions=kept)
    torch.testing.assert_close(shorter.scores, whole.scores[:, :, kept])
    torch.testing.assert_close(shorter.logits, whole.scores[:, :, kept].mean(2))


@each_backbone
@torch.inference_mode()
def test_each_case_may_lose_timepoints_of_its_own(backbone):
    network, x = network_of(backbone, "conjunctive"), torch.randn(2, 2, 30)
    kept = torch.stack([torch.randperm(30)[:12].sort().values for _ in range(2)])
    shorter = x.gather(2, kept[:, None].expand(-1, 2, -1))
    together = network(shorter, positions=kept)
    for position in range(2):
        case = shorter[position : position + 1]
        encoding = torch.from_numpy(encode_positions(kept[position].numpy(), network.d_embedding)).float()
        by_hand = network.pooling(network.backbone(case).transpose(1, 2) + encoding)
        torch.testing.assert_close(together.scores[position], by_hand.scores[0], atol=1e-5, rtol=1e-5)
        alone = network(case, positions=kept[position])
        torch.testing.assert_close(together.logits[position], alone.logits[0], atol=1e-5, rtol=1e-5)


# The paper's settings


@pytest.mark.parametrize("pooling", ["gap", GapPooling, GapPooling(128, 3)])
@torch.inference_mode()
def test_gap_is_the_original_backbone_unless_told_otherwise(pooling):
    network = MilletNetwork(1, 3, "fcn", pooling)
    assert not network.positions
    assert network.dropout.rate == 0
    assert {layer.edge for layer in network.modules() if isinstance(layer, SameConv1d)} == {"zeros"}
    told = MilletNetwork(1, 3, "fcn", pooling, padding="reflect", positions=True, dropout=0.5)
    assert told.positions
    assert told.dropout.rate == 0.5
    assert {layer.edge for layer in told.modules() if isinstance(layer, SameConv1d)} == {"reflect"}


ABLATION = {
    "1. GAP": {"pooling": "gap"},
    "2. + MIL": {"pooling": "conjunctive", "padding": "zeros", "positions": False, "dropout": 0.0},
    "3. + positions": {"pooling": "conjunctive", "padding": "zeros", "positions": True, "dropout": 0.0},
    "4. + replicate": {"pooling": "conjunctive", "padding": "replicate", "positions": True, "dropout": 0.0},
    "5. + dropout": {"pooling": "conjunctive"},
}


def ablation_oracle(step: str) -> AuthorsNetwork:
    number = int(step[0])
    return AuthorsNetwork(
        "inceptiontime",
        "gap" if number == 1 else "conjunctive",
        n_channels=1,
        n_classes=2,
        padding="zeros" if number < 4 else "replicate",
        positions=number >= 3,
    )


@pytest.mark.parametrize("step", ABLATION)
def test_the_steps_of_the_ablation_are_settings_of_one_network(step):
    network = MilletNetwork(1, 2, "inceptiontime", **ABLATION[step]).eval()
    oracle = copy_weights(network, ablation_oracle(step))
    x = torch.randn(3, 1, 50)
    with torch.inference_mode():
        torch.testing.assert_close(network(x).logits, oracle(list(x))[0], atol=1e-5, rtol=1e-5)
    network.train()
    drops = not torch.equal(network(x).logits, network(x).logits)
    assert drops == (step == "5. + dropout")


@torch.inference_mode()
def test_the_last_step_of_the_ablation_averages_the_members():
    members = [MilletNetwork(1, 2, "inceptiontime", **ABLATION["5. + dropout"]).eval() for _ in range(2)]
    oracles = [copy_weights(member, ablation_oracle("5. + dropout")) for member in members]
    x = torch.randn(3, 1, 50)
    expected = (oracles[0](list(x))[0] + oracles[1](list(x))[0]) / 2
    torch.testing.assert_close(average_outputs([member(x) for member in members]).logits, expected, atol=1e-5, rtol=0)


# Dropout


def test_rows_of_a_batch_drop_what_the_whole_batch_would():
    z = torch.randn(5, 7, 3)
    dropout = BatchDropout(0.4)
    generator_state = torch.get_rng_state()
    whole = dropout(z)
    for rows in (slice(0, 2), slice(2, 5)):
        torch.set_rng_state(generator_state)
        dropout.rows = rows, 5
        assert torch.equal(dropout(z[rows]), whole[rows])


def test_dropout_drops_its_rate_keeps_the_mean_and_rests_in_inference():
    z = torch.ones(10, 100, 100)
    dropout = BatchDropout(0.1)
    dropped = dropout(z)
    assert abs((dropped == 0).float().mean() - 0.1) < 0.01
    assert abs(dropped.mean() - 1) < 0.01
    torch.testing.assert_close(dropped.max(), torch.tensor(1 / 0.9))
    assert torch.equal(dropout.eval()(z), z)


# Parts of one's own


class OwnBackbone(nn.Module):
    """Knows nothing of lengths, and does not say how large its embeddings are."""

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(n_channels, 6, 5, padding=2), nn.ReLU(), nn.Conv1d(6, 6, 5, padding=2))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class OwnLengths(Backbone):
    """Takes lengths, and no padding."""

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        self.d_out = n_channels
        self.seen: list[int] = []

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        self.seen = [] if lengths is None else lengths.tolist()
        return x


class LeavesNothing(OwnLengths):
    """Leaves NaN beyond the end of each case."""

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        z = super().forward(x, lengths)
        return (
            z
            if lengths is None
            else z.masked_fill((torch.arange(z.shape[2]) >= lengths[:, None])[:, None], torch.nan)
        )


class SumPooling(nn.Module):
    def __init__(self, d_in: int, n_classes: int) -> None:
        super().__init__()
        self.classify = nn.Linear(d_in, n_classes, bias=False)

    def forward(self, z: Tensor, valid: Tensor | None = None) -> BagOutput:
        scores = self.classify(z if valid is None else z * valid[:, :, None]).transpose(1, 2)
        return BagOutput(scores.sum(2), scores, None, None, None)


def test_what_a_backbone_of_ones_own_leaves_beyond_a_case_counts_for_nothing():
    x, ends = ragged_batch([9, 4], 2, seed=0)
    network = MilletNetwork(2, 3, LeavesNothing)
    network(x, ends).logits.sum().backward()
    assert all(weight.grad.isfinite().all() for weight in network.parameters())
    network.eval()
    alone = network(x[1:, :, :4])
    np.testing.assert_allclose(*(out.logits[-1].detach() for out in (network(x, ends), alone)), rtol=1e-6)
    assert not network(x, ends).scores[1, :, 4:].any()


@pytest.mark.parametrize("backbone", ["fcn", FCN, FCN(2), OwnBackbone, OwnBackbone(2), OwnLengths])
@pytest.mark.parametrize("pooling", ["conjunctive", ConjunctivePooling, SumPooling])
def test_backbone_and_pooling_may_be_a_name_a_class_or_a_module(backbone, pooling):
    network = MilletNetwork(2, 3, backbone, pooling)
    output = network(*ragged_batch([9, 4], 2, seed=0))
    assert output.scores.shape == (2, 3, 9)
    output.logits.sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


@pytest.mark.parametrize("d_in", [6, 128])
def test_a_pooling_may_be_a_module(d_in):
    pooling = SumPooling(d_in, 3)
    network = MilletNetwork(1, 3, OwnBackbone if d_in == 6 else "fcn", pooling)
    assert network.pooling is pooling
    assert network(torch.randn(2, 1, 8)).logits.shape == (2, 3)


def test_the_size_of_embeddings_is_found_by_trying_and_the_trial_leaves_no_trace():
    backbone = nn.Sequential(nn.Conv1d(1, 5, 1), nn.BatchNorm1d(5), nn.Dropout(0.5))
    before = copy.deepcopy(backbone.state_dict())
    pooling = GapPooling(5, 2)
    generator_state = torch.get_rng_state()
    network = MilletNetwork(1, 2, backbone, pooling)
    assert network.d_embedding == 5
    assert backbone.training
    assert torch.equal(torch.get_rng_state(), generator_state)
    assert all(torch.equal(tensor, before[name]) for name, tensor in backbone.state_dict().items())


@settings(max_examples=10, deadline=None)
@given(lengths=LENGTHS, seed=SEEDS)
def test_a_backbone_that_knows_nothing_of_lengths_is_exact_on_unequal_ones(lengths, seed):
    network = MilletNetwork(1, 2, OwnBackbone).eval()
    x, ends = ragged_batch(lengths, 1, seed, beyond=1e6)
    with torch.inference_mode():
        together = network(x, ends)
        for position, length in enumerate(lengths):
            alone = network(x[position : position + 1, :, :length])
            torch.testing.assert_close(together.logits[position], alone.logits[0], atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(together.scores[position, :, :length], alone.scores[0], atol=1e-5, rtol=1e-5)


def test_a_backbone_that_takes_lengths_is_given_them():
    network = MilletNetwork(2, 2, OwnLengths)
    network(*ragged_batch([5, 3], 2, seed=0))
    assert network.backbone.seen == [5, 3]


def test_unknown_names_are_refused_with_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"known: .*fcn.*Did you mean 'inceptiontime'"):
        MilletNetwork(1, 2, "inceptionTimes")
    with pytest.raises(UnknownNameError, match="Did you mean 'conjunctive'"):
        MilletNetwork(1, 2, "fcn", "conjuctive")
    with pytest.raises(UnknownNameError, match="Did you mean 'zeros'"):
        MilletNetwork(1, 2, "fcn", padding="zero")


def test_what_is_neither_a_name_nor_a_class_nor_a_module_is_refused_as_such():
    for nonsense in (7, None, ["fcn"], len, functools.partial(OwnBackbone, 1), lambda n_channels: OwnBackbone(1)):
        with pytest.raises(
            ParameterError, match=r"backbone must be a name \(fcn, .*\), a class of modules, or a mod"
        ):
            MilletNetwork(1, 2, nonsense)
    with pytest.raises(
        ParameterError, match=r"pooling must be .* got functools\.partial.*pass a module that it made"
    ):
        MilletNetwork(1, 2, "fcn", functools.partial(SumPooling, 6))


@pytest.mark.parametrize("settings", [
    {"n_channels": 0}, {"n_channels": 1.5}, {"n_classes": 0}, {"n_classes": True},
    {"dropout": 1.0}, {"dropout": -0.1}, {"dropout": "a little"}, {"dropout": float("nan")},
])  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings):
    (name,) = settings
    with pytest.raises(ParameterError, match=name):
        MilletNetwork(**{"n_channels": 1, "n_classes": 2, "backbone": "fcn", **settings})


@pytest.mark.parametrize("shape", [(20,), (1, 20), (4, 2, 20), (4, 1, 0), (4, 1, 20, 1)])
def test_series_of_the_wrong_shape_are_refused(shape):
    with pytest.raises(SeriesError, match=r"x must be \(n_cases, n_channels=1, n_timepoints\)"):
        MilletNetwork(1, 2, "fcn")(torch.zeros(shape))


@pytest.mark.parametrize("lengths", [[3], [3, 4, 5], [0, 4], [4, 6], [-1, 4], [[3, 4]]])
def test_lengths_that_are_not_the_cases_are_refused(lengths):
    with pytest.raises(SeriesError, match="lengths must be 2 integers from 1 to 5"):
        MilletNetwork(1, 2, "fcn")(torch.zeros(2, 1, 5), torch.tensor(lengths))


@pytest.mark.parametrize("shape", [(), (1,), (4,), (1, 5), (3, 5), (2, 4), (2, 1, 5)])
def test_positions_that_are_not_the_timepoints_are_refused(shape):
    with pytest.raises(SeriesError, match=r"positions must be \(5,\) or \(2, 5\)"):
        MilletNetwork(1, 2, "fcn")(torch.zeros(2, 1, 5), positions=torch.zeros(shape))


class Shrinking(nn.Conv1d):
    def __init__(self, n_channels: int, d_out: int | None = None) -> None:
        super().__init__(n_channels, 4, 3)
        self.d_out = d_out


class TwoResults(nn.Module):
    d_out = 1

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, x


class Broken(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError("out of ideas")


def test_a_backbone_that_can_not_be_used_says_so_when_the_network_is_made():
    with pytest.raises(
        ParameterError, match=r"to \(B, D, 64\), one embedding a timepoint; this one gave \(1, 4, 62\)"
    ):
        MilletNetwork(1, 2, Shrinking)
    with pytest.raises(ParameterError, match=r"failed on a series of shape \(1, 1, 64\): out of ideas"):
        MilletNetwork(1, 2, Broken())
    with pytest.raises(ParameterError, match=r"failed on a series of shape \(1, 1, 64\).*expected"):
        MilletNetwork(1, 2, nn.Conv1d(3, 4, 1))
    with pytest.raises(ParameterError, match=r"backbone class can't be called with .*pass a module"):
        MilletNetwork(1, 2, nn.Conv1d)
    with pytest.raises(ParameterError, match=r"pooling class can't be called with .*pass a module"):
        MilletNetwork(1, 2, "fcn", nn.Bilinear)


@pytest.mark.parametrize("backbone", [Shrinking(1, 4), ValuesAsEmbeddings(7), TwoResults()])
@pytest.mark.parametrize("lengths", [None, torch.tensor([9, 5])])
def test_a_backbone_that_does_not_keep_its_word_says_so_when_it_runs(backbone, lengths):
    network = MilletNetwork(1, 2, backbone)
    with pytest.raises(ParameterError, match=r"A backbone must map .* this one gave"):
        network(torch.zeros(2, 1, 9), lengths)


@pytest.mark.parametrize("pooling", [nn.Linear(128, 2), ConjunctivePooling(128, 5)])
def test_a_pooling_that_does_not_keep_its_word_says_so_when_it_runs(pooling):
    class Careless(nn.Module):
        def forward(self, z: Tensor, valid: Tensor | None = None) -> object:
            return pooling(z)

    with pytest.raises(ParameterError, match=r"must return a BagOutput with logits \(B, n_classes\) = \(3, 2\)"):
        MilletNetwork(1, 2, "fcn", Careless())(torch.zeros(3, 1, 9))


@pytest.mark.parametrize("name", ["scores", "attention", "contributions", "bias"])
def test_evidence_of_another_shape_is_refused_when_it_is_made(name):
    class Turned(ConjunctivePooling):
        def forward(self, z: Tensor, valid: Tensor | None = None) -> BagOutput:
            output = super().forward(z, valid)
            return output._replace(**{name: getattr(output, name)[..., None]})

    with pytest.raises(ParameterError, match=rf"must return a BagOutput with {name} \("):
        MilletNetwork(1, 2, "fcn", Turned)(torch.zeros(3, 1, 9))


@pytest.mark.parametrize("d_out", [3, None])
def test_a_backbone_that_must_have_lengths_gets_them_always(d_out):
    class Needy(nn.Module):
        def __init__(self, n_channels):
            super().__init__()
            self.d_out = d_out
            self.seen = []

        def forward(self, x, lengths):
            self.seen = lengths.tolist()
            return x.expand(-1, 3, -1)

    network = MilletNetwork(1, 2, Needy)
    network(torch.zeros(2, 1, 9))
    assert network.backbone.seen == [9, 9]
    network(torch.zeros(2, 1, 9), torch.tensor([9, 4]))
    assert network.backbone.seen == [9, 4]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of torch's own compiler
@pytest.mark.parametrize("backbone", ["inceptiontime", "lite"])
def test_a_compiled_network_says_the_same(backbone):
    network = MilletNetwork(1, 2, backbone, dropout=0.0).double()
    x = torch.randn(4, 1, 60, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    compiled = torch.compile(network, backend="eager")
    for training in (True, False):
        network.train(training)
        torch.testing.assert_close(compiled(x).logits, network(x).logits)


@pytest.mark.parametrize("backbone", ["fcn", "inceptiontime", "lite", "resnet"])
def test_autocast_leaves_double_precision_alone(backbone):
    network = MilletNetwork(1, 3, backbone).double().eval()
    x = torch.randn(2, 1, 90, dtype=torch.float64)
    with torch.no_grad():
        expected = network(x).logits
        with torch.autocast("cpu", torch.bfloat16):
            assert network.backbone(x).dtype == torch.float64
            torch.testing.assert_close(network(x).logits, expected)


def test_convolutions_of_one_channel_are_lowered_as_all_others():
    with torch.autocast("cpu", torch.bfloat16):
        assert SameConv1d(1, 4, 5, "replicate")(torch.randn(2, 1, 30)).dtype == torch.bfloat16


@pytest.mark.parametrize("backbone", ["fcn", "inceptiontime", "lite", "resnet"])
@pytest.mark.parametrize("pooling", ["additive", "conjunctive", "gap", "instance"])
def test_evidence_adds_up_though_embeddings_are_of_lower_precision(backbone, pooling):
    torch.manual_seed(0)
    network = MilletNetwork(1, 3, backbone, pooling).eval()
    x, lengths = torch.randn(4, 1, 150), torch.tensor([150, 97, 1, 60])
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        lower = network(x, lengths)
    with torch.no_grad():
        exact = network(x, lengths)
    inside = (torch.arange(150) < lengths[:, None])[:, None]
    means = (lower.contributions * inside).sum(2) / lengths[:, None]
    torch.testing.assert_close(means + lower.bias, lower.logits, atol=1e-6, rtol=1e-5)
    assert not torch.equal(lower.logits, exact.logits)
    assert (lower.logits - exact.logits).norm() < 0.02 * exact.logits.norm()

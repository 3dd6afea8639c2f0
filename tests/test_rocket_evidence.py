"""Evidence of the ROCKET family: exact, the same for a case alone and in a batch, for series of any shape."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millet.bags import Batch
from millet.errors import UnknownNameError
from millet.rocket.model import HEADS, SPREADS, TRANSFORMS, RocketModel
from millet.rocket.scaling import LIMIT
from naive_rocket import naive_evidence

FEW = 84 * 2


def random_batch(rng, lengths, n_channels):
    values = np.zeros((len(lengths), n_channels, max(lengths)), dtype=np.float32)
    for case, length in enumerate(lengths):
        values[case, :, :length] = rng.normal(size=(n_channels, length)).cumsum(axis=1)
        if rng.random() < 0.3:
            values[case, :, : length // 2] = 0.0  # flat stretches: ties of convolutions with biases and each other
    return Batch(values, np.array(lengths))


def fit(batch, n_classes=3, transform="minirocket", head="ridge", n_features=FEW, **options):
    codes = np.arange(len(batch.values)) % n_classes
    return RocketModel.fit(batch, codes, n_classes, transform=transform, n_features=n_features, head=head, **options)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes = draw(st.integers(2, 4))
    n_channels = draw(st.sampled_from([1, 1, 2, 3, 12]))
    lengths = draw(st.lists(st.integers(1, 40), min_size=n_classes, max_size=8))
    return n_classes, random_batch(rng, lengths, n_channels), rng


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("transform", TRANSFORMS)
@settings(max_examples=6, deadline=None)
@given(problems(), st.sampled_from(sorted(HEADS)))
def test_contributions_average_to_the_logits(transform, spread, problem, head):
    n_classes, batch, rng = problem
    model = fit(batch, n_classes, transform, head)
    for cases in (batch, random_batch(rng, [1, 2, 30], batch.values.shape[1])):
        found = model.evidence(cases, spread, channels=True)
        inside = np.arange(cases.values.shape[2]) < cases.lengths[:, None]
        assert found.channel_contributions.shape == (len(inside), n_classes, *cases.values.shape[1:])
        assert np.all(found.contributions[~inside[:, None] & np.ones_like(found.contributions, dtype=bool)] == 0)
        np.testing.assert_allclose(found.channel_contributions.sum(axis=2), found.contributions, atol=1e-9)
        means = found.contributions.sum(axis=2) / cases.lengths[:, None]
        np.testing.assert_allclose(means + found.bias, found.logits, atol=1e-8)
        np.testing.assert_array_equal(found.logits, model.logits(cases))


@pytest.mark.parametrize("transform", ["minirocket", "multirocket"])
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 200), st.sampled_from([1, 2, 3]), st.sampled_from([1, 2, 8]))
def test_kernels_looked_up_together_say_what_they_say_apart(transform, seed, length, n_channels, n_per_kernel):
    rng = np.random.default_rng(seed)
    model = fit(random_batch(rng, [length] * 4, n_channels), 4, transform, n_features=84 * n_per_kernel)
    cases = random_batch(rng, [length, max(1, length // 2)], n_channels)
    together, apart = model.evidence(cases), model.evidence(cases, channels=True)
    np.testing.assert_allclose(together.contributions, apart.contributions, atol=1e-9)


def test_the_oracle_agrees_where_two_kernels_share_a_table():
    batch = random_batch(np.random.default_rng(3), [70, 60, 65], 1)
    model = fit(batch, 3, n_features=FEW)
    found = model.evidence(batch)
    logits, contributions = naive_evidence(model.settings(), model.arrays(), batch.values[0], 70, "taps")
    np.testing.assert_allclose(found.logits[0], logits, atol=1e-9)
    np.testing.assert_allclose(found.contributions[0], contributions[:, 0], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_huge_channel_does_not_erase_a_small_one(transform):
    rng = np.random.default_rng(0)
    codes = np.arange(40) % 2
    small = 1e-3 * np.sin(np.arange(60) * np.where(codes == 1, 0.2, 1.0)[:, None])
    huge = 1e8 * rng.normal(size=(40, 60))
    batch = Batch(np.stack([small, huge], axis=1).astype(np.float32), np.full(40, 60))
    model = RocketModel.fit(batch, codes, 2, transform=transform, n_features=84 * 4, head="ridge")
    assert np.mean(model.logits(batch).argmax(axis=1) == codes) > 0.9


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize(("transform", "n_channels"), [(name, n) for name in TRANSFORMS for n in (1, 3)])
def test_evidence_is_that_of_the_slow_oracle(transform, n_channels, spread):
    rng = np.random.default_rng(7)
    batch = random_batch(rng, [18, 14, 9, 2, 1, 17], n_channels)
    model = fit(batch, 3, transform, n_features=FEW)
    found = model.evidence(batch, spread, channels=True)
    for case in (0, 3, 4):
        length = batch.lengths[case]
        logits, contributions = naive_evidence(model.settings(), model.arrays(), batch.values[case], length, spread)
        np.testing.assert_allclose(found.logits[case], logits, atol=1e-9)
        np.testing.assert_allclose(
            found.channel_contributions[case, :, :, :length], contributions, rtol=1e-7, atol=1e-9
        )


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_evidence_of_a_glitch_is_that_of_the_slow_oracle(transform, spread):
    rng = np.random.default_rng(11)
    batch = random_batch(rng, [18, 14, 16, 12], 1)
    model = fit(batch, 2, transform)
    glitch = Batch(with_spike(batch.values[:1]), batch.lengths[:1])
    limits, centres = model.arrays()["limits"], model.arrays()["centres"]
    features = model._transform.features(glitch.values, glitch.lengths)[0]
    assert (np.abs(features - centres) > limits).any(), "the spike is beyond what was seen"
    found = model.evidence(glitch, spread, channels=True)
    logits, contributions = naive_evidence(model.settings(), model.arrays(), glitch.values[0], 18, spread)
    np.testing.assert_allclose(found.logits[0], logits, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.channel_contributions[0], contributions, rtol=1e-7, atol=1e-9)


def with_spike(values, height=1000.0):
    spiked = values.copy()
    spiked[0, 0, 7] += height
    return spiked


def test_a_glitch_is_not_extrapolated_without_end():
    batch = random_batch(np.random.default_rng(12), [30] * 12, 1)
    model = fit(batch, 3, "multirocket")
    seen = np.abs(model.logits(batch)).max()
    large, larger = (model.logits(Batch(with_spike(batch.values, height), batch.lengths))[0] for height in (1e4, 1e8))
    assert np.abs(larger).max() < 10 * seen
    np.testing.assert_allclose(large, larger, rtol=0.1, atol=0.1 * seen)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_training_cases_are_within_the_limits(transform):
    batch = random_batch(np.random.default_rng(13), [30] * 8, 1)
    model = fit(batch, 2, transform)
    features = model._transform.features(batch.values, batch.lengths)
    arrays = model.arrays()
    seen = ~(model._transform.sparse & (features == 0.0))
    assert (np.abs(features - arrays["centres"]) * seen <= 1.001 * arrays["limits"] / LIMIT + 1e-6).all()


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_case_alone_gets_bit_for_bit_what_it_gets_in_a_batch(transform):
    rng = np.random.default_rng(3)
    batch = random_batch(rng, [40, 7, 25, 2, 33], 2)
    model = fit(batch, 2, transform)
    model.n_jobs = 2
    batch = Batch(with_spike(batch.values), batch.lengths)
    together = model.evidence(batch, channels=True)
    for case, length in enumerate(batch.lengths):
        alone = model.evidence(
            Batch(batch.values[case : case + 1, :, :length], batch.lengths[case : case + 1]), channels=True
        )
        np.testing.assert_array_equal(alone.logits[0], together.logits[case])
        np.testing.assert_array_equal(alone.contributions[0], together.contributions[case, :, :length])
        np.testing.assert_array_equal(
            alone.channel_contributions[0], together.channel_contributions[case][..., :length]
        )


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_what_stands_beyond_the_end_of_a_case_does_not_matter(transform):
    batch = random_batch(np.random.default_rng(4), [30, 12], 1)
    model = fit(batch, 2, transform)
    dirty = batch.values.copy()
    dirty[1, :, 12:] = 99.0
    np.testing.assert_array_equal(model.logits(Batch(dirty, batch.lengths)), model.logits(batch))


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("lengths", [[2, 2], [1, 1], [8, 9], [1, 100]])
def test_series_shorter_than_a_kernel_are_classified(transform, lengths):
    model = fit(random_batch(np.random.default_rng(5), lengths, 1), 2, transform)
    longer = random_batch(np.random.default_rng(6), [1, 2, 50], 1)
    found = model.evidence(longer)
    assert np.isfinite(found.contributions).all()
    np.testing.assert_allclose(found.contributions.sum(axis=2) / longer.lengths[:, None] + found.bias, found.logits)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_constant_series_have_evidence_that_is_finite_and_the_same_for_all(transform):
    batch = Batch(np.zeros((6, 1, 20), dtype=np.float32), np.full(6, 20))
    found = fit(batch, 3, transform).evidence(batch)
    assert np.isfinite(found.contributions).all()
    np.testing.assert_allclose(found.logits, np.tile(found.logits[0], (6, 1)))


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_thousands_of_channels_are_no_obstacle(transform):
    batch = random_batch(np.random.default_rng(8), [20, 20, 20, 20], 2000)
    model = fit(batch, 2, transform)
    found = model.evidence(Batch(batch.values[:1], batch.lengths[:1]), channels=True)
    assert found.channel_contributions.shape == (1, 2, 2000, 20)
    np.testing.assert_allclose(found.channel_contributions.sum(axis=(2, 3)) / 20 + found.bias, found.logits)


def test_two_classes_have_opposite_logits_and_evidence():
    batch = random_batch(np.random.default_rng(9), [20, 30, 25], 1)
    found = fit(batch, 2).evidence(batch)
    np.testing.assert_array_equal(found.logits[:, 0], -found.logits[:, 1])
    np.testing.assert_array_equal(found.contributions[:, 0], -found.contributions[:, 1])


def test_evidence_lies_where_the_classes_differ():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 1, 100)).astype(np.float32)
    codes = np.arange(60) % 2
    values[codes == 1, 0, 40:60] += 4 * np.sin(np.arange(20)).astype(np.float32)
    batch = Batch(values, np.full(60, 100))
    model = RocketModel.fit(batch, codes, 2, n_features=2000)
    found = model.evidence(batch).contributions[codes == 1, 1].mean(axis=0)
    assert found[40:60].mean() > 5 * abs(np.delete(found, np.arange(30, 70)).mean())


def test_channels_without_difference_between_classes_get_little():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(60, 3, 60)).astype(np.float32)
    codes = np.arange(60) % 2
    values[codes == 1, 1] += 3 * np.sin(np.arange(60)).astype(np.float32)
    model = RocketModel.fit(Batch(values, np.full(60, 60)), codes, 2, n_features=4000)
    shares = model.evidence(Batch(values, np.full(60, 60)), channels=True).channel_contributions
    by_channel = shares[codes == 1, 1].mean(axis=(0, 2))
    assert by_channel.argmax() == 1


def test_an_unknown_spread_is_named():
    batch = random_batch(np.random.default_rng(2), [20, 20], 1)
    with pytest.raises(UnknownNameError, match="Did you mean 'taps'"):
        fit(batch, 2).evidence(batch, "tap")

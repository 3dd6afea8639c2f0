"""The fitted model: plain arrays that come back the same, refused where they make no sense."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millet.bags import Batch
from millet.errors import MilletError, ParameterError, SeriesError, StorageError, UnknownNameError
from millet.rocket.model import HEADS, TRANSFORMS, RocketModel
from millet.rocket.plan import choose_dilations


@pytest.fixture(scope="module")
def batch():
    values = np.random.default_rng(0).normal(size=(12, 2, 30)).cumsum(axis=2).astype(np.float32)
    return Batch(values, np.full(12, 30))


CODES = np.arange(12) % 3


def fit(batch, **options):
    return RocketModel.fit(batch, CODES, 3, **{"n_features": 400} | options)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_restored_model_gives_the_same_logits_bit_for_bit(batch, transform, head):
    model = fit(batch, transform=transform, head=head)
    stored = json.loads(json.dumps(model.settings()))
    arrays = {name: array.copy() for name, array in model.arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False  # as arrays come out of files
    restored = RocketModel.restore(stored, arrays)
    np.testing.assert_array_equal(restored.logits(batch), model.logits(batch))
    assert restored.settings() == model.settings()


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_the_model_does_not_depend_on_the_number_of_threads(batch, transform):
    one, two = (fit(batch, transform=transform, n_jobs=n_jobs).arrays() for n_jobs in (1, 2))
    for name in one:
        np.testing.assert_allclose(one[name], two[name], rtol=1e-6, atol=1e-9, err_msg=name)


def test_another_seed_gives_another_model(batch):
    biases = [fit(batch, seed=seed).arrays()["bank0.biases"] for seed in (0, 0, 1)]
    np.testing.assert_array_equal(biases[0], biases[1])
    assert not np.array_equal(biases[0], biases[2])


@pytest.mark.parametrize(
    ("transform", "n_features"),
    [("minirocket", 9996), ("multirocket", 49728), ("hydra", 2 * 512 * 2), ("multirocket-hydra", 49728 + 2048)],
)
def test_the_published_number_of_features_is_the_default(batch, transform, n_features):
    assert fit(batch, transform=transform, n_features=None).n_features == n_features


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_array_is_missed_by_name(batch, transform):
    model = fit(batch, transform=transform)
    for name in model.arrays():
        rest = {other: array for other, array in model.arrays().items() if other != name}
        with pytest.raises(StorageError, match=f"lacks the array '{name.split('.')[-1]}'"):
            RocketModel.restore(model.settings(), rest)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_arrays_of_another_type_or_shape_are_refused(batch, transform):
    model = fit(batch, transform=transform)
    for name, array in model.arrays().items():
        for wrong in (array.astype(np.float16), array[:-1], array[None]):
            with pytest.raises(MilletError, match="Save the model again"):
                RocketModel.restore(model.settings(), model.arrays() | {name: wrong})


@pytest.mark.parametrize("name", ["bank0.channels", "bank0.channel_starts", "bank0.dilations", "bank0.n_biases"])
@pytest.mark.parametrize("value", [-1, 2**30])
def test_indices_that_point_outside_are_refused(batch, name, value):
    model = fit(batch)
    spoilt = model.arrays()[name].copy()
    spoilt[-1] = value
    with pytest.raises(StorageError):
        RocketModel.restore(model.settings(), model.arrays() | {name: spoilt})


def test_weights_that_are_not_finite_are_refused(batch):
    model = fit(batch)
    with pytest.raises(StorageError, match="'offsets' holds values that are not finite"):
        RocketModel.restore(model.settings(), model.arrays() | {"offsets": np.array([0.0, np.nan, 0.0])})


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"transform": "minirockets"}, UnknownNameError),
        ({"head": "bridge"}, UnknownNameError),
        ({"n_classes": 1}, ParameterError),
        ({"n_classes": 4}, StorageError),
        ({"n_channels": "two"}, ParameterError),
        ({"n_channels": 1}, StorageError),
        ({"colour": "red"}, StorageError),
    ],
)
def test_settings_that_make_no_sense_are_refused(batch, change, error):
    model = fit(batch)
    with pytest.raises(error):
        RocketModel.restore(model.settings() | change, model.arrays())


def test_names_and_numbers_that_users_type_are_checked(batch):
    with pytest.raises(UnknownNameError, match="Did you mean 'minirocket'"):
        fit(batch, transform="minirockt")
    with pytest.raises(UnknownNameError, match="known: multinomial, ridge"):
        fit(batch, head="svm")
    with pytest.raises(ParameterError, match="n_features must be an integer of at least 1"):
        fit(batch, n_features=0)


def test_cases_that_do_not_fit_the_model_are_refused(batch):
    model = fit(batch)
    with pytest.raises(SeriesError, match="cases of 2 channels"):
        model.logits(Batch(batch.values[:, :1], batch.lengths))
    with pytest.raises(SeriesError, match="between 1 and the 30 timepoints"):
        model.logits(Batch(batch.values, batch.lengths + 1))
    with pytest.raises(SeriesError, match="Scale them"):
        model.evidence(Batch(np.full_like(batch.values, 1e35), batch.lengths))


def test_no_cases_have_no_logits(batch):
    assert fit(batch).logits(Batch(batch.values[:0], batch.lengths[:0])).shape == (0, 3)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 5000), st.integers(1, 300))
def test_dilations_reach_over_the_series_and_share_all_biases(n_points, n_per_kernel):
    dilations, n_biases = choose_dilations(n_points, n_per_kernel)
    assert dilations[0] == 1
    assert len(dilations) <= 32
    assert (np.diff(dilations) > 0).all()
    assert n_biases.min() >= 1
    assert n_biases.sum() == n_per_kernel
    if n_points >= 9 and n_per_kernel > 1:
        longest = (n_points - 1) // 8
        assert longest - 1 <= dilations[-1] <= longest  # rounding may lose one

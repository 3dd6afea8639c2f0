"""The zoo: names stand for classifiers, the same everywhere."""

import pytest

from millet import AveragedClassifier, MilletClassifier, RocketMilletClassifier
from millet.errors import ParameterError, UnknownNameError
from millet.nn import BACKBONES, POOLINGS
from millet.rocket.model import TRANSFORMS
from millet.zoo import count_with, make_classifier, recognise


def test_every_name_stands_for_one_model():
    names = [*TRANSFORMS, *(f"{pooling}-{backbone}" for pooling in POOLINGS for backbone in BACKBONES)]
    parameters = [tuple(sorted(recognise(name).parameters.items())) for name in names]
    assert len(set(parameters)) == len(names)


def test_a_backbone_alone_has_conjunctive_pooling():
    for backbone in BACKBONES:
        assert recognise(backbone) == recognise(f"conjunctive-{backbone}")


def test_parameters_go_to_the_classifiers_that_have_them():
    both = make_classifier("minirocket+gap-fcn", n_epochs=7, head="ridge", random_state=3)
    assert isinstance(both, AveragedClassifier)
    rocket, network = both.classifiers
    assert isinstance(rocket, RocketMilletClassifier)
    assert isinstance(network, MilletClassifier)
    assert (rocket.head, rocket.random_state) == ("ridge", 3)
    assert (network.n_epochs, network.pooling, network.random_state) == (7, "gap", 3)
    assert count_with("checkpoint_dir", "minirocket+gap-fcn+lite") == 2


@pytest.mark.parametrize(
    ("name", "parameters", "error", "message"),
    [
        ("minirockt", {}, UnknownNameError, "Unknown model 'minirockt'.*Did you mean 'minirocket'"),
        ("conjunctive-lte", {}, UnknownNameError, "Did you mean 'conjunctive-lite'"),
        ("lite+", {}, UnknownNameError, "Unknown model ''"),
        ("minirocket", {"n_epochs": 3}, ParameterError, "'minirocket' has no parameter 'n_epochs'; it has head"),
        ("lite", {"pooling": "gap"}, ParameterError, "'lite' has no parameter 'pooling'"),
        ("minirocket+lite", {"colour": 3}, ParameterError, "no parameter 'colour'"),
    ],
)
def test_what_no_model_has_is_refused(name, parameters, error, message):
    with pytest.raises(error, match=message):
        make_classifier(name, **parameters)

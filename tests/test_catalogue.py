import importlib.resources

import numpy as np
import pytest

from millet.datasets.catalogue import PAPER_DATASETS, WEB_TRAFFIC, check, entries, find
from millet.datasets.dataset import Dataset
from millet.errors import UnknownNameError


def split_of(name, n_cases, length, n_classes, n_channels=1):
    classes = np.arange(n_classes)
    return Dataset(name, np.zeros((n_cases, n_channels, length)), np.resize(classes, n_cases), classes)


def original(name):
    entry = entries()[name]
    return [split_of(name, n, entry.length, entry.n_classes) for n in (entry.n_train, entry.n_test)]


def test_the_archive_has_128_datasets_and_the_paper_uses_85_of_them():
    assert len(entries()) == 128
    assert len(PAPER_DATASETS) == len(set(PAPER_DATASETS)) == 85
    assert set(PAPER_DATASETS) <= set(entries())
    assert sum(entry.in_paper for entry in entries().values()) == 85


def test_every_entry_makes_sense():
    for name, entry in entries().items():
        assert entry.name == name == name.strip()
        assert entry.type.isalpha()
        assert 2 <= entry.n_classes <= entry.n_train + entry.n_test
        assert entry.length is None or entry.length > 1
    assert sum(entry.length is None for entry in entries().values()) == 11


def test_the_table_is_plain_text_in_alphabetical_order():
    text = importlib.resources.files("millet.datasets").joinpath("ucr.csv").read_bytes().decode("ascii")
    names = [line.split(",")[0] for line in text.splitlines()[1:]]
    assert names == sorted(names, key=str.casefold)


@pytest.mark.parametrize("name", ["GunPoint", "gunpoint", "GUNPOINT"])
def test_an_entry_is_found_in_any_case(name):
    assert find(name) is entries()["GunPoint"]


def test_an_unknown_name_has_no_entry():
    assert find("GunPoints") is None


@pytest.mark.parametrize("name", ["GunPoint", "Coffee", "Adiac"])
def test_the_original_split_has_no_differences(name):
    assert check(*original(name)) == ()


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"n_cases": 27}, "n_train is 27; the original split has 28"),
        ({"length": 287}, "length is 286-287; the original split has 286"),
        ({"n_classes": 3}, "n_classes is 3; the original split has 2"),
        ({"n_channels": 2}, "n_channels is 2; the original split has 1"),
    ],
)
def test_each_difference_is_named(changes, difference):
    facts = {"n_cases": 28, "length": 286, "n_classes": 2, **changes}
    _, test = original("Coffee")
    assert check(split_of("Coffee", **facts), test) == (difference,)


def test_a_swap_of_the_splits_shows_in_both_sizes():
    train, test = original("GunPoint")
    assert [difference.split()[0] for difference in check(test, train)] == ["n_train", "n_test"]


def test_where_lengths_vary_any_length_is_original():
    assert check(split_of("PLAID", 537, 90, 11), split_of("PLAID", 537, 1344, 11)) == ()


def test_the_check_ignores_the_case_of_the_name():
    train, test = (split_of("COFFEE", 28, 286, 2) for _ in range(2))
    assert check(train, test) == ()


def test_the_generated_dataset_can_be_checked_too():
    train = split_of("WebTraffic", 500, 1008, 10)
    assert check(train, train) == ()
    assert not WEB_TRAFFIC.in_paper


def test_a_dataset_that_nobody_knows_cannot_be_checked():
    toy = split_of("GunPont", 2, 2, 2)
    with pytest.raises(UnknownNameError, match="Did you mean 'GunPoint'"):
        check(toy, toy)

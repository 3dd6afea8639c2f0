import importlib.util
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millet.datasets import list_datasets, load_dataset
from millet.datasets.catalogue import check
from millet.datasets.locate import find_splits, plain_name, scan, search_folders
from millet.errors import DatasetNotFoundError, ParameterError

ROWS = "1\t0.5\t1.5\t2.5\n2\t3.5\t4.5\t5.5\n"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache folder, and no MILLET_DATA."""
    folder = tmp_path / "cache"
    monkeypatch.delenv("MILLET_DATA", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(folder))
    return folder / "datasets"


def put(folder, name, *, suffix=".tsv", splits=("TRAIN", "TEST"), text=ROWS):
    folder.mkdir(parents=True, exist_ok=True)
    for split in splits:
        (folder / f"{name}_{split}{suffix}").write_text(text)
    return folder


@pytest.fixture(scope="module")
def shipped():
    """Real datasets, from the wheel of another package."""
    spec = importlib.util.find_spec("aeon")
    return Path(spec.origin).parent / "datasets" / "data"


@pytest.mark.parametrize("name", ["GunPoint", "ArrowHead", "ItalyPowerDemand", "OSULeaf"])
def test_real_files_load_and_are_the_original_split(shipped, name):
    train, test = load_dataset(name, shipped)
    assert (train.name, train.split, test.split) == (name, "train", "test")
    assert check(train, test) == ()


def test_a_dataset_is_found_in_its_folder_beside_others_or_by_its_own_folder(tmp_path):
    put(tmp_path / "Toy", "Toy")
    put(tmp_path, "Flat")
    for name, path in [("Toy", tmp_path), ("Toy", tmp_path / "Toy"), ("Flat", tmp_path), ("Toy", str(tmp_path))]:
        train, test = load_dataset(name, path)
        assert train.X.shape == test.X.shape == (2, 1, 3)
        assert train.name == name


def test_without_a_path_the_folders_of_the_variable_are_searched_in_order(tmp_path, monkeypatch):
    put(tmp_path / "a" / "Toy", "Toy")
    put(tmp_path / "b" / "Toy", "Toy", text="1\t9\n2\t9\n")
    put(tmp_path / "b" / "Other", "Other")
    monkeypatch.setenv("MILLET_DATA", os.pathsep.join([str(tmp_path / "a"), "", str(tmp_path / "b")]))
    assert load_dataset("Toy")[0].X.shape == (2, 1, 3)
    assert load_dataset("Other")[0].name == "Other"
    assert list_datasets() == ["Other", "Toy", "WebTraffic"]


def test_without_a_variable_the_cache_is_searched(cache):
    put(cache / "Toy", "Toy")
    assert search_folders() == [cache]
    assert list_datasets() == ["Toy", "WebTraffic"]


def test_a_path_comes_before_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLET_DATA", str(put(tmp_path / "elsewhere", "Toy")))
    (tmp_path / "empty").mkdir()
    assert list_datasets(tmp_path / "empty") == ["WebTraffic"]
    with pytest.raises(DatasetNotFoundError):
        load_dataset("Toy", tmp_path / "empty")


def test_the_exact_spelling_wins_even_in_a_later_folder(tmp_path, monkeypatch):
    put(tmp_path / "a", "TOY")
    put(tmp_path / "b", "Toy")
    monkeypatch.setenv("MILLET_DATA", os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")]))
    assert load_dataset("Toy")[0].name == "Toy"
    assert load_dataset("toy")[0].name == "TOY"


def test_the_preferred_format_wins_and_both_splits_share_it(tmp_path):
    put(tmp_path, "Toy", suffix=".csv")
    put(tmp_path, "Toy", suffix=".tsv")
    put(tmp_path, "Toy", suffix=".ts", splits=["TRAIN"])
    splits = find_splits("Toy", [tmp_path])
    assert (splits.train.suffix, splits.test.suffix, splits.format) == (".tsv", ".tsv", "tsv")


def test_splits_of_different_formats_are_used_where_nothing_better_is_there(tmp_path):
    put(tmp_path, "Toy", suffix=".tsv", splits=["TRAIN"])
    put(tmp_path, "Toy", suffix=".csv", splits=["TEST"])
    splits = find_splits("Toy", [tmp_path])
    assert (splits.train.suffix, splits.test.suffix) == (".tsv", ".csv")


@pytest.mark.parametrize(("there", "absent"), [("TRAIN", "TEST"), ("TEST", "TRAIN")])
def test_a_lonely_split_is_refused_by_name(tmp_path, there, absent):
    put(tmp_path / "Toy", "Toy", splits=[there])
    with pytest.raises(DatasetNotFoundError, match=rf"Toy_{there}\.tsv is there, but no Toy_{absent} file"):
        load_dataset("Toy", tmp_path)
    assert list_datasets(tmp_path) == ["WebTraffic"]


def test_a_lonely_split_does_not_hide_a_whole_dataset_elsewhere(tmp_path, monkeypatch):
    put(tmp_path / "a", "Toy", splits=["TRAIN"])
    put(tmp_path / "b", "Toy")
    monkeypatch.setenv("MILLET_DATA", os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")]))
    assert load_dataset("Toy")[0].name == "Toy"


def test_what_is_not_found_says_where_it_looked_and_how_to_download_it(tmp_path):
    with pytest.raises(DatasetNotFoundError) as error:
        load_dataset("gunpoint", tmp_path)
    assert str(tmp_path) in str(error.value)
    assert "millet datasets --download GunPoint" in str(error.value)


def test_what_is_misspelled_is_guessed_from_the_catalogue_and_from_what_is_here(tmp_path):
    put(tmp_path, "MyMachines")
    with pytest.raises(DatasetNotFoundError, match="Did you mean 'GunPoint'"):
        load_dataset("GunPiont", tmp_path)
    with pytest.raises(DatasetNotFoundError, match="Did you mean 'MyMachines'"):
        load_dataset("MyMachine", tmp_path)


def test_folders_that_do_not_exist_are_named(tmp_path, monkeypatch):
    with pytest.raises(DatasetNotFoundError, match="is not a folder"):
        load_dataset("GunPoint", tmp_path / "nowhere")
    monkeypatch.setenv("MILLET_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetNotFoundError, match=r"nowhere \(no such folder\)"):
        load_dataset("GunPoint")
    assert list_datasets() == ["WebTraffic"]


def test_web_traffic_is_generated_unless_the_path_holds_one(tmp_path):
    assert len(load_dataset("webtraffic")[0]) == 500
    assert len(load_dataset("WebTraffic", tmp_path)[0]) == 500
    put(tmp_path / "WebTraffic", "WebTraffic")
    assert len(load_dataset("WebTraffic", tmp_path)[0]) == 2


def test_unfinished_downloads_and_stray_folders_are_not_datasets(tmp_path):
    put(tmp_path / ".downloads" / "Toy", "Toy")
    put(tmp_path / ".hidden", ".hidden")
    put(tmp_path / "Stray", "Toy")
    put(tmp_path / "Notes", "Notes", suffix=".docx")
    assert scan([tmp_path]) == {}


@pytest.mark.parametrize("name", ["../Toy", "a/b", "a\\b", "..", ".", "", "/etc", "C:Toy", "a..b", "a\0b", 7, None])
def test_a_name_that_leads_elsewhere_is_refused(name, tmp_path):
    with pytest.raises(ParameterError, match="name must be"):
        load_dataset(name, tmp_path)


@given(st.text(max_size=20))
@settings(max_examples=200, deadline=None)
def test_every_name_that_is_accepted_stays_inside_its_folder(name):
    try:
        plain_name(name)
    except ParameterError:
        return
    inside = Path("/data") / name
    assert os.path.normpath(inside) == str(inside)
    assert inside.parent == Path("/data")

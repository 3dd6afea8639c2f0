"""Readers: what was written comes back to the last bit, and whatever is wrong is refused with its place."""

from __future__ import annotations

import gzip
import importlib.util
import io
import mmap
import random
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import writers
from millet.datasets import Dataset
from millet.datasets.files import READERS, load_file, load_splits
from millet.datasets.labels import parse_labels
from millet.datasets.readers import numbers, text
from millet.datasets.readers.numbers import MISSING, MISSING_OR_EMPTY, SeriesParser, parse_row
from millet.datasets.readers.plain import parse_plain_rows
from millet.errors import DatasetFormatError, MilletError, MissingExtraError, ParameterError

AEON = Path(importlib.util.find_spec("aeon").origin).parent / "datasets" / "data"

# --- Round trips -----------------------------------------------------------------------------------------------

LABELS = st.sampled_from([["1", "2"], ["-1", "1"], ["3", "10", "700"], ["walk", "run", "käse"], ["007", "1"]])
VALUES = st.floats(allow_nan=False, allow_infinity=False, width=64)


@st.composite
def written_cases(draw, multivariate: bool, unequal: bool):
    """Return cases of random shape with missing values inside, and their labels."""
    n_cases = draw(st.integers(1, 5))
    n_channels = draw(st.integers(1, 3)) if multivariate else 1
    lengths = st.integers(2, 9)
    common = draw(lengths)
    cases = []
    for _ in range(n_cases):
        n_timepoints = draw(lengths) if unequal else common
        values = draw(st.lists(VALUES, min_size=n_channels * n_timepoints, max_size=n_channels * n_timepoints))
        case = np.array(values).reshape(n_channels, n_timepoints)
        hidden = draw(st.lists(st.booleans(), min_size=case.size, max_size=case.size))
        hidden[0] = False
        case[np.array(hidden).reshape(case.shape)] = np.nan
        cases.append(case)
    options = draw(LABELS)
    return cases, draw(st.lists(st.sampled_from(options), min_size=n_cases, max_size=n_cases))


# suffix, writer, channels may be several, lengths may differ
ROUND_TRIPS = {
    "tsv": (".tsv", writers.write_tsv, False, False),
    "txt with commas": (".txt", writers.write_comma_txt, False, False),
    "txt with blanks": (".txt", writers.write_blank_txt, False, False),
    "ts": (".ts", writers.write_ts, True, True),
    "ts of equal length": (".ts", writers.write_ts, True, False),
    "arff": (".arff", writers.write_arff, False, False),
    "relational arff": (".arff", writers.write_relational_arff, True, False),
    "wide csv": (".csv", writers.write_csv_wide, False, True),
    "csv without header": (".csv", writers.write_csv_bare, False, True),
    "long csv": (".csv", writers.write_csv_long, True, True),
    "npz": (".npz", writers.write_npz, True, True),
    "npy": (".npy", writers.write_npy, True, False),
    "parquet of lists": (".parquet", writers.write_parquet, True, True),
    "wide parquet": (".parquet", writers.write_parquet_wide, False, False),
}


def assert_holds(dataset, cases, labels):
    lengths = [case.shape[1] for case in cases]
    assert isinstance(dataset.X, list) == (len(set(lengths)) > 1)
    assert len(dataset.X) == len(cases)
    for found, case in zip(dataset.X, cases, strict=True):
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, case)
    assert [str(label) for label in dataset.y] == labels
    assert dataset.classes.tolist() == sorted(set(dataset.y.tolist()))


@pytest.mark.parametrize("form", ROUND_TRIPS)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_what_was_written_comes_back_to_the_last_bit(form, data):
    suffix, write, multivariate, unequal = ROUND_TRIPS[form]
    cases, labels = data.draw(written_cases(multivariate, unequal))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"Toy_TRAIN{suffix}"
        write(file, cases, labels)
        dataset = load_file(file)
        assert (dataset.name, dataset.split, dataset.source) == ("Toy", "train", str(file))
        assert_holds(dataset, cases, labels)
        del dataset  # Some systems keep a memory-mapped file from being removed.


def test_every_reader_takes_part_in_a_round_trip():
    written = {suffix for suffix, *_ in ROUND_TRIPS.values()}
    assert {suffix.removesuffix(".gz") for suffix in READERS} == written


@pytest.mark.parametrize("suffix", [suffix for suffix in READERS if suffix.endswith(".gz")])
def test_a_compressed_file_reads_as_the_plain_one(tmp_path, suffix):
    write = next(write for plain, write, *_ in ROUND_TRIPS.values() if plain == suffix.removesuffix(".gz"))
    cases = [np.array([[0.1, 0.2, 0.3]]), np.array([[1.5, np.nan, 2.5]])]
    plain = tmp_path / f"Toy{suffix.removesuffix('.gz')}"
    write(plain, cases, ["a", "b"])
    packed = tmp_path / f"Toy{suffix}"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    dataset = load_file(packed)
    assert (dataset.name, dataset.split) == ("Toy", "")
    assert_holds(dataset, cases, ["a", "b"])


# --- The fast parser beside the careful one ----------------------------------------------------------------------


@settings(max_examples=400, deadline=None)
@given(st.lists(st.text(alphabet="0123456789.eE+-, ?n\t", max_size=24), min_size=1, max_size=3))
def test_the_fast_parser_never_reads_what_the_careful_one_refuses(rows):
    fast = parse_plain_rows(rows, ",")
    if fast is not None:
        careful = [parse_row(row.split(","), frozenset(), "a.ts", 1) for row in rows]
        np.testing.assert_array_equal(fast, np.stack(careful))


DIGITS = st.text("0123456789", min_size=1, max_size=20)
PLAIN = st.builds(
    "{}{}{}".format, st.sampled_from(["", "-"]), DIGITS, st.sampled_from(["", ".", ".5", ".0001e-3"])
) | st.builds("{}.{}{}".format, DIGITS, DIGITS, st.sampled_from(["", "e5", "E+17", "e-300"]))


@settings(max_examples=150, deadline=None)
@given(st.lists(PLAIN | VALUES.map(repr), min_size=1, max_size=10))
def test_the_fast_parser_reads_plain_numbers_as_the_careful_one_does(tokens):
    careful = parse_row(tokens, MISSING, "a.ts", 1)
    fast = parse_plain_rows([",".join(tokens)] * 2, ",")
    assert fast is not None
    np.testing.assert_array_equal(fast, np.stack([careful, careful]))


@pytest.mark.parametrize("bad", ["1.2.3", "1e5.2", "1e5e2", "1e", "1-2", "--1", "", " 1", "1 2", "x", "1_0", "٣"])
def test_the_fast_parser_leaves_damage_to_the_careful_one(bad):
    assert parse_plain_rows(["1,2,3", f"1,{bad},3"], ",") is None


@pytest.mark.parametrize("bad", ["1.2.3", "1e5.2", "1e", "1-2", "1 2", "x", "1_0", "٣", "0x10"])
def test_damage_deep_in_a_large_file_is_refused_with_its_line(tmp_path, bad):
    rows = [f"{case % 2}\t" + "\t".join(["0.25"] * 500) for case in range(300)]
    rows[250] = rows[250].replace("0.25", bad, 1)
    file = tmp_path / "Large.tsv"
    file.write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(DatasetFormatError, match="line 251: value 1 of the series is") as caught:
        load_file(file)
    assert repr(bad) in str(caught.value)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_blocks_of_any_size_give_the_same_series(data):
    cases, labels = data.draw(written_cases(multivariate=True, unequal=True))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        file = Path(folder) / "Toy.ts"
        writers.write_ts(file, cases, labels)
        patch.setattr(numbers, "FEWEST_CHARS_FOR_SPEED", 0)
        patch.setattr(numbers, "BLOCK_CHARS", data.draw(st.integers(1, 200)))
        assert_holds(load_file(file), cases, labels)


# --- Real files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "train_shape", "n_test", "n_classes"),
    [
        ("GunPoint", (50, 1, 150), 150, 2),
        ("ArrowHead", (36, 1, 251), 175, 3),
        ("ItalyPowerDemand", (67, 1, 24), 1029, 2),
        ("OSULeaf", (200, 1, 427), 242, 6),
        ("ACSF1", (100, 1, 1460), 100, 10),
        ("BasicMotions", (40, 6, 100), 40, 4),
    ],
)
def test_archive_datasets_have_their_published_sizes(name, train_shape, n_test, n_classes):
    folder = AEON / name
    train, test = load_splits(folder / f"{name}_TRAIN.ts", folder / f"{name}_TEST.ts", name)
    assert train.X.shape == train_shape
    assert test.X.shape == (n_test, *train_shape[1:])
    assert len(train.classes) == n_classes
    assert train.y.dtype == test.y.dtype
    assert (train.split, test.split) == ("train", "test")


@pytest.mark.parametrize(
    ("name", "n_train", "n_test", "n_channels", "train_lengths", "n_classes"),
    [("JapaneseVowels", 270, 370, 12, (7, 26), 9), ("PickupGestureWiimoteZ", 50, 50, 1, (29, 361), 10)],
)
def test_archive_datasets_of_unequal_length_are_lists(name, n_train, n_test, n_channels, train_lengths, n_classes):
    folder = AEON / name
    train, test = load_splits(folder / f"{name}_TRAIN.ts", folder / f"{name}_TEST.ts", name)
    assert isinstance(train.X, list)
    assert (len(train), len(test), train.n_channels) == (n_train, n_test, n_channels)
    assert (train.lengths.min(), train.lengths.max()) == train_lengths
    assert train.classes.tolist() == list(range(1, n_classes + 1))


@pytest.mark.parametrize(
    ("name", "others"), [("GunPoint", "arff tsv"), ("ArrowHead", "arff tsv"), ("BasicMotions", "arff")]
)
def test_the_same_data_in_another_format_is_the_same(name, others):
    file = AEON / name / f"{name}_TRAIN.ts"
    expected = load_file(file)
    for suffix in others.split():
        dataset = load_file(file.with_suffix(f".{suffix}"))
        np.testing.assert_allclose(dataset.X, expected.X, rtol=1e-6)
        np.testing.assert_array_equal(dataset.y, expected.y)


def test_arff_agrees_with_scipy():
    from scipy.io.arff import loadarff

    file = AEON / "GunPoint" / "GunPoint_TRAIN.arff"
    rows = loadarff(file)[0]
    dataset = load_file(file)
    np.testing.assert_array_equal(dataset.X[:, 0], np.array(rows.tolist())[:, :-1].astype(float))
    assert [str(label) for label in dataset.y] == [row[-1].decode() for row in rows.tolist()]


def test_series_with_their_own_times_are_refused_with_advice():
    with pytest.raises(DatasetFormatError, match="@timeStamps false"):
        load_file(AEON / "UnitTest" / "UnitTestTimeStamps_TRAIN.ts")


# --- Labels ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "1.0", "1.0000000e+00", "-1"], np.array([1, 1, 1, -1])),
        (["1", "0.5"], np.array([1.0, 0.5])),
        (["1", "007"], np.array(["1", "007"])),
        (["walk", "1"], np.array(["walk", "1"])),
        (["9007199254740993", "1"], np.array([9007199254740993, 1])),
        (
            ["123456789012345678901", "123456789012345678902"],
            np.array(["123456789012345678901", "123456789012345678902"]),
        ),
        (["inf", "1"], np.array(["inf", "1"])),
        (["1_0", "1"], np.array(["1_0", "1"])),
    ],
)
def test_labels_are_numbers_only_where_all_of_them_are(labels, expected):
    found = parse_labels(labels)
    assert found.dtype.kind == expected.dtype.kind
    assert found.tolist() == expected.tolist()


def save(folder, name, content):
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


@pytest.mark.parametrize("missing", ["", "?", "NaN"])
def test_a_missing_label_is_refused_with_its_line(tmp_path, missing):
    file = save(tmp_path, "a.tsv", f"1\t2\t3\n\n{missing}\t4\t5\n")
    with pytest.raises(DatasetFormatError, match="line 3: this case has no label"):
        load_file(file)


def test_labels_of_both_splits_get_one_type_and_one_list_of_classes(tmp_path):
    train = save(tmp_path, "a_TRAIN.tsv", "1\t2\t3\n2.5\t4\t5\n")
    test = save(tmp_path, "a_TEST.csv", "1.0,2,3\n")
    first, second = load_splits(train, test, "a")
    assert first.y.dtype == second.y.dtype == np.float64
    assert first.classes.tolist() == second.classes.tolist() == [1.0, 2.5]
    assert (first.name, second.name, second.source) == ("a", "a", str(test))


def test_a_test_label_that_training_lacks_is_refused_with_its_line_and_the_known_ones(tmp_path):
    train = save(tmp_path, "a_TRAIN.tsv", "walk\t2\t3\nrun\t4\t5\n")
    test = save(tmp_path, "a_TEST.tsv", "walk\t2\t3\nswim\t4\t5\n")
    with pytest.raises(DatasetFormatError, match=r"a_TEST.tsv, line 2: .*'swim'.*: run, walk\."):
        load_splits(train, test, "a")


def test_splits_with_different_channels_are_refused(tmp_path):
    train = save(tmp_path, "a_TRAIN.ts", "@classLabel true 1 2\n@data\n1,2:3,4:1\n")
    test = save(tmp_path, "a_TEST.ts", "@classLabel true 1 2\n@data\n1,2:1\n")
    with pytest.raises(DatasetFormatError, match="has 1 channels, expected 2"):
        load_splits(train, test, "a")


def test_splits_may_lack_labels_but_not_the_training_alone(tmp_path):
    bare = save(tmp_path, "bare.ts", "@classLabel false\n@data\n1,2:3,4\n")
    named = save(tmp_path, "named.ts", "@classLabel true\n@data\n1,2:3,4:1\n")
    assert [split.y for split in load_splits(bare, bare, "a")] == [None, None]
    train, test = load_splits(named, bare, "a")
    assert test.y is None
    assert test.classes.tolist() == train.y.tolist() == [1]
    with pytest.raises(DatasetFormatError, match=r"bare.ts: has no labels"):
        load_splits(bare, named, "a")


# --- What files may look like ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        (b"\xef\xbb\xbf1\t2\t3\r\n2\t4\t5\r\n", [1, 2]),
        ("Käse\t2\t3\nBrot\t4\t5".encode(), ["Käse", "Brot"]),
        ("Käse\t2\t3\nBrot\t4\t5".encode("latin-1"), ["Käse", "Brot"]),
        (b"\n1\t2\t3\n   \n2\t4\t5\n\n\n", [1, 2]),
    ],
    ids=["byte order mark and Windows line ends", "UTF-8 without final newline", "Latin-1", "blank lines"],
)
def test_encodings_and_line_ends_do_not_matter(tmp_path, content, labels):
    dataset = load_file(save(tmp_path, "a.tsv", content))
    assert dataset.y.tolist() == labels
    np.testing.assert_array_equal(dataset.X, [[[2, 3]], [[4, 5]]])


@pytest.mark.parametrize("content", ["1\t2\t3", "1,2,3", "1 2 3"])
def test_one_case_of_one_class_and_two_timepoints_reads(tmp_path, content):
    dataset = load_file(save(tmp_path, "a.txt", content))
    assert (dataset.X.tolist(), dataset.y.tolist()) == ([[[2.0, 3.0]]], [1])


def test_padding_of_the_archive_stays_in_the_array(tmp_path):
    dataset = load_file(save(tmp_path, "a.tsv", "1\t2\t3\tNaN\n2\t4\t5\t6\n"))
    np.testing.assert_array_equal(dataset.X[0], [[2, 3, np.nan]])


TS_VARIANTS = {
    "tags in any case": ("@UNIVARIATE TRUE\n@ClassLabel true a b\n@DATA\n1,2:a\n", (1, 1, 2), ["a"]),
    "comments and blank lines": (
        "# x\n% y\n\n@classLabel true a\n@data\n# z\n1,2:a\n\n3,4:a\n",
        (2, 1, 2),
        ["a", "a"],
    ),
    "dimension": ("@dimension 2\n@classLabel true a\n@data\n1,2:3,4:a\n", (1, 2, 2), ["a"]),
    "no labels": ("@classLabel false\n@data\n1,2:3,4\n", (1, 2, 2), None),
    "regression target": ("@targetLabel true\n@data\n1,2:0.5\n3,4:1\n", (2, 1, 2), [0.5, 1.0]),
    "declared as 1.0, used as 1": ("@classLabel true 1.0 2.0\n@data\n1,2:1\n", (1, 1, 2), [1]),
    "length beside unequal": (
        "@equalLength false\n@seriesLength 9\n@classLabel true a\n@data\n1,2:a\n",
        (1, 1, 2),
        ["a"],
    ),
}


@pytest.mark.parametrize("variant", TS_VARIANTS)
def test_variants_of_ts_read(tmp_path, variant):
    content, shape, y = TS_VARIANTS[variant]
    dataset = load_file(save(tmp_path, "a.ts", content))
    assert dataset.X.shape == shape
    assert (None if dataset.y is None else dataset.y.tolist()) == y


CSV_VARIANTS = {
    "pandas with index": (",label,0,1\n0,a,1,2\n1,b,3,4\n", [[[1, 2]], [[3, 4]]], ["a", "b"]),
    "numbers for names": ("y,0,1\n7,1,2\n", [[[1, 2]]], [7]),
    "a class called y": ("y,0.5,1\nn,1,2\n", [[[0.5, 1]], [[1, 2]]], ["y", "n"]),
    "label last": ("t0,t1,Target\n1,2,a\n", [[[1, 2]]], ["a"]),
    "no label": ("t0,t1\n1,2\n", [[[1, 2]]], None),
    "quoted": ('"walk, fast","1","2"\n', [[[1, 2]]], ["walk, fast"]),
    "empty cell inside": ("a,1,,3\n", [[[1, np.nan, 3]]], ["a"]),
    "long in file order": ("id,label,v\np,a,1\np,a,2\nq,b,3\nq,b,4\n", [[[1, 2]], [[3, 4]]], ["a", "b"]),
    "long, interleaved": ("case,label,v\np,a,1\nq,b,3\np,a,2\nq,b,4\n", [[[1, 2]], [[3, 4]]], ["a", "b"]),
    "long, dates": ("case,time,v,w\np,2024-02-01,1,5\np,2024-01-31,2,6\n", [[[2, 1], [6, 5]]], None),
    "long, a timestamp": ("case,Timestamp,v\np,20,1\np,10,2\n", [[[2, 1]]], None),
    "long, a datetime": ("case,DateTime,v\np,2024-02-01T00:00:01,1\np,2024-02-01,2\n", [[[2, 1]]], None),
    "long, a date": ("case,date,v\np,2024-02-01,1\np,2024-01-31,2\n", [[[2, 1]]], None),
}


@pytest.mark.parametrize("variant", CSV_VARIANTS)
def test_variants_of_csv_read(tmp_path, variant):
    content, X, y = CSV_VARIANTS[variant]
    dataset = load_file(save(tmp_path, "a.csv", content))
    np.testing.assert_array_equal(dataset.X, X)
    assert (None if dataset.y is None else dataset.y.tolist()) == y


@pytest.mark.parametrize("names", ["t0,t1,t2", "lag3,lag2,lag1", "0.1,0.15,0.2", "x_1,x_2,y_1", "t2,t2,t2"])
def test_columns_that_are_numbered_in_order_or_otherwise_are_read_from_left_to_right(names, tmp_path):
    (tmp_path / "a.csv").write_text(f"label,{names}\na,1,2,3\nb,4,5,6\n")
    assert load_file(tmp_path / "a.csv").X.tolist() == [[[1, 2, 3]], [[4, 5, 6]]]


def test_a_shorter_row_of_a_wide_csv_is_a_shorter_series(tmp_path):
    dataset = load_file(save(tmp_path, "a.csv", "a,1,2,3\nb,4,5\nb,6,7,\n"))
    assert [case.tolist() for case in dataset.X] == [[[1, 2, 3]], [[4, 5]], [[6, 7]]]


def test_an_unlabelled_or_numeric_class_in_arff_reads(tmp_path):
    numeric = "@relation r\n@attribute a real\n@attribute 'b c' INTEGER\n"
    bare = load_file(save(tmp_path, "a.arff", numeric + "@data\n1,2\n"))
    assert (bare.y, bare.X.tolist()) == (None, [[[1.0, 2.0]]])
    target = load_file(save(tmp_path, "b.arff", numeric + "@attribute target numeric\n@data\n% note\n1,?,0.5\n"))
    assert target.y.tolist() == [0.5]
    assert np.isnan(target.X[0, 0, 1])


# --- Arrays ----------------------------------------------------------------------------------------------------


def test_npy_stays_a_memory_map_when_it_gains_a_channel(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6.0).reshape(2, 3))
    X = load_file(tmp_path / "a.npy").X
    assert X.shape == (2, 1, 3)
    owner = X
    while isinstance(owner, np.ndarray):
        owner = owner.base
    assert isinstance(owner, mmap.mmap)
    assert load_file(tmp_path / "a.npy").y is None


def test_npy_of_whole_numbers_becomes_float(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6).reshape(2, 3))
    assert load_file(tmp_path / "a.npy").X.dtype == np.float64


def test_npz_keeps_relevance_and_names_the_classes_that_occur(tmp_path):
    relevant = np.array([[True, False, False], [False, True, False]])
    np.savez(
        tmp_path / "a.npz",
        X=np.ones((2, 3), dtype=np.float32),
        y=np.array([2, 0]),
        lengths=np.array([2, 2]),
        relevant=relevant,
        classes=np.array([0, 1, 2]),
        class_names=np.array(["none", "spike", "flip"]),
    )
    dataset = load_file(tmp_path / "a.npz")
    assert dataset.X.shape == (2, 1, 2)
    assert dataset.X.dtype == np.float64
    assert dataset.relevant.tolist() == relevant[:, :2].tolist()
    assert (dataset.classes.tolist(), dataset.class_names) == ([0, 2], ("none", "flip"))


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_labels_may_be_bytes(tmp_path, encoding):
    np.savez(tmp_path / "a.npz", X=np.ones((2, 3)), y=np.array(["Käse".encode(encoding), b"Brot"]))
    assert load_file(tmp_path / "a.npz").y.tolist() == ["Käse", "Brot"]


def test_a_member_that_is_no_array_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X", "hello")
    with pytest.raises(DatasetFormatError, match="'X' is not an array"):
        load_file(tmp_path / "a.npz")


def test_class_names_alone_go_with_the_sorted_labels(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.ones((2, 3)), y=np.array([10, 9]), class_names=np.array(["nine", "ten"]))
    assert load_file(tmp_path / "a.npz").class_names == ("nine", "ten")


ONES = np.ones((2, 3))
BAD_ARRAYS = {
    "no X": ({"y": np.array([1, 2])}, "no array 'X'"),
    "four dimensions": ({"X": np.ones((1, 1, 1, 1))}, r"got float64 of shape \(1, 1, 1, 1\)"),
    "no cases": ({"X": np.ones((0, 3))}, r"shape \(0, 3\)"),
    "text": ({"X": np.array([["a", "b"]])}, "must be numbers"),
    "complex": ({"X": ONES * 1j}, "must be numbers"),
    "objects": ({"X": np.array([[1, None]], dtype=object)}, "pickled"),
    "objects as labels": ({"X": ONES, "y": np.array(["a", None], dtype=object)}, "pickled"),
    "labels of another number": ({"X": ONES, "y": np.array([1])}, r"y must be .* of shape \(2,\)"),
    "missing label": ({"X": ONES, "y": np.array([1.0, np.nan])}, "case 1 .* has no label"),
    "infinity": ({"X": np.array([[1, 2], [np.inf, 1]])}, "case 1 .* infinite"),
    "nothing observed": ({"X": np.array([[1, 2], [np.nan, np.nan]])}, "case 1 .* no observed value"),
    "nothing observed before the end": (
        {"X": np.array([[1.0, 2], [np.nan, 5]]), "lengths": np.array([2, 1])},
        "case 1 .* no observed value",
    ),
    "lengths beyond the array": ({"X": ONES, "lengths": np.array([2, 4])}, "from 1 to 3"),
    "lengths of another number": ({"X": ONES, "lengths": np.array([2])}, "'lengths' must be 2"),
    "relevance of another shape": ({"X": ONES, "relevant": np.ones((2, 2), bool)}, "'relevant' must be"),
    "too few names": ({"X": ONES, "y": np.array([1, 2]), "class_names": np.array(["a"])}, "1 names for 2"),
    "label not listed": ({"X": ONES, "y": np.array([1, 2]), "classes": np.array([1])}, "'2' is not among"),
}


@pytest.mark.parametrize("what", BAD_ARRAYS)
def test_arrays_that_make_no_dataset_are_refused(tmp_path, what):
    arrays, message = BAD_ARRAYS[what]
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DatasetFormatError, match=message):
        load_file(tmp_path / "a.npz")


def test_pickled_objects_in_npy_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1, None]], dtype=object), allow_pickle=True)
    with pytest.raises(DatasetFormatError, match="pickled"):
        load_file(tmp_path / "a.npy")


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_a_file_that_numpy_did_not_write_is_not_taken_for_a_pickle(tmp_path, suffix):
    with pytest.raises(DatasetFormatError, match=r"is no file of NumPy's; expected (an array|arrays)"):
        load_file(save(tmp_path, f"a{suffix}", b"label,t0,t1\na,1,2\n"))


def test_a_file_without_series_says_what_it_holds(tmp_path):
    np.savez(tmp_path / "a.npz", X_train=ONES, y_train=np.array([1, 2]))
    with pytest.raises(DatasetFormatError, match=r"no array 'X'; it holds 'X_train', 'y_train'\. Expected X"):
        load_file(tmp_path / "a.npz")


def test_an_archive_called_npy_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=ONES)
    (tmp_path / "a.npz").rename(tmp_path / "a.npy")
    with pytest.raises(DatasetFormatError, match=r"Call it \.npz"):
        load_file(tmp_path / "a.npy")


def test_members_of_an_archive_never_reach_the_disk(tmp_path):
    array = io.BytesIO()
    np.save(array, ONES)
    inner = tmp_path / "inner"
    inner.mkdir()
    with zipfile.ZipFile(inner / "a.npz", "w") as archive:
        archive.writestr("X.npy", array.getvalue())
        archive.writestr("../escaped.npy", array.getvalue())
    assert load_file(inner / "a.npz").X.shape == (2, 1, 3)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.npz", "inner"]


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".parquet", ".tsv.gz"])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.9])
def test_a_cut_off_binary_file_is_refused(tmp_path, suffix, part):
    cases = [np.linspace(0, 1, 50)[None] for _ in range(4)]
    whole = tmp_path / f"whole{suffix}"
    if suffix == ".tsv.gz":
        writers.write_tsv(tmp_path / "whole.tsv", cases, list("abab"))
        whole.write_bytes(gzip.compress((tmp_path / "whole.tsv").read_bytes()))
    else:
        next(write for other, write, *_ in ROUND_TRIPS.values() if other == suffix)(whole, cases, list("abab"))
    data = whole.read_bytes()
    with pytest.raises(DatasetFormatError):
        load_file(save(tmp_path, f"cut{suffix}", data[: int(part * len(data))]))


# --- Parquet ---------------------------------------------------------------------------------------------------


def write_table(file, **columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), file)


@pytest.mark.parametrize("index", ["range", "levels", "subject", "reset", "unnamed"])
def test_the_index_of_a_frame_is_no_timepoint(tmp_path, index):
    frame = pd.DataFrame({"label": ["a", "b", "a"], "t0": [1.0, 2.0, 3.0], "t1": [4.0, 5.0, 6.0]})
    if index in ("levels", "subject"):
        frame.index = pd.Index([5, 9, 7], name="subject" if index == "subject" else None)
    elif index != "range":
        frame = frame.reset_index().rename(columns={} if index == "reset" else {"index": "Unnamed: 0"})
    frame.to_parquet(tmp_path / "a.parquet")
    dataset = load_file(tmp_path / "a.parquet")
    assert dataset.X.tolist() == [[[1, 4]], [[2, 5]], [[3, 6]]]
    assert dataset.y.tolist() == ["a", "b", "a"]


def test_an_index_is_known_without_the_notes_of_pandas_and_a_channel_may_be_called_index(tmp_path):
    write_table(tmp_path / "a.parquet", t0=[1.0, 2.0], t1=[3.0, 4.0], __index_level_0__=[5, 9])
    assert load_file(tmp_path / "a.parquet").X.tolist() == [[[1, 3]], [[2, 4]]]
    write_table(tmp_path / "b.parquet", index=[[1.0, 2.0]], x=[[3.0, 4.0]])
    assert load_file(tmp_path / "b.parquet").X.tolist() == [[[1, 2], [3, 4]]]
    pd.DataFrame({"t0": [1.0], "t1": [2.0]}, index=pd.Index([7], name="id")).to_parquet(tmp_path / "c.parquet")
    assert load_file(tmp_path / "c.parquet").X.tolist() == [[[1, 2]]]
    long = pd.DataFrame({"case": [1, 1, 2, 2], "time": [0, 1, 0, 1], "x": [0.5, 0.25, 1.0, 2.0]})
    long.set_index("case").to_parquet(tmp_path / "d.parquet")
    with pytest.raises(DatasetFormatError, match=r"one row a timepoint is read from \.csv only"):
        load_file(tmp_path / "d.parquet")


@pytest.mark.parametrize("index", ["", "index", "Unnamed: 0"])
def test_the_index_of_a_long_table_is_no_channel(tmp_path, index):
    rows = "".join(f"{row},{row // 2},{row % 2},{'ab'[row // 2]},{row / 2}\n" for row in range(4))
    (tmp_path / "a.csv").write_text(f"{index},case,time,label,x\n{rows}")
    dataset = load_file(tmp_path / "a.csv")
    assert dataset.X.tolist() == [[[0, 0.5]], [[1, 1.5]]]
    assert dataset.channel_names == ("x",)


@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.txt"])
def test_lines_may_end_as_on_old_macs(tmp_path, name):
    rows = [["1", "0.5", "0.25"], ["2", "0.75", "0.125"]]
    between = {".tsv": "\t", ".csv": ",", ".txt": " "}[name[1:]]
    (tmp_path / name).write_bytes("".join(between.join(row) + "\r" for row in rows).encode())
    dataset = load_file(tmp_path / name)
    assert dataset.X.tolist() == [[[0.5, 0.25]], [[0.75, 0.125]]]
    assert dataset.y.tolist() == [1, 2]
    (tmp_path / name).write_bytes((between.join(rows[0]) + "\r" + between.join(["2", "x", "1"]) + "\r").encode())
    with pytest.raises(DatasetFormatError, match="line 2"):
        load_file(tmp_path / name)


def test_labels_may_be_quoted_and_spelled_in_two_ways(tmp_path):
    (tmp_path / "Q_TRAIN.tsv").write_text('"1"\t0.5\t1\n"a"\t1\t0.5\n')
    (tmp_path / "Q_TEST.tsv").write_text("1.0\t0.5\t1\na\t1\t2\n")
    train, test = load_splits(tmp_path / "Q_TRAIN.tsv", tmp_path / "Q_TEST.tsv", "Q")
    assert train.y.tolist() == test.y.tolist() == ["1", "a"]
    assert train.classes.tolist() == ["1", "a"]
    (tmp_path / "Q_TRAIN.tsv").write_text("1e1\t0.5\t1\n10\t0.5\t1\n0a\t1\t0.5\n")
    (tmp_path / "Q_TEST.tsv").write_text("10\t0.5\t1\n0a\t1\t2\n1.0e1\t1\t2\n")
    _, test = load_splits(tmp_path / "Q_TRAIN.tsv", tmp_path / "Q_TEST.tsv", "Q")
    assert test.y.tolist() == ["10", "0a", "10"], "as it is spelled, or else as it is meant"
    assert test.classes.tolist() == ["0a", "10", "1e1"]


def test_null_in_parquet_is_missing_and_numbers_may_be_whole(tmp_path):
    write_table(tmp_path / "a.parquet", t0=[1, None], t1=[2, 3])
    dataset = load_file(tmp_path / "a.parquet")
    np.testing.assert_array_equal(dataset.X, [[[1, 2]], [[np.nan, 3]]])
    assert dataset.y is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"v": [[1.0], None]}, "rows without a list"),
        ({"v": [[1.0, 2.0]], "w": [[1.0]]}, "case 0 .* have 2, 1 values"),
        ({"v": [[1.0]], "w": [1.0]}, "mixes columns"),
        ({"kind": ["a"], "t0": [1.0]}, "'kind' holds string; .* call it one of"),
        ({"label": ["a"]}, "0 columns"),
        ({"case": [1], "t0": [1.0]}, "one row a timepoint is read from .csv only"),
        ({"label": ["a", None], "t0": [1.0, 2.0]}, "case 1 .* has no label"),
        ({"label": ["a"], "t0": [float("inf")]}, "infinite"),
    ],
)
def test_tables_that_make_no_dataset_are_refused(tmp_path, columns, message):
    write_table(tmp_path / "a.parquet", **columns)
    with pytest.raises(DatasetFormatError, match=message):
        load_file(tmp_path / "a.parquet")


def test_parquet_without_its_extra_says_what_to_install(tmp_path, monkeypatch):
    write_table(tmp_path / "a.parquet", t0=[1.0])
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"millet-tsc\[parquet\]"):
        load_file(tmp_path / "a.parquet")


# --- Bad text --------------------------------------------------------------------------------------------------

TS = "@classLabel true a b\n@data\n"
ARFF = "@relation r\n@attribute t0 numeric\n@attribute t1 numeric\n@attribute class {a,b}\n@data\n"
RELATIONAL = (
    "@relation r\n@attribute s relational\n@attribute t0 numeric\n@attribute t1 numeric\n@end s\n"
    "@attribute class {a,b}\n@data\n"
)
BAD_TEXT = {
    "empty tsv": ("a.tsv", "", "is empty"),
    "blank tsv": ("a.tsv", "\n \n", "is empty"),
    "tsv without values": ("a.tsv", "1\n", "line 1: found only '1'"),
    "tsv with an empty series": ("a.tsv", "1\t\n", "line 1"),
    "tsv with a header": ("a.tsv", "label\tt0\n1\t2\n", "line 1: is a header; expected a label"),
    "tsv that counts": ("a.tsv", "0\t1\t2\t3\n1\t2\t3\t4\n", "line 1: counts the columns from 0"),
    "tsv with names and counts": ("a.tsv", "label\t0\t1\t2\n1\t2\t3\t4\n", "line 1: is a header"),
    "tsv that counts from 1": ("a.tsv", "label\t1\t2\t3\t4\n1\t2\t3\t4\t5\n", "line 1: is a header"),
    "tsv with times": ("a.tsv", "class\t0.00\t0.04\t0.08\n1\t2\t3\t4\n", "line 1: is a header"),
    "tsv with decimal commas": ("a.tsv", "1\t0,5\t0,7\n", "'0,5'; expected a number, with a decimal point"),
    "csv that counts": ("a.csv", "0,1,2,3\n1,2,3,4\n", "line 1: counts the columns from 0"),
    "csv that counts beside an index": ("a.csv", ",0,1,2,3\n0,1,2,3,4\n", "line 1: counts the columns from 0"),
    "csv that counts beside a named index": ("a.csv", "index,0,1,2,3\n0,1,2,3,4\n", "line 1: counts the columns"),
    "tsv that counts beside an index": ("a.tsv", "index\t0\t1\t2\t3\n0\t1\t2\t3\t4\n", "line 1: counts the columns"),
    "csv of labels alone": ("a.csv", "label\na\nb\n", "names no column of values"),
    "csv of index and labels": ("a.csv", "index,label\n0,a\n1,b\n", "names no column of values"),
    "tsv with a word": ("a.tsv", "1\t2\t3\n\n1\tx\t3\n", "line 3: value 1 .* 'x'; expected a number"),
    "tsv with a short row": ("a.tsv", "1\t2\t3\n1\t2\n", "line 2: found 1 values, expected 2, as in line 1"),
    "tsv with infinity": ("a.tsv", "1\t2\t3\n1\t2\t-inf\n", "line 2: .* infinite"),
    "tsv beyond floats": ("a.tsv", "1\t2\t1e999\n", "line 1: .* infinite"),
    "tsv of nothing": ("a.tsv", "1\t2\t3\n1\tNaN\tNaN\n", "line 2: .* no observed value"),
    "NUL bytes": ("a.tsv", b"1\t2\t3\n1\t\0\t3\n", "line 2: holds a NUL byte"),
    "UTF-16": ("a.tsv", "1\t2\t3\n".encode("utf-16"), "line 1: holds a NUL byte"),
    "control characters": ("a.tsv", "1\t2\t3\n\x01\x02\t2\t3\n", "line 2: .* for a label"),
    "empty ts": ("a.ts", "", "no '@data'"),
    "header-only ts": ("a.ts", TS, "holds no series"),
    "ts without data tag": ("a.ts", "@classLabel true a\n1,2:a\n", "line 2: found '1,2:a' before '@data'"),
    "ts without label tag": ("a.ts", "@data\n1,2:a\n", "declares no labels"),
    "ts with an unknown label": ("a.ts", TS + "1,2:c\n", "line 3: label 'c' is not among .* a, b"),
    "ts without colon": ("a.ts", TS + "a\n", "line 3: found no ':'"),
    "ts with empty series": ("a.ts", TS + ":a\n", "line 3: holds a series without any value"),
    "ts with empty value": ("a.ts", TS + "1,,2:a\n", "line 3: value 2 of the series is ''"),
    "ts with wrong dimensions": ("a.ts", "@dimensions 2\n" + TS + "1,2:a\n", "line 4: found 1 channels, expected 2"),
    "ts with changing channels": ("a.ts", TS + "1,2:3,4:a\n1,2:a\n", "line 4: found 1 channels, expected 2"),
    "ts with ragged channels": ("a.ts", TS + "1,2:3:a\n", "line 3: .* have 2, 1 values"),
    "ts univariate with two": ("a.ts", "@univariate true\n" + TS + "1,2:3,4:a\n", "found 2 channels, expected 1"),
    "ts that contradicts itself": ("a.ts", "@univariate true\n@dimensions 2\n" + TS + "1:a\n", "2 dimensions"),
    "ts of another length": ("a.ts", "@seriesLength 3\n" + TS + "1,2:a\n", "line 4: found 2 values, expected 3"),
    "ts not equal": ("a.ts", "@equalLength true\n" + TS + "1,2:a\n1:a\n", "line 5: found 1 values, expected 2"),
    "ts with an odd answer": ("a.ts", "@univariate maybe\n" + TS, "line 1: '@univariate' says 'maybe'"),
    "ts with an odd count": ("a.ts", "@dimensions two\n" + TS, "line 1: '@dimensions' says 'two'"),
    "ts of nothing": ("a.ts", TS + "?,?:?,?:a\n", "line 3: .* no observed value"),
    "empty arff": ("a.arff", "", "no '@data'"),
    "header-only arff": ("a.arff", ARFF, "holds no series"),
    "arff without timepoints": ("a.arff", "@attribute class {a}\n@data\na\n", "no numeric attribute"),
    "arff with text attribute": ("a.arff", "@attribute t0 string\n@data\na\n", "line 1: .* type 'string'"),
    "arff with class first": ("a.arff", "@attribute class {a}\n@attribute t numeric\n", "expected the class last"),
    "arff with half an attribute": ("a.arff", "@attribute t0\n@data\n", "expected '@attribute name type'"),
    "arff with junk in its header": ("a.arff", "hello\n" + ARFF, "line 1: found 'hello' before"),
    "arff with a short row": ("a.arff", ARFF + "1,a\n", "line 6: found 1 values, expected 2"),
    "arff with an unknown label": ("a.arff", ARFF + "1,2,c\n", "line 6: label 'c' is not among"),
    "arff with a missing label": ("a.arff", ARFF + "1,2,?\n", "line 6: this case has no label"),
    "arff with broken quotes": ("a.arff", ARFF + "1,2,'a\n", "line 6"),
    "relation without quotes": ("a.arff", RELATIONAL + "1,2,a\n", "line 8: .* expected a quoted series"),
    "relation without label": ("a.arff", RELATIONAL + "'1,2'\n", "line 8: .* expected a quoted series"),
    "ragged relation": ("a.arff", RELATIONAL + "'1,2\\n3',a\n", "line 8: .* have 2, 1 values"),
    "relation with changing channels": (
        "a.arff",
        RELATIONAL + "'1,2\\n3,4',a\n'1,2',b\n",
        "line 9: found 1 channels",
    ),
    "empty csv": ("a.csv", "", "is empty"),
    "header-only csv": ("a.csv", "label,t0,t1\n", "header only"),
    "header-only long csv": ("a.csv", "case,label,v\n", "header only"),
    "csv with a long row": ("a.csv", "label,t0\na,1,2\n", "line 2: found 3 cells, expected at most 2"),
    "csv row without label": ("a.csv", "t0,t1,label\n1\n", "line 2: the row ends before its label"),
    "csv with a word": ("a.csv", "label,t0,t1\n\na,1,x\n", "line 3: value 2 .* 'x'"),
    "csv with an unnamed label": ("a.csv", "kind,a,b\na,1,2\n", "If it is the label, call its column"),
    "csv with a number of cases": ("a.csv", "label,who,t0,t1\na,1,2,3\n", "line 1: its column 'who' seems to be no"),
    "csv with semicolons": ("a.csv", "label;t0;t1\na;1,5;2\n", "separated by semicolons; expected commas"),
    "csv sorted by words": ("a.csv", "label,t1,t10,t2\na,1,2,3\n", "line 1: .* out of order: 't2' comes after 't10'"),
    "csv with an age": ("a.csv", "t0,t1,t2,age,label\n1,2,3,60,a\n", "line 1: its column 'age' seems to be no"),
    "csv with an unknown label": ("a.csv", "t0,t1,diagnosis\n1,2,3\n", "'diagnosis' seems to be no .* call it label"),
    "csv of one recording": ("a.csv", "time,x,y,label\n0,1,2,a\n", "line 1: has a column 'time', and none of cases"),
    "csv of one recording in ms": ("a.csv", "Time (ms),value\n0,1\n", "has a column 'time \\(ms\\)'.* called id"),
    "csv with bare semicolons": ("a.csv", "0;0,04;0,1;-0,5\n", "separated by semicolons; expected commas"),
    "csv with decimal commas": (
        "a.csv",
        '"a","0,5","0,7"\n',
        "has a decimal comma in '0,5'; expected",
    ),
    "csv with a comment": ("a.csv", "# exported\na,1,2\n", "begins with '# exported', which is no data"),
    "csv with Excel's separator": ("a.csv", "sep=,\na,1,2\n", "begins with 'sep=,', which is no data"),
    "csv with tabs": ("a.csv", "a\t1\t2\n", "separated by tabs; expected commas"),
    "csv with two labels": ("a.csv", "label,y,t0\na,b,1\n", "columns called label, y"),
    "csv without values": ("a.csv", "label,t0\na,\n", "line 2: holds a series without any value"),
    "csv with broken quotes": ("a.csv", 'label,t0\n"a,1\n', "not comma-separated"),
    "csv with infinity": ("a.csv", "label,t0\na,inf\n", "line 2: .* infinite"),
    "long csv with changing label": ("a.csv", "case,label,v\np,a,1\np,b,2\n", "line 3: label 'b' differs from 'a'"),
    "long csv with a short row": ("a.csv", "case,label,v\np,a\n", "line 2: found 2 cells, expected 3"),
    "long csv with a time twice": ("a.csv", "case,time,v\np,0,1\np,0,2\n", "line 2: .* same time twice"),
    "long csv with a word": ("a.csv", "case,time,v\np,0,x\n", "line 2: column 'v' is 'x'; .* call .*: class, label"),
    "long csv with a column of words": (
        "a.csv",
        "case,time,label,v,site\np,0,a,1,Paris\n",
        "line 2: column 'site' is 'Paris'; expected a number. A column that is no channel must be removed.$",
    ),
    "long csv with an unnamed time": (
        "a.csv",
        "case,when,v\np,2024-02-01,1\n",
        "'2024-02-01'; .* time, call its column one of: date, datetime, time, timepoint, timestamp",
    ),
    "long csv with two times": ("a.csv", "case,date,time,v\np,2024-02-01,0,1\n", "columns called date, time"),
    "long csv with an odd time": ("a.csv", "case,time,v\np,0,1\np,soon,2\n", "line 3: time 'soon'"),
    "long csv with NaN for a time": ("a.csv", "case,time,v\np,nan,1\n", "line 2: time 'nan'"),
    "long csv without case": ("a.csv", "case,time,v\n,0,1\n", "line 2: the row names no case"),
    "long csv without channels": ("a.csv", "case,label\np,a\n", "names no channel"),
    "wide csv with ids": ("a.csv", "id,label,t0,t1\n1,a,1,2\n2,b,3,4\n", "only one row for each"),
    "long csv of nothing": ("a.csv", "case,v\np,\np,\n", "line 2: .* no observed value"),
    "gzip that is none": ("a.tsv.gz", "1\t2\t3\n", "not a whole gzip file"),
    "unknown suffix": ("a.xlsx", "1", r"no known suffix; expected one of \.ts, \.tsv"),
}


@pytest.mark.parametrize("what", BAD_TEXT)
def test_bad_text_is_refused_with_its_place(tmp_path, what):
    name, content, message = BAD_TEXT[what]
    with pytest.raises(DatasetFormatError, match=message) as caught:
        load_file(save(tmp_path, name, content))
    assert name in str(caught.value)


def test_what_is_not_a_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not there"):
        load_file(tmp_path / "missing.tsv")
    (tmp_path / "folder.tsv").mkdir()
    with pytest.raises(DatasetFormatError, match="is a folder"):
        load_file(tmp_path / "folder.tsv")


def test_a_file_that_the_system_refuses_is_a_millet_error(tmp_path, monkeypatch):
    def refuse(file):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setitem(READERS, ".tsv", refuse)
    with pytest.raises(DatasetFormatError, match=r"can't be read \(Permission denied\)"):
        load_file(save(tmp_path, "a.tsv", "1\t2\t3\n"))


# --- Files built to fill a memory ---------------------------------------------------------------------------------


def peak_memory(action) -> int:
    import tracemalloc

    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "line", [b"0" * 1024, b"1" + b"\t0.0000000" * 500 + b"\n"], ids=["one endless line", "endless lines"]
)
def test_a_gzip_bomb_is_refused_without_unpacking_it(tmp_path, monkeypatch, line):
    monkeypatch.setattr(text, "USUAL_UNPACKED", 4 << 20)
    with gzip.open(tmp_path / "bomb.tsv.gz", "wb") as handle:
        for _ in range(64):
            handle.write(line * ((1 << 20) // len(line)))

    def read():
        with pytest.raises(DatasetFormatError, match=r"unpacks to over .* unpack it and read the plain file"):
            load_file(tmp_path / "bomb.tsv.gz")

    assert peak_memory(read) < 48 << 20


def test_a_zip_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "USUAL_UNPACKED", 1 << 20)
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((4, 1 << 16)))
    with pytest.raises(DatasetFormatError, match="unpacks to over"):
        load_file(tmp_path / "a.npz")


def test_an_endless_line_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "LONGEST_LINE", 1 << 10)
    with pytest.raises(DatasetFormatError, match="line 2: is longer than"):
        load_file(save(tmp_path, "a.tsv", "1\t2\n" + "1" * 5000))


def test_extra_memory_is_little_more_than_the_array(tmp_path):
    row = "\t".join(f"{np.sin(t):.8f}" for t in range(500))
    file = save(tmp_path, "a.tsv", "".join(f"{case % 2}\t{row}\n" for case in range(2000)))
    load_file(file)
    n_bytes = load_file(file).X.nbytes
    assert peak_memory(lambda: load_file(file)) - n_bytes < 1.2 * n_bytes


# --- Damage ----------------------------------------------------------------------------------------------------


def damaged(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            return data[: rng.randrange(len(data))]
        case 1:
            position = rng.randrange(len(data))
            return data[:position] + bytes([rng.randrange(256)]) + data[position + 1 :]
        case 2:
            return b"\n".join(lines[:at] + lines[at + 1 :])
        case 3:
            return b"\n".join([*lines[:at], lines[at], *lines[at:]])
        case 4:
            position = rng.randrange(len(data))
            return data[:position] + rng.randbytes(rng.randrange(1, 9)) + data[position:]
        case _:
            position = rng.randrange(len(data))
            return data[:position] + rng.choice(b",:\t\"'\n?@{} \r-.e").to_bytes() + data[position:]


# Parquet is left out: its decoder is not ours, and no decoder in C++ is safe from every damage.
@pytest.mark.parametrize("form", [form for form in ROUND_TRIPS if "parquet" not in form])
def test_a_damaged_file_reads_cleanly_or_is_refused(tmp_path, form):
    suffix, write, multivariate, unequal = ROUND_TRIPS[form]
    rng = random.Random(form)
    generator = np.random.default_rng(0)
    lengths = [4, 3, 5] if unequal else [4, 4, 4]
    cases = [generator.normal(size=(2 if multivariate else 1, length)) for length in lengths]
    whole = tmp_path / f"whole{suffix}"
    write(whole, cases, ["walk", "run", "walk"])
    data = whole.read_bytes()
    file = tmp_path / f"damaged{suffix}"
    for _ in range(150):
        broken = damaged(data, rng)
        if rng.random() < 0.3 and broken:
            broken = damaged(broken, rng)
        file.write_bytes(broken)
        try:
            dataset = load_file(file)
        except MilletError:
            continue
        assert len(dataset) > 0
        assert dataset.y is None or len(dataset.y) == len(dataset)
        assert all(case.ndim == 2 and case.size and not np.isinf(case).any() for case in dataset.X)
        assert len({case.shape[0] for case in dataset.X}) == 1


def test_the_parser_says_that_nothing_came():
    with pytest.raises(DatasetFormatError, match="holds no series"):
        SeriesParser("a.ts", ",", MISSING_OR_EMPTY).finish()


# --- The guide -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "suffix", "n_cases", "n_channels"),
    [("`.ts`", "ts", 2, 2), ("`.tsv` and `.txt`", "tsv", 2, 1), ("`.arff`", "arff", 1, 2), ("`.csv`", "csv", 2, 1)],
)
def test_the_examples_of_the_guide_read(tmp_path, section, suffix, n_cases, n_channels):
    guide = (Path(__file__).parents[1] / "docs" / "formats.md").read_text(encoding="utf-8")
    example = guide.split(f"## {section}\n")[1].split("```text\n")[1].split("```")[0]
    dataset = load_file(save(tmp_path, f"a.{suffix}", example))
    assert (len(dataset), dataset.n_channels) == (n_cases, n_channels)


def test_cases_of_a_long_file_keep_their_names_and_the_order_of_their_appearance(tmp_path):
    text = "id,label,v\nq,b,3\n p ,a,1\nq,b,4\n p ,a,2\n"
    data = load_file(save(tmp_path, "a.csv", text))
    assert (data.case_names, data.y.tolist()) == (("q", "p"), ["b", "a"])
    assert data.take([1]).case_names == ("p",)
    assert load_file(save(tmp_path, "b.csv", "label,t0,t1\na,1,2\n")).case_names == ()


def test_the_long_example_of_the_guide_reads(tmp_path):
    guide = (Path(__file__).parents[1] / "docs" / "formats.md").read_text(encoding="utf-8")
    example = "case," + guide.split("```text\ncase,")[1].split("```")[0]
    dataset = load_file(save(tmp_path, "a.csv", example))
    assert dataset.X.shape == (2, 2, 2)
    assert dataset.channel_names == ("x", "y_axis")


@pytest.mark.parametrize("name", ["", "index", "Unnamed: 0"])
def test_an_index_that_pandas_wrote_is_no_timepoint(tmp_path, name):
    dataset = load_file(save(tmp_path, "a.csv", f"{name},t0,t1,label\n0,5,6,a\n1,7,8,b\n"))
    assert dataset.X.tolist() == [[[5, 6]], [[7, 8]]]


@pytest.mark.parametrize(
    ("header", "labels"), [("id,x,y,z", None), ("id,y,label,z", ["6", "6"]), ("id,a,y,c", ["6", "6"])]
)
def test_y_is_an_axis_beside_others(tmp_path, header, labels):
    dataset = load_file(save(tmp_path, "a.csv", f"{header}\n1,5,6,7\n1,5,6,7\n2,5,6,7\n2,5,6,7\n"))
    assert dataset.n_channels == (3 if labels is None else 2)
    assert (None if dataset.y is None else list(map(str, dataset.y))) == labels
    write_table(tmp_path / "a.parquet", x=[[0.0, 1.0]] * 2, y=[[5.0, 6.0]] * 2, z=[[5.0, 6.0]] * 2)
    assert load_file(tmp_path / "a.parquet").channel_names == ("x", "y", "z")


# Names of channels


def test_channels_are_called_as_the_file_calls_them(tmp_path):
    long = save(tmp_path, "a.csv", "id, Speed ,label,Force\n1,0,a,5\n1,1,a,6\n2,0,b,5\n2,2,b,6\n")
    write_table(tmp_path / "a.parquet", label=["a", "b"], Speed=[[0.0, 1.0]] * 2, Force=[[5.0, 6.0]] * 2)
    np.savez(tmp_path / "a.npz", X=np.ones((2, 2, 3)), channel_names=["Speed", "Force"])
    for file in (long, tmp_path / "a.parquet", tmp_path / "a.npz"):
        assert load_file(file).channel_names == ("Speed", "Force"), file


def test_names_that_do_not_tell_channels_apart_are_no_names(tmp_path):
    for header in ("id,x,x", "id,x,"):
        assert load_file(save(tmp_path, "a.csv", f"{header}\n1,0,5\n1,1,6\n")).channel_names == ()
    write_table(tmp_path / "a.parquet", t0=[1.0], t1=[2.0])
    assert load_file(tmp_path / "a.parquet").channel_names == ()
    np.savez(tmp_path / "a.npz", X=np.ones((2, 2, 3)), channel_names=["x", "x"])
    with pytest.raises(DatasetFormatError, match="2 different names, one per channel; got x, x"):
        load_file(tmp_path / "a.npz")


def test_splits_whose_channels_have_another_order_are_refused(tmp_path):
    train = save(tmp_path, "a_TRAIN.csv", "id,x,z,label\n1,0,5,a\n1,1,6,a\n2,1,6,b\n2,1,6,b\n")
    test = save(tmp_path, "a_TEST.csv", "id,z,x,label\n1,0,5,a\n1,1,6,a\n")
    with pytest.raises(DatasetFormatError, match="has the channels z, x; expected x, z, in this order"):
        load_splits(train, test, "a")


def test_some_cases_of_a_dataset_keep_all_that_is_known_of_them(tmp_path):
    data = load_file(save(tmp_path, "a.csv", "id,x,z,label\n1,0,5,a\n1,1,6,a\n2,1,6,b\n3,7,8,b\n3,9,9,b\n"))
    some = data.take([2, 1])
    assert [case.tolist() for case in some.X] == [[[7, 9], [8, 9]], [[1], [6]]]
    assert (some.y.tolist(), some.classes.tolist()) == (["b", "b"], ["a", "b"])
    assert some.channel_names == data.channel_names


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"y": [0, 1, 0]}, r"y must have shape \(2,\).*got \(3,\)"),
        ({"y": [0, 1], "class_names": ("only",)}, "class_names must have shape"),
        ({"relevant": np.ones((2, 4), dtype=bool)}, r"relevant must have shape \(2, 3\)"),
        ({"channel_names": ("x", "z")}, r"channel_names must have shape \(1,\)"),
    ],
)
def test_parts_of_a_dataset_must_fit_together(parts, words):
    with pytest.raises(ParameterError, match=words):
        Dataset(X=np.ones((2, 3)), **parts)


def test_a_recording_in_parquet_is_refused(tmp_path):
    pd.DataFrame({"time": [0, 1], "x": [1.0, 2.0], "label": ["a", "a"]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DatasetFormatError, match="has a column 'time', and none of cases"):
        load_file(tmp_path / "a.parquet")


@pytest.mark.parametrize("time", ["t", "time_ms", "Time (s)", "timestamp[ns]", "T_s", "Date"])
def test_long_csv_knows_times_with_and_without_units(time, tmp_path):
    file = save(tmp_path, "a.csv", f"id,{time},label,x\n1,3,a,30\n1,1,a,10\n2,2,b,20\n2,1,b,11\n")
    contents = load_file(file)
    assert contents.channel_names == ("x",)
    assert np.asarray(contents.X).tolist() == [[[10, 30]], [[11, 20]]]


@pytest.mark.parametrize("header", ["label,0.00,0.04,0.08,0.12", "class,1990,1991,1992,1993", "y,0,10,20,30"])
def test_times_above_the_columns_are_a_header(header, tmp_path):
    dataset = load_file(save(tmp_path, "a.csv", f"{header}\n0,1,2,3,4\n1,4,3,2,1\n"))
    assert dataset.y.tolist() == [0, 1]
    assert np.asarray(dataset.X)[:, 0].tolist() == [[1, 2, 3, 4], [4, 3, 2, 1]]

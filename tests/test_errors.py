"""Errors: one family, each also the built-in that users expect, and messages that lead on."""

from __future__ import annotations

import inspect
import pickle

import pytest

from millet import errors
from millet.errors import (
    DatasetFormatError,
    MilletError,
    MissingExtraError,
    UnknownNameError,
    did_you_mean,
    import_extra,
    lookup,
)

FAMILY = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, MilletError)]
TABLE = {"conjunctive": 1, "gap": 2, "Peak": 3}


@pytest.mark.parametrize("kind", [kind for kind in FAMILY if kind is not MilletError])
def test_every_error_is_of_the_family_and_a_built_in(kind):
    assert any(issubclass(kind, built_in) for built_in in (ValueError, OSError, RuntimeError, ImportError))
    assert kind.__doc__


@pytest.mark.parametrize("kind", [kind for kind in FAMILY if kind is not DatasetFormatError])
def test_an_error_comes_back_whole_from_another_process(kind):
    copy = pickle.loads(pickle.dumps(kind("what came")))
    assert type(copy) is kind
    assert str(copy) == "what came"


@pytest.mark.parametrize(("line", "where"), [(None, "a.ts: "), (7, "a.ts, line 7: ")])
def test_a_format_error_names_file_and_line(line, where):
    error = DatasetFormatError("a.ts", "two values expected", line)
    for found in (error, pickle.loads(pickle.dumps(error))):
        assert str(found) == f"{where}two values expected"
        assert (found.file, found.problem, found.line) == ("a.ts", "two values expected", line)


def test_a_known_name_is_found():
    assert [lookup("pooling", name, TABLE) for name in TABLE] == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("conjuctive", "Unknown pooling 'conjuctive'; known: Peak, conjunctive, gap. Did you mean 'conjunctive'?"),
        ("GAP", "Unknown pooling 'GAP'; known: Peak, conjunctive, gap. Did you mean 'gap'?"),
        ("peak", "Unknown pooling 'peak'; known: Peak, conjunctive, gap. Did you mean 'Peak'?"),
        ("xyz", "Unknown pooling 'xyz'; known: Peak, conjunctive, gap."),
        ("", "Unknown pooling ''; known: Peak, conjunctive, gap."),
        (None, "Unknown pooling None; known: Peak, conjunctive, gap."),
        (3, "Unknown pooling 3; known: Peak, conjunctive, gap."),
        (["gap"], "Unknown pooling ['gap']; known: Peak, conjunctive, gap."),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_ones(name, message):
    with pytest.raises(UnknownNameError) as caught:
        lookup("pooling", name, TABLE)
    assert str(caught.value) == message


def test_the_nearest_name_is_proposed_and_none_where_none_is_near():
    assert did_you_mean("GunPiont", ["GunPoint", "GunPointAgeSpan"]) == " Did you mean 'GunPoint'?"
    assert did_you_mean("zzz", ["GunPoint"]) == ""
    assert did_you_mean("zzz", []) == ""


def test_an_installed_extra_is_imported():
    assert import_extra("json", "parquet", "Reading") is __import__("json")


def test_a_missing_extra_says_how_to_install_it():
    with pytest.raises(MissingExtraError) as caught:
        import_extra("no_such_module", "parquet", "Reading .parquet files")
    assert str(caught.value) == (
        "Reading .parquet files needs the package 'no_such_module', which is not installed. "
        "Install it with: pip install 'millet-tsc[parquet]', or '.[parquet]' in a checkout."
    )
    assert isinstance(caught.value, ImportError)

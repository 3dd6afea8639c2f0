import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from millet.cli import main
from millet.datasets.catalogue import PAPER_DATASETS
from millet.errors import MilletError
from millet.tables import format_table

ROWS = "1\t0.5\t1.5\t2.5\n2\t3.5\t4.5\t5.5\n"


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    folder = tmp_path / "root"
    folder.mkdir()
    monkeypatch.setenv("MILLET_DATA", str(folder))
    return folder


@pytest.fixture(scope="module")
def shipped():
    """Real datasets, from the wheel of another package."""
    spec = importlib.util.find_spec("aeon")
    return str(Path(spec.origin).parent / "datasets" / "data")


@pytest.fixture
def run(capsys):
    def run(*args):
        with pytest.raises(SystemExit) as end:
            main(["datasets", *args])
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return run


def put(root, name, text=ROWS):
    (root / name).mkdir()
    for split in ("TRAIN", "TEST"):
        (root / name / f"{name}_{split}.tsv").write_text(text)


def row_of(out, name):
    return next(line.split() for line in out.splitlines() if line.split()[:1] == [name])


def test_the_list_shows_what_is_here_and_what_the_archive_says_of_it(run, root):
    put(root, "GunPoint")
    put(root, "Mine")
    code, out, err = run()
    assert (code, err) == (0, "")
    assert row_of(out, "GunPoint") == ["GunPoint", "50", "150", "2", "150", "Motion", "yes", "tsv"]
    assert row_of(out, "Mine") == ["Mine", "?", "?", "?", "?", "?", "-", "tsv"]
    assert row_of(out, "WebTraffic")[-1] == "built-in"
    assert "You have 1 of the 128 UCR datasets, 1 of the paper's 85; missing of these: Adiac," in out
    assert str(root) in out


def test_the_paper_list_has_85_rows_here_or_missing(run, root):
    put(root, "gunpoint")
    _, out, _ = run("--paper")
    lines = [line.split() for line in out.splitlines()[1:86]]
    assert [line[0] for line in lines] == list(PAPER_DATASETS)
    assert {line[0] for line in lines if line[-1] != "missing"} == {"GunPoint"}


def test_only_an_explicit_path_stands_before_the_generator(run, root):
    put(root, "WebTraffic")
    assert row_of(run()[1], "WebTraffic")[-1] == "built-in"
    assert row_of(run("--path", str(root))[1], "WebTraffic")[-1] == "tsv"


def test_the_whole_list_has_the_archive_and_everything_here(run, root):
    put(root, "Mine")
    _, out, _ = run("--all", "--json")
    assert len(json.loads(out)["datasets"]) == 128 + len(["Mine", "WebTraffic"])


@pytest.mark.parametrize("options", [[], ["--paper"], ["--all"], ["--check"], ["--all", "--check"]])
def test_every_table_is_plain_aligned_and_fits_100_columns(run, shipped, options):
    _, out, _ = run("--path", shipped, *options)
    table = out.partition("\n\n")[0].splitlines()
    assert max(map(len, table)) <= 100
    assert "\x1b" not in out
    assert all(line == line.rstrip() for line in out.splitlines())
    start = table[0].index("here")
    assert all(line[start - 1] == " " != line[start] for line in table[1:])


def test_checking_reads_the_files_and_names_every_difference(run, shipped, root):
    _, out, _ = run("--check", "--path", shipped)
    assert row_of(out, "GunPoint") == ["GunPoint", "50", "150", "2", "150", "1", "yes", "ts", "original"]
    assert row_of(out, "BasicMotions") == ["BasicMotions", "40", "40", "4", "100", "6", "-", "ts", "unknown"]
    put(root, "GunPoint")
    _, out, _ = run("--check")
    assert row_of(out, "GunPoint") == ["GunPoint", "2", "2", "2", "3", "1", "yes", "tsv", "differs"]
    assert "GunPoint: n_train is 2; the original split has 50" in out
    assert row_of(out, "WebTraffic")[-2:] == ["built-in", "original"]


def test_checking_goes_on_after_a_file_that_cannot_be_read(run, root):
    put(root, "Beef", "1\tnonsense\n")
    put(root, "Mine")
    _, out, _ = run("--check")
    assert row_of(out, "Beef")[-1] == "broken"
    assert row_of(out, "Mine")[-1] == "unknown"
    assert "Beef_TRAIN.tsv, line 1: " in " ".join(out.split())
    code, out, _ = run("--check", "--json")
    by_name = {row["name"]: row for row in json.loads(out)["datasets"]}
    assert code == 0
    assert by_name["Beef"]["original"] is None
    assert "Beef_TRAIN.tsv" in by_name["Beef"]["error"]
    assert by_name["Mine"]["n_train"] == 2
    assert by_name["Mine"]["original"] is None


def test_the_json_has_every_name_that_the_table_shortens(run, root):
    put(root, "GunPoint")
    _, out, _ = run("--json")
    document = json.loads(out)
    assert document["folders"] == [str(root)]
    assert document["paper"]["have"] == ["GunPoint"]
    assert len(document["paper"]["missing"]) == 84
    assert len(document["ucr"]["missing"]) == 127
    assert {row["name"]: row["here"] for row in document["datasets"]} == {"GunPoint": True, "WebTraffic": True}


def test_downloads_go_to_the_path_and_one_failure_does_not_stop_the_others(run, tmp_path, monkeypatch):
    asked = []

    def download(name, path):
        asked.append((name, path))
        if name == "Bad":
            raise MilletError("no such\nthing")
        return path / name

    monkeypatch.setattr("millet.datasets.download.download", download)
    code, out, err = run("--path", str(tmp_path), "--download", "Bad", "--download", "Good")
    assert asked == [("Bad", tmp_path), ("Good", tmp_path)]
    assert code == 2
    assert out == f"Good: {tmp_path / 'Good'}\n"
    assert err == "Error: no such thing\n"


def test_a_folder_that_is_not_there_is_one_line_and_exit_code_2(run, tmp_path):
    code, out, err = run("--path", str(tmp_path / "nowhere"))
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


def test_a_wrong_option_is_explained(run):
    code, _, err = run("--papre")
    assert code == 2
    assert "--paper" in err


def test_an_interrupt_ends_with_130(run, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("millet.datasets.locate.scan", interrupt)
    code, out, err = run()
    assert (code, out) == (130, "")
    assert "Traceback" not in err


def test_a_reader_that_leaves_early_causes_no_traceback():
    command = [sys.executable, "-m", "millet.cli", "datasets", "--all"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""


def test_a_table_leaves_out_what_is_not_there():
    assert format_table(["a", "b"], [[None, 1], ["xy", None]], right=["b"]) == "a   b\n    1\nxy"
    assert format_table(["a", "b"], []) == "a  b"

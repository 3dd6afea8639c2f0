"""The status line: what a grid is at, where somebody watches, and nothing where nobody does."""

import pickle
import threading
import time

import pytest

from millet.benchmark import load_experiment, run_benchmark, status
from millet.benchmark.status import NOTE_SECONDS, EpochNote, StatusLine, read_note
from millet.benchmark.work import run_cell
from millet.training import EpochRecord

FILE = """
name = "toy"
datasets = [{ name = "Tiny", n_cases_per_class = 2, classes = ["None", "Peak"], sampling_interval = 240 }]
models = [{ backbones = ["lite"], poolings = ["conjunctive"] }]
metrics = ["accuracy"]
training = { n_epochs = 30 }
tiers = { smoke = {} }
"""


def record(epoch: int) -> EpochRecord:
    return EpochRecord(0, epoch, 0.5, 0.5, 0.001, 1.0, True, 1.0)


@pytest.fixture
def watched(monkeypatch):
    monkeypatch.setattr(status, "someone_watches", lambda: True)
    monkeypatch.setattr(status, "RENEWAL_SECONDS", 0.01)


def test_a_note_says_the_epoch_every_two_seconds_at_the_most(tmp_path, monkeypatch):
    now = [50.0]
    monkeypatch.setattr(status.time, "monotonic", lambda: now[0])
    note = pickle.loads(pickle.dumps(EpochNote(tmp_path, 150)))
    assert read_note(tmp_path) == ""
    for epoch, seconds, expected in [(0, 0, 1), (1, NOTE_SECONDS / 2, 1), (2, NOTE_SECONDS, 3)]:
        now[0] = 50.0 + seconds
        note(record(epoch))
        assert read_note(tmp_path) == f"epoch {expected}/150"


def test_a_note_that_cannot_be_written_or_read_is_none(tmp_path):
    EpochNote(tmp_path / "gone", 150)(record(0))
    (tmp_path / status.NOTE).write_bytes(b"\xff\xfe")
    assert read_note(tmp_path / "gone") == read_note(tmp_path) == ""


def test_nobody_who_watches_no_line(capsys):
    said = []
    with StatusLine(lambda: "busy") as line:
        line.say(said.append, "done")
    assert said == ["done"]
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("watched")
def test_a_line_is_renewed_cut_to_the_terminal_and_taken_back(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    n_asked, enough = [0], threading.Event()

    def text() -> str:
        n_asked[0] += 1
        if n_asked[0] > 2:
            enough.set()
        return f"{n_asked[0]}: " + "x" * 100

    with StatusLine(text) as line:
        assert enough.wait(10)
        line.say(print, "a cell is done")
    shown = capsys.readouterr()
    assert shown.out == "a cell is done\n"
    assert "1: " + "x" * 26 in shown.err
    assert "2: " + "x" * 26 in shown.err
    assert "x" * 27 not in shown.err
    assert shown.err.rsplit("\r", 1)[1] == ""


@pytest.mark.usefixtures("watched")
def test_a_grid_shows_which_epoch_its_cells_are_at(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(status, "NOTE_SECONDS", 0.0)
    (tmp_path / "toy.toml").write_text(FILE)
    seen = []
    note = status.EpochNote.__call__

    def slowly(self, record, /):
        note(self, record)
        time.sleep(0.02)

    monkeypatch.setattr("millet.benchmark.status.EpochNote.__call__", slowly)
    monkeypatch.setattr("millet.benchmark.backends._process_stream", lambda _, __, jobs: map(run_cell, jobs()))
    run_benchmark(load_experiment(tmp_path / "toy.toml"), tmp_path / "run", n_jobs=1, say=seen.append)
    shown = capsys.readouterr().err
    assert "[0/1] about " in shown
    assert " left: Tiny conjunctive-lite 0 epoch " in shown
    assert "/30" in shown
    assert len(seen) == 2

"""Atomic files: the old file or the new one, never half of either, whatever happens to the writer."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from millet.atomic import atomic_path
from millet.errors import StorageError

POSIX_ONLY = pytest.mark.skipif(os.name != "posix", reason="permissions, links and signals are POSIX's")


def permissions(path):
    return path.stat().st_mode & 0o777


@pytest.fixture
def umask():
    """Set a umask that is nobody's default, and put the old one back."""
    old = os.umask(0o027)
    yield 0o027
    os.umask(old)


def test_a_finished_block_replaces_the_file_and_leaves_nothing_else(tmp_path):
    target = tmp_path / "row.json"
    target.write_text("old")
    with atomic_path(target) as path:
        path.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_writer_that_raises_leaves_the_old_file(tmp_path, error):
    target = tmp_path / "row.json"
    target.write_text("old")
    with pytest.raises(error), atomic_path(target) as path:  # noqa: PT012
        path.write_text("half")
        raise error
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_writer_that_raises_leaves_no_new_file(tmp_path):
    with pytest.raises(ValueError, match="stop"), atomic_path(tmp_path / "row.json") as path:  # noqa: PT012
        path.write_text("half")
        raise ValueError("stop")
    assert list(tmp_path.iterdir()) == []


@POSIX_ONLY
def test_a_killed_writer_leaves_the_old_file(tmp_path):
    target = tmp_path / "row.json"
    target.write_text("old")
    script = (
        "import os, signal, sys; from millet.atomic import atomic_path\n"
        "with atomic_path(sys.argv[1]) as path:\n"
        "    path.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, target], check=False).returncode < 0
    assert target.read_text() == "old"


def test_a_reader_never_sees_half_a_file(tmp_path):
    target = tmp_path / "row.txt"
    contents = ["a" * 100_000, "b" * 100_000]
    target.write_text(contents[0])
    seen = set()
    stop = threading.Event()

    def read():
        while not stop.is_set():
            seen.add(target.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(30):
        with atomic_path(target) as path:
            path.write_text(contents[turn % 2])
    stop.set()
    reader.join()
    assert seen <= set(contents)


@pytest.mark.parametrize("name", ["figure.png", "model.safetensors", "archive.tar.gz", "README", "ü b.txt"])
def test_the_suffix_is_kept_because_writers_go_by_it(tmp_path, name):
    with atomic_path(tmp_path / name) as path:
        assert path.suffix == Path(name).suffix
        assert path.parent == tmp_path
        assert path.name.startswith(".")
        path.write_bytes(b"whole")
    assert (tmp_path / name).read_bytes() == b"whole"


def test_missing_folders_are_made_and_text_paths_are_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with atomic_path("a/b/note.txt") as path:
        path.write_text("whole")
    assert (tmp_path / "a" / "b" / "note.txt").read_text() == "whole"


def test_a_writer_may_make_the_file_anew(tmp_path):
    with atomic_path(tmp_path / "note.txt") as path:
        path.unlink()
        path.write_text("whole")
    assert (tmp_path / "note.txt").read_text() == "whole"


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that even root can't write to")
def test_where_nothing_can_be_written_the_error_names_the_file_that_was_asked_for():
    with pytest.raises(OSError, match=r"x\.png") as caught, atomic_path("/proc/self/x.png"):
        pytest.fail("nothing can be written here")
    assert caught.value.filename.endswith("/x.png")


def test_a_folder_in_the_way_is_left_alone(tmp_path):
    (tmp_path / "note.txt").mkdir()
    with pytest.raises(StorageError, match=r"note\.txt is a folder"), atomic_path(tmp_path / "note.txt") as path:
        path.write_text("whole")
    assert [file.name for file in tmp_path.iterdir()] == ["note.txt"]


@POSIX_ONLY
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_path(pipe) as path:
        path.write_text("whole")
    assert os.read(reader, 99) == b"whole"
    os.close(reader)
    assert pipe.is_fifo()


@POSIX_ONLY
@pytest.mark.usefixtures("umask")
def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain.txt").write_text("")
    with atomic_path(tmp_path / "note.txt") as path:
        path.write_text("whole")
    assert permissions(tmp_path / "note.txt") == permissions(tmp_path / "plain.txt") == 0o640


@POSIX_ONLY
@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("mode", [0o600, 0o664, 0o755])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode):
    target = tmp_path / "note.txt"
    target.write_text("old")
    target.chmod(mode)
    with atomic_path(target) as path:
        path.write_text("new")
        assert permissions(path) == mode
    assert permissions(target) == mode


@POSIX_ONLY
def test_the_file_behind_a_link_is_replaced_and_the_link_stays(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "disk" / "note.txt")
    for text in ("first", "second"):
        with atomic_path(tmp_path / "link.txt") as path:
            path.write_text(text)
        assert (tmp_path / "link.txt").is_symlink()
        assert (tmp_path / "disk" / "note.txt").read_text() == text

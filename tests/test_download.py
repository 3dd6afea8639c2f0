"""Downloads, against a real server on this machine that can misbehave in every way we know."""

import contextlib
import errno
import hashlib
import io
import os
import re
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from millet.datasets import download as download_module
from millet.datasets import fetch as fetch_module
from millet.datasets import list_datasets, load_dataset
from millet.datasets import unpack as unpack_module
from millet.datasets.download import download
from millet.datasets.unpack import unpack
from millet.errors import DownloadError, ParameterError


class Server(ThreadingHTTPServer):
    """Serves `files`; `plan` says how to answer the next requests, and "serve" answers the rest."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.plan, self.requests = {}, [], []
        self.etag, self.modified = '"one"', ""
        self.ranges, self.delay = True, 0.0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/archive"

    def handle_error(self, request, client_address):
        """Clients that hang up are what these tests are about."""


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        server.requests.append(dict(self.headers))
        way = server.plan.pop(0) if server.plan else "serve"
        body = server.files.get(self.path.rpartition("/")[2])
        if body is None or way.isdigit():
            self.send_error(404 if body is None else int(way))
            return
        start = self.first_byte(body, way)
        if start is None:
            return
        self.send_headers(body, start, way)
        self.send_body(body[start:], way)

    def first_byte(self, body, way):
        """Return where to begin, as a server does that honours Range and If-Range."""
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        version = self.server.etag or self.server.modified
        fresh = self.headers.get("If-Range") == version or way == "ignore If-Range"
        if not asked or not self.server.ranges or not fresh:
            return 0
        if int(asked[1]) >= len(body):
            self.send_error(416)
            return None
        return int(asked[1])

    def send_headers(self, body, start, way):
        self.send_response(206 if start else 200)
        length = len(body) - start
        if start:
            first = start + 1 if way == "wrong part" else start
            self.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
        if way not in ("no length", "too much"):
            lies = {"claim more": 1000, "claim less": -1000}
            self.send_header("Content-Length", str(length + lies.get(way, 0)))
        if self.server.etag:
            self.send_header("ETag", self.server.etag)
        if self.server.modified:
            self.send_header("Last-Modified", self.server.modified)
        self.end_headers()

    def send_body(self, body, way):
        if way in ("truncate", "stall", "reset"):
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            time.sleep({"stall": 2.0, "reset": 0.1}.get(way, 0.0))
            if way == "reset":  # closing without lingering sends a reset instead of an end
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                os.close(self.connection.detach())
            return
        body += b"more" if way == "too much" else b""
        step = 1024 if self.server.delay else max(1, len(body))
        for start in range(0, len(body), step):
            self.wfile.write(body[start : start + step])
            time.sleep(self.server.delay)


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(fetch_module, "RETRY_SECONDS", (0.0, 0.0, 0.0))
    monkeypatch.setattr(fetch_module, "STALL_SECONDS", 0.3)


def table(n_cases, length=20, n_classes=2):
    rows = ([str(case % n_classes), *(f"{case}.{point:06d}" for point in range(length))] for case in range(n_cases))
    return "\n".join("\t".join(row) for row in rows).encode()


def zipped(members, compression=zipfile.ZIP_STORED):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return packed.getvalue()


def toy(name="Toy", n_cases=40, **facts):
    content = table(n_cases, **facts)
    return {f"{name}_TRAIN.tsv": content, f"{name}_TEST.tsv": content, f"{name}.txt": b"What it is about."}


def offer(server, members=None, name="Toy"):
    server.files[f"{name}.zip"] = zipped(members if members is not None else toy(name))
    return server.files[f"{name}.zip"]


def get(server, root, name="Toy", **options):
    return download(name, root, url=server.url, progress=False, **options)


def assert_nothing_left(root):
    assert list_datasets(root) == ["WebTraffic"]
    work = root / ".downloads"
    assert {file.suffix for file in work.iterdir()} <= {".lock"}


# --- What works -------------------------------------------------------------------------------------------


def test_a_downloaded_dataset_loads(server, tmp_path):
    offer(server)
    folder = get(server, tmp_path / "new" / "root")
    assert folder == tmp_path / "new" / "root" / "Toy"
    assert sorted(file.name for file in folder.iterdir()) == ["Toy.txt", "Toy_TEST.tsv", "Toy_TRAIN.tsv"]
    train, test = load_dataset("Toy", tmp_path / "new" / "root")
    assert train.X.shape == test.X.shape == (40, 1, 20)
    assert {file.suffix for file in (folder.parent / ".downloads").iterdir()} == {".lock"}


def test_the_variables_name_the_server_and_the_folder(server, tmp_path, monkeypatch):
    offer(server)
    monkeypatch.setenv("MILLET_ARCHIVE_URL", server.url + "/")
    monkeypatch.setenv("MILLET_DATA", os.pathsep.join([str(tmp_path / "first"), str(tmp_path / "second")]))
    assert download("Toy") == tmp_path / "first" / "Toy"


def test_the_original_split_is_accepted_under_any_spelling_of_its_name(server, tmp_path):
    offer(server, toy("Coffee", n_cases=28, length=286), "Coffee")
    assert get(server, tmp_path, "coffee") == tmp_path / "Coffee"


def test_a_zip_with_its_own_folder_gives_the_same_result(server, tmp_path):
    offer(server, {"Some Folder/": b"", **{f"Some Folder/{name}": content for name, content in toy().items()}})
    assert (get(server, tmp_path) / "Toy_TRAIN.tsv").is_file()
    assert list_datasets(tmp_path) == ["Toy", "WebTraffic"]


def test_what_is_already_here_is_not_asked_for_again(server, tmp_path):
    offer(server)
    assert get(server, tmp_path) == get(server, tmp_path)
    assert len(server.requests) == 1


def test_the_right_digest_is_accepted_and_a_wrong_one_refused(server, tmp_path):
    digest = hashlib.sha256(offer(server)).hexdigest()
    with pytest.raises(DownloadError, match=f"SHA-256 {digest}; wanted {'0' * 64}"):
        get(server, tmp_path, sha256="0" * 64)
    assert_nothing_left(tmp_path)
    assert get(server, tmp_path, sha256=digest.upper()).is_dir()


def test_a_server_that_does_not_tell_the_length_is_served_from(server, tmp_path):
    offer(server)
    server.plan = ["no length"]
    assert get(server, tmp_path).is_dir()


def test_the_bar_is_silent_where_there_is_no_terminal(server, tmp_path, capsys):
    offer(server)
    download("Toy", tmp_path, url=server.url)
    assert capsys.readouterr() == ("", "")


# --- Connections that break -------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["503", "500", "429", "stall", "truncate", "reset"])
def test_what_fails_once_is_tried_again(server, tmp_path, way):
    offer(server)
    server.plan = [way]
    assert get(server, tmp_path).is_dir()
    assert len(server.requests) == 2


def test_a_length_that_promised_too_much_ends_in_a_fresh_start(server, tmp_path):
    offer(server)
    server.plan = ["claim more"]
    assert get(server, tmp_path).is_dir()
    assert ["Range" in request for request in server.requests] == [False, True, False]


@pytest.mark.parametrize(("etag", "modified"), [('"one"', ""), ("", "Mon, 01 Jan 2024 00:00:00 GMT")])
def test_the_second_try_asks_for_the_rest_only(server, tmp_path, etag, modified):
    half = len(offer(server)) // 2
    server.etag, server.modified = etag, modified
    server.plan = ["truncate"]
    get(server, tmp_path)
    assert server.requests[1]["Range"] == f"bytes={half}-"
    assert server.requests[1]["If-Range"] == (etag or modified)


@pytest.mark.parametrize(("etag", "modified"), [("", ""), ('W/"weak"', "")])
def test_without_a_strong_validator_the_second_try_starts_anew(server, tmp_path, etag, modified):
    offer(server)
    server.etag, server.modified = etag, modified
    server.plan = ["truncate"]
    assert get(server, tmp_path).is_dir()
    assert "Range" not in server.requests[1]


def test_a_server_that_ignores_ranges_is_read_from_the_start(server, tmp_path):
    offer(server)
    server.ranges = False
    server.plan = ["truncate"]
    assert get(server, tmp_path).is_dir()
    assert "Range" in server.requests[1]


def test_a_file_that_changed_in_between_is_read_from_the_start(server, tmp_path):
    offer(server, toy(n_cases=30))
    server.plan = ["truncate"] * 4
    server.ranges = False
    with pytest.raises(DownloadError):
        get(server, tmp_path)
    server.ranges, server.etag = True, '"two"'
    offer(server, toy(n_cases=50))
    get(server, tmp_path)
    assert len(load_dataset("Toy", tmp_path)[0]) == 50


@pytest.mark.parametrize("way", ["wrong part", "too much", "ignore If-Range"])
def test_a_rest_that_does_not_fit_is_thrown_away(server, tmp_path, way):
    """A server that sends other bytes than asked for, or the rest of a newer file."""
    offer(server, toy(n_cases=30))
    server.plan = ["truncate", "404"]
    with pytest.raises(DownloadError):
        get(server, tmp_path)
    if way == "ignore If-Range":
        server.etag = '"two"'
        offer(server, toy(n_cases=50))
    server.plan = [way]
    get(server, tmp_path)
    assert len(load_dataset("Toy", tmp_path)[0]) == (50 if way == "ignore If-Range" else 30)


def test_a_file_that_shrank_is_read_from_the_start(server, tmp_path):
    offer(server, toy(n_cases=90))
    server.plan = ["truncate", "404"]
    with pytest.raises(DownloadError):
        get(server, tmp_path)
    offer(server, toy(n_cases=4))
    get(server, tmp_path)
    assert len(load_dataset("Toy", tmp_path)[0]) == 4


def test_another_address_does_not_continue_the_part_of_the_first(server, tmp_path):
    offer(server)
    server.plan = ["truncate", "404"]
    with pytest.raises(DownloadError):
        get(server, tmp_path)
    download("Toy", tmp_path, url=server.url + "/mirror", progress=False)
    assert "Range" not in server.requests[-1]


def test_a_link_that_keeps_breaking_but_keeps_delivering_gets_there(server, tmp_path):
    offer(server)
    server.plan = ["truncate"] * 8
    assert get(server, tmp_path).is_dir()
    assert len(server.requests) == 9


@pytest.mark.parametrize(
    ("way", "reason"),
    [("503", "answered 503"), ("stall", r"nothing arrived for 0\.3 s"), ("truncate", "before the connection")],
)
def test_what_keeps_failing_is_given_up_with_its_reason(server, tmp_path, way, reason):
    offer(server)
    server.ranges = False
    server.plan = [way] * 20
    with pytest.raises(DownloadError, match=reason):
        get(server, tmp_path)
    assert len(server.requests) <= 5
    assert list_datasets(tmp_path) == ["WebTraffic"]


def test_a_missing_dataset_is_not_tried_twice_and_a_near_name_is_offered(server, tmp_path):
    with pytest.raises(DownloadError, match=r"GunPiont\.zip \(status 404\)\. Did you mean 'GunPoint'"):
        get(server, tmp_path, "GunPiont")
    assert len(server.requests) == 1


def test_a_refusal_is_final(server, tmp_path):
    offer(server)
    server.plan = ["403"]
    with pytest.raises(DownloadError, match="answered 403"):
        get(server, tmp_path)
    assert len(server.requests) == 1


def test_a_server_that_never_ends_is_left(server, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch_module, "MAX_BYTES", 100)
    monkeypatch.setattr(fetch_module, "CHUNK_BYTES", 50)
    offer(server)
    with pytest.raises(DownloadError, match="does not end after 100 bytes"):
        get(server, tmp_path)


def test_a_name_that_cannot_be_resolved_is_not_tried_again(tmp_path, monkeypatch):
    tries = []

    def offline(*args, **_):
        tries.append(args)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", offline)
    with pytest.raises(DownloadError, match="Is this machine online"):
        download("Toy", tmp_path, url="http://archive.invalid", progress=False)
    assert len(tries) == 1


def test_a_server_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1:1/Toy\.zip"):
        download("Toy", tmp_path, url="http://127.0.0.1:1", progress=False)


@pytest.mark.parametrize("url", ["file:///etc", "ftp://example.org", "example.org", "http://[", "http://a:b"])
def test_only_web_addresses_are_read(tmp_path, url):
    with pytest.raises(DownloadError, match=r"http:// and https://|not a web address"):
        download("Toy", tmp_path, url=url)


@pytest.mark.parametrize("name", ["../Toy", "a/b", "", "WebTraffic", "webtraffic"])
def test_names_that_make_no_sense_are_refused_before_anything_is_asked(server, tmp_path, name):
    with pytest.raises(ParameterError):
        get(server, tmp_path / "root", name)
    assert server.requests == []
    assert not (tmp_path / "root").exists()


# --- Files that are not what they should be ---------------------------------------------------------------


def refused(server, root, match, name="Toy"):
    with pytest.raises(DownloadError, match=match):
        get(server, root, name)
    assert_nothing_left(root)
    assert not (root / name).exists()


@pytest.mark.parametrize(
    "path",
    ["../evil.txt", "a/../../evil.txt", "/evil.txt", "//evil.txt", "C:/evil.txt", "C:evil.txt", "a\\..\\evil.txt"],
)
def test_a_zip_that_reaches_outside_is_refused(server, tmp_path, path):
    offer(server, {**toy(), path: b"evil"})
    refused(server, tmp_path / "root", "unsafe path")
    assert not list(tmp_path.rglob("*evil*"))


@given(st.lists(st.text("./\\:aA\0é", min_size=1, max_size=6), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_whatever_the_paths_nothing_is_written_outside_the_folder(paths):
    with tempfile.TemporaryDirectory() as parent, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile itself warns of twins
        outer = Path(parent)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for path in paths:
                member = zipfile.ZipInfo("x")
                member.filename = path
                archive.writestr(member, b"")
        (outer / "a.zip").write_bytes(packed.getvalue())
        with contextlib.suppress(DownloadError):
            unpack(outer / "a.zip", outer / "folder")
        assert {child.name for child in outer.iterdir()} <= {"a.zip", "folder"}


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4))
@example(damage=[(485, 2)])  # moves the first member to before the file's beginning
@settings(max_examples=150, deadline=None)
def test_a_damaged_zip_unpacks_to_the_same_files_or_is_refused(damage):
    members = {"Toy_TRAIN.tsv": table(3), "Toy_TEST.tsv": table(4)}
    content = bytearray(zipped(members, zipfile.ZIP_DEFLATED))
    for place, value in damage:
        content[place % len(content)] = value
    with tempfile.TemporaryDirectory() as parent:
        archive, folder = Path(parent) / "a.zip", Path(parent) / "folder"
        archive.write_bytes(content)
        try:
            unpack(archive, folder)
        except DownloadError:
            return
        unpacked = {file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        assert unpacked <= {*members.values(), b""}


@pytest.mark.parametrize("path", ["toy_train.tsv", "Toy_TRAIN.tsv/more", "TOY.txt/more"])
def test_a_zip_whose_members_want_the_same_place_is_refused(server, tmp_path, path):
    offer(server, {**toy(), path: b""})
    refused(server, tmp_path, "twice, or as a file and a folder")


def test_a_zip_packed_by_a_rare_method_is_refused(server, tmp_path):
    server.files["Toy.zip"] = zipped(toy(), zipfile.ZIP_BZIP2)
    refused(server, tmp_path, "other than deflate")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_a_zip_with_a_link_or_a_device_is_refused(server, tmp_path, kind):
    link = zipfile.ZipInfo("link")
    link.external_attr = (kind | 0o777) << 16
    offer(server, {**toy(), link: b"/etc/passwd"})
    refused(server, tmp_path, "a link or a device")


def test_a_bomb_is_refused_before_it_is_unpacked(server, tmp_path):
    bomb = zipped({**toy(), "zeros": bytes(32 * 1024**2)}, zipfile.ZIP_DEFLATED)
    server.files["Toy.zip"] = bomb
    refused(server, tmp_path, "which no dataset does")


def test_a_zip_too_large_to_unpack_is_refused(server, tmp_path, monkeypatch):
    monkeypatch.setattr(unpack_module, "MAX_UNPACKED_BYTES", 1000)
    offer(server)
    refused(server, tmp_path, "which no dataset does")


def test_a_zip_of_countless_members_is_refused(server, tmp_path, monkeypatch):
    monkeypatch.setattr(unpack_module, "MAX_MEMBERS", 2)
    offer(server)
    refused(server, tmp_path, "holds 3 members")


def test_a_member_that_hides_its_size_unpacks_no_more_than_it_declares(server, tmp_path):
    whole = zipped({"Toy_TRAIN.tsv": bytes(10_000)}, zipfile.ZIP_DEFLATED)
    server.files["Toy.zip"] = whole.replace((10_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    refused(server, tmp_path, "no intact zip")


def test_one_flipped_bit_is_noticed(server, tmp_path):
    content = bytearray(offer(server))
    content[200] ^= 1
    server.files["Toy.zip"] = bytes(content)
    refused(server, tmp_path, "Bad CRC")


def test_an_encrypted_zip_is_refused(server, tmp_path):
    content = bytearray(offer(server, {"Toy_TRAIN.tsv": b"1"}))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    server.files["Toy.zip"] = bytes(content)
    refused(server, tmp_path, "encrypted")


def test_a_file_cut_short_by_a_lying_length_is_refused(server, tmp_path):
    offer(server)
    server.plan = ["claim less"]
    refused(server, tmp_path, "no intact zip")


def test_a_web_page_instead_of_a_zip_is_called_one(server, tmp_path):
    server.files["Toy.zip"] = b"<!DOCTYPE html><p>Please log in."
    refused(server, tmp_path, "looks like a web page")


def test_a_zip_without_the_dataset_is_refused(server, tmp_path):
    offer(server, toy("Other"))
    refused(server, tmp_path, "holds no files Toy_TRAIN and Toy_TEST")


def test_a_zip_with_one_split_is_refused(server, tmp_path):
    offer(server, {"Toy_TRAIN.tsv": table(4)})
    refused(server, tmp_path, "no Toy_TEST file")


def test_a_dataset_that_cannot_be_read_is_refused(server, tmp_path):
    offer(server, {**toy(), "Toy_TEST.tsv": b"1\tone\ttwo\n"})
    refused(server, tmp_path, "Toy_TEST")


def test_a_dataset_that_is_not_the_original_split_is_refused(server, tmp_path):
    offer(server, toy("Coffee", n_cases=27, length=286), "Coffee")
    refused(server, tmp_path, "n_train is 27; the original split has 28", "Coffee")


def test_after_a_refusal_the_next_run_starts_anew(server, tmp_path):
    server.files["Toy.zip"] = b"not a zip"
    refused(server, tmp_path, "no intact zip")
    offer(server)
    assert get(server, tmp_path).is_dir()


# --- Disks and other processes ----------------------------------------------------------------------------


def test_a_full_disk_is_an_error_and_the_next_run_goes_on(server, tmp_path, monkeypatch):
    offer(server)

    def full(response, part, bar):
        part.write_bytes(response.read1(100))
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(fetch_module, "_append", full)
        with pytest.raises(DownloadError, match="No space left on device"):
            get(server, tmp_path)
    get(server, tmp_path)
    assert server.requests[-1]["Range"] == "bytes=100-"


def test_a_folder_that_cannot_be_written_is_an_error(server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadError, match="Could not store 'Toy'"):
        get(server, tmp_path / "file")


def test_half_a_dataset_in_the_way_is_not_touched(server, tmp_path):
    (tmp_path / "Toy").mkdir()
    (tmp_path / "Toy" / "Toy_TRAIN.tsv").write_text("1\t2\n")
    with pytest.raises(DownloadError, match="Move it away"):
        get(server, tmp_path)


def test_what_a_user_keeps_in_the_way_is_not_touched(server, tmp_path):
    offer(server)
    (tmp_path / "Toy").mkdir()
    (tmp_path / "Toy" / "notes").write_text("mine")
    with pytest.raises(DownloadError, match="Move it away"):
        get(server, tmp_path)
    assert (tmp_path / "Toy" / "notes").read_text() == "mine"
    (tmp_path / "Toy" / "notes").unlink()
    assert get(server, tmp_path).is_dir()


SCRIPT = """
import os, sys
from millet.datasets import download as module
root, url, stage = sys.argv[1:]
if stage:
    def die(*args, **_):
        if stage != "replace" or str(args[0]).endswith(".part"):
            os._exit(9)
        os.rename(*args)
    setattr(os if stage in ("rename", "replace") else module, stage, die)
module.download("Toy", root, url=url, progress=False)
"""


def start(server, root, stage=""):
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(root), server.url, stage])


def test_a_killed_download_leaves_no_dataset_and_the_next_one_resumes(server, tmp_path):
    size = len(offer(server, toy(n_cases=100)))
    server.delay = 0.05
    process = start(server, tmp_path)
    part = tmp_path / ".downloads" / "Toy.zip.part"
    patience = time.monotonic() + 20
    while not (part.exists() and part.stat().st_size > 4096) and time.monotonic() < patience:
        time.sleep(0.02)
    process.kill()
    process.wait()
    arrived = part.stat().st_size
    assert 4096 < arrived < size
    assert list_datasets(tmp_path) == ["WebTraffic"]
    server.delay = 0.0
    get(server, tmp_path)
    assert server.requests[-1]["Range"] == f"bytes={arrived}-"
    assert len(load_dataset("Toy", tmp_path)[0]) == 100


@pytest.mark.parametrize("stage", ["replace", "unpack", "_require_original", "rename"])
def test_a_process_killed_after_the_download_leaves_no_dataset_and_asks_for_nothing_again(server, tmp_path, stage):
    offer(server)
    assert start(server, tmp_path, stage).wait() == 9
    assert list_datasets(tmp_path) == ["WebTraffic"]
    assert get(server, tmp_path).is_dir()
    assert len(server.requests) == 1


def test_two_processes_share_one_download(server, tmp_path):
    offer(server)
    server.delay = 0.02
    processes = [start(server, tmp_path) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert len(server.requests) == 1
    assert len(load_dataset("Toy", tmp_path)[0]) == 40


def test_the_archive_is_reached_over_https():
    assert download_module.ARCHIVE_URL.startswith("https://")

"""Fetch: a URL in, a whole file out, however often the connection breaks.

In:  the URL of one file on an HTTP server.
Out: that file, complete, for `millet.datasets.download`.

What has arrived is kept in ``<target>.part``; ``<target>.json`` records which version of the file that is,
so that a later run continues where an earlier one stopped.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from millet.atomic import atomic_path
from millet.errors import DownloadError
from millet.watching import someone_watches

STALL_SECONDS = 30.0
RETRY_SECONDS = (0.5, 1.0, 2.0, 4.0)
CHUNK_BYTES = 64 * 1024
# A server that never stops must not fill the disk; the archive's largest zips are below 1 GiB.
MAX_BYTES = 8 * 1024**3
TRANSIENT_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


class MissingFileError(DownloadError):
    """The server has no such file."""


class _Bar(Protocol):
    n: float
    initial: float
    total: float | None

    def update(self, n: float) -> object: ...
    def refresh(self) -> object: ...


class _TransientError(Exception):
    """A failure that may not happen again."""


class _StalePartError(_TransientError):
    """The part that is here is not the beginning of what the server has."""


@dataclass(frozen=True)
class _Version:
    """Which version of which file the part is: what a server needs to continue it."""

    url: str
    validator: str
    total: int | None


def fetch(url: str, target: Path, *, progress: bool = True) -> None:
    """Download a file, or the rest of it.

    Parameters
    ----------
    url : str
        An http or https address.
    target : Path
        Where the file goes; it appears there only when it is complete.
    progress : bool
        Whether to show a bar on standard error, if that is a terminal.

    Raises
    ------
    DownloadError
        If the file can't be downloaded; what has arrived stays for the next call.
    MissingFileError
        If the server says that there is no such file.
    """
    if not url.lower().startswith(("http://", "https://")):
        raise DownloadError(f"Can download from http:// and https:// addresses only; got {url}.")
    part = _part_of(target)
    failures, furthest = 0, _size(part)
    with _bar(target.name, progress) as bar:
        while True:
            try:
                _fetch_once(url, target, bar)
                break
            except _TransientError as error:
                if isinstance(error, _StalePartError):
                    discard(target)
                # A link that keeps breaking but keeps delivering is working.
                failures = 1 if _size(part) > furthest else failures + 1
                furthest = max(furthest, _size(part))
                if failures > len(RETRY_SECONDS):
                    raise DownloadError(
                        f"Could not download {url}: {error}. Tried {failures} times in a row. "
                        "Run it again to go on from where it stopped."
                    ) from error
                time.sleep(RETRY_SECONDS[failures - 1])
    part.replace(target)
    _version_file(target).unlink(missing_ok=True)


def discard(target: Path) -> None:
    """Forget a download: the file, what has arrived of it, and its version."""
    for file in (target, _part_of(target), _version_file(target)):
        file.unlink(missing_ok=True)


def _fetch_once(url: str, target: Path, bar: _Bar) -> None:
    """Request what is missing and append it to what is there."""
    part = _part_of(target)
    known = _read_version(target, url)
    have = _size(part) if known is not None else 0
    if known is not None and known.total is not None and have == known.total:
        return
    with _open(url, have, known) as response:
        if response.status == 206:
            _require_continuation(response, known, have)
        else:
            have = 0
            part.write_bytes(b"")
            _write_version(target, _Version(url, _validator(response), _total(response)))
        total = _total(response)
        bar.n, bar.initial, bar.total = have, have, total
        bar.refresh()
        _append(response, part, bar)
    arrived = _size(part)
    if total is not None and arrived > total:
        raise _StalePartError(f"{arrived} bytes arrived of a file of {total}")
    if total is not None and arrived < total:
        raise _TransientError(f"{arrived} of {total} bytes arrived before the connection closed")


@contextlib.contextmanager
def _open(url: str, have: int, known: _Version | None) -> Iterator[Any]:
    """Open the address, from byte `have` on, and sort failures into final and transient ones."""
    headers = {"User-Agent": "millet"}
    if have and known is not None:
        headers |= {"Range": f"bytes={have}-", "If-Range": known.validator}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=STALL_SECONDS) as response:
            yield response
    except urllib.error.HTTPError as error:
        error.close()
        raise _judge_status(url, error) from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, socket.gaierror | ssl.SSLCertVerificationError):
            raise DownloadError(f"Could not reach {url}: {error.reason}. Is this machine online?") from error
        raise _TransientError(str(error.reason)) from error
    except (ValueError, http.client.InvalidURL) as error:
        raise DownloadError(f"{url} is not a web address: {error}.") from error
    except TimeoutError as error:
        raise _TransientError(f"nothing arrived for {STALL_SECONDS:g} s") from error
    except (ConnectionError, ssl.SSLError, http.client.HTTPException) as error:
        raise _TransientError(f"the connection broke ({type(error).__name__})") from error


def _judge_status(url: str, error: urllib.error.HTTPError) -> Exception:
    if error.code in (404, 410):
        return MissingFileError(f"The server has no {url} (status {error.code}).")
    if error.code == 416:
        return _StalePartError("the server's file is shorter than what has already arrived")
    if error.code in TRANSIENT_STATUS:
        return _TransientError(f"the server answered {error.code} {error.reason}")
    return DownloadError(f"Could not download {url}: the server answered {error.code} {error.reason}.")


def _append(response: Any, part: Path, bar: _Bar) -> None:
    with part.open("ab") as file:
        while chunk := response.read1(CHUNK_BYTES):
            if file.tell() > MAX_BYTES:
                raise DownloadError(f"{response.url} does not end after {MAX_BYTES} bytes; no dataset is so large.")
            file.write(chunk)
            file.flush()  # what has arrived must survive if the process is killed
            bar.update(len(chunk))


def _require_continuation(response: Any, known: _Version | None, have: int) -> None:
    """Refuse a partial answer that is not the rest of the very file whose beginning is here."""
    match = re.fullmatch(r"bytes (\d+)-\d+/(?:\d+|\*)", response.headers.get("Content-Range", ""))
    starts_here = match is not None and int(match[1]) == have
    same_version = known is not None and _validator(response) in ("", known.validator)
    if not (starts_here and same_version):
        raise _StalePartError("the server sent another part of the file than the one asked for")


def _total(response: Any) -> int | None:
    """Return the size of the whole file, if the server says."""
    if response.status == 206:
        total = response.headers.get("Content-Range", "").rpartition("/")[2]
    else:
        total = response.headers.get("Content-Length", "")
    return int(total) if total.isdigit() else None


def _validator(response: Any) -> str:
    """Return what identifies this version of the file: a strong ETag, else its date, else ''."""
    etag: str = response.headers.get("ETag", "")
    # A weak ETag promises the same meaning, not the same bytes.
    return etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified", "")


def _read_version(target: Path, url: str) -> _Version | None:
    """Return the version of the part, or None if it can't be continued."""
    try:
        version = _Version(**json.loads(_version_file(target).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return version if version.url == url and version.validator else None


def _write_version(target: Path, version: _Version) -> None:
    with atomic_path(_version_file(target)) as file:
        file.write_text(json.dumps(asdict(version)), encoding="utf-8")


def _part_of(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def _version_file(target: Path) -> Path:
    return target.with_name(target.name + ".json")


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


@contextlib.contextmanager
def _bar(label: str, progress: bool) -> Iterator[_Bar]:
    from tqdm import tqdm

    disable = not (progress and someone_watches())
    with tqdm(desc=label, unit="B", unit_scale=True, unit_divisor=1024, disable=disable) as bar:
        yield bar

"""Unpack: an untrusted zip in, plain files in one folder out, or nothing.

In:  a zip from the network, by `millet.datasets.download`.
Out: a folder; every member was checked before the first was written.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections import Counter
from pathlib import Path, PurePosixPath

from millet.errors import DownloadError

# The largest datasets of the archive unpack to a few GiB in all their formats.
MAX_UNPACKED_BYTES = 16 * 1024**3
# Numbers written as text shrink tenfold, long constant stretches more; a bomb shrinks a thousandfold.
MAX_RATIO = 200
# Below this size a high ratio harms nobody.
HARMLESS_BYTES = 16 * 1024**2
MAX_MEMBERS = 1000


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a zip into a new folder.

    Parameters
    ----------
    archive : Path
        The zip.
    folder : Path
        The folder to make; it must not exist.

    Raises
    ------
    DownloadError
        If the file is not a zip, is damaged, or holds anything but plain files at plain relative places:
        absolute paths, '..', links, drive letters, backslashes, encryption, or more than it should unpack to.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
            _refuse_bombs(archive, members)
            for member in members:
                _refuse_tricks(archive, member)
            _refuse_clashes(archive, members)
            folder.mkdir()
            for member in members:
                _write(opened, member, folder)
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError) as error:
        raise DownloadError(f"{archive.name} is no intact zip: {error}.{_looks_like(archive)}") from error


def _refuse_bombs(archive: Path, members: list[zipfile.ZipInfo]) -> None:
    # zipfile never unpacks more of a member than its header declares, so what is declared is what counts.
    total = sum(member.file_size for member in members)
    packed = archive.stat().st_size
    if len(members) > MAX_MEMBERS:
        raise DownloadError(f"{archive.name} holds {len(members)} members; at most {MAX_MEMBERS} are unpacked.")
    if total > MAX_UNPACKED_BYTES or (total > HARMLESS_BYTES and total > MAX_RATIO * packed):
        raise DownloadError(
            f"{archive.name} would unpack from {packed} to {total} bytes, which no dataset does; refused."
        )


def _refuse_tricks(archive: Path, member: zipfile.ZipInfo) -> None:
    name = member.orig_filename  # `filename` has already been made to look harmless
    parts = name.removesuffix("/").split("/")
    plain = not any(part in ("", ".", "..") for part in parts) and not any(c in name for c in "\\:\0")
    if not plain:
        raise DownloadError(f"{archive.name} holds a member with the unsafe path {name!r}; refused.")
    if member.header_offset < 0:
        raise DownloadError(f"{archive.name} is no intact zip: {name!r} lies before its beginning.")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise DownloadError(f"{archive.name} holds {name!r}, which is a link or a device, not a file; refused.")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DownloadError(f"{archive.name} packs {name!r} by a method other than deflate; refused.")


def _refuse_clashes(archive: Path, members: list[zipfile.ZipInfo]) -> None:
    """Refuse members of which one would overwrite another, or need its place for a folder."""
    # Folded, because some file systems ignore case.
    places = [PurePosixPath(member.filename.casefold()) for member in members]
    files = {place for place, member in zip(places, members, strict=True) if not member.is_dir()}
    for place, times in Counter(places).items():
        if times > 1 or not files.isdisjoint(place.parents):
            raise DownloadError(f"{archive.name} holds {str(place)!r} twice, or as a file and a folder; refused.")


def _write(opened: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    """Write one member; reading it to its end checks its CRC."""
    target = folder / member.filename
    if member.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with opened.open(member) as source, target.open("xb") as copy:
        shutil.copyfileobj(source, copy, 1024 * 1024)
        copy.flush()
        os.fsync(copy.fileno())  # the folder's rename must not reach the disk before its contents


def _looks_like(archive: Path) -> str:
    with archive.open("rb") as file:
        start = file.read(64)
    if start.lstrip()[:1] == b"<":
        return " It looks like a web page: the address may be wrong, or a proxy may stand in between."
    return ""

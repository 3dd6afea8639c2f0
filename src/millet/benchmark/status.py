"""Status: what a grid is doing, in a line of the terminal that is renewed while cells run.

Workers leave the number of their epoch in the run folder, which the workers of every backend share.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import final

from tqdm.auto import tqdm

from millet.training import EpochRecord
from millet.watching import someone_watches

NOTE = "epoch"
NOTE_SECONDS = 2.0
RENEWAL_SECONDS = 1.0


@final
class EpochNote:
    """A training callback that notes its epoch in a folder, at most every two seconds.

    Parameters
    ----------
    folder : Path
    n_epochs : int
        How many there will be.
    """

    def __init__(self, folder: Path, n_epochs: int) -> None:
        self._file, self._n_epochs = folder / NOTE, n_epochs
        self._written = -NOTE_SECONDS

    def __call__(self, record: EpochRecord, /) -> None:
        """Write the epoch that has just ended."""
        if time.monotonic() - self._written < NOTE_SECONDS:
            return
        self._written = time.monotonic()
        with suppress(OSError):  # training must not fail for lack of a note
            self._file.write_text(f"epoch {record.epoch + 1}/{self._n_epochs}", encoding="utf-8")


def read_note(folder: Path) -> str:
    """Return what an `EpochNote` has left in a folder; an empty string where there is none."""
    try:
        return (folder / NOTE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


@final
class StatusLine:
    """A line on the terminal, if somebody watches one, for as long as the block lasts.

    Parameters
    ----------
    text : callable
        What the line says; asked for every second, by a thread.
    """

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def say(self, say: Callable[[str], None], line: str) -> None:
        """Print a line that stays, above this one."""
        if self._thread is None:
            say(line)
            return
        with tqdm.external_write_mode():
            say(line)

    def __enter__(self) -> StatusLine:
        if someone_watches():
            self._thread = threading.Thread(target=self._renew, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _renew(self) -> None:
        with tqdm(total=0, bar_format="{desc}", leave=False) as bar:
            while not self._ended.wait(RENEWAL_SECONDS):
                # A line that is longer than the terminal is wide could not be erased.
                bar.set_description_str(self._text()[: shutil.get_terminal_size().columns - 1])

"""Errors: what went wrong, in one family.

Every error says what was given, what was wanted and what to do. All inherit from `MilletError` and from the
built-in exception that a user of scikit-learn would expect, so `except ValueError` keeps working.
"""

from __future__ import annotations

import difflib
import importlib
import sys
import warnings
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TypeVar

__all__ = [
    "DatasetFormatError",
    "DatasetNotFoundError",
    "DownloadError",
    "FileMissingError",
    "LabelError",
    "MilletError",
    "MissingExtraError",
    "ParameterError",
    "SeriesError",
    "SeriesTypeError",
    "StorageError",
    "TrainingError",
    "UnknownNameError",
]

T = TypeVar("T")


class MilletError(Exception):
    """Base of every error that MILLET raises on purpose."""


class SeriesError(MilletError, ValueError):
    """The series themselves can't be used: shape, type, infinities, nothing observed."""


class SeriesTypeError(SeriesError, TypeError):
    """The series are of a kind that can't hold numbers: sparse matrices, dictionaries, other objects."""


class LabelError(MilletError, ValueError):
    """The labels can't be used: missing, not one per case, or all of one class."""


class ParameterError(MilletError, ValueError):
    """A parameter has a value that makes no sense."""


class UnknownNameError(MilletError, ValueError):
    """A name that is not known here."""


class DatasetFormatError(MilletError, ValueError):
    """A data file that does not hold what its format promises.

    Parameters
    ----------
    file : object
        The file, as the user named it.
    problem : str
        What was found and what was expected.
    line : int, optional
        The line, counted from 1.
    """

    def __init__(self, file: object, problem: str, line: int | None = None) -> None:
        where = f"{file}, line {line}" if line is not None else f"{file}"
        super().__init__(f"{where}: {problem}")
        self.file = file
        self.problem = problem
        self.line = line

    def __reduce__(self) -> tuple[type, tuple[object, str, int | None]]:
        return type(self), (self.file, self.problem, self.line)


class DatasetNotFoundError(MilletError, FileNotFoundError):
    """No dataset of that name where MILLET looked."""


class DownloadError(MilletError, OSError):
    """A download that did not arrive whole."""


class StorageError(MilletError, ValueError):
    """A saved model that is damaged, incomplete, foreign or too new."""


class FileMissingError(FileNotFoundError, StorageError):
    """A file to be read does not exist."""


class TrainingError(MilletError, RuntimeError):
    """Training can't go on."""


class MissingExtraError(MilletError, ImportError):
    """A feature whose optional dependency is not installed."""


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, pointing at the line outside this package that led here, however deep the call."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ' Did you mean ...?' with the nearest known name, or '' if none is near.

    Examples
    --------
    >>> did_you_mean("conjuctive", ["conjunctive", "gap"])
    " Did you mean 'conjunctive'?"
    """
    by_fold = {candidate.casefold(): candidate for candidate in known}
    near = difflib.get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.6)
    return f" Did you mean '{by_fold[near[0]]}'?" if near else ""


def lookup(kind: str, name: str, table: Mapping[str, T]) -> T:
    """Return ``table[name]``, or say which names there are.

    Examples
    --------
    >>> lookup("pooling", "gap", {"gap": 1})
    1
    """
    try:
        return table[name]
    except (KeyError, TypeError):
        known = ", ".join(sorted(table))
        hint = did_you_mean(name, table) if isinstance(name, str) else ""
        raise UnknownNameError(f"Unknown {kind} {name!r}; known: {known}.{hint}") from None


def import_extra(module: str, extra: str, feature: str) -> ModuleType:
    """Import an optional dependency, or say how to install it.

    Parameters
    ----------
    module : str
        The module to import.
    extra : str
        The extra of this package that installs it.
    feature : str
        What the user asked for; the message begins with it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{feature} needs the package '{module}', which is not installed. "
            f"Install it with: pip install 'millet-tsc[{extra}]', or '.[{extra}]' in a checkout."
        ) from error

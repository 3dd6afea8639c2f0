"""Tables of a TOML file, read strictly: wrong types and unknown keys are refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, final

from millet.checks import integer
from millet.errors import ParameterError, lookup


@final
class Table:
    """A table whose keys are taken one by one; keys left at the end are unknown.

    Parameters
    ----------
    where : str
        What to call the table in messages.
    values : mapping

    Examples
    --------
    >>> table = Table("[training]", {"n_epoch": 3})
    >>> table.integer("n_epochs", 1, at_least=1)
    1
    >>> table.finish()
    Traceback (most recent call last):
    millet.errors.UnknownNameError: Unknown key in [training] 'n_epoch'; known: n_epochs. Did you mean 'n_epochs'?
    """

    def __init__(self, where: str, values: Any) -> None:
        if not isinstance(values, Mapping):
            raise ParameterError(f"{where} must be a table; got {values!r}.")
        self.where = where
        self._values = dict(values)
        self._known: dict[str, None] = {}

    def __contains__(self, key: str) -> bool:
        self._known[key] = None
        return key in self._values

    def take(self, key: str, default: Any) -> Any:
        """Return any value, unchecked."""
        self._known[key] = None
        return self._values.get(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string that is not empty; the key must be there if there is no default."""
        value = self.take(key, default)
        if not isinstance(value, str) or not value:
            found = self._missing(key) if value is None else f"got {value!r}."
            raise ParameterError(f"{key} in {self.where} must be a string; {found}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self.take(key, default)
        if not isinstance(value, bool):
            raise ParameterError(f"{key} in {self.where} must be true or false; got {value!r}.")
        return value

    def integer(self, key: str, default: int, *, at_least: int) -> int:
        """Return an integer with a lower bound."""
        return integer(f"{key} in {self.where}", self.take(key, default), at_least)

    def optional_integer(self, key: str, *, at_least: int) -> int | None:
        """Return an integer with a lower bound, or None where there is none."""
        return self.integer(key, at_least, at_least=at_least) if key in self else None

    def items(self, key: str) -> list[Any]:
        """Return a list that is not empty."""
        value = self.take(key, None)
        if not isinstance(value, list) or not value:
            found = self._missing(key) if value is None else f"got {value!r}."
            raise ParameterError(f"{key} in {self.where} must be a list of at least one; {found}")
        return value

    def _missing(self, key: str) -> str:
        """Say that a key is missing, and which one may have been meant."""
        meant = get_close_matches(key, [other for other in self._values if other not in self._known], n=1)
        return "it is not there." + (f" There is {meant[0]!r}; should it be called {key!r}?" if meant else "")

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings without duplicates."""
        values = self.items(key)
        for value in values:
            if not isinstance(value, str) or not value:
                raise ParameterError(f"{key} in {self.where} must hold strings; got {value!r}.")
        refuse_duplicates(f"{key} in {self.where}", values)
        return tuple(values)

    def rest(self) -> dict[str, Any]:
        """Return everything that was not taken, and consider it known."""
        left = {key: value for key, value in self._values.items() if key not in self._known}
        self._known |= dict.fromkeys(left)
        return left

    def finish(self) -> None:
        """Refuse keys that were never asked for."""
        for key in self._values:
            lookup(f"key in {self.where}", key, self._known)


def refuse_duplicates(what: str, names: list[str]) -> None:
    """Refuse a name that occurs twice."""
    twice = [name for position, name in enumerate(names) if name in names[:position]]
    if twice:
        raise ParameterError(f"Duplicate in {what}: {twice[0]!r} is there twice, which would give duplicate cells.")

"""Reading JSON that anyone may have edited: what is missing or mistyped is a `RewriteError`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from morello.errors import RewriteError, SpecError, quoted
from morello.ir.dtype import PACKED, DType, parse_dtype
from morello.ir.layout import Layout, parse_layout

MAX_INTEGER = 2**31 - 1

_T = TypeVar("_T")
_KINDS = {str: "text", int: "a whole number", bool: "true or false", list: "a list"}


class Fields:
    """An object of JSON, whose every missing or mistyped field is a `RewriteError`."""

    def __init__(self, data: Any, what: str) -> None:
        if not isinstance(data, dict):
            raise RewriteError(f"{what} is {quoted(data)}, and should be an object.")
        self.what = what
        self._data = data
        self._used: set[str] = set()

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter([(str(key), value) for key, value in self._data.items()])

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def get(self, key: str, kind: type[_T], default: _T | None = None) -> _T:
        """The field of this name and kind."""
        self._used.add(key)
        if key not in self._data and default is None:
            raise RewriteError(f"{self.what} has no {quoted(key)}; save it again.")
        value = self._data.get(key, default)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            wanted = _KINDS.get(kind, "an object")
            raise RewriteError(
                f"{self.what}: {quoted(key)} is {quoted(value)}, and should be {wanted}."
            )
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty if it is missing."""
        found = self.get(key, list, [])
        if not all(isinstance(one, str) for one in found):
            raise RewriteError(
                f"{self.what}: {quoted(key)} is {quoted(found)}, and should be texts."
            )
        return tuple(found)

    def objects(self, key: str, what: str) -> list[Fields]:
        """A list of objects, empty if it is missing; `what` each is called."""
        return [Fields(one, f"{what} {i}") for i, one in enumerate(self.get(key, list, []))]

    def whole(self, key: str, least: int = 0, default: int | None = None) -> int:
        """A number that a size or a count can be."""
        return whole(self.get(key, int, default), key, least)

    def unused(self) -> list[str]:
        """The fields that nobody asked for."""
        return sorted(str(key) for key in self._data.keys() - self._used)


def whole(value: Any, name: str, least: int = 0) -> int:
    """A whole number that a size or a count can be."""
    number = isinstance(value, int) and not isinstance(value, bool)
    if not number or not least <= value <= MAX_INTEGER:
        raise RewriteError(
            f"{name} is {quoted(value)}, and should be a whole number of at least {least}."
        )
    return int(value)


def read_dtype(name: str) -> DType:
    """The dtype of this name, packed ones included."""
    if name in PACKED:
        return PACKED[name]
    try:
        return parse_dtype(name)
    except SpecError as error:
        raise RewriteError(str(error)) from None


def read_layout(text: str) -> Layout:
    """A layout of as many dimensions as it names; the rewrite or Spec knows if that is right."""
    rank = text.partition(":")[0].count(",") + 1
    try:
        return parse_layout(text, rank)
    except SpecError as error:
        raise RewriteError(str(error)) from None

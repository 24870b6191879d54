"""Reading untrusted JSON: a missing or mistyped field raises `RewriteError`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from morello.base.errors import RewriteError, SpecError, quoted
from morello.ir.dtype import PACKED, DType, parse_dtype
from morello.ir.layout import Layout, parse_layout

MAX_INTEGER = 2**31 - 1

_T = TypeVar("_T")
_KINDS = {str: "text", int: "a whole number", bool: "true or false", list: "a list"}


class Fields:
    """A JSON object; reading a missing or mistyped field raises `RewriteError`."""

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
        """The value of a field, which must be of this kind; `default` if it is missing."""
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
        values = self.get(key, list, [])
        if not all(isinstance(value, str) for value in values):
            raise RewriteError(
                f"{self.what}: {quoted(key)} is {quoted(values)}, and should be texts."
            )
        return tuple(values)

    def objects(self, key: str, what: str) -> list[Fields]:
        """A list of objects, empty if it is missing; errors call each of them `what`."""
        return [Fields(item, f"{what} {i}") for i, item in enumerate(self.get(key, list, []))]

    def integer(self, key: str, minimum: int = 0, default: int | None = None) -> int:
        """A whole number of at least `minimum`, and at most `MAX_INTEGER`."""
        return integer(self.get(key, int, default), key, minimum)

    def unused(self) -> list[str]:
        """The fields that were never read."""
        return sorted(str(key) for key in self._data.keys() - self._used)


def integer(value: Any, name: str, minimum: int = 0) -> int:
    """Check that a value is a whole number of at least `minimum`, at most `MAX_INTEGER`."""
    number = isinstance(value, int) and not isinstance(value, bool)
    if not number or not minimum <= value <= MAX_INTEGER:
        raise RewriteError(
            f"{name} is {quoted(value)}, and should be a whole number of at least {minimum}."
        )
    return int(value)


def read_dtype(name: str) -> DType:
    """The dtype of this name, which may be a packed one."""
    if name in PACKED:
        return PACKED[name]
    try:
        return parse_dtype(name)
    except SpecError as error:
        raise RewriteError(str(error)) from None


def read_layout(text: str) -> Layout:
    """A layout whose rank is that of the text; rewrites and Specs check if the rank is right."""
    rank = text.partition(":")[0].count(",") + 1
    try:
        return parse_layout(text, rank)
    except SpecError as error:
        raise RewriteError(str(error)) from None

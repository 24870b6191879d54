"""Traces of kinds on disk, so that only the first process that meets a kind has to trace it.

They are in the kernel cache, and hold for this version of Morello's files and this target. They
are pickled, but only names of this package are loaded.
"""

from __future__ import annotations

import io
import pickle
import zlib
from base64 import b64decode, b64encode
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.base.errors import BuildError, MorelloError
from morello.base.stamps import code_stamps
from morello.engine.tape import Instructions
from morello.ir.dtype import DTYPES, PACKED, DType
from morello.ir.operation import Component, Operation, Primitive, operation
from morello.ir.placements import Bools
from morello.ir.primitives import PRIMITIVES
from morello.memo.program_table import RememberedPrograms, in_cache
from morello.memo.space_name import space_name
from morello.native.cache import default_cache
from morello.space.family import Family
from morello.space.kind import Kind
from morello.targets.catalog import find_target

MOST_SAVED = 2_000
"""The most traces on disk, of six kilobytes each in the mean."""


def _stamps() -> str:
    """A hash of the stamps of this package's files; empty if it is not in a folder."""
    try:
        return blake2b(code_stamps().encode(), digest_size=16).hexdigest()
    except OSError:
        return ""


_STAMPS = _stamps()


@dataclass(frozen=True)
class SavedTrace:
    """The rules of a kind as a tape is made of them; rules are given by their numbers.

    The instructions number the `kinds` of children. A table is given by its role, or else by its
    entries. By rule: whether it is `traced`; those that only NumPy can apply are `untraceable`.
    Keys have at most `width` words.
    """

    kind: Kind
    instructions: Instructions
    constants: tuple[float, ...]
    tables: tuple[tuple[Hashable, npt.NDArray[Any] | None], ...]
    kinds: tuple[Kind, ...]
    traced: Bools
    untraceable: frozenset[int]
    width: int


class TraceFile:
    """The traces on disk, and those that are to be written."""

    def __init__(self) -> None:
        self._new: dict[tuple[Family, Kind, bool], SavedTrace] = {}
        self._lock = Lock()

    def load(self, family: Family, kind: Kind, ideal: bool) -> SavedTrace | None:
        """The trace of a kind that a process wrote, if any."""
        with self._lock, suppress(Exception):  # whatever a damaged file may raise
            table = _table()
            text = table and table.program("", _name(family, kind, ideal))
            if text:
                saved: SavedTrace = _Unpickler(zlib.decompress(b64decode(text))).load()
                return saved if saved.kind == kind else None
        return None

    def keep(self, family: Family, ideal: bool, trace: SavedTrace) -> None:
        """Have the trace of a kind written next time, if its target is one that has a name."""
        if _is_known(family):
            with self._lock:
                self._new[family, trace.kind, ideal] = trace

    def write(self) -> None:
        """Write what is new, unless Morello's files were changed since they were imported."""
        with self._lock:
            new = dict(self._new)
            self._new.clear()
            table = _table() if new else None
            if table is None or _stamps() != _STAMPS:
                return
            texts = []
            for key, trace in new.items():
                with suppress(pickle.PicklingError, AttributeError, TypeError):  # it has no name
                    texts.append((_name(*key), _text(trace)))
            table.keep_programs("", texts)


TRACE_FILE = TraceFile()


def _table() -> RememberedPrograms | None:
    try:
        return _opened(default_cache()) if _STAMPS else None
    except BuildError:
        return None


@cache
def _opened(folder: Path) -> RememberedPrograms | None:
    return in_cache("traces", MOST_SAVED)


def _is_known(family: Family) -> bool:
    """Whether all that a target's rules depend on is among the files of this package.

    It may be one of the tunings of a target that has a name.
    """
    try:
        named = find_target(family.target.name)
    except MorelloError:
        return False
    kernels = family.target.kernels
    return any(each.kernels == kernels for each in (named, *named.tunings))


def _name(family: Family, kind: Kind, ideal: bool) -> str:
    """A hash of all that a trace depends on."""
    others = [getattr(family, field.name) for field in fields(family) if field.name != "target"]
    parts = _STAMPS, space_name(family.target), repr([*others, ideal]), repr(kind)
    return blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


# ---- pickles: what is compared by identity is given by what it is made of


def _text(trace: SavedTrace) -> str:
    file = io.BytesIO()
    _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(trace)
    return b64encode(zlib.compress(file.getvalue(), 1)).decode()


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if type(value) is Operation:
            return operation, _fields(value)
        if type(value) is Component:  # without what is cached of it
            return Component, _fields(value)
        if type(value) is Primitive and PRIMITIVES.get(value.name) is value:
            return _primitive, (value.name,)
        if type(value) is DType:
            return _dtype, (value.name,)
        if type(value) is np.ndarray:
            return _array, (value.dtype.str, value.shape, value.tobytes())
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] != "morello" or "." in name:
            raise pickle.UnpicklingError(f"{module}.{name} is not of this package")
        return super().find_class(module, name)


def _fields(value: Operation | Component) -> tuple[Any, ...]:
    return tuple(getattr(value, field.name) for field in fields(value))


def _primitive(name: str) -> Primitive:
    return PRIMITIVES[name]


def _dtype(name: str) -> DType:
    return {**DTYPES, **PACKED}[name]


def _array(dtype: str, shape: tuple[int, ...], data: bytes) -> npt.NDArray[Any]:
    return np.frombuffer(data, dtype).reshape(shape).copy()

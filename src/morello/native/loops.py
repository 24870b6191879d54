"""Loops over arrays that are written in C.

The C files of a folder are built once, as one library. What a function takes is read from its C
declaration, so that an array of another dtype raises `TypeError` instead of being misread:

    int64_t, double, bool       a number
    int32_t *, or another       a contiguous array of this dtype
    X *, where X is a struct    a tuple of its fields, which are arrays, integers, and such tuples;
                                or what `Loops.struct` made of one

All functions but static ones can be called from Python. No other function in C may call them, as
another library of the process might have one of the same name. They hold the interpreter's lock,
and interrupts wait until they return: within a second or so.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import index
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from morello.base.errors import BuildError
from morello.native.build import build
from morello.native.cache import default_cache
from morello.native.toolchain import arch_flags, find_compiler

_DTYPES = {
    "bool": np.bool_, "int8_t": np.int8, "uint8_t": np.uint8, "int16_t": np.int16,
    "int32_t": np.int32, "uint32_t": np.uint32, "int64_t": np.int64, "uint64_t": np.uint64,
    "float": np.float32, "double": np.float64,
}  # fmt: skip

_COMMENT = re.compile(r"//.*")
_STRUCT = re.compile(r"^typedef struct \{(.*?)\} (\w+);", re.MULTILINE | re.DOTALL)
_FUNCTION = re.compile(r"^(\w+) (\w+)\(([^)]*)\) \{", re.MULTILINE)
_DECLARATION = re.compile(r"\s*(const )?(\w+) (.*)", re.DOTALL)


class Loops:
    """The functions of C files in a folder, as attributes; a file may use those before it.

    They are built when the first is used, which takes seconds, and kept in the folder's
    `__pycache__`, or else in the cache of kernels. That raises `BuildError` if there is no C
    compiler. `header` is C before all files.
    """

    def __init__(self, folder: Path, files: Sequence[str], header: str = "") -> None:
        self._folder, self._files, self._header = folder, files, header
        self._functions: dict[str, Callable[..., Any]] = {}
        self._types: dict[str, _Struct] = {}  # of structs, by name

    def load(self) -> None:
        """Build the library unless it was built before, and load it."""
        if self._functions:
            return
        library = self._loaded()
        functions: dict[str, Callable[..., Any]] = {}
        for result, name, parameters in _FUNCTION.findall(self._declarations):
            types = [self._type(each) for each in parameters.split(",")]
            function = getattr(library, name)
            function.restype = None if result == "void" else _NUMBERS[result].type
            function.argtypes = [each.type for each in types]
            functions[name] = partial(_call, function, [each.of for each in types])
        self._functions = functions
        vars(self).update(functions)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A function of a library that was not loaded yet."""
        if name.startswith("_"):
            raise AttributeError(name)
        self.load()
        if name not in self._functions:
            raise AttributeError(name)
        return self._functions[name]

    def struct(self, name: str, values: tuple[Any, ...]) -> bytes:
        """A struct of values, which must live as long as it does."""
        return self._struct(name).of(values)

    @cached_property
    def _text(self) -> str:
        parts = [f'#line 1 "{name}"\n{self._read(name)}' for name in self._files]
        return "\n".join([self._header, *parts])

    def _read(self, name: str) -> str:
        return (self._folder / name).read_text(encoding="utf-8")

    def _loaded(self) -> ctypes.PyDLL:
        compiler = find_compiler()
        # results are to be the same as NumPy's: no contraction to fused multiply-adds
        flags = (*arch_flags(compiler, "native"), "-ffp-contract=off")
        try:
            cache = self._folder / "__pycache__"
            return ctypes.PyDLL(str(build(self._text, compiler=compiler, flags=flags, cache=cache)))
        except (BuildError, OSError):  # it cannot be written, or code cannot be loaded from it
            cache = default_cache()
        library = build(self._text, compiler=compiler, flags=flags, cache=cache)
        try:
            return ctypes.PyDLL(str(library))
        except OSError as error:
            raise BuildError(
                f"{library} cannot be loaded ({error}); set MORELLO_CACHE to a directory from "
                "which code can be loaded."
            ) from None

    @cached_property
    def _declarations(self) -> str:
        return _COMMENT.sub("", self._text)

    @cached_property
    def _structs(self) -> dict[str, str]:
        """The declarations of the fields of all structs."""
        return {name: fields for fields, name in _STRUCT.findall(self._declarations)}

    def _struct(self, name: str) -> _Struct:
        if name not in self._types:
            fields: list[_Type] = []
            for declaration in self._structs[name].split(";")[:-1]:
                fields += [self._type(declaration)] * len(declaration.split(","))
            self._types[name] = _Struct(tuple(fields))
        return self._types[name]

    def _type(self, declaration: str) -> _Type:
        """The type of a parameter or of a struct's field, from its declaration in C."""
        match = _DECLARATION.fullmatch(declaration)
        assert match is not None, declaration
        constant, kind, rest = match.groups()
        if kind in self._structs:
            return self._struct(kind)
        if rest.startswith("*"):
            return _Array(np.dtype(_DTYPES[kind]), written=constant is None)
        return _NUMBERS[kind]


def _call(function: Any, conversions: Sequence[Callable[[Any], Any]], *values: Any) -> Any:
    """Call a function of C.

    What it takes is converted here: if ctypes did, an interrupt meanwhile would become another
    exception.
    """
    pairs = zip(conversions, values, strict=True)
    return function(*[convert(value) for convert, value in pairs])


_buffer: Any = (ctypes.c_char * 0).from_buffer
"""The buffer of a contiguous array that can be written; `TypeError` for others.

NumPy's own ways to an array's address take several times as long.
"""


def address(array: npt.NDArray[Any]) -> int:
    """Where the elements of a contiguous array are."""
    try:
        return ctypes.addressof(_buffer(array))
    except TypeError:
        if array.flags.writeable or not array.flags.c_contiguous:
            raise
    place: int = array.__array_interface__["data"][0]
    return place


@dataclass(frozen=True)
class _Number:
    """A number: its type in ctypes, and what makes it one of that."""

    type: Any
    of: Callable[[Any], Any]


_NUMBERS = {
    "int64_t": _Number(ctypes.c_int64, index),
    "double": _Number(ctypes.c_double, float),
    "bool": _Number(ctypes.c_bool, bool),
}


@dataclass(frozen=True)
class _Array:
    """A pointer to the elements of an array, which C may write or not."""

    dtype: np.dtype[Any]
    written: bool
    type: ClassVar[Any] = ctypes.c_void_p

    def of(self, array: npt.NDArray[Any]) -> int:
        if array.dtype != self.dtype:
            raise TypeError(f"an array of {self.dtype} is needed, not of {array.dtype}")
        return ctypes.addressof(_buffer(array)) if self.written else address(array)


@dataclass(frozen=True)
class _Struct:
    """A pointer to a struct, all of whose fields have 64 bits."""

    fields: tuple[_Type, ...]
    type: ClassVar[Any] = ctypes.c_char_p

    def of(self, values: tuple[Any, ...] | bytes) -> bytes:
        return values if isinstance(values, bytes) else self._packing.pack(*self._flat(values))

    def _flat(self, values: tuple[Any, ...]) -> list[int]:
        words: list[int] = []
        for field, value in zip(self.fields, values, strict=True):
            if isinstance(field, _Struct):
                words += field._flat(value)
            else:
                words.append(field.of(value))
        return words

    @cached_property
    def _packing(self) -> struct.Struct:
        return struct.Struct(f"{self._size}q")

    @property
    def _size(self) -> int:
        return sum(field._size if isinstance(field, _Struct) else 1 for field in self.fields)


_Type = _Number | _Array | _Struct

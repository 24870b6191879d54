"""Loading shared objects, and creating Python functions for the kernels in them."""

from __future__ import annotations

import ctypes
import functools
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from morello.base.errors import BuildError
from morello.native.build import build
from morello.native.toolchain import Compiler, arch_flags
from morello.runtime.argument import Argument, Array
from morello.runtime.call_errors import explain
from morello.runtime.dlpack import call_on_arrays

MAX_ARGUMENTS = 8
MAX_RANK = 8
_MAX_FORMATS = 8


class Library:
    """A loaded shared object, unloaded when the last reference to this is gone."""

    def __init__(self, path: Path) -> None:
        """Loads the shared object at `path`; raises `BuildError` if that fails."""
        self.path = path
        try:
            self._dll = ctypes.CDLL(str(path))
        except OSError as error:
            raise BuildError(
                f"{path} was built but cannot be loaded ({error}); delete it, or set MORELLO_CACHE "
                "to a directory on a file system that allows execution."
            ) from None
        if sys.platform != "win32":
            finalizer = weakref.finalize(self, _unload, self._dll._handle)
            # Not at exit: other threads may still be inside a kernel.
            finalizer.atexit = False

    def address(self, symbol: str) -> int:
        """The address of the function `symbol`; raises `BuildError` if there is none."""
        try:
            address = ctypes.cast(self._dll[symbol], ctypes.c_void_p).value
        except AttributeError:
            address = None
        if address is None:
            raise BuildError(f"{self.path} defines no function {symbol!r}.")
        return address

    def defines(self, symbol: str) -> bool:
        """Whether the library defines the function `symbol`."""
        return hasattr(self._dll, symbol)


class _CArgument(ctypes.Structure):
    """trampoline.c's `Argument`."""

    _fields_ = [
        ("ndim", ctypes.c_int64),
        ("itemsize", ctypes.c_int64),
        ("alignment", ctypes.c_int64),
        ("extent", ctypes.c_int64),
        ("row_major", ctypes.c_int64),
        ("written", ctypes.c_int64),
        ("shape", ctypes.c_int64 * MAX_RANK),
        ("strides", ctypes.c_int64 * MAX_RANK),
        ("formats", ctypes.c_char * _MAX_FORMATS),
    ]


@dataclass(frozen=True)
class NewArrays:
    """How a function makes an array for its result."""

    memory: Callable[[], Array]
    place: Callable[[Array, int], Array] | None = None
    """Makes the array, of the memory and the byte of it where a cache line begins. If it is None,
    the memory is the array.
    """


def make_function(
    library: Library,
    symbol: str,
    arguments: tuple[Argument, ...],
    *,
    results: NewArrays,
    compiler: Compiler,
    release_gil: bool = False,
) -> Callable[..., Array]:
    """The builtin function `f(*inputs, out=None)` that checks its arrays and calls `symbol`.

    `symbol` takes one pointer per argument, the last of which is the output; `results`
    creates an output when none is passed, and others are passed as inputs are. The function keeps
    `library` loaded, and raises `CallError` when arrays do not match. Raises `BuildError` if the
    trampoline cannot be built.
    """
    otherwise = _Otherwise(tuple(argument.as_bits for argument in arguments))
    make = functools.partial(_trampoline(compiler), library.address(symbol), None, False)
    function: Callable[..., Array] = make(
        *_described(arguments), release_gil, results.memory, results.place, otherwise, library
    )
    otherwise.function = weakref.ref(function)
    return function


class _Otherwise:
    """A kernel's function calls this for arrays that it does not take: `self(*args, **keywords)`.

    Arrays of other libraries are exchanged by DLPack; else it raises the `CallError` that says what
    is wrong.
    """

    function: Callable[[], Callable[..., Array] | None]
    """The kernel's function, without keeping it alive."""

    def __init__(self, arguments: tuple[Argument, ...]) -> None:
        self._arguments = arguments

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        function = self.function()
        assert function is not None
        result = call_on_arrays(function, args, keywords, len(self._arguments) - 1)
        return explain(self._arguments, *args, **keywords) if result is None else result


class SegmentAddress(ctypes.Structure):
    """A segment and the functions of runner.c for it, as trampoline.c takes them."""

    _fields_ = [
        ("run", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("segment", ctypes.c_void_p),
        ("arena", ctypes.c_size_t),
        ("run_parallel", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
    ]


def make_segment_function(
    address: SegmentAddress,
    arguments: tuple[Argument, ...],
    *,
    results: NewArrays,
    otherwise: Callable[..., Any],
    keep: object,
    compiler: Compiler,
    number: bool = False,
    release_gil: bool = False,
) -> Callable[..., Any]:
    """The builtin function `f(*inputs)` that runs a segment on NumPy arrays.

    The segment's arrays are `arguments`, the last of which is its output. What is called in any
    other way is handed over to `otherwise`. The function keeps `keep`, which has the segment. It
    returns the output, or with `number` its only element.
    """
    function: Callable[..., Any] = _trampoline(compiler)(
        None, ctypes.byref(address), number, *_described(arguments), release_gil,
        results.memory, results.place, otherwise, keep,
    )  # fmt: skip
    return function


def _described(arguments: tuple[Argument, ...]) -> tuple[Any, int]:
    return (_CArgument * len(arguments))(*map(_c_argument, arguments)), len(arguments)


def own_library(
    source: Path,
    label: str,
    compiler: Compiler,
    *,
    before: str = "",
    kind: type[ctypes.CDLL] = ctypes.CDLL,
) -> ctypes.CDLL:
    """Builds a C file of this package for the baseline architecture, and loads it permanently.

    `before` is text that comes before it. Raises `BuildError`, whose message calls the file
    `label`.
    """
    text, flags = before + source.read_text(encoding="utf-8"), arch_flags(compiler, "baseline")
    path = build(text, compiler=compiler, flags=flags)
    try:
        return kind(str(path))
    except OSError as error:
        raise BuildError(f"the {label} {path} cannot be loaded: {error}.") from None


@functools.cache
def _trampoline(compiler: Compiler) -> Callable[..., Any]:
    """trampoline.c's `make_function`. It is never unloaded, as its functions may live on."""
    source = Path(__file__).with_name("trampoline.c")
    library = own_library(source, "trampoline", compiler, kind=ctypes.PyDLL)
    objects = [ctypes.py_object] * 4
    library.set_types.argtypes = [*objects[:2], ctypes.c_ssize_t]
    library.set_types.restype = None
    # The pointer to an object's type is the last field of the object header.
    type_offset = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
    library.set_types(np.ndarray, "numpy.ma.core", type_offset)
    make = library.make_function
    make.restype = ctypes.py_object
    pointer = ctypes.POINTER(_CArgument)
    segment = ctypes.POINTER(SegmentAddress), ctypes.c_int
    make.argtypes = [ctypes.c_void_p, *segment, pointer, ctypes.c_ssize_t, ctypes.c_int, *objects]
    return make


def _c_argument(argument: Argument) -> _CArgument:
    rank, itemsize = len(argument.shape), argument.dtype.bytes
    return _CArgument(
        ndim=rank,
        itemsize=itemsize,
        alignment=itemsize,
        extent=argument.extent,
        row_major=argument.is_row_major,
        written=argument.output,
        shape=(ctypes.c_int64 * MAX_RANK)(*argument.shape),
        strides=(ctypes.c_int64 * MAX_RANK)(*argument.strides),
        formats=_formats(argument.raw).encode(),
    )


def _formats(dtype: np.dtype[Any]) -> str:
    """The buffer-protocol letters for `dtype`: often two, as C integer types share sizes."""
    return "".join(letter for letter in "?bBhHiIlLqQefd" if np.dtype(letter) == dtype)


def _unload(handle: int) -> None:
    close = ctypes.CDLL(None).dlclose
    close.argtypes = [ctypes.c_void_p]
    close(handle)

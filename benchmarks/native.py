"""Calling C functions from C: loops.c, compiled once, through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.work import Array
from morello.native.build import build
from morello.native.toolchain import arch_flags, find_compiler

Loop = Callable[[int], float]
"""Makes this many calls; returns the seconds that they took."""

ROW_MAJOR, COLUMN_MAJOR, PLAIN, TRANSPOSED = 101, 102, 111, 112
"""The values of cblas's constants."""


class Gemm(ctypes.Structure):
    """The struct `Gemm` of loops.c."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("order", "ta", "tb", "m", "n", "k")),
        *((name, ctypes.c_int) for name in ("lda", "ldb", "ldc")),
        *((name, ctypes.c_void_p) for name in ("a", "b", "c")),
    )


def compiled(name: str) -> ctypes.CDLL:
    """Compile a C file of this folder for this machine, and load it."""
    compiler = find_compiler()
    source = Path(__file__).with_name(name).read_text()
    return ctypes.CDLL(str(build(source, compiler=compiler, flags=arch_flags(compiler, "native"))))


@cache
def loops() -> ctypes.CDLL:
    """The functions of loops.c."""
    library = compiled("loops.c")
    for name in (
        "pointers2", "pointers3", "pointers4", "gemms", "integer_gemm", "gemv", "dnnl_gemms",
        "primitives",
    ):  # fmt: skip
        getattr(library, name).restype = ctypes.c_int64
    return library


def loop(name: str, function: Any, *arguments: Any, keep: Sequence[Any] = ()) -> Loop:
    """Calls of a C function by a function of loops.c; `keep` lives as long as the result."""
    run = getattr(loops(), name)
    address = ctypes.cast(function, ctypes.c_void_p)

    def repeat(calls: int, keep: object = (function, keep)) -> float:
        return 1e-9 * float(run(ctypes.c_int64(calls), address, *arguments))

    return repeat


def pointer(array: Array) -> ctypes.c_void_p:
    """The address of an array's first element."""
    return ctypes.c_void_p(array.ctypes.data)


def on_pointers(address: int, arrays: Sequence[Array], keep: object = None) -> Loop:
    """Calls of a function that takes only pointers, as Morello's do."""
    addresses = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    name = f"pointers{len(arrays)}"
    return loop(name, ctypes.c_void_p(address), addresses, keep=(*arrays, keep))


def gemm(a: Array, b: Array, c: Array) -> Gemm:
    """The row-major product `c = a @ b`, for a row-major `a` and a `b` in either order."""
    (m, k), n = a.shape, b.shape[1]
    by_rows = b.flags.c_contiguous
    return Gemm(
        order=ROW_MAJOR, ta=PLAIN, tb=PLAIN if by_rows else TRANSPOSED, m=m, n=n, k=k,
        lda=k, ldb=n if by_rows else k, ldc=n,
        a=a.ctypes.data, b=b.ctypes.data, c=c.ctypes.data,
    )  # fmt: skip

"""Segments in programs of JAX: each is a custom call of XLA."""

from __future__ import annotations

import ctypes
import secrets
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from morello.abi.plans import text
from morello.base.errors import CallError
from morello.models.segment import Segment
from morello.native.toolchain import find_compiler
from morello.runtime.load import own_library
from morello.runtime.threads import SCHEDULED

TARGET = "morello_segment"
"""The name of the custom call."""


class _Plan(ctypes.Structure):
    """The struct `Plan` of xla.c."""

    _fields_ = [
        ("run", ctypes.c_void_p),
        ("segment", ctypes.c_void_p),
        ("inputs", ctypes.c_int64),
        ("outputs", ctypes.c_int64),
        ("threads", ctypes.c_int64),
    ]


_kept: list[object] = []
"""Segments that compiled XLA programs refer to; XLA does not tell when it frees a program."""


class SegmentCall:
    """A segment to be called on arrays of JAX: the inputs and outputs are row-major.

    Parallel loops run on XLA's threads.
    """

    def __init__(self, segment: Segment) -> None:
        """Raises `BuildError` without a C compiler, `CallError` after 65,536 segments."""
        library = _handler()
        entry = segment.entry
        threads = max(kernel.threads for kernel in segment.kernels)
        counts = len(segment.inputs), len(segment.outputs)
        plan = _Plan(entry.run, entry.segment, *counts, threads)
        self._number = np.int64(library.add_plan(ctypes.byref(plan)))
        if self._number < 0:
            raise CallError("this process calls too many segments in JAX; start another.")
        _kept.extend((segment, plan))
        arena = jax.ShapeDtypeStruct((segment.arena.bytes,), np.uint8)
        outputs = [jax.ShapeDtypeStruct(node.shape, node.dtype) for node in segment.outputs]
        self._call = jax.ffi.ffi_call(TARGET, (*outputs, arena), vmap_method="sequential")

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """The outputs for these inputs, which must have the types of the segment's nodes."""
        *results, _ = self._call(*arrays, number=self._number)
        return tuple(results)


@cache
def _handler() -> ctypes.CDLL:
    """xla.c, which is registered once for all segments."""
    source, before = Path(__file__).with_name("xla.c"), "\n".join([*SCHEDULED, text("xla.h")])
    library = own_library(source, "XLA handler", find_compiler(), before=before)
    library.add_plan.restype = ctypes.c_int64
    library.begin(ctypes.c_int64(secrets.randbits(62)))
    capsule = jax.ffi.pycapsule(library.call_segment)
    jax.ffi.register_ffi_target(TARGET, capsule, platform="cpu")
    return library

"""The functions of oneDNN that the peer needs, through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.peers.peer import UnavailableError
from benchmarks.work import Array

CPU, IN_ORDER, INFERENCE = 1, 1, 96
ANY_LAYOUT = 1
CONVOLUTION, ACCURATE_SOFTMAX = 3, 0x30000
ELTWISE = {"relu": 0x20, "gelu": 0x31}
SOURCE, TARGET, WEIGHTS, BIAS = 1, 17, 33, 41
QUERY_SOURCE, QUERY_WEIGHTS, QUERY_TARGET = 129, 131, 133
TYPES = {"bfloat16": 2, "float32": 3, "int32": 4, "int8": 5, "uint8": 6}
MOST_DIMS = 12

Handle = ctypes.c_void_p


class _ExecArg(ctypes.Structure):
    _fields_ = (("arg", ctypes.c_int), ("memory", ctypes.c_void_p))


class Step(ctypes.Structure):
    """The struct `Step` of loops.c: a primitive and its operands."""

    _fields_ = (
        ("primitive", ctypes.c_void_p),
        ("arguments", ctypes.c_void_p),
        ("count", ctypes.c_int64),
    )


class _Version(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_int) for name in ("major", "minor", "patch"))


class Dnnl:
    """An engine and a stream. The objects that it creates live as long as the process."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.kept: list[Any] = []
        self.engine = self.make("dnnl_engine_create", CPU, ctypes.c_size_t(0))
        self.stream = self.make("dnnl_stream_create", self.engine, IN_ORDER)
        library.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        library.dnnl_memory_desc_get_size.restype = ctypes.c_size_t

    def version(self) -> str:
        self.library.dnnl_version.restype = ctypes.POINTER(_Version)
        numbers = self.library.dnnl_version().contents
        isa = self.library.dnnl_get_effective_cpu_isa()
        return f"oneDNN {numbers.major}.{numbers.minor}.{numbers.patch}, isa {isa:#x}"

    def make(self, name: str, *arguments: Any) -> Handle:
        """Create an object, by a function whose first argument is the address of its handle."""
        handle = Handle()
        status = getattr(self.library, name)(ctypes.byref(handle), *arguments)
        if status:
            raise UnavailableError(f"{name} gives status {status}")
        return handle

    def layout(self, array: Array) -> Handle:
        """The memory descriptor of an array, with its strides."""
        strides = [step // array.itemsize for step in array.strides]
        return self.make(
            "dnnl_memory_desc_create_with_strides", array.ndim, dims(array.shape),
            TYPES[array.dtype.name], dims(strides),
        )  # fmt: skip

    def any_layout(self, array: Array) -> Handle:
        """The memory descriptor of an array's shape, in any layout that a primitive prefers."""
        kind = TYPES[array.dtype.name]
        shape = dims(array.shape)
        return self.make(
            "dnnl_memory_desc_create_with_tag", array.ndim, shape, kind, ANY_LAYOUT
        )  # fmt: skip

    def memory(self, layout: Handle, array: Array) -> Handle:
        """A memory object of an array."""
        self.kept.append(array)
        address = ctypes.c_void_p(array.ctypes.data)
        return self.make("dnnl_memory_create", layout, self.engine, address)

    def chosen(self, description: Handle, query: int) -> Handle:
        """The layout that a primitive chose for an operand."""
        return Handle(self.library.dnnl_primitive_desc_query_md(description, query, 0))

    def buffer(self, layout: Handle) -> Handle:
        """New memory of a layout, aligned to 64 bytes."""
        count = self.library.dnnl_memory_desc_get_size(layout) + 64
        memory = np.zeros(count, np.uint8)
        return self.memory(layout, memory[-memory.ctypes.data % 64 :])

    def step(self, description: Handle, operands: dict[int, Handle]) -> Step:
        """A primitive, ready to run."""
        primitive = self.make("dnnl_primitive_create", description)
        pairs = (_ExecArg * len(operands))(*(_ExecArg(a, m) for a, m in operands.items()))
        self.kept.append(pairs)
        return Step(primitive, ctypes.cast(pairs, ctypes.c_void_p), len(operands))

    def reorder(self, source: Handle, start: Handle, target: Handle, end: Handle) -> Step:
        """A copy from one layout to another."""
        description = self.make(
            "dnnl_reorder_primitive_desc_create", start, self.engine, end, self.engine, None
        )
        return self.step(description, {SOURCE: source, TARGET: target})

    def run(self, step: Step) -> None:
        """Run a primitive once, now."""
        primitive, operands = Handle(step.primitive), Handle(step.arguments)
        self.library.dnnl_primitive_execute(primitive, self.stream, step.count, operands)
        self.library.dnnl_stream_wait(self.stream)

    def eltwise_after(self, function: str) -> Handle:
        """The attribute that applies a function to a primitive's output."""
        attributes, after = (
            self.make("dnnl_primitive_attr_create"),
            self.make("dnnl_post_ops_create"),
        )
        zero = ctypes.c_float(0)
        self.library.dnnl_post_ops_append_eltwise(after, ELTWISE[function], zero, zero)
        self.library.dnnl_primitive_attr_set_post_ops(attributes, after)
        return attributes


def dims(values: Sequence[int]) -> Any:
    """Sizes or strides as oneDNN's type `dnnl_dims_t`."""
    return (ctypes.c_int64 * MOST_DIMS)(*values)

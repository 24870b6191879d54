"""The array arguments that a kernel takes: their dtype, shape, strides and memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from morello.base.errors import SpecError
from morello.ir.dtype import BF16, U16, DType

if TYPE_CHECKING:
    from morello.ir.spec import Spec

Array = NDArray[Any]

CACHE_LINE = 64

BLOCK = 1 << 22
"""The elements that are made or checked at once, so that temporary arrays stay small."""


@dataclass(frozen=True)
class Argument:
    """One pointer a kernel takes: its name, dtype, shape, and strides in bytes.

    An `output` may be `updated`: the kernel reads it as well. An input `in_panels` is a flat array
    of the values of another one (see `runtime.packing`).
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    output: bool = False
    updated: bool = False
    in_panels: bool = False

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def extent(self) -> int:
        """The bytes from the first element to just past the last; 0 if there are none."""
        if self.size == 0:
            return 0
        steps = zip(self.shape, self.strides, strict=True)
        return self.dtype.bytes + sum((n - 1) * stride for n, stride in steps)

    @property
    def raw(self) -> np.dtype[Any]:
        """The dtype for the buffer protocol: uint16 for bfloat16, which has none, else its own."""
        return np.dtype(np.uint16) if self.dtype is BF16 else self.dtype.np

    @property
    def as_bits(self) -> Argument:
        """The argument for the buffer protocol: with dtype `raw`, which is uint16 for bfloat16."""
        return replace(self, dtype=U16) if self.dtype is BF16 else self

    @property
    def is_row_major(self) -> bool:
        """Whether the elements are contiguous, the last dimension fastest."""
        return same_strides(self, row_major_strides(self.shape, self.dtype.bytes))

    @property
    def is_column_major(self) -> bool:
        """Whether the elements are contiguous, the first dimension fastest."""
        return same_strides(self, row_major_strides(self.shape[::-1], self.dtype.bytes)[::-1])

    def view(self, memory: NDArray[np.uint8], offset: int = 0) -> Array:
        """The array of this shape and strides that starts `offset` bytes into `memory`."""
        return np.ndarray(self.shape, self.dtype.np, memory, offset, self.strides)

    def empty(self) -> Array:
        """A new, uninitialized array of this shape and strides, aligned to a cache line."""
        memory, offset = aligned_bytes(0, self.extent)
        return self.view(memory, offset)

    def random(self, generator: np.random.Generator) -> Array:
        """A new array of random positive numbers: floats from 0.1 to 1, integers from 1 to 9."""
        array = self.empty()
        for block in blocks(array):
            if self.dtype.is_float:
                block[...] = generator.uniform(0.1, 1.0, block.shape)
            else:
                block[...] = generator.integers(1, 10, block.shape)
        return array

    def __str__(self) -> str:
        return describe(self.dtype.name, self.shape, self.strides, self.dtype.bytes)


def arguments(spec: Spec) -> tuple[Argument, ...]:
    """The arrays that a kernel of the Spec takes, the outputs last.

    An input in panels is a flat array, as `runtime.packing` makes it. Raises `SpecError` if no
    NumPy array can be an operand.
    """
    return tuple(_argument(spec, *array) for array in spec.arrays.items())


def _argument(spec: Spec, name: str, index: int) -> Argument:
    operand, tensor = spec.operation.operands[index], spec.tensor(index)
    layout, given = tensor.placement.layout, spec.strides[index] if spec.strides else None
    if layout.panel is not None:
        if operand.written:
            raise SpecError(
                f"{name} is {tensor.type}: a NumPy array cannot lie in panels; "
                "generate the C with `morello synth`, or give a plain layout such as {1,0}."
            )
        flat = argument(name, tensor.dtype, (math.prod(layout.extents(tensor.shape)),))
        return replace(flat, in_panels=True)
    if tensor.dtype.lanes > 1:
        raise SpecError(f"{name} is {tensor.type}: a NumPy array cannot have such elements.")
    gapless = dict(zip(layout.order, layout.strides(tensor.shape), strict=True))
    strides = given or tuple(gapless[d] for d in range(layout.rank))
    size = tensor.dtype.bytes
    steps = tuple(step * size for step in strides)
    updated = operand.written and spec.operation.reads(index)
    return Argument(name, tensor.dtype, tensor.shape, steps, operand.written, updated)


def check_functional(arguments: Sequence[Argument], host: str) -> None:
    """Raise `SpecError` for a kernel that is no function of its inputs with one result.

    The `host` calls no other kernels.
    """
    outputs = [each for each in arguments if each.output]
    names = " and ".join(each.name for each in outputs)
    if len(outputs) > 1 or outputs[0].updated:
        what = "updates" if outputs[0].updated else "writes"
        raise SpecError(
            f"this kernel {what} {names}, and {host} calls those that have one result, which is "
            "new; call it from NumPy or from C."
        )


def argument(name: str, dtype: DType, shape: tuple[int, ...], *, output: bool = False) -> Argument:
    """The row-major `Argument`."""
    return Argument(name, dtype, shape, row_major_strides(shape, dtype.bytes), output)


def row_major_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides, in bytes, of a contiguous array whose last dimension is the fastest."""
    strides = [itemsize] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        strides[i - 1] = strides[i] * shape[i]
    return tuple(strides)


def describe(dtype: str, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> str:
    """An array's type in words, such as "f32[64,64] with strides (128, 1)", in elements."""
    name = f"{dtype}[{','.join(map(str, shape))}]"
    expected = row_major_strides(shape, itemsize)
    if _same_strides(shape, strides, expected):
        return f"{name} row-major"
    if _same_strides(shape[::-1], strides[::-1], row_major_strides(shape[::-1], itemsize)):
        return f"{name} column-major"
    if all(stride % itemsize == 0 for stride in strides):
        elements = ", ".join(str(stride // itemsize) for stride in strides)
        return f"{name} with strides ({elements})"
    return f"{name} with strides of ({', '.join(map(str, strides))}) bytes"


def same_strides(argument: Argument, strides: tuple[int, ...]) -> bool:
    """Whether `strides` address the same elements; dimensions of size 1 may have any stride."""
    return _same_strides(argument.shape, argument.strides, strides)


def _same_strides(shape: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(n == 1 or x == y for n, x, y in zip(shape, a, b, strict=True))


def blocks(array: Array) -> Iterator[Array]:
    """Views of at most `BLOCK` elements that together are the array."""
    if array.size <= BLOCK:
        yield array
        return
    axis = int(np.argmax(array.shape))
    for half in np.array_split(array, 2, axis):
        yield from blocks(half)


def aligned_bytes(before: int, count: int) -> tuple[NDArray[np.uint8], int]:
    """New memory, and the offset of a cache line in it.

    At least `before` bytes precede that offset, and at least `count` bytes follow it.
    """
    memory = np.empty(before + CACHE_LINE + count, np.uint8)
    return memory, before + -(memory.ctypes.data + before) % CACHE_LINE

"""The tables in C that hosts check arrays with, whose types are in plan.h."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from morello.runtime.argument import CACHE_LINE, describe, row_major_strides

INT, UINT, FLOAT, BFLOAT, BOOL = 0, 1, 2, 4, 6
"""Kinds of elements, as DLPack numbers them."""

NUMBERS = {
    "bool": (9, 1, BOOL), "uint8": (2, 6, UINT), "int8": (3, 2, INT), "uint16": (4, 7, UINT),
    "int16": (5, 3, INT), "uint32": (12, 8, UINT), "int32": (6, 4, INT), "uint64": (13, 9, UINT),
    "int64": (7, 5, INT), "float16": (10, 10, FLOAT), "bfloat16": (16, 16, BFLOAT),
    "float32": (1, 11, FLOAT), "float64": (11, 12, FLOAT),
}  # fmt: skip
"""The numbers of dtypes: ONNX's, XLA's, and the kind of DLPack's."""


@dataclass(frozen=True)
class HostArray:
    """An array that a host passes: its dtype and shape, and its strides in elements.

    The dimensions are in the order of memory, so that it is row-major if it has no gaps.
    `name` is what the host is told about it if it passes another one.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def has_gaps(self) -> bool:
        """Whether there are gaps between its elements, or they are not in row-major order."""
        dense = row_major_strides(self.shape, 1)
        return any(
            n > 1 and a != b for n, a, b in zip(self.shape, self.strides, dense, strict=True)
        )

    @property
    def bytes(self) -> int:
        """The bytes from the first element to the end of the last."""
        steps = zip(self.shape, self.strides, strict=True)
        return self.dtype.itemsize * (1 + sum((n - 1) * stride for n, stride in steps))

    def __str__(self) -> str:
        return describe(self.dtype.name, self.shape, self.strides, 1)


def dense_array(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> HostArray:
    """The row-major array."""
    return HostArray(name, dtype, shape, row_major_strides(shape, 1))


def plan(
    stem: str,
    name: str,
    inputs: Sequence[HostArray],
    outputs: Sequence[HostArray],
    *,
    run: str,
    code: str = "0",
    arena: int = 0,
) -> Iterator[str]:
    """The C of a constant `{stem}_plan`: which arrays it takes, and what it runs.

    `run` is a function, and `code` its first argument; `arena` is how many bytes it works in.
    """
    arrays = [*inputs, *outputs]
    memory = -(-arena // CACHE_LINE) * CACHE_LINE
    for number, array in enumerate(arrays):
        yield _numbers(f"{stem}_shape_{number}", array.shape)
        if array.has_gaps:
            yield _numbers(f"{stem}_strides_{number}", array.strides)
    yield f"static const AbiTensor {stem}_tensors[] = {{"
    for number, array in enumerate(arrays):
        onnx, xla, kind = NUMBERS[array.dtype.name]
        dlpack = 256 * kind + 8 * array.dtype.itemsize
        strides = f"{stem}_strides_{number}" if array.has_gaps else "0"
        problem = json.dumps(f"{array.name} should be {array}.")
        yield (
            f"  {{{onnx}, {xla}, {dlpack}, {len(array.shape)}, {stem}_shape_{number}, {strides},\n"
            f"   {array.bytes}, {array.dtype.itemsize}, {problem}}},"
        )
    yield "};"
    yield (
        f"static const AbiPlan {stem}_plan = {{\n"
        f'  "{name}", {len(inputs)}, {len(outputs)}, {stem}_tensors, {run}, {code}, {memory}}};'
    )


def _numbers(name: str, values: tuple[int, ...]) -> str:
    return f"static const int64_t {name}[] = {{{', '.join(map(str, values or (0,)))}}};"


@cache
def text(name: str) -> str:
    """A file of C in this folder."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")

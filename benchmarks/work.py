"""Kinds of work to measure, each with its operands, operations and reference result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]

NUMPY = {
    "f32": np.dtype(np.float32),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "u8": np.dtype(np.uint8),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
}

EPSILON = 2.0**-23
"""The machine epsilon of f32, in which floating-point products are accumulated."""

SOFTMAX_ERROR = 1e-5
"""The relative error allowed for an exponential, accurate to a few ulps, of rounded arguments."""


@dataclass(frozen=True)
class Operand:
    """An array: its dtype, its shape, and whether its first dimension is the fastest."""

    dtype: str
    shape: tuple[int, ...]
    by_columns: bool = False

    @property
    def bytes(self) -> int:
        """The size in bytes."""
        return math.prod(self.shape) * int(NUMPY[self.dtype].itemsize)

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]" + "{0,1}" * self.by_columns


class Work(Protocol):
    """Something to compute."""

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """The inputs."""

    @property
    def output(self) -> Operand:
        """The output."""

    @property
    def expression(self) -> str:
        """The computation, in Morello's language."""

    @property
    def size(self) -> str:
        """A short text that distinguishes it from others of its kind."""

    @property
    def flops(self) -> int:
        """The multiplications and additions of its products; 0 if it has no products."""

    @property
    def multiplies(self) -> str:
        """The dtype whose peak rate bounds its products."""

    def reference(self, *inputs: Array) -> tuple[Floats, Floats]:
        """The output in float64, and the absolute error allowed for each element."""


@dataclass(frozen=True)
class Matmul:
    """A product of matrices, M x K by K x N."""

    m: int
    k: int
    n: int
    a: str = "f32"
    b: str = "f32"
    c: str = "f32"
    b_by_columns: bool = False

    @property
    def inputs(self) -> tuple[Operand, ...]:
        a = Operand(self.a, (self.m, self.k))
        return a, Operand(self.b, (self.k, self.n), self.b_by_columns)

    @property
    def output(self) -> Operand:
        return Operand(self.c, (self.m, self.n))

    @property
    def expression(self) -> str:
        a, b = self.inputs
        return f"{a} @ {b} -> {self.output}"

    @property
    def size(self) -> str:
        return f"{self.m}x{self.k}x{self.n}" + " by columns" * self.b_by_columns

    @property
    def flops(self) -> int:
        return 2 * self.m * self.k * self.n

    @property
    def multiplies(self) -> str:
        return self.a

    def reference(self, *inputs: Array) -> tuple[Floats, Floats]:
        a, b = (x.astype(np.float64) for x in inputs)
        if not self.c.startswith(("f", "bf")):
            return _wrapped(a @ b, self.c), np.zeros((self.m, self.n))
        return a @ b, _rounding(self.k) * (np.abs(a) @ np.abs(b))


@dataclass(frozen=True)
class Epilogue:
    """A product, a bias added to each row, and a function of that."""

    m: int
    k: int
    n: int
    function: str

    @property
    def inputs(self) -> tuple[Operand, ...]:
        product = Matmul(self.m, self.k, self.n)
        return *product.inputs, Operand("f32", (self.n,))

    @property
    def output(self) -> Operand:
        return Operand("f32", (self.m, self.n))

    @property
    def expression(self) -> str:
        a, b, bias = self.inputs
        return f"{self.function}({a} @ {b} + {bias})"

    @property
    def size(self) -> str:
        return f"{self.function} {self.m}x{self.k}x{self.n}"

    @property
    def flops(self) -> int:
        return 2 * self.m * self.k * self.n

    @property
    def multiplies(self) -> str:
        return "f32"

    def reference(self, *inputs: Array) -> tuple[Floats, Floats]:
        a, b, bias = (x.astype(np.float64) for x in inputs)
        value = a @ b + bias
        # neither function is steeper than 1.13
        bound = 1.2 * _rounding(self.k) * (np.abs(a) @ np.abs(b) + np.abs(bias)) + 4 * EPSILON
        return ACTIVATIONS[self.function](value), bound


@dataclass(frozen=True)
class Chain:
    """`(A @ B) @ C` of square matrices."""

    n: int

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return (Operand("f32", (self.n, self.n)),) * 3

    @property
    def output(self) -> Operand:
        return Operand("f32", (self.n, self.n))

    @property
    def expression(self) -> str:
        a, b, c = self.inputs
        return f"({a} @ {b}) @ {c}"

    @property
    def size(self) -> str:
        return f"{self.n}"

    @property
    def flops(self) -> int:
        return 4 * self.n**3

    @property
    def multiplies(self) -> str:
        return "f32"

    def reference(self, *inputs: Array) -> tuple[Floats, Floats]:
        a, b, c = (x.astype(np.float64) for x in inputs)
        magnitude = np.abs(a) @ np.abs(b) @ np.abs(c)
        return a @ b @ c, 2 * _rounding(self.n) * magnitude


@dataclass(frozen=True)
class Scores:
    """Attention's scores: `softmax(q @ k)`, `k` being given transposed."""

    n: int
    depth: int

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return Operand("f32", (self.n, self.depth)), Operand("f32", (self.depth, self.n))

    @property
    def output(self) -> Operand:
        return Operand("f32", (self.n, self.n))

    @property
    def expression(self) -> str:
        q, k = self.inputs
        return f"softmax({q} @ {k})"

    @property
    def size(self) -> str:
        return f"{self.n}x{self.depth}"

    @property
    def flops(self) -> int:
        return 2 * self.n**2 * self.depth

    @property
    def multiplies(self) -> str:
        return "f32"

    def reference(self, *inputs: Array) -> tuple[Floats, Floats]:
        q, k = (x.astype(np.float64) for x in inputs)
        value = _softmax(q @ k)
        # the error of one logit may affect all outputs of its row
        off = _rounding(self.depth) * (np.abs(q) @ np.abs(k)).max(axis=-1, keepdims=True)
        return value, (SOFTMAX_ERROR + 2 * off) * value + np.finfo(np.float32).tiny


@dataclass(frozen=True)
class Softmax:
    """The softmax of each row."""

    rows: int
    columns: int

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return (self.output,)

    @property
    def output(self) -> Operand:
        return Operand("f32", (self.rows, self.columns))

    @property
    def expression(self) -> str:
        return f"softmax({self.output})"

    @property
    def size(self) -> str:
        return f"{self.rows}x{self.columns}"

    @property
    def flops(self) -> int:
        return 0

    @property
    def multiplies(self) -> str:
        return "f32"

    def reference(self, *inputs: Array) -> tuple[Floats, Floats]:
        value = _softmax(inputs[0].astype(np.float64))
        return value, SOFTMAX_ERROR * value + np.finfo(np.float32).tiny


@dataclass(frozen=True)
class Conv:
    """A convolution without padding, NCHW by OIHW, of square images."""

    channels: int
    size_in: int
    filters: int
    kernel: int

    @property
    def inputs(self) -> tuple[Operand, ...]:
        image = Operand("f32", (1, self.channels, self.size_in, self.size_in))
        return image, Operand("f32", (self.filters, self.channels, self.kernel, self.kernel))

    @property
    def output(self) -> Operand:
        side = self.size_in - self.kernel + 1
        return Operand("f32", (1, self.filters, side, side))

    @property
    def expression(self) -> str:
        image, filters = self.inputs
        return f"conv({image}, {filters})"

    @property
    def size(self) -> str:
        return f"1x{self.channels}x{self.size_in}x{self.size_in}"

    @property
    def terms(self) -> int:
        """How many products are summed for each output."""
        return self.channels * self.kernel**2

    @property
    def flops(self) -> int:
        return 2 * self.terms * math.prod(self.output.shape)

    @property
    def multiplies(self) -> str:
        return "f32"

    def reference(self, *inputs: Array) -> tuple[Floats, Floats]:
        x, w = (array.astype(np.float64) for array in inputs)
        return _convolve(x, w), _rounding(self.terms) * _convolve(np.abs(x), np.abs(w))


def memory(work: Work) -> int:
    """The bytes of all its operands."""
    return sum(operand.bytes for operand in (*work.inputs, work.output))


def erf(x: Floats) -> Floats:
    """The error function, which NumPy lacks."""
    result: Floats = np.vectorize(math.erf, otypes=[np.float64])(x)
    return result


ACTIVATIONS: Mapping[str, Any] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
}


def _rounding(terms: int) -> float:
    """The error allowed for a sum of products, relative to the sum of their magnitudes."""
    return EPSILON * (4 + math.sqrt(terms))


def _wrapped(exact: Floats, dtype: str) -> Floats:
    """Integers wrapped around in a dtype; float64 holds them exactly."""
    return exact.astype(np.int64).astype(NUMPY[dtype]).astype(np.float64)


def _softmax(x: Floats) -> Floats:
    powers: Floats = np.exp(x - x.max(axis=-1, keepdims=True))
    powers /= powers.sum(axis=-1, keepdims=True)
    return powers


def _convolve(x: Floats, w: Floats) -> Floats:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    result: Floats = np.moveaxis(np.tensordot(windows, w, axes=([1, 4, 5], [1, 2, 3])), -1, 1)
    return result

"""Products with weights of 8 or 4 bits, in groups that have a scale each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from morello.ir.dtype import DType
from morello.ir.operation import Array, Operand, Operation, Primitive, operation
from morello.ir.primitives.copies import called
from morello.ir.rounding import EPSILON, ROUNDINGS, Bounded, Bounds, Floats

BLOCK = 32
"""The numbers of a row that are packed together; a group consists of whole blocks."""

ZERO = 8
"""The number of 4 bits that stands for zero."""

LONGEST = 32768
"""The most numbers of a row."""

LEVELS = 127 * 256
"""The largest magnitude of the integers that x is rounded to, in units of its own by block."""

SMALLEST = 2.0**-100
"""The largest magnitude in a block of x whose unit is the smallest."""


@cache
def quantized_matmul() -> Operation:
    """out[m,n] = the sum over k of x[m,k] * scales[n,g] * w[n,k], for k in group g.

    `weights` are the rows of w: of i8 as they are, or of u8 with two numbers in a byte (see
    `unpacked`). So k, the bytes j of a row and its groups g are the same dimension, in three units.
    """
    return operation(
        QUANTIZED_MATMUL,
        ("m", "n", "k", "j", "g"),
        (
            Operand("x", ("m", "k")),
            Operand("weights", ("n", "j")),
            Operand("scales", ("n", "g")),
            Operand("out", ("m", "n"), written=True),
        ),
        reduced=("k", "j", "g"),
        untiled=("k", "j", "g"),
    )


def is_grouped(size: int, group: int) -> bool:
    """Whether a row of `size` numbers is divided into groups of `group`, a power of two >= 32."""
    return group >= BLOCK and group.bit_count() == 1 and size % group == 0


def unpacked(weights: Array, packed: bool) -> Array:
    """The numbers of each row, of bytes with two of them each if they are `packed`.

    Byte j of a block has number j, plus `ZERO`, in its lower bits, and number j + 16 in the upper.
    """
    if not packed:
        return weights
    halves = weights.reshape(*weights.shape[:-1], -1, 1, BLOCK // 2).astype(np.int8)
    both = np.concatenate([halves & 15, halves >> 4 & 15], -2)
    return both.reshape(*weights.shape[:-1], -1) - np.int8(ZERO)


def packed(numbers: Array) -> Array:
    """Rows of numbers from -8 to 7 as `unpacked` reads them."""
    blocks = (numbers + ZERO).astype(np.uint8).reshape(*numbers.shape[:-1], -1, 2, BLOCK // 2)
    pairs: Array = blocks[..., 0, :] | blocks[..., 1, :] << 4
    return pairs.reshape(*numbers.shape[:-1], -1)


def dequantized(weights: Array, scales: Array, size: int) -> Array:
    """The rows of `size` numbers that these weights and scales stand for, in the scales' dtype."""
    numbers = unpacked(weights, weights.shape[-1] < size)
    rows: Array = numbers * np.repeat(scales, size // scales.shape[-1], -1)
    return rows


# ---- what it computes


def _evaluate(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    x, weights, scales = _in_order(operation, inputs)
    result = x @ dequantized(weights, scales, x.shape[1]).T
    return (result.T if operation.operands[3].dims == ("n", "m") else result,)


def _in_order(operation: Operation, inputs: Sequence[Array]) -> list[Array]:
    """The inputs with the dimensions in the order of `quantized_matmul`."""
    ordered = quantized_matmul().operands
    return [
        x.transpose([operand.dims.index(d) for d in like.dims])
        for x, operand, like in zip(inputs, operation.operands, ordered, strict=False)
    ]


def _bound(operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]) -> Bounds:
    """The bound of a sum of products, with x rounded to integers block by block."""
    x, weights, scales = _in_order(operation, [each.value for each in inputs])
    rows, size = x.shape
    factors = dequantized(weights, scales, size).T
    value = x @ factors
    np.abs(factors, out=factors)
    blocks = np.abs(x).reshape(rows, -1, BLOCK).max(-1)
    units = np.maximum(blocks, SMALLEST) / LEVELS
    of_x: Floats = np.repeat(units, BLOCK, 1) * 0.51
    of_x = of_x + EPSILON * (size**0.5 + ROUNDINGS) * np.abs(x)
    given, _, of_scales = inputs
    if given.error is not None:
        of_x = of_x + _in_order(operation, [given.error])[0]
    error = of_x @ factors
    if of_scales.error is not None:
        wide = np.zeros_like(scales) + of_scales.error
        error = error + np.abs(x) @ np.abs(dequantized(weights, wide, size)).T
    if operation.operands[3].dims == ("n", "m"):
        value, error = value.T, error.T
    return (Bounded(value, error),)


QUANTIZED_MATMUL = Primitive(
    "QuantizedMatmul",
    variants=lambda _: (quantized_matmul(),),
    evaluate=_evaluate,
    bound=_bound,
    text=called("quantized_matmul"),
    flops=2,
    in_bytes=True,
    idle=("j", "g"),
    stored=(1, 2),
)

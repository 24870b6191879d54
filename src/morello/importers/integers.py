"""Quotients, remainders, bits and shifts of integers, as frameworks have them.

Kernels have integers of up to 32 bits. Those of 64 are computed in 32 where these suffice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Constant
from morello.graph.patterns.matching import constant, in_dtype, mapped, number
from morello.importers.ranges import in_32_bits, known_range
from morello.importers.taking import NUMBERS

BITS = 32


def of_integers(compute: Callable[..., Node], *operands: Node) -> Node:
    """A function of integers of one dtype, in that dtype; int64 is computed in 32 bits.

    Constants are computed as they are. Raises `GraphError` where 32 bits may not suffice.
    """
    if compute is floor_remainder and (mask := _mask(operands[1])):
        return bitwise_and(operands[0], mask)
    dtype = operands[0].dtype
    constants = all(isinstance(each.operator, Constant) for each in operands)
    if constants or dtype.itemsize * 8 <= BITS:
        return compute(*operands)
    result = in_32_bits(compute, *operands)
    if result is None:
        raise GraphError(f"integers that may need more than {BITS} bits.")
    return in_dtype(result, dtype)


def _mask(by: Node) -> Node | None:
    """The bits that a remainder by 2^k keeps, as of hashes that have grown; None for others."""
    divisor = number(by)
    if divisor is None or not 0 < divisor <= 1 << 30 or int(divisor) & (int(divisor) - 1):
        return None
    return constant(np.full(by.shape, int(divisor) - 1), by.dtype)


def quotient(x: Node, by: Node) -> Node:
    """x / by without the fraction; by 0 it is -1, and of unsigned integers the largest one."""
    return mapped("divide", x, by)


def remainder(x: Node, by: Node) -> Node:
    """The remainder of `quotient`, which has the sign of x; by 0 it is x."""
    return mapped("remainder", x, by)


def floor_quotient(x: Node, by: Node) -> Node:
    """x / by, rounded down, where `by` is not 0."""
    truncated = mapped("divide", x, by)
    if x.dtype.kind == "u":
        return truncated
    return mapped("subtract", truncated, _differs_in_sign(mapped("remainder", x, by), by))


def floor_remainder(x: Node, by: Node) -> Node:
    """The remainder of `floor_quotient`, which has the sign of `by`."""
    truncated = mapped("remainder", x, by)
    if x.dtype.kind == "u":
        return truncated
    return mapped("add", truncated, mapped("multiply", by, _differs_in_sign(truncated, by)))


def _differs_in_sign(left: Node, by: Node) -> Node:
    """1 where a remainder is not 0, and its sign is not that of the divisor; 0 elsewhere."""
    within, zero = known_range(by), constant(0, by.dtype)
    differs = mapped("less", left, zero)
    if within is None or within[0] <= 0:
        signs = mapped("logical_xor", differs, mapped("less", by, zero))
        differs = mapped("logical_and", signs, mapped("not_equal", left, zero))
    return in_dtype(differs, by.dtype)


def or_zero(result: Node, by: Node) -> Node:
    """A quotient or remainder, but 0 where integers were divided by 0."""
    within, zero = known_range(by), constant(0, by.dtype)
    if within is not None and (within[0] > 0 or within[1] < 0):
        return result
    divided = in_dtype(mapped("not_equal", by, zero), result.dtype)
    return mapped("multiply", result, divided)


def left_shift(x: Node, by: Node) -> Node:
    """x << by, whose upper bits are lost; 0 if `by` is negative, or not less than the bits."""
    return mapped("left_shift", x, by)


def right_shift(x: Node, by: Node) -> Node:
    """x >> by, where the sign is shifted in, if the dtype is signed."""
    return mapped("right_shift", x, by)


def arithmetic_shift(x: Node, by: Node) -> Node:
    """x >> by, where the upper bit is shifted in."""
    return _of_kind("i", right_shift, x, by)


def logical_shift(x: Node, by: Node) -> Node:
    """x >> by, where zeros are shifted in."""
    return _of_kind("u", right_shift, x, by)


def _of_kind(kind: str, compute: Callable[..., Node], *operands: Node) -> Node:
    """A function of the same bits as signed integers, of kind "i", or unsigned ones, "u"."""
    dtype = operands[0].dtype
    other = np.dtype(f"{kind}{dtype.itemsize}")
    return in_dtype(compute(*(in_dtype(each, other) for each in operands)), dtype)


def bitwise_and(x: Node, mask: Node) -> Node:
    """x & mask; of 64 bits the lower ones suffice if a mask has no others."""
    for each in (x, mask):
        within = known_range(each)
        if each.dtype == np.int64 and within is not None and 0 <= within[0] <= within[1] < 1 << 31:
            low = (in_dtype(operand, NUMBERS) for operand in (x, mask))
            return in_dtype(mapped("bitwise_and", *low), x.dtype)
    return of_integers(partial(mapped, "bitwise_and"), x, mask)


def ones(x: Node) -> Node:
    """The number of bits that are 1 in each integer.

    They are added up in pairs, these in groups of four and of eight, and all groups by a product.
    """
    return _of_kind("u", _ones, x)


def _ones(x: Node) -> Node:
    bits = 8 * x.dtype.itemsize
    full = (1 << bits) - 1

    def number(value: int) -> Node:
        return constant(np.uint64(value), x.dtype)

    def shifted(x: Node, by: int) -> Node:
        return mapped("right_shift", x, number(by))

    def masked(x: Node, groups: int) -> Node:
        """The lower half of each group of so many bits."""
        return mapped("bitwise_and", x, number(full // ((1 << groups // 2) + 1)))

    pairs = mapped("subtract", x, masked(shifted(x, 1), 2))
    fours = mapped("add", masked(pairs, 4), masked(shifted(pairs, 2), 4))
    eights = masked(mapped("add", fours, shifted(fours, 4)), 8)
    every = mapped("multiply", eights, number(full // 255))
    return shifted(every, bits - 8)

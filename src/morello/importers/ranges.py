"""Between which numbers integers lie, so far as the operations that make them tell.

Kernels compute with integers of 32 bits, and frameworks number everything in 64: what is known to
be small is computed in 32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from morello.graph.graph import Node
from morello.graph.operators import (
    ArgReduce,
    Cast,
    Concat,
    Constant,
    Cumulate,
    Gather,
    Iota,
    Map,
    Reduce,
    Scatter,
    Where,
)
from morello.graph.patterns.matching import constant, in_dtype
from morello.graph.views import VIEWS
from morello.importers.taking import NUMBERS

Range = tuple[int, int]
"""The least and the greatest number that may occur."""

MOST_IN_FLOATS = 1 << 24
"""The integer up to which f32 has all of them."""

_DEEPEST = 8
"""How many operations are looked through."""

_MOST_BITS = 64
"""The bits of the widest integers: shifts to the left by as many give 0."""


def known_range(node: Node, depth: int = _DEEPEST) -> Range | None:
    """Between which numbers a node's integers lie, at most those of its dtype; None for floats."""
    kind, operator = node.dtype, node.operator
    if kind.kind not in "iub" or not node.type.size:
        return None
    if isinstance(operator, Constant):
        return int(operator.array.min()), int(operator.array.max())
    if isinstance(operator, ArgReduce):
        return 0, node.inputs[0].shape[operator.axis] - 1
    if isinstance(operator, Iota):
        return 0, max(node.type.shape[operator.axis] - 1, 0)
    low, high = (0, 1) if kind.kind == "b" else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    computed = _computed(node, depth) if depth else None
    return (
        computed
        if computed is not None and low <= computed[0] and computed[1] <= high
        else (low, high)
    )


def _computed(node: Node, depth: int) -> Range | None:
    """The range that follows from those of the inputs."""
    operator, inputs = node.operator, node.inputs
    if isinstance(operator, Gather):
        inputs = inputs[:1]
    elif isinstance(operator, Where):
        inputs = inputs[1:]
    elif isinstance(operator, Scatter) and operator.kind != "sum":
        inputs = (inputs[0], inputs[2])
    given = [known_range(each, depth - 1) for each in inputs]
    ranges = [each for each in given if each is not None]
    if not ranges or len(ranges) < len(given):
        return None
    lows, highs = zip(*ranges, strict=True)
    chosen = isinstance(operator, (Cast, Concat, Gather, Scatter, Where, *VIEWS))
    extreme = isinstance(operator, Reduce) and operator.kind in ("max", "min")
    if (chosen and getattr(operator, "kind", "") != "sum") or extreme:
        return min(lows), max(highs)
    if isinstance(operator, Cumulate) or (isinstance(operator, Reduce) and operator.kind == "sum"):
        axes = (operator.axis,) if isinstance(operator, Cumulate) else operator.axes
        terms = prod(inputs[0].shape[axis] for axis in axes)
        return min(lows[0], terms * lows[0]), max(highs[0], terms * highs[0])
    return _mapped(operator.name, ranges) if isinstance(operator, Map) else None


def _mapped(name: str, ranges: list[Range]) -> Range | None:
    """The range of a function of numbers in these."""
    if len(ranges) == 1:
        low, high = ranges[0]
        return {"neg": (-high, -low), "bitwise_not": (~high, ~low)}.get(name)
    if len(ranges) > 2:
        return None
    (a, b), (c, d) = ranges
    match name:
        case "add":
            return a + c, b + d
        case "subtract":
            return a - d, b - c
        case "multiply":
            products = a * c, a * d, b * c, b * d
            return min(products), max(products)
        case "maximum":
            return max(a, c), max(b, d)
        case "minimum":
            return min(a, c), min(b, d)
        case "divide":
            return _divided(ranges[0], ranges[1])
        case "remainder":
            within = c <= 0 <= d  # the remainder by 0 is the number itself
            most = max(abs(a), abs(b)) if within else max(abs(c), abs(d)) - 1
            return max(min(a, 0), -most), min(max(b, 0), most)
        case "bitwise_and" if a >= 0 or c >= 0:
            return 0, min(high for low, high in ranges if low >= 0)
        case "bitwise_and" | "bitwise_or" | "bitwise_xor":
            bits = max((~n if n < 0 else n).bit_length() for n in (a, b, c, d))
            return -(1 << bits) if min(a, c) < 0 else 0, (1 << bits) - 1
        case "left_shift" if c >= 0 and d < _MOST_BITS:
            return min(a, a << d), max(b, b << d)
        case "right_shift":
            return min(a, 0) >> max(c, 0), max(b, 0) >> max(c, 0)
    return None


def _divided(x: Range, by: Range) -> Range:
    """Quotients without their fractions; by 0 they are -1."""
    (a, b), (c, d) = x, by
    divisors = [n for n in (c, d, -1, 1) if n and c <= n <= d]
    quotients = [abs(n) // abs(m) * (1 if (n < 0) == (m < 0) else -1)
                 for n in (a, b, min(max(a, 0), b)) for m in divisors]  # fmt: skip
    if c <= 0 <= d:
        quotients.append(-1)
    return min(quotients), max(quotients)


def within_32_bits(node: Node) -> bool:
    """Whether no integer that a node computes is known to need more bits."""
    within, limits = _computed(node, _DEEPEST), np.iinfo(NUMBERS)
    return within is not None and limits.min <= within[0] and within[1] <= limits.max


def in_32_bits(compute: Callable[..., Node], *operands: Node | float) -> Node | None:
    """A function of 64-bit integers, computed in 32 bits; None if a value may not fit these."""
    small = all_narrowed(operands)
    result = compute(*small) if small else None
    return result if result and within_32_bits(result) else None


def all_narrowed(operands: Sequence[Node | float]) -> list[Node | float]:
    """Operands of 64 bits in 32; none if some of them are not known to be small."""
    narrow: list[Node | float] = []
    for each in operands:
        small = narrowed(each) if isinstance(each, Node) else each
        if small is None or (isinstance(small, int) and abs(small) > np.iinfo(NUMBERS).max):
            return []
        narrow.append(small)
    return narrow


def rounded(
    operands: Sequence[Node | float], cast: Callable[[Node, np.dtype[Any]], Node]
) -> list[Node | float]:
    """Integers in f32, if one of them is known to be small: any other compares as it does rounded.

    Rounding keeps the order, and takes no other integer to one that f32 has with its neighbours.
    """
    ranges = [known_range(each) if isinstance(each, Node) else (each, each) for each in operands]
    if not any(within and max(map(abs, within)) < MOST_IN_FLOATS for within in ranges):
        return [*operands]
    f32 = np.dtype(np.float32)
    return [cast(each, f32) if isinstance(each, Node) else each for each in operands]


def narrowed(node: Node) -> Node | None:
    """The integers, or truths, of a node in 32 bits; None if some may need more."""
    if node.dtype.kind not in "iub":
        return None
    if node.dtype.itemsize < 4 or node.dtype == NUMBERS:
        return in_dtype(node, NUMBERS)
    within, limits = known_range(node), np.iinfo(NUMBERS)
    if within is None or within[0] < limits.min or within[1] > limits.max:
        return None
    if isinstance(node.operator, Constant):
        return constant(node.operator.array, NUMBERS)
    if isinstance(node.operator, Cast) and node.inputs[0].dtype == NUMBERS:
        return node.inputs[0]
    return in_dtype(node, NUMBERS)

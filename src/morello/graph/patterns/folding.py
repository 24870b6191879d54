"""Rules that evaluate operators of constants, and drop operators that change nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np

from morello.graph.graph import Array, Node, Operator, apply
from morello.graph.interpreter import check_room, widened
from morello.graph.operators import (
    ArgReduce,
    Broadcast,
    Cast,
    Concat,
    Constant,
    Conv,
    Cumulate,
    Dot,
    Gather,
    Iota,
    Map,
    Pad,
    Reduce,
    Reshape,
    Scatter,
    SegmentSum,
    Slice,
    Transpose,
    Where,
)
from morello.graph.operators.elementwise import COMPARISONS
from morello.graph.patterns.matching import (
    Rule,
    added_units,
    constant,
    in_shape,
    is_float,
    is_map,
    keeps_values,
    lowest,
    mapped,
    number,
    reshaped,
)
from morello.ir.functions import INTEGER_FUNCTIONS

LARGEST = 1 << 24
"""The most elements of a constant that is computed here."""

REPEATED = 1 << 16
"""The most elements of a constant that are written out where a number is repeated."""

_EXACT = INTEGER_FUNCTIONS | COMPARISONS.keys() | {
    "divide", "logical_and", "logical_not", "logical_or", "logical_xor", "remainder",
}  # fmt: skip
"""The functions whose results are exact if they are integers or truth values."""

_COMMUTATIVE = ("add", "maximum", "minimum", "multiply", "logical_and", "logical_or")

_NEUTRAL: Mapping[str, float] = {
    "add": 0,
    "divide": 1,
    "logical_and": 1,
    "logical_or": 0,
    "maximum": -inf,
    "minimum": inf,
    "multiply": 1,
    "power": 1,
    "subtract": 0,
}
"""The second argument that makes each function return its first."""


def computed(node: Node) -> Node | None:
    """An operator on constants, not too large -> the constant, rounded to the node's dtype."""
    sizes = [source.type.size for source in node.inputs]
    if not all(isinstance(source.operator, Constant) for source in node.inputs):
        return None
    if node.type.size > max(LARGEST, *sizes) or 0 in (node.type.size, *sizes):
        return None
    if not (is_float(node.dtype) or _exact(node.operator)):
        return None
    check_room(node)
    inputs = [widened(_array(source)) for source in node.inputs]
    with np.errstate(all="ignore"):
        result = np.asarray(node.operator.evaluate(*inputs))
    if node.dtype.kind in "iu" and not isinstance(node.operator, Map) and not _fits(inputs, node):
        return None
    return constant(result, node.dtype)


def of_repeated(node: Node) -> Node | None:
    """sum(broadcast(c)) -> the constant."""
    (source,) = node.inputs
    if not isinstance(source.operator, Broadcast) or source.type.size > REPEATED:
        return None
    whole = computed(source)
    return whole and computed(apply(node.operator, whole))


def _array(node: Node) -> Array:
    assert isinstance(node.operator, Constant)
    return node.operator.array


def _exact(operator: Operator) -> bool:
    """Whether an operator that returns integers or truth values computes them in integers."""
    if isinstance(operator, Map):
        return operator.name in _EXACT
    return not isinstance(operator, Reduce) or operator.kind != "mean"


def _fits(inputs: Sequence[Array], node: Node) -> bool:
    """Whether all numbers are in the range of a node's integers, so that the cast is defined."""
    limits = np.iinfo(node.dtype)
    return all(
        bool(np.isfinite(array).all() and array.min() >= limits.min and array.max() <= limits.max)
        for array in inputs
        if array.dtype.kind == "f"
    )


def counted(node: Node) -> Node | None:
    """iota along an axis -> broadcast of a constant [0, 1, 2, ...] of that axis alone."""
    assert isinstance(node.operator, Iota)
    size, after = node.shape[node.operator.axis], node.type.rank - node.operator.axis - 1
    if size > LARGEST:
        return None
    numbers = constant(np.arange(size).reshape(size, *(1,) * after), node.dtype)
    return in_shape(numbers, node.shape)


def constants_second(node: Node) -> Node | None:
    """c + x -> x + c, and so on: other rules look for constants there."""
    if not is_map(node, *_COMMUTATIVE):
        return None
    a, b = node.inputs
    if isinstance(a.operator, Constant) and not isinstance(b.operator, Constant):
        return apply(node.operator, b, a)
    return None


def neutral(node: Node) -> Node | None:
    """x + 0, x * 1, x / 1, maximum(x, -inf) and so on -> x, broadcast as the node is."""
    if not is_map(node, *_NEUTRAL):
        return None
    assert isinstance(node.operator, Map)
    x, second = node.inputs
    if number(second) == _NEUTRAL[node.operator.name]:
        return in_shape(x, node.shape)
    return None


def without_infinity(node: Node) -> Node | None:
    """x < inf -> x <= the largest number, x == -inf -> x < the lowest one, and so on."""
    if not is_map(node, *_BY_INFINITY) or not is_float(node.inputs[0].dtype):
        return None
    assert isinstance(node.operator, Map)
    x, second = node.inputs
    limit = number(second)
    if limit not in (inf, -inf) or number(x) is not None:
        return None
    above, below = _BY_INFINITY[node.operator.name]
    name = above if limit > 0 else below
    if not name:
        return None
    last = constant(-lowest(x.dtype) if limit > 0 else lowest(x.dtype), x.dtype)
    return in_shape(mapped(name, x, last), node.shape)


_BY_INFINITY: Mapping[str, tuple[str, str]] = {
    "equal": ("greater", "less"),
    "greater": ("", "greater_equal"),
    "greater_equal": ("greater", ""),
    "less": ("less_equal", ""),
    "less_equal": ("", "less"),
}
"""The comparison with the largest number that one with inf is, and with the lowest for -inf.

Others are the same for all numbers, or true for NaN.
"""


def opposite(node: Node) -> Node | None:
    """x * -1 -> -x; -(-x) -> x; x - c -> x + -c."""
    if not (is_float(node.dtype) and isinstance(node.operator, Map)):
        return None
    if is_map(node, "neg"):
        (x,) = node.inputs
        return x.inputs[0] if is_map(x, "neg") else None
    if is_map(node, "multiply") and number(node.inputs[1]) == -1:
        return in_shape(mapped("neg", node.inputs[0]), node.shape)
    if is_map(node, "subtract") and isinstance(node.inputs[1].operator, Constant):
        x, c = node.inputs
        return mapped("add", x, constant(-_array(c), c.dtype))
    return None


def chosen(node: Node) -> Node | None:
    """where(true, x, y) -> x; where(false, x, y) -> y; where(c, x, x) -> x."""
    condition, x, y = node.inputs
    known = number(condition)
    if known is None and x is not y:
        return None
    return in_shape(x if known or x is y else y, node.shape)


def cast_once(node: Node) -> Node | None:
    """cast(x) to its own dtype -> x; cast(cast(x)) -> cast(x), if the first cast is exact."""
    (x,) = node.inputs
    if x.dtype == node.dtype:
        return x
    if isinstance(x.operator, Cast) and keeps_values(x.inputs[0].dtype, x.dtype):
        return apply(node.operator, x.inputs[0])
    return None


def without_shared_reshape(node: Node) -> Node | None:
    """f(reshape(x), c) -> reshape(f(x, c)), for numbers c and vectors along a kept last axis.

    If only dimensions of size 1 come or go, c may be any constant.
    """
    sources = [source for source in node.inputs if isinstance(source.operator, Reshape)]
    before = {source.inputs[0].shape for source in sources}
    if len(before) != 1 or {source.shape for source in sources} != {node.shape}:
        return None
    (shape,) = before
    inputs = [
        source.inputs[0] if source in sources else _before_reshape(source, shape, node.shape)
        for source in node.inputs
    ]
    known = [source for source in inputs if source is not None]
    if len(known) < len(inputs):
        return None
    return reshaped(apply(node.operator, *known), node.shape)


def _before_reshape(c: Node, old: tuple[int, ...], new: tuple[int, ...]) -> Node | None:
    """A node that broadcasts to the shape `old` as c does to its reshape `new`; None if unknown."""
    if c.shape == () or (c.type.rank == 1 and old and old[-1] == new[-1]):
        return c
    if not isinstance(c.operator, Constant):
        return None
    whole = (1,) * (len(new) - c.type.rank) + c.shape
    if (places := added_units(old, new)) is not None:
        return reshaped(c, tuple(n for d, n in enumerate(whole) if d not in places))
    if (places := added_units(new, old)) is not None:
        sizes = iter(whole)
        return reshaped(c, tuple(1 if d in places else next(sizes) for d in range(len(old))))
    return None


def padded_by_convolution(node: Node) -> Node | None:
    """conv(pad(x, 0), w) -> conv(x, w) with the padding of both."""
    image, filters = node.inputs
    conv, pad = node.operator, image.operator
    assert isinstance(conv, Conv)
    if not isinstance(pad, Pad) or number(image.inputs[1]) != 0:
        return None
    if any((*pad.before[:2], *pad.after[:2])):
        return None
    before = tuple(a + b for a, b in zip(conv.before, pad.before[2:], strict=True))
    after = tuple(a + b for a, b in zip(conv.after, pad.after[2:], strict=True))
    wider = Conv(conv.strides, before, after, conv.dilations, conv.groups, conv.dtype)
    return apply(wider, image.inputs[0], filters)


def not_padded(node: Node) -> Node | None:
    """pad(x) by nothing -> x."""
    assert isinstance(node.operator, Pad)
    return None if any((*node.operator.before, *node.operator.after)) else node.inputs[0]


def joined_alone(node: Node) -> Node | None:
    """concat(x, y) -> x, if y has no elements."""
    parts = [part for part in node.inputs if part.type.size] or node.inputs
    if len(parts) == 1:
        return parts[0]
    return apply(node.operator, *parts) if len(parts) < len(node.inputs) else None


_ELEMENTWISE: tuple[Rule, ...] = (computed, constants_second, neutral, opposite, without_infinity)

RULES: Mapping[type[Operator], tuple[Rule, ...]] = {
    ArgReduce: (computed,),
    Cast: (cast_once, computed, without_shared_reshape),
    Concat: (computed, joined_alone),
    Conv: (padded_by_convolution,),
    Cumulate: (computed,),
    Dot: (computed,),
    Gather: (computed,),
    Iota: (counted,),
    Map: (*_ELEMENTWISE, without_shared_reshape),
    Pad: (not_padded, computed),
    Reduce: (computed, of_repeated),
    Reshape: (computed,),
    Scatter: (computed,),
    SegmentSum: (computed,),
    Slice: (computed,),
    Transpose: (computed,),
    Where: (computed, chosen, without_shared_reshape),
}
"""The rules of this family, by the class of the operators that they are for."""

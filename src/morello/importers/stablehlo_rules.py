"""Rules that translate operations of StableHLO into operators of graphs.

A rule takes an operation and its operands, and returns its results, or None if no operators have
them. A rule may be wrong about the type of a result: whoever applies it compares that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import stablehlo

from morello.graph.graph import Array, Graph, Node, apply, in_order
from morello.graph.interpreter import evaluate
from morello.graph.operators import (
    Broadcast,
    Cast,
    Concat,
    Constant,
    Dot,
    Foreign,
    Input,
    Iota,
    Pad,
    Slice,
    Where,
)
from morello.graph.patterns.matching import (
    constant,
    epsilon,
    in_dtype,
    in_shape,
    is_float,
    is_map,
    mapped,
    reshaped,
    selected,
    sliced,
    transposed,
)
from morello.graph.views import shown
from morello.importers.building import GraphBuilder
from morello.importers.composed import COMPOSED, float_remainder
from morello.importers.integers import arithmetic_shift, logical_shift, ones
from morello.importers.mlir import BFLOAT16, array_of, number, numbers, type_of
from morello.importers.ranges import known_range
from morello.importers.taking import iota

Results = tuple[Node, ...] | None
Rule = Callable[..., Results]

_FLOAT_MAPS = {
    "chlo.erf": "erf",
    "chlo.erfc": "erfc",
    "stablehlo.atan2": "atan2",
    "stablehlo.ceil": "ceil",
    "stablehlo.cosine": "cos",
    "stablehlo.exponential": "exp",
    "stablehlo.exponential_minus_one": "expm1",
    "stablehlo.floor": "floor",
    "stablehlo.log": "log",
    "stablehlo.log_plus_one": "log1p",
    "stablehlo.logistic": "sigmoid",
    "stablehlo.power": "power",
    "stablehlo.round_nearest_even": "round",
    "stablehlo.rsqrt": "rsqrt",
    "stablehlo.sine": "sin",
    "stablehlo.sqrt": "sqrt",
    "stablehlo.tanh": "tanh",
}
"""Functions of floating-point numbers; those of integers differ from NumPy's."""

_SIGNED_MAPS = {"stablehlo.abs": "abs", "stablehlo.negate": "neg", "stablehlo.sign": "sign"}
"""Functions of signed numbers."""

_MAPS = {
    "chlo.square": "square",
    "stablehlo.add": "add",
    "stablehlo.divide": "divide",
    "stablehlo.maximum": "maximum",
    "stablehlo.minimum": "minimum",
    "stablehlo.multiply": "multiply",
    "stablehlo.remainder": "remainder",
    "stablehlo.subtract": "subtract",
}
"""Functions of any numbers."""

_INTEGER_MAPS = {
    "stablehlo.and": "bitwise_and",
    "stablehlo.not": "bitwise_not",
    "stablehlo.or": "bitwise_or",
    "stablehlo.shift_left": "left_shift",
    "stablehlo.xor": "bitwise_xor",
}
"""Functions of the bits of integers."""

_BOOLEAN_MAPS = {
    "stablehlo.add": "logical_or",
    "stablehlo.and": "logical_and",
    "stablehlo.maximum": "logical_or",
    "stablehlo.minimum": "logical_and",
    "stablehlo.multiply": "logical_and",
    "stablehlo.not": "logical_not",
    "stablehlo.or": "logical_or",
    "stablehlo.xor": "logical_xor",
}

_DIRECTIONS = {
    "EQ": "equal",
    "GE": "greater_equal",
    "GT": "greater",
    "LE": "less_equal",
    "LT": "less",
    "NE": "not_equal",
}


def map_name(operation: str, dtype: np.dtype[Any]) -> str | None:
    """The `Map` that an elementwise operation is for operands of a dtype, if it is one."""
    if dtype.kind == "b":
        return _BOOLEAN_MAPS.get(operation)
    maps = dict(_MAPS)
    if dtype.kind != "u":
        maps |= _SIGNED_MAPS
    maps |= _INTEGER_MAPS if dtype.kind in "iu" else _FLOAT_MAPS
    return maps.get(operation)


def broadcast(node: Node, shape: tuple[int, ...]) -> Node:
    """A node broadcast to a shape, or reshaped if that is all it takes."""
    return apply(Broadcast(shape), node) if node.type.size < prod(shape) else reshaped(node, shape)


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The order that undoes one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def coordinates(places: Node, axis: int, count: int, batches: Sequence[int]) -> list[Node]:
    """The coordinates of places: the number of each in its batches, and so many along an axis.

    A single coordinate may be along no axis, the number of which is then the rank.
    """
    apart = [d for d in range(places.type.rank) if d != axis]
    shape = tuple(places.shape[d] for d in apart)
    turned = transposed(places, (*apart, axis)) if axis < places.type.rank else places
    vectors = reshaped(turned, (*shape, count))
    own = [apart.index(d) for d in batches]
    numbered = [in_shape(iota(shape[d], d, len(shape)), shape) for d in own]
    return numbered + [selected(vectors, len(shape), n) for n in range(count)]


def known(node: Node, most: int = 64) -> Array | None:
    """The value of a node that only constants decide, and few of them; None if others do."""
    for each in in_order([node]):
        if isinstance(each.operator, Input | Foreign) or each.type.size > most:
            return None
    return evaluate(Graph((), (node,)), ())[0]


def _map(operation: Any, *inputs: Node) -> Results:
    name = map_name(operation.name, inputs[0].dtype)
    return None if name is None else (mapped(name, *inputs),)


def _negate(operation: Any, x: Node) -> Results:
    if x.dtype.kind != "u":
        return _map(operation, x)
    return (mapped("subtract", constant(0, x.dtype), x),)


def _uniform(node: Node) -> float | None:
    """The number that all elements of a node are; None if they are not known, or several."""
    value = known(shown(node))
    if value is None or not value.size:
        return None
    first: float = value.flat[0].item()
    same = np.array_equal(value, np.full_like(value, first), equal_nan=value.dtype.kind == "f")
    return first if same else None


def _by(function: Callable[..., Node]) -> Rule:
    """The rule of an operation that is a function of its operands, without attributes."""
    return lambda operation, *inputs: (function(*inputs),)


def _remainder(operation: Any, x: Node, divisor: Node) -> Results:
    by = _uniform(divisor) if x.dtype == np.float32 else None
    if by is None:
        return _map(operation, x, divisor)
    return (float_remainder(GraphBuilder().map, x, by),)


def _round_away(x: Node) -> Node:
    """The nearest integers; halves are rounded away from 0."""
    size = mapped("abs", x)
    below = mapped("floor", size)
    half = mapped("greater_equal", mapped("subtract", size, below), constant(0.5, x.dtype))
    whole = mapped("add", below, in_dtype(half, x.dtype))
    return mapped("multiply", mapped("sign", x), whole)


def _composed(operation: Any, *inputs: Node) -> Results:
    """A function as a composition of others, in f32, for which these are exact."""
    dtype, exact = inputs[0].dtype, np.dtype(np.float32)
    if not is_float(dtype) or dtype.itemsize > exact.itemsize:
        return None
    compose = COMPOSED[operation.name.partition(".")[2].replace("_", "")]
    result = compose(GraphBuilder().map, *(in_dtype(x, exact) for x in inputs))
    return (in_dtype(result, dtype),)


def _compare(operation: Any, left: Node, right: Node) -> Results:
    kind = operation.attributes
    direction = stablehlo.ComparisonDirectionAttr(kind["comparison_direction"]).value
    if "compare_type" in kind and "TOTALORDER" in str(kind["compare_type"]):
        return _compare_in_total_order(direction, left, right)
    return (mapped(_DIRECTIONS[direction], left, right),)


def _compare_in_total_order(direction: str, left: Node, right: Node) -> Results:
    """NaN is above all other numbers, if there is but one NaN and one zero."""
    if direction in ("GT", "GE"):
        return _compare_in_total_order({"GT": "LT", "GE": "LE"}[direction], right, left)
    if direction not in ("LT", "LE") or not (_has_one_zero(left) and _has_one_zero(right)):
        return None
    above = mapped("not_equal", right, right)
    if direction == "LT":
        above = mapped("logical_and", above, mapped("equal", left, left))
    return (mapped("logical_or", mapped(_DIRECTIONS[direction], left, right), above),)


def _has_one_zero(node: Node) -> bool:
    """Whether a node is where(_, NaN, where(_, 0, x)): so JAX makes all NaN and zeros alike."""
    for wanted in (np.nan, 0):
        node = shown(node)
        value = _uniform(node.inputs[1]) if isinstance(node.operator, Where) else None
        if value is None or not np.array_equal(value, wanted, equal_nan=True):
            return False
        node = node.inputs[2]
    return True


def _clamp(operation: Any, low: Node, x: Node, high: Node) -> Results:
    if x.dtype.kind == "b":
        return None
    return (mapped("minimum", mapped("maximum", x, low), high),)


def _is_finite(x: Node) -> Node:
    return mapped("less", mapped("abs", x), constant(np.inf, x.dtype))


def _convert(operation: Any, x: Node) -> Results:
    """A cast; those of floats to integers saturate, and make 0 of NaN."""
    dtype = type_of(operation.results[0]).dtype
    if dtype == x.dtype:
        return (x,)
    if dtype.kind not in "iu" or x.dtype.kind in "biu":
        return (apply(Cast(dtype), x),)
    if dtype.itemsize > 4 or x.dtype.itemsize > 4:
        return None
    x = in_dtype(x, np.dtype(np.float32))
    limits = np.iinfo(dtype)
    beyond = float(limits.max) + 1
    highest = np.nextafter(np.float32(beyond), np.float32(0))
    low, high = (constant(n, x.dtype) for n in (limits.min, highest))
    inside = mapped("minimum", mapped("maximum", x, low), high)
    inside = apply(Where(), mapped("equal", x, x), inside, constant(0, x.dtype))
    result = apply(Cast(dtype), inside)
    if int(highest) == limits.max:
        return (result,)
    above = mapped("greater_equal", x, constant(beyond, x.dtype))
    return (apply(Where(), above, constant(limits.max, dtype), result),)


def _reduce_precision(operation: Any, x: Node) -> Results:
    """Floats with fewer bits, if those are all that they have, or the bits of bf16."""
    exponent, mantissa = number(operation, "exponent_bits"), number(operation, "mantissa_bits")
    own = -int(np.log2(epsilon(x.dtype)))
    of_all = 8 * x.dtype.itemsize - own - 1
    if exponent >= of_all and mantissa >= own:
        return (x,)
    if x.dtype == np.float32 and (exponent, mantissa) == (8, 7):
        return (in_dtype(in_dtype(x, BFLOAT16), x.dtype),)
    return None


def _next_after(operation: Any, x: Node, toward: Node) -> Results:
    """The next float after a known number, as limits of random numbers are computed."""
    numbers = [_uniform(x), _uniform(toward)]
    if None in numbers or x.dtype.kind != "f":
        return None
    near = np.nextafter(*(np.array(each, x.dtype) for each in numbers))
    return (broadcast(constant(near, x.dtype), x.shape),)


def _bitcast(operation: Any, x: Node) -> Results:
    """The bits of integers as others, or of a fraction with the exponent of 1: floats below 2."""
    dtype = type_of(operation.results[0]).dtype
    if dtype.itemsize != x.dtype.itemsize:
        return None
    if dtype.kind in "iu" and x.dtype.kind in "iu":
        return (in_dtype(x, dtype),)
    if not (is_float(dtype) and x.dtype.kind == "u" and is_map(x, "bitwise_or")):
        return None
    unit = int(np.array(1, dtype).view(x.dtype))
    fraction, exponent = x.inputs if _uniform(x.inputs[1]) == unit else x.inputs[::-1]
    digits, within = -int(np.log2(epsilon(dtype))), known_range(fraction)
    if _uniform(exponent) != unit or within is None or within[1] >> digits:
        return None
    part = mapped("multiply", in_dtype(fraction, dtype), constant(2.0**-digits, dtype))
    return (broadcast(mapped("add", part, constant(1, dtype)), x.shape),)


def _same(operation: Any, *inputs: Node) -> Results:
    return inputs


def _constant(operation: Any) -> Results:
    array = array_of(operation.attributes["value"])
    if array is None:
        return None
    return (broadcast(apply(Constant(array)), type_of(operation.results[0]).shape),)


def _iota(operation: Any) -> Results:
    kind = type_of(operation.results[0])
    return (apply(Iota(kind, number(operation, "iota_dimension"))),)


def _reshape(operation: Any, x: Node) -> Results:
    return (reshaped(x, type_of(operation.results[0]).shape),)


def _transpose(operation: Any, x: Node) -> Results:
    return (transposed(x, numbers(operation, "permutation")),)


def _broadcast_in_dim(operation: Any, x: Node) -> Results:
    places = numbers(operation, "broadcast_dimensions")
    shape = type_of(operation.results[0]).shape
    if x.type.size > 1:
        x = transposed(x, tuple(sorted(range(len(places)), key=places.__getitem__)))
        sizes = dict(zip(sorted(places), x.shape, strict=True))
        aligned = range(min(sizes), len(shape))
        x = reshaped(x, tuple(sizes.get(d, 1) for d in aligned))
    return (broadcast(x, shape),)


def _slice(operation: Any, x: Node) -> Results:
    starts, stops = numbers(operation, "start_indices"), numbers(operation, "limit_indices")
    return (apply(Slice(starts, stops, numbers(operation, "strides")), x),)


def _concatenate(operation: Any, *inputs: Node) -> Results:
    """Without those that have no elements."""
    some = [each for each in inputs if each.type.size] or [*inputs[:1]]
    return (apply(Concat(number(operation, "dimension")), *some),)


def _pad(operation: Any, x: Node, filler: Node) -> Results:
    """Padding at the edges and between elements; a negative one cuts off elements."""
    before, after = numbers(operation, "edge_padding_low"), numbers(operation, "edge_padding_high")
    for axis, gap in enumerate(numbers(operation, "interior_padding")):
        if gap:
            x = _with_gaps(x, filler, axis, gap)
    if not x.type.size:
        return (broadcast(filler, type_of(operation.results[0]).shape),)
    if min(*before, *after, 0) < 0:
        starts = tuple(max(-low, 0) for low in before)
        stops = tuple(n - max(-high, 0) for n, high in zip(x.shape, after, strict=True))
        x = apply(Slice(starts, stops, (1,) * x.type.rank), x)
    low, high = (tuple(max(n, 0) for n in edge) for edge in (before, after))
    return (apply(Pad(low, high), x, filler) if any((*low, *high)) else x,)


def _with_gaps(x: Node, filler: Node, axis: int, gap: int) -> Node:
    """A tensor with so many fillers between elements along an axis: rows of one with them after."""
    *outer, n = x.shape[: axis + 1]
    inner = x.shape[axis + 1 :]
    rows = reshaped(x, (*outer, n, 1, *inner))
    before = (0,) * rows.type.rank
    after = tuple(gap if d == axis + 1 else 0 for d in range(rows.type.rank))
    padded = apply(Pad(before, after), rows, filler)
    wide = reshaped(padded, (*outer, n * (gap + 1), *inner))
    return sliced(wide, axis, 0, n * (gap + 1) - gap)


def _dot_general(operation: Any, left: Node, right: Node) -> Results:
    if left.dtype != right.dtype or left.dtype.kind == "b" or _is_summed_otherwise(operation):
        return None
    said = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
    batch = (*zip(said.lhs_batching_dimensions, said.rhs_batching_dimensions, strict=True),)
    summed = (*zip(said.lhs_contracting_dimensions, said.rhs_contracting_dimensions, strict=True),)
    dtype = type_of(operation.results[0]).dtype
    return (apply(Dot(batch, summed, None if dtype == left.dtype else dtype), left, right),)


def _is_summed_otherwise(operation: Any) -> bool:
    """Whether a product asks for another algorithm than to add up products of what it reads."""
    if "algorithm" not in operation.attributes:
        return False
    said = stablehlo.DotAlgorithm(operation.attributes["algorithm"])
    left, right = (str(value.type.element_type) for value in operation.operands)
    parts = said.lhs_component_count, said.rhs_component_count, said.num_primitive_operations
    return (
        (str(said.lhs_precision_type), str(said.rhs_precision_type)) != (left, right)
        or str(said.accumulation_type) not in ("f32", left)
        or parts != (1, 1, 1)
    )


def _dot(operation: Any, left: Node, right: Node) -> Results:
    """The product of older programs: the last dimension with the first."""
    dtype = type_of(operation.results[0]).dtype
    pair = ((left.type.rank - 1, 0),)
    return (apply(Dot((), pair, None if dtype == left.dtype else dtype), left, right),)


RULES: Mapping[str, Rule] = {
    "sdy.sharding_constraint": _same,
    **dict.fromkeys((*_MAPS, *_FLOAT_MAPS, *_INTEGER_MAPS, *_SIGNED_MAPS, *_BOOLEAN_MAPS), _map),
    **{f"chlo.{name}": _composed for name in COMPOSED},
    "chlo.erf_inv": _composed,
    "chlo.next_after": _next_after,
    "stablehlo.bitcast_convert": _bitcast,
    "stablehlo.broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.cbrt": _composed,
    "stablehlo.clamp": _clamp,
    "stablehlo.compare": _compare,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.constant": _constant,
    "stablehlo.convert": _convert,
    "stablehlo.dot": _dot,
    "stablehlo.dot_general": _dot_general,
    "stablehlo.iota": _iota,
    "stablehlo.negate": _negate,
    "stablehlo.is_finite": _by(_is_finite),
    "stablehlo.optimization_barrier": _same,
    "stablehlo.pad": _pad,
    "stablehlo.popcnt": _by(ones),
    "stablehlo.reduce_precision": _reduce_precision,
    "stablehlo.remainder": _remainder,
    "stablehlo.reshape": _reshape,
    "stablehlo.round_nearest_afz": _by(_round_away),
    "stablehlo.select": _by(partial(apply, Where())),
    "stablehlo.shift_right_arithmetic": _by(arithmetic_shift),
    "stablehlo.shift_right_logical": _by(logical_shift),
    "stablehlo.slice": _slice,
    "stablehlo.tan": _composed,
    "stablehlo.transpose": _transpose,
}
"""The rules for operations that neither reduce, slide windows, nor take elements."""

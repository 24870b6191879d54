"""NumPy's functions of neighbours: convolutions, differences, integrals; and a few products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node, apply
from morello.graph.operators import Concat, Conv, Reduce, Where
from morello.graph.patterns.matching import in_shape, is_float, mapped, reshaped, selected, sliced
from morello.importers.contractions import cross_product, einsum
from morello.importers.numpy_operands import (
    Operand,
    as_node,
    flat,
    map_of,
    normal_axis,
    promoted,
    truth,
)
from morello.importers.taking import backwards


def _convolve(a: Operand, v: Operand, mode: str = "full") -> Node:
    first, second = promoted(a, v)
    if second.type.size > first.type.size:
        first, second = second, first
    return _slid(first, backwards(second, 0), mode)


def _correlate(a: Operand, v: Operand, mode: str = "valid") -> Node:
    first, second = promoted(a, v)
    if second.type.size > first.type.size:
        raise GraphError("the second array is the shorter one.")
    return _slid(first, second, mode)


def _slid(x: Node, taps: Node, mode: str) -> Node:
    """The sums of products of taps and the elements under them, as they slide along a vector."""
    if (x.type.rank, taps.type.rank) != (1, 1) or not is_float(x.dtype):
        raise GraphError("vectors of floats are convolved.")
    rest = taps.type.size - 1
    padding = {"full": (rest, rest), "same": (rest - rest // 2, rest // 2), "valid": (0, 0)}
    if mode not in padding:
        raise GraphError(f"there is no mode {mode}.")
    before, after = padding[mode]
    image, filters = (reshaped(each, (1, 1, each.type.size)) for each in (x, taps))
    return flat(apply(Conv((1,), (before,), (after,), (1,)), image, filters))


def _gradient(f: Node, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Differences of neighbours on both sides; at the edges, of the one neighbour."""
    every = range(f.type.rank)
    axes = [
        normal_axis(d, f.type.rank) for d in ((axis,) if isinstance(axis, int) else axis or every)
    ]
    steps = [*varargs] or [1.0]
    known = all(isinstance(each, int | float) for each in steps)
    if edge_order != 1 or not is_float(f.dtype) or not known or len(steps) not in (1, len(axes)):
        raise GraphError("gradients are of floats, with known steps.")
    steps = steps * len(axes) if len(steps) == 1 else steps
    results = [_differences(f, d, step) for d, step in zip(axes, steps, strict=True)]
    return results if len(results) > 1 else results[0]


def _differences(f: Node, axis: int, step: float) -> Node:
    size = f.shape[axis]
    if size < 2:
        raise GraphError("there are two elements, or more.")

    def between(first: int, last: int, count: int, scale: float) -> Node:
        """Differences of so many elements from these on."""
        low, high = (sliced(f, axis, n, n + count) for n in (first, last))
        return map_of("divide", mapped("subtract", high, low), scale)

    inner = [between(0, 2, size - 2, 2.0 * step)] if size > 2 else []
    edges = between(0, 1, 1, step), between(size - 2, size - 1, 1, step)
    return apply(Concat(axis), edges[0], *inner, edges[1])


def _trapezoid(y: Node, x: Operand | None = None, dx: Operand = 1.0, axis: int = -1) -> Node:
    """The integral of lines between points that are `dx` apart."""
    if x is not None or not is_float(y.dtype):
        raise GraphError("points of floats lie evenly apart.")
    axis = normal_axis(axis, y.type.rank)
    size = y.shape[axis]
    pairs = mapped("add", sliced(y, axis, 1, size), sliced(y, axis, 0, size - 1))
    return apply(Reduce("sum", (axis,)), map_of("divide", map_of("multiply", pairs, dx), 2.0))


def _ediff1d(ary: Node) -> Node:
    every = flat(ary)
    count = every.type.size
    return mapped("subtract", sliced(every, 0, 1, count), sliced(every, 0, 0, count - 1))


def _cross(a: Operand, b: Operand) -> Node:
    """Cross products of vectors of three numbers along the last dimension."""
    left, right = promoted(a, b)
    if not (left.type.rank and right.type.rank and left.shape[-1] == right.shape[-1] == 3):
        raise GraphError("vectors are of three numbers, along the last dimension.")

    shape = np.broadcast_shapes(left.shape, right.shape)
    return cross_product(in_shape(left, shape), in_shape(right, shape), len(shape) - 1)


def _kron(a: Operand, b: Operand) -> Node:
    """The Kronecker product of matrices: each element of the first times the second."""
    left, right = promoted(a, b)
    if (left.type.rank, right.type.rank) != (2, 2):
        raise GraphError("the factors are matrices.")
    shape = tuple(n * m for n, m in zip(left.shape, right.shape, strict=True))
    return reshaped(einsum("ij,kl->ikjl", left, right), shape)


def _polyval(p: Operand | Sequence[Operand], x: Node) -> Node:
    """The polynomial with these coefficients, the highest first."""
    if isinstance(p, Node):
        numbers: Sequence[Operand] = [selected(p, 0, n) for n in range(p.shape[0])]
    elif isinstance(p, list | tuple):
        numbers = p
    else:
        raise GraphError("the coefficients of a polynomial are a vector.")
    result: Operand = map_of("multiply", x, 0)
    for each in numbers:
        result = map_of("add", map_of("multiply", result, x), each)
    return as_node(result)


def _select(condlist: Sequence[Node], choicelist: Sequence[Operand], default: Operand = 0) -> Node:
    """The first choice whose condition holds."""
    if len(condlist) != len(choicelist):
        raise GraphError("there is a choice for each condition.")
    *choices, result = promoted(*choicelist, default)
    for condition, choice in reversed([*zip(condlist, choices, strict=True)]):
        result = apply(Where(), truth(condition), choice, result)
    return result


def _nan_to_num(
    x: Node, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Node:
    """NaN and infinities become numbers; infinities the largest ones unless others are given."""
    if not is_float(x.dtype):
        return x
    limits = np.finfo(x.dtype)
    result = x
    for name, end, number in (
        ("greater", limits.max, posinf), ("less", limits.min, neginf),
    ):  # fmt: skip
        value = end if number is None else number
        outside = map_of(name, x, float(end))
        result = apply(Where(), outside, as_node(value, x.dtype), result)
    return apply(Where(), mapped("equal", x, x), result, as_node(nan, x.dtype))


SIGNALS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.convolve: _convolve,
    np.correlate: _correlate,
    np.cross: _cross,
    np.ediff1d: _ediff1d,
    np.gradient: _gradient,
    np.kron: _kron,
    np.nan_to_num: _nan_to_num,
    np.polyval: _polyval,
    np.select: _select,
    np.trapezoid: _trapezoid,
}
"""The translation of each of these functions."""

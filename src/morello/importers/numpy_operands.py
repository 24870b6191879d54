"""The operands of NumPy's functions as nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node, apply
from morello.graph.operators import Cast, Constant, Reduce
from morello.graph.patterns.matching import mapped, reshaped

Operand = Node | complex | np.generic
"""An array, or a number."""

Axes = int | tuple[int, ...] | None


def as_node(operand: Operand, dtype: np.dtype[Any] | None = None) -> Node:
    """An array or a number as a node, cast to a dtype if one is given."""
    if isinstance(operand, Node):
        same = dtype is None or dtype == operand.dtype
        return operand if same else apply(Cast(np.dtype(dtype)), operand)
    _check_number(operand)
    try:
        return apply(Constant(np.asarray(operand, dtype)))
    except (OverflowError, ValueError, TypeError) as error:
        raise GraphError(f"{operand!r} is no constant of {dtype}: {error}.") from None


def _check_number(operand: object) -> None:
    if not isinstance(operand, int | float | np.generic):
        raise GraphError(f"{type(operand).__name__} is neither an array nor a number.")


def dtype_of(operand: Operand) -> Any:
    """The dtype of an operand, as `np.result_type` and ufuncs take it: Python numbers are weak."""
    if isinstance(operand, Node):
        return operand.dtype
    _check_number(operand)
    return np.dtype(bool) if isinstance(operand, bool) else getattr(operand, "dtype", type(operand))


def promoted(*operands: Operand) -> list[Node]:
    """Operands cast to their common dtype."""
    for each in operands:
        if not isinstance(each, Node):
            _check_number(each)
    samples = [np.empty(0, x.dtype) if isinstance(x, Node) else x for x in operands]
    dtype = np.result_type(*samples)
    return [as_node(operand, dtype) for operand in operands]


def map_of(name: str, *operands: Operand) -> Node:
    """A function of arrays and numbers of their common dtype."""
    return mapped(name, *promoted(*operands))


def truth(x: Node) -> Node:
    """Whether elements are not 0."""
    return x if x.dtype == bool else mapped("not_equal", x, as_node(0, x.dtype))


def sorted_axes(axis: Axes, rank: int) -> tuple[int, ...]:
    """Axes as non-negative numbers, in order; all of them for None."""
    if axis is None:
        return tuple(range(rank))
    return tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, rank)))


def normal_axis(axis: int, rank: int) -> int:
    """An axis as a non-negative number."""
    return np.lib.array_utils.normalize_axis_index(axis, rank)


def reduced(kind: str, x: Node, axis: Axes, keepdims: bool) -> Node:
    """A reduction along axes, as NumPy names them; without any, nothing is reduced."""
    axes = sorted_axes(axis, x.type.rank)
    return apply(Reduce(kind, axes, bool(keepdims)), x) if axes else x


def flat(x: Node) -> Node:
    """All elements in row-major order, in one dimension."""
    return reshaped(x, (x.type.size,))


def along(x: Node, axis: int | None) -> tuple[Node, int]:
    """An array and one of its axes, as a non-negative number; for None, all elements in one."""
    return (flat(x), 0) if axis is None else (x, normal_axis(axis, x.type.rank))

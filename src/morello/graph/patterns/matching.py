"""Predicates and views of nodes for the rules: constants, casts, polynomials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from morello.graph.graph import Node, apply
from morello.graph.operators import (
    Broadcast,
    Cast,
    Concat,
    Constant,
    Map,
    Reshape,
    Slice,
    Transpose,
)

Rule = Callable[[Node], Node | None]
"""A function from a node to the one in its place, or to None if it does not apply."""

Polynomial = dict[tuple[int, int], float]
"""The coefficients of the products of powers of two nodes."""


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether numbers of a dtype are floating-point numbers, bf16 among them."""
    return dtype.kind not in "biuc"


def is_map(node: Node, *names: str) -> bool:
    """Whether a node applies one of these functions elementwise."""
    return isinstance(node.operator, Map) and node.operator.name in names


def mapped(name: str, *inputs: Node) -> Node:
    """The function called `name`, applied elementwise."""
    return apply(Map(name), *inputs)


def constant(array: npt.ArrayLike, dtype: np.dtype[Any]) -> Node:
    """A constant of a dtype, to which its numbers are rounded."""
    with np.errstate(over="ignore"):
        return apply(Constant(np.asarray(array).astype(dtype)))


def varying(node: Node) -> list[Node]:
    """The inputs of a node that are no constants."""
    return [x for x in node.inputs if not isinstance(x.operator, Constant)]


def below_maps(node: Node) -> Node | None:
    """The node that functions of it and of constants compute a node from; None if of several."""
    while isinstance(node.operator, Map):
        inputs = varying(node)
        if len(inputs) != 1:
            return None
        (node,) = inputs
    return node


def number(node: Node) -> float | None:
    """The number that a constant of one element is; None for other nodes."""
    if isinstance(node.operator, Constant) and node.type.size == 1:
        return float(node.operator.array.item())
    return None


def is_number(node: Node, value: float) -> bool:
    """Whether a node is this constant, as exactly as its dtype has it."""
    given = number(node)
    return given is not None and close(given, value, node.dtype)


def close(given: float, value: float, dtype: np.dtype[Any]) -> bool:
    """Whether a constant computed in a dtype stands for a value: a few roundings are allowed."""
    tolerance = max(8e-6, epsilon(dtype)) if is_float(dtype) else 0
    return given == value or abs(given - value) <= tolerance * abs(value)


def epsilon(dtype: np.dtype[Any]) -> float:
    """The distance from 1 to the next number of a floating-point dtype."""
    return float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]  # it has no types


def lowest(dtype: np.dtype[Any]) -> float:
    """The smallest finite number of a floating-point dtype."""
    return float(ml_dtypes.finfo(dtype).min)  # type: ignore[no-untyped-call]  # it has no types


def keeps_values(narrow: np.dtype[Any], wide: np.dtype[Any]) -> bool:
    """Whether each number of the first dtype is one of the second."""
    return bool(np.can_cast(narrow, wide))


def in_shape(node: Node, shape: tuple[int, ...]) -> Node:
    """A node broadcast to a shape, or itself if it has that."""
    return node if node.shape == shape else apply(Broadcast(shape), node)


def reshaped(node: Node, shape: tuple[int, ...]) -> Node:
    """A node's elements in another shape."""
    return node if node.shape == shape else apply(Reshape(shape), node)


def sliced(node: Node, axis: int, start: int, stop: int, step: int = 1) -> Node:
    """The elements of a node in a range along an axis."""
    bounds = [(0, size, 1) for size in node.shape]
    bounds[axis] = (start, stop, step)
    starts, stops, steps = zip(*bounds, strict=True)
    return apply(Slice(starts, stops, steps), node)


def selected(node: Node, axis: int, number: int) -> Node:
    """The elements of a node at one place along an axis, which the result does not have."""
    rest = (*node.shape[:axis], *node.shape[axis + 1 :])
    return reshaped(sliced(node, axis, number, number + 1), rest)


def joined(nodes: Sequence[Node], axis: int) -> Node:
    """Nodes one after the other along an axis; one alone is itself."""
    return nodes[0] if len(nodes) == 1 else apply(Concat(axis), *nodes)


def transposed(node: Node, order: tuple[int, ...]) -> Node:
    """A node with its dimensions in another order."""
    return node if order == tuple(range(len(order))) else apply(Transpose(order), node)


def in_dtype(node: Node, dtype: np.dtype[Any]) -> Node:
    """A node cast to a dtype, or itself if it has that."""
    return node if node.dtype == dtype else apply(Cast(dtype), node)


def widened(node: Node) -> Node:
    """A node in f32 if it has floats of 16 bits, else itself."""
    narrow = is_float(node.dtype) and node.dtype.itemsize < 4
    return in_dtype(node, np.dtype(np.float32)) if narrow else node


def on_replaced(node: Node, after: Mapping[Node, Node]) -> Node:
    """A node on what its inputs have become."""
    inputs = tuple(after[source] for source in node.inputs)
    return node if inputs == node.inputs else apply(node.operator, *inputs)


def before_casts(node: Node) -> Node:
    """The node before the casts between floating-point dtypes that end in this node, if any."""
    while isinstance(node.operator, Cast) and is_float(node.dtype):
        (source,) = node.inputs
        if not is_float(source.dtype):
            break
        node = source
    return node


def inserted_units(node: Node) -> tuple[int, ...] | None:
    """Where a reshape puts dimensions of size 1, if it does no more than that."""
    if not isinstance(node.operator, Reshape):
        return None
    return added_units(node.inputs[0].shape, node.shape)


def added_units(old: Sequence[int], new: Sequence[int]) -> tuple[int, ...] | None:
    """Where a shape has dimensions of size 1 that another has not, if that is all."""
    places: list[int] = []
    for place, size in enumerate(new):
        kept = place - len(places)
        if kept < len(old) and old[kept] == size:
            continue
        if size != 1:
            return None
        places.append(place)
    return tuple(places) if len(places) == len(new) - len(old) else None


def polynomial(node: Node, variables: tuple[Node, Node], depth: int = 6) -> Polynomial | None:
    """The polynomial in two nodes that a node computes; None if it computes something else."""
    if node is variables[0]:
        return {(1, 0): 1.0}
    if node is variables[1]:
        return {(0, 1): 1.0}
    value = number(node)
    if value is not None:
        return {(0, 0): value}
    if depth == 0 or not isinstance(node.operator, Map) or not is_float(node.dtype):
        return None
    if node.operator.name not in POLYNOMIALS:
        return None
    parts: list[Polynomial] = []
    for source in node.inputs:
        part = polynomial(source, variables, depth - 1)
        if part is None:
            return None
        parts.append(part)
    return POLYNOMIALS[node.operator.name](*parts)


def same_polynomial(
    given: Polynomial | None, expected: Mapping[tuple[int, int], float], dtype: np.dtype[Any]
) -> bool:
    """Whether the coefficients are the same, but for the rounding of a dtype."""
    if given is None:
        return False
    terms = {powers: value for powers, value in given.items() if value}
    return terms.keys() == expected.keys() and all(
        close(terms[powers], value, dtype) for powers, value in expected.items()
    )


def _sum(a: Polynomial, b: Polynomial, sign: float = 1.0) -> Polynomial:
    return {p: a.get(p, 0.0) + sign * b.get(p, 0.0) for p in a.keys() | b.keys()}


def _product(a: Polynomial, b: Polynomial) -> Polynomial | None:
    result: Polynomial = {}
    for (i, j), u in a.items():
        for (k, m), v in b.items():
            result[i + k, j + m] = result.get((i + k, j + m), 0.0) + u * v
    return result if all(i + j <= 4 for i, j in result) else None


def _quotient(a: Polynomial, b: Polynomial) -> Polynomial | None:
    divisor = b.get((0, 0), 0.0)
    return {p: u / divisor for p, u in a.items()} if len(b) == 1 and divisor else None


POLYNOMIALS: dict[str, Callable[..., Polynomial | None]] = {
    "add": _sum,
    "divide": _quotient,
    "multiply": _product,
    "neg": lambda a: {p: -u for p, u in a.items()},
    "square": lambda a: _product(a, a),
    "subtract": lambda a, b: _sum(a, b, -1.0),
}
"""The functions of polynomials, on coefficients by power."""

"""Numbers that are rounded to bytes and read from them at once: they need no bytes."""

from __future__ import annotations

import numpy as np

from morello.graph.graph import Graph, Node
from morello.graph.operators import Cast, Where
from morello.graph.patterns.matching import constant, is_map, mapped, number, on_replaced

_LIMITS = {np.dtype(kind): np.iinfo(kind) for kind in (np.int8, np.uint8)}


def without_bytes(graph: Graph) -> Graph:
    """f32(i32(u8(x)) - zero) -> x - zero, for x that is rounded and within the limits of u8.

    Also for i8. Bytes that are an output, or that something else reads, are left.
    """
    after: dict[Node, Node] = {}
    for node in graph.nodes:
        after[node] = _as_float(graph, node, after) or on_replaced(node, after)
    return Graph(graph.inputs, tuple(after[node] for node in graph.outputs))


def _as_float(graph: Graph, node: Node, after: dict[Node, Node]) -> Node | None:
    """A node in f32 on the numbers whose bytes it is a cast of; None if it is none of such."""
    if not (isinstance(node.operator, Cast) and node.dtype == np.float32):
        return None
    (whole,) = node.inputs
    zero: float | None = None
    if is_map(whole, "subtract"):
        whole, subtracted = whole.inputs
        zero = number(subtracted)
        if zero is None:
            return None
    if isinstance(whole.operator, Cast) and whole.dtype == np.int32:
        (whole,) = whole.inputs
    if not isinstance(whole.operator, Cast) or not _is_within(whole):
        return None
    if len(graph.users[whole]) > 1 or whole in graph.outputs or whole.shape != node.shape:
        return None
    x = after[whole.inputs[0]]
    return x if zero is None else mapped("subtract", x, constant(zero, x.dtype))


def _is_within(cast: Node) -> bool:
    """Whether what a node casts to bytes are integers in f32 that these have."""
    (x,), limits = cast.inputs, _LIMITS.get(cast.dtype)
    if limits is None or x.dtype != np.float32:
        return False
    if not is_map(x, "minimum"):
        return False
    x, most = x.inputs
    bounded = _at_least(x)
    if bounded is None:
        return False
    x, least = bounded
    low, high = number(least), number(most)
    if low is None or high is None or low < limits.min or high > limits.max:
        return False
    if is_map(x, "add"):
        x, second = x.inputs
        added = number(second)
        if added is None or not added.is_integer():
            return False
    return is_map(x, "round")


def _at_least(node: Node) -> tuple[Node, Node] | None:
    """x and y, of a node that is max(x, y), or x > y ? x : y, which is y where x is NaN."""
    if is_map(node, "maximum"):
        x, least = node.inputs
        return x, least
    if isinstance(node.operator, Where) and is_map(node.inputs[0], "greater"):
        sides, (_, x, least) = node.inputs[0].inputs, node.inputs
        return (x, least) if sides == (x, least) else None
    return None

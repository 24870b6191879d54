"""The values of a graph in NumPy: the reference that every other way to run it is compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from morello.base.errors import GraphError
from morello.base.memory import allocatable, gib
from morello.graph.graph import Array, Graph, Node

_SMALL = 1 << 16
"""The most elements of a node that may be computed ahead without a look at the free memory."""


def evaluate(graph: Graph, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """The outputs, in float64, int64, uint64 or bool, with no rounding in between.

    Integers wrap around as those of their dtypes do. Raises `GraphError` for arrays of other shapes
    than those of the inputs.
    """
    if len(arrays) != len(graph.inputs):
        raise GraphError(f"{len(arrays)} arrays for {len(graph.inputs)} inputs; give one for each.")
    values: dict[Node, Array] = {}
    for number, (node, array) in enumerate(zip(graph.inputs, arrays, strict=True)):
        if array.shape != node.shape:
            raise GraphError(f"array {number} has shape {array.shape}, not {node.shape}.")
        values[node] = widened(array)
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            if node not in values:
                given = (values[source] for source in node.inputs)
                result = np.asarray(node.operator.evaluate(*given))
                counts = node.dtype.kind in "iu"
                values[node] = widened(result.astype(node.dtype) if counts else result)
    return tuple(values[node] for node in graph.outputs)


def check_room(node: Node) -> None:
    """Raise `GraphError` if computing a node ahead would take more than half of the free memory.

    Its inputs and its result are then in 64 bits, and the result in its own dtype, too.
    """
    sizes = [source.type.size for source in node.inputs]
    if max(node.type.size, *sizes, 0) <= _SMALL:
        return
    needed, free = 8 * (sum(sizes) + 2 * node.type.size), allocatable()
    if needed > free // 2:
        raise GraphError(
            f"computing the constants of {node.operator} takes {gib(needed)}, "
            f"more than half of the {gib(free)} of memory that are free",
            "make them smaller, or inputs",
        )


def widened(array: Array) -> Array:
    """An array in float64, int64, uint64 or bool, as operators compute."""
    kind = array.dtype.kind
    if kind == "b" or array.dtype == np.uint64:
        return array
    return array.astype(np.int64 if kind in "iu" else np.float64)


def random_values(node: Node, random: np.random.Generator) -> Array:
    """Random values of the node's type: floats in [-1, 1), integers and truth values 0 or 1."""
    if node.dtype.kind in "iub":
        return random.integers(0, 2, node.shape).astype(node.dtype)
    return random.uniform(-1, 1, node.shape).astype(node.dtype)

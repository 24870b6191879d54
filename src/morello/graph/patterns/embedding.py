"""Embeddings: products that only take rows of a constant table, functions of what is taken, and
what is taken from places that are known, or several times.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from morello.graph.graph import Graph, Node, Operator, apply
from morello.graph.operators import Broadcast, Cast, Constant, Dot, Gather, Map
from morello.graph.patterns.folding import computed
from morello.graph.patterns.matching import (
    Rule,
    constant,
    in_dtype,
    in_shape,
    is_map,
    joined,
    keeps_values,
    mapped,
    on_replaced,
    reshaped,
    sliced,
    varying,
)

_NUMBERS = np.dtype(np.int32)
"""The dtype of the numbers of rows."""

_LONG = 4
"""The least places one after the other that are a slice, if there are few elements at each."""

_MANY = 64
"""So many elements at a place are copied as a slice faster than they are taken."""

_PARTS = 32
"""The most parts of what is taken at known places."""


def one_hot_product(node: Node) -> Node | None:
    """dot(cast(ids == [0, 1, 2]), table) -> gather(table and a row of zeros, ids).

    A number of no row takes the row of zeros.
    """
    dot = node.operator
    hot, table = node.inputs
    assert isinstance(dot, Dot)
    if not isinstance(hot.operator, Cast) or not isinstance(table.operator, Constant):
        return None
    rows = table.operator.array
    taken = Dot(contracted=((hot.type.rank - 1, 0),), dtype=dot.dtype)
    if dot != taken or rows.ndim != 2 or node.dtype != table.dtype:
        return None
    ids = _compared_with_places(hot.inputs[0], len(rows))
    if ids is None or not np.isfinite(rows).all():
        return None
    below, above = constant(-1, _NUMBERS), constant(len(rows), _NUMBERS)
    numbers = reshaped(in_dtype(ids, _NUMBERS), hot.shape[:-1])
    within = mapped("minimum", mapped("maximum", numbers, below), above)
    padded = np.concatenate([rows, np.zeros_like(rows[:1])])
    return apply(Gather(0), constant(padded, table.dtype), within)


def _compared_with_places(node: Node, count: int) -> Node | None:
    """The integers [..., 1] that a node compares with 0, 1, ... `count` - 1."""
    if not is_map(node, "equal"):
        return None
    for ids, places in (node.inputs, node.inputs[::-1]):
        if (
            isinstance(places.operator, Constant)
            and places.shape[-1:] == (count,)
            and np.array_equal(places.operator.array.ravel(), np.arange(count))
            and ids.shape == (*node.shape[:-1], 1)
            and keeps_values(ids.dtype, _NUMBERS)
        ):
            return ids
    return None


def with_folded_tables(graph: Graph) -> Graph:
    """f(gather(table, ids), c) -> gather(f(table, c), ids), if nothing else reads the rows.

    The table and c, numbers or vectors along the last axis, are constants, and the table has no
    more rows than are taken.
    """
    after: dict[Node, Node] = {}
    for node in graph.nodes:
        moved = on_replaced(node, after)
        read = varying(node)
        alone = len(read) == 1 and graph.users[read[0]] == (node,) and read[0] not in graph.outputs
        after[node] = (_function_of_rows(moved) if alone else None) or moved
    return Graph(graph.inputs, tuple(after[node] for node in graph.outputs))


def _function_of_rows(node: Node) -> Node | None:
    """f(table[ids]) -> f(table)[ids], where the table and f's other inputs are constant."""
    (rows,) = varying(node)
    if not isinstance(node.operator, Map) or rows.operator != Gather(0) or node.type != rows.type:
        return None
    table, ids = rows.inputs
    others = {source.shape for source in node.inputs if source is not rows}
    if table.type.rank != 2 or table.type.size > rows.type.size or others - {(), table.shape[1:]}:
        return None
    inputs = (table if source is rows else source for source in node.inputs)
    known = computed(apply(node.operator, *inputs))
    return apply(Gather(0), known, ids) if known else None


def known_places(node: Node) -> Node | None:
    """gather(x, [2, 4, 6]) -> x[2:7:2]: places that are known, and as far apart, are a slice."""
    places, x = _known(node), node.inputs[0]
    if places is None:
        return None
    steps = np.unique(np.diff(places))
    if steps.size > 1 or (steps.size == 1 and steps[0] < 1):
        return None
    step = int(steps[0]) if steps.size else 1
    part = sliced(x, _axis(node), int(places[0]), int(places[-1]) + 1, step)
    return reshaped(part, node.shape)


def places_in_runs(node: Node) -> Node | None:
    """gather(x, [1, 0, 1, 2, 3, 4, 5, 4]) -> join(x[1:2], x[0:6], x[4:5]), as of a mirrored x.

    Known places, at least half of them in one run. Few elements at many places, as of a vector in
    reverse order, are taken from a slice.
    """
    places, x = _known(node), node.inputs[0]
    if places is None:
        return None
    starts = np.flatnonzero(np.diff(places, prepend=-2) != 1)  # of runs
    lengths = np.diff(starts, append=places.size)
    if lengths.max() < max(_LONG, places.size / 2):
        return None
    long = lengths >= (1 if node.type.size >= _MANY * places.size else _LONG)
    parts = starts[long | np.append(True, long[:-1])]  # runs between long ones are one part
    if parts.size > _PARTS:
        return None
    axis = _axis(node)
    slices = [_taken(x, axis, part) for part in np.split(places, parts[1:])]
    return reshaped(joined(slices, axis), node.shape)


def _taken(x: Node, axis: int, places: npt.NDArray[np.int64]) -> Node:
    """The slices of x along an axis at known places: one slice if they are a run."""
    first, last = int(places.min()), int(places.max())
    part = sliced(x, axis, first, last + 1)
    if (np.diff(places) == 1).all():
        return part
    return apply(Gather(axis), part, constant(places - first, _NUMBERS))


def _known(node: Node) -> npt.NDArray[np.int64] | None:
    """The places of a gather, in one dimension, if they are known: all of them within."""
    x, ids = node.inputs
    if not isinstance(ids.operator, Constant) or not ids.type.size:
        return None
    count = x.shape[_axis(node)]
    given = ids.operator.array.ravel().astype(np.int64)
    return np.clip(np.where(given < 0, given + count, given), 0, count - 1)


def _axis(node: Node) -> int:
    """The axis of a gather."""
    assert isinstance(node.operator, Gather)
    return node.operator.axis


def repeated_places(node: Node) -> Node | None:
    """gather(x, broadcast(ids)) -> broadcast(gather(x, ids))."""
    x, ids = node.inputs
    assert isinstance(node.operator, Gather)
    if not isinstance(ids.operator, Broadcast):
        return None
    axis, (few,) = node.operator.axis, ids.inputs
    aligned = reshaped(few, (*(1,) * (ids.type.rank - few.type.rank), *few.shape))
    return in_shape(apply(Gather(axis), x, aligned), node.shape)


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {
    Dot: (one_hot_product,),
    Gather: (known_places, places_in_runs, repeated_places),
}
"""The rules of this family, by the class of the operators that they are for."""

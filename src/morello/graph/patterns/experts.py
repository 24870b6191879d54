"""Products of rows by matrices that are chosen for each of them, as by experts of a mixture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Array, Node, Operator, TensorType, apply
from morello.graph.operators import Broadcast, Dot, Gather, PrimitiveOperator
from morello.graph.patterns.matching import Rule, constant, in_dtype, reshaped, transposed
from morello.graph.patterns.rows import within
from morello.graph.views import VIEWS
from morello.ir.primitives import grouped_matmul

LARGE = 1 << 12
"""The fewest elements of matrices that are multiplied one by one, rather than all at once."""

_NUMBERS = np.dtype(np.int32)


def grouped_product(x: Node, matrices: Node, ids: Node) -> Node:
    """Each row of x times the matrix of its number; zero if it has that of none.

    Raises `GraphError` for tensors of other shapes and dtypes.
    """
    shapes = [each.shape for each in (x, matrices, ids)]
    if [len(shape) for shape in shapes] != [2, 3, 1] or x.dtype != matrices.dtype:
        raise GraphError(f"rows of {x.type} are multiplied by matrices of {matrices.type}.")
    (rows, size), (count, depth, columns), _ = shapes
    if size != depth or ids.shape != (rows,):
        raise GraphError(f"{ids.type} numbers matrices of {matrices.type} for rows of {x.type}.")
    operator = PrimitiveOperator(
        grouped_matmul(), (rows, count, size, columns), TensorType((rows, columns), x.dtype)
    )
    return apply(operator, x, matrices, in_dtype(ids, _NUMBERS))


def taken_matrices(node: Node) -> Node | None:
    """dot[batch](rows, gather(matrices, ids)) -> the products of rows by the matrices of ids.

    So no large matrix is copied. There is one row for each of the matrices that are taken.
    """
    dot = node.operator
    assert isinstance(dot, Dot)
    if dot.batch != ((0, 0),) or len(dot.contracted) != 1 or node.dtype != node.inputs[0].dtype:
        return None
    for side, taken in enumerate(node.inputs):
        other, (depth,) = node.inputs[1 - side], (pair[side] for pair in dot.contracted)
        if taken.operator != Gather(0) or taken.type.rank != 3:
            continue
        (matrices, ids), size = taken.inputs, taken.shape[depth]
        large = taken.type.size >= LARGE * ids.type.size
        if ids.type.rank == 1 and other.type.size == ids.type.size * size and large:
            rows = _stored(reshaped(other, (ids.shape[0], size)))
            if rows is None:
                return None
            matrices = matrices if depth == 1 else transposed(matrices, (0, 2, 1))
            numbers = within(ids, matrices.shape[0])
            return reshaped(grouped_product(rows, matrices, numbers), node.shape)
    return None


def _stored(rows: Node) -> Node | None:
    """Rows as kernels read them: repeated ones are taken by their numbers; None for others."""
    base, views = rows, list[Operator]()
    while isinstance(base.operator, VIEWS):
        views.append(base.operator)
        (base,) = base.inputs
    size = rows.shape[1]
    if not any(isinstance(view, Broadcast) for view in views):
        return rows
    places: Array = np.arange(base.type.size).reshape(base.shape)
    for view in reversed(views):
        places = view.evaluate(places)
    numbers, starts = np.divmod(places[:, 0], size)
    if starts.any() or (places != places[:, :1] + np.arange(size)).any():
        return None
    whole = reshaped(base, (base.type.size // size, size))
    return apply(Gather(0), whole, constant(numbers, _NUMBERS))


RULES: Mapping[type[Operator], Sequence[Rule]] = {Dot: (taken_matrices,)}

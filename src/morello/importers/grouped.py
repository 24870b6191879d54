"""Products of rows by matrices that are chosen for each of them, as by experts of a mixture."""

from __future__ import annotations

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node, TensorType, apply
from morello.graph.operators import PrimitiveOperator, Reduce
from morello.graph.patterns.matching import constant, in_dtype, mapped, reshaped
from morello.importers.taking import NUMBERS
from morello.ir.primitives import grouped_matmul

_FLOATS = np.dtype(np.float32)


def product_by_numbers(x: Node, matrices: Node, ids: Node) -> Node:
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
    return apply(operator, x, matrices, in_dtype(ids, NUMBERS))


def numbers_of_groups(ends: Node, rows: int) -> Node:
    """The group of each of so many rows, which are sorted by groups, by where groups end.

    The rows from the last end on have the number of no group.
    """
    places = constant(np.arange(rows).reshape(rows, 1), NUMBERS)
    given = reshaped(in_dtype(ends, NUMBERS), (1, *ends.shape))
    before = in_dtype(mapped("less_equal", given, places), _FLOATS)
    return in_dtype(apply(Reduce("sum", (1,)), before), NUMBERS)

"""Products of rows, each by a matrix that is chosen for it, as in a mixture of experts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Array, Node, Operator, TensorType, apply
from morello.graph.operators import (
    Broadcast,
    Concat,
    Constant,
    Cumulate,
    Dot,
    Gather,
    PrimitiveOperator,
    Reduce,
    Slice,
    Where,
)
from morello.graph.patterns.matching import (
    Rule,
    constant,
    in_dtype,
    is_map,
    mapped,
    number,
    reshaped,
    transposed,
)
from morello.graph.patterns.rows import within
from morello.graph.views import VIEWS, shown
from morello.ir.primitives import grouped_matmul

LARGE = 1 << 12
"""The fewest elements of matrices that are multiplied one by one, rather than all at once."""

_NUMBERS = np.dtype(np.int32)


def grouped_product(x: Node, matrices: Node, ids: Node) -> Node:
    """Each row of x times the matrix of its number; zero for numbers that no matrix has.

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


def groups_of_rows(ends: Node, rows: int) -> Node:
    """The group of each of so many rows, which are sorted by groups, by where groups end.

    The rows from the last end on have the number of no group.
    """
    given = reshaped(in_dtype(ends, _NUMBERS), (1, *ends.shape))
    every = constant(np.arange(rows)[:, None], _NUMBERS)
    before = in_dtype(mapped("less_equal", given, every), np.dtype(np.float32))
    return in_dtype(apply(Reduce("sum", (1,)), before), _NUMBERS)


def product_of_groups(node: Node) -> Node | None:
    """dot(where(starts <= row < ends, x, 0), matrices), summed over groups, too -> a product.

    The groups are beside each other, as their ends are sums of sizes and their starts the ends
    before: so JAX has ragged products computed.
    """
    dot, (masked, matrices) = node.operator, node.inputs
    assert isinstance(dot, Dot)
    if dot.batch or (0, 0) not in dot.contracted or len(dot.contracted) != 2:
        return None
    if not isinstance(masked.operator, Where) or (node.type.rank, matrices.type.rank) != (2, 3):
        return None
    mask, x, other = masked.inputs
    ends = _ends_of_groups(mask, *masked.shape[:2])
    if ends is None or x.shape != masked.shape[1:] or number(shown(other)) != 0:
        return None
    (sides,) = (pair for pair in dot.contracted if pair != (0, 0))
    if sides[0] != 2 or node.dtype != x.dtype:
        return None
    matrices = matrices if sides[1] == 1 else transposed(matrices, (0, 2, 1))
    return grouped_product(x, matrices, groups_of_rows(ends, x.shape[0]))


def _ends_of_groups(mask: Node, groups: int, rows: int) -> Node | None:
    """Where groups end, if a mask [groups, rows, 1] says which rows are in each; else None."""
    if not is_map(mask, "logical_and"):
        return None
    after, before = mask.inputs
    if not (is_map(after, "less_equal") and is_map(before, "less")):
        return None
    limits = after.inputs[0], before.inputs[1]
    starts, ends = map(shown, limits)
    if ends.type.size != groups or any(each.shape != (groups, 1, 1) for each in limits):
        return None
    for each in (after.inputs[1], before.inputs[0]):
        numbers = each.operator.array if isinstance(each.operator, Constant) else None
        if numbers is None or not np.array_equal(numbers, np.arange(rows)[:, None]):
            return None
    return ends if ends.operator == Cumulate(0) and _are_starts(starts, ends) else None


def _are_starts(starts: Node, ends: Node) -> bool:
    """Whether groups whose sizes sum up to `ends` start there: `ends - sizes`, or the ends before.

    JAX has it so from 0.12 on, and in the other way up to 0.10.
    """
    if is_map(starts, "subtract"):
        return starts.inputs == (ends, *ends.inputs)
    if starts.operator != Concat(0) or len(starts.inputs) != 2:
        return False
    first, others = starts.inputs
    zero = first.type.size == 1 and number(shown(first)) == 0
    before_last = Slice((0,), (ends.type.size - 1,), (1,))
    return zero and others.operator == before_last and others.inputs == (ends,)


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


RULES: Mapping[type[Operator], Sequence[Rule]] = {Dot: (taken_matrices, product_of_groups)}

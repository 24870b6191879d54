"""Elements taken along any axis, as rows of a matrix: kernels take no others."""

from __future__ import annotations

from math import prod

import numpy as np

from morello.graph.graph import Node, apply
from morello.graph.operators import Gather, Where
from morello.graph.patterns.matching import constant, in_dtype, mapped, reshaped, transposed

_NUMBERS = np.dtype(np.int32)
"""The dtype of the numbers of rows that are computed."""


def taken_rows(node: Node) -> Node | None:
    """gather[axis](x, ids) -> gather[0](x as a matrix, numbers of its rows)."""
    x, ids = node.inputs
    assert isinstance(node.operator, Gather)
    axis = node.operator.axis
    if axis == 0 and x.type.rank == 2:
        return None
    *before, count = x.shape[: axis + 1]
    outer, inner = prod(before), prod(x.shape[axis + 1 :])
    if outer == 1:
        rows = apply(Gather(0), reshaped(x, (count, inner)), ids)
    elif inner == 1:
        columns = transposed(reshaped(x, (outer, count)), (1, 0))
        taken = apply(Gather(0), columns, ids)
        rank = ids.type.rank
        rows = transposed(taken, (rank, *range(rank)))
    elif outer * count > np.iinfo(_NUMBERS).max:
        return None
    else:
        first = np.arange(outer).reshape(outer, *(1,) * ids.type.rank) * count
        numbers = mapped("add", within(ids, count), constant(first, _NUMBERS))
        rows = apply(Gather(0), reshaped(x, (outer * count, inner)), numbers)
    return reshaped(rows, node.shape)


def within(ids: Node, count: int) -> Node:
    """Numbers of rows as gathers take them: below 0 from the end, and the nearest one within."""
    lowest = constant(-count, _NUMBERS)
    highest = constant(count - 1, _NUMBERS)
    zero = constant(0, _NUMBERS)
    near = mapped("minimum", mapped("maximum", in_dtype(ids, _NUMBERS), lowest), highest)
    return apply(
        Where(),
        mapped("less", near, zero),
        mapped("add", near, constant(count, _NUMBERS)),
        near,
    )

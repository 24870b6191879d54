"""Rows of a table, chosen by their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from morello.ir.dtype import DType
from morello.ir.operation import Array, Operand, Operation, Primitive, operation
from morello.ir.primitives.copies import called
from morello.ir.primitives.dims import MAX_RANK, named
from morello.ir.rounding import Bounded, Bounds

ROWS, COLUMNS = "v", "d"
"""The dimensions of the table."""


@cache
def take(rank: int) -> Operation:
    """out[ids, d] = table[ids[ids], d], for ids of this rank.

    A number below 0 counts from the last row; others outside are taken as the nearest within.
    """
    places = named(rank)
    return operation(
        TAKE,
        (*places, ROWS, COLUMNS),
        (
            Operand("table", (ROWS, COLUMNS)),
            Operand("ids", places),
            Operand("out", (*places, COLUMNS), written=True),
        ),
        untiled=(ROWS,),
    )


def rows_of(table: Array, ids: Array) -> Array:
    """The rows of these numbers, which may be outside of the table."""
    rows = len(table)
    within = np.where(ids < 0, ids + rows, ids).clip(0, rows - 1)
    return np.take(table, within.astype(np.intp), 0)


def _evaluate(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    table, ids, out = (operand.dims for operand in operation.operands)
    given, numbers = inputs
    rows = rows_of(given.transpose([table.index(d) for d in (ROWS, COLUMNS)]), numbers)
    return (rows.transpose([(*ids, COLUMNS).index(d) for d in out]),)


def _bound(operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]) -> Bounds:
    table, ids = inputs
    (value,) = _evaluate(operation, [table.value, ids.value])
    if table.error is None:
        return (Bounded(value),)
    return (Bounded(value, _evaluate(operation, [table.error, ids.value])[0]),)


TAKE = Primitive(
    "Take",
    variants=lambda _: (take(rank) for rank in range(1, MAX_RANK)),
    evaluate=_evaluate,
    bound=_bound,
    text=called("take"),
    flops=0,
    indices=(1,),
)

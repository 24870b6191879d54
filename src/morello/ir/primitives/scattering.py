"""Rows that are combined with the rows of a table that their numbers say."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from morello.ir.dtype import DType
from morello.ir.operation import Array, Operand, Operation, Primitive, operation
from morello.ir.primitives.copies import called
from morello.ir.primitives.gathering import COLUMNS, ROWS
from morello.ir.rounding import EPSILON, ROUNDINGS, Bounded, Bounds, epsilon, rounded
from morello.ir.semantics import aligned

GIVEN = "e"
"""The dimension of the rows that are given."""

KINDS = ("last", "max", "min", "sum")
"""All rows of one place become the last of them, or their maximum, minimum or sum."""


@cache
def scatter(kind: str) -> Operation:
    """out[v, d] = table[v, d] and all rows[e, d] of ids[e] = v combined, as the kind says.

    A row whose number is below 0, or that of no row of the table, is left out.
    """
    return operation(
        SCATTERS[kind],
        (GIVEN, ROWS, COLUMNS),
        (
            Operand("table", (ROWS, COLUMNS)),
            Operand("ids", (GIVEN,)),
            Operand("rows", (GIVEN, COLUMNS)),
            Operand("out", (ROWS, COLUMNS), written=True),
        ),
        untiled=(GIVEN, ROWS),
    )


def combined(kind: str, table: Array, ids: Array, rows: Array) -> Array:
    """The table after the rows of these numbers, along the first axes, are combined with it."""
    within = (ids >= 0) & (ids < len(table))
    places, chosen = ids[within].astype(np.intp), rows[within]
    result = table.copy()
    if kind == "last":
        result[places] = chosen
    else:
        {"max": np.maximum, "min": np.minimum, "sum": np.add}[kind].at(result, places, chosen)
    return result


def _evaluate(kind: str, operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    table, ids, rows = inputs
    ordered = [
        aligned(operation, operand, value, (dim, COLUMNS))
        for operand, value, dim in ((0, table, ROWS), (2, rows, GIVEN))
    ]
    result = combined(kind, ordered[0], ids, ordered[1])
    return (result if operation.operands[-1].dims[0] == ROWS else result.T,)


def _bound_sum(operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]) -> Bounds:
    """All of the rows may be terms of one sum."""
    table, ids, rows = inputs

    def summed(table: Array, rows: Array) -> Array:
        (result,) = _evaluate("sum", operation, [table, ids.value, rows])
        return result

    scale = summed(np.abs(table.value), np.abs(rows.value))
    precision = EPSILON if dtypes[-1].is_float else epsilon(dtypes[-1])
    rounding = precision * (ids.value.size**0.5 + ROUNDINGS) * scale
    error = summed(table.bound, rows.bound)
    return (rounded(summed(table.value, rows.value), error, rounding, exact=False),)


def _bound_chosen(
    kind: str, operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]
) -> Bounds:
    """One of the rows, which is as wrong as that one, or as the worst if they are compared."""
    table, ids, rows = inputs
    (value,) = _evaluate(kind, operation, [table.value, ids.value, rows.value])
    if table.error is None and rows.error is None:
        return (Bounded(value),)
    worst = "last" if kind == "last" else "max"
    (error,) = _evaluate(worst, operation, [table.bound, ids.value, rows.bound])
    return (Bounded(value, error),)


def _primitive(kind: str) -> Primitive:
    return Primitive(
        f"Scatter{kind.capitalize()}",
        variants=lambda _: (scatter(kind),),
        evaluate=partial(_evaluate, kind),
        bound=_bound_sum if kind == "sum" else partial(_bound_chosen, kind),
        text=called(f"scatter_{kind}"),
        indices=(1,),
    )


SCATTERS = {kind: _primitive(kind) for kind in KINDS}
"""The primitives of `scatter`, by their kinds."""

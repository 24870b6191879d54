"""Rows that are combined with the rows of a table of their numbers, or with each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from morello.ir.dtype import DType
from morello.ir.operation import Array, Operand, Operation, Primitive, operation
from morello.ir.primitives.copies import called
from morello.ir.primitives.gathering import COLUMNS, ROWS
from morello.ir.rounding import EPSILON, ROUNDINGS, Bounded, Bounds, epsilon, rounded, summed
from morello.ir.semantics import aligned
from morello.ir.text import Result, Text, call

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


@cache
def segment_sum() -> Operation:
    """out[v, d] = the sum of all rows[e, d] of ids[e] = v.

    A row whose number is below 0, or that of no row of the output, is left out.
    """
    return operation(
        SEGMENT_SUM,
        (GIVEN, ROWS, COLUMNS),
        (
            Operand("rows", (GIVEN, COLUMNS)),
            Operand("ids", (GIVEN,)),
            Operand("out", (ROWS, COLUMNS), written=True, start="zero"),
        ),
        reduced=(GIVEN,),
        untiled=(ROWS,),
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
    """The error of the chosen row, or the largest of all rows if they are compared."""
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


def _evaluate_segments(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    zeros, rows, ids = inputs
    ordered = aligned(operation, 0, rows, (GIVEN, COLUMNS))
    upright = operation.operands[-1].dims[0] == ROWS
    result = combined("sum", zeros if upright else zeros.T, ids, ordered)
    return (result if upright else result.T,)


def _bound_segments(
    operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]
) -> Bounds:
    """All of the rows may be terms of one sum."""
    zeros, rows, ids = inputs

    def sums(rows: Array) -> Array:
        return _evaluate_segments(operation, [zeros.value, rows, ids.value])[0]

    return (summed(sums, [rows], ids.value.size, dtypes[-1]),)


def _text_segments(operation: Operation, arguments: Sequence[Text], result: Result) -> Text:
    return call("segment_sum", arguments, (("count", result.sizes[ROWS]),), result.dtype)


SEGMENT_SUM = Primitive(
    "SegmentSum",
    variants=lambda _: (segment_sum(),),
    evaluate=_evaluate_segments,
    bound=_bound_segments,
    text=_text_segments,
    sized=True,
    indices=(1,),
    start="zero",
)

SCATTERS = {kind: _primitive(kind) for kind in KINDS}
"""The primitives of `scatter`, by their kinds."""

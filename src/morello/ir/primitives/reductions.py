"""Sums, sums of squares, maxima and minima along a dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from morello.ir.casts import widened
from morello.ir.dtype import F32, DType
from morello.ir.functions import Function
from morello.ir.operation import Array, Operand, Operation, Primitive, accumulating, operation
from morello.ir.primitives.copies import bound_moved, called_along
from morello.ir.primitives.dims import each_scan, scanned
from morello.ir.primitives.maps import elementwise
from morello.ir.rounding import Bounded, Bounds, narrow, summed
from morello.ir.semantics import evaluate, in_order, reference, scan_axis
from morello.ir.text import Result, Text, call


@cache
def reduce(primitive: Primitive, rank: int, dim: int, accumulates: bool = False) -> Operation:
    """out = the reduction (`SUM`, `SUM_SQUARES`, `MAX` or `MIN`) of x along a dimension."""
    dims, rows, extra = scanned(rank, dim)
    overwriting = operation(
        primitive,
        (*extra, *dims),
        (Operand("x", dims), Operand("out", rows, written=True, start=primitive.start)),
        reduced=(dims[dim],),
    )
    return accumulating(overwriting) if accumulates else overwriting


@cache
def squared_deviations(rank: int, dim: int, accumulates: bool = False) -> Operation:
    """out = the sum of (x - center) squared along a dimension, with one center for each sum."""
    overwriting = _of_deviations(reduce(SUM_SQUARES, rank, dim))
    return accumulating(overwriting) if accumulates else overwriting


def _of_squares(sums: Operation) -> Operation:
    """The sums of squares of what is summed."""
    return operation(SUM_SQUARES, sums.dims, sums.operands, sums.reduced)


def _of_deviations(squares: Operation) -> Operation:
    """The sums of squares, less one center for each sum before."""
    x, out = squares.operands
    operands = (x, Operand("center", out.dims), out)
    return operation(SUM_SQUARED_DEVIATIONS, squares.dims, operands, squares.reduced)


def _deviations(operation: Operation) -> Operation:
    """The map x - center."""
    x, center, _ = operation.operands
    rank = len(x.dims)
    span = tuple(x.dims.index(d) if d in x.dims else rank for d in center.dims)
    return elementwise(Function("subtract"), (tuple(range(rank)), span), rank)


def _evaluate(
    function: Callable[..., Any], operation: Operation, inputs: Sequence[Array]
) -> tuple[Array, ...]:
    """The reduction by a function of NumPy."""
    reduced = function(inputs[0], axis=scan_axis(operation, 0))
    return (in_order(operation, operation.output, np.asarray(reduced)),)


_evaluate_sum = partial(_evaluate, np.sum)
_evaluate_max = partial(_evaluate, np.max)


def _evaluate_sum_squares(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    return _evaluate_sum(operation, [inputs[0] * inputs[0]])


def _evaluate_squared_deviations(
    operation: Operation, inputs: Sequence[Array]
) -> tuple[Array, ...]:
    return _evaluate_sum_squares(operation, evaluate(_deviations(operation), inputs))


def bound_sum(operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]) -> Bounds:
    """The bound of sums along a dimension, whole or up to each element."""
    terms = inputs[0].value.shape[scan_axis(operation, 0)]
    return (summed(reference(operation), inputs, terms, dtypes[-1]),)


def _bound_sum_squares(
    operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]
) -> Bounds:
    """A sum of products of each element with itself."""
    (x,) = inputs
    terms = x.value.shape[scan_axis(operation, 0)]

    def compute(a: Array, b: Array) -> Array:
        (total,) = _evaluate_sum(operation, [a * b])
        return total

    return (summed(compute, [x, x], terms, dtypes[-1]),)


def _bound_squared_deviations(
    operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]
) -> Bounds:
    subtraction = _deviations(operation)
    assert subtraction.primitive is not None
    deviations = subtraction.primitive.bound(subtraction, inputs, dtypes)
    return _bound_sum_squares(operation, deviations, dtypes)


def _bound_min(operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]) -> Bounds:
    (x,) = inputs
    value = reference(operation)(x.value)
    if x.error is None:
        return (Bounded(value),)
    (error,) = _evaluate_max(operation, [x.error])
    return (Bounded(value, error),)


def _text_sum_squares(operation: Operation, arguments: Sequence[Text], result: Result) -> Text:
    """The sum of a map; 16-bit floats are cast, as neither squares nor sums are rounded to them."""
    (x,) = arguments
    squares = call("square", [widened(x)], (), F32)
    total = called_along("sum")(operation, [squares], result)
    return Text(f"cast({total.text}, {x.dtype})", x.dtype) if narrow(x.dtype) else total


def _text_squared_deviations(
    operation: Operation, arguments: Sequence[Text], result: Result
) -> Text:
    subtraction = _deviations(operation)
    assert subtraction.primitive is not None
    deviations = subtraction.primitive.text(subtraction, arguments, result)
    return _text_sum_squares(operation, [deviations], result)


def _sum_of_parts(rank: int) -> Operation:
    """The sum along the last dimension, which merges all kinds of sums that are split."""
    return reduce(SUM, rank, rank - 1)


SUM_SQUARED_DEVIATIONS: Primitive = Primitive(
    "SumSquaredDeviations",
    variants=each_scan(squared_deviations),
    evaluate=_evaluate_squared_deviations,
    bound=_bound_squared_deviations,
    text=_text_squared_deviations,
    flops=3,
    start="zero",
    merge=_sum_of_parts,
)

SUM_SQUARES: Primitive = Primitive(
    "SumSquares",
    variants=each_scan(lambda rank, dim: reduce(SUM_SQUARES, rank, dim)),
    evaluate=_evaluate_sum_squares,
    bound=_bound_sum_squares,
    text=_text_sum_squares,
    absorbs=("subtract", _of_deviations),
    flops=2,
    start="zero",
    merge=_sum_of_parts,
)

SUM: Primitive = Primitive(
    "Sum",
    variants=each_scan(lambda rank, dim: reduce(SUM, rank, dim)),
    evaluate=_evaluate_sum,
    bound=bound_sum,
    text=called_along("sum"),
    absorbs=("square", _of_squares),
    start="zero",
    merge=_sum_of_parts,
)

MAX: Primitive = Primitive(
    "Max",
    variants=each_scan(lambda rank, dim: reduce(MAX, rank, dim)),
    evaluate=_evaluate_max,
    bound=bound_moved,
    text=called_along("max"),
    start="lowest",
    merge=lambda rank: reduce(MAX, rank, rank - 1),
    selects=True,
)

MIN: Primitive = Primitive(
    "Min",
    variants=each_scan(lambda rank, dim: reduce(MIN, rank, dim)),
    evaluate=partial(_evaluate, np.min),
    bound=_bound_min,
    text=called_along("min"),
    start="highest",
    merge=lambda rank: reduce(MIN, rank, rank - 1),
    selects=True,
)

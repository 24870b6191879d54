"""Scans of whole rows: the place of an extremum, and sums of all elements up to each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from morello.ir.dtype import I32, DType
from morello.ir.operation import Array, Operand, Operation, Primitive, operation
from morello.ir.primitives.copies import called_along
from morello.ir.primitives.dims import each_scan, scanned
from morello.ir.primitives.reductions import bound_sum
from morello.ir.rounding import Bounded, Bounds
from morello.ir.semantics import in_order, reference, scan_axis


@cache
def scan(primitive: Primitive, rank: int, dim: int) -> Operation:
    """ARGMAX, ARGMIN: out = the place of the first extremum, or NaN, along a dimension.

    CUMSUM: out = the sums along it of all elements up to each.
    """
    dims, rows, extra = scanned(rank, dim)
    kept = primitive is CUMSUM
    out = Operand("out", dims if kept else rows, written=True)
    every = dims if kept else (*extra, *dims)
    return operation(primitive, every, (Operand("x", dims), out), untiled=(dims[dim],))


def _evaluate_place(
    search: Callable[..., Any], operation: Operation, inputs: Sequence[Array]
) -> tuple[Array, ...]:
    place = np.asarray(search(inputs[0], axis=scan_axis(operation, 0)))
    return (in_order(operation, operation.output, place),)


def _evaluate_sums(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    sums = np.cumsum(inputs[0], axis=scan_axis(operation, 0))
    return (in_order(operation, operation.output, sums),)


def _bound_place(
    sign: float, operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]
) -> Bounds:
    """Any place will do where several elements may be the extremum, by their errors."""
    (x,), axis = inputs, scan_axis(operation, 0)
    value = reference(operation)(x.value)
    if x.error is None:
        return (Bounded(value),)
    least = (sign * x.value - x.error).max(axis=axis, keepdims=True)
    several = (sign * x.value + x.error >= least).sum(axis=axis) > 1
    error = np.where(several, float(x.value.shape[axis]), 0.0)
    return (Bounded(value, in_order(operation, operation.output, np.asarray(error))),)


ARGMAX: Primitive = Primitive(
    "Argmax",
    variants=each_scan(lambda rank, dim: scan(ARGMAX, rank, dim)),
    evaluate=partial(_evaluate_place, np.argmax),
    bound=partial(_bound_place, 1.0),
    text=called_along("argmax"),
    counts=I32,
)

ARGMIN: Primitive = Primitive(
    "Argmin",
    variants=each_scan(lambda rank, dim: scan(ARGMIN, rank, dim)),
    evaluate=partial(_evaluate_place, np.argmin),
    bound=partial(_bound_place, -1.0),
    text=called_along("argmin"),
    counts=I32,
)

CUMSUM: Primitive = Primitive(
    "Cumsum",
    variants=each_scan(lambda rank, dim: scan(CUMSUM, rank, dim)),
    evaluate=_evaluate_sums,
    bound=bound_sum,
    text=called_along("cumsum"),
)

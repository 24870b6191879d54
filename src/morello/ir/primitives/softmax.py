"""Softmax and its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from morello.ir.dtype import DType
from morello.ir.operation import Array, Operand, Operation, Primitive, accumulating, operation
from morello.ir.primitives.dims import each_scan, scanned
from morello.ir.rounding import (
    EPSILON,
    FLUSHED,
    ROUNDINGS,
    Bounded,
    Bounds,
    Floats,
    epsilon,
    narrow,
    propagated,
    rounded,
)
from morello.ir.semantics import aligned, evaluate, in_order, reference, scan_axis
from morello.ir.text import Result, Text, call


@cache
def softmax(part: Primitive, rank: int, scan: int, accumulates: bool = False) -> Operation:
    """Softmax along the dimension `scan`, or a part of it.

    Softmax: out = exp(x - max) / denominator, with the maximum and the sum over `scan`
    SoftmaxComplete: the same, given max and denominator
    SoftmaxDenominator: denominator = sum of exp(x - max), given max
    SoftmaxDenominatorAndMax: both in one pass; accumulating, a running maximum
    SoftmaxDenominatorAndMaxFromParts: both, from the maxima and denominators of tiles
    SoftmaxDenominatorAndUnscaled: denominator, and out = exp(x - max)
    SoftmaxDenominatorAndUnscaledFromMax: the same, given max
    """
    dims, rows, extra = scanned(rank, scan)
    along = (dims[scan],)
    x, out = Operand("x", dims), Operand("out", dims, written=True)
    given = {"max": Operand("max", rows), "denominator": Operand("denominator", rows)}
    highest = Operand("max", rows, written=True, start="lowest")
    total = Operand("denominator", rows, written=True, start="zero")
    full_total = Operand("denominator", rows, written=True)
    merged = (Operand("max_parts", dims), Operand("denominator_parts", dims))
    operands, reduced, untiled = {
        SOFTMAX: ((x, out), (), along),
        COMPLETE: ((x, given["max"], given["denominator"], out), (), ()),
        DENOMINATOR: ((x, given["max"], total), along, ()),
        DENOMINATOR_AND_MAX: ((x, highest, total), along, ()),
        FROM_PARTS: ((*merged, highest, total), along, ()),
        DENOMINATOR_AND_UNSCALED: ((x, full_total, out), (), along),
        UNSCALED_FROM_MAX: ((x, given["max"], total, out), along, ()),
    }[part]
    overwriting = operation(part, (*extra, *dims), operands, reduced, untiled)
    return accumulating(overwriting) if accumulates else overwriting


# ---- what they compute

Outputs = Callable[[Array, Array, Array], tuple[Array, ...]]
"""The outputs of a part, given the maximum and the denominator of each row, and exp(x - max)."""


def _evaluate(outputs: Outputs, operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    x, axis = inputs[0], scan_axis(operation, 0)
    if len(inputs) > 1:
        top = aligned(operation, 1, inputs[1], operation.operands[0].dims)
    else:
        top = x.max(axis=axis, keepdims=True)
    unscaled = np.exp(x - top)
    return _in_order(operation, outputs(top, unscaled.sum(axis=axis, keepdims=True), unscaled))


def _evaluate_complete(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    dims = operation.operands[0].dims
    x, top, total = (aligned(operation, i, value, dims) for i, value in enumerate(inputs))
    return _in_order(operation, (np.exp(x - top) / total,))


def _evaluate_from_parts(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    axis, dims = scan_axis(operation, 0), operation.operands[0].dims
    highest, total = (aligned(operation, i, value, dims) for i, value in enumerate(inputs))
    top = highest.max(axis=axis, keepdims=True)
    merged = (total * np.exp(highest - top)).sum(axis=axis, keepdims=True)
    return _in_order(operation, (top, merged))


def _in_order(operation: Operation, values: Sequence[Array]) -> tuple[Array, ...]:
    """The outputs, without the scanned dimension where an output has none."""
    outputs = []
    for output, value in zip(operation.outputs, values, strict=True):
        if _scan(operation) not in operation.operands[output].dims:
            value = value.squeeze(scan_axis(operation, 0))
        outputs.append(in_order(operation, output, value))
    return tuple(outputs)


def _scan(operation: Operation) -> str:
    """The dimension that a maximum and a denominator are taken along."""
    if operation.reduced or operation.untiled:
        return (*operation.reduced, *operation.untiled)[0]
    rows = operation.operands[1].dims
    return next(d for d in operation.operands[0].dims if d not in rows)


def _bound_softmax(
    operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]
) -> Bounds:
    """Softmax: an error of x is one of exp's result, and of the denominator."""
    (x,), axis = inputs, scan_axis(operation, 0)
    value, error = reference(operation)(x.value), None
    if x.error is not None:
        error = value * np.expm1(2 * x.error.max(axis=axis, keepdims=True))
    reach = x.value.max(axis=axis, keepdims=True) - x.value
    terms = x.value.shape[axis]
    return (_exponentials(value, error, terms, reach, dtypes[-1], np.abs(value)),)


def _bound_part(
    operation: Operation,
    inputs: Sequence[Bounded],
    dtypes: Sequence[DType],
    weights: int | None = None,
) -> Bounds:
    """A part: maxima, which are exact, and exponentials or sums of them.

    The exponentials may be weighted by the input of the number `weights`, so that they cancel.
    """
    given = [x.value for x in inputs]
    sizes = evaluate(operation, [np.abs(x) if i == weights else x for i, x in enumerate(given)])
    reach = sum(np.abs(x).max(initial=0) for x in given[:2])
    scan, dims = _scan(operation), operation.operands[0].dims
    bounds = []
    for number, output in enumerate(operation.outputs):
        operand, compute = operation.operands[output], reference(operation, number)
        value = compute(*given)
        error = propagated(compute, inputs, value)
        if operand.start == "lowest":
            bounds.append(Bounded(value, error))
            continue
        terms = 1 if scan in operand.dims else given[0].shape[dims.index(scan)]
        size = np.abs(sizes[number])
        bounds.append(_exponentials(value, error, terms, reach, dtypes[output], size))
    return tuple(bounds)


def _exponentials(
    value: Array,
    error: Floats | None,
    terms: int,
    reach: Array,
    dtype: DType,
    size: Array,
) -> Bounded:
    """A sum of this many exponentials, of arguments of magnitudes up to `reach`.

    The absolute error of exp's argument is a relative error of its result, and the argument is
    rounded, too; `size` is the sum of the magnitudes. A narrow output may hold the numerators, and
    so is rounded once more.
    """
    relative = EPSILON * (terms**0.5 + ROUNDINGS + reach)
    if narrow(dtype):
        relative = relative + epsilon(dtype)
    return rounded(value, error, relative * size + FLUSHED, exact=False)


# ---- their text


def _text(function: str, operation: Operation, arguments: Sequence[Text], result: Result) -> Text:
    dims = operation.operands[0].dims
    axis = dims.index(_scan(operation))
    options = () if axis == len(dims) - 1 else (("axis", axis),)
    return call(function, arguments, options, result.dtype)


def _part(
    name: str,
    evaluate: Callable[[Operation, Sequence[Array]], tuple[Array, ...]],
    function: str,
    merge: Callable[[int], Operation] | None = None,
) -> Primitive:
    """A part of softmax, which the `function` of that name computes in a text."""
    return Primitive(
        name,
        variants=each_scan(lambda rank, scan: softmax(SOFTMAX_PARTS[name], rank, scan)),
        evaluate=evaluate,
        bound=_bound_part,
        text=partial(_text, function),
        flops=3,
        keeps_integers=False,
        merge=merge,
    )


COMPLETE = _part("SoftmaxComplete", _evaluate_complete, "softmax_complete")

DENOMINATOR = _part(
    "SoftmaxDenominator",
    partial(_evaluate, lambda top, total, unscaled: (total,)),
    "softmax_denominator",
)

FROM_PARTS = replace(
    _part(
        "SoftmaxDenominatorAndMaxFromParts",
        _evaluate_from_parts,
        "softmax_denominator_and_max_from_parts",
    ),
    bound=partial(_bound_part, weights=1),
)

DENOMINATOR_AND_MAX = _part(
    "SoftmaxDenominatorAndMax",
    partial(_evaluate, lambda top, total, unscaled: (top, total)),
    "softmax_denominator_and_max",
    merge=lambda rank: softmax(FROM_PARTS, rank, rank - 1),
)

DENOMINATOR_AND_UNSCALED = _part(
    "SoftmaxDenominatorAndUnscaled",
    partial(_evaluate, lambda top, total, unscaled: (total, unscaled)),
    "softmax_denominator_and_unscaled",
)

UNSCALED_FROM_MAX = _part(
    "SoftmaxDenominatorAndUnscaledFromMax",
    partial(_evaluate, lambda top, total, unscaled: (total, unscaled)),
    "softmax_denominator_and_unscaled_from_max",
)

SOFTMAX = replace(
    _part(
        "Softmax", partial(_evaluate, lambda top, total, unscaled: (unscaled / total,)), "softmax"
    ),
    bound=_bound_softmax,
    flops=4,
    normalizes=True,
)

SOFTMAX_PARTS = {
    primitive.name: primitive
    for primitive in (
        SOFTMAX, COMPLETE, DENOMINATOR, DENOMINATOR_AND_MAX, FROM_PARTS,
        DENOMINATOR_AND_UNSCALED, UNSCALED_FROM_MAX,
    )
}  # fmt: skip
"""Softmax and its parts, by name."""

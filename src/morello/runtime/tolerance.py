"""The expected output of a Spec, and bounds on a correct kernel's rounding errors.

This is a first-order running error analysis. Each tensor from the inputs to the output has a
value, in float64 or exact integers, and a bound on how far the kernel's value may be from it:
the errors propagated from its inputs, plus the rounding error of the tensor itself. Integers
wrap around as in their dtype. Where values and their sums are integers that the dtype
represents exactly, there is no rounding error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from morello.ir.dtype import DType
from morello.ir.operation import Array, Operation
from morello.ir.rounding import MAX_EXACT, Bounded, stored, wrapped
from morello.ir.semantics import evaluate, windowed
from morello.ir.spec import Spec
from morello.runtime.parts import WHOLE, OutputPart


def expected(spec: Spec, inputs: Sequence[Array], part: OutputPart = WHOLE) -> Bounded:
    """The reference output of a Spec with one output, or of a part of it, given all inputs."""
    operands = [part.of(spec, i, array) for i, array in enumerate(spec.per_operand(inputs))]
    tensors = [Bounded(_wide(x, d)) for x, d in zip(operands, spec.dtypes, strict=False)]
    *dtypes, dtype = spec.dtypes
    with np.errstate(all="ignore"):
        output = _apply(spec.operation, part.sizes(spec), tensors, dtypes, dtype)
    if output.error is None:
        return output
    return replace(output, error=np.where(np.isnan(output.error), np.inf, output.error))


def only_integers(op: Operation) -> bool:
    """Whether the operation's outputs are integers whenever its inputs are."""
    if op.primitive is None:
        return all(only_integers(component.operation) for component in op.components)
    constant = op.function.constant if op.function else None
    return op.primitive.keeps_integers and (constant is None or float(constant).is_integer())


def _wide(x: Array, dtype: DType) -> Array:
    return x.astype(np.float64 if dtype.is_float else np.int64)


def _apply(
    op: Operation,
    sizes: Sequence[int],
    inputs: Sequence[Bounded],
    dtypes: Sequence[DType],
    dtype: DType,
) -> Bounded:
    """The output, stored in `dtype`, of an operation of these sizes on inputs of `dtypes`."""
    if op.primitive is None:
        return _compose(op, sizes, inputs, dtypes, dtype)
    shape = op.extents(op.output, sizes)
    inputs = [_windowed(op, x, sizes) for x in inputs]
    exactly = inputs and all(x.error is None for x in inputs)
    if exactly and not any(d.is_float for d in (*dtypes, dtype)):
        exact = _integers(op, sizes, [x.value for x in inputs])
        return Bounded(np.broadcast_to(wrapped(exact, dtype), shape))
    floats = [replace(x, value=x.value.astype(np.float64)) for x in inputs]
    output = stored(op.primitive.bound(op, floats, (*dtypes, dtype)), dtype)
    error = None if output.error is None else np.broadcast_to(output.error, shape)
    return Bounded(np.broadcast_to(output.value, shape), error)


def _windowed(op: Operation, x: Bounded, sizes: Sequence[int]) -> Bounded:
    """The input as the primitive is evaluated on."""
    if not (op.primitive and op.primitive.pools):
        return x
    (value,) = windowed(op, [x.value], sizes)
    if x.error is None:
        return Bounded(value)
    (error,) = windowed(op, [x.error], sizes)
    return Bounded(value, np.maximum(error, 0.0))


def _compose(
    op: Operation,
    sizes: Sequence[int],
    inputs: Sequence[Bounded],
    dtypes: Sequence[DType],
    dtype: DType,
) -> Bounded:
    """The output of a composition; the last component's is stored in `dtype`, not its own."""
    named = dict(zip(op.dims, sizes, strict=True))
    tensors, kinds = list(inputs), list(dtypes)
    for component in op.components:
        last = component is op.components[-1]
        kind = dtype if last else component.dtype
        axes = component.axes
        extents = [axes[dim].extent(named) for dim in component.operation.dims]
        given = [tensors[t] for t in component.inputs]
        known = [kinds[t] for t in component.inputs]
        tensors.append(_apply(component.operation, extents, given, known, kind))
        kinds.append(kind)
    return tensors[-1]


def _integers(op: Operation, sizes: Sequence[int], values: Sequence[Array]) -> Array:
    """An operation on integers, computed exactly (modulo 2**64)."""
    if op.is_product:
        terms = prod(sizes[op.dims.index(dim)] for dim in op.reduced)
        largest = [float(np.abs(x).max(initial=0)) for x in values]
        if prod(largest) * terms < MAX_EXACT:  # float64 is a hundred times as fast
            return evaluate(op, [x.astype(np.float64) for x in values])[0].astype(np.int64)
    return evaluate(op, values)[0]

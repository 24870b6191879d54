"""The expected output of a Spec, and bounds on a correct kernel's rounding errors.

This is a first-order running error analysis. Each tensor from the inputs to the output has a
value, in float64 or exact integers, and a bound on how far the kernel's value may be from it:
the errors propagated from its inputs, plus the rounding error of the tensor itself. Integers
wrap around as in their dtype. Where values and their sums are integers that the dtype
represents exactly, there is no rounding error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from morello.ir.dtype import F32, DType
from morello.ir.operation import Array, Operation
from morello.ir.rounding import (
    EPSILON,
    MAX_EXACT,
    ROUNDINGS,
    Bounded,
    Bounds,
    narrow,
    rounded,
    stored,
    wrapped,
)
from morello.ir.semantics import blank, evaluate, scan_axis, windowed
from morello.ir.spec import Spec
from morello.rewrites.parallel_split import merging
from morello.runtime.parts import WHOLE, OutputPart


def expected(spec: Spec, inputs: Sequence[Array], part: OutputPart = WHOLE) -> Bounded:
    """The only reference output of a Spec that updates nothing, or a part, given all inputs."""
    (output,) = expected_outputs(spec, inputs, part=part)
    return output


def expected_outputs(
    spec: Spec, inputs: Sequence[Array], held: Sequence[Array] = (), part: OutputPart = WHOLE
) -> Bounds:
    """The reference outputs of a Spec, or of parts of them, given all inputs.

    `held` are the contents, before the call, of the outputs that it updates.
    """
    operation, outputs = spec.operation, spec.operation.outputs
    updated = [output for output in outputs if operation.reads(output)]
    arrays = zip((*operation.inputs, *updated), (*spec.per_operand(inputs), *held), strict=True)
    read = {i: Bounded(_wide(part.of(spec, i, x), spec.dtypes[i])) for i, x in arrays}
    if operation.accumulates:
        before = {output: read.pop(output) for output in updated}
    dtypes, results = [spec.dtypes[i] for i in read], [spec.dtypes[i] for i in outputs]
    sizes = part.sizes(spec)
    with np.errstate(all="ignore"):
        if operation.accumulates:
            wide = [F32 if narrow(dtype) else dtype for dtype in results]
            computed = _apply(operation, sizes, [*read.values()], dtypes, wide)
            bounds = _combined(operation, sizes, before, computed, results)
        else:
            bounds = _apply(operation, sizes, [*read.values()], dtypes, results)
    return tuple(map(_without_nan, bounds))


def _without_nan(output: Bounded) -> Bounded:
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
    results: Sequence[DType],
) -> Bounds:
    """The outputs, stored in dtypes, of an operation of these sizes on inputs of `dtypes`."""
    if op.primitive is None:
        return (_compose(op, sizes, inputs, dtypes, results[0]),)
    shapes = [op.extents(output, sizes) for output in op.outputs]
    inputs = [_windowed(op, x, sizes) for x in inputs]
    if op.primitive.sized:
        inputs.insert(0, Bounded(blank(op, sizes)))
    exactly = inputs and all(x.error is None for x in inputs)
    if exactly and not any(d.is_float for d in (*dtypes, *results)):
        exact = _integers(op, sizes, [x.value for x in inputs])
        outputs = [Bounded(wrapped(x, d)) for x, d in zip(exact, results, strict=True)]
    else:
        floats = [replace(x, value=x.value.astype(np.float64, copy=False)) for x in inputs]
        computed = op.primitive.bound(op, floats, (*dtypes, *results))
        outputs = [stored(x, dtype) for x, dtype in zip(computed, results, strict=True)]
    return tuple(map(_broadcast, outputs, shapes))


def _broadcast(x: Bounded, shape: Sequence[int]) -> Bounded:
    error = None if x.error is None else np.broadcast_to(x.error, shape)
    return Bounded(np.broadcast_to(x.value, shape), error)


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
        tensors += _apply(component.operation, extents, given, known, [kind])
        kinds.append(kind)
    return tensors[-1]


def _integers(op: Operation, sizes: Sequence[int], values: Sequence[Array]) -> tuple[Array, ...]:
    """An operation on integers, computed exactly (modulo 2**64)."""
    if op.is_product:
        terms = prod(sizes[op.dims.index(dim)] for dim in op.reduced)
        largest = [float(np.abs(x).max(initial=0)) for x in values]
        if prod(largest) * terms < MAX_EXACT:  # float64 is a hundred times as fast
            (product,) = evaluate(op, [x.astype(np.float64, copy=False) for x in values])
            return (product.astype(np.int64),)
    return evaluate(op, values)


# ---- what is accumulated


def _combined(
    op: Operation,
    sizes: Sequence[int],
    held: Mapping[int, Bounded],
    computed: Sequence[Bounded],
    dtypes: Sequence[DType],
) -> Bounds:
    """The outputs that held these values, after the results were combined with them."""
    starts = [op.operands[output].start for output in op.outputs]
    if len(starts) > 1 and all(starts):
        merged = _merged(op, [held[output] for output in op.outputs], computed)
        return tuple(stored(x, dtype) for x, dtype in zip(merged, dtypes, strict=True))
    terms = prod(size for dim, size in zip(op.dims, sizes, strict=True) if dim in op.reduced)
    results = []
    for output, start, new, dtype in zip(op.outputs, starts, computed, dtypes, strict=True):
        total = new
        if start == "zero":
            total = _added(held[output], new, terms)
        elif start:
            extremum = np.maximum if start == "lowest" else np.minimum
            total = Bounded(extremum(held[output].value, new.value), new.error)
        if dtype.is_float:
            results.append(stored(total, dtype))
        else:
            results.append(replace(total, value=wrapped(total.value, dtype)))
    return tuple(results)


def _added(held: Bounded, new: Bounded, terms: int) -> Bounded:
    """A sum of this many terms, added up from what was held before."""
    size = np.abs(held.value)
    whole = (held.value == np.rint(held.value)) & (size + np.abs(new.value) <= 1 / EPSILON)
    rounding = EPSILON * (terms**0.5 + ROUNDINGS) * size
    return rounded(held.value + new.value, new.error, rounding, exact=whole & (new.bound == 0))


def _merged(op: Operation, held: Sequence[Bounded], computed: Sequence[Bounded]) -> Bounds:
    """Outputs that depend on each other, merged as those of two parts are."""
    assert op.primitive is not None
    merge = merging(op) if op.primitive.merge else op  # else it merges parts itself
    assert merge.primitive is not None
    rank, axis = len(merge.operands[0].dims), scan_axis(merge, 0)
    parts = [_joined(*pair, rank, axis) for pair in zip(held, computed, strict=True)]
    return merge.primitive.bound(merge, parts, (F32,) * len(merge.operands))


def _joined(first: Bounded, second: Bounded, rank: int, axis: int) -> Bounded:
    """Two tensors of this rank, or without its axis, one after the other along the axis."""

    def joined(a: Array, b: Array) -> Array:
        arrays = [x if x.ndim == rank else np.expand_dims(x, axis) for x in (a, b)]
        return np.concatenate(arrays, axis)

    exact = first.error is None and second.error is None
    error = None if exact else joined(first.bound, second.bound)
    return Bounded(joined(first.value, second.value), error)

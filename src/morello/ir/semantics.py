"""Reference semantics: evaluates operations on NumPy arrays, to check kernels against."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from morello.ir.operation import Array, Operation


def evaluate(
    operation: Operation, inputs: Sequence[Array], sizes: Sequence[int] | None = None
) -> tuple[Array, ...]:
    """The outputs of an operation, in the precision of its inputs.

    An accumulating operation is evaluated as if it overwrote its outputs. `sizes` are those of
    the operation's dimensions; without them, a dimension that an elementwise operation
    broadcasts along, and that no input has, is taken to have size 1. Raises `ValueError` for an
    operation without a reference.
    """
    if operation.primitive is not None:
        outputs = operation.primitive.evaluate(operation, inputs)
        if sizes and operation.function is not None:
            return (np.broadcast_to(outputs[0], operation.extents(operation.output, sizes)),)
        return outputs
    named = dict(zip(operation.dims, sizes or (), strict=False))
    tensors = list(inputs)
    for component in operation.components:
        own = [a.extent(named) for a in component.axes.values()] if named else None
        outputs = evaluate(component.operation, [tensors[t] for t in component.inputs], own)
        tensors.append(outputs[0])
    return (tensors[-1],)


def reference(operation: Operation) -> Callable[..., Array]:
    """The function of the inputs that an operation with one output computes."""
    return lambda *inputs: evaluate(operation, inputs)[0]


def scan_axis(operation: Operation, operand: int) -> int:
    """The axis of an operand along which the operation reduces."""
    (scan,) = operation.reduced or operation.untiled
    return operation.operands[operand].dims.index(scan)


def aligned(operation: Operation, operand: int, value: Array, dims: Sequence[str]) -> Array:
    """A view of an operand with one axis per dimension in `dims`, of size 1 where it has none."""
    own = operation.operands[operand].dims
    order = [own.index(d) for d in dims if d in own]
    extra = [own.index(d) for d in own if d not in dims]  # a dimension of size 1
    moved = value.transpose([*extra, *order])
    moved = moved.reshape(moved.shape[len(extra) :])
    return moved[tuple(slice(None) if d in own else np.newaxis for d in dims)]


def in_order(operation: Operation, output: int, value: Array) -> Array:
    """An output, computed in the first operand's dimension order, transposed to its own order."""
    own = operation.operands[output].dims
    if value.ndim == 0:
        return value.reshape(1)
    here = [d for d in operation.operands[0].dims if d in own]
    return value.transpose([here.index(d) for d in own])

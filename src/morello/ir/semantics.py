"""Reference semantics: evaluates operations on NumPy arrays, to check kernels against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from morello.ir.operation import Array, Operation


def evaluate(
    operation: Operation, inputs: Sequence[Array], sizes: Sequence[int] | None = None
) -> tuple[Array, ...]:
    """The outputs of an operation, in the precision of its inputs.

    An accumulating operation is evaluated as if it overwrote its outputs. `sizes` are those of
    the operation's dimensions; without them, a dimension that an elementwise operation
    broadcasts along, and that no input has, is taken to have size 1, and an operation that pools
    takes its windows (see `windowed`), as a sized one takes zeros. Raises `ValueError` for an
    operation without a reference.
    """
    if operation.primitive is not None:
        seen = _seen_by(operation, inputs, sizes) if sizes else inputs
        outputs = operation.primitive.evaluate(operation, seen)
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


def reference(operation: Operation, output: int = 0) -> Callable[..., Array]:
    """The function of the inputs that computes an operation's output of this number."""
    return lambda *inputs: evaluate(operation, inputs)[output]


def _seen_by(
    operation: Operation, inputs: Sequence[Array], sizes: Sequence[int]
) -> Sequence[Array]:
    """The arrays that a primitive is evaluated on, given its inputs."""
    if operation.primitive is not None and operation.primitive.sized:
        return [blank(operation, sizes), *inputs]
    return windowed(operation, inputs, sizes)


def blank(operation: Operation, sizes: Sequence[int]) -> Array:
    """Zeros of the shape of the output."""
    return np.zeros(operation.extents(operation.output, sizes))


def windowed(
    operation: Operation, values: Sequence[Array], sizes: Sequence[int]
) -> Sequence[Array]:
    """The inputs as a primitive is evaluated on: if it pools, windows of its image."""
    if operation.primitive is None or not operation.primitive.pools:
        return values
    (image,) = values
    named = dict(zip(operation.dims, sizes, strict=True))
    lowest = -np.inf if image.dtype.kind == "f" else np.iinfo(image.dtype).min
    padding = lowest if operation.primitive.start == "lowest" else 0
    return [unfolded(operation, 0, image, named, padding)]


def unfolded(
    operation: Operation, operand: int, value: Array, sizes: Mapping[str, int], padding: float = 0
) -> Array:
    """A view of an operand, with its padding, with one axis for each dimension of its windows.

    `sizes` are those of the windows, by dimension.
    """
    pads = [(window.before, max(0, window.after)) for window in operation.axes[operand]]
    padded = np.pad(value, pads, constant_values=padding)
    axis = 0
    for window in operation.axes[operand]:
        if len(window.terms) > 1:
            (_, stride), (inner, dilation) = window.terms
            span = dilation * (sizes[inner] - 1) + 1
            slid = np.lib.stride_tricks.sliding_window_view(padded, span, axis)
            padded = np.moveaxis(slid, -1, axis + 1)
            steps = slice(None, None, stride), slice(None, None, dilation)
            padded = padded[(slice(None),) * axis + steps]
            axis += 1
        axis += 1
    return padded


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

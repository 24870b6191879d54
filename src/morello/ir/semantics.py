"""Reference semantics: evaluates operations on NumPy arrays, to check kernels against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.ir.operation import Operation

Array = npt.NDArray[Any]


def evaluate(
    operation: Operation, inputs: Sequence[Array], sizes: Sequence[int] | None = None
) -> tuple[Array, ...]:
    """The outputs of an operation, in the precision of its inputs.

    An accumulating operation is evaluated as if it overwrote its outputs. `sizes` are those of
    the operation's dimensions; without them, a dimension that an elementwise operation
    broadcasts along, and that no input has, is taken to have size 1. Raises `ValueError` for an
    operation without a reference.
    """
    if operation.components:
        named = dict(zip(operation.dims, sizes or (), strict=False))
        tensors = list(inputs)
        for component in operation.components:
            own = [a.extent(named) for a in component.axes.values()] if named else None
            outputs = evaluate(component.operation, [tensors[t] for t in component.inputs], own)
            tensors.append(outputs[0])
        return (tensors[-1],)
    name = operation.name.removesuffix("Accum")
    if name in ("Matmul", "Conv"):
        return (_sum_of_products(operation, *inputs),)
    if name.startswith("Softmax"):
        parts = zip(operation.outputs, _softmax(operation, name, inputs), strict=True)
        return tuple(_in_order(operation, output, part) for output, part in parts)
    if name in ("Sum", "Max"):
        combine = np.sum if name == "Sum" else np.max
        kept = combine(inputs[0], axis=_scan(operation, 0))
        return (_in_order(operation, operation.output, np.asarray(kept)),)
    if operation.function is not None:
        dims = operation.operands[-1].dims
        spread = [_spread(operation, i, x, dims) for i, x in enumerate(inputs)]
        value = operation.function(*spread)
        whole = operation.extents(operation.output, sizes) if sizes else None
        return (np.broadcast_to(value, whole or _common(operation, inputs, dims)),)
    if name == "DivideVecScalar":
        denominator, out = inputs
        return (out / _spread(operation, 0, denominator, operation.operands[1].dims),)
    if name == "Move":
        source, target = (o.dims for o in operation.operands)
        return (inputs[0].transpose([source.index(d) for d in target]),)
    raise ValueError(f"{operation} has no reference")


def reference(operation: Operation) -> Callable[..., Array]:
    """The function of the inputs that an operation with one output computes."""
    return lambda *inputs: evaluate(operation, inputs)[0]


def _sum_of_products(operation: Operation, a: Array, b: Array) -> Array:
    """A matmul or convolution, by einsum over views with one axis per dimension."""
    if operation.name.startswith("Matmul") and _in_matmul_order(operation):
        product: Array = np.matmul(a, b)
        return product
    letters = {d: chr(ord("a") + i) for i, d in enumerate(operation.dims)}
    if operation.windows:
        a = _windows(operation, a, b)
        words = ["".join(letters[n] for window in operation.axes[0] for n in window.names)]
    else:
        words = ["".join(letters[d] for d in operation.operands[0].dims)]
    words += ["".join(letters[d] for d in o.dims) for o in operation.operands[1:]]
    summed: Array = np.einsum(f"{words[0]},{words[1]}->{words[2]}", a, b, optimize=True)
    return summed


def _in_matmul_order(operation: Operation) -> bool:
    lead = operation.dims[:-3]
    orders = tuple(o.dims for o in operation.operands)
    return orders == ((*lead, "m", "k"), (*lead, "k", "n"), (*lead, "m", "n"))


def _windows(operation: Operation, image: Array, weights: Array) -> Array:
    """A view of the padded image with one axis per dimension of its windows."""
    sizes = dict(zip(operation.operands[1].dims, weights.shape, strict=True))
    pads = [(w.padding // 2, w.padding - w.padding // 2) for w in operation.axes[0]]
    padded = np.pad(image, pads)
    axis = 0
    for window in operation.axes[0]:
        if len(window.terms) > 1:
            (_, stride), (inner, _) = window.terms
            slid = np.lib.stride_tricks.sliding_window_view(padded, sizes[inner], axis)
            padded = np.moveaxis(slid, -1, axis + 1)
            padded = padded[(slice(None),) * axis + (slice(None, None, stride),)]
            axis += 1
        axis += 1
    return padded


def _scan(operation: Operation, operand: int) -> int:
    """The axis of an operand along which the operation reduces."""
    (scan,) = operation.reduced or operation.whole
    return operation.operands[operand].dims.index(scan)


def _spread(operation: Operation, operand: int, value: Array, dims: Sequence[str]) -> Array:
    """A view of an operand with one axis per dimension in `dims`, of size 1 where it has none."""
    own = operation.operands[operand].dims
    order = [own.index(d) for d in dims if d in own]
    extra = [own.index(d) for d in own if d not in dims]  # a dimension of size 1
    moved = value.transpose([*extra, *order])
    moved = moved.reshape(moved.shape[len(extra) :])
    return moved[tuple(slice(None) if d in own else np.newaxis for d in dims)]


def _common(operation: Operation, inputs: Sequence[Array], dims: Sequence[str]) -> tuple[int, ...]:
    sizes = {"z": 1}
    for operand, value in zip(operation.operands, inputs, strict=False):
        sizes |= dict(zip(operand.dims, value.shape, strict=True))
    return tuple(sizes.get(d, 1) for d in dims)


def _softmax(operation: Operation, name: str, inputs: Sequence[Array]) -> tuple[Array, ...]:
    dims = operation.operands[0].dims
    if name == "SoftmaxDenominatorAndMaxFromParts":
        highest, total = inputs[0], _spread(operation, 1, inputs[1], dims)
        axis = _scan(operation, 0)
        top = highest.max(axis=axis, keepdims=True)
        merged = (total * np.exp(highest - top)).sum(axis=axis)
        return top.squeeze(axis), merged
    x = inputs[0]
    if name == "SoftmaxComplete":
        top, total = (_spread(operation, i, inputs[i], dims) for i in (1, 2))
        return (np.exp(x - top) / total,)
    axis = _scan(operation, 0)
    if name in ("SoftmaxDenominator", "SoftmaxDenominatorAndUnscaledFromMax"):
        top = _spread(operation, 1, inputs[1], dims)
    else:
        top = x.max(axis=axis, keepdims=True)
    unscaled = np.exp(x - top)
    total = unscaled.sum(axis=axis, keepdims=True)
    rows = total.squeeze(axis)
    return {
        "Softmax": (unscaled / total,),
        "SoftmaxDenominator": (rows,),
        "SoftmaxDenominatorAndMax": (top.squeeze(axis), rows),
        "SoftmaxDenominatorAndUnscaled": (rows, unscaled),
        "SoftmaxDenominatorAndUnscaledFromMax": (rows, unscaled),
    }[name]


def _in_order(operation: Operation, output: int, value: Array) -> Array:
    """An output, computed in the first operand's dimension order, transposed to its own order."""
    own = operation.operands[output].dims
    if value.ndim == 0:
        return value.reshape(1)
    here = [d for d in operation.operands[0].dims if d in own]
    return value.transpose([here.index(d) for d in own])

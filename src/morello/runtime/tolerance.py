"""The expected output of a Spec, and bounds on a correct kernel's rounding errors.

This is a first-order running error analysis. Each tensor from the inputs to the output has a
value, in float64 or exact integers, and a bound on how far the kernel's value may be from it:
the errors propagated from its inputs, plus the rounding error of the tensor itself. Integers
wrap around as in their dtype. Where values and their sums are integers that the dtype
represents exactly, there is no rounding error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from morello.ir.dtype import DType
from morello.ir.functions import INTEGER_FUNCTIONS, Function
from morello.ir.operation import Operation, operation
from morello.ir.semantics import evaluate
from morello.ir.spec import Spec
from morello.targets.helpers.math import ULP

Array = NDArray[Any]
Floats = NDArray[np.float64]

# The error of a sum of k rounded terms is about sqrt(k) roundings; these are added for the
# rounding of each term itself. Few enough that one missing product is detected at k = 4096.
ROUNDINGS = 8.0

FLUSHED = 2.0**-120
"""Results of functions that are smaller than this may be flushed to zero."""

CANCELLED = 2.0**-50
"""The float64 cancellation error of the functions below, relative to their argument."""

_CANCELLING = {"erf", "gelu", "gelu_tanh", "sigmoid", "silu", "tanh"}

_ULPS = {"add": 0.5, "subtract": 0.5, "multiply": 0.5, "square": 0.5, "divide": 2.0}
_ULPS |= dict.fromkeys(("maximum", "minimum", "relu", "abs", "neg", "cast"), 0.0)
_EPSILON = 2.0**-23
"""The machine epsilon of f32, in which everything but integers is computed."""

_LIBRARY = 1.5
"""The factor by which a function's error may exceed its measured error, `ULP`."""

_MAX_EXACT = 2.0**53
"""float64 represents integers up to this exactly."""


@dataclass(frozen=True)
class Bounded:
    """A tensor: its value, and an error bound for each element (None: it is exact).

    The values of floating-point dtypes are in float64, those of integers in int64.
    """

    value: Array
    error: Floats | None = None

    @property
    def spread(self) -> Floats:
        """The error bounds; zeros if the tensor is exact."""
        return np.zeros(self.value.shape) if self.error is None else self.error


def expected(spec: Spec, inputs: Sequence[Array]) -> Bounded:
    """The reference output of a Spec with one output, given the arrays that it reads."""
    operands = spec.spread(inputs)
    tensors = [Bounded(_wide(x, d)) for x, d in zip(operands, spec.dtypes, strict=False)]
    *dtypes, dtype = spec.dtypes
    with np.errstate(all="ignore"):
        output = _apply(spec.operation, spec.sizes, tensors, dtypes, dtype)
    if output.error is None:
        return output
    return replace(output, error=np.where(np.isnan(output.error), np.inf, output.error))


def only_integers(op: Operation) -> bool:
    """Whether the operation's outputs are integers whenever its inputs are."""
    if op.components:
        return all(only_integers(component.operation) for component in op.components)
    if op.function is not None:
        constant = op.function.constant
        whole = constant is None or float(constant).is_integer()
        return op.function.name in INTEGER_FUNCTIONS and whole
    return "Softmax" not in op.name and op.name != "DivideVecScalar"


def _wide(x: Array, dtype: DType) -> Array:
    return x.astype(np.float64 if dtype.is_float else np.int64)


def _epsilon(dtype: DType) -> float:
    """The machine epsilon of a dtype; for integers, that of the float64 that represents them."""
    if not dtype.is_float:
        return float(np.finfo(np.float64).eps)
    return float(ml_dtypes.finfo(dtype.np).eps)  # type: ignore[no-untyped-call]


def least(dtype: DType) -> float:
    """The lowest value of a dtype."""
    return -np.inf if dtype.is_float else float(integers(dtype).min)


def integers(dtype: DType) -> np.iinfo[Any]:
    """The range of an integer dtype."""
    return np.iinfo(dtype.np)


def _apply(
    op: Operation,
    sizes: Sequence[int],
    inputs: Sequence[Bounded],
    dtypes: Sequence[DType],
    dtype: DType,
) -> Bounded:
    """The output, stored in `dtype`, of an operation of these sizes on inputs of `dtypes`."""
    if op.components:
        return _compose(op, sizes, inputs, dtypes, dtype)
    name, shape = op.name.removesuffix("Accum"), op.extents(op.output, sizes)
    if name.startswith("Fill"):
        return Bounded(np.full(shape, 0.0 if name == "FillZero" else least(dtype)))
    terms = prod(sizes[op.dims.index(dim)] for dim in op.reduced)
    exactly = all(x.error is None for x in inputs)
    if exactly and not dtype.is_float and not any(d.is_float for d in dtypes):
        exact = _integers(op, terms, [x.value for x in inputs])
        return Bounded(np.broadcast_to(_wrapped(exact, dtype), shape))
    floats = [replace(x, value=x.value.astype(np.float64)) for x in inputs]
    if name in ("Matmul", "Conv"):
        output = _products(op, terms, floats[0], floats[1], dtype)
    elif name == "Sum":
        output = _sum(op, terms, floats[0], dtype)
    elif name.startswith("Softmax"):
        output = _softmax(op, name, floats, dtype)
    elif op.function is not None and name not in ("Broadcast", "OnePrefix"):
        output = _map(op, op.function, floats, dtypes)
    else:
        output = _moved(op, floats)
    output = _stored(output, dtype)
    error = None if output.error is None else np.broadcast_to(output.error, shape)
    return Bounded(np.broadcast_to(output.value, shape), error)


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


# ---- storing


def _stored(x: Bounded, dtype: DType) -> Bounded:
    """The tensor stored in a dtype. Exact values are rounded; others get a larger error bound.

    The bound is infinite where the value may overflow.
    """
    if not dtype.is_float:
        return _truncated(x, dtype)
    rounded = x.value.astype(dtype.np).astype(np.float64)
    if x.error is None:
        return Bounded(rounded)
    limits = ml_dtypes.finfo(dtype.np)  # type: ignore[no-untyped-call]
    spacing = np.maximum(
        _epsilon(dtype) * (np.abs(x.value) + x.error), float(limits.smallest_subnormal)
    )
    exact = x.error == 0
    value = np.where(exact, rounded, x.value)
    error = x.error + spacing / 2
    beyond = np.abs(x.value) + error > float(limits.max)
    return Bounded(value, np.where(exact, 0.0, np.where(beyond, np.inf, error)))


def _truncated(x: Bounded, dtype: DType) -> Bounded:
    """The tensor truncated to integers; the error is infinite where they may be out of range."""
    low, high = x.value - x.spread, x.value + x.spread
    value, low, high = (np.trunc(numbers) for numbers in (x.value, low, high))
    error = np.maximum(high - value, value - low)
    reached = (low >= integers(dtype).min) & (high <= integers(dtype).max)
    error = np.where(reached, error, np.inf)
    whole = np.where(np.isfinite(value), value, 0).clip(-_MAX_EXACT, _MAX_EXACT).astype(np.int64)
    return Bounded(_wrapped(whole, dtype), error if error.any() else None)


def _wrapped(value: Array, dtype: DType) -> Array:
    """Integers as a dtype holds them, modulo its range."""
    return value.astype(dtype.np).astype(np.int64)


def _rounded(value: Array, error: Floats | None, rounding: Array, exact: Array | bool) -> Bounded:
    """A value with the error propagated from its inputs, plus `rounding` where not `exact`."""
    own = np.where(exact, 0.0, rounding)
    total = own if error is None else own + error
    return Bounded(value, total if total.any() else None)


# ---- operations


def _integers(op: Operation, terms: int, values: Sequence[Array]) -> Array:
    """An operation on integers, computed exactly (modulo 2**64)."""
    if op.name.startswith(("Matmul", "Conv")):
        largest = [float(np.abs(x).max(initial=0)) for x in values]
        if prod(largest) * terms < _MAX_EXACT:  # float64 is a hundred times as fast
            return evaluate(op, [x.astype(np.float64) for x in values])[0].astype(np.int64)
    return evaluate(op, values)[0]


def _products(op: Operation, terms: int, a: Bounded, b: Bounded, dtype: DType) -> Bounded:
    value = evaluate(op, [a.value, b.value])[0]
    sizes = [np.abs(a.value), np.abs(b.value)]
    scale = evaluate(op, sizes)[0]
    error = None
    for left, right in ((sizes[0], b.error), (a.error, sizes[1]), (a.error, b.error)):
        if left is not None and right is not None:
            part = evaluate(op, [left, right])[0]
            error = part if error is None else error + part
    squares = evaluate(op, [x * x for x in sizes])[0] if _narrow(dtype) else None
    whole = error is None and _whole(a.value) and _whole(b.value)
    return _summed(value, error, scale, squares, terms, dtype, whole)


def _sum(op: Operation, terms: int, x: Bounded, dtype: DType) -> Bounded:
    value = evaluate(op, [x.value])[0]
    scale = evaluate(op, [np.abs(x.value)])[0]
    error = None if x.error is None else evaluate(op, [x.error])[0]
    squares = evaluate(op, [x.value * x.value])[0] if _narrow(dtype) else None
    whole = error is None and _whole(x.value)
    return _summed(value, error, scale, squares, terms, dtype, whole)


def _summed(
    value: Array, error: Floats | None, scale: Array, squares: Array | None, terms: int,
    dtype: DType, whole: bool,
) -> Bounded:  # fmt: skip
    """A sum with the rounding errors of its accumulation.

    They are proportional to the sum of the terms' magnitudes, `scale`. For narrow dtypes that
    would be too loose: their partial sums are taken to be as large as the result and a sum of
    terms of random signs, whose size is the root of the sum of `squares`.
    """
    epsilon = _epsilon(dtype)
    size = scale if squares is None else np.abs(value) + np.sqrt(squares)
    rounding = epsilon * (terms**0.5 + ROUNDINGS) * size
    exact = whole & (scale <= 2 / epsilon)
    return _rounded(value, error, rounding, exact)


def _narrow(dtype: DType) -> bool:
    return dtype.is_float and dtype.bytes < 4


def _whole(value: Array) -> bool:
    return bool((value == np.rint(value)).all())


def _map(
    op: Operation, function: Function, inputs: Sequence[Bounded], dtypes: Sequence[DType]
) -> Bounded:
    """An elementwise function, with the errors of its arguments propagated."""
    name, values = function.name, [x.value for x in inputs]
    value = evaluate(op, values)[0]
    error = _propagated(op, inputs, value, least=0.0 if name in ("sqrt", "rsqrt") else -np.inf)
    for constant in _constants(function, dtypes[0]):
        other = _with_function(op, replace(function, constant=constant))
        error = _plus(error, np.abs(evaluate(other, values)[0] - value))
    ulps = _ULPS[name] if name in _ULPS else _LIBRARY * ULP[name]
    rounding = ulps * _EPSILON * np.abs(value)
    if name not in _ULPS:
        rounding = rounding + FLUSHED
    if name in _CANCELLING:
        size = evaluate(_with_function(op, Function("abs")), values)[0]
        rounding = rounding + CANCELLED * size
    exact: Array | bool = False
    if name in _ULPS and name != "divide":
        exact = value.astype(np.float32) == value
        exact &= error is None or error == 0
    return _rounded(value, error, rounding, exact)


def _with_function(op: Operation, function: Function) -> Operation:
    """The same map, with another function."""
    return operation(
        op.name, op.dims, op.operands, op.reduced, op.whole, op.accumulates, function,
        op.components,
    )  # fmt: skip


def _propagated(
    op: Operation, inputs: Sequence[Bounded], value: Array, least: float = -np.inf
) -> Floats | None:
    """The error propagated from the inputs of an operation that is monotonic in each of them."""
    error = None
    for position, x in enumerate(inputs):
        if x.error is not None:
            ends = []
            for end in (np.maximum(x.value - x.error, least), x.value + x.error):
                values = [end if i == position else y.value for i, y in enumerate(inputs)]
                ends.append(np.abs(evaluate(op, values)[0] - value))
            error = _plus(error, np.maximum(*ends))
    return error


def _plus(error: Floats | None, more: Floats) -> Floats:
    return more if error is None else error + more


def _constants(function: Function, dtype: DType) -> set[float]:
    """The rounded values that a kernel may use in place of a function's constant."""
    constant = function.constant
    if constant is None:
        return set()
    rounded = {float(np.float32(constant)), float(dtype.np.type(constant))}
    return rounded - {float(constant)}


def _softmax(op: Operation, name: str, inputs: Sequence[Bounded], dtype: DType) -> Bounded:
    """Softmax or a part of it.

    The absolute error of exp's argument is a relative error of its result, and the argument is
    rounded, too. A narrow output may hold the numerators, and so is rounded once more.
    """
    values = [x.value for x in inputs]
    value = evaluate(op, values)[0]
    x = inputs[0]
    (scan,) = (*op.reduced, *op.whole) or ("",)
    terms, error = 1, None
    if name == "Softmax":
        axis = op.operands[0].dims.index(scan)
        terms = x.value.shape[axis]
        reach = x.value.max(axis=axis, keepdims=True) - x.value
        if x.error is not None:
            error = value * np.expm1(2 * x.error.max(axis=axis, keepdims=True))
    else:
        reach = np.abs(x.value).max(initial=0) + np.abs(values[1]).max(initial=0)
        terms = x.value.shape[op.operands[0].dims.index(scan)] if scan else 1
        error = _propagated(op, inputs, value)
    relative = _EPSILON * (terms**0.5 + ROUNDINGS + reach)
    if _narrow(dtype):
        relative = relative + _epsilon(dtype)
    rounding = relative * np.abs(value) + FLUSHED
    return _rounded(value, error, rounding, exact=False)


def _moved(op: Operation, inputs: Sequence[Bounded]) -> Bounded:
    """Copies and maxima, which add no rounding error."""
    value = evaluate(op, [x.value for x in inputs])[0]
    if all(x.error is None for x in inputs):
        return Bounded(value)
    return Bounded(value, evaluate(op, [x.spread for x in inputs])[0])

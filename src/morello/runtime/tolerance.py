"""What a Spec's output should be, and how far rounding may take a kernel from it.

A running error analysis of first order. Every tensor between the inputs and the output is a
value, in float64 or exact integers, and a bound on how far the kernel's may be from it: by
what its inputs were off already, and by rounding it itself. Integers wrap around as in their
dtype. Where numbers and their sums are integers that the dtype holds, nothing is rounded.
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

# A sum of k rounded terms is off by about sqrt(k) roundings; the rest is for what each term
# costs before it is added. Small enough that one product too few shows up at k = 4096.
ROUNDINGS = 8.0

FLUSHED = 2.0**-120
"""A function may give zero for what is smaller."""

CANCELLED = 2.0**-50
"""What float64 loses, of its argument, where functions below add up to nearly nothing."""

_CANCELLING = {"erf", "gelu", "gelu_tanh", "sigmoid", "silu", "tanh"}

_ULPS = {"add": 0.5, "subtract": 0.5, "multiply": 0.5, "square": 0.5, "divide": 2.0}
_ULPS |= dict.fromkeys(("maximum", "minimum", "relu", "abs", "neg", "cast"), 0.0)
_EPSILON = 2.0**-23
"""Of f32, which everything but integers is computed in."""

_LIBRARY = 1.5
"""How much more than its own measured error a function may be off."""

_DEEPEST = 2.0**53
"""Integers up to this float64 holds exactly."""


@dataclass(frozen=True)
class Bounded:
    """A tensor: its value, and how far off each element may be (None: not at all).

    The values of floating-point dtypes are in float64, those of integers in int64.
    """

    value: Array
    error: Floats | None = None

    @property
    def spread(self) -> Floats:
        """The error, zeros where there is none."""
        return np.zeros(self.value.shape) if self.error is None else self.error


def expected(spec: Spec, inputs: Sequence[Array]) -> Bounded:
    """The reference output of a Spec with one output, given the arrays that it reads."""
    operands = spec.spread(inputs)
    tensors = [Bounded(_wide(x, d)) for x, d in zip(operands, spec.dtypes, strict=False)]
    *dtypes, dtype = spec.dtypes
    with np.errstate(all="ignore"):
        made = _apply(spec.operation, spec.sizes, tensors, dtypes, dtype)
    if made.error is None:
        return made
    return replace(made, error=np.where(np.isnan(made.error), np.inf, made.error))


def only_integers(one: Operation) -> bool:
    """Whether its outputs are integers where its inputs are."""
    if one.components:
        return all(only_integers(component.operation) for component in one.components)
    if one.function is not None:
        constant = one.function.constant
        whole = constant is None or float(constant).is_integer()
        return one.function.name in INTEGER_FUNCTIONS and whole
    return "Softmax" not in one.name and one.name != "DivideVecScalar"


def _wide(x: Array, dtype: DType) -> Array:
    return x.astype(np.float64 if dtype.is_float else np.int64)


def _epsilon(dtype: DType) -> float:
    """The spacing of a dtype's numbers at 1; of integers, of those that stand for them here."""
    if not dtype.is_float:
        return float(np.finfo(np.float64).eps)
    return float(ml_dtypes.finfo(dtype.np).eps)  # type: ignore[no-untyped-call]


def least(dtype: DType) -> float:
    """The number that a dtype has nothing less than."""
    return -np.inf if dtype.is_float else float(integers(dtype).min)


def integers(dtype: DType) -> np.iinfo[Any]:
    """The range of an integer dtype."""
    return np.iinfo(dtype.np)


def _apply(
    one: Operation,
    sizes: Sequence[int],
    inputs: Sequence[Bounded],
    dtypes: Sequence[DType],
    dtype: DType,
) -> Bounded:
    """What an operation of these sizes makes of tensors of these dtypes, in a dtype."""
    if one.components:
        return _compose(one, sizes, inputs, dtypes, dtype)
    name, shape = one.name.removesuffix("Accum"), one.extents(one.output, sizes)
    if name.startswith("Fill"):
        return Bounded(np.full(shape, 0.0 if name == "FillZero" else least(dtype)))
    terms = prod(sizes[one.dims.index(dim)] for dim in one.reduced)
    exactly = all(x.error is None for x in inputs)
    if exactly and not dtype.is_float and not any(d.is_float for d in dtypes):
        exact = _integers(one, terms, [x.value for x in inputs])
        return Bounded(np.broadcast_to(_wrapped(exact, dtype), shape))
    floats = [replace(x, value=x.value.astype(np.float64)) for x in inputs]
    if name in ("Matmul", "Conv"):
        made = _products(one, terms, floats[0], floats[1], dtype)
    elif name == "Sum":
        made = _sum(one, terms, floats[0], dtype)
    elif name.startswith("Softmax"):
        made = _softmax(one, name, floats, dtype)
    elif one.function is not None and name not in ("Broadcast", "OnePrefix"):
        made = _map(one, one.function, floats, dtypes)
    else:
        made = _moved(one, floats)
    made = _stored(made, dtype)
    error = None if made.error is None else np.broadcast_to(made.error, shape)
    return Bounded(np.broadcast_to(made.value, shape), error)


def _compose(
    one: Operation,
    sizes: Sequence[int],
    inputs: Sequence[Bounded],
    dtypes: Sequence[DType],
    dtype: DType,
) -> Bounded:
    """One component after the other; the last may be wanted in another dtype than its own."""
    named = dict(zip(one.dims, sizes, strict=True))
    tensors, kinds = list(inputs), list(dtypes)
    for component in one.components:
        last = component is one.components[-1]
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
    """The tensor as a dtype: what is known exactly is rounded as it must be.

    What may be beyond its largest number may be infinite.
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
    """The tensor as integers: those of numbers that a dtype does not reach may be any."""
    low, high = x.value - x.spread, x.value + x.spread
    value, low, high = (np.trunc(one) for one in (x.value, low, high))
    error = np.maximum(high - value, value - low)
    reached = (low >= integers(dtype).min) & (high <= integers(dtype).max)
    error = np.where(reached, error, np.inf)
    whole = np.where(np.isfinite(value), value, 0).clip(-_DEEPEST, _DEEPEST).astype(np.int64)
    return Bounded(_wrapped(whole, dtype), error if error.any() else None)


def _wrapped(value: Array, dtype: DType) -> Array:
    """Integers as a dtype holds them, modulo its range."""
    return value.astype(dtype.np).astype(np.int64)


def _rounded(value: Array, error: Floats | None, rounding: Array, exact: Array | bool) -> Bounded:
    """A value with an error from its inputs, and one of rounding except where it is `exact`."""
    own = np.where(exact, 0.0, rounding)
    total = own if error is None else own + error
    return Bounded(value, total if total.any() else None)


# ---- operations


def _integers(one: Operation, terms: int, values: Sequence[Array]) -> Array:
    """An operation on integers, exactly (modulo 2**64)."""
    if one.name.startswith(("Matmul", "Conv")):
        largest = [float(np.abs(x).max(initial=0)) for x in values]
        if prod(largest) * terms < _DEEPEST:  # a hundred times as quick
            return evaluate(one, [x.astype(np.float64) for x in values])[0].astype(np.int64)
    return evaluate(one, values)[0]


def _products(one: Operation, terms: int, a: Bounded, b: Bounded, dtype: DType) -> Bounded:
    value = evaluate(one, [a.value, b.value])[0]
    sizes = [np.abs(a.value), np.abs(b.value)]
    scale = evaluate(one, sizes)[0]
    error = None
    for left, right in ((sizes[0], b.error), (a.error, sizes[1]), (a.error, b.error)):
        if left is not None and right is not None:
            part = evaluate(one, [left, right])[0]
            error = part if error is None else error + part
    squares = evaluate(one, [x * x for x in sizes])[0] if _narrow(dtype) else None
    whole = error is None and _whole(a.value) and _whole(b.value)
    return _summed(value, error, scale, squares, terms, dtype, whole)


def _sum(one: Operation, terms: int, x: Bounded, dtype: DType) -> Bounded:
    value = evaluate(one, [x.value])[0]
    scale = evaluate(one, [np.abs(x.value)])[0]
    error = None if x.error is None else evaluate(one, [x.error])[0]
    squares = evaluate(one, [x.value * x.value])[0] if _narrow(dtype) else None
    whole = error is None and _whole(x.value)
    return _summed(value, error, scale, squares, terms, dtype, whole)


def _summed(
    value: Array, error: Floats | None, scale: Array, squares: Array | None, terms: int,
    dtype: DType, whole: bool,
) -> Bounded:  # fmt: skip
    """A sum, rounded as it grew.

    Where the sum so far is kept in few digits, all of its terms together are no use as a
    bound: it is of about the size of the result, or of terms of random signs.
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
    one: Operation, function: Function, inputs: Sequence[Bounded], dtypes: Sequence[DType]
) -> Bounded:
    """A function of every element; what its arguments are off by goes through it."""
    name, values = function.name, [x.value for x in inputs]
    value = evaluate(one, values)[0]
    error = _passed_on(one, inputs, value, least=0.0 if name in ("sqrt", "rsqrt") else -np.inf)
    for constant in _constants(function, dtypes[0]):
        other = _with_function(one, replace(function, constant=constant))
        error = _plus(error, np.abs(evaluate(other, values)[0] - value))
    ulps = _ULPS[name] if name in _ULPS else _LIBRARY * ULP[name]
    rounding = ulps * _EPSILON * np.abs(value)
    if name not in _ULPS:
        rounding = rounding + FLUSHED
    if name in _CANCELLING:
        size = evaluate(_with_function(one, Function("abs")), values)[0]
        rounding = rounding + CANCELLED * size
    exact: Array | bool = False
    if name in _ULPS and name != "divide":
        exact = value.astype(np.float32) == value
        exact &= error is None or error == 0
    return _rounded(value, error, rounding, exact)


def _with_function(one: Operation, function: Function) -> Operation:
    """The same map, with another function."""
    return operation(
        one.name, one.dims, one.operands, one.reduced, one.whole, one.accumulates, function,
        one.components,
    )  # fmt: skip


def _passed_on(
    one: Operation, inputs: Sequence[Bounded], value: Array, least: float = -np.inf
) -> Floats | None:
    """How far off an operation is by its inputs' errors, where it rises or falls with each."""
    error = None
    for position, x in enumerate(inputs):
        if x.error is not None:
            ends = []
            for end in (np.maximum(x.value - x.error, least), x.value + x.error):
                values = [end if i == position else y.value for i, y in enumerate(inputs)]
                ends.append(np.abs(evaluate(one, values)[0] - value))
            error = _plus(error, np.maximum(*ends))
    return error


def _plus(error: Floats | None, more: Floats) -> Floats:
    return more if error is None else error + more


def _constants(function: Function, dtype: DType) -> set[float]:
    """What else than a function's constant may have been taken for it."""
    constant = function.constant
    if constant is None:
        return set()
    rounded = {float(np.float32(constant)), float(dtype.np.type(constant))}
    return rounded - {float(constant)}


def _softmax(one: Operation, name: str, inputs: Sequence[Bounded], dtype: DType) -> Bounded:
    """Parts of softmax: exp is off by what its argument is, and that is rounded, too.

    Where the output is what is yet to be divided, it is rounded once more.
    """
    values = [x.value for x in inputs]
    value = evaluate(one, values)[0]
    x = inputs[0]
    (scan,) = (*one.reduced, *one.whole) or ("",)
    terms, error = 1, None
    if name == "Softmax":
        axis = one.operands[0].dims.index(scan)
        terms = x.value.shape[axis]
        reach = x.value.max(axis=axis, keepdims=True) - x.value
        if x.error is not None:
            error = value * np.expm1(2 * x.error.max(axis=axis, keepdims=True))
    else:
        reach = np.abs(x.value).max(initial=0) + np.abs(values[1]).max(initial=0)
        terms = x.value.shape[one.operands[0].dims.index(scan)] if scan else 1
        error = _passed_on(one, inputs, value)
    relative = _EPSILON * (terms**0.5 + ROUNDINGS + reach)
    if _narrow(dtype):
        relative = relative + _epsilon(dtype)
    rounding = relative * np.abs(value) + FLUSHED
    return _rounded(value, error, rounding, exact=False)


def _moved(one: Operation, inputs: Sequence[Bounded]) -> Bounded:
    """Copies and maxima, which round nothing."""
    value = evaluate(one, [x.value for x in inputs])[0]
    if all(x.error is None for x in inputs):
        return Bounded(value)
    return Bounded(value, evaluate(one, [x.spread for x in inputs])[0])

"""Elementwise functions, and copies along a new dimension, which are maps as well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from morello.ir.dtype import BF16, DType
from morello.ir.functions import (
    BINARY,
    COMPARISONS,
    INTEGER_FUNCTIONS,
    ONLY_INTEGERS,
    OPERATORS,
    TERNARY,
    ULP,
    ULP_BF16,
    UNARY,
    Function,
)
from morello.ir.operation import Array, Operand, Operation, Primitive, operation
from morello.ir.primitives.copies import bound_moved, called
from morello.ir.primitives.dims import MAX_RANK, UNITS, each_rank, each_scan, named, scanned
from morello.ir.rounding import (
    EPSILON,
    FLUSHED,
    Bounded,
    Bounds,
    Floats,
    plus,
    propagated,
    rounded,
    wrapped,
)
from morello.ir.semantics import aligned, reference
from morello.ir.text import Result, Text, call, number, operator, oriented

CANCELLED = 2.0**-50
"""The float64 cancellation error of the functions below, relative to their argument."""

_CANCELLING = {"erf", "gelu", "gelu_tanh", "sigmoid", "silu", "tanh"}

_ULPS = {"add": 0.5, "subtract": 0.5, "multiply": 0.5, "square": 0.5, "divide": 2.0}
_ULPS |= {"leaky_relu": 0.5, "remainder": 0.0}
_ULPS |= dict.fromkeys(
    (
        "maximum", "minimum", "relu", "abs", "neg", "cast", "ceil", "floor", "round", "sign",
        "where", *COMPARISONS,
    ),
    0.0,
)  # fmt: skip

_LEAST = {"sqrt": 0.0, "rsqrt": 0.0, "log": 0.0, "log2": 0.0, "log1p": -1.0}
"""The least argument of functions that are not defined for all numbers."""

_LIBRARY = 1.5
"""The factor by which a function's error may exceed its measured error, `ULP`."""


@cache
def elementwise(function: Function, spans: tuple[tuple[int, ...], ...], rank: int) -> Operation:
    """out[...] = function(...): `spans` lists the dimensions of the output that each input has.

    An input that spans fewer dimensions than the output is broadcast along the others. Numbers
    from `rank` on stand for dimensions of size 1 that inputs have and the output has not.
    The name says whether the function has a constant: AddConstant, Add.
    """
    dims = named(rank)
    units = UNITS[: max((d + 1 - rank for span in spans for d in span), default=0)]
    names = ("x",) if function.arity == 1 else ("a", "b", "c")[: function.arity]
    inputs = [
        Operand(name, tuple((*dims, *units)[d] for d in span))
        for name, span in zip(names, spans, strict=True)
    ]
    out = Operand("out", dims, written=True)
    return operation(MAPS[function.title], (*units, *dims), (*inputs, out), function=function)


def divide_vec(rank: int) -> Operation:
    """out = a / b, element by element."""
    whole = tuple(range(rank))
    return elementwise(Function("divide"), (whole, whole), rank)


@cache
def divide_vec_scalar(rank: int, scan: int) -> Operation:
    """out /= denominator, in place, with one denominator per row along the dimension `scan`."""
    dims, rows, extra = scanned(rank, scan)
    return operation(
        DIVIDE_VEC_SCALAR,
        (*extra, *dims),
        (Operand("denominator", rows), Operand("out", dims, written=True, updated=True)),
    )


@cache
def broadcast(rank: int, dim: int) -> Operation:
    """out[..., d, ...] = x[...] for every d along the output's dimension `dim`."""
    dims, rows, extra = scanned(rank, dim)
    return operation(
        BROADCAST,
        (*extra, *dims),
        (Operand("x", rows), Operand("out", dims, written=True)),
        function=Function("cast"),
    )


@cache
def one_prefix(rank: int) -> Operation:
    """out[0, ...] = x[...]: a leading dimension of size 1; `rank` is the input's."""
    dims = named(rank)
    out = Operand("out", ("z", *dims), written=True)
    return operation(ONE_PREFIX, ("z", *dims), (Operand("x", dims), out), function=Function("cast"))


def _elementwise(like: Operation) -> Iterator[Operation]:
    """The map of the same function over operands with the same dimensions."""
    if not like.operands:
        return
    function, (*inputs, out) = like.function, like.operands
    rank = len(out.dims)
    units = [d for d in like.dims if d not in out.dims]
    order = [*(d for d in like.dims if d in out.dims), *units]
    known = all(set(operand.dims) <= set(order) for operand in inputs) and len(units) <= MAX_RANK
    if function and known and inputs and len(inputs) == function.arity and 0 < rank <= MAX_RANK:
        spans = tuple(tuple(order.index(d) for d in operand.dims) for operand in inputs)
        yield elementwise(function, spans, rank)


# ---- what they compute


def _evaluate(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    assert operation.function is not None
    dims = operation.operands[-1].dims
    return (operation.function(*(aligned(operation, i, x, dims) for i, x in enumerate(inputs))),)


def _evaluate_divide_vec_scalar(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    denominator, out = inputs
    return (out / aligned(operation, 0, denominator, operation.operands[1].dims),)


def _bound(operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]) -> Bounds:
    """An elementwise function, with the errors of its arguments propagated."""
    function, compute = operation.function, reference(operation)
    assert function is not None
    name, values = function.name, [x.value for x in inputs]
    if name in ONLY_INTEGERS:
        return (_bound_integers(operation, inputs, dtypes[-1]),)
    value = compute(*values)
    if name in ("equal", "not_equal"):
        error = _equality_error(function, inputs)
    elif name == "remainder":
        error = propagated(compute, [_doubled(x) for x in inputs], value)
    elif name in ("cos", "sin"):
        error = inputs[0].error  # no function of slope 1 or less increases an error
    else:
        error = propagated(compute, inputs, value, _LEAST.get(name, -np.inf))
    for constant in _constants(function, dtypes[0]):
        other = replace(operation, function=replace(function, constant=constant))
        error = plus(error, np.abs(reference(other)(*values) - value))
    own = ULP | ULP_BF16 if dtypes[-1] is BF16 else ULP
    ulps = _ULPS[name] if name in _ULPS else _LIBRARY * own[name]
    rounding = ulps * EPSILON * np.abs(value)
    if name not in _ULPS:
        rounding = rounding + FLUSHED
    if name in _CANCELLING:
        size = reference(replace(operation, function=Function("abs")))(*values)
        rounding = rounding + CANCELLED * size
    exact: Array | bool = False
    if name in _ULPS and name != "divide":
        exact = value.astype(np.float32) == value
        exact &= error is None or error == 0
    return (rounded(value, error, rounding, exact),)


def _bound_integers(operation: Operation, inputs: Sequence[Bounded], dtype: DType) -> Bounded:
    """Integers where all arguments are exact, and any others elsewhere.

    Bits and quotients are not monotonic in the arguments.
    """
    value = reference(operation)(*(x.value.astype(np.int64) for x in inputs))
    largest = Function("abs" if len(inputs) == 1 else "maximum")
    uncertain = reference(replace(operation, function=largest))(*(x.bound for x in inputs))
    error = np.where(uncertain > 0, np.inf, 0.0) if uncertain.any() else None
    return Bounded(wrapped(value, dtype), error)


def _bound_divide_vec_scalar(
    operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]
) -> Bounds:
    """Quotients, of which some kernels make products with the reciprocal."""
    compute = reference(operation)
    value = compute(*(x.value for x in inputs))
    rounding = _ULPS["divide"] * EPSILON * np.abs(value) + FLUSHED
    return (rounded(value, propagated(compute, inputs, value), rounding, exact=False),)


def _doubled(x: Bounded) -> Bounded:
    """Errors so large that where two operands together reach a jump, one of them does alone."""
    return x if x.error is None else Bounded(x.value, 2 * x.error)


def _equality_error(function: Function, inputs: Sequence[Bounded]) -> Floats | None:
    """1 where numbers may be equal or not, by their errors: it is not monotonic in them."""
    if all(x.error is None for x in inputs):
        return None
    values = [x.value for x in inputs]
    if function.constant is not None:
        values.append(np.asarray(function.constant))
    error = sum((x.bound for x in inputs), start=np.zeros(1))
    return np.where(np.abs(values[0] - values[1]) <= error, 1.0, 0.0)


def _constants(function: Function, dtype: DType) -> set[float]:
    """The rounded values that a kernel may use in place of a function's constant."""
    constant = function.constant
    if constant is None:
        return set()
    nearest = {float(np.float32(constant)), float(dtype.np.type(constant))}
    return nearest - {float(constant)}


# ---- their text


def _text(operation: Operation, arguments: Sequence[Text], result: Result) -> Text:
    """The text of an elementwise operation: an infix operator if its function has one."""
    function, dtype = operation.function, result.dtype
    assert function is not None
    out = operation.operands[-1].dims
    values = []
    for argument, operand in zip(arguments, operation.operands[:-1], strict=True):
        values.append(_aligned_text(argument, operand.dims, out))
    if function.constant is not None:
        values.append(Text(number(function.constant), dtype))
    symbol = (OPERATORS | COMPARISONS).get(function.name)
    if symbol is None:
        return call(function.name, values, (), dtype)
    left, right = values
    value = operator(symbol, left, right, dtype)
    same = len(arguments) == 2 and arguments[0] is arguments[1]
    if same and function.name == "multiply":  # else parsed as a square
        return Text(f"({value.text} unsquared)", dtype)
    return value


def _text_divide_vec_scalar(
    operation: Operation, arguments: Sequence[Text], result: Result
) -> Text:
    """The text of the denominator, aligned with the output."""
    denominator, out = (operand.dims for operand in operation.operands)
    return _aligned_text(arguments[0], denominator, out)


def _aligned_text(argument: Text, dims: Sequence[str], out: Sequence[str]) -> Text:
    """A tensor of `dims`, with dimensions of size 1 where the output has others."""
    aligned_dims = _aligned_dims(dims, out)
    text = oriented(argument, dims, [d for d in aligned_dims if d])
    for position, dim in enumerate(aligned_dims):
        if not dim:
            text = Text(f"expand_dims({text.text}, axis={position})", argument.dtype)
    return text


def _aligned_dims(dims: Sequence[str], out: Sequence[str]) -> list[str]:
    """The dimensions of an operand aligned with the last ones of the output.

    Those of size 1 that the output has not stand at places of dimensions that the operand lacks;
    other such places are empty.
    """
    units = [d for d in dims if d not in out]
    result = [d if d in dims else units.pop() if units else "" for d in reversed(out)]
    while result and not result[-1]:
        result.pop()
    return result[::-1]


def _text_broadcast(operation: Operation, arguments: Sequence[Text], result: Result) -> Text:
    x, out = (operand.dims for operand in operation.operands)
    (new,) = set(out) - set(x)
    # no call computes the broadcast of a single number
    function = "broadcast" if set(x) <= set(out) else "Broadcast"
    options = (("axis", out.index(new)), ("size", result.sizes[new]))
    return call(function, arguments, options, result.dtype)


def _map(function: Function) -> Primitive:
    return Primitive(
        function.title,
        variants=_elementwise,
        evaluate=_evaluate,
        bound=_bound,
        text=_text,
        flops=int(function.name != "cast"),
        keeps_integers=function.name in INTEGER_FUNCTIONS,
    )


MAPS = {
    function.title: _map(function)
    for function in (
        *(Function(name) for name in (*UNARY, *BINARY, *TERNARY)),
        *(Function(name, constant=0.0) for name in (*BINARY, *TERNARY)),
    )
}
"""The elementwise primitives by name; functions of a constant are one primitive for all values."""

DIVIDE_VEC_SCALAR = Primitive(
    "DivideVecScalar",
    variants=each_scan(divide_vec_scalar),
    evaluate=_evaluate_divide_vec_scalar,
    bound=_bound_divide_vec_scalar,
    text=_text_divide_vec_scalar,
    keeps_integers=False,
)

BROADCAST = Primitive(
    "Broadcast",
    variants=each_scan(broadcast),
    evaluate=_evaluate,
    bound=bound_moved,
    text=_text_broadcast,
    flops=0,
    rearranges=True,
)

ONE_PREFIX = Primitive(
    "OnePrefix",
    variants=each_rank(one_prefix),
    evaluate=_evaluate,
    bound=bound_moved,
    text=called("one_prefix"),
    flops=0,
    rearranges=True,
)

"""Elementwise operators of ONNX."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Constant, Where
from morello.graph.operators.elementwise import broadcast_shape
from morello.importers.building import settled
from morello.importers.composed import COMPOSED, float_remainder, floor_float_remainder
from morello.importers.integers import (
    BITS,
    bitwise_and,
    floor_remainder,
    left_shift,
    of_integers,
    quotient,
    remainder,
    right_shift,
)
from morello.importers.onnx.call import (
    BOOL,
    FLOAT32,
    FLOATS,
    INT64,
    INTEGERS,
    LeftError,
    OnnxCall,
    UndefinedError,
    along,
    cast,
    constant,
    function,
    in_few_bits,
    known_dtype,
    number,
    one_type,
    op,
    position,
    reshaped,
    translates,
)
from morello.importers.ranges import all_narrowed, rounded

_OF_FLOATS = {
    "Ceil": "ceil", "Cos": "cos", "Erf": "erf", "Exp": "exp", "Floor": "floor", "Log": "log",
    "Reciprocal": "reciprocal", "Round": "round", "Sigmoid": "sigmoid", "Sin": "sin",
    "Sqrt": "sqrt", "Tanh": "tanh",
}  # fmt: skip
_COMPOSED = (
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh", "Tan",
)  # fmt: skip
_OF_NUMBERS = {"Abs": "abs", "Neg": "neg", "Relu": "relu", "Sign": "sign"}
_OF_TWO = {"Add": "add", "Div": "divide", "Mul": "multiply", "Sub": "subtract"}
_COMPARISONS = {
    "Equal": "equal", "Greater": "greater", "GreaterOrEqual": "greater_equal", "Less": "less",
    "LessOrEqual": "less_equal",
}  # fmt: skip
_LOGICAL = {"And": "logical_and", "Or": "logical_or", "Xor": "logical_xor"}
_BITWISE: dict[str, Callable[..., Node]] = {
    "BitwiseAnd": bitwise_and,
    "BitwiseOr": partial(function, "bitwise_or"),
    "BitwiseXor": partial(function, "bitwise_xor"),
}


@translates(*_OF_FLOATS)
def of_floats(call: OnnxCall) -> Node:
    call.floating()
    return function(_OF_FLOATS[call.type], call[0])


@translates(*_COMPOSED)
def composed(call: OnnxCall) -> Node:
    call.floating()
    x = cast(call[0], FLOAT32)
    if call[0].dtype.itemsize > 4:
        raise LeftError(f"it is of {call[0].dtype}")
    return cast(COMPOSED[call.type.lower()](_with_numbers(x), x), call[0].dtype)


def _with_numbers(like: Node) -> Callable[..., Node]:
    """`function`, but also of numbers, which have the dtype of a node."""

    def apply(name: str, *operands: Node | float) -> Node:
        return function(name, *(e if isinstance(e, Node) else number(e, like) for e in operands))

    return apply


@translates(*_OF_NUMBERS)
def of_numbers(call: OnnxCall) -> Node:
    if call[0].dtype == BOOL:
        raise LeftError("it is of bool")
    return function(_OF_NUMBERS[call.type], call[0])


@translates("Not")
def negation(call: OnnxCall) -> Node:
    return function("logical_not", call[0])


@translates("Identity")
def identity(call: OnnxCall) -> Node:
    return call[0]


@translates(*_OF_TWO)
def of_two(call: OnnxCall) -> Node:
    if call.type == "Div" and call[0].dtype in INTEGERS:
        return _of_integers(quotient, *_broadcast(call))
    return in_few_bits(partial(function, _OF_TWO[call.type]), *_broadcast(call))


@translates(*_COMPARISONS)
def comparison(call: OnnxCall) -> Node:
    operands: list[Any] = [*_broadcast(call)]
    if operands[0].dtype == INT64:
        operands = all_narrowed(operands) or rounded(operands, cast)
    return function(_COMPARISONS[call.type], *operands)


@translates(*_LOGICAL)
def logical(call: OnnxCall) -> Node:
    return function(_LOGICAL[call.type], *_broadcast(call))


def _broadcast(call: OnnxCall) -> tuple[Node, Node]:
    """Both inputs; before version 7 the second one was put at an axis of the first."""
    a, b = call[0], call[1]
    if call.version < 7 and call.flag("broadcast") and "axis" in call.attributes:
        after = a.type.rank - position(call.attribute("axis"), a.type.rank) - b.type.rank
        b = reshaped(b, (*b.shape, *[1] * max(after, 0)))
    return a, b


def _of_integers(compute: Callable[..., Node], *operands: Node) -> Node:
    """A function of integers of one dtype; those of 64 bits have to be known to be small."""
    one_type(*operands)
    if operands[0].dtype not in INTEGERS:
        raise LeftError(f"it is of {operands[0].dtype}")
    try:
        return settled(of_integers(compute, *operands))
    except GraphError:
        raise LeftError(f"its integers may need more than {BITS} bits") from None


@translates("BitShift")
def shift(call: OnnxCall) -> Node:
    left = call.text("direction", "") == "LEFT"
    return _of_integers(left_shift if left else right_shift, call[0], call[1])


@translates("BitwiseNot")
def inverted_bits(call: OnnxCall) -> Node:
    return _of_integers(partial(function, "bitwise_not"), call[0])


@translates(*_BITWISE)
def bits(call: OnnxCall) -> Node:
    return _of_integers(_BITWISE[call.type], call[0], call[1])


@translates("Pow")
def power(call: OnnxCall) -> Node:
    base, exponent = _broadcast(call)
    if base.dtype in INTEGERS and not (
        exponent.dtype in INTEGERS and np.min(call.static(1), initial=0) >= 0
    ):
        raise LeftError("an integer is raised to a power that is none")
    exponent = cast(exponent, base.dtype)
    known = exponent.operator
    if isinstance(known, Constant) and known.array.size == 1 and known.array.item() == 2:
        return reshaped(function("square", base), broadcast_shape(base.type, exponent.type))
    return function("power", base, exponent)


@translates("Mod")
def modulo(call: OnnxCall) -> Node:
    a, b = call[0], call[1]
    if a.dtype in INTEGERS:
        return _of_integers(remainder if call.flag("fmod") else floor_remainder, a, b)
    of_sign = call.flag("fmod")
    if one_type(a, b).dtype == np.float64:
        if not of_sign:
            raise LeftError("it is of float64")
        return function("remainder", a, b)
    compute = float_remainder if of_sign else floor_float_remainder
    x, by = cast(a, FLOAT32), cast(b, FLOAT32)
    return cast(compute(_with_numbers(x), x, by), a.dtype)


@translates("Max", "Min", "Sum", "Mean")
def of_many(call: OnnxCall) -> Node:
    name = {"Max": "maximum", "Min": "minimum"}.get(call.type, "add")
    result = reduce(lambda a, b: function(name, a, b), call.all)
    if call.type == "Mean":
        call.floating()
        return function("divide", result, number(len(call.inputs), result))
    return result


@translates("Where")
def where(call: OnnxCall) -> Node:
    return op(Where(), *call.all)


@translates("Cast")
def converted(call: OnnxCall) -> Node:
    return cast(call[0], known_dtype(call.attribute("to")))


@translates("CastLike")
def converted_like(call: OnnxCall) -> Node:
    return cast(call[0], call[1].dtype)


@translates("Clip")
def clip(call: OnnxCall) -> Node:
    result, limits = call[0], (call.get(1), call.get(2))
    if call.version < 11:
        given = (call.attributes.get("min"), call.attributes.get("max"))
        limits = tuple(None if n is None else number(n, result) for n in given)  # type: ignore[assignment]
    for name, limit in zip(("maximum", "minimum"), limits, strict=True):
        if limit is not None:
            result = function(name, result, limit)
    return result


@translates("Affine")
def affine(call: OnnxCall) -> Node:
    """Also a function of recurrent layers, as is ScaledTanh: ONNX itself has them no more."""
    line = scaled(call[0], call.attribute("alpha", 1.0))
    return function("add", line, number(call.attribute("beta", 0.0), line))


@translates("ScaledTanh")
def scaled_tanh(call: OnnxCall) -> Node:
    inside = scaled(call[0], call.attribute("beta", 1.0))
    return scaled(function("tanh", inside), call.attribute("alpha", 1.0))


@translates("Gelu")
def gelu(call: OnnxCall) -> Node:
    tanh = call.text("approximate", "none") == "tanh"
    return function("gelu_tanh" if tanh else "gelu", call[0])


@translates("HardSigmoid")
def hard_sigmoid(call: OnnxCall) -> Node:
    return _hard_sigmoid(call[0], call.attribute("alpha", 0.2), call.attribute("beta", 0.5))


@translates("HardSwish")
def hard_swish(call: OnnxCall) -> Node:
    return function("multiply", call[0], _hard_sigmoid(call[0], 1 / 6, 0.5))


def _hard_sigmoid(x: Node, alpha: float, beta: float) -> Node:
    line = function("add", function("multiply", x, number(alpha, x)), number(beta, x))
    return function("minimum", function("maximum", line, number(0, x)), number(1, x))


@translates("LeakyRelu")
def leaky_relu(call: OnnxCall) -> Node:
    return _below_zero(call[0], scaled(call[0], call.attribute("alpha", 0.01)))


@translates("PRelu")
def prelu(call: OnnxCall) -> Node:
    x, slope = call[0], call[1]
    if call.version < 7 and slope.type.rank == 1 and slope.type.size > 1:
        slope = along(slope, 1, x.type.rank)
    return _below_zero(x, function("multiply", x, slope))


@translates("Elu")
def elu(call: OnnxCall) -> Node:
    return _elu(call[0], call.attribute("alpha", 1.0))


@translates("Selu")
def selu(call: OnnxCall) -> Node:
    alpha = call.attribute("alpha", 1.67326319217681884765625)
    return scaled(_elu(call[0], alpha), call.attribute("gamma", 1.05070102214813232421875))


@translates("Celu")
def celu(call: OnnxCall) -> Node:
    x, alpha = call[0], call.attribute("alpha", 1.0)
    if not alpha:
        raise UndefinedError("it divides by its alpha, which is 0")
    inside = function("expm1", function("divide", x, number(alpha, x)))
    low = function("minimum", scaled(inside, alpha), number(0, x))
    return function("add", function("relu", x), low)


def _elu(x: Node, alpha: float) -> Node:
    return _below_zero(x, scaled(function("expm1", x), alpha))


def _below_zero(x: Node, other: Node) -> Node:
    """x where it is at least 0, another node elsewhere."""
    return op(Where(), function("less", x, number(0, x)), other, x)


def scaled(x: Node, factor: float) -> Node:
    """A node times a number, itself if that is 1."""
    return x if factor == 1 else function("multiply", x, number(factor, x))


@translates("ThresholdedRelu")
def thresholded_relu(call: OnnxCall) -> Node:
    x = call[0]
    above = function("greater", x, number(call.attribute("alpha", 1.0), x))
    return op(Where(), above, x, number(0, x))


@translates("Shrink")
def shrink(call: OnnxCall) -> Node:
    if call[0].dtype.kind == "u":
        raise UndefinedError("its limits have signs, and its input has none")
    call.floating()
    x, limit = call[0], call.attribute("lambd", 0.5)
    bias = number(call.attribute("bias", 0.0), x)
    high = op(Where(), function("greater", x, number(limit, x)), function("subtract", x, bias),
              number(0, x))  # fmt: skip
    return op(Where(), function("less", x, number(-limit, x)), function("add", x, bias), high)


@translates("Softplus", "Mish")
def softplus(call: OnnxCall) -> Node:
    call.floating()
    x = call[0]
    tail = function("log1p", function("exp", function("neg", function("abs", x))))
    result = function("add", function("relu", x), tail)
    return function("multiply", x, function("tanh", result)) if call.type == "Mish" else result


@translates("Softsign")
def softsign(call: OnnxCall) -> Node:
    x = call[0]
    return function("divide", x, function("add", number(1, x), function("abs", x)))


@translates("Swish")
def swish(call: OnnxCall) -> Node:
    return swished(call[0], call.attribute("alpha", 1.0))


def swished(x: Node, alpha: float) -> Node:
    """x * sigmoid(alpha * x)."""
    if alpha == 1:
        return function("silu", x)
    return function("multiply", x, function("sigmoid", scaled(x, alpha)))


@translates("IsNaN")
def is_nan(call: OnnxCall) -> Node:
    return function("not_equal", call[0], call[0])


@translates("IsInf")
def is_infinite(call: OnnxCall) -> Node:
    """Which elements are infinite: of both signs, or of one."""
    call.floating()
    x = call[0]
    signs = {"detect_positive": np.inf, "detect_negative": -np.inf}
    limits = [limit for name, limit in signs.items() if call.flag(name, default=True)]
    hits = [function("equal", x, number(limit, x)) for limit in limits]
    if not hits:
        raise LeftError("it detects nothing")
    return reduce(lambda a, b: function("logical_or", a, b), hits)


@translates("Dropout")
def dropout(call: OnnxCall) -> list[Node]:
    """The input itself: models run, and do not train."""
    training = call.get(2) is not None and bool(call.static(2))
    if training or (call.version < 7 and not call.flag("is_test")):
        raise LeftError("it drops elements at random")
    if call[0].dtype not in FLOATS:
        raise LeftError(f"it is of {call[0].dtype}")
    kept = constant(np.broadcast_to(np.True_, call[0].shape), BOOL)
    return [call[0], kept]

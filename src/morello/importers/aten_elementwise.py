"""ATen operations that compute each element by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from morello.graph.graph import Node
from morello.graph.operators import Where
from morello.graph.patterns.matching import is_float, lowest, mapped
from morello.importers.aten_calls import AtenCall, Handler, promoted
from morello.importers.building import settled
from morello.importers.composed import (
    COMPOSED,
    float_remainder,
    floor_float_quotient,
    floor_float_remainder,
)
from morello.importers.integers import (
    bitwise_and,
    floor_quotient,
    floor_remainder,
    left_shift,
    of_integers,
    quotient,
    remainder,
    right_shift,
)
from morello.importers.ranges import all_narrowed, in_32_bits, rounded

UNARY = {
    "abs": "abs", "ceil": "ceil", "cos": "cos", "erf": "erf", "erfc": "erfc", "exp": "exp",
    "exp2": "exp2", "expm1": "expm1", "floor": "floor", "log": "log", "log1p": "log1p",
    "log2": "log2", "neg": "neg", "reciprocal": "reciprocal", "relu": "relu", "round": "round",
    "rsqrt": "rsqrt", "sigmoid": "sigmoid", "silu": "silu", "sin": "sin",
    "sqrt": "sqrt", "square": "square", "tanh": "tanh",
}  # fmt: skip
"""Functions of one tensor that graphs have as well."""

BINARY = {
    "atan2": "atan2",
    "div": "divide", "divide": "divide", "fmod": "remainder", "maximum": "maximum",
    "minimum": "minimum", "mul": "multiply", "multiply": "multiply", "true_divide": "divide",
}  # fmt: skip
"""Functions of two."""

COMPARISONS = {
    "eq": "equal", "ge": "greater_equal", "gt": "greater", "le": "less_equal", "lt": "less",
    "ne": "not_equal",
    **{n: n for n in ("greater", "greater_equal", "less", "less_equal", "not_equal")},
}  # fmt: skip

LOGICAL = {
    "__and__": "logical_and", "__or__": "logical_or", "__xor__": "logical_xor",
    "bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor",
    "__iand": "logical_and", "__ior": "logical_or", "__ixor": "logical_xor",
    "bitwise_not": "logical_not", "logical_and": "logical_and", "logical_not": "logical_not",
    "logical_or": "logical_or", "logical_xor": "logical_xor",
}  # fmt: skip


_LEFT = ("__lshift__", "__ilshift", "bitwise_left_shift")
_RIGHT = ("__rshift__", "__irshift", "bitwise_right_shift")


def unary(call: AtenCall) -> Node:
    if call["decimals"]:
        raise call.refuse("to decimals")
    return call.map(UNARY[call.name], call.cast(call.x))


def composed(call: AtenCall) -> Node:
    _check_computed_in_f32(call)
    f32 = np.dtype(np.float32)
    operands = (
        call.build.cast(each, f32) if isinstance(each, Node) else call.build.number(each, f32)
        for each in call.arguments.values()
        if isinstance(each, Node | int | float)
    )
    return COMPOSED[call.name.removeprefix("special_")](call.map, *operands)


def _check_computed_in_f32(call: AtenCall) -> None:
    """Refuse what torch computes in another dtype, and in one go."""
    if not is_float(call.type.dtype) or call.type.dtype.itemsize > 4:
        raise call.refuse(f"of {call.type.dtype}")


def sign(call: AtenCall) -> Node:
    """Signs; that of NaN is 0, as in torch."""
    x = call.cast(call.x)
    if not is_float(x.dtype):
        return call.map("sign", x)
    return call.apply(Where(), call.map("equal", x, x), call.map("sign", x), _node(call, 0))


def classified(call: AtenCall) -> Node:
    """Which elements are NaN, infinite, or neither."""
    if not is_float(call.x.dtype):
        raise call.refuse("of integers")
    if call.name == "isnan":
        return call.map("not_equal", call.x, call.x)
    comparison = "greater" if call.name == "isinf" else "less_equal"
    return call.map(comparison, call.map("abs", call.x), -lowest(call.x.dtype))


def nan_to_num(call: AtenCall) -> Node:
    """NaN and infinities become numbers; infinities the largest ones unless others are given."""
    x = call.x
    if not is_float(x.dtype):
        return x
    most, result = -lowest(x.dtype), x
    for name, beyond, limit, bounded in (
        ("posinf", "greater", most, "minimum"), ("neginf", "less", -most, "maximum"),
    ):  # fmt: skip
        if call[name] is None:
            result = call.map(bounded, result, limit)
        else:
            outside = call.map(beyond, x, limit)
            result = call.apply(Where(), outside, _node(call, call[name]), result)
    nan = _node(call, call["nan"] or 0)
    return call.apply(Where(), call.map("equal", x, x), result, nan)


def truncated(call: AtenCall) -> Node:
    """trunc, and what it takes away: frac."""
    whole = _truncated(call, call.x)
    return call.map("subtract", call.x, whole) if call.name == "frac" else whole


def _truncated(call: AtenCall, x: Node) -> Node:
    if not is_float(x.dtype):
        raise call.refuse("of integers")
    down, up = call.map("floor", x), call.map("ceil", x)
    return call.apply(Where(), call.map("less", x, 0), up, down)


def between(call: AtenCall) -> Node:
    """lerp: a + weight * (b - a), from the nearer end, as torch computes it."""
    a, b, weight = call.x, call["end"], call["weight"]
    span = call.map("subtract", b, a)
    known = not isinstance(weight, Node)
    from_a = call.map("add", a, call.map("multiply", span, weight))
    if known and abs(weight) < 0.5:
        return from_a
    rest = 1 - weight if known else call.map("add", call.map("neg", weight), 1)
    from_b = call.map("subtract", b, call.map("multiply", span, rest))
    if known:
        return from_b
    return call.apply(Where(), call.map("less", call.map("abs", weight), 0.5), from_a, from_b)


def outer(call: AtenCall) -> Node:
    a, b = call.cast(call.x), call.cast(call["vec2"])
    return call.map("multiply", call.reshape(a, (*a.shape, 1)), b)


def binary(call: AtenCall) -> Node:
    if call["rounding_mode"] == "floor":
        return floor_division(call)
    truncated = call["rounding_mode"] == "trunc" or call.name == "fmod"
    if truncated and call.type.dtype.kind in "iu":
        return _of_integers(call, remainder if call.name == "fmod" else quotient)
    if call["rounding_mode"]:
        return _truncated(call, _combined(call, "divide", call["self"], call["other"]))
    if call.name == "fmod":
        return float_remainder(call.map, *_in_f32(call))
    return _combined(call, BINARY[call.name], call["self"], call["other"])


def _combined(call: AtenCall, name: str, a: object, b: object) -> Node:
    left, right = call.operand(a), call.operand(b)
    if not isinstance(left, Node) and not isinstance(right, Node):
        raise call.refuse("of numbers alone")
    if call.type.dtype == bool:
        raise call.refuse("of bool")
    return in_few_bits(call, lambda *small: call.map(name, *small), left, right)


def in_few_bits(call: AtenCall, compute: Callable[..., Node], *operands: Node | float) -> Node:
    """A function of operands in the dtype of the result: in 32 bits, if 64 are not needed."""
    small = in_32_bits(compute, *operands) if call.type.dtype == np.int64 else None
    return compute(*operands) if small is None else call.cast(small)


def floor_division(call: AtenCall) -> Node:
    """floor_divide and remainder."""
    rest = call.name == "remainder"
    if call.type.dtype.kind in "iu":
        return _of_integers(call, floor_remainder if rest else floor_quotient)
    return (floor_float_remainder if rest else floor_float_quotient)(call.map, *_in_f32(call))


def shift(call: AtenCall) -> Node:
    return _of_integers(call, right_shift if call.name in _RIGHT else left_shift)


def _of_integers(call: AtenCall, compute: Callable[[Node, Node], Node]) -> Node:
    """A function of two operands, integers in the dtype of the result."""
    if call.type.dtype.kind not in "iu":
        raise call.refuse("of floats")
    a, b = (_node(call, call[name]) for name in ("self", "other"))
    return _known(call, of_integers(compute, a, b))


def _known(call: AtenCall, result: Node) -> Node:
    """A result as a constant, if constants alone decide it, in its shape."""
    return call.broadcast(settled(result), call.type.shape)


def _in_f32(call: AtenCall) -> list[Node | float]:
    """Two operands in f32, of the numbers that torch makes of them."""
    _check_computed_in_f32(call)
    f32 = np.dtype(np.float32)
    given = promoted(call, call["self"], call["other"])
    return [call.build.cast(each, f32) if isinstance(each, Node) else each for each in given]


def sum_or_difference(call: AtenCall) -> Node:
    """a + alpha * b, a - alpha * b, or b - alpha * a."""
    a, b, alpha = call["self"], call["other"], call["alpha"]
    if call.name == "rsub":
        a, b = b, a
    if alpha not in (None, 1):
        known = not isinstance(b, Node) and not isinstance(alpha, Node)
        b = b * alpha if known else call.map("multiply", call.operand(b), call.operand(alpha))
    return _combined(call, "add" if call.name == "add" else "subtract", a, b)


def comparison(call: AtenCall) -> Node:
    return compared(call, COMPARISONS[call.name], call["self"], call["other"])


def compared(call: AtenCall, name: str, left: object, right: object) -> Node:
    """Two operands, compared in the dtype that torch compares them in."""
    operands = promoted(call, left, right)
    if any(isinstance(each, Node) and each.dtype == np.int64 for each in operands):
        operands = all_narrowed(operands) or rounded(operands, call.build.cast)
    return call.map(name, *operands)


def logical(call: AtenCall) -> Node:
    """Logical functions of bool; of integers, those of their bits."""
    if call.type.dtype != bool:
        return _of_bits(call)
    operands = [each for each in (call["self"], call["other"]) if each is not None]
    truths = [
        (each if each.dtype == bool else call.map("not_equal", each, 0))
        if isinstance(each, Node)
        else bool(each)
        for each in operands
    ]
    return call.map(LOGICAL[call.name], *truths)


def _of_bits(call: AtenCall) -> Node:
    name = LOGICAL[call.name].replace("logical", "bitwise")
    if name == "bitwise_and":
        return _known(call, bitwise_and(*(_node(call, call[each]) for each in ("self", "other"))))
    if name == "bitwise_not":
        return _known(call, of_integers(partial(mapped, name), call.x))
    return _of_integers(call, partial(mapped, name))


def gelu(call: AtenCall) -> Node:
    return call.map("gelu_tanh" if call["approximate"] == "tanh" else "gelu", call.x)


def power(call: AtenCall) -> Node:
    """Powers, as products and roots where the exponent is a small number."""
    base, exponent = call["self"], call["exponent"]
    if isinstance(exponent, Node) or not isinstance(base, Node):
        return _combined(call, "power", base, exponent)
    x = call.cast(base)
    simple = {-2.0: "square", -1.0: "", -0.5: "rsqrt", 0.5: "sqrt", 1.0: "", 2.0: "square"}
    name = simple.get(float(exponent))
    if exponent == 3:
        return call.map("multiply", call.map("square", x), x)
    if name is None or (exponent < 0 and x.dtype.kind in "iu"):
        return call.map("power", x, exponent)
    result = call.map(name, x) if name else x
    return call.map("reciprocal", result) if exponent in (-1, -2) else result


def clamp(call: AtenCall) -> Node:
    """clamp, and hardtanh and relu6, whose bounds have other names."""
    low, high = call["min"], call["max"]
    if call.name == "hardtanh":
        low, high = call["min_val"], call["max_val"]
    if call.name == "relu6":
        low, high = 0, 6
    return _clamped(call, call.cast(call.x), low, high)


def _clamped(call: AtenCall, x: Node, low: object, high: object) -> Node:
    if low is not None:
        x = call.map("maximum", x, call.operand(low))
    return x if high is None else call.map("minimum", x, call.operand(high))


def hard_sigmoid(call: AtenCall) -> Node:
    """min(max(x + 3, 0), 6) / 6, or that times x."""
    bounded = _clamped(call, call.map("add", call.x, 3), 0, 6)
    if call.name == "hardswish":
        bounded = call.map("multiply", call.x, bounded)
    return call.map("divide", bounded, 6)


def leaky_relu(call: AtenCall) -> Node:
    slope = call["negative_slope"]
    if call.name == "rrelu":  # not in training
        slope = (call["lower"] + call["upper"]) / 2
    return with_slope(call, slope)


def with_slope(call: AtenCall, slope: Node | float) -> Node:
    """x, times a slope where it is not above 0."""
    scaled = call.map("multiply", call.x, slope)
    return call.apply(Where(), call.map("greater", call.x, 0), call.x, scaled)


def elu(call: AtenCall) -> Node:
    scale, inner, x = call["scale"], call["input_scale"], call.x
    low = call.map("expm1", x if inner == 1 else call.map("multiply", x, inner))
    low = call.map("multiply", low, call["alpha"] * scale)
    high = x if scale == 1 else call.map("multiply", x, scale)
    return call.apply(Where(), call.map("greater", x, 0), high, low)


def softplus(call: AtenCall) -> Node:
    return _softplus(call, call["beta"], call["threshold"])


def _softplus(call: AtenCall, beta: float, threshold: float) -> Node:
    scaled = call.map("multiply", call.x, beta)
    soft = call.map("divide", call.map("log1p", call.map("exp", scaled)), beta)
    return call.apply(Where(), call.map("greater", scaled, threshold), call.x, soft)


def mish(call: AtenCall) -> Node:
    return call.map("multiply", call.x, call.map("tanh", _softplus(call, 1, 20)))


def log_sigmoid(call: AtenCall) -> Node:
    """min(x, 0) - log(1 + exp(-|x|))."""
    small = call.map("exp", call.map("neg", call.map("abs", call.x)))
    return call.map("subtract", call.map("minimum", call.x, 0), call.map("log1p", small))


def where(call: AtenCall) -> Node:
    if call["self"] is None:
        raise call.refuse("of a condition alone")
    condition = call["condition"]
    if condition.dtype != bool:
        condition = call.map("not_equal", condition, 0)
    return call.apply(Where(), condition, _node(call, call["self"]), _node(call, call["other"]))


def masked_fill(call: AtenCall) -> Node:
    return call.apply(Where(), call["mask"], _node(call, call["value"]), call.cast(call.x))


def _node(call: AtenCall, value: object) -> Node:
    operand = call.operand(value)
    return operand if isinstance(operand, Node) else call.build.number(operand, call.type.dtype)


def triangle(call: AtenCall) -> Node:
    """The part of each matrix below a diagonal (tril), or above it (triu)."""
    m, n = call.type.shape[-2:]
    shift = call["diagonal"] or 0
    kept = np.tri(m, n, shift, dtype=bool)
    if call.name == "triu":
        kept = ~np.tri(m, n, shift - 1, dtype=bool)
    zero = call.build.number(0, call.type.dtype)
    return call.apply(Where(), call.build.constant(kept), call.x, zero)


def filled(call: AtenCall) -> Node:
    """The value of full_like, zeros_like, fill_ and others, repeated; of empty_like, 0."""
    if "zero" in call.name or "empty" in call.name:
        value: object = 0
    elif call.name.startswith(("ones", "new_ones")):
        value = 1
    else:
        value = call["fill_value"] if "full" in call.name else call["value"]
    return call.broadcast(_node(call, value), call.type.shape)


def copy(call: AtenCall) -> Node:
    """The value that copy_ writes: its second argument."""
    return call.broadcast(call.cast(call["src"]), call.type.shape)


def cast(call: AtenCall) -> Node:
    return call.cast(call.x)


def same(call: AtenCall) -> Node:
    return call.x


def dropout(call: AtenCall) -> Node:
    if call["train"]:
        raise call.refuse("in training")
    return call.x


IN_SEVERAL_MAPS = frozenset({
    "elu", "hardsigmoid", "hardswish", "lerp", "log_sigmoid", "mish", "softplus",
})  # fmt: skip
"""Functions that torch rounds once, and that are several maps here."""

ELEMENTWISE: dict[str, Handler] = {
    **dict.fromkeys(UNARY, unary),
    **dict.fromkeys(BINARY, binary),
    **dict.fromkeys(("add", "sub", "subtract", "rsub"), sum_or_difference),
    **dict.fromkeys(("floor_divide", "remainder"), floor_division),
    **dict.fromkeys(COMPARISONS, comparison),
    **dict.fromkeys((*COMPOSED, "special_erfinv"), composed),
    **dict.fromkeys(LOGICAL, logical),
    **dict.fromkeys((*_LEFT, *_RIGHT), shift),
    **dict.fromkeys(("clamp", "clamp_min", "clamp_max", "hardtanh", "relu6", "clip"), clamp),
    **dict.fromkeys(("hardsigmoid", "hardswish"), hard_sigmoid),
    **dict.fromkeys(("isfinite", "isinf", "isnan"), classified),
    **dict.fromkeys(("frac", "trunc", "fix"), truncated),
    **dict.fromkeys(("_to_copy", "to", "type_as"), cast),
    **dict.fromkeys(
        ("alias", "clone", "contiguous", "detach", "detach_", "lift_fresh_copy", "real"), same
    ),
    **dict.fromkeys(("dropout", "feature_dropout", "alpha_dropout"), dropout),
    **dict.fromkeys(("tril", "triu"), triangle),
    **dict.fromkeys(
        ("_new_zeros_with_same_feature_meta", "empty_like", "fill", "full", "full_like",
         "new_empty", "new_full", "new_ones", "new_zeros", "ones_like", "zero", "zeros_like"),
        filled,
    ),
    "copy": copy,
    "elu": elu,
    "gelu": gelu,
    **dict.fromkeys(("leaky_relu", "rrelu"), leaky_relu),
    "lerp": between,
    "log_sigmoid": log_sigmoid,
    "masked_fill": masked_fill,
    "mish": mish,
    "nan_to_num": nan_to_num,
    "outer": outer,
    "pow": power,
    "sign": sign,
    "softplus": softplus,
    "where": where,
}  # fmt: skip

"""Reductions, softmax and norms of ONNX."""

from __future__ import annotations

from functools import partial, reduce
from math import prod

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import (
    ArgReduce,
    Broadcast,
    Cumulate,
    LayerNorm,
    Pad,
    Reduce,
    RmsNorm,
    Softmax,
    Where,
)
from morello.graph.patterns.matching import lowest
from morello.importers.normalizing import norm_of_groups
from morello.importers.onnx.call import (
    INT64,
    LeftError,
    OnnxCall,
    along,
    constant,
    function,
    in_few_bits,
    left_if_refused,
    number,
    op,
    position,
    positions,
    reshaped,
    translates,
)
from morello.importers.onnx.movement import backwards, between
from morello.importers.prefixes import cumulated as up_to_each

_KINDS = {
    "ReduceMax": "max", "ReduceMean": "mean", "ReduceMin": "min", "ReduceProd": "prod",
    "ReduceL1": "sum", "ReduceL2": "sum", "ReduceLogSum": "sum", "ReduceSum": "sum",
    "ReduceSumSquare": "sum",
}  # fmt: skip
_BEFORE = {"ReduceL1": "abs", "ReduceL2": "square", "ReduceSumSquare": "square"}
_AFTER = {"ReduceL2": "sqrt", "ReduceLogSum": "log"}


@translates(*_KINDS)
def reduction(call: OnnxCall) -> Node:
    x, kind, keeps = call[0], _KINDS[call.type], _keeps(call)
    if kind == "mean" or call.type in _AFTER:
        call.floating()
    if x.dtype == bool and kind not in ("max", "min"):
        raise LeftError("it is of bool")
    axes = _axes(call)
    if call.type in _BEFORE:
        x = function(_BEFORE[call.type], x)
    if axes:
        x = in_few_bits(partial(op, Reduce(kind, axes, keeps)), x)
    return function(_AFTER[call.type], x) if call.type in _AFTER else x


@translates("ReduceLogSumExp")
def log_sum_exp(call: OnnxCall) -> Node:
    """The logarithm of the sum of exponentials, less the largest, which is added again.

    If that is infinite, the largest finite number is, as infinity less infinity is no number.
    """
    call.floating()
    axes, x = _axes(call), call[0]
    if not axes:
        return x
    least = lowest(x.dtype)
    highest = function("minimum", op(Reduce("max", axes, keepdims=True), x), number(-least, x))
    highest = function("maximum", highest, number(least, x))
    powers = function("exp", function("subtract", x, highest))
    total = op(Reduce("sum", axes, keepdims=True), powers)
    result = function("add", function("log", total), highest)
    kept = tuple(n for d, n in enumerate(x.shape) if d not in axes)
    return result if _keeps(call) else reshaped(result, kept)


def _keeps(call: OnnxCall) -> bool:
    return call.flag("keepdims", default=True)


def _axes(call: OnnxCall) -> tuple[int, ...]:
    """The axes that a reduction is along: all of them if none is given."""
    x = call[0]
    given = call.listed("axes", 1, 13 if call.type == "ReduceSum" else 18)
    default = () if call.flag("noop_with_empty_axes") else tuple(range(x.type.rank))
    if 0 in x.shape:
        raise LeftError("its input has no elements")
    return positions(given, x.type.rank) if given else default


@translates("ArgMax", "ArgMin")
def arg_reduction(call: OnnxCall) -> Node:
    """The place of the first of equal elements, or of the last: the first one backwards."""
    x, axis = call[0], call.axis(0)
    if 0 in x.shape:
        raise LeftError("its input has no elements")
    search = ArgReduce("max" if call.type == "ArgMax" else "min", axis, INT64, _keeps(call))
    if not call.flag("select_last_index"):
        return op(search, x)
    place = op(search, backwards(x, axis))
    return function("subtract", number(x.shape[axis] - 1, place), place)


@translates("CumSum", "CumProd")
def cumulated(call: OnnxCall) -> Node:
    """Sums or products of all elements up to each, or from each on; exclusive ones without it."""
    (axis,) = call.integers(1)
    axis = position(axis, call[0].type.rank)
    backward = call.flag("reverse")
    adds = call.type == "CumSum"

    def prefixes(x: Node) -> Node:
        x = backwards(x, axis) if backward else x
        with left_if_refused():
            total = op(Cumulate(axis), x) if adds else up_to_each("prod", x, axis)
        if call.flag("exclusive"):
            before, n = tuple(int(d == axis) for d in range(x.type.rank)), x.shape[axis]
            shifted = op(Pad(before, (0,) * x.type.rank), total, number(0 if adds else 1, x))
            total = between(shifted, {axis: (0, n, 1)})
        return backwards(total, axis) if backward else total

    return in_few_bits(prefixes, call[0])


@translates("Softmax", "LogSoftmax")
def softmax(call: OnnxCall) -> Node:
    call.floating()
    x, axis = _with_axis(call)
    shape = call[0].shape
    if call.type == "Softmax":
        return reshaped(op(Softmax(axis), x), shape)
    lower = function("subtract", x, op(Reduce("max", (axis,), keepdims=True), x))
    total = op(Reduce("sum", (axis,), keepdims=True), function("exp", lower))
    return reshaped(function("subtract", lower, function("log", total)), shape)


@translates("Hardmax")
def hardmax(call: OnnxCall) -> Node:
    """1 at the first of the largest elements along an axis, 0 elsewhere."""
    call.floating()
    x, axis = _with_axis(call)
    places = along(constant(np.arange(x.shape[axis]), INT64), axis, x.type.rank)
    first = function("equal", op(ArgReduce("max", axis, INT64, keepdims=True), x), places)
    return reshaped(op(Where(), first, number(1, x), number(0, x)), call[0].shape)


def _with_axis(call: OnnxCall) -> tuple[Node, int]:
    """The input and the axis that counts; before version 13, that and all after it are one."""
    x, axis = call[0], call.axis(1 if call.version < 13 else -1)
    if 0 in x.shape:
        raise LeftError("its input has no elements")
    if call.version < 13:
        return reshaped(x, (prod(x.shape[:axis]), prod(x.shape[axis:]))), 1
    return x, axis


@translates("LpNormalization")
def lp_normalization(call: OnnxCall) -> Node:
    """The input divided by its norm, of order 1 or 2, where that is not 0."""
    call.floating()
    x, order, axes = call[0], call.attribute("p", 2), (call.axis(-1),)
    if order not in (1, 2) or 0 in x.shape:
        raise LeftError(f"its order is {order}, of {x.type}")
    norm = op(Reduce("sum", axes, keepdims=True), function("abs" if order == 1 else "square", x))
    norm = norm if order == 1 else function("sqrt", norm)
    known = op(Where(), function("equal", norm, number(0, x)), number(1, x), norm)
    return function("divide", x, known)


@translates("LayerNormalization")
def layer_normalization(call: OnnxCall) -> list[Node]:
    """The norm, the mean, and the reciprocal of the standard deviation."""
    x, axis, epsilon = call[0], call.axis(-1), call.attribute("epsilon", 1e-5)
    normed = layer_norm(x, call[1], call.get(2), epsilon, axis)
    if call.used <= {0}:
        return [normed]
    axes = tuple(range(axis, x.type.rank))
    mean = op(Reduce("mean", axes, keepdims=True), x)
    squares = function("square", function("subtract", x, mean))
    variance = op(Reduce("mean", axes, keepdims=True), squares)
    return [normed, mean, function("rsqrt", function("add", variance, number(epsilon, x)))]


@translates("RMSNormalization", "SimplifiedLayerNormalization")
def rms_normalization(call: OnnxCall) -> Node:
    call.only(0)
    return rms_norm(call[0], call[1], call.attribute("epsilon", 1e-5), call.axis(-1))


def layer_norm(x: Node, gamma: Node, beta: Node | None, epsilon: float, axis: int = -1) -> Node:
    """The norm of all dimensions from an axis on."""
    rows, scale = _rows(x, gamma, axis)
    if beta is None:
        shift = constant(np.broadcast_to(x.dtype.type(0), scale.shape), x.dtype)
    else:
        shift = _rows(x, beta, axis)[1]
    return reshaped(op(LayerNorm(epsilon), rows, scale, shift), x.shape)


def rms_norm(x: Node, gamma: Node, epsilon: float, axis: int = -1) -> Node:
    """The norm by the root of the mean of squares, of all dimensions from an axis on."""
    rows, scale = _rows(x, gamma, axis)
    return reshaped(op(RmsNorm(epsilon), rows, scale), x.shape)


def _rows(x: Node, factors: Node, axis: int) -> tuple[Node, Node]:
    """A tensor, and factors of its dimensions from an axis on, with these as one dimension."""
    axis = position(axis, x.type.rank)
    inner = x.shape[axis:]
    if x.dtype != factors.dtype or 0 in x.shape:
        raise LeftError(f"it is of {x.type} and {factors.type}")
    if factors.shape != inner and factors.type.size == prod(inner) == factors.shape[-1]:
        factors = reshaped(factors, inner)
    if factors.shape != inner:
        if factors.type.rank > len(inner):
            raise LeftError("its scale differs from row to row")
        factors = op(Broadcast(inner), factors)
    if len(inner) > 1:
        x = reshaped(x, (*x.shape[:axis], prod(inner)))
    return x, reshaped(factors, (prod(inner),))


@translates("MeanVarianceNormalization")
def mean_variance_normalization(call: OnnxCall) -> Node:
    """Less the mean, divided by the standard deviation, along some axes."""
    call.floating()
    x, axes = call[0], positions(call.attribute("axes", [0, 2, 3]), call[0].type.rank)
    if 0 in x.shape or not axes:
        raise LeftError(f"it is of {x.type} along {axes}")
    centred = function("subtract", x, op(Reduce("mean", axes, keepdims=True), x))
    variance = op(Reduce("mean", axes, keepdims=True), function("square", centred))
    deviation = function("sqrt", variance)
    return function("divide", centred, function("add", deviation, number(1e-9, x)))


@translates("BatchNormalization")
def batch_normalization(call: OnnxCall) -> Node:
    """A factor and a term for each channel, which are constants if all they depend on are."""
    call.only(0)
    x = call[0]
    if call.flag("training_mode") or not call.flag("spatial", default=True):
        raise LeftError("it trains, or is not spatial")
    if call.version < 7 and not call.flag("is_test"):
        raise LeftError("it trains")
    if len({node.dtype for node in call.all}) > 1:
        raise LeftError("its dtypes differ")
    scale, bias, mean, variance = (along(call[i], 1, x.type.rank) for i in range(1, 5))
    epsilon = number(call.attribute("epsilon", 1e-5), x)
    factor = function("divide", scale, function("sqrt", function("add", variance, epsilon)))
    term = function("subtract", bias, function("multiply", mean, factor))
    return function("add", function("multiply", x, factor), term)


@translates("InstanceNormalization")
def instance_normalization(call: OnnxCall) -> Node:
    return _grouped_norm(call, call[0].shape[1])


@translates("GroupNormalization")
def group_normalization(call: OnnxCall) -> Node:
    if call.attribute("stash_type", 1) != 1:
        raise LeftError("it keeps its means in another dtype")
    return _grouped_norm(call, call.attribute("num_groups"))


def _grouped_norm(call: OnnxCall, groups: int) -> Node:
    x, scale, bias = call[0], call[1], call[2]
    channels = x.shape[1]
    if groups < 1 or channels % groups or 0 in x.shape:
        raise GraphError(f"{groups} groups of {channels} channels.")
    if not x.dtype == scale.dtype == bias.dtype:
        raise LeftError("its dtypes differ")
    return norm_of_groups(x, groups, scale, bias, call.attribute("epsilon", 1e-5))


@translates("LRN")
def local_response(call: OnnxCall) -> Node:
    """x / (bias + alpha * mean of the squares of neighbouring channels) ** beta.

    Channels that a window has beyond the first and the last count as zeros.
    """
    call.floating()
    x, size = call[0], int(call.attribute("size"))
    if x.type.rank < 2 or 0 in x.shape or size < 1:
        raise LeftError(f"it is of {size} channels of {x.type}")
    before, after, *others = (size - 1) // 2, size // 2, *[0] * (x.type.rank - 2)
    wide = op(Pad((0, before, *others), (0, after, *others)), x, number(0, x))
    beside = [between(wide, {1: (k, k + x.shape[1], 1)}) for k in range(size)]
    total = reduce(partial(function, "add"), (function("square", each) for each in beside))
    means = function("multiply", total, number(1 / size, x))
    alpha = number(call.attribute("alpha", 1e-4), x)
    beta = number(call.attribute("beta", 0.75), x)
    bias = number(call.attribute("bias", 1.0), x)
    scale = function("add", function("multiply", means, alpha), bias)
    return function("divide", beside[before], function("power", scale, beta))

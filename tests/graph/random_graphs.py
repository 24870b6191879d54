"""Random graphs of all operators but those that only frameworks know."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from morello.base.errors import GraphError
from morello.graph.graph import Graph, Node, Operator, TensorType, apply
from morello.graph.operators import (
    ArgReduce,
    Attention,
    Broadcast,
    Cast,
    Concat,
    Constant,
    Conv,
    Cumulate,
    Dot,
    Gather,
    Input,
    Iota,
    LayerNorm,
    Map,
    Pad,
    Pooling,
    Reduce,
    Reshape,
    RmsNorm,
    Scatter,
    SegmentSum,
    Slice,
    Softmax,
    Transpose,
    Where,
)
from morello.graph.operators.elementwise import COMPARISONS
from morello.graph.patterns.matching import in_dtype
from morello.ir.functions import ONLY_INTEGERS

F32, BOOL, I32 = np.dtype(np.float32), np.dtype(bool), np.dtype(np.int32)

UNARY = (
    "abs", "cos", "erf", "gelu", "gelu_tanh", "neg", "relu", "sigmoid", "silu", "sin", "square",
    "tanh",
)  # fmt: skip
BINARY = ("add", "maximum", "minimum", "multiply", "subtract")
SHAPES = ((), (1,), (4,), (3, 4), (1, 4), (3, 1), (2, 3, 4), (2, 1, 4), (2, 2, 3, 3))
NUMBERS = (0.0, 1.0, -1.0, 0.5, 2.0, 6.0, float("inf"), float("-inf"))


@st.composite
def random_graphs(draw: st.DrawFn) -> Graph:
    """Graphs of 5 to 40 nodes, with inputs of f32 that are between -1 and 1."""
    inputs = tuple(
        apply(Input(TensorType(draw(st.sampled_from(SHAPES)), F32)))
        for _ in range(draw(st.integers(1, 3)))
    )
    nodes = [*inputs]
    size = draw(st.integers(5, 40))
    for _ in range(2 * size):
        try:
            nodes.append(draw(_next_node(nodes)))
        except GraphError:  # it does not fit
            continue
        if len(nodes) >= size:
            break
    read = {source for node in nodes for source in node.inputs}
    unread = [node for node in nodes if node not in read and node not in inputs]
    return Graph(inputs, tuple(unread[-6:] or nodes[-1:]))


@st.composite
def _next_node(draw: st.DrawFn, nodes: list[Node]) -> Node:
    """A node on some of these; raises `GraphError` if they do not fit."""
    kind = draw(st.sampled_from(_KINDS))
    x = draw(st.sampled_from(nodes[-5:]))
    y = draw(st.sampled_from(nodes))
    return kind(draw, x, y)


def _axis(draw: st.DrawFn, x: Node) -> int:
    if not x.shape:
        raise GraphError("no axis")
    return draw(st.integers(0, x.type.rank - 1))


def _floats(x: Node) -> Node:
    return x if x.dtype == F32 else apply(Cast(F32), x)


def _unary(draw: st.DrawFn, x: Node, y: Node) -> Node:
    return apply(Map(draw(st.sampled_from(UNARY))), _floats(x))


def _binary(draw: st.DrawFn, x: Node, y: Node) -> Node:
    a, b = draw(st.permutations([_floats(x), _floats(y)]))
    return apply(Map(draw(st.sampled_from(BINARY))), a, b)


def _with_number(draw: st.DrawFn, x: Node, y: Node) -> Node:
    value = draw(st.sampled_from(NUMBERS))
    number = apply(Constant(np.full(draw(st.sampled_from([(), (1,), x.shape])), value, F32)))
    a, b = draw(st.permutations([_floats(x), number]))
    name = draw(st.sampled_from((*BINARY, *BINARY, "divide", "power", *COMPARISONS)))
    return apply(Map(name), a, b)


def _of_integers(draw: st.DrawFn, x: Node, y: Node) -> Node:
    """Bits, shifts and quotients of integers and truths."""
    number = apply(Constant(np.array(draw(st.sampled_from((-3, 0, 1, 5, 31, 40))), I32)))
    integers = [each for each in (x, y) if each.dtype.kind in "ib"] or [number]
    a, b = (in_dtype(draw(st.sampled_from([*integers, number])), I32) for _ in range(2))
    names = [*sorted(ONLY_INTEGERS - {"bitwise_not"}), "divide", "remainder", "add", "multiply"]
    return apply(Map(draw(st.sampled_from(names))), a, b)


def _constant(draw: st.DrawFn, x: Node, y: Node) -> Node:
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    return apply(Constant(generator.uniform(-2, 2, x.shape).astype(F32)))


def _where(draw: st.DrawFn, x: Node, y: Node) -> Node:
    x, y = _floats(x), _floats(y)
    known = apply(Constant(np.array(draw(st.booleans()))))
    condition = draw(st.sampled_from([known, apply(Map("less"), x, y)]))
    return apply(Where(), condition, x, y)


def _cast(draw: st.DrawFn, x: Node, y: Node) -> Node:
    return apply(Cast(draw(st.sampled_from([F32, np.dtype(np.float64)]))), x)


def _iota(draw: st.DrawFn, x: Node, y: Node) -> Node:
    dtype = draw(st.sampled_from([I32, F32]))
    return apply(Iota(TensorType(x.shape, dtype), _axis(draw, x)))


def _reshape(draw: st.DrawFn, x: Node, y: Node) -> Node:
    place = draw(st.integers(0, x.type.rank))
    long = tuple(n for n in x.shape if n > 1)
    added = (*x.shape[:place], 1, *x.shape[place:])
    return apply(Reshape(draw(st.sampled_from([added, long, (x.type.size,), x.shape]))), x)


def _broadcast(draw: st.DrawFn, x: Node, y: Node) -> Node:
    wide = tuple(draw(st.sampled_from([n, 2])) if n == 1 else n for n in x.shape)
    return apply(Broadcast(draw(st.sampled_from([wide, (2, *wide), (1, *wide), y.shape]))), x)


def _transpose(draw: st.DrawFn, x: Node, y: Node) -> Node:
    return apply(Transpose(tuple(draw(st.permutations(range(x.type.rank))))), x)


def _slice(draw: st.DrawFn, x: Node, y: Node) -> Node:
    starts = tuple(draw(st.sampled_from([0, 0, n // 2])) for n in x.shape)
    steps = tuple(draw(st.sampled_from([1, 1, 2])) for _ in x.shape)
    return apply(Slice(starts, x.shape, steps), x)


def _concat(draw: st.DrawFn, x: Node, y: Node) -> Node:
    axis = _axis(draw, x)
    return apply(Concat(axis), *draw(st.sampled_from([(x,), (x, x)])))


def _pad(draw: st.DrawFn, x: Node, y: Node) -> Node:
    widths = [tuple(draw(st.integers(0, 1)) for _ in x.shape) for _ in range(2)]
    return apply(Pad(*widths), _floats(x), apply(Constant(np.zeros((), F32))))


def _gather(draw: st.DrawFn, x: Node, y: Node) -> Node:
    return apply(Gather(_axis(draw, x)), x, apply(Constant(np.array([1, 0, -1, 5], np.int32))))


def _scatter(draw: st.DrawFn, x: Node, y: Node) -> Node:
    rows = y.shape[0] if y.shape else 0
    numbers = draw(st.lists(st.integers(-2, 5), min_size=rows, max_size=rows))
    ids = apply(Constant(np.array(numbers, np.int32)))
    kind = draw(st.sampled_from(["last", "max", "min", "sum"]))
    return apply(Scatter(kind), _floats(x), ids, _floats(y))


def _segment_sum(draw: st.DrawFn, x: Node, y: Node) -> Node:
    rows = x.shape[0] if x.shape else 0
    numbers = draw(st.lists(st.integers(-2, 5), min_size=rows, max_size=rows))
    ids = apply(Constant(np.array(numbers, np.int32)))
    return apply(SegmentSum(draw(st.integers(1, 4))), _floats(x), ids)


def _reduce(draw: st.DrawFn, x: Node, y: Node) -> Node:
    kind = draw(st.sampled_from(["max", "mean", "min", "sum"]))
    axes = {_axis(draw, x) for _ in range(draw(st.integers(1, 2)))}
    return apply(Reduce(kind, tuple(sorted(axes)), draw(st.booleans())), _floats(x))


def _along(draw: st.DrawFn, x: Node, y: Node) -> Node:
    axis = _axis(draw, x)
    operators: list[Operator] = [Softmax(axis), Cumulate(axis)]
    if not x.inputs:  # which of equal elements is the largest depends on how they are rounded
        operators.append(ArgReduce("max", axis, I32))
    return apply(draw(st.sampled_from(operators)), _floats(x))


def _norm(draw: st.DrawFn, x: Node, y: Node) -> Node:
    gamma = apply(Constant(np.linspace(0.5, 1.5, x.shape[_axis(draw, x)]).astype(F32)))
    if draw(st.booleans()):
        return apply(RmsNorm(0.1), _floats(x), gamma)
    return apply(LayerNorm(0.1), _floats(x), gamma, gamma)


def _dot(draw: st.DrawFn, x: Node, y: Node) -> Node:
    if x.type.size * y.type.size > 2000:
        raise GraphError("too large")
    pairs = [(i, j) for i, m in enumerate(x.shape) for j, n in enumerate(y.shape) if m == n]
    dots = [Dot(), *(Dot((), (pair,)) for pair in pairs)]
    dots += [Dot((p,), (q,)) for p in pairs for q in pairs if p[0] != q[0] and p[1] != q[1]]
    return apply(draw(st.sampled_from(dots)), _floats(x), _floats(y))


def _windows(draw: st.DrawFn, x: Node, y: Node) -> Node:
    if x.type.rank != 4:
        raise GraphError("no image")
    before, after = (tuple(draw(st.integers(0, 1)) for _ in range(2)) for _ in range(2))
    if draw(st.booleans()):
        return apply(Pooling("max", (2, 2), (1, 1), before, after, (1, 1)), _floats(x))
    filters = np.linspace(-1, 1, 2 * x.shape[1] * 4).reshape(2, x.shape[1], 2, 2)
    conv = Conv((draw(st.integers(1, 2)), 1), before, after, (1, 1))
    return apply(conv, _floats(x), apply(Constant(filters.astype(F32))))


def _attention(draw: st.DrawFn, x: Node, y: Node) -> Node:
    if x.type.rank < 2:
        raise GraphError("no matrix")
    x = _floats(x)
    if draw(st.booleans()):
        cap = draw(st.sampled_from([None, 0.3]))
        return apply(Attention(0.5, draw(st.booleans()), cap), x, x, x)
    # as its parts, so that the pattern is there
    last = x.type.rank - 1
    batch = tuple((d, d) for d in range(last - 1))
    scores = apply(Dot(batch, ((last, last),)), x, x)
    return apply(Dot(batch, ((last, last - 1),)), apply(Softmax(last), scores), x)


def _reduced(draw: st.DrawFn, kind: str, x: Node, axis: int) -> Node:
    """A reduction along an axis, or sometimes another, so that it is broadcast to x."""
    axis = draw(st.sampled_from([axis] * 5 + [0]))
    if draw(st.booleans()):
        return apply(Reduce(kind, (axis,), True), x)
    shape = tuple(1 if d == axis else n for d, n in enumerate(x.shape))
    return apply(Reshape(shape), apply(Reduce(kind, (axis,)), x))


def _softmax_parts(draw: st.DrawFn, x: Node, y: Node) -> Node:
    x, axis = _floats(x), _axis(draw, x)
    largest = _reduced(draw, draw(st.sampled_from(["max", "max", "max", "min"])), x, axis)
    exponentials = apply(Map("exp"), apply(Map("subtract"), x, largest))
    total = _reduced(draw, draw(st.sampled_from(["sum", "sum", "sum", "mean"])), exponentials, axis)
    return apply(Map("divide"), exponentials, total)


def _norm_parts(draw: st.DrawFn, x: Node, y: Node) -> Node:
    x, axis = _floats(x), _axis(draw, x)
    axis = draw(st.sampled_from([axis, x.type.rank - 1, x.type.rank - 1]))
    average = _reduced(draw, "mean", x, axis)
    centred = draw(st.sampled_from([apply(Map("subtract"), x, average), x]))
    squares = apply(Map("square"), draw(st.sampled_from([centred, centred, x])))
    spread = _reduced(draw, "mean", squares, axis)
    if draw(st.integers(0, 3)) == 0:
        spread = apply(Map("subtract"), spread, apply(Map("square"), average))
        spread = apply(Map("abs"), spread)
    shifted = apply(Map("add"), spread, apply(Constant(np.array(0.5, F32))))
    factor = apply(Map("rsqrt"), shifted)
    if draw(st.booleans()):
        factor = apply(Map("multiply"), factor, _floats(y))
    return apply(Map("multiply"), *draw(st.permutations([centred, factor])))


_KINDS = (
    _unary, _unary, _binary, _binary, _with_number, _with_number, _constant, _where, _cast, _iota,
    _reshape, _reshape, _broadcast, _broadcast, _transpose, _slice, _concat, _pad, _gather,
    _scatter,
    _segment_sum, _of_integers, _of_integers,
    _softmax_parts, _norm_parts, _reduce, _reduce, _along, _norm, _dot, _dot, _windows, _attention,
)  # fmt: skip

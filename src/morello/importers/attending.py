"""Attention with masks, which say what each row may not see."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np

from morello.graph.graph import Array, Node
from morello.graph.operators import (
    Attention,
    Broadcast,
    Cast,
    Concat,
    Constant,
    Dot,
    Reduce,
    Softmax,
    Where,
)
from morello.graph.patterns.matching import is_float, is_map, lowest, number, sliced
from morello.graph.views import VIEWS
from morello.importers.building import GraphBuilder


def masked_score(dtype: np.dtype[Any]) -> float:
    """The score of masked positions: finite, so that no row is NaN, and its exponential is 0."""
    return float(np.array(max(-1e30, 0.9 * lowest(dtype)), dtype))


Heads = tuple[Node, Node, Node]
"""The queries, keys and values of attention."""


def attended(build: GraphBuilder, plain: Attention, heads: Heads, mask: Node | None) -> Node:
    """Attention that has no mask by itself, with one; a row that sees nothing is 0.

    A mask of bool says what is seen. One of numbers is added to the scores, and hides what it adds
    -inf to.
    """
    q, k, v = heads
    if mask is None:
        return build.apply(plain, q, k, v)
    m, n = q.shape[-2], k.shape[-2]
    low = masked_score(q.dtype)
    seen, added = _apart(build, mask, q.dtype)
    added = build.map("maximum", added, low)
    if not number(seen):
        hidden = build.number(1.05 * low, q.dtype)  # less than what the lowest numbers become
        added = build.apply(Where(), seen, added, hidden)
    if not added.type.rank:
        result = build.apply(plain, q, k, v)
    elif isinstance(added.operator, Constant) and _causal(added.operator.array, low, m, n):
        result = build.apply(replace(plain, causal=True), q, k, v)
    else:
        result = build.apply(plain, q, k, v, added)
    if isinstance(seen.operator, Constant) and seen.operator.array.any(-1).all():
        return result
    if seen.shape[-1:] not in ((), (1,)):
        largest = Reduce("max", (seen.type.rank - 1,), keepdims=True)
        if seen.shape == added.shape and not isinstance(seen.operator, Constant):
            # where something is seen, this is `low` at the least: so only one of them is stored
            seen = build.map("greater", build.apply(largest, added), 1.02 * low)
        else:
            seen = build.apply(largest, seen)
    return build.map("multiply", result, build.cast(seen, q.dtype))


def _causal(added: Array, low: float, m: int, n: int) -> bool:
    """Whether a mask lets row i of m see the columns up to i + n - m, and all alike."""
    shown = added > low
    alike = m <= n == added.shape[-1] and not added[shown].any()
    return alike and bool((shown == np.tri(m, n, n - m, dtype=bool)).all())


def _apart(build: GraphBuilder, mask: Node, dtype: np.dtype[Any]) -> tuple[Node, Node]:
    """Where a mask hides nothing, and what it adds to scores of a dtype there.

    Kernels have no constants of -inf: where they are chosen, the conditions say what is hidden.
    """
    if mask.dtype == bool:
        known = isinstance(mask.operator, Constant)
        seen = _constant(build, mask.operator.evaluate()) if known else mask
        return seen, build.number(0, dtype)
    wide = max(mask.dtype, dtype, key=lambda each: each.itemsize)
    seen, added = _choices(build, mask, wide)
    if wide != dtype:
        added = build.map("maximum", added, masked_score(dtype))
    return seen, build.cast(added, dtype)


def unchanged(build: GraphBuilder, mask: Node) -> Node:
    """Which scores a mask of numbers adds 0 to."""
    seen, added = _choices(build, mask, mask.dtype)
    zero = _both(build, seen, build.map("equal", added, 0))
    return zero if zero.shape == mask.shape else build.apply(Broadcast(mask.shape), zero)


def _choices(build: GraphBuilder, mask: Node, dtype: np.dtype[Any]) -> tuple[Node, Node]:
    """Where a mask cast to a dtype is not -inf, and what it is there.

    What is the same everywhere has no dimensions.
    """
    operator, inputs = mask.operator, mask.inputs
    if isinstance(operator, Cast) and is_float(inputs[0].dtype):
        return _choices(build, inputs[0], dtype)
    if isinstance(operator, VIEWS):
        parts = _choices(build, inputs[0], dtype)
        seen, added = (build.apply(operator, x) if x.type.rank else x for x in parts)
    elif isinstance(operator, Where):
        (some, value), (others, other) = (_choices(build, each, dtype) for each in inputs[1:])
        seen = _choice(build, inputs[0], some, others)
        if number(some) == 0:
            added = other
        else:
            added = value if number(others) == 0 else _choice(build, inputs[0], value, other)
    elif is_map(mask, "add"):
        (some, value), (others, other) = (_choices(build, each, mask.dtype) for each in inputs)
        total = value if number(other) == 0 else build.map("add", value, other)
        finite, added = _infinite_apart(build, build.cast(total, dtype))
        seen = reduce(partial(_both, build), dict.fromkeys((some, others, finite)))
    else:
        return _infinite_apart(build, build.cast(mask, dtype))
    seen, added = (
        build.apply(Broadcast(mask.shape), x) if x.shape not in ((), mask.shape) else x
        for x in (seen, added)
    )
    return seen, added


def _infinite_apart(build: GraphBuilder, mask: Node) -> tuple[Node, Node]:
    """Where a mask is not -inf, and the mask, whose constants are finite."""
    if not isinstance(mask.operator, Constant):
        return build.map("greater_equal", mask, lowest(mask.dtype)), mask
    finite = mask.operator.array != -np.inf
    added = np.where(finite, mask.operator.array, np.zeros((), mask.dtype))
    return _constant(build, finite), _constant(build, added)


def _constant(build: GraphBuilder, array: Array) -> Node:
    """A constant, without dimensions if it is the same everywhere."""
    if not array.size or (array != array.flat[0]).any():
        return build.constant(array)
    return build.number(float(array.flat[0]), array.dtype)


def _choice(build: GraphBuilder, condition: Node, x: Node, y: Node) -> Node:
    """where(condition, x, y), without the constants of x and y where they can be left out."""
    if x is y:
        return x
    if x.dtype == bool and number(y) == 0:
        return _both(build, condition, x)
    if x.dtype == bool and number(x) == 0:
        return _both(build, build.map("logical_not", condition), y)
    return build.apply(Where(), condition, x, y)


def _both(build: GraphBuilder, x: Node, y: Node) -> Node:
    """x and y, of which one may be known to be true."""
    if number(x):
        return y
    return x if number(y) else build.map("logical_and", x, y)


def attended_with_sinks(
    build: GraphBuilder, plain: Attention, heads: Heads, mask: Node | None, sinks: Node
) -> Node:
    """`attended` for heads [b, h, m, d] with a sink: one more score in each row of a head.

    It takes a part of the softmax, and has no value. Heads of k and v may be shared by groups.
    """
    q, k, v = heads
    batch, count, m, size = q.shape
    shared, n = k.shape[1], k.shape[2]
    group, pairs = count // shared, ((0, 0), (1, 1))
    grouped = build.reshape(q, (batch, shared, group, m, size))
    scores = build.reshape(build.apply(Dot(pairs, ((4, 3),)), grouped, k), (batch, count, m, n))
    scores = build.map("multiply", scores, plain.scale / (plain.cap or 1))
    if plain.cap:
        scores = build.map("multiply", build.map("tanh", scores), plain.cap)
    if mask is not None:
        seen, added = _apart(build, mask, q.dtype)
        scores = build.map("add", scores, added)
        scores = build.apply(Where(), seen, scores, build.number(masked_score(q.dtype), q.dtype))
    column = build.reshape(build.cast(sinks, q.dtype), (1, count, 1, 1))
    column = build.apply(Broadcast((batch, count, m, 1)), column)
    weights = build.apply(Softmax(3), build.apply(Concat(3), scores, column))
    shown = build.reshape(sliced(weights, 3, 0, n), (batch, shared, group, m, n))
    return build.reshape(
        build.apply(Dot(pairs, ((4, 2),)), shown, v), (batch, count, m, v.shape[3])
    )

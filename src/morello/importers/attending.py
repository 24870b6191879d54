"""Attention with masks, which say what each row may not see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from morello.graph.graph import Node
from morello.graph.operators import (
    Attention,
    Broadcast,
    Concat,
    Constant,
    Dot,
    Map,
    Reduce,
    Softmax,
    Where,
)
from morello.graph.patterns.matching import lowest, sliced
from morello.importers.building import GraphBuilder


def masked_score(dtype: np.dtype[Any]) -> float:
    """The score of masked positions: finite, so that no row is NaN, and its exponential is 0."""
    return float(np.array(-1e30 if dtype.itemsize > 2 else -6e4, dtype))


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
    if mask.dtype == bool:
        zero, hidden = (build.number(value, q.dtype) for value in (0, low))
        given = mask = build.apply(Where(), mask, zero, hidden)
        hides = low
    else:
        given = build.cast(mask, q.dtype)
        last = build.number(lowest(q.dtype), q.dtype)
        finite = build.map("greater_equal", given, last)
        mask = build.apply(Where(), finite, build.map("maximum", given, low), last)
        hides = -np.inf
    if isinstance(given.operator, Constant) and isinstance(mask.operator, Constant):
        added, shown = mask.operator.array, mask.operator.array > low
        if not added[shown].any():
            if shown.all():
                return build.apply(plain, q, k, v)
            if m <= n == shown.shape[-1] and (shown == np.tri(m, n, n - m, dtype=bool)).all():
                return build.apply(replace(plain, causal=True), q, k, v)
        if (given.operator.array > hides).any(-1).all():
            return build.apply(plain, q, k, v, mask)
    result = build.apply(plain, q, k, v, mask)
    highest = build.apply(Reduce("max", (given.type.rank - 1,), True), given)
    seen = build.cast(build.map("greater", highest, hides), q.dtype)
    return build.apply(Map("multiply"), result, seen)


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
    low = masked_score(q.dtype)
    if mask is not None and mask.dtype == bool:
        scores = build.apply(Where(), mask, scores, build.number(low, q.dtype))
    elif mask is not None:
        scores = build.map("maximum", build.map("add", scores, build.cast(mask, q.dtype)), low)
    column = build.reshape(build.cast(sinks, q.dtype), (1, count, 1, 1))
    column = build.apply(Broadcast((batch, count, m, 1)), column)
    weights = build.apply(Softmax(3), build.apply(Concat(3), scores, column))
    shown = build.reshape(sliced(weights, 3, 0, n), (batch, shared, group, m, n))
    return build.reshape(
        build.apply(Dot(pairs, ((4, 2),)), shown, v), (batch, count, m, v.shape[3])
    )

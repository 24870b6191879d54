"""Operators that no single kernel has, in terms of those that have one."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from morello.graph.graph import Node, Operator, apply
from morello.graph.operators import (
    Attention,
    Broadcast,
    Cast,
    Concat,
    Constant,
    Conv,
    Dot,
    Gather,
    Map,
    Pad,
    Pooling,
    PrimitiveOperator,
    Reduce,
    Reshape,
    Scatter,
    SegmentSum,
    Softmax,
    Where,
)
from morello.graph.patterns.factors import (
    outer_product,
    product_with_zeros,
    repeated_rows,
    shared_factor,
    summed_factor,
)
from morello.graph.patterns.folding import LARGEST, REPEATED, computed
from morello.graph.patterns.matching import (
    Rule,
    constant,
    in_dtype,
    in_shape,
    is_float,
    is_map,
    lowest,
    mapped,
    number,
    reshaped,
    sliced,
    widened,
)
from morello.graph.patterns.registers import conv_of_registers, dot_of_registers, map_before_slice
from morello.graph.patterns.rows import taken_rows
from morello.graph.patterns.volumes import RULES as VOLUMES
from morello.graph.views import copy_of, view_of

_LARGEST_MASK = 1 << 28
"""The elements that the mask of causal attention may have: 16,384 rows of as many."""


def causal_mask(node: Node) -> Node | None:
    """Attention[causal](q, k, v, mask) -> Attention(q, k, v, mask + triangle)."""
    attention = node.operator
    assert isinstance(attention, Attention)
    if not attention.causal:
        return None
    q, k, v, *masks = node.inputs
    rows, columns = q.shape[-2], k.shape[-2]
    if rows * columns > _LARGEST_MASK:
        return None
    seen = np.tri(rows, columns, columns - rows, dtype=bool)
    # half of the lowest number, so that scores can be added to it
    triangle = constant(np.where(seen, 0, lowest(q.dtype) / 2), q.dtype)
    mask = mapped("add", masks[0], triangle) if masks else triangle
    return apply(replace(attention, causal=False), q, k, v, mask)


def grouped_heads(node: Node) -> Node | None:
    """Attention of 8 heads of q over 2 of k and v -> that of q as 2 groups of 4 heads.

    It is products, perhaps with groups of one, if only one of k and v is broadcast, which no
    kernel of attention reads.
    """
    attention = node.operator
    assert isinstance(attention, Attention)
    q, k, v, *masks = node.inputs
    read = not any(isinstance(x.operator, Broadcast) for x in (k, v))
    if q.type.rank < 3 or q.type.rank > k.type.rank or (read and q.shape[-3] == k.shape[-3]):
        return None
    *outer, heads, rows, depth = q.shape
    shared = k.shape[-3]
    grouped = apply(Reshape((*outer, shared, heads // shared, rows, depth)), q)
    masks = [_for_groups(mask, shared) for mask in masks]
    if read:
        seen = apply(attention, grouped, k, v, *masks)
    else:
        seen = _products(attention, grouped, k, v, *masks)
    return apply(Reshape((*outer, heads, rows, v.shape[-1])), seen)


def one_key(node: Node) -> Node | None:
    """attention(q, k, v), if k has one row -> softmax(q k^T * scale) v, as an outer product."""
    assert isinstance(node.operator, Attention)
    q, k, *_ = node.inputs
    heads = k.shape[:-2]
    if node.operator.causal or k.shape[-2] != 1 or q.shape[: len(heads)] != heads:
        return None
    return _products(node.operator, *node.inputs)


def softmax_of_one(node: Node) -> Node | None:
    """softmax(x) along an axis of size 1 -> exp(x - x): 1, or NaN for what is not finite."""
    assert isinstance(node.operator, Softmax)
    (x,) = node.inputs
    if x.shape[node.operator.axis] != 1:
        return None
    return mapped("exp", mapped("subtract", x, x))


def _products(attention: Attention, q: Node, k: Node, v: Node, *masks: Node) -> Node:
    """Attention as two products; q may have a dimension more than k and v, before its rows."""
    batch = tuple((d, d) for d in range(k.type.rank - 2))
    last = q.type.rank - 1
    scores = apply(Dot(batch, ((last, k.type.rank - 1),)), q, k)
    cap = attention.cap
    scores = mapped("multiply", scores, constant(attention.scale / (cap or 1), q.dtype))
    if cap:
        scores = mapped("multiply", mapped("tanh", scores), constant(cap, q.dtype))
    for mask in masks:
        scores = mapped("add", scores, mask)
    weights = apply(Softmax(last), scores)
    return apply(Dot(batch, ((last, v.type.rank - 2),)), weights, v)


def _for_groups(mask: Node, shared: int) -> Node:
    """A mask [..., heads, rows, columns], or one for all heads, as one for groups of heads."""
    if mask.type.rank < 3:
        return mask
    *outer, heads, rows, columns = mask.shape
    groups = (1, 1) if heads == 1 else (shared, heads // shared)
    return apply(Reshape((*outer, *groups, rows, columns)), mask)


def counted_windows(node: Node) -> Node | None:
    """Pooling[mean, padding=1](x) -> Pooling[mean, counts_padding](x) * factors.

    The factors are 1, and more at the borders, where windows have fewer elements of the image.
    """
    pooling = node.operator
    assert isinstance(pooling, Pooling)
    if (
        pooling.kind != "mean"
        or pooling.counts_padding
        or not any((*pooling.before, *pooling.after))
    ):
        return None
    (x,) = node.inputs
    counting = replace(pooling, counts_padding=True)
    if prod(map(sum, zip(x.shape[2:], pooling.before, pooling.after, strict=True))) > LARGEST:
        return None
    shares = counting.evaluate(np.ones((1, 1, *x.shape[2:])))
    return mapped("multiply", apply(counting, x), constant(1 / shares, x.dtype))


def padded(node: Node) -> Node | None:
    """pad(x) by a known number -> concatenations of x with constants."""
    x, filler = node.inputs
    pad = node.operator
    assert isinstance(pad, Pad)
    if not isinstance(filler.operator, Constant):
        return None
    for axis, widths in enumerate(zip(pad.before, pad.after, strict=True)):
        if any(widths):
            shapes = [(*x.shape[:axis], width, *x.shape[axis + 1 :]) for width in widths]
            if max(map(prod, shapes)) > LARGEST:
                return None
            low, high = (
                [constant(np.full(shape, filler.operator.array), x.dtype)] if shape[axis] else []
                for shape in shapes
            )
            x = apply(Concat(axis), *low, x, *high)
    return x


def padded_apart(node: Node) -> Node | None:
    """conv[padding=4](x, w) -> conv[padding=2](pad[2](x), w), for 3 rows: no window is padding."""
    image, filters = node.inputs
    conv = node.operator
    assert isinstance(conv, Conv)
    spans = [step * (n - 1) for n, step in zip(filters.shape[2:], conv.dilations, strict=True)]
    before, after = (tuple(map(min, spans, widths)) for widths in (conv.before, conv.after))
    more = [
        (0, 0, *(a - b for a, b in zip(whole, kept, strict=True)))
        for whole, kept in ((conv.before, before), (conv.after, after))
    ]
    if not any(map(any, more)):
        return None
    wider = apply(Pad(*more), image, constant(0, image.dtype))
    return apply(replace(conv, before=before, after=after), wider, filters)


def product_by_halves(node: Node) -> Node | None:
    """reduce[prod](x) -> (first half * second half) * ..., along one axis after the other."""
    reduce, (x,) = node.operator, node.inputs
    assert isinstance(reduce, Reduce)
    if reduce.kind != "prod" or x.dtype.itemsize > 4 or not x.type.size:
        return None
    result = widened(x)
    for axis in reduce.axes:
        result = _product(result, axis)
    return in_dtype(reshaped(result, node.shape), node.dtype)


def _product(x: Node, axis: int) -> Node:
    """The product of all elements along an axis, which is left with size 1."""
    rest: Node | None = None
    while (size := x.shape[axis]) > 1:
        half = size // 2
        if size % 2:
            last = sliced(x, axis, size - 1, size)
            rest = last if rest is None else mapped("multiply", rest, last)
        x = mapped("multiply", sliced(x, axis, 0, half), sliced(x, axis, half, 2 * half))
    return x if rest is None else mapped("multiply", x, rest)


def division_by_zero(node: Node) -> Node | None:
    """x / 0 -> inf where x > 0, -inf where x < 0, else NaN."""
    if not (is_map(node, "divide") and is_float(node.dtype)):
        return None
    x, divisor = node.inputs
    known = number(divisor)
    if known != 0:
        return None
    zero, infinity, nan = (constant(n, x.dtype) for n in (0, np.copysign(np.inf, known), np.nan))
    below = apply(Where(), mapped("less", x, zero), mapped("neg", infinity), nan)
    result = apply(Where(), mapped("greater", x, zero), infinity, below)
    return in_shape(result, node.shape)


def written_out(node: Node) -> Node | None:
    """f(broadcast(c)) -> f(all elements of it), where a kernel reads elements that are stored."""
    inputs = tuple(map(_written_out, node.inputs))
    return None if inputs == node.inputs else apply(node.operator, *inputs)


def _written_out(node: Node) -> Node:
    if not isinstance(node.operator, Broadcast) or node.type.size > REPEATED:
        return node
    known = node.inputs[0].operator
    if not isinstance(known, Constant):
        return node
    return constant(np.broadcast_to(known.array, node.shape), node.dtype)


def with_copies(node: Node) -> Node | None:
    """f(broadcast(x)) -> f(copy(broadcast(x))), where f reads whole arrays."""
    inputs = tuple(copy_of(x) if _repeats(x) else x for x in node.inputs)
    return None if inputs == node.inputs else apply(node.operator, *inputs)


def _repeats(node: Node) -> bool:
    """Whether a node is a view of which several elements lie in one place."""
    view = view_of(node)
    sizes = zip(view.shape, view.strides, strict=True)
    return any(size > 1 and step == 0 for size, step in sizes)


EXPANSIONS: dict[type[Operator], tuple[Rule, ...]] = {
    Attention: (causal_mask, grouped_heads, one_key, written_out),
    Cast: (computed, *VOLUMES[Cast]),
    Concat: VOLUMES[Concat],
    Conv: (padded_apart, *VOLUMES[Conv], conv_of_registers),
    Dot: (
        product_with_zeros,
        summed_factor,
        shared_factor,
        repeated_rows,
        outer_product,
        written_out,
        dot_of_registers,
    ),
    Gather: (taken_rows,),
    Map: (computed, division_by_zero, map_before_slice, *VOLUMES[Map]),
    Pad: (padded,),
    Pooling: (*VOLUMES[Pooling], counted_windows),
    PrimitiveOperator: (with_copies,),
    Reduce: (product_by_halves, *VOLUMES[Reduce]),
    Reshape: (computed,),
    Scatter: (written_out,),
    SegmentSum: (written_out,),
    Softmax: (softmax_of_one,),
    Where: (computed, *VOLUMES[Where]),
}
"""The rules for what no single kernel computes, and for what is known of what they make."""

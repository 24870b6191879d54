"""Attention, out of its two products and the softmax between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

import numpy as np

from morello.graph.graph import Array, Node, Operator, apply
from morello.graph.operators import (
    Attention,
    Broadcast,
    Cast,
    Constant,
    Dot,
    Reduce,
    Reshape,
    Softmax,
    Transpose,
    Where,
)
from morello.graph.patterns.matching import (
    Rule,
    before_casts,
    constant,
    in_dtype,
    is_float,
    is_map,
    keeps_values,
    lowest,
    mapped,
    number,
    reshaped,
    transposed,
)

_HIDDEN = -1e9
"""Scores from here down get no weight, as -inf does."""

_DROWNED = -1e30
"""A number from here down hides scores that are added to it, as if it stood in their place."""


@dataclass(frozen=True)
class _Scores:
    """dot(q, k) * scale, with a cap, + mask, and which dimension each of the product's is."""

    product: Node
    labels: tuple[int, ...]
    scale: float = 1.0
    cap: float | None = None
    mask: Node | None = None
    causal: tuple[int, int] | None = None

    def dimensions(self, side: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """The batch dimensions of an input, its free ones, and the contracted one."""
        dot = self.product.operator
        assert isinstance(dot, Dot)
        batch = tuple(pair[side] for pair in dot.batch)
        return batch, dot.free(side, self.product.inputs[side].type.rank), dot.contracted[0][side]


def hidden_rows(node: Node) -> Node | None:
    """dot(where(isnan(p), 0, p), v) with p = softmax(dot(q, k) + mask), as torch exports it
    -> dot(softmax(dot(q, k) + finite mask), v) * (whether a row of the mask shows anything).

    What is NaN before the mask is applied, so that torch's result is 0, is NaN here.
    """
    weights = _without_nan(node.inputs[0])
    if weights is None or node.shape[:-1] != weights.shape[:-1]:
        return None
    last = weights.type.rank - 1
    (masked,) = weights.inputs
    if weights.operator != Softmax(last) or not is_map(masked, "add"):
        return None
    scores, mask = masked.inputs if _is_scaled_dot(masked.inputs[0]) else masked.inputs[::-1]
    if not _is_scaled_dot(scores) or mask.shape[-1:] != masked.shape[-1:]:
        return None
    least = constant(lowest(mask.dtype) / 2, mask.dtype)  # half, so that scores can be added
    finite = mapped("add", scores, mapped("maximum", mask, least))
    largest = apply(Reduce("max", (mask.type.rank - 1,), keepdims=True), mask)
    shown = in_dtype(mapped("greater", largest, constant(-np.inf, mask.dtype)), node.dtype)
    product = apply(node.operator, apply(weights.operator, finite), node.inputs[1])
    return mapped("multiply", product, shown)


def _without_nan(node: Node) -> Node | None:
    """x if a node is where(x != x, 0, x); None otherwise."""
    if not isinstance(node.operator, Where):
        return None
    condition, zero, x = node.inputs
    is_nan = is_map(condition, "not_equal") and condition.inputs == (x, x)
    return x if is_nan and number(zero) == 0 else None


def attention(node: Node) -> Node | None:
    """dot(softmax(dot(q, k) * scale + mask), v) -> attention(q, k, v, mask).

    So too with c * tanh(dot(q, k) * scale / c) as scores. The dimensions may be in any order, and
    q may have several rows' dimensions, as those of its heads that share one of k and v.
    """
    for side in range(2):
        weights = before_casts(node.inputs[side])
        if isinstance(weights.operator, Softmax) and is_float(node.dtype):
            scores = _scores(weights.inputs[0])
            if scores is not None:
                return _attention(node, side, weights.operator.axis, scores)
    return None


def _scores(node: Node) -> _Scores | None:
    """The product, scale and mask that a node is computed from; None if it is something else."""
    labels = tuple(range(node.type.rank))
    scale = 1.0
    masks: list[_Mask] = []
    cap: float | None = None
    causal: tuple[int, int] | None = None
    while True:
        operator = node.operator
        if isinstance(operator, Dot):
            if len(operator.contracted) != 1:
                return None
            if len({mask.node.dtype for mask in masks}) > 1:
                return None
            return _Scores(node, labels, scale * (cap or 1), cap, _combined(masks), causal)
        if isinstance(operator, Cast) and is_float(node.inputs[0].dtype):
            (node,) = node.inputs
        elif isinstance(operator, Transpose):
            moved = dict(zip(operator.order, labels, strict=True))
            (node,) = node.inputs
            labels = tuple(moved[d] for d in range(node.type.rank))
        elif is_map(node, "multiply", "divide") and (factor := number(node.inputs[1])):
            scale = scale * factor if is_map(node, "multiply") else scale / factor
            (node, _) = node.inputs
        elif is_map(node, "tanh") and cap is None:
            cap, scale = scale, 1.0
            (node,) = node.inputs
        elif (scale, cap, causal, labels) == (1, None, None, tuple(sorted(labels))):
            scored, hidden = _unmasked(node)
            if scored is None or scored.shape != node.shape:
                return None
            if isinstance(hidden, Node):
                masks.append(_Mask(hidden, chooses=hidden is node))
            elif masks:
                return None
            else:
                causal = hidden
            node = scored
        else:
            return None


def _unmasked(node: Node) -> tuple[Node | None, Node | tuple[int, int] | None]:
    """The scores before a mask is applied, and the mask, or the dimensions if it is causal.

    The mask of a choice between scores and what hides them is that node.
    """
    if isinstance(node.operator, Where):
        condition, seen, hidden = node.inputs
        inverted = number(seen) is not None
        if inverted:
            seen, hidden = hidden, seen
        value = number(hidden)
        if value is None or value > _hidden(hidden.dtype):
            return None, None
        if isinstance(condition.operator, Constant):
            visible = condition.operator.array
            causal = _triangle(~visible if inverted else visible, node.type.rank)
            if causal:
                return seen, causal
        return (seen, node) if lowest(hidden.dtype) <= value <= _DROWNED else (None, None)
    if not is_map(node, "add"):
        return None, None
    scores, mask = node.inputs if _has_scores(node.inputs[0]) else node.inputs[::-1]
    if isinstance(mask.operator, Constant):
        array = mask.operator.array
        visible = np.asarray(array == 0)
        if visible.all() or np.asarray(array[~visible] <= _hidden(mask.dtype)).all():
            causal = _triangle(visible, node.type.rank)
            if causal:
                return scores, causal
    return scores, mask


class _Mask(NamedTuple):
    """A node that is added to scores, or where(condition, scores, c), which `chooses`."""

    node: Node
    chooses: bool


def _combined(masks: Sequence[_Mask]) -> Node | None:
    """The sum that masks, of which the last is applied first, add to scores; None without one.

    where(condition, scores + x, c) adds where(condition, x, c), as c is so low that scores that
    are added to it do not change it.
    """
    total: Node | None = None
    for mask, chooses in reversed(masks):
        if chooses:
            condition, *chosen = mask.inputs
            if isinstance(condition.operator, Broadcast):
                (condition,) = condition.inputs
            seen = constant(0, mask.dtype) if total is None else total
            chosen = [seen if number(x) is None else x for x in chosen]
            total = apply(mask.operator, condition, *chosen)
        else:
            total = mask if total is None else mapped("add", total, mask)
    return total


def _hidden(dtype: np.dtype[np.generic]) -> float:
    """The largest number that a mask may have for what is not seen."""
    return max(_HIDDEN, lowest(dtype))


def _is_scaled_dot(node: Node) -> bool:
    """Whether a node is a product, whatever the scale, cap, casts and order of dimensions."""
    while (
        isinstance(node.operator, Cast | Transpose)
        or is_map(node, "tanh")
        or (is_map(node, "multiply", "divide") and number(node.inputs[1]) is not None)
    ):
        node = node.inputs[0]
    return isinstance(node.operator, Dot)


def _has_scores(node: Node, masks: int = 2) -> bool:
    """Whether a node is a product as `_is_scaled_dot` has it, with at most so many masks."""
    if masks and (isinstance(node.operator, Where) or is_map(node, "add")):
        return any(_has_scores(source, masks - 1) for source in node.inputs)
    return _is_scaled_dot(node)


def _triangle(visible: Array, rank: int) -> tuple[int, int] | None:
    """The dimensions of rows and columns if these are a lower triangle; None if they are not."""
    long = [d for d, n in enumerate(visible.shape) if n > 1]
    if len(long) != 2:
        return None
    shift = rank - visible.ndim
    square = visible.reshape([visible.shape[d] for d in long])
    for (rows, columns), seen in ((long, square), (long[::-1], square.T)):
        m, n = seen.shape
        if n >= m and np.array_equal(seen, np.tri(m, n, n - m, dtype=bool)):
            return rows + shift, columns + shift
    return None


class _Labelled(NamedTuple):
    """A tensor with a label for each dimension: those of the scores, -1 (of q and k), -2 (of v)."""

    node: Node
    labels: list[int]

    def ordered(self, order: Sequence[int]) -> Node:
        """The tensor with its dimensions in this order of their labels."""
        return transposed(self.node, tuple(map(self.labels.index, order)))

    def size(self, labels: Sequence[int]) -> int:
        """The number of elements in dimensions with these labels."""
        return prod(self.node.shape[self.labels.index(label)] for label in labels)


def _attention(node: Node, side: int, axis: int, scores: _Scores) -> Node | None:
    """The node for softmax(scores, axis) times v, the other input of this product."""
    last, keys, causal = node.operator, _key_side(scores, axis), scores.causal
    assert isinstance(last, Dot)
    if keys is None or [pair[side] for pair in last.contracted] != [axis]:
        return None
    q, k = _labelled(scores, keys)
    v = _Labelled(node.inputs[1 - side], [-2] * node.inputs[1 - side].type.rank)
    for pair in (*last.batch, *last.contracted):
        v.labels[pair[1 - side]] = pair[side]
    batch = [label for label in q.labels if label in k.labels and label >= 0]
    rows = [label for label in q.labels if label not in k.labels]
    bound = [pair[side] for pair in last.batch]
    if v.labels.count(-2) != 1 or sorted(bound) != sorted(batch):
        return None
    if causal and (causal[0] not in rows or causal[1] != axis):
        return None
    if scores.mask is not None and len(rows) > 1:
        return None
    row = [causal[0]] if causal else rows[-1:]
    groups = [label for label in rows if label not in row]
    if groups and causal and not batch:
        return None
    mask = scores.mask and _ordered_mask(
        scores.mask, [*batch, *row, axis], len(batch) + len(rows) + 1
    )
    if mask is not None and not row:
        mask = reshaped(mask, (*mask.shape[:-1], 1, mask.shape[-1]))
    heads = [q.size([label]) for label in batch]
    if groups and causal:  # these share k and v as heads do: a causal mask tells rows apart
        heads[-1] *= q.size(groups)
    seen_rows = q.size(row if causal else rows)
    order = [*batch, *groups, *row]
    given = (
        reshaped(q.ordered([*order, -1]), (*heads, seen_rows, q.size([-1]))),
        k.ordered([*batch, axis, -1]),
        v.ordered([*batch, axis, -2]),
    )
    dtype = q.node.dtype if keeps_values(node.dtype, q.node.dtype) else node.dtype
    if not all(keeps_values(each.dtype, dtype) for each in given):
        return None
    inputs = [in_dtype(each, dtype) for each in given] + ([] if mask is None else [mask])
    seen = apply(Attention(scores.scale, causal is not None, scores.cap), *inputs)
    shape = (*(q.size([label]) for label in order), v.size([-2]))
    result = _Labelled(reshaped(in_dtype(seen, node.dtype), shape), [*order, -2])
    left = sorted(rows)
    return result.ordered([*bound, *([-2, *left] if side == 1 else [*left, -2])])


def _key_side(scores: _Scores, axis: int) -> int | None:
    """Which input of the scores' product has the softmax's axis, as its only free dimension."""
    batch = len(scores.dimensions(0)[0])
    counts = [len(scores.dimensions(side)[1]) for side in range(2)]
    place = scores.labels.index(axis) - batch
    if place < 0:
        return None
    side = 0 if place < counts[0] else 1
    return side if counts[side] == 1 else None


def _labelled(scores: _Scores, keys: int) -> tuple[_Labelled, _Labelled]:
    """q and k, each with the labels of its dimensions."""
    labelled: list[_Labelled] = []
    start = len(scores.dimensions(0)[0])
    for side, source in enumerate(scores.product.inputs):
        batch, free, contracted = scores.dimensions(side)
        labels = [0] * source.type.rank
        labels[contracted] = -1
        for number_, d in enumerate(batch):
            labels[d] = scores.labels[number_]
        for d in free:
            labels[d] = scores.labels[start]
            start += 1
        labelled.append(_Labelled(source, labels))
    return labelled[1 - keys], labelled[keys]


def _ordered_mask(mask: Node, order: list[int], rank: int) -> Node:
    """A mask, which is broadcast to the scores, with its dimensions in this order."""
    whole = reshaped(mask, (1,) * (rank - mask.type.rank) + mask.shape)
    return transposed(whole, tuple(order))


def scaled_inputs(node: Node) -> Node | None:
    """attention(q * c, k, v), attention(q, k * c, v) -> attention(q, k, v), scaled by c."""
    assert isinstance(node.operator, Attention)
    for side in range(2):
        if scaled := _scaled(node.inputs[side]):
            x, factor = scaled
            inputs = [*node.inputs]
            inputs[side] = x
            return apply(replace(node.operator, scale=node.operator.scale * factor), *inputs)
    return None


def _scaled(node: Node) -> tuple[Node, float] | None:
    """x and c, if a node is x * c, perhaps transposed, for a number c that is not 0."""
    if isinstance(node.operator, Transpose):
        scaled = _scaled(node.inputs[0])
        return scaled and (apply(node.operator, scaled[0]), scaled[1])
    factor = number(node.inputs[1]) if is_map(node, "multiply", "divide") else None
    if not factor or node.inputs[0].shape != node.shape:
        return None
    return node.inputs[0], factor if is_map(node, "multiply") else 1 / factor


def shared_heads(node: Node) -> Node | None:
    """attention(q, repeat(k), repeat(v)) -> attention(q, k, v), where heads repeat neighbours."""
    q, k, v, *masks = node.inputs
    if not q.type.rank == k.type.rank > 2:
        return None
    fewer = [_unrepeated(each, each.type.rank - 3) for each in (k, v)]
    k_once, v_once = fewer
    if k_once is None or v_once is None or k_once.shape[:-2] != v_once.shape[:-2]:
        return None
    return apply(node.operator, q, k_once, v_once, *masks)


def _unrepeated(node: Node, axis: int) -> Node | None:
    """x if a node is x with each slice along an axis repeated, or its only one; None otherwise."""
    if isinstance(node.operator, Transpose):
        order = node.operator.order
        once = _unrepeated(node.inputs[0], order[axis])
        return once and apply(Transpose(order), once)
    if isinstance(node.operator, Broadcast):
        once, repeated = _before_broadcast(node)
        return once if repeated == [axis] else None
    if not isinstance(node.operator, Reshape):
        return None
    (wide,) = node.inputs
    if not isinstance(wide.operator, Broadcast) or wide.type.rank != node.type.rank + 1:
        return None
    once, repeated = _before_broadcast(wide)
    split = wide.shape[: axis + 1] + wide.shape[axis + 2 :]
    merged = (*split[:axis], split[axis] * wide.shape[axis + 1], *split[axis + 1 :])
    if repeated != [axis + 1] or merged != node.shape:
        return None
    return reshaped(once, split)


def _before_broadcast(node: Node) -> tuple[Node, list[int]]:
    """The source of a broadcast, in the rank of its result, and the dimensions that it repeats."""
    (x,) = node.inputs
    once = reshaped(x, (1,) * (node.type.rank - x.type.rank) + x.shape)
    return once, [d for d, n in enumerate(node.shape) if once.shape[d] != n]


def heads_as_rows(node: Node) -> Node | None:
    """attention(q, k, v) -> reshape(attention(reshape(q), k, v)), if heads of q share those of k.

    The heads of q that share one become rows of it, unless a mask tells only rows or only heads
    apart: one that has each row of each head becomes one of these rows.
    """
    q, k, v, *masks = node.inputs
    assert isinstance(node.operator, Attention)
    if node.operator.causal or not q.type.rank == k.type.rank > 2 or q.shape[:-2] == k.shape[:-2]:
        return None
    rows = q.shape[-3] * q.shape[-2] // k.shape[-3]
    for n, mask in enumerate(masks):
        if mask.shape[-3:-1] == q.shape[-3:-1]:
            masks[n] = reshaped(mask, (*mask.shape[:-3], k.shape[-3], rows, mask.shape[-1]))
        elif any(size > 1 for size in mask.shape[-3:-1]):
            return None
    if q.shape[:-3] != k.shape[:-3]:
        return None
    fewer = reshaped(q, (*k.shape[:-2], rows, q.shape[-1]))
    return reshaped(apply(node.operator, fewer, k, v, *masks), node.shape)


def one_row(node: Node) -> Node | None:
    """causal attention(q, k, v) -> attention(q, k, v), if q has one row, which sees all columns."""
    assert isinstance(node.operator, Attention)
    if not node.operator.causal or node.inputs[0].shape[-2] != 1:
        return None
    return apply(replace(node.operator, causal=False), *node.inputs)


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {
    Attention: (scaled_inputs, shared_heads, one_row, heads_as_rows),
    Dot: (hidden_rows, attention),
}
"""The rules of this family, by the class of the operators that they are for."""

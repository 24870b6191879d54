"""Products whose factors are broadcast, which kernels do not read, or 0, or of a single term."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from morello.graph.graph import Node, apply
from morello.graph.operators import Broadcast, Constant, Dot, Reduce
from morello.graph.patterns.matching import (
    constant,
    in_dtype,
    in_shape,
    mapped,
    number,
    reshaped,
    transposed,
    widened,
)
from morello.graph.views import shown


def shared_factor(node: Node) -> Node | None:
    """dot[batch](broadcast(a), b) -> dot(a, b), if all matrices of a batch have the same a."""
    dot = node.operator
    assert isinstance(dot, Dot)
    for side, source, shape in _broadcast_factors(node):
        whole = node.inputs[side]
        gone = {pair for pair in dot.batch if shape[pair[side]] < whole.shape[pair[side]]}
        if gone:
            kept = [d for d in range(whole.type.rank) if d not in {pair[side] for pair in gone}]
            once = reshaped(source, tuple(shape[d] for d in kept))
            once = in_shape(once, tuple(whole.shape[d] for d in kept))
            return _without_batch(node, side, once, kept)
    return None


def _broadcast_factors(node: Node) -> Iterator[tuple[int, Node, tuple[int, ...]]]:
    """The side of each factor that is broadcast, its source, and the source's shape in its rank."""
    for side, whole in enumerate(node.inputs):
        if isinstance(whole.operator, Broadcast):
            (source,) = whole.inputs
            yield side, source, (1,) * (whole.type.rank - source.type.rank) + source.shape


def _without_batch(node: Node, side: int, once: Node, kept: list[int]) -> Node:
    """The product with a factor that has only the kept dimensions, in the order of the product."""
    dot, other = node.operator, 1 - side
    assert isinstance(dot, Dot)

    def moved(pair: tuple[int, int]) -> tuple[int, int]:
        place = kept.index(pair[side])
        return (place, pair[1]) if side == 0 else (pair[0], place)

    batch = tuple(pair for pair in dot.batch if pair[side] in kept)
    fewer = Dot(tuple(map(moved, batch)), tuple(map(moved, dot.contracted)), dot.dtype)
    inputs = (once, node.inputs[1]) if side == 0 else (node.inputs[0], once)
    product = apply(fewer, *inputs)
    before, after = ([(other, pair[other]) for pair in pairs] for pairs in (dot.batch, batch))
    for n in range(2):
        before += [(n, d) for d in dot.free(n, node.inputs[n].type.rank)]
        free = fewer.free(n, inputs[n].type.rank)
        after += [(n, kept[d] if n == side else d) for d in free]
    return transposed(product, tuple(after.index(each) for each in before))


def repeated_rows(node: Node) -> Node | None:
    """dot(broadcast(a), b) -> broadcast(dot(a, b)), if rows of a are all the same."""
    dot = node.operator
    assert isinstance(dot, Dot)
    for side, source, shape in _broadcast_factors(node):
        whole = node.inputs[side]
        free = dot.free(side, whole.type.rank)
        cut = tuple(shape[d] if d in free else size for d, size in enumerate(whole.shape))
        if cut != whole.shape:
            inputs = [*node.inputs]
            inputs[side] = in_shape(reshaped(source, shape), cut)
            return in_shape(apply(dot, *inputs), node.shape)
    return None


def summed_factor(node: Node) -> Node | None:
    """dot(broadcast(a), b) -> broadcast(sum(b) * a), if a is one number: the gradient of a sum.

    Floats of 16 bits are summed in f32, as products are: their sums might be infinite.
    """
    dot = node.operator
    assert isinstance(dot, Dot)
    for side, source, _ in _broadcast_factors(node):
        other, pair, known = node.inputs[1 - side], 1 - side, number(shown(source))
        special = known is not None and (known == 0 or not np.isfinite(known))
        if source.type.size != 1 or special or {source.dtype, other.dtype} != {node.dtype}:
            continue
        axes = tuple(sorted(each[pair] for each in dot.contracted))
        kept = [d for d in range(other.type.rank) if d not in axes]
        batch = [each[pair] for each in dot.batch]
        free = [*dot.free(pair, other.type.rank)]
        wide = widened(other)
        summed = apply(Reduce("sum", axes), wide) if axes else wide
        moved = transposed(summed, tuple(kept.index(d) for d in (*batch, *free)))
        units = (1,) * len(dot.free(side, node.inputs[side].type.rank))
        own = tuple(other.shape[d] for d in free)
        shape = (*(other.shape[d] for d in batch), *(units + own if side == 0 else own + units))
        scaled = mapped("multiply", reshaped(moved, shape), reshaped(widened(source), ()))
        return in_shape(in_dtype(scaled, node.dtype), node.shape)
    return None


def product_with_zeros(node: Node) -> Node | None:
    """dot(0, w) -> 0 for known finite weights: what a recurrent layer's first step multiplies."""
    factors = [*map(shown, node.inputs)]
    for zeros, weights in (factors, factors[::-1]):
        known = all(isinstance(each.operator, Constant) for each in (zeros, weights))
        if known and number(zeros) == 0 and np.isfinite(weights.operator.evaluate()).all():
            return in_shape(constant(0, node.dtype), node.shape)
    return None


def outer_product(node: Node) -> Node | None:
    """dot(a, b) that sums one term -> a * b."""
    dot = node.operator
    assert isinstance(dot, Dot)
    a, b = node.inputs
    if dot.dtype not in (None, a.dtype) or any(a.shape[d] != 1 for d, _ in dot.contracted):
        return None
    count = len(dot.batch)
    free = [dot.free(side, x.type.rank) for side, x in enumerate((a, b))]
    parts = []
    for side, x in enumerate((a, b)):
        order = [pair[side] for pair in dot.batch] + [*free[side]]
        order += [pair[side] for pair in dot.contracted]
        sizes = [x.shape[d] for d in order[: len(order) - len(dot.contracted)]]
        units = [1] * len(free[1 - side])
        shape = (*sizes, *units) if side == 0 else (*sizes[:count], *units, *sizes[count:])
        parts.append(reshaped(transposed(x, tuple(order)), shape))
    return in_shape(mapped("multiply", *parts), node.shape)

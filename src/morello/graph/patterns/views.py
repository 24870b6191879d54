"""Views that change nothing, views of views, and views that their readers do without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from morello.frontends.products import Pairs
from morello.graph.graph import Node, Operator, apply
from morello.graph.operators import (
    Broadcast,
    Cast,
    Constant,
    Conv,
    Dot,
    Input,
    Map,
    Pooling,
    Reduce,
    Reshape,
    Slice,
    Softmax,
    Transpose,
    Where,
)
from morello.graph.operators.elementwise import broadcast_shape
from morello.graph.patterns.matching import (
    Rule,
    added_units,
    constant,
    in_shape,
    inserted_units,
    reshaped,
)
from morello.graph.views import copy_of, shown, view_of

WORTH_COPYING = 128
"""The fewest filters for which pixels that are apart are copied to be neighbours.

A copy takes 0.2 to 0.5 ns a pixel, and with 512 filters, reading it where it lies 2 ns more.
"""


def _adds_leading(node: Node) -> bool:
    """Whether a reshape only puts dimensions of size 1 before the others."""
    places = inserted_units(node)
    return places is not None and node.shape[len(places) :] == node.inputs[0].shape


def simple_broadcast(node: Node) -> Node | None:
    """broadcast(broadcast(x)) -> broadcast(x); one that repeats nothing -> x, or its reshape."""
    (x,) = node.inputs
    if node.type.size == x.type.size:
        return reshaped(x, node.shape)
    if isinstance(x.operator, Broadcast) or _adds_leading(x):
        return apply(node.operator, x.inputs[0])
    return None


def simple_reshape(node: Node) -> Node | None:
    """reshape(reshape(x)) -> reshape(x); a reshape to the shape of x -> x."""
    (x,) = node.inputs
    if node.shape == x.shape:
        return x
    return reshaped(x.inputs[0], node.shape) if isinstance(x.operator, Reshape) else None


def reshaped_broadcast(node: Node) -> Node | None:
    """reshape(broadcast(x)) -> broadcast(reshape(x)), if it adds or drops dimensions of size 1."""
    (x,) = node.inputs
    if not isinstance(x.operator, Broadcast):
        return None
    (source,) = x.inputs
    if source.type.size == 1:
        return in_shape(reshaped(source, ()), node.shape)
    old = (1,) * (x.type.rank - source.type.rank) + source.shape
    places, dropped = added_units(x.shape, node.shape), added_units(node.shape, x.shape)
    if places is not None:
        kept = iter(old)
        shape = tuple(1 if d in places else next(kept) for d in range(node.type.rank))
    elif dropped is not None:
        shape = tuple(size for d, size in enumerate(old) if d not in dropped)
    else:
        return None
    return in_shape(reshaped(source, shape), node.shape)


def kept_dimensions(node: Node) -> Node | None:
    """reshape(reduce(x)) -> reduce(x) that keeps dimensions; also below functions of numbers."""
    (x,) = node.inputs
    return _kept(x, node.shape) if inserted_units(node) is not None else None


def _kept(x: Node, shape: tuple[int, ...], depth: int = 8) -> Node | None:
    """A reduction, or functions of one, in a shape with the dimensions that it has dropped."""
    if isinstance(x.operator, Transpose) and isinstance(x.inputs[0].operator, Reduce):
        return _kept_transposed(x.operator.order, x.inputs[0], shape)
    if isinstance(x.operator, Reduce):
        kept = apply(replace(x.operator, keepdims=True), *x.inputs)
        more = added_units(kept.shape, shape)
        return None if x.operator.keepdims or more is None else reshaped(kept, shape)
    if depth == 0 or not isinstance(x.operator, Map | Cast):
        return None
    inputs = [s if s.shape == () else _kept(s, shape, depth - 1) for s in x.inputs]
    known = [source for source in inputs if source is not None]
    if len(known) < len(inputs) or all(source.shape == () for source in known):
        return None
    return apply(x.operator, *known)


def _kept_transposed(order: tuple[int, ...], x: Node, shape: tuple[int, ...]) -> Node | None:
    """A reduction in another order of its dimensions, as one of its input in that order."""
    reduce, (source,) = x.operator, x.inputs
    assert isinstance(reduce, Reduce)
    places = added_units([x.shape[d] for d in order], shape)
    if reduce.keepdims or places is None or len(places) != len(reduce.axes):
        return None
    left = [d for d in range(source.type.rank) if d not in reduce.axes]
    kept, dropped = iter([left[d] for d in order]), iter(reduce.axes)
    whole = tuple(next(dropped if d in places else kept) for d in range(len(shape)))
    return apply(Reduce(reduce.kind, places, keepdims=True), apply(Transpose(whole), source))


def reduce_without_units(node: Node) -> Node | None:
    """reduce(reshape(x)) -> reshape(reduce(x)), if it adds dimensions of size 1."""
    (x,) = node.inputs
    reduce, places = node.operator, inserted_units(x)
    assert isinstance(reduce, Reduce)
    if not places or {*places} & {*reduce.axes}:
        return None
    axes = tuple(axis - sum(place < axis for place in places) for axis in reduce.axes)
    return reshaped(apply(replace(reduce, axes=axes), x.inputs[0]), node.shape)


def reduced_broadcast(node: Node) -> Node | None:
    """reduce(broadcast(x)) -> broadcast(reduce(x)), if what it repeats changes no result.

    Sums are left where the reduced axes are repeated.
    """
    (x,) = node.inputs
    reduce = node.operator
    assert isinstance(reduce, Reduce)
    if not isinstance(x.operator, Broadcast):
        return None
    (source,) = x.inputs
    whole = reshaped(source, (1,) * (x.type.rank - source.type.rank) + source.shape)
    if reduce.kind in ("sum", "prod") and any(whole.shape[d] != x.shape[d] for d in reduce.axes):
        return None
    axes = tuple(d for d in reduce.axes if whole.shape[d] != 1)
    kept = apply(Reduce(reduce.kind, axes, keepdims=True), whole) if axes else whole
    left = [n for d, n in enumerate(kept.shape) if reduce.keepdims or d not in reduce.axes]
    return in_shape(reshaped(kept, tuple(left)), node.shape)


def simple_transpose(node: Node) -> Node | None:
    """transpose(transpose(x)) -> transpose(x); one that moves no element -> x, or its reshape."""
    (x,) = node.inputs
    assert isinstance(node.operator, Transpose)
    order = node.operator.order
    moved = [d for d in order if x.shape[d] != 1]
    if moved == sorted(moved):
        return reshaped(x, node.shape)
    if isinstance(x.operator, Transpose):
        return apply(Transpose(tuple(x.operator.order[d] for d in order)), x.inputs[0])
    return None


def transposed_view(node: Node) -> Node | None:
    """transpose(broadcast(x)) -> broadcast(transpose(x)); so too for added dimensions of size 1."""
    (x,) = node.inputs
    assert isinstance(node.operator, Transpose)
    order = node.operator.order
    if isinstance(x.operator, Broadcast):
        (source,) = x.inputs
        whole = reshaped(source, (1,) * (x.type.rank - source.type.rank) + source.shape)
        return in_shape(apply(node.operator, whole), node.shape)
    places = inserted_units(x)
    if not places:
        return None
    kept = [d for d in range(x.type.rank) if d not in places]
    inner = tuple(kept.index(d) for d in order if d in kept)
    return reshaped(apply(Transpose(inner), x.inputs[0]), node.shape)


def whole_slice(node: Node) -> Node | None:
    """x[:] -> x."""
    assert isinstance(node.operator, Slice)
    is_copy = node.operator.dense
    return node.inputs[0] if node.shape == node.inputs[0].shape and not is_copy else None


def sliced_broadcast(node: Node) -> Node | None:
    """slice(broadcast(x)) -> broadcast(slice(x)), as functions of it are computed for x alone."""
    (x,) = node.inputs
    assert isinstance(node.operator, Slice)
    if not isinstance(x.operator, Broadcast) or node.operator.dense:
        return None
    (source,) = x.inputs
    operator, first = node.operator, x.type.rank - source.type.rank
    ranges = (*zip(operator.starts, operator.stops, operator.steps, strict=True),)[first:]
    parts = [(0, 1, 1) if n == 1 else r for n, r in zip(source.shape, ranges, strict=True)]
    starts, stops, steps = (tuple(part[number] for part in parts) for number in range(3))
    return in_shape(apply(Slice(starts, stops, steps), source), node.shape)


def smaller_inputs(node: Node) -> Node | None:
    """f(broadcast(x), y) -> f(x, y), broadcast only if the result is smaller than it was.

    Constants whose elements are the same, and added leading dimensions of size 1, are such
    broadcasts, too.
    """
    inputs = tuple(_smaller(source) for source in node.inputs)
    if inputs == node.inputs:
        return None
    if broadcast_shape(*(source.type for source in inputs)) == node.shape:
        return apply(node.operator, *inputs)
    return in_shape(apply(node.operator, *inputs), node.shape)


def _smaller(node: Node) -> Node:
    """The source of a broadcast, or the node itself."""
    if isinstance(node.operator, Broadcast) or _adds_leading(node):
        return node.inputs[0]
    if isinstance(node.operator, Constant) and node.shape:
        array = node.operator.array
        if node.operator.uniform:
            return constant(array.flat[0], node.dtype)
        if node.shape[0] == 1:
            return constant(array[0], node.dtype)
    return node


def dot_of_transposed(node: Node) -> Node | None:
    """dot(transpose(a), b) -> dot(a, b) with other dimensions, if a's free ones stay in order."""
    dot = node.operator
    assert isinstance(dot, Dot)
    for side, x in enumerate(node.inputs):
        if isinstance(x.operator, Transpose):
            order = x.operator.order
            free = [order[d] for d in dot.free(side, x.type.rank)]
            if free == sorted(free):
                return _dot_of(node, side, x.inputs[0], [order.index(d) for d in sorted(order)])
    return None


def dot_without_units(node: Node) -> Node | None:
    """dot(reshape(a), b) -> reshape(dot(a, b)), if it adds free dimensions of size 1.

    Those of a reshape that does more are left out as well.
    """
    dot = node.operator
    assert isinstance(dot, Dot)
    for side, x in enumerate(node.inputs):
        units = [d for d in dot.free(side, x.type.rank) if x.shape[d] == 1]
        if not (isinstance(x.operator, Reshape) and units):
            continue
        (source,) = x.inputs
        added = max(x.type.rank - source.type.rank, 0)
        for places in (*combinations(units, added), tuple(units)):
            left = [d for d in range(x.type.rank) if d not in places]
            shape = tuple(x.shape[d] for d in left)
            if shape == source.shape or len(places) == len(units):
                bare = _dot_of(node, side, reshaped(source, shape), left)
                return reshaped(bare, node.shape)
    return None


def _dot_of(node: Node, side: int, source: Node, places: Sequence[int]) -> Node:
    """A product with `source` as one input, whose dimensions d were `places[d]` of that input."""

    def moved(pairs: Pairs) -> Pairs:
        if side == 0:
            return tuple((places.index(a), b) for a, b in pairs)
        return tuple((a, places.index(b)) for a, b in pairs)

    dot = node.operator
    assert isinstance(dot, Dot)
    inputs = [*node.inputs]
    inputs[side] = source
    return apply(Dot(moved(dot.batch), moved(dot.contracted), dot.dtype), *inputs)


def softmax_of_reshape(node: Node) -> Node | None:
    """softmax(reshape(x)) -> reshape(softmax(x)), if that keeps the axis.

    It does if it only adds dimensions of size 1, or if the last axis stays the last.
    """
    (x,) = node.inputs
    assert isinstance(node.operator, Softmax)
    axis, places = node.operator.axis, inserted_units(x)
    if places and axis not in places:
        inner = axis - sum(place < axis for place in places)
    elif (
        isinstance(x.operator, Reshape)
        and axis == x.type.rank - 1
        and (x.inputs[0].shape[-1:] == x.shape[-1:])
    ):
        inner = x.inputs[0].type.rank - 1
    else:
        return None
    return reshaped(apply(Softmax(inner), x.inputs[0]), node.shape)


def windows_without_units(node: Node) -> Node | None:
    """conv(x, w) -> reshape(conv(reshape(x), reshape(w))), without dimensions of a single window.

    Kernels compute sums for neighbours in the last dimension together, of which images of width 1
    have none.
    """
    operator = node.operator
    assert isinstance(operator, Conv | Pooling)
    window = node.inputs[1].shape[2:] if isinstance(operator, Conv) else operator.window
    sizes = zip(node.inputs[0].shape[2:], window, operator.before, operator.after, strict=True)
    kept = [d for d, size in enumerate(sizes) if size != (1, 1, 0, 0)]
    if not 0 < len(kept) < len(window):
        return None

    def left(values: Sequence[int]) -> tuple[int, ...]:
        return tuple(values[d] for d in kept)

    strides, dilations = left(operator.strides), left(operator.dilations)
    before, after = left(operator.before), left(operator.after)
    fewer = replace(operator, strides=strides, before=before, after=after, dilations=dilations)
    if isinstance(fewer, Pooling):
        fewer = replace(fewer, window=left(window))
    shapes = [(*x.shape[:2], *left(x.shape[2:])) for x in node.inputs]
    bare = apply(fewer, *map(reshaped, node.inputs, shapes))
    return reshaped(bare, node.shape)


def windows_as_large_as_images(node: Node) -> Node | None:
    """Pooling[window=999, padding=991](x) -> Pooling[window=8](x), for a single window of 8 pixels.

    Some networks take means of all pixels by windows that no image fills.
    """
    pooling, (x,) = node.operator, node.inputs
    assert isinstance(pooling, Pooling)
    sizes = zip(
        x.shape[2:], node.shape[2:], pooling.window, pooling.before, pooling.dilations, strict=True
    )
    single = [
        count == step == 1 and n < window and before + n <= window
        for n, count, window, before, step in sizes
    ]
    if pooling.counts_padding or not any(single):
        return None

    def within(values: Sequence[int], others: Sequence[int]) -> tuple[int, ...]:
        every = zip(single, values, others, strict=True)
        return tuple(value if is_single else other for is_single, value, other in every)

    none, ones = (0,) * len(single), (1,) * len(single)
    smaller = replace(
        pooling,
        window=within(x.shape[2:], pooling.window),
        strides=within(ones, pooling.strides),
        before=within(none, pooling.before),
        after=within(none, pooling.after),
    )
    return apply(smaller, x)


def conv_of_apart(node: Node) -> Node | None:
    """conv(x, w) -> conv(x[..., ::2, ::2], w), for filters of one pixel with strides.

    A kernel that reads every other pixel goes through the filters once for each row, one of
    neighbours for many rows at once.
    """
    x, filters = node.inputs
    conv = node.operator
    assert isinstance(conv, Conv)
    ones = (1,) * len(conv.strides)
    if filters.shape[2:] != ones or conv.strides == ones or any((*conv.before, *conv.after)):
        return None
    if filters.shape[0] // conv.groups < WORTH_COPYING or isinstance(shown(x).operator, Input):
        return None
    read = Slice((0,) * x.type.rank, x.shape, (1, 1, *conv.strides), dense=True)
    return apply(replace(conv, strides=ones, dilations=ones), apply(read, x), filters)


def conv_of_repeated(node: Node) -> Node | None:
    """conv(broadcast(x), w) -> conv(x, w) of a copy; so too for filters.

    Kernels of convolutions read no element as several ones.
    """
    inputs = tuple(_without_repeats(source) for source in node.inputs)
    return None if inputs == node.inputs else apply(node.operator, *inputs)


def _without_repeats(node: Node) -> Node:
    """A copy of a view that shows elements several times; the node itself if it is none."""
    view = view_of(node)
    once = all(stride or n == 1 for n, stride in zip(view.shape, view.strides, strict=True))
    if once or node.type.size == 0:
        return node
    if isinstance(view.base.operator, Constant) and view.base.type.size == 1:
        return constant(np.full(node.shape, view.base.operator.array.item()), node.dtype)
    return copy_of(node)


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {
    Broadcast: (simple_broadcast,),
    Cast: (smaller_inputs,),
    Conv: (windows_without_units, conv_of_apart, conv_of_repeated),
    Dot: (dot_of_transposed, dot_without_units),
    Map: (smaller_inputs,),
    Pooling: (windows_as_large_as_images, windows_without_units),
    Reduce: (reduce_without_units, reduced_broadcast),
    Reshape: (simple_reshape, reshaped_broadcast, kept_dimensions),
    Slice: (whole_slice, sliced_broadcast),
    Softmax: (softmax_of_reshape,),
    Transpose: (simple_transpose, transposed_view),
    Where: (smaller_inputs,),
}
"""The rules of this family, by the class of the operators that they are for."""

"""Images that are stored in their padding: what slides over them need not copy them there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np

from morello.graph.graph import Graph, Node, Operator, apply
from morello.graph.operators import Broadcast, Constant, Conv, Map, Pad, Pooling
from morello.graph.patterns.expansion import padded
from morello.graph.patterns.matching import Rule, below_maps, constant
from morello.graph.rewriting import rewritten
from morello.graph.views import shown
from morello.ir.primitives.convolutions import suits_channels_last

_SPATIAL = 1, 2
"""The dimensions of images that are stored so: columns, or rows and columns."""

_WASTED = 0.07
"""The least share of a convolution's multiply-adds that are of padding, for it to be peeled: then
it reads none (see `rewrites.peel`). A 3x3 filter on 14x14 pixels has 9 %, and on 28x28 5 %, which
cost as much as they save.
"""


def stored_in_padding(graph: Graph) -> Graph:
    """The graph with its images stored in their padding, where what slides over them gains by it.

    Graphs whose images are stored in rows do not.
    """
    return graph if any(map(is_better_in_rows, graph.nodes)) else rewritten(graph, STORED_PADDING)


def is_better_in_rows(node: Node) -> bool:
    """Whether a node is a convolution in groups that leave registers empty by channels."""
    conv = node.operator
    if not isinstance(conv, Conv) or conv.groups == 1:
        return False
    filters, channels = node.inputs[1].shape[:2]
    f32 = all(x.dtype == np.float32 for x in (node, *node.inputs))
    return not suits_channels_last(channels, filters // conv.groups, f32=f32)


def conv_of_stored_padding(node: Node) -> Node | None:
    """conv[padding=1](x, w) -> conv(pad(x), w), of images with columns, or rows and columns.

    Not where it would multiply much padding that its kernel can leave out.
    """
    conv, filters = node.operator, node.inputs[1]
    assert isinstance(conv, Conv)
    if len(conv.strides) not in _SPATIAL or not isinstance(filters.operator, Constant):
        return None
    if _is_peeled(node):
        return None
    wider = _stored(node, filters.shape[2:], 0.0)
    none = (0,) * len(conv.strides)
    return wider and apply(replace(conv, before=none, after=none), wider, filters)


def pooling_of_stored_padding(node: Node) -> Node | None:
    """Pooling[padding=1](x) -> Pooling(pad(x)), where x is a convolution by windows, or scaled.

    A convolution by single pixels stores all pixels as one dimension, and would be slower. Means
    over fewer elements at the border are larger by a constant factor.
    """
    pooling, (x,) = node.operator, node.inputs
    assert isinstance(pooling, Pooling)
    if len(pooling.strides) not in _SPATIAL or not (_is_slid(x) or _is_scaled(x)):
        return None
    wider = _stored(node, pooling.window, -np.inf if pooling.kind == "max" else 0.0)
    if wider is None:
        return None
    none = (0,) * len(pooling.strides)
    result = apply(replace(pooling, before=none, after=none), wider)
    if pooling.kind == "max" or pooling.counts_padding:
        return result
    image = np.ones((1, 1, *x.shape[2:]), x.dtype)
    counted = replace(pooling, counts_padding=True).evaluate(image)
    larger = apply(Broadcast(node.shape), constant(1 / counted, x.dtype))
    return apply(Map("multiply"), result, larger)


def _is_peeled(node: Node) -> bool:
    """Whether a convolution of rows and columns is faster in pieces that read no padding.

    With strides it is not, nor in groups, nor where no window along a dimension is whole. No kernel
    computes one with windows that are all padding.
    """
    conv, (x, filters) = node.operator, node.inputs
    assert isinstance(conv, Conv)
    if len(conv.strides) == 1 or {*conv.strides, conv.groups} != {1}:
        return False
    used = 1.0
    for count, size, taps, before, step in zip(
        node.shape[2:], x.shape[2:], filters.shape[2:], conv.before, conv.dilations, strict=True
    ):
        read = np.arange(count)[:, None] + step * np.arange(taps) - before
        inside = (read >= 0) & (read < size)
        if not inside.all(axis=1).any() or not inside.any(axis=1).all():
            return False
        used *= inside.mean()
    return used <= 1 - _WASTED


def _stored(node: Node, taps: tuple[int, ...], number: float) -> Node | None:
    """The image that a node slides over with as much padding as it reads; None if it has none."""
    windows, x = node.operator, node.inputs[0]
    assert isinstance(windows, Conv | Pooling)
    read = zip(
        node.shape[2:], x.shape[2:], taps, windows.strides, windows.before, windows.dilations,
        strict=True,
    )  # fmt: skip
    after = [
        max(0, (count - 1) * stride + (n - 1) * step + 1 - size - before)
        for count, size, n, stride, before, step in read
    ]
    if not any((*windows.before, *after)):
        return None
    filler = constant(number, x.dtype)
    return padded(apply(Pad((0, 0, *windows.before), (0, 0, *after)), x, filler))


def _is_slid(node: Node) -> bool:
    """Whether a node is a convolution by filters of several pixels, or functions of one."""
    below = below_maps(node)
    if below is None or not isinstance(below.operator, Conv):
        return False
    return prod(below.inputs[1].shape[2:]) > 1


def _is_scaled(node: Node) -> bool:
    """Whether an image is computed of itself and of smaller tensors, such as its mean.

    A kernel of a convolution does not: it would have to be done before.
    """
    if not isinstance(node.operator, Map):
        return False
    varying = [x for x in node.inputs if not isinstance(shown(x).operator, Constant)]
    smaller = any(shown(x).type.size < node.type.size for x in varying)
    return smaller or any(map(_is_scaled, varying))


STORED_PADDING: Mapping[type[Operator], tuple[Rule, ...]] = {
    Conv: (conv_of_stored_padding,),
    Pooling: (pooling_of_stored_padding,),
}
"""The rules for graphs whose images are not stored in rows."""

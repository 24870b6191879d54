"""Products with results for whole registers: a few filters or columns more, which nothing reads."""

from __future__ import annotations

import numpy as np

from morello.graph.graph import Node, apply
from morello.graph.operators import Constant, Conv, Dot, Slice
from morello.graph.patterns.matching import constant, is_float, sliced, varying

REGISTER = 16
"""The numbers in a register of f32, on machines with the widest: others have a divisor of it."""

_MOST_MORE = 1 / 32
"""The share of filters or columns that may be added."""

_LEAST_ROWS = 4
"""For fewer rows, a product reads each weight once, in any order, as fast as memory delivers it."""

_LEAST_SUMMED = 64
"""A sum of fewer products may take no longer than copying it out of longer rows."""

_CHANNELS = 1


def conv_of_registers(node: Node) -> Node | None:
    """conv(x, w) of 1000 filters -> conv(x, w and 8 filters more)[:, :1000].

    Filters that fill registers are laid out in panels, without any left over.
    """
    x, filters = node.inputs
    conv = node.operator
    assert isinstance(conv, Conv)
    count = filters.shape[0]
    more = -count % REGISTER
    if not isinstance(filters.operator, Constant) or conv.groups > 1:
        return None
    if not 0 < more <= count * _MOST_MORE:
        return None
    return sliced(apply(conv, x, _with_more(filters, 0, more)), _CHANNELS, 0, count)


def dot_of_registers(node: Node) -> Node | None:
    """dot(x, w) of 6625 columns -> dot(x, w and 15 columns more)[..., :6625].

    Rows of w, too, then begin where cache lines do.
    """
    x, weights = node.inputs
    dot = node.operator
    assert isinstance(dot, Dot)
    columns = dot.free(1, weights.type.rank)
    if not isinstance(weights.operator, Constant) or len(columns) != 1 or dot.batch:
        return None
    (axis,) = columns
    count = weights.shape[axis]
    more = -count % REGISTER
    large = node.type.size >= count * _LEAST_ROWS and weights.type.size >= count * _LEAST_SUMMED
    if not (is_float(node.dtype) and large and 0 < more <= count * _MOST_MORE):
        return None
    wider = apply(dot, x, _with_more(weights, axis, more))
    return sliced(wider, node.type.rank - 1, 0, count)


def map_before_slice(node: Node) -> Node | None:
    """f(x[:, :1000], constants) -> f(x, longer constants)[:, :1000], if x is a few longer."""
    cut = varying(node)
    axis = _sliced_axis(cut[0]) if len(cut) == 1 else None
    if axis is None or cut[0].shape != node.shape:
        return None
    (whole,) = cut[0].inputs
    count = node.shape[axis]
    more = whole.shape[axis] - count

    def longer(x: Node) -> Node:
        place = x.type.rank - node.type.rank + axis
        return _with_more(x, place, more) if place >= 0 and x.shape[place] > 1 else x

    inputs = [whole if x is cut[0] else longer(x) for x in node.inputs]
    return sliced(apply(node.operator, *inputs), axis, 0, count)


def _sliced_axis(node: Node) -> int | None:
    """The channels or the columns, if a node is all of them but a few at the end; else None."""
    if not isinstance(node.operator, Slice) or node.operator.dense or node.type.rank < 2:
        return None
    (x,) = node.inputs
    for axis in (_CHANNELS, node.type.rank - 1):
        count, most = node.shape[axis], x.shape[axis]
        few = 0 < most - count <= count * _MOST_MORE
        if few and node.operator == sliced(x, axis, 0, count).operator:
            return axis
    return None


def _with_more(node: Node, axis: int, more: int) -> Node:
    """A constant with its last element along an axis repeated."""
    assert isinstance(node.operator, Constant)
    widths = [(0, more if d == axis else 0) for d in range(node.type.rank)]
    return constant(np.pad(node.operator.array, widths, mode="edge"), node.dtype)

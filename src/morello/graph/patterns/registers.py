"""Convolutions with filters for whole registers: a few filters more, which nothing reads."""

from __future__ import annotations

import numpy as np

from morello.graph.graph import Node, apply
from morello.graph.operators import Constant, Conv, Slice
from morello.graph.patterns.matching import constant

REGISTER = 16
"""The numbers in a register of f32, on machines with the widest: others have a divisor of it."""

_MOST_MORE = 1 / 32
"""The share of filters that may be added."""

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
    return _first_channels(apply(conv, x, _with_more(filters, 0, more)), count)


def map_before_slice(node: Node) -> Node | None:
    """f(x[:, :1000], constants) -> f(x, longer constants)[:, :1000], if x has few channels more."""
    varying = [x for x in node.inputs if not isinstance(x.operator, Constant)]
    whole = _whole(varying[0]) if len(varying) == 1 else None
    if whole is None:
        return None
    count = node.shape[_CHANNELS]
    more = whole.shape[_CHANNELS] - count

    def longer(x: Node) -> Node:
        axis = x.type.rank - node.type.rank + _CHANNELS
        return _with_more(x, axis, more) if axis >= 0 and x.shape[axis] > 1 else x

    inputs = [whole if x is varying[0] else longer(x) for x in node.inputs]
    return _first_channels(apply(node.operator, *inputs), count)


def _whole(node: Node) -> Node | None:
    """The operand of a slice that keeps all channels but a few at the end; None for other nodes."""
    if not isinstance(node.operator, Slice) or node.operator.dense or node.type.rank < 2:
        return None
    (x,) = node.inputs
    count, most = node.shape[_CHANNELS], x.shape[_CHANNELS]
    few = 0 < most - count <= count * _MOST_MORE
    return x if few and node.operator == _first_channels(x, count).operator else None


def _first_channels(x: Node, count: int) -> Node:
    stops = (*x.shape[:_CHANNELS], count, *x.shape[_CHANNELS + 1 :])
    return apply(Slice((0,) * x.type.rank, stops, (1,) * x.type.rank), x)


def _with_more(node: Node, axis: int, more: int) -> Node:
    """A constant with its last element along an axis repeated."""
    assert isinstance(node.operator, Constant)
    widths = [(0, more if d == axis else 0) for d in range(node.type.rank)]
    return constant(np.pad(node.operator.array, widths, mode="edge"), node.dtype)

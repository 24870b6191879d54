"""Groups of a convolution joined, so that their channels fill registers.

Where channels are last, sums of 24 filters leave the half of a register empty, and graphs with such
groups store their images in rows (see `channels_last`), where steps of two pixels are slow. Two
groups as one fill the registers, with as many products with zeros as others.
"""

from __future__ import annotations

from functools import partial
from math import gcd

import numpy as np

from morello.graph.graph import Graph, Node, apply
from morello.graph.operators import Constant, Conv
from morello.graph.patterns.matching import constant
from morello.graph.patterns.padding import is_better_in_rows
from morello.graph.rewriting import rewritten
from morello.ir.dtype import F32
from morello.ir.primitives.convolutions import FULL
from morello.targets.target import Target

MOST = 2
"""How many groups are joined at most: so many times as many products are computed."""


def in_fuller_groups(graph: Graph, machine: Target) -> Graph:
    """The graph with groups of convolutions joined, if no image is then better in rows."""
    register = machine.widths(F32)[0]
    if not all(_together(node, register) for node in graph.nodes if is_better_in_rows(node)):
        return graph
    return rewritten(graph, {Conv: (partial(of_joined_groups, register=register),)})


def of_joined_groups(node: Node, register: int) -> Node | None:
    """conv[groups=4](x, w) -> conv[groups=2](x, w between zeros), for `register` numbers in one."""
    together = _together(node, register) if is_better_in_rows(node) else 0
    if not together:
        return None
    conv, (x, filters) = node.operator, node.inputs
    assert isinstance(conv, Conv)
    assert isinstance(filters.operator, Constant)
    count, channels, *taps = filters.shape
    groups = conv.groups // together
    # [g, n, f, n, c, p...]: the filters of each of n groups are 0 for the channels of others
    wide = np.zeros((groups, together, count // conv.groups, together, channels, *taps), np.float32)
    apart = filters.operator.array.reshape(groups, together, -1, channels, *taps)
    for number in range(together):
        wide[:, number, :, number] = apart[:, number]
    joined = constant(wide.reshape(count, together * channels, *taps), filters.dtype)
    wider = Conv(conv.strides, conv.before, conv.after, conv.dilations, groups, conv.dtype)
    return apply(wider, x, joined)


def _together(node: Node, register: int) -> int:
    """How many groups of a convolution in f32 have a multiple of `FULL` filters together.

    0 if these are more than `MOST`, or if one group alone fills the registers of the machine.
    """
    conv, filters = node.operator, node.inputs[1]
    assert isinstance(conv, Conv)
    if node.dtype != np.float32 or not isinstance(filters.operator, Constant):
        return 0
    own = filters.shape[0] // conv.groups
    together = FULL // gcd(own, FULL)
    fits = together <= MOST and conv.groups % together == 0
    return together if fits and own % register else 0

"""Sequences of tensors of a known length: graphs have none, so each is the nodes that it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Concat, Constant
from morello.importers.onnx.call import INT64, KNOWN, LeftError, constant, op, position, reshaped
from morello.importers.onnx.movement import at, between

Held = tuple[Node, ...]
"""The tensors of a sequence."""


@dataclass(frozen=True)
class SequenceCall:
    """A node that makes or reads sequences, with what it reads; None is an input not given."""

    attributes: Mapping[str, Any]
    inputs: tuple[Node | Held | None, ...]

    @property
    def held(self) -> Held:
        """The first input, a sequence."""
        if not isinstance(self.inputs[0], tuple):
            raise GraphError("a tensor is read as a sequence.")
        return self.inputs[0]

    def tensor(self, index: int) -> Node:
        node = self.inputs[index]
        if not isinstance(node, Node):
            raise GraphError("a sequence is read as a tensor.")
        if node.dtype not in KNOWN:
            raise LeftError(f"it is of {node.type}")
        return node

    def place(self, index: int, default: int) -> int:
        """An input that is a place in the first one; a number below 0 counts from its end."""
        if index >= len(self.inputs) or self.inputs[index] is None:
            return default
        node = self.tensor(index)
        if not isinstance(node.operator, Constant):
            raise LeftError("a place in a sequence is computed when it runs")
        place, count = int(node.operator.array.item()), len(self.held)
        return place + count if place < 0 else place


def _construct(call: SequenceCall) -> Held:
    return tuple(call.tensor(n) for n in range(len(call.inputs)))


def _split(call: SequenceCall) -> Held:
    """Parts of a size, or of sizes, along an axis; without sizes, each of one, without the axis."""
    x = call.tensor(0)
    axis = position(call.attributes.get("axis", 0), x.type.rank)
    count = x.shape[axis]
    if len(call.inputs) < 2 or call.inputs[1] is None:
        if not call.attributes.get("keepdims", 1):
            return tuple(at(x, axis, n) for n in range(count))
        ends = np.arange(1, count + 1)
    else:
        given = call.tensor(1).operator
        if not isinstance(given, Constant):
            raise LeftError("its sizes are computed when it runs")
        sizes = given.array
        each = int(sizes.flat[0])
        ends = np.cumsum(sizes) if sizes.ndim else np.arange(each, count + each, each)
    bounds = [0, *(min(int(end), count) for end in ends)]
    return tuple(between(x, {axis: (low, high, 1)}) for low, high in pairwise(bounds))


def _insert(call: SequenceCall) -> Held:
    place = call.place(2, len(call.held))
    return (*call.held[:place], call.tensor(1), *call.held[place:])


def _erase(call: SequenceCall) -> Held:
    place = position(call.place(1, len(call.held) - 1), len(call.held))
    return (*call.held[:place], *call.held[place + 1 :])


def _joined(call: SequenceCall) -> Node:
    """All tensors along an axis, which may be a new one."""
    nodes, new = call.held, call.attributes.get("new_axis", 0)
    if not nodes:
        raise GraphError("an empty sequence is joined.")
    axis = position(call.attributes["axis"], nodes[0].type.rank + bool(new))
    if new:
        nodes = tuple(reshaped(x, (*x.shape[:axis], 1, *x.shape[axis:])) for x in nodes)
    return nodes[0] if len(nodes) == 1 else op(Concat(axis), *nodes)


SEQUENCES: Mapping[str, Callable[[SequenceCall], Node | Held]] = {
    "ConcatFromSequence": _joined,
    "Identity": lambda call: call.held,
    "SequenceAt": lambda call: call.held[position(call.place(1, -1), len(call.held))],
    "SequenceConstruct": _construct,
    "SequenceEmpty": lambda _: (),
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": lambda call: constant(len(call.held), INT64),
    "SplitToSequence": _split,
}
"""The translations of nodes that make or read sequences."""

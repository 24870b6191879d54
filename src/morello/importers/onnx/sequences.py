"""Sequences of tensors of a known length: graphs have none, so each is the nodes that it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Array, Node
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

    def place(self, index: int, default: int, count: int) -> int:
        """An input that is one of so many places in the first one.

        A number below 0 counts from the end of what that holds.
        """
        given = default
        if index < len(self.inputs) and self.inputs[index] is not None:
            node = self.tensor(index)
            if not isinstance(node.operator, Constant):
                raise LeftError("a place in a sequence is computed when it runs")
            given = int(node.operator.array.item())
        place = given + len(self.held) if given < 0 else given
        if not 0 <= place < count:
            raise GraphError(f"there is no place {given} in a sequence of {len(self.held)}.")
        return place


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
        ends = _ends(given.array, count)
    bounds = [0, *(min(int(end), count) for end in ends)]
    return tuple(between(x, {axis: (low, high, 1)}) for low, high in pairwise(bounds))


def _ends(sizes: Array, count: int) -> Array:
    """Where parts of so many elements end, given the size of each, or of all but the last one."""
    if not sizes.ndim and sizes > 0:
        step = int(sizes)
        return np.arange(step, count + step, step)
    if not sizes.ndim or (sizes < 0).any() or sizes.sum() != count:
        raise GraphError(f"{count} elements are split into parts of {sizes.tolist()}.")
    ends: Array = np.cumsum(sizes)
    return ends


def _insert(call: SequenceCall) -> Held:
    place = call.place(2, len(call.held), len(call.held) + 1)
    return (*call.held[:place], call.tensor(1), *call.held[place:])


def _erase(call: SequenceCall) -> Held:
    place = call.place(1, -1, len(call.held))
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
    "SequenceAt": lambda call: call.held[call.place(1, -1, len(call.held))],
    "SequenceConstruct": _construct,
    "SequenceEmpty": lambda _: (),
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": lambda call: constant(len(call.held), INT64),
    "SplitToSequence": _split,
}
"""The translations of nodes that make or read sequences."""

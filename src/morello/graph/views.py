"""Where tensors lie: some nodes have the elements of another one, at other strides.

NumPy works out shapes, strides and offsets, on an array whose memory is never touched.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from morello.graph.graph import Array, Node, apply
from morello.graph.operators import Broadcast, Reshape, Slice, Transpose

VIEWS = Broadcast, Reshape, Slice, Transpose
"""The operators whose results may be views of their inputs."""


@dataclass(frozen=True)
class View:
    """The elements of `base` from `offset` on, in this shape, at these strides (in elements)."""

    base: Node
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie in row-major order, without gaps."""
        dense = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size > 1 and stride != dense:
                return False
            dense *= size
        return True

    def in_words(self, count: int) -> View:
        """A view that shows each element as so many words, along a last dimension."""
        strides = (*(count * step for step in self.strides), 1)
        return View(self.base, (*self.shape, count), strides, count * self.offset)


def shown(node: Node) -> Node:
    """The node whose elements a chain of views shows; the node itself if it is no view."""
    while isinstance(node.operator, VIEWS):
        node = node.inputs[0]
    return node


def view_of(node: Node, stored: Collection[Node] = ()) -> View:
    """Where a node's elements lie, if the bases of views are row-major and without gaps.

    A view of a node in `stored`, or of one that is no view, has it as its base; a reshape that
    would have to copy is a base as well, and so is a dense slice.
    """
    chain = [node]
    while chain[-1] not in stored and isinstance(chain[-1].operator, VIEWS):
        chain.append(chain[-1].inputs[0])
    base = chain.pop()
    array = _untouched(base.shape)
    first = array.ctypes.data
    for view in reversed(chain):
        moved = _moved(view, array)
        if moved is None:
            base, array = view, _untouched(view.shape)
            first = array.ctypes.data
        else:
            array = moved
    return View(base, array.shape, array.strides, array.ctypes.data - first)


def copy_of(node: Node) -> Node:
    """A copy of a node, in row-major order."""
    rank = node.type.rank
    return apply(Slice((0,) * rank, node.shape, (1,) * rank, dense=True), node)


def copied_from(node: Node, stored: Collection[Node] = ()) -> View:
    """Where the elements of a view are copied from, in order, if it is stored by itself."""
    (source,) = node.inputs
    if isinstance(node.operator, Slice):
        return view_of(apply(replace(node.operator, dense=False), source), stored)
    view = view_of(node, stored)
    return view_of(source, stored) if view.base is node else view


def _untouched(shape: tuple[int, ...]) -> Array:
    """An array of bytes in row-major order, most of which lie outside of its memory."""
    strides = np.cumprod((1, *shape[:0:-1]), dtype=np.int64)[::-1] if shape else ()
    memory = np.empty(1, np.uint8)
    return np.lib.stride_tricks.as_strided(memory, shape, tuple(map(int, strides)))


def _moved(view: Node, array: Array) -> Array | None:
    """The view of an array that a node is; None if it is a copy."""
    if isinstance(view.operator, Reshape):
        try:
            return np.reshape(array, view.shape, copy=False)
        except ValueError:
            return None
    if isinstance(view.operator, Slice) and view.operator.dense:
        return None
    return view.operator.evaluate(array)

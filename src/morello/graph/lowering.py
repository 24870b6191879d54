"""From a group of nodes to the Spec that computes it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from morello.base.errors import SpecError
from morello.frontends.copies import move
from morello.frontends.text import MAX_INPUTS
from morello.frontends.types import make_type
from morello.frontends.values import NEW_AXIS, Value, broadcast_copy, input_of
from morello.graph.graph import Node
from morello.graph.operators import (
    Attention,
    Broadcast,
    Cast,
    Constant,
    Conv,
    Map,
    Scatter,
    SegmentSum,
    Transpose,
    Where,
)
from morello.graph.operators.elementwise import converted
from morello.graph.views import VIEWS, View, view_of
from morello.ir.computation import Tensor, computation
from morello.ir.dtype import U8, U16, U32, DType
from morello.ir.layout import Layout
from morello.ir.spec import Spec, Strides

_BROADCASTING = Broadcast, Cast, Map, Transpose, Where
"""The operators that take a dimension of size 1 for one of any size."""

_OF_ARRAYS = Conv, Scatter, SegmentSum
"""The operators that read arrays, even filters of a single number."""


@dataclass(frozen=True)
class LoweredGroup:
    """The Spec of a group, and where its distinct arrays lie: the inputs, in order."""

    spec: Spec
    inputs: tuple[View, ...]


def lowered(nodes: Sequence[Node], stored: Collection[Node] = ()) -> LoweredGroup:
    """The Spec of these nodes, each of which comes after its inputs; the last is the output.

    What else they read lies where `view_of` says, given the views that are `stored` by themselves.
    Intermediate results may be wider than their nodes say, as f32 in place of bf16, and are
    rounded once at the end. A transpose at the end says in which order the result is stored.
    Raises `SpecError` if no Spec computes it.
    """
    *computing, turn = nodes
    if not computing or not isinstance(turn.operator, Transpose):
        computing.append(turn)
    if any(not each.type.size for node in computing for each in (node, *node.inputs)):
        raise SpecError("a tensor has no elements, as no kernel computes or reads it.")
    lowering = _Lowering(stored, _before_units(computing))
    for node in computing:
        lowering.lower(node)
    last = computing[-1]
    result = _result(last, lowering.values[last])
    if last is not turn and isinstance(turn.operator, Transpose):
        kept = [d for d, axis in enumerate(lowering.values[last].axes) if axis != NEW_AXIS]
        order = [kept.index(d) for d in turn.operator.order if d in kept]
        result = replace(result, layout=Layout(tuple(order)))
    computed = computation(result)
    if len(computed.arrays) > MAX_INPUTS:
        what = f"{len(nodes)} operators read {len(computed.arrays)} tensors"
        raise SpecError(what, f"a kernel takes {MAX_INPUTS}; make them several groups")
    return LoweredGroup(computed.spec, tuple(lowering.leaves[t] for t in computed.arrays))


def obstacle(node: Node) -> str:
    """Why no kernel computes a node by itself."""
    try:
        lowered([node])
    except SpecError as error:
        return str(error).removesuffix(".")
    return "no program of it was found"


def copied(view: View, to: Strides = None) -> LoweredGroup:
    """The Spec that copies the elements of a view, to these strides or else in row-major order.

    Elements are copied as unsigned integers of their size, or as several words. Raises `SpecError`
    if there is none.
    """
    size, read = view.base.dtype.itemsize, view
    if size > _WORD:
        count = size // _WORD
        size, read = _WORD, view.in_words(count)
        to = None if to is None else (*(count * step for step in to), 1)
    return LoweredGroup(_copy(read.shape, read.strides, size, to), (view,))


@lru_cache(maxsize=4096)
def _copy(shape: tuple[int, ...], strides: tuple[int, ...], size: int, to: Strides) -> Spec:
    """The Spec that copies elements of `size` bytes: that of many copies in a graph."""
    long = [d for d, n in enumerate(shape) if n > 1] or [*range(len(shape))][-1:]
    kept = [d for d in long if strides[d]]
    if not kept:  # one number for all places is the only one along a dimension before the others
        shape, strides, long, kept = (1, *shape), (1, *strides), [0, *(d + 1 for d in long)], [0]
        if to is not None:
            to = max((n * step for n, step in zip(shape[1:], to, strict=True)), default=1), *to
    source = _input([shape[d] for d in kept], [strides[d] for d in kept], _UNSIGNED[size])
    value = Value(source, tuple(range(len(kept))))
    for place, d in enumerate(long):
        if d not in kept:
            value = broadcast_copy(value, place, shape[d])
    result = value.tensor if value.tensor.operation else move(value).tensor
    if to is not None:
        apart = tuple(to[d] for d in long)
        result = replace(result, layout=_layout(apart), strides=apart)
    return computation(result).spec


_WORD = 4
_UNSIGNED = {1: U8, 2: U16, 4: U32}


def _input(shape: Sequence[int], strides: Sequence[int], element: DType) -> Tensor:
    """An input of this shape; the dimensions lie in the order of the strides."""
    return input_of(make_type(tuple(shape), element, _layout(strides), tuple(strides)))


def _layout(strides: Sequence[int]) -> Layout:
    """The layout whose dimensions are in the order of these strides."""
    return Layout(tuple(sorted(range(len(strides)), key=lambda d: (-strides[d], d))))


def _before_units(nodes: Sequence[Node]) -> set[Node]:
    """The elementwise nodes whose results are read with their dimensions of size 1."""
    before: set[Node] = set()
    for node in reversed(nodes):
        if node.operator.keeps_units or node in before:
            before.update(source for source in node.inputs if source.operator.elementwise)
    return before


class _Lowering:
    """The values of the nodes of a group, and of those that it reads.

    What `before_units` have as inputs of their own shape keeps its dimensions of size 1.
    """

    def __init__(self, stored: Collection[Node], before_units: Collection[Node]) -> None:
        self._stored, self._before_units = stored, before_units
        self.values: dict[Node, Value] = {}
        self.leaves: dict[Tensor, View] = {}
        self._whole: dict[Node, Value] = {}

    def lower(self, node: Node) -> None:
        inputs = [self._input(node, source) for source in node.inputs]
        if not isinstance(node.operator, _BROADCASTING):
            # a mask is added elementwise
            count = 3 if isinstance(node.operator, Attention) else len(inputs)
            for source, given in zip(node.inputs[:count], inputs[:count], strict=True):
                if isinstance(given, Value) and given.shape != source.shape:
                    raise SpecError(f"{node.operator} reads a broadcast", "make it two kernels")
        is_number = isinstance(node.operator, VIEWS) and isinstance(inputs[0], float)
        value = inputs[0] if is_number else node.operator.value(*inputs)  # type: ignore[arg-type]
        if not isinstance(value, Value):
            raise SpecError(f"{node.operator} of a number computes nothing", "write the number")
        units = (NEW_AXIS,) * (node.type.rank - value.rank)
        self.values[node] = Value(value.tensor, (*units, *value.axes))

    def _input(self, node: Node, source: Node) -> Value | float:
        if source in self.values:
            return self.values[source]
        number = source.operator if source.type.size == 1 else None
        if isinstance(number, Constant) and not isinstance(node.operator, _OF_ARRAYS):
            return float(number.array.item())
        alike = node in self._before_units and source.shape == node.shape
        whole = node.operator.keeps_units or alike
        known = self._whole if whole else self.values
        if source not in known:
            known[source] = self._leaf(source, whole)
        return known[source]

    def _leaf(self, node: Node, whole: bool) -> Value:
        """An array that the group reads: `whole`, or without its dimensions of size 1."""
        view = view_of(node, self._stored)
        element = node.type.stored
        if element is None:
            raise SpecError(f"no kernel takes {node.type}", "cast it elsewhere")
        every = range(node.type.rank)
        kept = [d for d in every if whole or (view.strides[d] and view.shape[d] > 1)]
        shape = [view.shape[d] for d in kept] or [1]
        tensor = _input(shape, [view.strides[d] for d in kept] or [1], element)
        self.leaves[tensor] = view
        places = {d: n for n, d in enumerate(kept)}
        if not kept:  # the last dimension is in memory
            return Value(tensor, (*(NEW_AXIS,) * (node.type.rank - 1), 0))
        return Value(tensor, tuple(places.get(d, NEW_AXIS) for d in every))


def _result(output: Node, value: Value) -> Tensor:
    """The tensor of a group's result, without dimensions of size 1, in the dtype of its node."""
    if [n for n in value.shape if n > 1] != [n for n in output.shape if n > 1]:
        raise SpecError(f"{output.operator} only broadcasts", "leave it to what reads it")
    element = output.type.stored
    if element is None:
        raise SpecError(f"no kernel computes {output.type}", "compute it elsewhere")
    bare = Value(value.tensor, tuple(d for d in value.axes if d != NEW_AXIS)).materialized
    operation = bare.tensor.operation
    if operation is None:
        raise SpecError(f"{output.operator} computes nothing", "make it a view")
    if bare.dtype is element:
        return bare.tensor
    if operation.is_product and element.is_float == bare.dtype.is_float:
        return replace(bare.tensor, dtype=element)
    return converted(bare, element).tensor

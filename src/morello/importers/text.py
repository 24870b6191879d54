"""Graphs of text expressions, which may be larger than a Spec can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from morello.base.errors import GraphError
from morello.base.ordering import topological
from morello.frontends.inputs import TensorLike
from morello.frontends.text import parse_tensor
from morello.frontends.views import Concatenated, Reshaped, Sliced, Transposed, ViewTensor
from morello.graph.graph import Graph, Node, Operator, TensorType, apply
from morello.graph.operators import Concat, Input, PrimitiveOperator, Reshape, Slice, Transpose
from morello.graph.patterns.matching import in_dtype, transposed
from morello.graph.rewriting import simplified
from morello.graph.views import copy_of, shown
from morello.ir.computation import Tensor, primitive_sizes
from morello.ir.layout import Layout
from morello.ir.operation import Operation
from morello.ir.text import listed


@dataclass(frozen=True)
class TextGraph:
    """The graph of an expression, and the tensors of its inputs, in its order, and its result."""

    graph: Graph
    inputs: tuple[Tensor, ...]
    result: Tensor


def graph_of(text: str, /, **tensors: TensorLike) -> Graph:
    """The graph of an expression; its inputs are in the order of their first use.

    Arrays are in the row-major order of how they lie in memory: one of f32[4,8]{0,1} is given, or
    computed, as f32[8,4]. A result that is a view of an input is a copy of it. Raises `SpecError`
    as `frontends.parse`, and `GraphError` for an array with gaps or in panels.
    """
    return text_graph(text, **tensors).graph


def text_graph(text: str, /, **tensors: TensorLike) -> TextGraph:
    """`graph_of`, with the tensors of its inputs and its result."""
    result = parse_tensor(text, **tensors)
    inputs: dict[Tensor, Node] = {}
    nodes: dict[Tensor, Node] = {}
    for tensor in topological([result], _sources):
        sources = [nodes[source] for source in _sources(tensor)]
        if isinstance(tensor, ViewTensor):
            nodes[tensor] = apply(_of_view(tensor), *sources)
        elif tensor.operation is None:
            inputs[tensor] = _input(tensor)
            order = order_in_memory(tensor)
            nodes[tensor] = transposed(inputs[tensor], tuple(map(order.index, range(len(order)))))
        else:
            nodes[tensor] = _node(tensor, sources)
    output = transposed(nodes[result], order_in_memory(result))
    graph = Graph((*inputs.values(),), (output,))
    if isinstance(shown(simplified(graph).outputs[0]).operator, Input):
        graph = Graph(graph.inputs, (copy_of(output),))
    return TextGraph(graph, (*inputs,), result)


def _sources(tensor: Tensor) -> tuple[Tensor, ...]:
    return tensor.sources if isinstance(tensor, ViewTensor) else tensor.inputs


def order_in_memory(tensor: Tensor) -> tuple[int, ...]:
    """The dimensions of an input or a result, in the order in which it lies in memory."""
    rank = len(tensor.shape)
    layout = tensor.layout or Layout(tuple(range(rank)))
    if tensor.strides is not None or layout.panel is not None:
        lies = "has gaps" if tensor.strides is not None else "lies in panels"
        name = tensor.name or listed(tensor.shape)
        raise GraphError(f"{name} {lies}, as arrays of a program of kernels cannot; copy it.")
    return layout.order


def _input(tensor: Tensor) -> Node:
    stored = tuple(tensor.shape[d] for d in order_in_memory(tensor))
    return apply(Input(TensorType(stored, tensor.dtype.np), tensor.name))


def _slice(spans: Sequence[range]) -> Slice:
    starts, steps = tuple(span.start for span in spans), tuple(span.step for span in spans)
    return Slice(starts, tuple(span[-1] + 1 for span in spans), steps)


def _of_view(tensor: ViewTensor) -> Operator:
    """The operator that shows the sources of a view as it does."""
    match tensor.view:
        case Transposed(order):
            return Transpose(order)
        case Sliced(spans):
            return _slice(spans)
        case Concatenated(axis):
            return Concat(axis)
        case Reshaped():
            return Reshape(tensor.shape)


def _node(tensor: Tensor, sources: list[Node]) -> Node:
    """The node of an operation: transposes and casts as such, others as primitive operators."""
    operation = tensor.operation
    assert operation is not None
    if operation.copies and sources and operation.primitive and operation.primitive.rearranges:
        return _moved(operation, sources[0], TensorType(tensor.shape, tensor.dtype.np))
    kind = TensorType(tensor.shape, tensor.dtype.np)
    return apply(PrimitiveOperator(operation, primitive_sizes(tensor), kind), *sources)


def _moved(operation: Operation, source: Node, result: TensorType) -> Node:
    """The result of a move: its dimensions are those of its operand, in another order."""
    read, written = operation.operands
    node = transposed(source, tuple(read.dims.index(d) for d in written.dims))
    return in_dtype(node, result.dtype)

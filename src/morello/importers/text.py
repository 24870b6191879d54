"""Graphs of text expressions, which may be larger than a Spec can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from morello.base.errors import GraphError
from morello.base.ordering import topological
from morello.frontends.inputs import TensorLike
from morello.frontends.text import parse_tensor
from morello.frontends.views import (
    Concatenated,
    NamedView,
    Reshaped,
    Sliced,
    Transposed,
    ViewTensor,
)
from morello.frontends.views import sources as sources_of
from morello.graph.graph import Graph, Node, TensorType, apply
from morello.graph.operators import (
    Attention,
    Concat,
    Input,
    PrimitiveOperator,
    Reshape,
    Slice,
    Transpose,
    Where,
)
from morello.graph.patterns.matching import constant, in_dtype, mapped, reshaped, transposed
from morello.graph.rewriting import simplified
from morello.graph.views import copy_of, shown
from morello.importers.attending import attended
from morello.importers.building import GraphBuilder
from morello.importers.numpy_movement import MOVEMENTS
from morello.ir.computation import Tensor, primitive_sizes
from morello.ir.functions import Function
from morello.ir.layout import Layout
from morello.ir.operation import Operation
from morello.ir.text import listed

_ARITHMETIC = frozenset(map(Function, ("add", "multiply", "neg", "subtract")))
"""Functions whose nodes are as those of other front-ends, for patterns such as rotary positions."""


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
    for tensor in topological([result], sources_of):
        sources = [nodes[source] for source in sources_of(tensor)]
        if isinstance(tensor, ViewTensor):
            nodes[tensor] = _of_view(tensor, sources)
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


def _of_view(tensor: ViewTensor, sources: Sequence[Node]) -> Node:
    """The node that shows what a view does of these sources."""
    match tensor.view:
        case Transposed(order):
            return apply(Transpose(order), *sources)
        case Sliced(spans):
            return apply(_slice(spans), *sources)
        case Concatenated(axis):
            return apply(Concat(axis), *sources)
        case Reshaped():
            return apply(Reshape(tensor.shape), *sources)
        case NamedView("attention", options):
            return _attention(*sources, **dict(options))
        case NamedView(function, options):
            moved: Node = MOVEMENTS[getattr(np, function)](*sources, **dict(options))
            return moved


def _attention(q: Node, k: Node, v: Node, *masks: Node, causal: bool, truth: bool) -> Node:
    """Attention with masks; one is of `truth`, or added, with a row that sees nothing being 0."""
    build, rows, columns = GraphBuilder(), q.shape[-2], k.shape[-2]
    plain = Attention(q.shape[-1] ** -0.5, causal and not masks and rows <= columns)
    mask = masks[0] if masks else None
    if mask is not None and truth:
        mask = mapped("not_equal", mask, constant(0, mask.dtype))
    if causal and not plain.causal:  # a row may see nothing
        seen = build.constant(np.tri(rows, columns, columns - rows, bool))
        if mask is None:
            mask = seen
        elif truth:
            mask = mapped("logical_and", mask, seen)
        else:
            mask = build.apply(Where(), seen, mask, build.number(-np.inf, mask.dtype))
    return attended(build, plain, (q, k, v), mask)


def _node(tensor: Tensor, sources: list[Node]) -> Node:
    """The node of an operation: transposes and casts as such, others as primitive operators."""
    operation = tensor.operation
    assert operation is not None
    if operation.copies and sources and operation.primitive and operation.primitive.rearranges:
        return _moved(operation, sources[0], TensorType(tensor.shape, tensor.dtype.np))
    kind = TensorType(tensor.shape, tensor.dtype.np)
    if operation.function is not None and operation.function in _ARITHMETIC:
        node = _arithmetic(operation, sources)
        if node is not None and node.type == kind:
            return node
    return apply(PrimitiveOperator(operation, primitive_sizes(tensor), kind), *sources)


def _arithmetic(operation: Operation, sources: Sequence[Node]) -> Node | None:
    """Arithmetic as patterns of graphs know it; None if its operands do not align as NumPy's do."""
    assert operation.function is not None
    *inputs, out = (operand.dims for operand in operation.operands)
    aligned = []
    for dims, source in zip(inputs, sources, strict=True):
        last = out[len(out) - len(dims) :]
        if all(own == given or own not in out for own, given in zip(dims, last, strict=True)):
            aligned.append(source)  # perhaps with sizes of 1
            continue
        if not {*dims} <= {*out}:
            return None
        node = transposed(source, tuple(dims.index(d) for d in out if d in dims))
        sizes = iter(node.shape)
        shape = tuple(next(sizes) if d in dims else 1 for d in out)
        leading = next((place for place, d in enumerate(out) if d in dims), len(out))
        aligned.append(reshaped(node, shape[leading:]))
    return mapped(operation.function.name, *aligned)


def _moved(operation: Operation, source: Node, result: TensorType) -> Node:
    """The result of a move: its dimensions are those of its operand, in another order."""
    read, written = operation.operands
    node = transposed(source, tuple(read.dims.index(d) for d in written.dims))
    return in_dtype(node, result.dtype)

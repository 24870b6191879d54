"""Graphs of text expressions, which may be larger than a Spec can be."""

from __future__ import annotations

from morello.base.errors import GraphError
from morello.frontends.inputs import TensorLike
from morello.frontends.text import parse_tensor
from morello.graph.graph import Graph, Node, TensorType, apply
from morello.graph.operators import Input, PrimitiveOperator
from morello.graph.patterns.matching import in_dtype, transposed
from morello.ir.computation import Tensor, in_order, primitive_sizes
from morello.ir.operation import Operation


def graph_of(text: str, /, **tensors: TensorLike) -> Graph:
    """The graph of an expression; its inputs are in the order of their first use.

    An array is given in the row-major order of how it lies in memory: one of f32[4,8]{0,1} as
    f32[8,4]. The result is row-major. Raises `SpecError` as `frontends.parse`, and `GraphError`
    for an input with gaps.
    """
    result = parse_tensor(text, **tensors)
    computed, inputs = in_order(result)
    nodes: dict[Tensor, Node] = {}
    arrays = []
    for tensor in inputs:
        if tensor.strides is not None:
            raise GraphError(f"the input {tensor.name or tensor.shape} has gaps; copy it before.")
        order = tensor.layout.order if tensor.layout else tuple(range(len(tensor.shape)))
        stored = TensorType(tuple(tensor.shape[d] for d in order), tensor.dtype.np)
        arrays.append(apply(Input(stored, tensor.name)))
        nodes[tensor] = transposed(arrays[-1], tuple(order.index(d) for d in range(len(order))))
    for tensor in computed:
        nodes[tensor] = _node(tensor, [nodes[source] for source in tensor.inputs])
    return Graph(tuple(arrays), (nodes[result],))


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

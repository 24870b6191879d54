"""Graphs of small equal layers, of which one kernel computes each."""

from __future__ import annotations

import numpy as np

from morello.graph.graph import Graph, Node, TensorType, apply
from morello.graph.operators import Cast, Concat, Constant, Dot, Input, Map
from morello.models import CompiledGraph, compile_partition
from morello.models.compiling import partitioned

ROWS = TensorType((8, 16), np.dtype(np.float32))


def layer(node: Node, seed: int = 0) -> Node:
    """A product with a constant matrix."""
    weights = np.random.default_rng(seed).uniform(-0.2, 0.2, (16, 16)).astype(np.float32)
    return apply(Dot(contracted=((1, 0),)), node, apply(Constant(weights)))


def forked() -> Graph:
    """Products whose results are read once, twice, in f64, and as parts of another."""
    x = apply(Input(ROWS))
    first = layer(layer(x), 1)
    parts = apply(Concat(1), layer(first, 2), layer(first, 3))
    wide = apply(Cast(np.dtype(np.float64)), first)
    return Graph((x,), (apply(Map("exp"), wide), apply(Map("exp"), parts)))


def chain(length: int) -> Graph:
    """A chain of layers."""
    x = node = apply(Input(ROWS))
    for number in range(length):
        node = layer(node, number)
    return Graph((x,), (node,))


def compiled_by_rule(graph: Graph) -> CompiledGraph:
    """The program of a graph, for one thread."""
    return compile_partition(partitioned(graph), threads=1, gap=0.5)

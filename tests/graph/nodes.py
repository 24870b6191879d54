"""Small graphs as frameworks emit them, and what the patterns make of them."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from morello.graph.graph import Graph, Node, TensorType, apply, check
from morello.graph.interpreter import evaluate
from morello.graph.operators import Broadcast, Constant, Input, Map, Reduce, Reshape
from morello.graph.rewriting import simplified

F32, BF16, I32 = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16), np.dtype(np.int32)
I64 = np.dtype(np.int64)


def given(*shape: int, dtype: np.dtype = F32) -> Node:
    return apply(Input(TensorType(shape, dtype)))


def fixed(array: object, dtype: np.dtype = F32) -> Node:
    return apply(Constant(np.asarray(array).astype(dtype)))


def random(*shape: int, seed: int = 0, dtype: np.dtype = F32) -> Node:
    return fixed(np.random.default_rng(seed).uniform(0.5, 1.5, shape), dtype)


def f(name: str, *inputs: Node | float) -> Node:
    """A function; numbers become constants that are broadcast, as JAX and torch emit them."""
    node = next(source for source in inputs if isinstance(source, Node))
    return apply(Map(name), *(
        source if isinstance(source, Node)
        else apply(Broadcast(node.shape), fixed(source, node.dtype))
        for source in inputs
    ))  # fmt: skip


def wide(x: Node, *shape: int) -> Node:
    """A reshape and a broadcast, as broadcast_in_dim makes of [n] or [n,1]."""
    kept = apply(Reshape((*x.shape, *(1,) * (len(shape) - x.type.rank))), x)
    return apply(Broadcast(shape), kept)


def after(output: Node, tolerance: float = 1e-5) -> Node:
    """The output of the rewritten graph; its values must be those of the original."""
    inputs = tuple(n for n in Graph((), (output,)).nodes if isinstance(n.operator, Input))
    graph = Graph(inputs, (output,))
    result = simplified(graph)
    check(result)
    assert result.outputs[0].type == output.type
    generator = np.random.default_rng(1)
    arrays = [generator.uniform(-2, 2, node.shape).astype(node.dtype) for node in inputs]
    (expected,), (values,) = evaluate(graph, arrays), evaluate(result, arrays)
    np.testing.assert_allclose(values, expected, tolerance, tolerance)
    return result.outputs[0]


def names(output: Node) -> list[str]:
    """The operators of a graph that compute something, each after its inputs."""
    nodes = Graph((), (output,)).nodes
    operators = (n.operator for n in nodes if not isinstance(n.operator, Input | Constant))
    return [o.name if isinstance(o, Map) else type(o).__name__.lower() for o in operators]


def softmax(
    x: Node, axis: int, sum_axis: int | None = None, floor: bool = True, kept: bool = False
) -> Node:
    """Softmax as JAX emits it; with keepdims, as torch and ONNX do."""

    def spread(kind: str, y: Node, along: int) -> Node:
        reduced = apply(Reduce(kind, (along,), kept), y)
        if kind == "max" and floor:
            reduced = f("maximum", -np.inf, reduced)
        unit = tuple(1 if d == along else n for d, n in enumerate(x.shape))
        return apply(Broadcast(x.shape), apply(Reshape(unit), reduced))

    exponentials = f("exp", f("subtract", x, spread("max", x, axis)))
    total = spread("sum", exponentials, axis if sum_axis is None else sum_axis)
    return f("divide", exponentials, total)

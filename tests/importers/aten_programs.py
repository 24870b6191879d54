"""Programs of torch as graphs, which are compared with torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morello.graph.graph import Graph, check
from morello.graph.interpreter import evaluate
from morello.graph.operators import Constant

torch = pytest.importorskip("torch")
aten = pytest.importorskip("morello.importers.aten")
tracing = pytest.importorskip("morello.torch.tracing")
nn = torch.nn

BATCH = (4, 8)


def module(function: Callable[..., Any]) -> Any:
    """A function as a module, as `torch.export` wants it."""
    return type("Module", (nn.Module,), {"forward": lambda _, *args: function(*args)})()


def imported(program: Any, *arguments: Any) -> Any:
    program = program if isinstance(program, nn.Module) else module(program)
    with torch.no_grad():
        return aten.exported(torch.export.export(program.eval(), arguments))


def compared(program: Any, *arguments: Any, tolerance: float = 2e-6) -> Graph:
    """The graph of a program, once its values are those of torch."""
    result = imported(program, *arguments)
    assert not result.left
    check(result.graph)
    with torch.no_grad():
        expected = program(*arguments)
    every = expected if isinstance(expected, tuple) else (expected,)
    values = evaluate(result.graph, [aten.array_of(each) for each in arguments])
    for value, tensor in zip(values, every, strict=True):
        assert value.shape == tensor.shape
        wanted = tensor.float().numpy()
        scale = np.abs(wanted, where=np.isfinite(wanted), out=np.zeros_like(wanted)).max() or 1.0
        np.testing.assert_allclose(value, wanted, 1e-4, tolerance * scale)
    graph: Graph = result.graph
    return graph


def traced(function: Callable[..., Any], *arguments: Any) -> Any:
    """The graph of a function as torch's compiler has it: with its changes in place."""
    return aten.imported(tracing.traced(function, arguments), {})


def operators(graph: Graph) -> list[type]:
    return [type(node.operator) for node in graph.nodes]


def no_infinite(graph: Graph) -> bool:
    """Whether all constants of a graph are finite."""
    constants = [n.operator.array for n in graph.nodes if isinstance(n.operator, Constant)]
    return all(np.isfinite(array).all() for array in constants)


def random(*shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))

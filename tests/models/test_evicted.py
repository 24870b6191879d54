"""Which weights are evicted from all caches before the next call reads them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.models.graphs import ROWS, chain, layer

from morello.frontends.quantizing import quantize
from morello.graph.graph import Graph, TensorType, apply
from morello.graph.operators import Constant, Input, Map, PrimitiveOperator
from morello.graph.partition import by_rule
from morello.ir.primitives import quantized_matmul
from morello.models.evicted import are_evicted
from morello.models.kernels import Kernels
from morello.models.schedule import calls_of, schedule
from morello.options import Options
from morello.targets.catalog import tuned

WEIGHTS = 16 * 16 * 4
"""The bytes of the weights of a layer."""

RESULT = 8 * 16 * 4
"""The bytes of its input, and of its result."""


@pytest.mark.parametrize(
    ("graph", "touched"),
    [
        (chain(1), WEIGHTS + 2 * RESULT),
        (chain(2), 2 * WEIGHTS + 3 * RESULT),
        # results that are never needed at once share memory
        (chain(6), 6 * WEIGHTS + 4 * RESULT),
    ],
)
def test_all_that_a_call_touches_evicts_weights(graph: Graph, touched: int) -> None:
    def evicted(count: int) -> bool:
        """Whether weights are evicted from a last cache of twice so many bytes."""
        machine = replace(tuned("avx512", "zen4"), last_cache=2 * count // 64)
        return are_evicted(graph, lambda: by_rule(graph), machine)

    assert evicted(touched - 64)
    assert not evicted(touched)


def test_weights_alone_need_no_groups() -> None:
    def groups() -> None:
        pytest.fail("the groups are not needed")

    machine = replace(tuned("avx512", "zen4"), last_cache=2)
    assert are_evicted(chain(1), groups, machine)  # type: ignore[arg-type]  # it returns nothing


def test_only_kernels_that_read_little_but_weights_depend_on_that() -> None:
    options: Options = {"budget": 1e-6, "gap": 0.5, "threads": 1, "table": None}
    x, row = apply(Input(ROWS)), apply(Input(replace(ROWS, shape=(1, 16))))
    graphs = [
        (Graph((x,), (apply(Map("exp"), x),)), 0),
        (Graph((x,), (layer(x),)), 0),
        (Graph((row,), (layer(row),)), 1),
        (quantized_layer(constant=True), 1),
        (quantized_layer(constant=False), 0),
    ]
    asked: list[str] = []

    def evicted() -> bool:
        asked.append("groups")
        return True

    for graph, times in graphs:
        asked.clear()
        kernels = Kernels(options, evicted=evicted)
        calls = calls_of(schedule(by_rule(graph)))
        kernels.different(calls)
        kernels.different(calls)
        assert len(asked) == times


def quantized_layer(*, constant: bool) -> Graph:
    """A row times weights of 8 bits, which are constants or given."""
    x, (weights, scales) = np.ones((1, 64), np.float32), quantize(np.ones((64, 32)), bits=8)
    arrays = [np.asarray(weights), np.asarray(scales)]
    row, *given = (apply(Input(TensorType(a.shape, a.dtype))) for a in (x, *arrays))
    held = [apply(Constant(array)) for array in arrays] if constant else given
    sizes = 1, 32, 64, 64, 2
    result = TensorType((1, 32), x.dtype)
    product = apply(PrimitiveOperator(quantized_matmul(), sizes, result), row, *held)
    return Graph((row, *(() if constant else given)), (product,))

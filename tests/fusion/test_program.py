"""Fused computations, searched, compiled and run."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
import pytest

from benchmarks.cuts import study
from morello.base.errors import CallError
from morello.frontends.text import parse, parse_tensor
from morello.fusion.fuse import fuse
from morello.fusion.operation_graph import OperationGraph, cut
from morello.fusion.partition import Partition, by_rule
from morello.fusion.prices import Prices
from morello.fusion.program import FusedProgram, compile_partition, reference
from morello.impl.tree import Impl
from morello.learn.predictors import ByCost, Floats
from morello.memo import Table
from morello.runtime.argument import CACHE_LINE

PATIENCE_S = 600.0
"""How long searches may take here, so that none of them is cut short on a busy machine."""

RESIDUAL = "x = f32[4,8]; x + relu(x @ f32[8,8])"
MLP = "x = f32[4,8]; x + gelu(x @ f32[8,16] + f32[16]) @ f32[16,8]"
HEADS = (
    "x = f32[2,4];"
    " k = broadcast(x, axis=0, size=2) @ f32[2,4,4];"
    " sum(softmax(f32[2,2,4] @ transpose(k, order=[0,2,1])), axis=0)"
)


@pytest.fixture(scope="module")
def prices() -> Prices:
    return Prices(ByCost(4e9), PATIENCE_S)


def run(program: FusedProgram, graph: OperationGraph) -> None:
    """Compare a program with NumPy in float64, on random data, twice."""
    random = np.random.default_rng(0)
    for _ in range(2):  # what is left from a first call is no matter
        inputs = [one.random(random) for one in program.arguments[:-1]]
        np.testing.assert_allclose(program(*inputs), reference(graph, inputs), rtol=1e-4, atol=1e-5)
        out = program.arguments[-1].empty()
        assert program(*inputs, out=out) is out
        np.testing.assert_allclose(out, reference(graph, inputs), rtol=1e-4, atol=1e-5)


def compiled(partition: Partition, prices: Prices) -> FusedProgram:
    return compile_partition(partition, lambda spec: prices.found(spec).impl)


def test_a_fused_composition_computes_what_numpy_does(prices: Prices) -> None:
    graph = OperationGraph(parse_tensor(RESIDUAL))
    partition = fuse(graph, prices)
    assert len(partition.groups) < len(graph.operations)
    run(compiled(partition, prices), graph)


@pytest.mark.parametrize("text", [MLP, HEADS], ids=["MLP", "heads"])
def test_so_does_one_that_is_cut_by_the_rule(text: str, prices: Prices) -> None:
    """The keys of heads are read in another order than they are written."""
    graph = OperationGraph(parse_tensor(text))
    run(compiled(by_rule(graph), prices), graph)


def test_intermediates_lie_on_cache_lines(prices: Prices) -> None:
    program = compiled(by_rule(OperationGraph(parse_tensor(MLP))), prices)
    assert len(program.buffers) == len(program.steps) - 1 == 1
    assert all(buffer.ctypes.data % CACHE_LINE == 0 for buffer in program.buffers)


def test_arrays_that_do_not_fit_are_refused(prices: Prices) -> None:
    program = compiled(by_rule(OperationGraph(parse_tensor(MLP))), prices)
    arrays = [one.empty() for one in program.arguments[:-1]]
    with pytest.raises(CallError, match="takes 4"):
        program(*arrays[:-1])
    with pytest.raises(CallError):
        program(*arrays[:-1], arrays[-1].astype(np.float64))


def test_a_composition_whose_search_does_not_end_has_a_price_and_grows_no_further() -> None:
    hurried = Prices(ByCost(4e9), 1e-3)
    whole, single = parse("relu(f32[8,8] @ f32[8,8])"), parse("f32[8,8] @ f32[8,8]")
    assert 0 < hurried(whole) < inf and not hurried.proven(whole)
    assert 0 < hurried(single) < inf and hurried.proven(single)


def test_each_spec_is_searched_once() -> None:
    met = 0

    class Counting(ByCost):
        def seconds(self, impls: Sequence[Impl]) -> Floats:
            nonlocal met
            met += 1
            return super().seconds(impls)

    known = Prices(Counting(4e9), PATIENCE_S)
    graph = OperationGraph(parse_tensor("exp(exp(exp(f32[8])))"))
    for _ in range(2):
        fuse(graph, known)
    assert met == 3  # one exp, two of them, and three


def test_a_study_has_a_row_for_each_composition() -> None:
    (row,) = study({"two maps": "relu(exp(f32[64]))"}, ByCost(4e9), PATIENCE_S)
    assert row.name == "two maps"
    assert [one.kernels for one in (row.fused, row.by_rule, row.apart)] == [1, 1, 2]
    assert row.fused.predicted == row.by_rule.predicted < row.apart.predicted
    assert 0 < row.fused.measured < 1


def test_a_table_has_what_was_searched_before(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = parse("relu(exp(f32[64]))")
    with Table(":memory:") as table:
        first = Prices(ByCost(4e9), PATIENCE_S, table=table)(spec)
        monkeypatch.setattr("morello.search.session.Session.solve", None)
        assert Prices(ByCost(4e9), PATIENCE_S, table=table)(spec) == first < inf


def test_the_reference_is_what_the_whole_computes() -> None:
    graph = OperationGraph(parse_tensor("sum(f32[2,3] @ f32[3,2], axis=1)"))
    a, b = np.arange(6.0).reshape(2, 3), np.ones((3, 2))
    assert reference(graph, [a, b]).tolist() == [6.0, 24.0]
    assert [t.shape for t in cut(by_rule(graph).groups[0]).inputs] == [(2, 3), (3, 2)]

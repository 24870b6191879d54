"""Graphs of programs: a node a loop, edges as the nest has them, and costs that add up."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.learn.drawn import EXPRESSIONS, programs
from tests.sampling import some

from morello.impl.tree import Impl
from morello.learn.features import (
    FETCHES,
    NODE_FEATURES,
    OPCODES,
    PARTS,
    PROGRAM_FEATURES,
    TERMS,
    Featurizer,
    ProgramGraph,
)
from morello.learn.nest import Nests
from morello.learn.work import WORK, in_cache, work_of
from morello.targets.catalog import find_target
from morello.targets.target import Target


@pytest.fixture(scope="module", params=["avx2", "avx512"])
def target(request: pytest.FixtureRequest) -> Target:
    return find_target(request.param)


@cache
def graphs(name: str, expression: str) -> tuple[tuple[Impl, ProgramGraph], ...]:
    """Programs of an expression, and their graphs."""
    target = find_target(name)
    featurizer = Featurizer(target)
    return tuple((impl, featurizer.graph(impl)) for impl in programs(target, expression))


def column(graph: ProgramGraph, name: str) -> list[float]:
    """A feature of all nodes, which is a logarithm, as it was."""
    values: list[float] = (2 ** graph.nodes[:, NODE_FEATURES.index(name)] - 1).tolist()
    return values


@pytest.mark.parametrize("expression", some(EXPRESSIONS, 4))
def test_graphs_are_the_programs(target: Target, expression: str) -> None:
    for impl, graph in graphs(target.name, expression):
        loops = list(Nests().of(impl).walk())
        assert graph.nodes.shape == (len(loops), len(NODE_FEATURES))
        assert graph.program.shape == (len(PROGRAM_FEATURES),)
        assert graph.parts.shape == (len(loops), len(PARTS))
        assert graph.fetches.shape == (len(FETCHES),)
        for values in (graph.nodes, graph.program, graph.parts, graph.fetches):
            assert np.isfinite(values).all()
        assert np.abs(graph.nodes).max() < 1e3 and (graph.fetches >= 0).all()
        inner = [pair[1] for pair in graph.nesting.tolist()]
        assert sorted(inner) == list(range(1, len(loops)))  # a tree whose root is the first
        assert all(a < b for a, b in graph.nesting.tolist() + graph.flow.tolist())
        assert column(graph, "times") == pytest.approx([loop.times for loop in loops], rel=1e-4)
        for loop, opcode in zip(loops, graph.opcodes.tolist(), strict=True):
            assert (OPCODES[opcode] == "loop") == (not loop.sites)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_costs_add_up(target: Target, expression: str) -> None:
    kernels = [n for n, term in enumerate(TERMS) if term.startswith("kernels.")]
    for impl, graph in graphs(target.name, expression):
        assert graph.terms.shape == (len(TERMS),) and (graph.terms >= 0).all()
        assert graph.terms.sum() == pytest.approx(impl.cost, rel=1e-6)
        called = graph.parts[:, PARTS.index("kernels")].sum()
        paid = graph.terms[[*kernels, -1]].sum()  # sums that wait are among the others
        assert graph.terms[kernels].sum() * 0.999 <= called <= paid * 1.001


@pytest.mark.parametrize("expression", some(EXPRESSIONS, 4))
def test_work_is_all_that_kernels_do(target: Target, expression: str) -> None:
    for _, graph in graphs(target.name, expression):
        cycles = np.sum([column(graph, f"work_{name}") for name in WORK], axis=0)
        assert cycles == pytest.approx(column(graph, "bound_kernels"), rel=1e-3, abs=1e-3)
        assert (np.array(column(graph, "work_in_cache")) <= cycles * 1.001 + 1e-3).all()
        near = np.array(column(graph, "near"))
        assert (np.array(column(graph, "stores_near")) <= near * 1.001 + 1e-3).all()


def test_kernels_of_all_classes_of_work_exist(target: Target) -> None:
    assert {work_of(kernel) for kernel in target.kernels} == {*WORK}
    known = {kernel.name: kernel for kernel in target.kernels}
    lanes = target.vector_bytes[0] // 4
    for name, work in {
        f"sum_squares_run_f32x{lanes}": "squares", f"exp_f32x{lanes}": "exponentials",
        f"exp_store_run_f32x{lanes}": "softmax", f"load_f32x{lanes}_bf16": "conversions",
        "transpose_f32_8": "transposes", f"maximum_f32x{lanes}_constant": "choices",
    }.items():  # fmt: skip
        assert work_of(known[name]) == work
    assert in_cache(known[f"exp_store_run_f32x{lanes}"])
    assert not in_cache(known[f"exp_f32x{lanes}"])


def test_sums_in_flight_and_bytes_are_those_of_the_innermost_loop(target: Target) -> None:
    (_, graph), *_ = graphs(target.name, EXPRESSIONS[0])
    adds = column(graph, "multiply_adds")
    at = int(np.argmax(np.array(adds) * np.array(column(graph, "executions"))))
    lanes = target.vector_bytes[0] // 4
    assert graph.nodes[at, NODE_FEATURES.index("innermost")] == 1
    assert column(graph, "flops")[at] == pytest.approx(2 * lanes * adds[at], rel=0.05)
    assert 0 < column(graph, "sums")[at] <= target.levels[-1].capacity
    assert sum(np.array(adds) * column(graph, "executions")) == pytest.approx(
        12 * 16 * 32 / lanes, rel=0.05
    )


def test_a_loop_reads_what_another_beside_it_wrote(target: Target) -> None:
    every = [graph for _, graph in graphs(target.name, EXPRESSIONS[1])]
    assert any(len(graph.flow) for graph in every)
    for graph in every:
        parent = {b: a for a, b in graph.nesting.tolist()}
        assert all(parent[a] == parent[b] for a, b in graph.flow.tolist())

"""The search finds the cheapest program: by brute force, and by two searches that agree."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sampling import some
from tests.search.brute import Amounts, Brute, small_target
from tests.support import searched, with_capacities

import morello
from morello.base.errors import SearchError
from morello.engine import INFINITE
from morello.frontends.text import parse
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import replay
from morello.ir.kept import EVERY, NONE, Kept
from morello.ir.layout import Layout, column_major, panels
from morello.ir.spec import Spec, matmul_spec
from morello.rewrites import Overlap
from morello.search.expansion import build
from morello.search.graph import SearchGraph
from morello.search.relaxed_bound import RelaxedBound
from morello.search.result import SearchResult
from morello.search.session import search
from morello.space.space import Space, goal_sizes
from morello.targets import TARGETS
from morello.targets.target import Target

AVX2, AVX512 = TARGETS["avx2"], TARGETS["avx512"]
PLAIN, MASKS = small_target(masks=False), small_target(masks=True)


def goal(*sizes: int, turned: bool = False) -> Spec:
    """A matmul of these sizes: batch dimensions, then m, k and n; `turned`: column-major."""
    *batch, m, k, n = sizes
    layout = column_major(len(sizes) - 1) if turned else None
    return matmul_spec((*batch, m, k), (*batch, k, n), layouts=(layout, None, layout))


def cheapest(spec: Spec, target: Target, *, everything: bool) -> float:
    """The cost of what the search finds, inf if nothing fits."""
    solution = searched(spec, target, everything=everything)
    return solution.cost if solution else inf


CASES: list[tuple[Spec, Target]] = [
    (goal(1, 1, 1), PLAIN),
    (goal(1, 1, 1), AVX2),
    (goal(1, 1, 1), AVX512),
    (goal(2, 2, 2), MASKS),
    (goal(1, 8, 1), PLAIN),
    (goal(1, 8, 1, turned=True), PLAIN),
    (goal(5, 1, 2), MASKS),
    (goal(2, 3, 4), PLAIN),
    (goal(4, 1, 3, turned=True), MASKS),
    (goal(2, 1, 2, 1), PLAIN),
    (goal(4, 2, 4), PLAIN),
    (goal(3, 5, 1), MASKS),
]


@pytest.mark.parametrize(
    ("spec", "target"), some(CASES, 8), ids=lambda one: getattr(one, "name", str(one))
)
def test_nothing_is_cheaper_than_what_is_found(spec: Spec, target: Target) -> None:
    brute = Brute(spec, target)
    costs = set()
    for capacities in capacities_of(target):
        tight = with_capacities(target, capacities)
        wanted = brute.cheapest(capacities)
        assert cheapest(spec, tight, everything=True) == pytest.approx(wanted), capacities
        assert cheapest(spec, tight, everything=False) == pytest.approx(wanted), capacities
        costs.add(wanted)
    assert inf in costs
    assert len(costs) > 1


def capacities_of(target: Target) -> list[Amounts]:
    """Capacities from far too few to more than enough: lines of each cache, then registers."""
    caches = len(target.levels) - 2
    near = ((2, 8), (3, 2), (3, 3), (5, 3), (5, 8), (64, 8))
    return [(*(lines + 3,) * (caches - 1), lines, registers) for lines, registers in near]


@st.composite
def goals(draw: st.DrawFn) -> Spec:
    """Small matmuls in any layouts."""
    sizes = [draw(st.sampled_from([1, 2, 3, 4, 5, 8])) for _ in "mkn"]
    m, k, n = sizes
    known: list[Layout | None] = [None, column_major(2), panels(2, 1, 4), panels(2, 0, 4)]
    a, b, c = (draw(st.sampled_from(known)) for _ in "abc")
    return matmul_spec((m, k), (k, n), layouts=(a, b, c))


targets = st.sampled_from([PLAIN, MASKS, AVX2, AVX512])
amounts = st.sampled_from([3, 4, 6, 10, 40])


@given(goals(), targets, st.tuples(amounts, amounts))
@settings(max_examples=5)
def test_leaving_out_what_cannot_win_changes_nothing(
    spec: Spec, target: Target, capacities: tuple[int, int]
) -> None:
    lines, registers = capacities
    caches = len(target.levels) - 2
    tight = with_capacities(target, (*(2 * lines,) * (caches - 1), lines, registers))
    full = cheapest(spec, tight, everything=True)
    assert cheapest(spec, tight, everything=False) == pytest.approx(full)


def whole(spec: Spec, target: Target, *, kept: Kept = NONE) -> tuple[RelaxedBound, SearchGraph]:
    """The lower bound of a goal, and the graph of everything that can be reached from it."""
    sizes = goal_sizes([(spec,)], target)
    bound = RelaxedBound([(spec,)], target, sizes, neighbours=kept)
    return bound, build(Space([(spec,)], target, sizes))


@given(goals(), targets, st.sampled_from([NONE, ("a",), ("b",), ("a", "b"), ("b", "c"), EVERY]))
@settings(max_examples=8)
def test_the_bound_never_exceeds_the_truth(spec: Spec, target: Target, kept: Kept) -> None:
    bound, graph = whole(spec, target, kept=kept)
    truth = graph.bounds.low
    for kind in range(len(graph.space.encodings)):
        nodes = np.flatnonzero(graph.nodes.kind == kind)
        too_high = np.flatnonzero(bound(graph.batch(nodes)) > truth[nodes] * (1 + 1e-9))
        assert len(too_high) == 0, graph.spec(int(nodes[too_high[0]]))


@given(goals(), targets)
@settings(max_examples=4)
def test_a_rewrite_is_affordable_at_its_cost(spec: Spec, target: Target) -> None:
    bound, graph = whole(spec, target)
    _, order, cost, *_ = graph.bounds
    cost_of = np.empty(len(order))
    cost_of[order] = cost
    afforded = refused = 0
    for number, encoding in enumerate(graph.space.encodings):
        of_kind = graph.nodes.kind[graph.edges.parent] == number
        edges = np.flatnonzero(of_kind & (cost_of < INFINITE))
        if len(edges):
            keys = graph.nodes.key[graph.edges.parent[edges]]
            rewrites = graph.space.rewrites(encoding.kind)
            affordable = bound.affordable(
                encoding, keys, graph.space.placements, cost_of[edges], rewrites
            )
            assert affordable is not None
            assert affordable[graph.edges.rule[edges], np.arange(len(edges))].all()
            nothing = bound.affordable(
                encoding, keys, graph.space.placements, np.full(len(edges), -1.0), rewrites
            )
            assert nothing is not None
            afforded, refused = afforded + affordable.sum(), refused + (~affordable).sum()
            assert not nothing.any()
    assert afforded > 0
    assert refused > 0


@given(goals(), targets, st.booleans())
@settings(max_examples=4)
def test_the_same_question_gets_the_same_answer(
    spec: Spec, target: Target, everything: bool
) -> None:
    first, second = (searched(spec, target, everything=everything) for _ in range(2))
    assert (first is None) == (second is None)
    if first and second:
        assert first.decisions == second.decisions
        assert first.cost == second.cost


@cache
def solved(spec: Spec, target: Target) -> SearchResult:
    return search(spec, target)


@pytest.mark.parametrize("target", [AVX2, AVX512], ids=lambda target: target.name)
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (16, 16, 16), (7, 10, 33), (2, 3, 5, 24), (32, 32, 32)]
)
def test_the_decisions_make_the_program_that_was_promised(
    sizes: tuple[int, ...], target: Target
) -> None:
    spec = goal(*sizes)
    solution = solved(spec, target)
    whole = replay(spec, target, solution.decisions)
    merged = reconstruct(spec, target, solution.decisions)
    for impl in (whole, merged):
        assert impl.complete
        assert impl.cost == pytest.approx(solution.cost)
        assert all(p <= limit for p, limit in zip(impl.peak, target.limits, strict=True))
    assert len(merged.decisions()) <= len(whole.decisions())


def test_chains_of_loops_become_one() -> None:
    spec = goal(32, 32, 32)
    solution = solved(spec, AVX2)
    whole = replay(spec, AVX2, solution.decisions)
    merged = reconstruct(spec, AVX2, solution.decisions)
    assert len(merged.decisions()) < len(whole.decisions())


def test_more_memory_never_costs_more() -> None:
    spec = goal(4, 8, 8)
    costs = [
        cheapest(spec, with_capacities(AVX2, (200, 50, registers)), everything=False)
        for registers in (2, 3, 4, 8, 16)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1]


def test_what_fits_nowhere_is_said() -> None:
    with pytest.raises(SearchError, match="no program fits the memory of avx2"):
        search(goal(4, 4, 4), with_capacities(AVX2, (100, 100, 1)))


def test_limits_too_large_to_pack_are_said() -> None:
    with pytest.raises(SearchError, match="exceed"):
        search(goal(4, 4, 4), with_capacities(AVX2, (1 << 40, 100, 16)))


def test_statistics_count_the_space() -> None:
    spec = goal(4, 4, 4)
    full, pruned = (search(spec, AVX2, everything=e).statistics for e in (True, False))
    sizes = goal_sizes([(spec,)], AVX2)
    graph = build(Space([(spec,)], AVX2, sizes))
    assert (full.specs, full.rewrites) == (graph.node_count, graph.edge_count)
    assert pruned.specs < full.specs
    assert (full.bounded, full.exhaustive) == (0, True)
    assert pruned.bounded > 0
    assert not pruned.exhaustive


@pytest.mark.parametrize(("text", "whole"), [("f32[3,19] + f32[19]", 8), ("i8[3,75] + i8[75]", 32)])
def test_whole_registers_overlap_where_there_are_no_masks(text: str, whole: int) -> None:
    decisions = solved(parse(text), AVX2).decisions
    assert any(isinstance(step, Overlap) and step.size == whole for step in decisions)
    assert not any(isinstance(step, Overlap) for step in solved(parse(text), AVX512).decisions)


@pytest.mark.parametrize(("size", "width"), [(24, 16), (9, 8), (10, 5)])
def test_goals_in_panels_have_programs(size: int, width: int) -> None:
    layout = panels(2, 1, width)
    spec = matmul_spec((3, size), (size, size), layouts=(None, layout, None))
    assert search(spec, AVX2).cost < inf


def test_a_core_may_get_a_piece_that_takes_more_steps_than_the_whole() -> None:
    """The tiles of 300 are 256, 128, ...; 75, a piece of it, has a longer chain."""
    spec = parse("exp(f32[300,300])")
    two = replace(AVX512, cores=2)
    assert search(replace(spec, parallel=True), two).cost <= search(spec, AVX512).cost


@pytest.mark.parametrize("target", [AVX2, AVX512], ids=lambda target: target.name)
def test_elements_of_a_run_are_repeated_in_registers(target: Target) -> None:
    impl, _ = morello.implement("broadcast(u32[8,40], axis=2, size=2)", target=target)
    assert any("repeat2_u32" in str(decision) for decision in impl.decisions())

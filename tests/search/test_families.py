"""Of every kind of Spec: what is left out cannot win, bounds hold, and ranks fall."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.small_goals import GOALS, TWO_CORES, random_goals
from tests.support import with_capacities

from morello.errors import SearchError
from morello.ir.operation import Operation
from morello.ir.spec import Spec
from morello.rewrites import Parallel, ParallelSplitSoftmax, Serial
from morello.rewrites.impl import replay
from morello.search import engine
from morello.search.bound import Bound
from morello.search.graph import GoalSizes, Graph, Space, build
from morello.search.reconstruct import reconstruct
from morello.search.solve import search
from morello.targets.target import Target

every_goal = pytest.mark.parametrize("name", GOALS)
amounts = st.sampled_from([3, 4, 6, 10, 40])


def cheapest(spec: Spec, target: Target, *, everything: bool) -> float:
    """The cost of what the search finds, inf if nothing fits."""
    try:
        return search(spec, target, everything=everything).cost
    except SearchError:
        return inf


@every_goal
def test_the_pruned_search_finds_the_optimum_of_the_whole_space(name: str) -> None:
    spec, target = GOALS[name]
    whole = search(spec, target, everything=True)
    pruned = search(spec, target)
    assert pruned.cost == pytest.approx(whole.cost)
    assert pruned.statistics.specs <= whole.statistics.specs


@given(random_goals(), st.tuples(amounts, amounts))
@settings(max_examples=30)
def test_so_it_does_where_memory_is_short(
    case: tuple[Spec, Target], capacities: tuple[int, int]
) -> None:
    spec, target = case
    lines, registers = capacities
    caches = len(target.levels) - 2
    tight = with_capacities(target, (*(2 * lines,) * (caches - 1), lines, registers))
    for limited in (tight, target):
        full = cheapest(spec, limited, everything=True)
        assert cheapest(spec, limited, everything=False) == pytest.approx(full)


@every_goal
def test_the_bound_of_no_spec_exceeds_what_it_costs(name: str) -> None:
    check_bounds(*GOALS[name])


@given(random_goals())
@settings(max_examples=20)
def test_nor_does_that_of_any_spec_of_random_goals(case: tuple[Spec, Target]) -> None:
    check_bounds(*case)


def check_bounds(spec: Spec, target: Target) -> None:
    sizes = GoalSizes.of(spec)
    bound = Bound(spec, target, sizes)
    graph = build(Space(spec, target, sizes))
    truth = graph.bounds()[3]
    checked = 0
    for number, family in enumerate(graph.space.families):
        nodes = np.flatnonzero(graph.families == number)
        batch = family.batch(graph.keys[nodes], graph.space.forms)
        low = bound(batch)
        too_high = np.flatnonzero(low > truth[nodes] * (1 + 1e-9))
        assert len(too_high) == 0, graph.spec(int(nodes[too_high[0]]))
        checked += int((low < engine.INFINITE).sum())
    assert checked > 0
    assert 0 < bound(graph.space.goal_batch())[0] < engine.INFINITE


@every_goal
def test_every_rewrite_lowers_the_rank(name: str) -> None:
    spec, target = GOALS[name]
    graph = build(Space(spec, target, GoalSizes.of(spec)))
    ranks = np.empty(len(graph.keys), np.int64)
    for number, family in enumerate(graph.space.families):
        nodes = np.flatnonzero(graph.families == number)
        ranks[nodes] = graph.space.ranks(family.batch(graph.keys[nodes], graph.space.forms))
    arity = np.diff(graph.first_child)
    children = graph.child[graph.first_child[0] :]
    parents = np.repeat(graph.parent, arity)
    assert len(parents) == len(children) > 0 or not arity.any()
    assert (ranks[parents] > ranks[children]).all()
    assert (parents < children).all()


@every_goal
def test_a_spec_is_one_node(name: str) -> None:
    """Keys tell Specs apart, and give them back."""
    spec, target = GOALS[name]
    graph = build(Space(spec, target, GoalSizes.of(spec)))
    some = np.random.default_rng(0).permutation(len(graph.keys))[:200].tolist()
    specs = [graph.spec(node) for node in some]
    assert len(set(specs)) == len(specs)
    for node, one in zip(some, specs, strict=True):
        family = graph.space.families[int(graph.families[node])]
        assert (one.operation, one.dtypes, one.parallel) == (
            family.kind.operation, family.kind.dtypes, family.kind.parallel,
        )  # fmt: skip
    assert graph.spec(0) == spec_without_strides(spec)


def spec_without_strides(spec: Spec) -> Spec:
    assert not spec.strides
    return spec


@every_goal
def test_the_decisions_make_the_program_that_was_promised(name: str) -> None:
    spec, target = GOALS[name]
    solution = search(spec, target)
    whole = replay(spec, target, solution.decisions)
    merged = reconstruct(spec, target, solution.decisions)
    for impl in (whole, merged):
        assert impl.complete
        assert impl.cost == pytest.approx(solution.cost)
        assert all(p <= limit for p, limit in zip(impl.peak, target.limits, strict=True))


def test_goals_reach_every_operation_that_there_is() -> None:
    """Else something would not be searched in these tests."""
    reached: set[str] = set()
    for name in GOALS:
        spec, target = GOALS[name]
        graph = build(Space(spec, target, GoalSizes.of(spec)))
        reached |= {family.kind.operation.name for family in graph.space.families}
    wanted = {
        "Matmul",
        "MatmulAccum",
        "Conv",
        "ConvAccum",
        "Move",
        "Pack",
        "FillZero",
        "FillLowest",
    }
    wanted |= {"Compose", "Softmax", "SoftmaxComplete", "DivideVecScalar", "Broadcast", "SumAccum"}
    wanted |= {"MaxAccum", "SoftmaxDenominatorAndMaxAccum", "SoftmaxDenominatorAccum"}
    wanted |= {"SoftmaxDenominatorAndUnscaledFromMaxAccum", "OnePrefix", "Exp", "Add"}
    assert wanted <= reached


# ---- on all cores


@pytest.mark.parametrize(("size", "spread"), [(64, False), (128, False), (1024, True)])
def test_only_what_is_large_is_spread_over_cores(size: int, spread: bool) -> None:
    from tests.goals import matmul_goal

    solution = search(matmul_goal(size, size, size, parallel=True), TWO_CORES)
    assert isinstance(solution.decisions[0], Parallel if spread else Serial)
    alone = search(matmul_goal(size, size, size), TWO_CORES)
    assert solution.cost < alone.cost if spread else solution.cost == pytest.approx(alone.cost)


def test_one_long_softmax_is_split_over_cores() -> None:
    from tests.goals import softmax_goal

    solution = search(softmax_goal(1, 1 << 20, parallel=True), TWO_CORES)
    assert any(isinstance(one, ParallelSplitSoftmax) for one in solution.decisions)

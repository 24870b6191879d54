"""The cheapest program of every primitive, and of compositions, is found: by brute force."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cache
from itertools import permutations, product
from math import inf

import numpy as np
import pytest
from tests.sampling import some
from tests.search.brute import Amounts
from tests.search.small_goals import GOALS, brute
from tests.support import forget_traces, solved, with_capacities

from morello import engine
from morello.frontends.text import parse
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import replay
from morello.ir.batch import Batch
from morello.ir.joining import NO_JOINING, joining_of
from morello.ir.layout import Layout
from morello.ir.placements import Placements
from morello.ir.primitives import SOFTMAX_PARTS
from morello.ir.spec import Spec
from morello.ir.tensor import Placement
from morello.rewrites import (
    Bufferize,
    Crop,
    Decompose,
    Divide,
    Join,
    LastGroup,
    Move,
    MoveAll,
    Pack,
    PadFirst,
    ParallelSplit,
    Peel,
    Pointwise,
    Select,
    SizedOverlap,
    SizedTile,
    SpatialSplit,
    Spread,
    ToAccumulate,
    Ungroup,
)
from morello.search.expansion import build
from morello.search.graph import SearchGraph
from morello.search.relaxed_bound import RelaxedBound
from morello.search.session import Session
from morello.search.solved_graph import solve_graph
from morello.space.guards import Rules
from morello.space.kind import Kind
from morello.space.rules import rules
from morello.space.sizes import Sizes
from morello.space.space import Space, goal_sizes
from morello.space.traits import RuleTraits
from morello.targets.target import Target
from morello.targets.x86 import AVX2


@pytest.fixture(scope="module", params=some(GOALS, 8))
def name(request: pytest.FixtureRequest) -> str:
    """The name of a goal; pytest runs all tests of a goal one after another."""
    return str(request.param)


PRIMITIVES = {
    "OnePrefix", "FillZero", "FillLowest", "Move", "Matmul", "MatmulAccum", "Conv", "GroupedConv",
    "DepthwiseConv", "SumPool", "MaxPool", "Broadcast",
    "Divide", "DivideVecScalar", "Exp", "Relu", "Add", "Multiply", "MultiplyConstant", "Sum", "Max",
    *SOFTMAX_PARTS, "Compose",
}  # fmt: skip

NEEDED: list[tuple[str, type]] = [
    ("matmul", Divide), ("sum", SizedTile), ("narrow", SizedTile), ("matmul", Move),
    ("matmul", ToAccumulate),
    ("matmul-ragged", SizedOverlap), ("move-masked", SizedOverlap),
    ("matmul-bf16-packed", Pack), ("matmul-bytes-packed", Pack), ("matmul-bytes-filled", LastGroup),
    ("conv-strides", SpatialSplit),
    ("conv-pointwise", Join), ("conv-images", Pointwise), ("conv-padded-strides", PadFirst),
    ("conv-padded-rows", Peel), ("conv-padded-columns", Peel),
    ("conv-unread", Crop), ("conv-groups", Ungroup),
    ("SoftmaxDenominatorAndUnscaled", Decompose),
    ("matmul-chain", Bufferize), ("map-of-map", MoveAll), ("parallel-matmul", Spread),
    ("parallel-ragged", Spread), ("parallel-maps", Spread),
    ("parallel-pieces", ParallelSplit), ("parallel-sum", ParallelSplit), ("exp", Select),
]  # fmt: skip
"""Goals whose cheapest programs need a rewrite."""


@cache
def optima(name: str) -> dict[Amounts, float]:
    """The costs of the cheapest programs, each where it first fits, after too little for any.

    The least memory for a program is where a search that counts wrongly goes wrong.
    """
    found: dict[float, Amounts] = {}
    for capacities in product((0, 1, 2, 3, 4, 64), (0, 2, 3, 4, 5, 8)):
        cost = round(brute(name, capacities).cheapest(capacities), 6)
        if cost == inf or cost not in found:
            found[cost] = capacities
    return {
        capacities: brute(name, capacities).cheapest(capacities) for capacities in found.values()
    }


@cache
def whole_graph(name: str, capacities: Amounts) -> SearchGraph:
    """Everything that the search expands where nothing is left out."""
    spec, target = GOALS[name]
    tight = with_capacities(target, capacities)
    return build(Space([(spec,)], tight, goal_sizes([(spec,)], tight)))


def extremes(name: str) -> tuple[Amounts, Amounts]:
    """The least memory that a program fits, and more than enough."""
    fitting = [capacities for capacities, cost in optima(name).items() if cost < inf]
    return min(fitting), GOALS[name][1].limits


def an_extreme(name: str) -> Amounts:
    """One of both, in turn from goal to goal."""
    return extremes(name)[list(GOALS).index(name) % 2]


@cache
def session_of(name: str, capacities: Amounts) -> Session:
    """The goal-directed search, which keeps its lower bound."""
    spec, target = GOALS[name]
    return Session(spec, with_capacities(target, capacities))


def cheapest(session: Session, *, everything: bool = False) -> float:
    """The cost of the program that a search finds, inf if nothing fits."""
    solution = solved(session, everything=everything)
    if solution is None:
        return inf
    impl = reconstruct(session.goal, session.target, solution.decisions)
    assert impl.cost == pytest.approx(solution.cost)
    return impl.cost


def test_every_primitive_is_among_the_goals() -> None:
    assert {spec.operation.name for spec, _ in GOALS.values()} >= PRIMITIVES


def test_nothing_is_cheaper_than_what_is_found(name: str) -> None:
    """The goal-directed search finds it; the search of everything is compared with its graphs."""
    wanted = optima(name)
    assert len(wanted) > 1
    for capacities, cost in wanted.items():
        assert cheapest(session_of(name, capacities)) == pytest.approx(cost), capacities


def test_the_bound_of_no_spec_exceeds_what_it_costs(name: str) -> None:
    goal, _ = GOALS[name]
    for capacities in extremes(name):
        bound = session_of(name, capacities)._space.bound()
        families: dict[object, list[tuple[Spec, float]]] = defaultdict(list)
        for one, cost in brute(name, capacities).optima(capacities).items():
            families[one.operation, one.dtypes, one.parallel, one == goal].append((one, cost))
        exact = 0
        for known in families.values():
            joining = joining_of(goal) if known[0][0] == goal else NO_JOINING
            low = bound(replace(Batch.of([one for one, _ in known], Placements()), joining=joining))
            truth = np.array([cost for _, cost in known])
            too_high = np.flatnonzero(low > truth * (1 + 1e-9))
            assert len(too_high) == 0, known[too_high[0]]
            exact += int((low * 1.01 > truth).sum())
        assert exact > 0, "a bound that is a little higher would pass as well"


def test_the_graph_holds_every_spec_within_reach_and_no_other(name: str) -> None:
    capacities = an_extreme(name)
    within = brute(name, capacities).optima(capacities)
    graph = whole_graph(name, capacities)
    found = {graph.spec(node) for node in range(graph.node_count)}
    assert len(found) == graph.node_count
    assert set(within) <= found <= set(brute(name, capacities).specs)


def test_the_decisions_make_the_program_that_was_promised(name: str) -> None:
    spec, target = GOALS[name]
    capacities = an_extreme(name)
    tight = with_capacities(target, capacities)
    answer = solve_graph(whole_graph(name, capacities))
    assert answer.cost == pytest.approx(brute(name, capacities).cheapest(capacities))
    limits = answer.graph.space.limits
    peak = limits.unpack(int(answer.boxes.peak[answer.boxes.head[0]]))
    for impl in (
        replay(spec, tight, answer.decisions()),
        reconstruct(spec, tight, answer.decisions()),
    ):
        assert impl.complete
        assert impl.cost == pytest.approx(answer.cost)
        assert impl.peak == peak
    assert all(held <= capacity for held, capacity in zip(peak, capacities, strict=True))
    assert brute(name, capacities).cheapest(peak) == pytest.approx(answer.cost)


@pytest.mark.parametrize(
    ("name", "kind"), some(NEEDED, 3), ids=lambda one: getattr(one, "__name__", one)
)
def test_a_search_without_a_rewrite_is_told_apart(
    name: str, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The goals of these tests need the rewrites that they are here for."""

    def fewer(one: Kind, target: Target, sizes: Sizes, traits: RuleTraits) -> list[Rules]:
        return [
            Rules(group.guard, tuple(r for r in group.rewrites if not isinstance(r, kind)))
            for group in rules(one, target, sizes, traits)
        ]

    monkeypatch.setattr("morello.space.family.rules", fewer)
    forget_traces(monkeypatch)
    spec, target = GOALS[name]
    for everything in (True, False):
        found = cheapest(Session(spec, target), everything=everything)
        assert found > 1.001 * min(optima(name).values())


def test_a_search_by_a_bound_that_is_too_high_is_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    admissible = RelaxedBound.positions
    spec, target = GOALS["relu-of-matmul"]

    def higher(bound: RelaxedBound, kind: Kind) -> engine.PositionBounds | None:
        known = admissible(bound, kind)
        if known is None:
            return None
        columns = known.keys.unpack(known.positions)
        levels = columns[len(kind.operation.dims) :][: len(kind.operation.operands)]
        held = np.maximum.reduce(levels) == target.registers
        factor = np.append(np.where(held, 20.0, 1.0), 1.0)  # none for Specs without a bound
        return known._replace(bounds=known.bounds * factor)

    monkeypatch.setattr(RelaxedBound, "positions", higher)
    found = cheapest(Session(spec, target))
    assert found > 1.001 * min(optima("relu-of-matmul").values())


def test_parts_have_room_for_the_layouts_of_all_their_goal() -> None:
    goal = parse("max(f32[2,2,2,2,2,2] * f32[2,2,2,2,2,2], axis=[1,2]) + 1")
    space = Space([(goal,)], AVX2, goal_sizes([(goal,)], AVX2))
    part = parse("f32[2,2,2,2] + 1")
    orders = (Layout(order) for order in permutations(range(6)))
    space.placements.codes([Placement(order, 6) for order in orders])
    batch = Batch.of([part], space.placements)
    encoding = space.encoding(batch)
    assert len(space.placements.placements) > 512
    assert encoding.batch(encoding.keys(batch), space.placements).spec() == part

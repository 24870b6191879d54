"""Random programs: legal, different, spread over costs, the same for the same seed."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest
from tests.sampling import some
from tests.support import with_capacities

from morello.frontends.text import parse
from morello.impl.tree import replay
from morello.rewrites.move import SCHEDULED
from morello.search.sample import COST_RANGE
from morello.search.session import Session
from morello.targets.catalog import find_target

EXPRESSIONS = ["f32[4,4] @ f32[4,8]", "softmax(f32[2,24])", "relu(f32[2,4] @ f32[4,8])"]
TARGET = find_target("avx2")


@cache
def session_of(expression: str) -> Session:
    """One search for all tests, which only walk what it has found."""
    return Session(parse(expression), TARGET)


@pytest.mark.parametrize("expression", some(EXPRESSIONS, 2))
def test_samples_are_legal_and_differ(expression: str) -> None:
    session = session_of(expression)
    goal = session.goal
    best, drawn = session.cost, session.sample(30)
    impls = [replay(goal, TARGET, one) for one in drawn]
    assert len(impls) == 30 and all(impl.complete for impl in impls)
    costs = [impl.cost for impl in impls]
    assert costs == sorted(set(costs)) and costs[0] >= best * (1 - 1e-9)
    assert costs[0] < 1.5 * best and 3 * best < costs[-1] < COST_RANGE * best


def test_long_sums_in_registers_are_split_before_they_are_fewer() -> None:
    """Fewer sums at a time would wait for each other, which the price of registers leaves out."""
    goal, several = parse(f"f32[6,{2 * SCHEDULED}] @ f32[{2 * SCHEDULED},16]"), 0
    for one in Session(goal, TARGET).sample(60):
        for node in replay(goal, TARGET, one).walk():
            sums = node.spec.placements[-1]
            if (
                node.spec.operation.is_product
                and sums.vector > 1
                and node.spec.size("k") > SCHEDULED
            ):
                assert getattr(node.rewrite, "dim", "k") == "k"
                several += node.spec.size("m") > 1
    assert several > 5


def test_the_seed_decides() -> None:
    session = session_of(EXPRESSIONS[0])
    once, again, other = (session.sample(10, seed) for seed in (1, 1, 2))
    assert once == again != other


def test_samples_fit_the_memory_there_is() -> None:
    goal = parse(EXPRESSIONS[0])
    tight = with_capacities(TARGET, (TARGET.levels[1].capacity, 40, 5))
    drawn = Session(goal, tight).sample(20)
    assert len(drawn) > 10
    for one in drawn:
        impl = replay(goal, tight, one)  # raises where memory is short
        assert all(n <= most for n, most in zip(impl.peak, tight.limits, strict=True))


def test_there_may_be_fewer() -> None:
    goal = parse("f32[1,1] @ f32[1,1]")
    assert 1 <= len(Session(goal, TARGET).sample(100)) < 100


@pytest.mark.parametrize("expression", some(EXPRESSIONS, 2))
def test_mutations_are_legal_programs_near_the_old_one(expression: str) -> None:
    session = session_of(expression)
    goal = session.goal
    walker = session.walker(Random(3))
    old = walker.edges(session.decisions)
    assert old is not None and walker.rewrites(old) == list(session.decisions)
    made = [one for one in (walker.mutated(old) for _ in range(60)) if one is not None]
    assert len({edges for _, edges in made}) > 15
    for cost, edges in made:
        impl = replay(goal, TARGET, walker.rewrites(edges))
        assert (
            impl.complete and impl.cost == pytest.approx(cost) and cost >= session.cost * 0.999999
        )

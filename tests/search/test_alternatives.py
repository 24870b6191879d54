"""The programs of a goal in order, one of each structure: by brute force."""

from __future__ import annotations

from functools import cache
from itertools import islice, pairwise

import numpy as np
import pytest
from tests.sampling import some
from tests.search.brute import Amounts
from tests.search.small_goals import GOALS, brute
from tests.support import optimum, with_capacities

from morello.engine.limits import Limits
from morello.frontends.text import parse
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import replay
from morello.search.alternatives import Alternatives
from morello.search.budget import UNTIMED, Budget, BudgetError
from morello.search.candidates import APART, SLACKS
from morello.search.expansion import build
from morello.search.relaxed_bound import RelaxedBound
from morello.search.rewriting import Pruning
from morello.search.session import Session
from morello.search.structure import Structure, structure
from morello.space.space import Space, goal_sizes
from morello.targets.catalog import find_target

NAMES = [
    "matmul", "matmul-ragged", "matmul-panels", "matmul-bytes-packed", "matmul-bf16-mixed",
    "conv-padded-strides", "move-masked", "transpose-kernels", "divide-by-columns",
    "SoftmaxDenominatorAndMax", "SoftmaxDenominatorAndUnscaled", "relu-of-matmul", "matmul-chain",
    "parallel-matmul", "parallel-product", "parallel-pieces",
]  # fmt: skip
"""Small goals that have from two to two thousand structures."""

TIGHT = {
    "matmul": (3, 4),
    "matmul-panels": (4, 3),
    "divide-by-columns": (2, 2),
    "relu-of-matmul": (4, 5),
    "matmul-chain": (3, 3),
    "parallel-matmul": (3, 4),
}
"""Memory that some of their structures do not fit."""

CASES = [(name, GOALS[name][1].limits) for name in NAMES] + list(TIGHT.items())
each = pytest.mark.parametrize(("name", "capacities"), some(CASES, 6), ids=str)


@cache
def structures(name: str, capacities: Amounts) -> dict[Structure, float]:
    """The cost of the cheapest program of every structure."""
    return brute(name, capacities).structures(capacities)


@cache
def alternatives(name: str, capacities: Amounts, slack: float = np.inf) -> Alternatives:
    """The alternatives among all programs, or those within a slack of the cheapest."""
    spec, target = GOALS[name]
    tight = with_capacities(target, capacities)
    sizes = goal_sizes([(spec,)], tight)
    space = Space([(spec,)], tight, sizes)
    if slack == np.inf:
        return Alternatives(build(space))
    upper = optimum(spec, tight).cost * slack
    return Alternatives(build(space, Pruning(RelaxedBound([(spec,)], tight, sizes), upper)))


@each
def test_every_structure_comes_once_with_its_cheapest_program(
    name: str, capacities: Amounts
) -> None:
    wanted = structures(name, capacities)
    programs = list(alternatives(name, capacities).within(1e20))
    costs = [program.cost for program in programs]
    assert len(costs) > 1 and costs == pytest.approx(sorted(wanted.values()))
    assert {one.structure: one.cost for one in programs} == pytest.approx(wanted)


@pytest.mark.parametrize("name", TIGHT)
def test_less_memory_leaves_fewer(name: str) -> None:
    """The limits of these tests bind, with the loops that such caches leave."""
    programs = brute(name, TIGHT[name])
    fewer = programs.structures(TIGHT[name])
    assert 1 < len(fewer) < len(programs.structures(GOALS[name][1].limits))


@each
def test_what_a_bound_leaves_out_is_beyond_the_budget(name: str, capacities: Amounts) -> None:
    costs = sorted(structures(name, capacities).values())
    slack = 1.3
    within = [cost for cost in costs if cost <= costs[0] * slack]
    found = alternatives(name, capacities, slack).within(costs[0] * slack)
    assert [program.cost for program in found] == pytest.approx(within)


@each
def test_the_decisions_make_a_program_of_that_cost_and_structure(
    name: str, capacities: Amounts
) -> None:
    spec, target = GOALS[name]
    tight = with_capacities(target, capacities)
    every = alternatives(name, capacities)
    seen = 0
    for program in islice(every.within(1e20), 0, None, 7):
        impl = replay(spec, tight, every.decisions(program))  # raises where memory is short
        assert impl.complete and impl.cost == pytest.approx(program.cost)
        assert structure(impl) == program.structure
        seen += 1
    assert seen


@each
def test_a_session_gives_the_cheapest_first(name: str, capacities: Amounts) -> None:
    """However much more than the cheapest they cost: there are some of three times its cost."""
    spec, target = GOALS[name]
    tight = with_capacities(target, capacities)
    wanted = sorted(structures(name, capacities).values())[:40]
    found = [
        replay(spec, tight, decisions).cost
        for decisions in islice(Session(spec, tight).alternatives(UNTIMED.start()), 40)
    ]
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize(
    "name", some(["matmul-ragged", "move-masked", "SoftmaxDenominatorAndMax"], 3)
)
def test_a_session_gives_all_there_are(name: str) -> None:
    spec, target = GOALS[name]
    wanted = structures(name, target.limits)
    cheapest, *_, dearest = sorted(wanted.values())
    assert len(list(Session(spec, target).alternatives(UNTIMED.start()))) == len(wanted)
    assert dearest > 1.3 * cheapest


def test_a_budget_ends_them_with_an_error() -> None:
    goal, target = parse("f32[4,5] @ f32[5,6]"), find_target("avx2")
    session = Session(goal, target)
    session.solve()
    with pytest.raises(BudgetError):
        list(session.alternatives(Budget(1e-6).start()))


def test_candidates_are_different_and_near_the_cheapest() -> None:
    goal, target = parse("f32[16,16] @ f32[16,32]"), find_target("avx2")
    session = Session(goal, target)
    found = [
        reconstruct(goal, target, decisions)
        for decisions in islice(session.candidates(UNTIMED.start()), 20)
    ]
    costs = [impl.cost for impl in found]
    assert len({structure(impl) for impl in found}) == len(found) == 20
    assert costs[0] == pytest.approx(session.cost)
    assert max(costs) <= session.cost * SLACKS[-1] * (1 + 1e-9)
    assert sum(b > a * (1 + APART) for a, b in pairwise(costs)) >= 10


def test_candidates_end() -> None:
    goal, target = parse("f32[1,1] @ f32[1,1]"), find_target("avx2")
    found = list(Session(goal, target).candidates(UNTIMED.start()))
    assert 1 <= len(found) < 100


def test_the_smaller_of_limits_is_so_at_every_level() -> None:
    limits = Limits((64, 8))
    for a in ((3, 5), (0, 63), (17, 0)):
        for b in ((5, 3), (63, 0), (17, 1)):
            wanted = tuple(map(min, a, b))
            assert limits.unpack(limits.smaller(limits.pack(a), limits.pack(b))) == wanted

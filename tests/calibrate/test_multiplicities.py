"""A program's cost is the sum of its coefficients, as often as it pays each."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.codegen.random_rewrites import Programs, with_cores
from tests.goals import (
    conv_goal,
    goal_of,
    mapped,
    matmul_goal,
    mlp_goal,
    product,
    softmax_goal,
    tensor,
)
from tests.sampling import some

from morello.frontends.text import parse
from morello.impl.tree import replay
from morello.ir.dtype import BF16, F32, I32
from morello.ir.primitives import MAX, SUM, broadcast, divide_vec, fill, matmul, move, reduce
from morello.ir.spec import Spec, goal
from morello.measure.calibrate.multiplicities import Multiplicities
from morello.targets import TARGETS
from morello.targets.costs import FORK, OVERLAP, coefficients, with_coefficients


def goals() -> list[Spec]:
    """One of each primitive and two compositions, every other one on several cores."""
    layer = mapped("relu", product(tensor(4, 4), tensor(4, 8)))
    found = [
        matmul_goal(4, 6, 8),
        matmul_goal(8, 4, 16),
        matmul_goal(2, 4, 16, BF16, BF16, F32),
        goal(matmul(2), (2, 2, 3, 4, 4), (F32,) * 3),
        matmul_goal(4, 4, 8, I32, I32, I32),
        conv_goal(2, 4, 4, 2),
        goal(move(2), (5, 9), (F32, F32)),
        goal(move(3, (1, 2, 0)), (3, 4, 5), (F32, F32)),
        goal(fill(1, "lowest"), (7,), (F32,)),
        goal(reduce(SUM, 2, 1), (3, 20), (F32, F32)),
        goal(reduce(MAX, 2, 0), (20, 3), (F32, F32)),
        goal(broadcast(2, 1), (3, 20), (F32, F32)),
        goal(divide_vec(2), (3, 20), (F32,) * 3),
        softmax_goal(4, 20),
        mlp_goal(2, 4, 8, 4),
        goal_of(layer),
    ]
    return [replace(one, parallel=i % 2 == 1) for i, one in enumerate(found)]


@pytest.mark.parametrize("name", some(["avx2", "avx512"], 2))
def test_costs_are_sums_of_coefficients(name: str) -> None:
    target = replace(with_cores(TARGETS[name]), fork=TARGETS[name].fork)
    random = Random(name)
    own = coefficients(target)
    costs = own.keys() - {OVERLAP}  # a share of others, and no cost itself
    other = own | {n: own[n] * random.uniform(0.2, 5.0) for n in sorted(costs)}
    machine = with_coefficients(target, other)
    counted, counted_elsewhere = Multiplicities(target), Multiplicities(machine)
    seen: set[str] = set()
    for impl in map(Programs(target, random).of, goals()):
        paid = counted.of(impl)
        assert all(times > 0 for times in paid.values())
        assert sum(own[n] * times for n, times in paid.items()) == pytest.approx(impl.cost)
        # the same program, where everything costs something else
        elsewhere = replay(impl.spec, machine, impl.decisions())
        assert sum(other[n] * t for n, t in paid.items()) == pytest.approx(elsewhere.cost)
        assert counted_elsewhere.of(elsewhere) == pytest.approx(paid)
        seen |= paid.keys()
    assert {FORK, "memory.per_line", "memory.per_run", "L2.per_line", "L2.per_run"} <= seen
    assert len([n for n in seen if n.startswith("kernels.")]) >= 5


def test_cycles_without_a_coefficient_are_left_out() -> None:
    near = with_cores(TARGETS["avx512"])
    far = replace(near, tlb=replace(near.tlb, interleaved=5.0), from_memory=True)
    counted, counted_far = Multiplicities(near), Multiplicities(far)
    more = []
    for impl in map(Programs(near, Random(0)).of, 4 * [parse("f32[6,1024] + f32[1024]")]):
        elsewhere = replay(impl.spec, far, impl.decisions())
        assert counted_far.of(elsewhere) == pytest.approx(counted.of(impl))
        more.append(elsewhere.cost - impl.cost)
    assert min(more) >= 0 < max(more)

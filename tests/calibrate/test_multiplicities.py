"""A program's cost is the sum of its coefficients, as often as it pays each."""

from __future__ import annotations

from random import Random

import pytest
from tests.codegen.random_rewrites import few_programs, with_cores

from morello.impl.tree import replay
from morello.measure.calibrate.multiplicities import Multiplicities
from morello.targets import TARGETS
from morello.targets.costs import FORK, coefficients, with_coefficients


@pytest.mark.parametrize("name", ["avx2", "avx512"])
def test_costs_are_sums_of_coefficients(name: str) -> None:
    target = with_cores(TARGETS[name])
    random = Random(name)
    own = coefficients(target)
    other = {n: value * random.uniform(0.2, 5.0) for n, value in own.items()}
    machine = with_coefficients(target, other)
    counted, counted_elsewhere = Multiplicities(target), Multiplicities(machine)
    seen: set[str] = set()
    for impl in few_programs(target):
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

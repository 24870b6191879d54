"""No loop that is chosen by hand makes a program cheaper than the search's."""

from __future__ import annotations

from functools import cache

import pytest
from tests.sampling import some

from morello.frontends.text import parse
from morello.ir.spec import Spec
from morello.scheduling import Schedule
from morello.search.session import search
from morello.targets.catalog import tuned
from morello.targets.target import Target


@cache
def searched(size: int) -> tuple[Spec, Target, float]:
    """A product of square matrices, a target, and the cost of the program that is found."""
    goal, target = parse(f"f32[{size},{size}] @ f32[{size},{size}]"), tuned("avx512", "zen4")
    return goal, target, search(goal, target).cost


@pytest.mark.parametrize("dim", ["m", "n"])
@pytest.mark.parametrize("tile", some([112, 128, 160, 192, 224], 4))
def test_no_first_loop_over_448_is_better(dim: str, tile: int) -> None:
    goal, target, cost = searched(448)
    by_hand = Schedule.of(goal, target).tile(**{dim: tile}).solve(60.0)
    assert by_hand.impl.cost >= cost * (1 - 1e-9)

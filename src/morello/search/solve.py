"""From a goal to its cheapest program."""

from __future__ import annotations

from morello.ir.spec import Spec
from morello.memo import Table
from morello.search.budget import UNTIMED, Budget
from morello.search.session import Session
from morello.search.solution import Solution
from morello.targets.target import Target


def search(
    goal: Spec,
    target: Target,
    *,
    everything: bool = False,
    table: Table | None = None,
    budget: Budget = UNTIMED,
) -> Solution:
    """The cheapest program of `goal`, for those who ask for nothing else; see `Session.solve`."""
    return Session(goal, target, table).solve(budget, everything=everything)

"""The search spaces of single goals."""

from __future__ import annotations

from morello.ir.kept import NONE
from morello.ir.spec import Spec
from morello.space.neighbours import neighbours_kept
from morello.space.space import Space, goal_sizes
from morello.targets.target import Target


def space_of(goal: Spec, target: Target, *, relaxed: bool = False) -> Space:
    """The space of a goal; a relaxed one keeps neighbours where searches do."""
    goals = [(goal,)]
    kept = neighbours_kept(goals) if relaxed else NONE
    return Space(goals, target, goal_sizes(goals, target), relaxed=relaxed, neighbours=kept)

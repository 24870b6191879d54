"""Programs of small Specs that tests look at: the cheapest, and some drawn at random."""

from __future__ import annotations

from functools import cache

from tests.learn.sampling import from_one_graph

from morello.frontends.text import parse
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.search.session import Session
from morello.targets.target import Target

EXPRESSIONS = (
    "f32[12,16] @ f32[16,32]",
    "softmax(f32[2,20])",
    "conv(f32[1,2,4,4], f32[4,2,3,3])",
    "bf16[1,8] @ bf16[8,16]",
    "max(f32[8,32], axis=0)",
)


def programs(target: Target, expression: str, count: int = 5) -> list[Impl]:
    """The cheapest program of an expression, and about so many others."""
    return list(_programs(target.name, target, expression, count))


@cache
def _programs(_: str, target: Target, expression: str, count: int) -> tuple[Impl, ...]:
    goal = parse(expression)
    session = Session(goal, target)
    with from_one_graph():
        drawn = session.sample(count)
    return tuple(reconstruct(goal, target, decisions) for decisions in (session.decisions, *drawn))

"""Requests that are alike: those for goals that differ in the constants of functions alone.

The layers of a model often differ in nothing else, and one search is enough for all of them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from morello.base.errors import RewriteError
from morello.impl.tree import replay
from morello.ir.spec import Spec
from morello.request.constants import without_constants
from morello.request.remembering import Interrupts, remembered
from morello.request.request import Answer, Program, Request


def likeness(request: Request) -> Hashable:
    """Equal for requests that are alike, of some with the same options but for their weights."""
    goal = request.goal
    if not isinstance(goal, Spec) or not request.wants_cheapest or request.target.tunings:
        return id(request)
    return without_constants(goal), request.weights, request.target


def carried_over(answer: Program, request: Request) -> Answer | None:
    """The answer to a request that is like the answered one, by the same decisions.

    The table keeps it. None if there is none: a search has to find it.
    """
    (impl, statistics), goal = answer, request.goal
    if statistics is None or not isinstance(goal, Spec):
        return None
    spec = replace(goal, placements=impl.spec.placements, strides=impl.spec.strides)
    try:
        same = replay(spec, impl.target, impl.decisions())
    except RewriteError:
        return None
    if same.cost != impl.cost:
        return None
    return remembered(goal, request, (same, statistics), Interrupts(None))

"""Answering several requests by one search, where their goals have much in common."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import ceil

from morello.base.errors import SearchError
from morello.impl.reconstruct import reconstruct
from morello.ir.spec import Spec
from morello.request.alike import likeness
from morello.request.choosing import goals_of, spec_table
from morello.request.constants import as_given, without_constants
from morello.request.remembering import Interrupts, remembered
from morello.request.request import Answer, Request
from morello.search.parts import Parts, copies
from morello.search.together import search_together
from morello.space.space import Space, goal_sizes

MOST_TOGETHER = 8
"""The most goals of one search: its memory grows with them."""


def grouped(requests: Sequence[Request], processes: int = 1) -> list[list[int]]:
    """The numbers of requests, in groups that one search should answer, for so many processes.

    The goals of a group are of a family, and of the same products, or else of the same operation,
    whatever its constants; their weights are constants in all of them, or in none. Requests that
    are alike are of one group. Those that take longest come first, as far as their compositions
    tell, so that all processes end at about the same time.
    """
    alike: dict[Hashable, list[int]] = {}
    for number, request in enumerate(requests):
        alike.setdefault(likeness(request), []).append(number)
    kin: dict[Hashable, list[list[int]]] = {}
    for numbers in alike.values():
        common = _in_common(requests[numbers[0]])
        kin.setdefault(numbers[0] if common is None else common, []).append(numbers)
    size = min(MOST_TOGETHER, ceil(len(alike) / processes))
    parts = [
        kinds[start : start + size]
        for kinds in kin.values()
        for start in range(0, len(kinds), size)
    ]
    firsts = [[requests[numbers[0]] for numbers in part] for part in parts]
    order = sorted(range(len(parts)), key=lambda n: -sum(map(_steps, firsts[n])))
    return [[number for numbers in parts[n] for number in numbers] for n in order]


def _steps(request: Request) -> int:
    """The primitives of a goal."""
    return len(request.goal.operation.components) or 1 if isinstance(request.goal, Spec) else 0


def _in_common(request: Request) -> Hashable | None:
    """Equal for requests that one search should answer; None for one to be answered alone."""
    if not isinstance(request.goal, Spec) or not request.wants_cheapest or request.target.tunings:
        return None
    goal = without_constants(request.goal)
    if spec_table(request) is not None or Parts((goal,), request.target).apart() or copies(goal):
        return None
    goals = [tuple(goals_of(goal, request))]
    space = Space(goals, request.target, goal_sizes(goals, request.target))
    primitives = [part.operation for part in goal.parts]
    products = frozenset(each.primitive for each in primitives if each.is_product)
    return (
        space.family,
        space.sizes.widths,
        products or goal.operation,
        frozenset(goal.dtypes),
        request.weights,
    )


def answer_together(requests: Sequence[Request]) -> list[Answer | None]:
    """The answers to requests of a group, which their tables keep; None where there is none.

    The search may take as long as the searches for all of them, one after the other.
    """
    goals = [tuple(goals_of(without_constants(_goal(each)), each)) for each in requests]
    interrupts = Interrupts(requests[0].progress)
    first = interrupts.noted(requests[0])
    try:
        budgets = [each.budget for each in requests]
        results = search_together(goals, first.target, budgets, first.progress)
    except SearchError:  # too many sizes
        results = [None] * len(goals)
    answers: list[Answer | None] = []
    for request, result in zip(requests, results, strict=True):
        answer = None
        if result is not None:
            goal = _goal(request)
            impl = reconstruct(as_given(result.goal, goal), result.target, result.decisions)
            answer = remembered(goal, request, (impl, result.statistics), interrupts)
        answers.append(answer)
    return answers


def _goal(request: Request) -> Spec:
    assert isinstance(request.goal, Spec)
    return request.goal

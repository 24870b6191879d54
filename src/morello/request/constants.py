"""Goals without the constants of their functions, which no search depends on."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from morello.ir.operation import Operation, operation
from morello.ir.spec import Spec


def without_constants(goal: Spec) -> Spec:
    """The Spec with 1 in place of the constants of all functions.

    It has the same programs, as no rewrite and no cost depends on the value of a constant. Specs of
    functions that differ in nothing else are one for a search.
    """
    return replace(goal, operation=_without_constants(goal.operation))


def as_given(spec: Spec, goal: Spec) -> Spec:
    """A Spec of a goal's layouts `without_constants`, with the constants of the goal."""
    return replace(spec, operation=goal.operation)


@cache
def _without_constants(base: Operation) -> Operation:
    """The operation with 1 in place of the constants of all functions."""
    function = base.function
    if function is not None and function.constant is not None:
        function = replace(function, constant=1.0)
    components = tuple(
        replace(component, operation=_without_constants(component.operation))
        for component in base.components
    )
    return operation(
        base.primitive, base.dims, base.operands, base.reduced, base.untiled, base.accumulates,
        function, components,
    )  # fmt: skip

"""The goal and the machine that a user means: parsed, calibrated, and for a number of threads."""

from __future__ import annotations

from typing import overload

from morello.base.errors import TargetError, quoted
from morello.frontends.text import parse
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.measure.calibrate.first_use import find_calibrated
from morello.runtime.argument import arguments
from morello.runtime.machine import check_memory, check_runs_here
from morello.runtime.threads import check_threads, thread_count
from morello.targets.costs import on_cores
from morello.targets.target import Target

Goal = Spec | Impl
"""A Spec to search for, or a program of one that was scheduled by hand."""


@overload
def goal_and_target(
    what: str | Spec, target: str | Target = ..., threads: int | str = ...
) -> tuple[Spec, Target]: ...


@overload
def goal_and_target(
    what: str | Goal, target: str | Target = ..., threads: int | str = ...
) -> tuple[Goal, Target]: ...


def goal_and_target(
    what: str | Goal, target: str | Target = "native", threads: int | str = 1
) -> tuple[Goal, Target]:
    """The goal and the machine, both for this number of threads.

    `what` is an expression, a Spec, or a schedule, which is for the machine and the number of
    threads that it was made for. Raises `MorelloError`.
    """
    count = thread_count(threads)
    goal = what if isinstance(what, Spec | Impl) else parse(what)
    if isinstance(goal, Impl):
        if count not in (1, goal.threads):
            raise TargetError(
                f"the schedule is for {goal.threads} threads, not {count}; make it for as many, "
                "or leave out how many."
            )
        return goal, goal.target
    return on_cores(goal, target_of(target), count)


def target_of(target: str | Target) -> Target:
    """The target that is meant, calibrated; raises `TargetError`."""
    if not isinstance(target, str | Target):
        raise TargetError(
            f"a target is the name of one, such as 'native', or a Target, not {quoted(target)}."
        )
    return find_calibrated(target) if isinstance(target, str) else target


def spec_of(goal: Goal) -> Spec:
    """The Spec of a goal, which may be a program of it."""
    return goal.spec if isinstance(goal, Impl) else goal


def check_callable(goal: Goal, target: Target) -> None:
    """Raise `MorelloError` if a goal's kernels cannot be called from Python on this machine."""
    spec = spec_of(goal)
    check_runs_here(target)
    if spec.parallel:
        check_threads(target.cores)
    check_memory(spec)
    arguments(spec)

"""Complete programs of goals in a memo table, so that a repeated search returns at once."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf

from morello.base.errors import RewriteError
from morello.impl import saved
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.memo.program_table import ProgramTable
from morello.memo.space_name import space_name
from morello.space.traits import TilingTraits
from morello.targets.target import Target

LONGER = 1.1
"""A search that may take longer by less than this factor is not worth it."""


@dataclass(frozen=True)
class StoredProgram:
    """A program in a table.

    It was the fastest of `measured` programs that were timed; if that is 0, it is the cheapest
    under the cost model. `gap` is its optimality gap, a fraction, and `seconds` how long the
    search that found it took; they are 0 and infinite if no program is cheaper. `worst` is its
    largest loss for a machine of several (see `SearchStatistics`).
    """

    impl: Impl
    measured: int = 0
    gap: float = 0.0
    seconds: float = inf
    worst: float | None = None

    def serves(self, cheapest: bool, seconds: float, gap: float) -> bool:
        """Whether this program makes a search of so many seconds unnecessary.

        It does if the search may end at a `gap` that this program has, or could hardly take longer
        than the one that found it. `cheapest` says that the search is for the cheapest program
        under the cost model, and not for one that was measured.
        """
        good_enough = self.gap <= gap or seconds <= LONGER * self.seconds
        return (self.measured > 0 or cheapest) and good_enough


def load_program(
    goal: Spec, target: Target, table: ProgramTable, weights: str = "plain"
) -> StoredProgram | None:
    """The program that a table has for a goal, if any; a measured one is preferred.

    If `weights` are "constant", the layouts of weights may be others than the goal's.
    """
    for space, name in places(goal, target, weights):
        text = table.program(space, name)
        if text is None:
            continue
        data = json.loads(text)
        try:
            impl = _loaded(text, target)
        except RewriteError:  # saved by a version that had other rewrites
            continue
        spec = goal
        if weights != "plain":
            spec = replace(goal, placements=impl.spec.placements, strides=impl.spec.strides)
        if impl.spec == spec:
            gap, seconds = data.get("gap", 0.0), data.get("seconds")
            return StoredProgram(
                replace(impl, spec=spec), data.get("measured", 0), inf if gap is None else gap,
                inf if seconds is None else seconds, data.get("worst"),
            )  # fmt: skip
    return None


def store_program(program: StoredProgram, table: ProgramTable, goal: Spec | None = None) -> None:
    """Store the program of a goal.

    If it is one with constant weights, `goal` is the Spec before they were laid out. A measured
    program and one that was not measured do not overwrite each other.
    """
    impl, weights = program.impl, "plain" if goal is None else "constant"
    measured_place, place = places(goal or impl.spec, impl.target, weights)
    data = saved.save(impl)
    if program.measured:
        place, data = measured_place, data | {"measured": program.measured}
    if program.gap:
        known = ("gap", program.gap), ("seconds", program.seconds)
        data |= {name: None if n == inf else n for name, n in known}
    if program.worst is not None:
        data["worst"] = program.worst
    table.keep_program(*place, json.dumps(data, separators=(",", ":")))


@lru_cache(maxsize=64)
def _loaded(text: str, target: Target) -> Impl:
    """The Impl of a stored program; raises `RewriteError`. Asking again costs nothing."""
    return saved.load(json.loads(text), target)


def places(
    goal: Spec, target: Target, weights: str = "plain"
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Where a table has the measured program of what is asked, and the one that was not measured.

    A place is a search space and the name of a goal: a hash of all that is asked.
    """
    parts = [json.dumps(saved.spec_data(goal, target), separators=(",", ":"))]
    parts += [weights] * (weights != "plain")
    parts += [space_name(tuning) for tuning in target.tunings]
    name = hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()
    space = space_name(target, TilingTraits.of(target, goal))
    return (space, f"{name}-measured"), (space, name)

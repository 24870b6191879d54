"""Programs of whole goals in a table: what was asked before is answered at once."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from math import inf

from morello.errors import RewriteError
from morello.ir.spec import Spec
from morello.rewrites import saved
from morello.rewrites.impl import Impl
from morello.search.memory import space_name
from morello.search.panels import Panels
from morello.table import Table
from morello.targets.target import Target


@dataclass(frozen=True)
class Kept:
    """A program that a table has: the fastest of so many `measured`, or (0) the cheapest.

    It was found in a search of so many `seconds`, and it may cost `gap` (a part) more than the
    cheapest; infinitely many, and 0, if none is cheaper.
    """

    impl: Impl
    measured: int
    gap: float = 0.0
    seconds: float = inf

    def serves(self, cheapest: bool, seconds: float) -> bool:
        """Whether a search of so many seconds, for the `cheapest` or a fast one, is needless."""
        return (self.measured > 0 or cheapest) and self.seconds >= seconds


def recall(goal: Spec, target: Target, table: Table) -> Kept | None:
    """The program that a table has of a goal, if it has one; rather one that was measured."""
    space, name = _place(goal, target)
    for place in (_measured(name), name):
        text = table.program(space, place)
        if text is None:
            continue
        data = json.loads(text)
        try:
            impl = saved.load(data, target)
        except RewriteError:  # of a version whose rewrites were other ones
            continue
        if impl.spec == goal:
            gap, seconds = data.get("gap", 0.0), data.get("seconds")
            return Kept(
                replace(impl, spec=goal), data.get("measured", 0), inf if gap is None else gap,
                inf if seconds is None else seconds,
            )  # fmt: skip
    return None


def keep(
    impl: Impl, table: Table, measured: int = 0, gap: float = 0.0, seconds: float = inf
) -> None:
    """Remember the program of a goal, and how it was found (see `Kept`).

    What was measured and what was not stand side by side.
    """
    space, name = _place(impl.spec, impl.target)
    data = saved.save(impl)
    if measured:
        name, data = _measured(name), data | {"measured": measured}
    if gap:
        data |= {name: None if n == inf else n for name, n in (("gap", gap), ("seconds", seconds))}
    table.keep_program(space, name, json.dumps(data, separators=(",", ":")))


def _measured(name: str) -> str:
    return f"{name}-measured"


def _place(goal: Spec, target: Target) -> tuple[str, str]:
    text = json.dumps(saved.spec_data(goal, target), separators=(",", ":"))
    name = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return space_name(target, Panels.of(goal)), name

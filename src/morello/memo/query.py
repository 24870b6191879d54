"""The answers that a memo table has for one Spec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from morello.ir.spec import Spec
from morello.memo import Table
from morello.memo.space_memo import SpaceMemo
from morello.space.panels import Panels
from morello.space.space import Space, goal_sizes
from morello.targets.target import Target


@dataclass(frozen=True)
class SpecAnswer:
    """The best decisions for a Spec, each with its cost, for limits from `peak` to `limit`."""

    peak: tuple[int, ...]
    limit: tuple[int, ...]
    decisions: tuple[tuple[str, float], ...]

    def data(self, target: Target) -> dict[str, Any]:
        names = [level.name for level in target.levels[1:]]
        return {
            "peak": dict(zip(names, self.peak, strict=True)),
            "limit": dict(zip(names, self.limit, strict=True)),
            "decisions": [{"rewrite": text, "cost": cost} for text, cost in self.decisions],
        }


def answers(spec: Spec, target: Target, table: Table) -> list[SpecAnswer]:
    """All answers for a Spec: higher limits first, and then those with more decisions first."""
    memo = SpaceMemo(table, target, Panels.of(spec))
    space = Space([(spec,)], target, goal_sizes([(spec,)], target))
    listed = memo.decisions(space.batch_of(spec))
    unpack = space.limits.unpack
    unsorted = [
        SpecAnswer(unpack(peak), unpack(limit), tuple(decisions))
        for peak, limit, decisions in listed
    ]
    return sorted(unsorted, key=lambda answer: (answer.limit, len(answer.decisions)), reverse=True)

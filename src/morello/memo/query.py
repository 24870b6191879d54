"""The answers that a memo table has for one Spec."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from morello.ir.spec import Spec
from morello.memo import Table
from morello.memo.space_memo import SpaceMemo
from morello.rewrites import in_words
from morello.space.kind import Kind
from morello.space.space import Space, goal_sizes
from morello.space.traits import TilingTraits
from morello.targets.target import Target


@dataclass(frozen=True)
class FirstStep:
    """A rewrite that a Spec's program begins with, also in words, and what the program costs."""

    rewrite: str
    words: str
    cost: float


@dataclass(frozen=True)
class SpecAnswer:
    """The best first steps for a Spec, for limits from `peak` to `limit`."""

    peak: tuple[int, ...]
    limit: tuple[int, ...]
    decisions: tuple[FirstStep, ...]

    def data(self, target: Target) -> dict[str, Any]:
        names = [level.name for level in target.levels[1:]]
        return {
            "peak": dict(zip(names, self.peak, strict=True)),
            "limit": dict(zip(names, self.limit, strict=True)),
            "decisions": [asdict(step) for step in self.decisions],
        }


def answers(spec: Spec, target: Target, table: Table) -> list[SpecAnswer]:
    """All answers for a Spec: higher limits first, and then those with more decisions first."""
    memo = SpaceMemo(table, target, TilingTraits.of(target, spec))
    space = Space([(spec,)], target, goal_sizes([(spec,)], target))
    batch = space.batch_of(spec)
    rewrites, unpack = space.rewrites(Kind.of(batch)), space.limits.unpack

    def first(rule: int, cost: float) -> FirstStep:
        rewrite = rewrites[rule]
        return FirstStep(str(rewrite), in_words(rewrite, spec, spec, target), cost)

    unsorted = [
        SpecAnswer(unpack(peak), unpack(limit), tuple(first(*each) for each in decisions))
        for peak, limit, decisions in memo.decisions(batch)
    ]
    return sorted(unsorted, key=lambda answer: (answer.limit, len(answer.decisions)), reverse=True)

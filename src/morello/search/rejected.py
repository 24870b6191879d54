"""The rewrites of a program's Specs that are far from the cheapest: what they need and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from morello.rewrites import Edges, Rewrite, expand
from morello.search.relaxed_bound import RelaxedBound
from morello.search.runners_up import Choice
from morello.space.kind import Kind
from morello.space.space import Space


@dataclass(frozen=True)
class Rejected:
    """A rewrite of a Spec, with a lower bound on the costs of programs that begin with it.

    `lacking` is the memory that it needs beyond what is left for the Spec, by level.
    """

    rewrite: Rewrite
    bound: float
    lacking: Mapping[int, int]


def rejected(space: Space, bound: RelaxedBound, choice: Choice) -> list[Rejected]:
    """The rewrites of a choice's Spec that are neither taken nor runners-up, by their bounds.

    Of those that become the same once they are made concrete for the Spec, there is one.
    """
    batch, spec = space.batch_of(choice.spec), choice.spec
    seen = {decision.rewrite for decision in (choice.taken, *choice.runners_up)}
    result: list[Rejected] = []
    for group in space.rules(Kind.of(batch)):
        if not group.guard(batch).all():
            continue
        for rule in group.rewrites:
            rewrite = rule.concrete(spec)
            for edges in expand(rule, batch, space.target):
                if len(edges.rows) and rewrite not in seen:
                    seen.add(rewrite)
                    lacking = _lacking(edges, choice.limits)
                    result.append(Rejected(rewrite, _least(edges, bound), lacking))
    return sorted(result, key=lambda each: each.bound)


def _least(edges: Edges, bound: RelaxedBound) -> float:
    """A lower bound on the cost of a rewrite of one Spec."""
    total = float(np.broadcast_to(edges.cost, 1)[0])
    for child in edges.children:
        total += int(np.broadcast_to(child.times, 1)[0]) * float(bound(child.batch)[0])
    return total


def _lacking(edges: Edges, limits: Sequence[int]) -> dict[int, int]:
    """How much more than the limits a rewrite of one Spec holds, by level."""
    held = {level: int(np.broadcast_to(n, 1)[0]) for level, n in edges.allocation.items()}
    return {level: n - limits[level - 1] for level, n in held.items() if n > limits[level - 1]}

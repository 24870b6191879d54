"""The Specs that the proof of a goal rests on: some expanded, the others closed by a bound."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from morello.base.errors import CertificateError
from morello.certificate.graph import Floats, ProofGraph, Rewritten, settle
from morello.certificate.numbered import Numbered, by_tier, in_order
from morello.certificate.relaxed import RelaxedBounds
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints

Marks = Callable[[Batch], Bools]
"""Which Specs of a kind, given in canonical order, are expanded: all their rewrites are in the
proof. A lower bound closes the others."""


class Exact:
    """Specs that are met from a goal, each under some amounts of memory: *states*.

    States are numbered rank by rank, in canonical order; the goal is number 0. `spec` has the
    number of each state's Spec, `expanded` the states with rewrites, `bounds` lower bounds on
    their costs, and `values` those that follow from rewrites. Parents and children of the
    rewrites in `waves` are states. `marks` says of each Spec, in canonical order, whether it is
    expanded, which takes that it has a state.
    """

    def __init__(self, graph: ProofGraph, bounds: RelaxedBounds, marks: Marks) -> None:
        self.graph = graph
        if len(graph.limits) * _BITS > 63 or (graph.limits >> _BITS).any():
            name = graph.space.target.name
            raise CertificateError(f"the memory limits of {name} are too large to prove.")
        met = {each.tier: each for each in _met(graph, marks)}
        needs = _needs(graph, [*met.values()])
        states = _States(graph, needs)
        for tier, specs, left in states.waiting:
            states.take(met[tier], specs, left, bounds)
        self.spec, self.bounds = np.concatenate(states.specs), np.concatenate(states.bounds)
        self.expanded: Ints = np.flatnonzero(np.concatenate(states.expanded))
        self.waves = states.waves()
        self.values = self.bounds.copy()
        self.values[self.expanded] = np.inf
        settle(self.waves, self.values)
        has_state = np.zeros(graph.specs.count, np.bool_)
        has_state[self.spec] = True
        self.marks: Bools = np.concatenate(
            [each.marks & has_state[each.specs] for each in met.values()]
        )

    @property
    def rewrites(self) -> int:
        """The number of rewrites."""
        return sum(len(wave.parent) for wave in self.waves)


class _Waiting:
    """Specs that wait for those of higher rank, with amounts of memory."""

    def __init__(self, specs: Numbered) -> None:
        self._specs = specs
        self._parts: dict[int, list[tuple[Ints, Ints]]] = defaultdict(list)

    def add(self, specs: Ints, left: Ints) -> None:
        """Add pairs of Specs and packed amounts; those of no Spec, -1, are left out."""
        given = specs >= 0
        specs, left = _distinct(specs[given], left[given])
        for tier, rows in by_tier(self._specs.tier_of(specs)):
            self._parts[tier].append((specs[rows], left[rows]))

    def __iter__(self) -> Iterator[tuple[int, Ints, Ints]]:
        """Tier by tier, the highest rank first, its distinct pairs in order."""
        while self._parts:
            tier = min(self._parts, key=lambda tier: self._specs.tiers[tier].order)
            specs, left = map(np.concatenate, zip(*self._parts.pop(tier), strict=True))
            yield tier, *_distinct(specs, left)


@dataclass(frozen=True)
class _Met:
    """The Specs of a tier that a proof meets, in canonical order, and which are expanded."""

    tier: int
    specs: Ints
    batch: Batch
    marks: Bools


def _met(graph: ProofGraph, mark: Marks) -> Iterator[_Met]:
    """The goal, and all Specs that rewrites of expanded Specs leave."""
    waiting = _Waiting(graph.specs)
    waiting.add(np.zeros(1, np.int32), np.zeros(1, np.int64))
    for tier, specs, _ in waiting:
        kind = graph.specs.tiers[tier].kind
        specs = specs[in_order(graph.specs.batch(kind, specs))]
        batch = graph.specs.batch(kind, specs)
        met = _Met(tier, specs, batch, mark(batch))
        child = graph.rewrites(tier, met.specs[met.marks]).child.ravel()
        waiting.add(child, np.zeros(len(child), np.int64))
        yield met


def _needs(graph: ProofGraph, met: list[_Met]) -> Ints:
    """The most memory of each level that programs of each Spec may hold, as far as they are met.

    Specs that are closed need none. The last row is for no Spec.
    """
    needs = np.zeros((graph.specs.count + 1, len(graph.limits)), np.int64)
    for each in reversed(met):
        specs = each.specs[each.marks]
        rewritten = graph.rewrites(each.tier, specs)
        most = rewritten.held + needs[rewritten.child].max(axis=1, initial=0)
        np.maximum.at(needs, specs[rewritten.parent], most)
    return needs


class _States:
    """States as they are made, tier by tier."""

    def __init__(self, graph: ProofGraph, needs: Ints) -> None:
        self._graph, self._needs, self._count = graph, needs, 0
        self.specs: list[Ints] = []
        self._left: list[Ints] = []
        self.bounds: list[Floats] = []
        self.expanded: list[Bools] = []
        self._waves: list[tuple[Rewritten, Ints]] = []  # and amounts of memory for children
        self.waiting = _Waiting(graph.specs)
        self.waiting.add(np.zeros(1, np.int32), _packed(np.minimum(graph.limits, needs[:1])))

    def take(self, met: _Met, specs: Ints, left: Ints, bounds: RelaxedBounds) -> None:
        """Make a state of each pair of a Spec that was met and an amount of memory."""
        order = np.argsort(met.specs)
        place = order[np.searchsorted(met.specs[order], specs)]
        pairs = np.argsort(place, kind="stable")
        specs, left, place = specs[pairs], left[pairs], place[pairs]
        first, self._count = self._count, self._count + len(specs)
        some = np.flatnonzero(met.marks[place])
        self.specs.append(specs)
        self._left.append(left)
        self.bounds.append(bounds.of(met.batch)[place])
        self.expanded.append(met.marks[place])
        rewritten = self._graph.rewrites(met.tier, specs[some])
        memory = _unpacked(left[some], len(self._graph.limits))
        rewritten = rewritten.within(memory[rewritten.parent])
        if len(rewritten.parent):
            rest = memory[rewritten.parent] - rewritten.held
            amounts = _packed(np.minimum(rest[:, np.newaxis], self._needs[rewritten.child]))
            self.waiting.add(rewritten.child.ravel(), amounts.ravel())
            parent = (first + some[rewritten.parent]).astype(np.int32)
            self._waves.append((rewritten._replace(parent=parent), amounts))

    def waves(self) -> list[Rewritten]:
        """The rewrites of states, with states in place of Specs, by rank: the highest first."""
        specs, left = np.concatenate(self.specs), np.concatenate(self._left)
        distinct = np.unique(left)

        def keys(specs: Ints, left: Ints) -> Ints:
            result: Ints = specs.astype(np.int64) * len(distinct) + np.searchsorted(distinct, left)
            return result

        of_states = keys(specs, left)
        states = np.argsort(of_states).astype(np.int32)
        of_states, waves = of_states[states], []
        for wave, amounts in self._waves:
            child, given = wave.child.copy(), wave.child >= 0
            place = np.searchsorted(of_states, keys(child[given], amounts[given]))
            child[given] = states[place]
            waves.append(wave._replace(child=child))
        return waves


_BITS = 20
"""The bits of an amount of memory of one level; no target has more (see `MOST_LINES`)."""


def _packed(left: Ints) -> Ints:
    """Amounts of memory of all levels, the last axis, as single integers in the same order."""
    packed: Ints = np.zeros(left.shape[:-1], np.int64)
    for level in range(left.shape[-1]):
        packed = (packed << _BITS) | left[..., level]
    return packed


def _unpacked(packed: Ints, levels: int) -> Ints:
    """The amounts of memory by level, a row for each integer: the inverse of `_packed`."""
    shifts = _BITS * np.arange(levels - 1, -1, -1)
    result: Ints = (packed[:, np.newaxis] >> shifts) & ((1 << _BITS) - 1)
    return result


def _distinct(specs: Ints, left: Ints) -> tuple[Ints, Ints]:
    """Pairs of a Spec and what is left for it, in ascending order and without duplicates."""
    amounts, place = np.unique(left, return_inverse=True)
    keys = np.unique(specs.astype(np.int64) * len(amounts) + place)
    return (keys // len(amounts)).astype(np.int32), amounts[keys % len(amounts)]

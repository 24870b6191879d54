"""The relaxed space of a goal, and the lower bounds that it gives."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from morello.certificate.graph import Floats, ProofGraph, Rewritten, settle
from morello.certificate.numbered import SpecKeys, in_order
from morello.ir.batch import Batch
from morello.ir.kept import NONE, Kept
from morello.ir.placements import Bools, Ints
from morello.ir.spec import Spec
from morello.space.kind import Kind
from morello.targets.target import Target

MARGIN = 1 - 2.0**-36
"""The factor of bounds: own costs of relaxed Specs are rounded in another way."""


class RelaxedBounds:
    """Lower bounds on the costs of Specs: what they cost at least with ideal layouts.

    They follow from the relaxed space: all of its Specs that fit the memory, with all of their
    rewrites. `values` has what these Specs cost, the highest rank first, and in canonical order;
    `rewrites` is the number of the rewrites.

    A Spec costs at least as much as the cheapest of those with which it has all in common but
    placements, and of these the operands whose neighbours are known to be along a dimension, or
    none, in all of those Specs.
    """

    def __init__(self, goal: Spec, target: Target) -> None:
        graph = ProofGraph(goal, target, relaxed=True)
        graph.close()
        left = np.full((graph.specs.count, len(graph.limits)), -1, np.int64)
        left[0] = graph.limits
        fitting: list[tuple[Kind, Ints]] = []
        waves: list[Rewritten] = []
        for tier, nodes in graph.specs.by_rank():
            kind = graph.specs.tiers[tier].kind
            nodes = nodes[in_order(graph.specs.batch(kind, nodes))]
            nodes = nodes[(left[nodes] >= 0).all(axis=1)]
            fitting.append((kind, nodes))
            rewritten = graph.rewrites(tier, nodes)
            rewritten = rewritten._replace(parent=nodes[rewritten.parent])
            rewritten = rewritten.within(left[rewritten.parent])
            waves.append(rewritten)
            rest = left[rewritten.parent] - rewritten.held
            for child in rewritten.child.T:
                given = child >= 0
                np.maximum.at(left, child[given], rest[given])
        values = np.full(graph.specs.count, np.inf)
        settle(waves, values)
        self.values: Floats = values[np.concatenate([nodes for _, nodes in fitting])]
        self.rewrites = sum(len(wave.parent) for wave in waves)
        self._keys = SpecKeys()
        self._known: dict[Kind, dict[bytes, Bools]] = defaultdict(dict)
        self._least: dict[Kind, dict[bytes, float]] = defaultdict(dict)
        batches = [(graph.specs.batch(kind, nodes), values[nodes]) for kind, nodes in fitting]
        for batch, _ in batches:
            known = self._known[Kind.of(batch)]
            kept = graph.space.family.kept(Kind.of(batch))
            given_of_all = _neighbours(batch, kept=kept)
            for key, given in zip(self._keys(_without(batch)), given_of_all, strict=True):
                known[key] = known.get(key, given) & given
        for batch, costs in batches:
            least = self._least[Kind.of(batch)]
            for key, cost in zip(self._keys(self._within(batch)), costs.tolist(), strict=True):
                least[key] = min(least.get(key, np.inf), cost)

    def of(self, batch: Batch) -> Floats:
        """The bounds of Specs; 0 for those that the relaxed space lacks."""
        least = self._least[Kind.of(batch)]
        bounds = [least.get(key, 0.0) for key in self._keys(self._within(batch))]
        return np.array(bounds) * MARGIN

    def _within(self, batch: Batch) -> Batch:
        """The Specs with the placements that bounds are known for."""
        known, none = self._known[Kind.of(batch)], np.zeros(len(batch.codes), np.bool_)
        rows = [known.get(key, none) for key in self._keys(_without(batch))]
        return batch.ideal([*np.array(rows, np.bool_).reshape(len(batch), len(batch.codes)).T])


def _without(batch: Batch) -> Batch:
    """The Specs with placements whose neighbours may be along any dimension."""
    return batch.ideal([False] * len(batch.codes))


def _neighbours(batch: Batch, *, kept: Kept) -> Bools:
    """Whether the dimension of neighbours is known, if any are `kept`, by row and operand."""
    if kept == NONE:
        return np.zeros((len(batch), len(batch.codes)), np.bool_)
    return np.stack([batch.placements.neighbours[code] > 0 for code in batch.codes], axis=1)

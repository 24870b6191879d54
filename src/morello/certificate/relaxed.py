"""The relaxed space of a goal, and the lower bounds that it gives."""

from __future__ import annotations

import numpy as np

from morello.certificate.graph import Floats, ProofGraph, Rewritten
from morello.certificate.numbered import SpecKeys, batch_of
from morello.certificate.values import NONE, Choose, settle
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints
from morello.ir.spec import Spec
from morello.space.kind import Kind
from morello.targets.target import Target

MARGIN = 1 - 2.0**-36
"""What bounds are multiplied with: own costs of relaxed Specs are rounded in another way."""


class Relaxed:
    """All Specs of the relaxed space that fit the memory, with all of their rewrites.

    `order` has the numbers of these Specs in canonical order.
    """

    def __init__(self, goal: Spec, target: Target) -> None:
        self.graph = graph = ProofGraph(goal, target, relaxed=True)
        graph.close()
        self._waves: list[Rewritten] = []
        left = np.full((graph.specs.count, len(graph.limits)), -1, np.int64)
        left[0] = graph.limits
        for tier, nodes in graph.specs.by_rank():
            rewritten = graph.rewrites(tier, nodes)
            parent = nodes[rewritten.parent]
            fits = _fits(rewritten.held, left[parent])
            fitting = rewritten._replace(parent=parent).of(fits)
            rest = left[fitting.parent] - fitting.held
            for child in fitting.child.T:
                given = child >= 0
                np.maximum.at(left, child[given], rest[given])
            self._waves.append(fitting)
        order = graph.specs.in_order()
        self.order: Ints = order[_fits(0, left[order])]

    @property
    def rewrites(self) -> int:
        """The number of rewrites."""
        return sum(len(wave.parent) for wave in self._waves)

    def choices(self, stated: Ints) -> Ints:
        """By number of a Spec, the choices that a certificate states in canonical order."""
        result = np.full(self.graph.specs.count, NONE, np.int64)
        result[self.order] = stated
        return result

    def bounds(self, choose: Choose) -> RelaxedBounds:
        """The bounds that follow from a choice of rewrites (see `settle`)."""
        values = np.full(self.graph.specs.count, np.inf)
        choices = settle(self._waves, values, choose)
        return RelaxedBounds(self, values, choices[self.order])


def _fits(held: Ints | int, left: Ints) -> Bools:
    """Which rows hold no more of any level than is left."""
    result: Bools = np.asarray((held <= left).all(axis=1))
    return result


class RelaxedBounds:
    """Lower bounds on the costs of Specs: what they cost at least with ideal layouts.

    By relaxed Spec in canonical order, `values` has its cost, and `choices` the rewrite it takes. A
    Spec costs at least as much as the cheapest of those with which it has all in common but
    placements, and of these the operands whose neighbours are known to be along a dimension, or
    none, in all of those Specs.
    """

    def __init__(self, relaxed: Relaxed, values: Floats, choices: Ints) -> None:
        self.values, self.choices = values[relaxed.order], choices
        self._keys = SpecKeys()
        self._known: dict[Kind, dict[bytes, Bools]] = {}
        self._least: dict[Kind, dict[bytes, float]] = {}
        listed = np.zeros(len(values), np.bool_)
        listed[relaxed.order] = True
        graph = relaxed.graph
        for kind in graph.specs.kinds:
            nodes = graph.specs.nodes(kind)
            nodes = nodes[listed[nodes]]
            batch = batch_of(kind, graph.specs.table(kind, nodes), graph.space)
            known, least = self._known.setdefault(kind, {}), self._least.setdefault(kind, {})
            for key, given in zip(self._keys(_without(batch)), _neighbours(batch), strict=True):
                known[key] = known.get(key, given) & given
            for key, cost in zip(self._keys(self._within(batch)), values[nodes], strict=True):
                least[key] = min(least.get(key, np.inf), float(cost))

    def of(self, batch: Batch) -> Floats:
        """The bounds of Specs; 0 for those that the relaxed space lacks."""
        least = self._least.get(Kind.of(batch), {})
        bounds = [least.get(key, 0.0) for key in self._keys(self._within(batch))]
        return np.array(bounds) * MARGIN

    def _within(self, batch: Batch) -> Batch:
        """The Specs with the placements that bounds are known for."""
        known, none = self._known.get(Kind.of(batch), {}), np.zeros(len(batch.codes), np.bool_)
        rows = [known.get(key, none) for key in self._keys(_without(batch))]
        return batch.ideal([*np.array(rows, np.bool_).reshape(len(batch), -1).T])


def _without(batch: Batch) -> Batch:
    """The Specs with placements whose neighbours may be along any dimension."""
    return batch.ideal([False] * len(batch.codes))


def _neighbours(batch: Batch) -> Bools:
    """By row and operand, whether the dimension of neighbours is known, and matters."""
    if batch.operation.sums_products:
        return np.zeros((len(batch), len(batch.codes)), np.bool_)
    return np.stack([batch.placements.neighbours[code] > 0 for code in batch.codes], axis=1)

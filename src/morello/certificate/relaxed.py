"""The relaxed space of a goal, and the lower bounds that it gives."""

from __future__ import annotations

import numpy as np

from morello.certificate.graph import Floats, ProofGraph, by_rank, pass_on
from morello.certificate.numbered import SpecKeys, batch_of
from morello.certificate.values import NONE, Choose, settle
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints
from morello.ir.spec import Spec
from morello.space.kind import Kind
from morello.space.ranks import common_rank
from morello.space.space import Space, goal_sizes
from morello.targets.target import Target

MARGIN = 1 - 2.0**-36
"""What bounds are multiplied with: own costs of relaxed Specs are rounded in another way."""


class Relaxed:
    """All Specs of the relaxed space that fit the memory, with all of their rewrites.

    `order` has the numbers of these Specs in canonical order.
    """

    def __init__(self, goal: Spec, target: Target) -> None:
        sizes = goal_sizes([(goal,)], target)
        self.graph = graph = ProofGraph(Space([(goal,)], target, sizes, relaxed=True))
        while waiting := graph.specs.waiting:
            kind = max(waiting, key=common_rank)
            nodes, table = graph.specs.take(kind)
            most = np.broadcast_to(graph.limits, (len(nodes), len(graph.limits)))
            graph.rewrite(kind, nodes, table, most)
        self._waves = by_rank(graph.rewritten(), graph.specs.all_ranks())
        left = np.full((graph.specs.count, len(graph.limits)), -1, np.int64)
        left[0] = graph.limits
        for number, wave in enumerate(self._waves):
            fitting = wave.of(_fits(wave.held, left[wave.parent]))
            pass_on(left, fitting, left[fitting.parent] - fitting.held)
            self._waves[number] = fitting
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

    By relaxed Spec in canonical order, `values` has its cost, and `choices` the rewrite it takes.
    """

    def __init__(self, relaxed: Relaxed, values: Floats, choices: Ints) -> None:
        self.values, self.choices = values[relaxed.order], choices
        self._keys = SpecKeys()
        self._least: dict[Kind, dict[bytes, float]] = {}
        listed = np.zeros(len(values), np.bool_)
        listed[relaxed.order] = True
        graph = relaxed.graph
        for kind, specs in graph.specs.kinds.items():
            least = self._least.setdefault(kind, {})
            here = listed[specs.nodes]
            costs = values[specs.nodes][here].tolist()
            keys = self._keys(batch_of(kind, specs.table[here], graph.space).relaxed())
            for key, cost in zip(keys, costs, strict=True):
                least[key] = min(least.get(key, np.inf), cost)

    def of(self, batch: Batch) -> Floats:
        """The bounds of Specs; 0 for those that the relaxed space lacks."""
        least = self._least.get(Kind.of(batch), {})
        bounds = [least.get(key, 0.0) for key in self._keys(batch.relaxed())]
        return np.array(bounds) * MARGIN

"""Specs and all of their rewrites, derived from the definitions; and what follows for costs.

A rewrite of a Spec is a hyperedge: its own cost, the memory that it holds, and the Specs that it
leaves, each of which runs so many times. Nothing is left out: every rule of the space is applied
to every Spec whose guard admits it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from morello.base.errors import CertificateError
from morello.certificate.numbered import Numbered, by_tier
from morello.ir.kept import NONE
from morello.ir.placements import Bools, Ints
from morello.ir.spec import Spec
from morello.rewrites import Edges, expand
from morello.space.kind import Kind
from morello.space.neighbours import neighbours_kept
from morello.space.ranks import common_rank
from morello.space.space import Space, goal_sizes
from morello.targets.target import Target

Floats = npt.NDArray[np.float64]


class Rewritten(NamedTuple):
    """Rewrites as columns.

    By rewrite: the number of the Spec, its own cost, the memory that it holds of each level but
    the farthest, and its children and how many times each runs, with -1 and 0 for no child.
    """

    parent: Ints
    own: Floats
    held: Ints
    child: Ints
    times: Ints

    def of(self, rows: Ints | Bools) -> Rewritten:
        """The rewrites of these rows."""
        return Rewritten(
            self.parent[rows], self.own[rows], self.held[rows], self.child[rows], self.times[rows]
        )  # fmt: skip

    def within(self, left: Ints) -> Rewritten:
        """The rewrites that allocate at most `left` of each level; a row of it for each rewrite."""
        return self.of(np.flatnonzero((self.held <= left).all(axis=1)))


def _joined(parts: list[Rewritten]) -> Rewritten:
    """The rewrites of all parts, sorted by Spec; those of one Spec stay in order."""
    width = max(part.child.shape[1] for part in parts)
    padded = [
        part._replace(
            child=_padded(part.child, width, -1), times=_padded(part.times, width, 0)
        )
        for part in parts
    ]  # fmt: skip
    joined = Rewritten(*[np.concatenate(column) for column in zip(*padded, strict=True)])
    return joined.of(np.argsort(joined.parent, kind="stable"))


def _padded(columns: Ints, width: int, value: int) -> Ints:
    result = np.full((len(columns), width), value, columns.dtype)
    result[:, : columns.shape[1]] = columns
    return result


class ProofGraph:
    """Specs of a space that were reached from its goal, number 0, with all rewrites of some.

    Rewrites are derived once. Those that hold more memory than there is are left out.
    """

    def __init__(self, goal: Spec, target: Target, *, relaxed: bool = False) -> None:
        goals = [(goal,)]
        kept, sizes = neighbours_kept(goals) if relaxed else NONE, goal_sizes(goals, target)
        self.space = space = Space(goals, target, sizes, relaxed=relaxed, neighbours=kept)
        self.specs = Numbered(space)
        self.limits: Ints = np.array(target.limits, np.int64)
        self._derived: Bools = np.zeros(0, np.bool_)
        held, child = np.empty((0, len(self.limits)), np.int64), np.empty((0, 0), np.int32)
        none = Rewritten(np.empty(0, np.int32), np.empty(0), held, child, child)
        self._known: dict[int, Rewritten] = defaultdict(lambda: none)  # by tier, each by Spec
        (first,) = space.goal_batches()
        self.specs.numbers(first)

    def rewrites(self, tier: int, nodes: Ints) -> Rewritten:
        """All rewrites of Specs of a tier, in the order of the rules; what they leave is reached.

        Their parents are given by their places among the `nodes`, which may repeat. Raises
        `CertificateError` if a rewrite leaves a Spec whose rank is not lower.
        """
        new = np.unique(self._waiting(nodes))
        self._derive(self.specs.tiers[tier].kind, new)
        known = self._known[tier]
        starts, ends = (np.searchsorted(known.parent, nodes, side) for side in ("left", "right"))
        counts = ends - starts
        places = np.repeat(np.arange(len(nodes), dtype=np.int32), counts)
        first = np.cumsum(counts) - counts
        rows = np.arange(len(places)) + np.repeat(starts - first, counts)
        return known.of(rows)._replace(parent=places)

    def close(self) -> None:
        """Derive the rewrites of all Specs that are reached, those of many tiers together."""
        kinds, nodes = self.specs.kinds, self.specs.nodes
        while waiting := [kind for kind in kinds if len(self._waiting(nodes(kind)))]:
            kind = max(waiting, key=common_rank)
            self._derive(kind, self._waiting(nodes(kind)))

    def _waiting(self, nodes: Ints) -> Ints:
        """The nodes among these whose rewrites are not derived yet."""
        self._derived = np.pad(self._derived, (0, self.specs.count - len(self._derived)))
        return nodes[~self._derived[nodes]]

    def _derive(self, kind: Kind, nodes: Ints) -> None:
        """Derive the rewrites of Specs of a kind."""
        self._derived[nodes] = True
        applied = [*self._applied(kind, nodes)]
        if not applied:
            return
        rewritten = _joined(applied)
        tiers = self.specs.tier_of(rewritten.parent)
        self._check_ranks(tiers, rewritten.child)
        for tier, rows in by_tier(tiers):
            self._known[tier] = _joined([self._known[tier], rewritten.of(rows)])

    def _applied(self, kind: Kind, nodes: Ints) -> Iterator[Rewritten]:
        """The rewrites that the rules make of Specs, rule by rule."""
        if not len(nodes):
            return
        batch = self.specs.batch(kind, nodes)
        for group in self.space.rules(kind):
            rows = np.flatnonzero(group.guard(batch))
            if len(rows):
                some = batch if len(rows) == len(batch) else batch[rows]
                for rule in group.rewrites:
                    for edges in expand(rule, some, self.space.target):
                        yield self._columns(nodes[rows[edges.rows]], edges)

    def _columns(self, parent: Ints, edges: Edges) -> Rewritten:
        """The edges that fit, as columns."""
        count, arity = len(parent), len(edges.children)
        held = np.zeros((count, len(self.limits)), np.int64)
        for level, amount in edges.allocation.items():
            held[:, level - 1] = amount
        fits = np.flatnonzero((held <= self.limits).all(axis=1))
        child = np.empty((len(fits), arity), np.int32)
        times = np.empty((len(fits), arity), np.int64)
        for position, each in enumerate(edges.children):
            child[:, position] = self.specs.numbers(each.batch[fits])
            times[:, position] = np.broadcast_to(each.times, count)[fits]
        own = np.full(count, edges.cost, np.float64)[fits]
        return Rewritten(parent[fits], own, held[fits], child, times)

    def _check_ranks(self, tiers: Ints, children: Ints) -> None:
        """Raise `CertificateError` unless these tiers are of higher rank than the children's."""
        count = len(self.specs.tiers)
        for child in children.T:
            given = child >= 0
            pairs = tiers[given].astype(np.int64) * count + self.specs.tier_of(child[given])
            for pair in np.unique(pairs).tolist():
                parent, left = (self.specs.tiers[number] for number in divmod(pair, count))
                if left.rank >= parent.rank:
                    raise CertificateError("a rewrite leaves a Spec whose rank is not lower.")


def costs(rewritten: Rewritten, values: Floats) -> Floats:
    """The costs of rewrites, given what their children cost.

    It is the own cost plus the sum, in order, of what each child costs times how often it runs,
    in double precision; infinite if any child's is.
    """
    total = np.zeros(len(rewritten.parent))
    for child, times in zip(rewritten.child.T, rewritten.times.T, strict=True):
        value = np.where(child >= 0, values[child], 0.0)
        none = np.isinf(value)
        total = total + times * np.where(none, 0.0, value)
        total[none] = np.inf
    return rewritten.own + total


def settle(waves: Sequence[Rewritten], values: Floats) -> None:
    """Lower the values of what has rewrites to the least of their costs, the lowest rank first."""
    for wave in reversed(waves):
        np.minimum.at(values, wave.parent, costs(wave, values))

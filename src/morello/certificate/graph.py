"""Specs and all of their rewrites, derived from the definitions; and what follows for costs.

A rewrite of a Spec is a hyperedge: its own cost, the memory that it holds, and the Specs that it
leaves, each of which runs so many times. Nothing is left out: every rule of the space is applied
to every Spec whose guard admits it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from morello.base.errors import CertificateError
from morello.certificate.numbered import Numbered, batch_of
from morello.ir.placements import Bools, Ints
from morello.rewrites import Edges, expand
from morello.space.kind import Kind
from morello.space.space import Space

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
        """Some of them."""
        return Rewritten(
            self.parent[rows], self.own[rows], self.held[rows], self.child[rows], self.times[rows]
        )  # fmt: skip


def _joined(parts: list[Rewritten], levels: int) -> Rewritten:
    """The rewrites of all parts, sorted by Spec; those of one Spec stay in order."""
    width = max((part.child.shape[1] for part in parts), default=0)
    none = Rewritten(
        np.empty(0, np.int32), np.empty(0), np.empty((0, levels), np.int64),
        np.empty((0, width), np.int32), np.empty((0, width), np.int64),
    )  # fmt: skip
    padded = [
        part._replace(
            child=_padded(part.child, width, -1), times=_padded(part.times, width, 0)
        )
        for part in parts
    ]  # fmt: skip
    columns = [np.concatenate(column) for column in zip(none, *padded, strict=True)]
    joined = Rewritten(*columns)
    return joined.of(np.argsort(joined.parent, kind="stable"))


def _padded(columns: Ints, width: int, value: int) -> Ints:
    more = ((0, 0), (0, width - columns.shape[1]))
    return np.pad(columns, more, constant_values=value)


class ProofGraph:
    """Specs of a space that were reached from its goal, number 0, with rewrites of some."""

    def __init__(self, space: Space) -> None:
        self.space, self.specs = space, Numbered(space)
        self.limits: Ints = np.array(space.target.limits, np.int64)
        self._parts: list[Rewritten] = []
        (goal,) = space.goal_batches()
        self.specs.numbers(goal)

    def rewrite(self, kind: Kind, nodes: Ints, table: Ints, left: Ints) -> list[Rewritten]:
        """All rewrites of Specs of a kind that fit the memory that is left, row by row.

        They come in the order of the rules; what they leave is reached.
        """
        batch, applied = batch_of(kind, table, self.space), []
        for group in self.space.rules(kind):
            rows = np.flatnonzero(group.guard(batch))
            if len(rows):
                some = batch if len(rows) == len(batch) else batch[rows]
                for rule in group.rewrites:
                    for edges in expand(rule, some, self.space.target):
                        here = rows[edges.rows]
                        applied.append(self._columns(nodes[here], left[here], edges))
        self._parts += applied
        return applied

    def _columns(self, parent: Ints, left: Ints, edges: Edges) -> Rewritten:
        """The edges that fit, as columns."""
        count, arity = len(parent), len(edges.children)
        held = np.zeros((count, len(self.limits)), np.int64)
        for level, amount in edges.allocation.items():
            held[:, level - 1] = amount
        fits = np.flatnonzero((held <= left).all(axis=1))
        child = np.empty((len(fits), arity), np.int32)
        times = np.empty((len(fits), arity), np.int64)
        for position, each in enumerate(edges.children):
            child[:, position] = self.specs.numbers(each.batch[fits])
            times[:, position] = np.broadcast_to(each.times, count)[fits]
        own = np.full(count, edges.cost, np.float64)[fits]
        return Rewritten(parent[fits], own, held[fits], child, times)

    def rewritten(self) -> Rewritten:
        """All rewrites so far, by Spec."""
        return _joined(self._parts, len(self.limits))


def by_rank(rewritten: Rewritten, ranks: Ints) -> list[Rewritten]:
    """Rewrites by the ranks of their Specs, the highest first; those of a Spec stay in order.

    Raises `CertificateError` if a rewrite leaves a Spec whose rank is not lower.
    """
    parent = ranks[rewritten.parent]
    lower = (ranks[rewritten.child] < parent[:, np.newaxis]) | (rewritten.child < 0)
    if not lower.all():
        raise CertificateError("a rewrite leaves a Spec whose rank is not lower.")
    order = np.argsort(-parent, kind="stable")
    starts = np.flatnonzero(np.diff(parent[order])) + 1
    return [rewritten.of(rows) for rows in np.split(order, starts)]


def pass_on(left: Ints, rewritten: Rewritten, rest: Ints) -> None:
    """Have each Spec that rewrites leave use the rest of the memory, if it had less of a level."""
    for child in rewritten.child.T:
        given = child >= 0
        np.maximum.at(left, child[given], rest[given])


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

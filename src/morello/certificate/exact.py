"""The Specs that the proof of a goal rests on: some expanded, the others closed by a bound."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from morello.base.errors import CertificateError
from morello.certificate.graph import Floats, ProofGraph, Rewritten, by_rank, pass_on
from morello.certificate.numbered import batch_of, kind_text, row_order
from morello.certificate.relaxed import RelaxedBounds
from morello.certificate.values import Choose, settle
from morello.ir.batch import Batch
from morello.ir.placements import Ints
from morello.ir.spec import Spec
from morello.space.kind import Kind
from morello.space.ranks import SpecRank, common_rank
from morello.space.space import Space, goal_sizes
from morello.targets.target import Target

CLOSED, EXPANDED, APART = 0, 1, 2
"""How a Spec is used in a proof.

A lower bound closes it; it is expanded under the most memory that is left for it anywhere; or it is
expanded for every amount of memory that is left for it, apart from the others.
"""

Marks = Callable[[Batch], Ints]
"""How Specs of a kind are marked, which are given in canonical order."""


class Exact:
    """Specs reached from a goal, each under one or more memory limits: *states*.

    States are numbered rank by rank, in canonical order; the goal is number 0. `spec` has the
    number of each state's Spec, `expanded` the states with rewrites, and `bounds` lower bounds
    on their costs. Parents and children of `rewritten` are states. `marks` has the mark of each
    Spec, in the order of states; no Spec that has one state is marked `APART`.
    """

    def __init__(self, goal: Spec, target: Target, bounds: RelaxedBounds, marks: Marks) -> None:
        sizes = goal_sizes([(goal,)], target)
        self.graph = graph = ProofGraph(Space([(goal,)], target, sizes))
        if len(graph.limits) * _BITS > 63 or (graph.limits >> _BITS).any():
            raise CertificateError(f"the memory limits of {target.name} are too large to prove.")
        self._bounds, self._mark = bounds, marks
        self._left = graph.limits[np.newaxis].copy()  # by Spec, the most that is left for it
        self._arrivals: list[tuple[Ints, Ints]]  # Specs, and what is left for them
        self._arrivals = [(np.zeros(1, np.int32), _packed(self._left))]
        # by state: Spec, memory left, mark, bound
        self._parts: list[tuple[Ints, Ints, Ints, Floats]] = []
        self._marks: list[Ints] = []
        self._count = 0
        self._waiting: dict[SpecRank, dict[Kind, list[tuple[Ints, Ints]]]]
        self._waiting = defaultdict(lambda: defaultdict(list))
        self._sort()
        while self._waiting:
            kinds = self._waiting.pop(max(self._waiting))
            for kind in sorted(kinds, key=kind_text):
                specs, table = map(np.concatenate, zip(*kinds[kind], strict=True))
                rows = row_order(table, kind, graph.space)
                self._take(kind, specs[rows], table[rows])
            self._sort()
        spec, memory, marks_of_states, bounds_of_states = zip(*self._parts, strict=True)
        self.spec, self._memory = np.concatenate(spec), np.concatenate(memory)
        self.bounds: Floats = np.concatenate(bounds_of_states)
        marked = np.concatenate(marks_of_states)
        self.marks: Ints = np.concatenate(self._marks)
        self.expanded: Ints = np.flatnonzero(marked != CLOSED)
        self.rewritten = self._of_states(marked == APART)
        self.waves = by_rank(self.rewritten, graph.specs.all_ranks()[self.spec])

    def values(self, choose: Choose) -> tuple[Floats, Ints]:
        """A lower bound on the cost of each state, and the choices of rewrites (see `settle`)."""
        values = self.bounds.copy()
        values[self.expanded] = np.inf
        return values, settle(self.waves, values, choose)

    def specs_of(self, states: Ints) -> list[Batch]:
        """The Specs of some states."""
        chosen = np.zeros(self.graph.specs.count, np.bool_)
        chosen[self.spec[states]] = True
        batches = [
            batch_of(kind, specs.table, self.graph.space)[chosen[specs.nodes]]
            for kind, specs in self.graph.specs.kinds.items()
        ]
        return [batch for batch in batches if len(batch)]

    def _sort(self) -> None:
        """Have new Specs wait for those of higher rank."""
        specs = self.graph.specs
        for kind in specs.waiting:
            nodes, table = specs.take(kind)
            common, ranks = common_rank(kind), specs.ranks(kind, table)
            for rank in np.unique(ranks).tolist():
                here = ranks == rank
                self._waiting[*common, rank][kind].append((nodes[here], table[here]))

    def _take(self, kind: Kind, specs: Ints, table: Ints) -> None:
        """Make states of Specs of a kind, and expand those that are to be."""
        batch = batch_of(kind, table, self.graph.space)
        marks = self._mark(batch)
        row, left = np.arange(len(specs)), self._left[specs]
        if (marks == APART).any():
            apart, given = self._given(specs, np.flatnonzero(marks == APART))
            several = np.bincount(apart, minlength=len(specs)) > 1
            marks = np.where((marks == APART) & ~several, EXPANDED, marks)
            row = np.concatenate([row[~several], apart[several[apart]]])
            left = np.concatenate([left[~several], given[several[apart]]])
            order = np.lexsort([*left.T[::-1], row])
            row, left = row[order], left[order]
        self._marks.append(marks)
        states = np.arange(self._count, self._count + len(row), dtype=np.int32)
        self._count += len(row)
        bounds = self._bounds.of(batch)[row]
        self._parts.append((specs[row], left, marks[row], bounds))
        some = marks[row] != CLOSED
        if some.any():
            self._expand(kind, states[some], table[row[some]], left[some])

    def _given(self, specs: Ints, rows: Ints) -> tuple[Ints, Ints]:
        """The rows of Specs, and every amount of memory that is left for them."""
        place = np.full(self.graph.specs.count, -1, np.int64)
        place[specs[rows]] = rows
        spec, left = _distinct(*map(np.concatenate, zip(*self._arrivals, strict=True)))
        here = place[spec] >= 0
        self._arrivals = [(spec[~here], left[~here])]
        return place[spec[here]], _unpacked(left[here], len(self.graph.limits))

    def _expand(self, kind: Kind, states: Ints, table: Ints, left: Ints) -> None:
        applied = self.graph.rewrite(kind, states, table, left)
        new = self.graph.specs.count - len(self._left)
        self._left = np.pad(self._left, ((0, new), (0, 0)), constant_values=-1)
        for rewritten in applied:
            rest = left[np.searchsorted(states, rewritten.parent)] - rewritten.held
            pass_on(self._left, rewritten, rest)
            for child in rewritten.child.T:
                self._arrivals.append(_distinct(child, _packed(rest)))

    def _of_states(self, apart: Ints) -> Rewritten:
        """All rewrites, whose children are given as Specs, with states in place of these."""
        rewritten = self.graph.rewritten()
        first = np.empty(self.graph.specs.count + 1, np.int32)
        first[self.spec], first[-1] = np.arange(len(self.spec)), -1
        child = first[rewritten.child]
        if apart.any():
            spec, left = self.spec[apart], _packed(self._memory[apart])
            amounts = np.unique(left)
            keys = spec.astype(np.int64) * len(amounts) + np.searchsorted(amounts, left)
            order = np.argsort(keys)
            states = np.flatnonzero(apart)[order]
            rest = _packed(self._memory[rewritten.parent] - rewritten.held)
            for place in range(child.shape[1]):
                rows = np.flatnonzero((child[:, place] >= 0) & apart[child[:, place]])
                amount = np.searchsorted(amounts, rest[rows])
                wanted = rewritten.child[rows, place].astype(np.int64) * len(amounts) + amount
                child[rows, place] = states[np.searchsorted(keys[order], wanted)]
        return rewritten._replace(child=child)


_BITS = 20
"""The bits of an amount of memory of one level; no target has more (see `MOST_LINES`)."""


def _packed(left: Ints) -> Ints:
    """Amounts of memory of all levels as one integer a row, in the same order."""
    packed: Ints = np.zeros(len(left), np.int64)
    for column in left.T:
        packed = (packed << _BITS) | column
    return packed


def _unpacked(packed: Ints, levels: int) -> Ints:
    """The amounts of memory by level, a row for each integer: the inverse of `_packed`."""
    shifts = _BITS * np.arange(levels - 1, -1, -1)
    result: Ints = (packed[:, np.newaxis] >> shifts) & ((1 << _BITS) - 1)
    return result


def _distinct(specs: Ints, left: Ints) -> tuple[Ints, Ints]:
    """Pairs of a Spec and what is left for it, without duplicates, and without -1 for no Spec."""
    order = np.lexsort([left, specs])
    order = order[specs[order] >= 0]
    specs, left = specs[order], left[order]
    new = np.ones(len(specs), np.bool_)
    new[1:] = (specs[1:] != specs[:-1]) | (left[1:] != left[:-1])
    return specs[new], left[new]

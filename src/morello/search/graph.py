"""Expanding a goal into the graph of everything the rules can reach from it.

Specs are expanded in waves of falling *rank*, a number that every rewrite lowers, so
that all parents of a Spec are seen before it is: it is expanded once, duplicates meet
within a wave, and the numbers of the nodes are a topological order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.errors import SearchError
from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.forms import Forms, Ints
from morello.ir.operation import Operation
from morello.ir.spec import Spec
from morello.rewrites import Edges, Rewrite, expand
from morello.search import engine
from morello.search.limits import Limits
from morello.search.rules import Rule, rules
from morello.search.sizes import Sizes
from morello.targets.target import Target

Floats = npt.NDArray[np.floating[Any]]
Progress = Callable[[int, int], None]

_LEVEL_BITS = 3
_FORM_BITS = 8
_OPERATION_RANK = 16  # a reduction outranks the copies and fills that it leaves to do


@dataclass(frozen=True)
class Family:
    """An operation with its dtypes, and the rules tried on it."""

    operation: Operation
    dtypes: tuple[DType, ...]


class Space:
    """What can be reached from a goal: rules, sizes, and the packing of Specs into keys."""

    def __init__(self, goal: Spec, target: Target, sizes: Sizes, relaxed: bool = False) -> None:
        self.goal, self.target, self.sizes, self.relaxed = goal, target, sizes, relaxed
        self.limits = Limits(target.limits)
        self.forms = Forms()
        self.families: list[Family] = []
        self._rules: dict[Operation, list[Rule]] = {}
        self._size_bits = max(1, int(len(sizes.values) - 1).bit_length())

    def family(self, batch: Batch) -> int:
        family = Family(batch.operation, batch.dtypes)
        if family not in self.families:
            bits = len(batch.sizes) * self._size_bits
            bits += len(batch.levels) * (_LEVEL_BITS + _FORM_BITS)
            if bits > 63:
                raise SearchError(f"{batch.operation} reaches too many sizes to search.")
            self.families.append(family)
        return self.families.index(family)

    def rules(self, operation: Operation) -> list[Rule]:
        if operation not in self._rules:
            found = rules(operation, self.target, self.sizes, relaxed=self.relaxed)
            self._rules[operation] = found
        return self._rules[operation]

    def keys(self, batch: Batch) -> Ints:
        key = np.zeros(len(batch), np.int64)
        for size in batch.sizes:
            key = (key << self._size_bits) | self.sizes.index[size]
        for level, code in zip(batch.levels, batch.codes, strict=True):
            key = (key << (_LEVEL_BITS + _FORM_BITS)) | (
                (level.astype(np.int64) << _FORM_BITS) | code
            )
        return key

    def batch(self, family: int, keys: Ints) -> Batch:
        """The Specs with these keys."""
        operation, dtypes = self.families[family].operation, self.families[family].dtypes
        codes, levels, sizes = [], [], []
        for _ in operation.operands:
            codes.append((keys & ((1 << _FORM_BITS) - 1)).astype(np.int16))
            keys = keys >> _FORM_BITS
            levels.append((keys & ((1 << _LEVEL_BITS) - 1)).astype(np.int8))
            keys = keys >> _LEVEL_BITS
        for _ in operation.dims:
            sizes.append(self.sizes.values[keys & ((1 << self._size_bits) - 1)])
            keys = keys >> self._size_bits
        return Batch(
            operation, dtypes, self.forms,
            tuple(reversed(sizes)), tuple(reversed(levels)), tuple(reversed(codes)),
        )  # fmt: skip

    def ranks(self, batch: Batch) -> Ints:
        operation = batch.operation
        rank = np.full(len(batch), _OPERATION_RANK * bool(operation.reduced), np.int32)
        if operation.reduced and not operation.accumulates:
            rank += 1
        for size in batch.sizes:
            rank += self.sizes.depth[size]
        for level in batch.levels:
            rank += self.target.registers - level
        return rank

    def goal_batch(self) -> Batch:
        if not self.relaxed:
            return Batch.of([self.goal], self.forms)
        batch = Batch.of([self.goal], Forms())
        codes = tuple(np.zeros_like(c) for c in batch.codes)
        return Batch(
            batch.operation, batch.dtypes, self.forms, batch.sizes, batch.levels, codes
        )


@dataclass
class Graph:
    """Flat arrays: nodes (family, key), edges (parent, rule, ...) and their children."""

    space: Space
    families: Ints
    keys: Ints
    parent: Ints
    rule: Ints
    own: Floats
    allocation: Ints
    first_child: Ints
    child: Ints
    times: Ints
    waves: int

    def spec(self, node: int) -> Spec:
        keys = self.keys[node : node + 1]
        return self.space.batch(int(self.families[node]), keys).spec()

    def rewrite(self, edge: int) -> Rewrite:
        """The rewrite of an edge, made concrete for its Spec."""
        spec = self.spec(int(self.parent[edge]))
        rule = self.space.rules(spec.operation)[int(self.rule[edge])]
        return rule.rewrite.concrete(spec)


@dataclass
class Pruning:
    """Leave out what cannot beat `upper`; keep the best `beam` Specs of a wave, if given.

    `estimate` bounds from below the cost of every Spec of a batch.
    """

    estimate: Callable[[Batch], Floats]
    upper: float = np.inf
    beam: int | None = None


@dataclass
class _Pending:
    """Children waiting for their wave: keys, their labels, and where their number goes."""

    keys: list[Ints] = field(default_factory=list)
    slots: list[Ints] = field(default_factory=list)
    limits: list[Ints] = field(default_factory=list)
    prefixes: list[Floats] = field(default_factory=list)
    weights: list[Floats] = field(default_factory=list)

    def merge(self, limits: Limits) -> tuple[Ints, Ints, Ints, Floats, Floats]:
        result: tuple[Ints, Ints, Ints, Floats, Floats] = engine.merge(
            np.concatenate(self.keys),
            np.concatenate(self.limits),
            np.concatenate(self.prefixes),
            np.concatenate(self.weights),
            limits.guard,
            limits.field,
        )
        return result


class _Expansion:
    """The state of one expansion, wave by wave."""

    def __init__(self, space: Space, pruning: Pruning | None) -> None:
        self.space, self.pruning = space, pruning
        self.waiting: dict[int, dict[int, _Pending]] = defaultdict(dict)
        self.edges: list[tuple[Ints, Ints, Floats, Ints, Ints]] = []
        self.times: list[Ints] = []
        self.resolved: list[tuple[Ints, Ints]] = []
        self.nodes: list[tuple[int, Ints]] = []
        self.node_count = self.edge_count = self.slot_count = 0

    def run(self, progress: Progress | None) -> Graph:
        goal = self.space.goal_batch()
        one = np.ones(1)
        limit = np.array([self.space.limits.pack(self.space.target.limits)])
        self._wait(goal, np.array([0], np.int32), limit, np.zeros(1), one)
        self.slot_count = 1
        self.times.append(np.ones(1, np.int32))
        waves = 0
        while self.waiting:
            for family, pending in self.waiting.pop(max(self.waiting)).items():
                self._wave(family, pending)
            waves += 1
            if progress is not None:
                progress(self.node_count, self.edge_count)
        return self._graph(waves)

    def _wait(
        self, batch: Batch, slots: Ints, limits: Ints, prefixes: Floats, weights: Floats
    ) -> None:
        """Queue Specs for the wave of their rank."""
        ranks = self.space.ranks(batch)
        family = self.space.family(batch)
        keys = self.space.keys(batch)
        least, most = int(ranks.min()), int(ranks.max())
        for rank in range(least, most + 1):
            rows: Any = slice(None) if least == most else np.flatnonzero(ranks == rank)
            pending = self.waiting[rank].setdefault(family, _Pending())
            pending.keys.append(keys[rows])
            pending.slots.append(slots[rows])
            pending.limits.append(limits[rows])
            pending.prefixes.append(prefixes[rows])
            pending.weights.append(weights[rows])

    def _wave(self, family: int, pending: _Pending) -> None:
        keys, inverse, limits, prefixes, weights = pending.merge(self.space.limits)
        first = self.node_count
        self.resolved.append((np.concatenate(pending.slots), inverse + np.int32(first)))
        self.nodes.append((family, keys))
        self.node_count += len(keys)
        numbers = np.arange(first, first + len(keys), dtype=np.int32)
        batch = self.space.batch(family, keys)
        beam = self.pruning.beam if self.pruning else None
        if self.pruning and beam is not None and len(keys) > beam:
            hope = prefixes + weights * self.pruning.estimate(batch)
            kept = np.sort(np.argpartition(hope, beam)[:beam])
            batch, numbers = batch[kept], numbers[kept]
            limits, prefixes, weights = limits[kept], prefixes[kept], weights[kept]
        for index, rule in enumerate(self.space.rules(batch.operation)):
            self._apply(index, rule, batch, numbers, limits, prefixes, weights)

    def _apply(
        self, index: int, rule: Rule, batch: Batch, numbers: Ints,
        limits: Ints, prefixes: Floats, weights: Floats,
    ) -> None:  # fmt: skip
        admitted: Ints | None = None
        if rule.guard is not None:
            admitted = np.flatnonzero(rule.guard(batch))
            if len(admitted) == 0:
                return
            batch = batch[admitted]
        for edges in expand(rule.rewrite, batch, self.space.target):
            rows = edges.rows if admitted is None else admitted[edges.rows]
            self._add(index, edges, numbers[rows], limits[rows], prefixes[rows], weights[rows])

    def _add(
        self, rule: int, edges: Edges, parents: Ints,
        limits: Ints, prefixes: Floats, weights: Floats,
    ) -> None:  # fmt: skip
        """Record edges that fit their limits and may belong to a good enough program."""
        count = len(parents)
        space = self.space
        own = np.broadcast_to(np.asarray(edges.cost, np.float64), count)
        allocation = space.limits.column(edges.allocation, count)
        guard = space.limits.guard
        keep = (((limits | guard) - allocation) & guard) == guard
        times = [np.broadcast_to(np.asarray(c.times, np.int32), count) for c in edges.children]
        children = [c.batch for c in edges.children]
        totals: list[Floats] = []
        if self.pruning is not None:
            totals = [t * self.pruning.estimate(b) for t, b in zip(times, children, strict=True)]
            whole = own + sum(totals)
            upper = self.pruning.upper * (1 + 1e-9)
            keep &= (whole < engine.INFINITE) & (prefixes + weights * whole <= upper)
        if not keep.all():
            rows = np.flatnonzero(keep)
            if len(rows) == 0:
                return
            count = len(rows)
            parents, own, allocation = parents[rows], own[rows], allocation[rows]
            limits, prefixes, weights = limits[rows], prefixes[rows], weights[rows]
            times, totals = [t[rows] for t in times], [t[rows] for t in totals]
            children = [c[rows] for c in children]
        arity = np.full(count, len(children), np.uint8)
        which = np.full(count, rule, np.uint8)
        self.edges.append((parents, which, own, allocation, arity))
        slots = self.slot_count + np.arange(count, dtype=np.int32) * np.int32(len(children))
        remaining = limits - allocation
        for position, child in enumerate(children):
            others = own + sum(t for i, t in enumerate(totals) if i != position)
            weight = weights * times[position]
            self._wait(
                child, slots + np.int32(position), remaining, prefixes + weights * others, weight
            )
        if children:
            self.times.append(np.stack(times, axis=1).ravel())
        self.edge_count += count
        self.slot_count += count * len(children)

    def _graph(self, waves: int) -> Graph:
        child = np.empty(self.slot_count, np.int32)
        while self.resolved:
            slots, numbers = self.resolved.pop()
            child[slots] = numbers
        columns = [np.concatenate(c) for c in zip(*self.edges, strict=True)] if self.edges else []
        self.edges.clear()
        parent, rule, own, allocation, arity = columns or [np.empty(0, np.int32)] * 5
        first_child = np.ones(len(parent) + 1, np.int32)  # slot 0 is the goal's own
        np.cumsum(arity, out=first_child[1:], dtype=np.int32)
        first_child[1:] += 1
        return Graph(
            self.space,
            np.concatenate([np.full(len(k), f, np.int8) for f, k in self.nodes]),
            np.concatenate([k for _, k in self.nodes]),
            parent, rule, own.astype(np.float64), allocation, first_child, child,
            np.concatenate(self.times), waves,
        )  # fmt: skip


def build(space: Space, pruning: Pruning | None = None, progress: Progress | None = None) -> Graph:
    """Expand the space's goal, leaving out what `pruning` rules out."""
    return _Expansion(space, pruning).run(progress)

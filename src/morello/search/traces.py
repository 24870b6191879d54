"""The rules of a kind as a tape: traced once, then run for Specs of any goal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from morello.base import debug
from morello.engine.codes import Code
from morello.engine.limits import Limits
from morello.engine.tape import Instructions, Tape
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints, TracedPlacements
from morello.ir.tracing import Chosen, Lookup, Trace, Traced, UntraceableError
from morello.rewrites import Child, Edges, Rewrite
from morello.search.saved_traces import TRACE_FILE, SavedTrace
from morello.space.family import Family
from morello.space.guards import Guard
from morello.space.kind import Kind
from morello.space.sizes import TracedSizes

MOST_KINDS = 512
"""The traces of so many kinds are kept, of a hundred kilobytes each."""

_ALWAYS = -1
_CODES = {code.name.lower(): code.value for code in Code}


@dataclass(frozen=True)
class _Child:
    """A child of an edge: its kind, and the operations for how often it runs and its key."""

    kind: int
    times: int
    words: tuple[int, ...]


@dataclass(frozen=True)
class _Part:
    """A condition or an edge, as numbers of operations; see `engine.tape.Instructions`."""

    holds: int
    own: int = 0  # conditions have none of these
    allocation: int = 0
    children: tuple[_Child, ...] = ()


@dataclass(frozen=True)
class _Rule:
    """A rule: conditions, and edges where they hold."""

    conditions: tuple[_Part, ...] = ()
    edges: tuple[_Part, ...] = ()


_NEVER = _Rule()


class KindNumbers:
    """Numbers kinds alike for all traces, whatever their goals."""

    def __init__(self) -> None:
        self.kinds: list[Kind] = []
        self._numbers: dict[Kind, int] = {}
        self._lock = Lock()

    def __getitem__(self, kind: Kind) -> int:
        """The number of a kind; a new one gets the next."""
        with self._lock:
            if kind not in self._numbers:
                self.kinds.append(kind)
                self._numbers[kind] = len(self.kinds) - 1
            return self._numbers[kind]


KIND_NUMBERS = KindNumbers()


@dataclass(frozen=True)
class TapeOfRules:
    """A tape, and by rule whether it has the rule, and how many edges and children that may leave.

    Lookups are to be replaced by those with the same roles. Keys have at most `width` words.
    """

    tape: Tape
    lookups: tuple[Lookup, ...]
    traced: Bools
    most_edges: Ints
    most_children: Ints
    width: int

    @staticmethod
    def of(trace: SavedTrace) -> TapeOfRules:
        """The tape of a trace, with the numbers that kinds have in this process."""
        instructions, numbers = trace.instructions, [KIND_NUMBERS[kind] for kind in trace.kinds]
        kind = np.array(numbers, np.int32)[instructions.kind]
        lookups = [Lookup(() if array is None else array, role) for role, array in trace.tables]
        return TapeOfRules(
            Tape(instructions._replace(kind=kind), trace.constants), tuple(lookups),
            trace.traced, trace.most_edges, trace.most_children, trace.width,
        )  # fmt: skip


@lru_cache(MOST_KINDS)
def trace_of(family: Family, kind: Kind, ideal: bool) -> KindTrace:
    """The trace of a kind, or, if `ideal`, of those of its Specs that have no other placements."""
    return KindTrace(family, kind, ideal)


class KindTrace:
    """The rules of a kind as a tape, for all goals and threads.

    They are those that another process traced, until others are wanted.
    """

    def __init__(self, family: Family, kind: Kind, ideal: bool) -> None:
        self._family, self._kind, self._ideal = family, kind, ideal
        self._lock = Lock()
        self._tracing: _Tracing | None = None
        self._saved = TRACE_FILE.load(family, kind, ideal)
        self._tape = None if self._saved is None else TapeOfRules.of(self._saved)

    def tape(self, numbers: Ints) -> TapeOfRules:
        """A tape that has these rules, but for those that cannot be traced."""
        with self._lock:
            saved = self._saved
            missing = set(numbers.tolist())
            if saved is not None:
                missing -= saved.untraceable.union(saved.traced.nonzero()[0].tolist())
            if self._tape is None or missing:
                known = [] if saved is None else saved.traced.nonzero()[0].tolist()
                if self._tracing is None:
                    self._tracing = _Tracing(self._family, self._kind, self._ideal)
                self._saved = self._tracing.traced([*known, *sorted(missing)])
                self._tape = TapeOfRules.of(self._saved)
                TRACE_FILE.keep(self._family, self._ideal, self._saved)
            return self._tape


class _Tracing:
    """The rules of a kind, traced when they are wanted.

    Whatever depends on a goal is looked up in tables of `TracedSizes` and `TracedPlacements`.
    """

    def __init__(self, family: Family, kind: Kind, ideal: bool) -> None:
        self._family, self._kind = family, kind
        self._limits = Limits(family.target.limits)
        self._trace = Trace()
        self._sizes = TracedSizes(self._trace, family.widths)
        self._placements = TracedPlacements(self._trace)
        encoding = family.encoding(kind, self._sizes)
        self._inputs = [self._trace.input() for _ in range(encoding.words)]
        self._batch = encoding.batch_of_words(self._inputs, self._placements)
        for codes in self._batch.codes if ideal else ():
            self._placements.assume_ideal(codes)
        groups = family.rules(kind, self._sizes)
        self._given = [(group.guard, rewrite) for group in groups for rewrite in group.rewrites]
        self._admitted: dict[Guard, Any] = {}
        self._encodings = {kind: encoding}
        self._rules: list[_Rule | None] = [None] * len(self._given)
        self._untraced: set[int] = set()  # those that only NumPy can apply
        self._kinds: dict[Kind, int] = {}

    def traced(self, numbers: Sequence[int]) -> SavedTrace:
        """A trace that has these rules, but for those that cannot be traced, and earlier ones."""
        for number in numbers:
            if self._rules[number] is None and number not in self._untraced:
                self._rules[number] = self._traced(number)
        return self._made_of(self._rules)

    # ---- tracing

    def _traced(self, number: int) -> _Rule | None:
        (guard, rewrite), batch = self._given[number], self._batch
        target = self._family.target
        try:
            conditions = []
            for holds in self._holding(guard, rewrite, batch):
                if isinstance(holds, Traced):
                    conditions.append(_Part(holds.number))
                elif not np.all(holds):
                    return _NEVER
            edges = rewrite.edges(batch, target)
            return _Rule(tuple(conditions), tuple(self._edge(each) for each in edges))
        except (UntraceableError, TypeError, IndexError) as error:
            if debug.shows("search"):
                debug.show("search", f"{rewrite} is not traced: {error}")
            self._untraced.add(number)
            return None

    def _holding(self, guard: Guard, rewrite: Rewrite, batch: Batch) -> Iterator[Any]:
        if guard not in self._admitted:
            self._admitted[guard] = guard(batch)
        yield self._admitted[guard]
        for condition in rewrite.conditions(batch, self._family.target):
            yield condition.holds

    def _edge(self, edges: Edges) -> _Part:
        holds: Any = edges.rows.holds if isinstance(edges.rows, Chosen) else True
        number = holds.number if isinstance(holds, Traced) else _ALWAYS
        cost: Any = edges.cost
        own = cost.astype(np.float64) if isinstance(cost, Traced) else np.asarray(cost, np.float64)
        allocation = self._limits.column(edges.allocation, 1)
        children = tuple(self._child(child) for child in edges.children)
        return _Part(number, self._trace.number(own), self._trace.number(allocation), children)

    def _child(self, child: Child) -> _Child:
        kind = Kind.of(child.batch)
        if kind not in self._encodings:
            self._encodings[kind] = self._family.encoding(kind, self._sizes)
        words = self._encodings[kind].words_of(child.batch)
        return _Child(
            self._kinds.setdefault(kind, len(self._kinds)),
            self._trace.number(child.times),
            tuple(self._trace.number(word) for word in words),
        )

    # ---- the tape

    def _made_of(self, given: Sequence[_Rule | None]) -> SavedTrace:
        trace = self._trace
        rules = [rule or _NEVER for rule in given]
        parts = [part for rule in rules for part in (*rule.conditions, *rule.edges)]
        counts = [(len(rule.conditions), len(rule.edges)) for rule in rules]
        first_condition = _starts([sum(both) for both in counts])
        conditions = np.array([both[0] for both in counts], np.int32)
        children = [child for part in parts for child in part.children]
        names, *operands = zip(*trace.operations, strict=True)
        instructions = Instructions(
            np.array([*map(_CODES.__getitem__, names)], np.int16),
            np.array(operands, np.int32).T.ravel(),
            np.array([column.number for column in self._inputs], np.int32),
            first_condition, first_condition[:-1] + conditions,
            np.array([part.holds for part in parts], np.int32),
            np.array([part.own for part in parts], np.int32),
            np.array([part.allocation for part in parts], np.int32),
            _starts([len(part.children) for part in parts]),
            np.array([child.kind for child in children], np.int32),
            np.array([child.times for child in children], np.int32),
            _starts([len(child.words) for child in children]),
            _joined([list(child.words) for child in children]),
        )  # fmt: skip
        tables = [
            (table.role, table.array if table.role is None else None) for table in trace.lookups
        ]
        return SavedTrace(
            self._kind, instructions, tuple(trace.constants), tuple(tables), tuple(self._kinds),
            np.array([rule is not None for rule in given], np.bool_), frozenset(self._untraced),
            np.array([len(rule.edges) for rule in rules], np.int64),
            np.array([sum(map(_arity, rule.edges)) for rule in rules], np.int64),
            max((len(child.words) for child in children), default=1),
        )  # fmt: skip


def _arity(edge: _Part) -> int:
    return len(edge.children)


def _starts(counts: list[int]) -> Ints:
    return np.cumsum([0, *counts]).astype(np.int32)


def _joined(parts: list[list[int]]) -> Ints:
    return np.array([item for part in parts for item in part], np.int32)

"""The rules of a kind of Specs as a tape: traced once, then run for any Specs of the kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from morello.base import debug
from morello.engine.tape import Code, Instructions, Recorded, Tape, runner
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints
from morello.ir.tracing import Chosen, Trace, Traced, UntraceableError
from morello.rewrites import Child, Edges, Rewrite, expand
from morello.space.guards import Guard
from morello.space.space import Space

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

FEW = 4
"""So often a rule is applied by NumPy: to trace it takes as long as several such calls."""

_NONE = np.empty(0, np.int32)
_NOTHING = Recorded(
    _NONE, _NONE.astype(np.uint8), _NONE.astype(np.uint8), np.empty(0), _NONE.astype(np.int64),
    _NONE.astype(np.int16), _NONE, np.empty((1, 0), np.int64), _NONE, _NONE,
)  # fmt: skip


class TracedRules:
    """The rules of a kind, by their numbers in the space."""

    def __init__(self, space: Space, kind: int) -> None:
        self.space, self._encoding = space, space.encodings[kind]
        encoding = self._encoding
        self._untraced: set[int] = set()  # those that only NumPy can apply
        self._trace = Trace()
        self._inputs = [self._trace.input() for _ in range(encoding.words)]
        self._batch = encoding.batch_of_words(self._inputs, self.space.placements)
        self._given = [
            (group.guard, rewrite)
            for group in self.space.rules(encoding.kind)
            for rewrite in group.rewrites
        ]
        self._rules: list[_Rule | None] = [None] * len(self._given)
        self._uses = np.zeros(len(self._given), np.int32)
        self._tape: Tape | None = None

    def __len__(self) -> int:
        return len(self._rules)

    def run(self, keys: Ints, wanted: Bools) -> Recorded:
        """The edges of Specs with these keys, of the rules that are wanted, by rule and row."""
        counts = np.count_nonzero(wanted, axis=1)
        numbers = counts.nonzero()[0]
        self._uses[numbers] += 1
        few = numbers[self._uses[numbers] <= FEW] if runner() else numbers
        if not len(few):
            return self._by_tape(keys, wanted, counts)
        parts = self._by_numpy(keys, [(n, wanted[n].nonzero()[0]) for n in few.tolist()])
        if len(few) < len(numbers):
            wanted = wanted.copy()
            wanted[few], counts[few] = False, 0
            parts.append(self._by_tape(keys, wanted, counts))
        return _concatenated(parts)

    def _by_tape(self, keys: Ints, wanted: Bools, counts: Ints) -> Recorded:
        """As `run`, without NumPy where possible; `counts` are those of the rows by rule."""
        tape = self._tape_with(counts.nonzero()[0].tolist())
        edges = max(1, int((counts * self._most_edges).sum()))
        children = max(1, int((counts * self._most_children).sum()))
        words = np.stack(self._encoding.split(keys))
        tables = [lookup.values for lookup in self._trace.lookups]
        recorded = tape.run(tables, words, wanted, edges, children, self._width)
        others = [
            (number, recorded.unsure_row[recorded.unsure_rule == number])
            for number in np.unique(recorded.unsure_rule).tolist()
        ]
        others += [(number, wanted[number].nonzero()[0]) for number in sorted(self._untraced)]
        return _concatenated([recorded, *self._by_numpy(keys, others)]) if others else recorded

    # ---- without a tape

    def _by_numpy(self, keys: Ints, rules: Sequence[tuple[int, Ints]]) -> list[Recorded]:
        """The edges of rules for rows. What was not known of these is worked out on the way."""
        batch = self._encoding.batch(keys, self.space.placements)
        admitted: dict[Guard, Bools] = {}
        parts = []
        for number, rows in rules:
            guard, rewrite = self._given[number]
            if guard not in admitted:
                admitted[guard] = guard(batch)
            rows = rows[admitted[guard][rows]]
            if len(rows):
                some = batch if len(rows) == len(batch) else batch[rows]
                for edges in expand(rewrite, some, self.space.target):
                    parts.append(self._columns(number, rows[edges.rows], edges))
        return parts

    def _columns(self, number: int, rows: Ints, edges: Edges) -> Recorded:
        count, arity = len(rows), len(edges.children)
        kinds = [self.space.kind_number(child.batch) for child in edges.children]
        times = np.empty((count, arity), np.int32)
        width = max((self.space.encodings[kind].words for kind in kinds), default=1)
        words = np.zeros((width, count, arity), np.int64)
        for position, (kind, child) in enumerate(zip(kinds, edges.children, strict=True)):
            times[:, position] = child.times
            for number_, word in enumerate(self.space.encodings[kind].words_of(child.batch)):
                words[number_, :, position] = word
        return Recorded(
            rows.astype(np.int32), np.full(count, number, np.uint8),
            np.full(count, arity, np.uint8), np.full(count, edges.cost, np.float64),
            self.space.limits.column(edges.allocation, count),
            np.tile(np.array(kinds, np.int16), count), times.ravel(),
            words.reshape(width, -1), _NONE, _NONE,
        )  # fmt: skip

    # ---- tracing

    def _traced(self, number: int) -> _Rule:
        (guard, rewrite), batch = self._given[number], self._batch
        try:
            conditions = []
            for holds in self._holding(guard, rewrite, batch):
                if isinstance(holds, Traced):
                    conditions.append(_Part(holds.number))
                elif not np.all(holds):
                    return _NEVER
            edges = rewrite.edges(batch, self.space.target)
            return _Rule(tuple(conditions), tuple(self._edge(each) for each in edges))
        except (UntraceableError, TypeError, IndexError) as error:
            if debug.shows("search"):
                debug.show("search", f"{rewrite} is not traced: {error}")
            self._untraced.add(number)
            return _NEVER

    def _holding(self, guard: Guard, rewrite: Rewrite, batch: Batch) -> Iterator[Any]:
        yield guard(batch)
        for condition in rewrite.conditions(batch, self.space.target):
            yield condition.holds

    def _edge(self, edges: Edges) -> _Part:
        holds: Any = edges.rows.holds if isinstance(edges.rows, Chosen) else True
        number = holds.number if isinstance(holds, Traced) else _ALWAYS
        cost: Any = edges.cost
        own = cost.astype(np.float64) if isinstance(cost, Traced) else np.asarray(cost, np.float64)
        allocation = self.space.limits.column(edges.allocation, 1)
        children = tuple(self._child(child) for child in edges.children)
        return _Part(number, self._trace.number(own), self._trace.number(allocation), children)

    def _child(self, child: Child) -> _Child:
        kind = self.space.kind_number(child.batch)
        words = self.space.encodings[kind].words_of(child.batch)
        return _Child(
            kind, self._trace.number(child.times), tuple(self._trace.number(w) for w in words)
        )

    # ---- the tape

    @property
    def _width(self) -> int:
        """The most words of a key."""
        return max(encoding.words for encoding in self.space.encodings)

    def _tape_with(self, numbers: Sequence[int]) -> Tape:
        """A tape that has these rules; they are traced when they are wanted first."""
        new = [number for number in numbers if self._rules[number] is None]
        for number in new:
            self._rules[number] = self._traced(number)
        if self._tape is None or new:
            rules = [rule or _NEVER for rule in self._rules]
            self._most_edges = np.array([len(rule.edges) for rule in rules])
            self._most_children = np.array(
                [sum(len(edge.children) for edge in rule.edges) for rule in rules]
            )
            self._tape = self._made_of(rules)
        return self._tape

    def _made_of(self, rules: Sequence[_Rule]) -> Tape:
        trace = self._trace
        parts = [part for rule in rules for part in (*rule.conditions, *rule.edges)]
        counts = [(len(rule.conditions), len(rule.edges)) for rule in rules]
        first_condition = _starts([sum(both) for both in counts])
        conditions = np.array([both[0] for both in counts], np.int32)
        children = [child for part in parts for child in part.children]
        instructions = Instructions(
            np.array([_CODES[name] for name in trace.names], np.int16),
            np.array(trace.operands, np.int32),
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
        return Tape(instructions, trace.constants)


def _concatenated(parts: Sequence[Recorded]) -> Recorded:
    """All edges; keys of fewer words than others get more, which are 0."""
    width = max((len(part.words) for part in parts), default=1)
    columns = zip(*(part._replace(words=_padded(part.words, width)) for part in parts), strict=True)
    return Recorded(*(np.concatenate(column, axis=-1) for column in columns)) if parts else _NOTHING


def _padded(words: Ints, width: int) -> Ints:
    return np.pad(words, ((0, width - len(words)), (0, 0)))


def _starts(counts: list[int]) -> Ints:
    return np.cumsum([0, *counts]).astype(np.int32)


def _joined(parts: list[list[int]]) -> Ints:
    return np.array([item for part in parts for item in part], np.int32)

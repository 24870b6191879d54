"""Applying the rules of a kind to Specs of a goal: by a tape, or by NumPy where that is better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from morello.engine.codes import BLOCK
from morello.engine.recorded import Recorded, RecordedEdges
from morello.engine.tape import Tables
from morello.ir.placements import Bools, Ints, any_row
from morello.ir.tracing import Lookup
from morello.rewrites import Edges, expand
from morello.search.traces import KIND_NUMBERS, KindTrace, TapeOfRules, trace_of
from morello.space.guards import Guard
from morello.space.kind import Kind
from morello.space.space import Space

_NONE = np.empty(0, np.int32)
_NOTHING = Recorded(
    _NONE, _NONE.astype(np.uint8), _NONE.astype(np.uint8), np.empty(0), _NONE.astype(np.int64),
    _NONE.astype(np.int16), _NONE, np.empty((0, 1), np.int64), _NONE, _NONE,
)  # fmt: skip

_MOST_RULES, _MOST_RUNS = 256, 16


class TracedRules:
    """The rules of a kind, by their numbers in the space.

    Edges come in an order that does not depend on how they were found: by block of rows, rule,
    and row. So whatever was traced before, kinds and Specs are numbered alike.
    """

    def __init__(self, space: Space, kind: int) -> None:
        self.space, self._encoding = space, space.encodings[kind]
        self._given = [
            (group.guard, rewrite)
            for group in space.rules(self._encoding.kind)
            for rewrite in group.rewrites
        ]
        self._tapes = [_Tapes(space, self._encoding.kind, ideal) for ideal in (False, True)]
        self._numbers: Ints = np.empty(0, np.int16)  # in the space, of kinds with shared numbers

    def __len__(self) -> int:
        return len(self._given)

    def run(self, keys: Ints, wanted: Bools) -> Recorded:
        """The edges of Specs with these keys, of the rules that are wanted, by rule and row."""
        parts = self._record(keys, wanted)
        return self._numbered(_in_order(_joined([self.space.room.recorded, *parts])))

    def edges(self, keys: Ints, wanted: Bools) -> RecordedEdges:
        """The edges of `run`, until there are others in the space's room.

        Kinds have the numbers that they share with other spaces.
        """
        parts, room = self._record(keys, wanted), self.space.room
        if not parts and room.runs < 2:
            return RecordedEdges.within(room)
        return RecordedEdges.of(_in_order(_joined([room.recorded, *parts])))

    def unordered(self, keys: Ints, wanted: Bools) -> RecordedEdges:
        """The edges of `edges`, in an order that depends on how they were found."""
        parts, room = self._record(keys, wanted), self.space.room
        if not parts:
            return RecordedEdges.within(room)
        return RecordedEdges.of(_joined([room.recorded, *parts]))

    def by_numpy(self, keys: Ints, wanted: Bools) -> Recorded:
        """The edges of `run`, all computed by NumPy: tapes are checked against it."""
        return self._numbered(_in_order(_joined(self._by_numpy(keys, _by_rule(*wanted.nonzero())))))

    def _record(self, keys: Ints, wanted: Bools) -> list[Recorded]:
        """Record the edges that tapes leave in the space's room; gives the other edges.

        After a single run, those in the room are in order.
        """
        self.space.room.clear()
        words, others = np.array(self._encoding.split(keys)), []
        for tapes, rows in zip(self._tapes, self._parted(keys), strict=True):
            if len(rows) == len(keys):
                others += tapes.run(words, rows, wanted)
            elif len(rows):
                others += tapes.run(words[:, rows], rows, wanted[:, rows])
        return self._by_numpy(keys, others)

    def _parted(self, keys: Ints) -> tuple[Ints, Ints]:
        """The rows of all Specs but those whose placements are all ideal, and of these."""
        rows = np.arange(len(keys), dtype=np.int32)
        if not self.space.relaxed:
            return rows, _NONE
        ideal = self._encoding.ideal(keys, self.space.placements)
        return rows[~ideal], rows[ideal]

    def _by_numpy(self, keys: Ints, rules: Iterable[tuple[int, Ints]]) -> list[Recorded]:
        """The edges of rules for rows, by NumPy."""
        if not rules:
            return []
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
        kinds = [Kind.of(child.batch) for child in edges.children]
        encodings = [self.space.encoding_of(kind) for kind in kinds]
        times = np.empty((count, arity), np.int32)
        width = max((encoding.words for encoding in encodings), default=1)
        words = np.zeros((count, arity, width), np.int64)
        for position, (encoding, child) in enumerate(zip(encodings, edges.children, strict=True)):
            times[:, position] = child.times
            for place, word in enumerate(encoding.words_of(child.batch)):
                words[:, position, place] = word
        numbers = np.array([KIND_NUMBERS[kind] for kind in kinds], np.int16)
        return Recorded(
            rows.astype(np.int32), np.full(count, number, np.uint8),
            np.full(count, arity, np.uint8), np.full(count, edges.cost, np.float64),
            self.space.limits.column(edges.allocation, count),
            np.tile(numbers, count), times.ravel(),
            words.reshape(-1, width), _NONE, _NONE,
        )  # fmt: skip

    def _numbered(self, recorded: Recorded) -> Recorded:
        """The edges with the numbers that kinds have in the space; new kinds get the next."""
        count = len(KIND_NUMBERS.kinds)
        if len(self._numbers) < count:
            more = np.full(count - len(self._numbers), -1, np.int16)
            self._numbers = np.concatenate([self._numbers, more])
        kind = self._numbers[recorded.kind]
        if len(kind) and kind.min() < 0:
            new, first = np.unique(recorded.kind[kind < 0], return_index=True)
            for number in new[np.argsort(first)].tolist():
                self._numbers[number] = self.space.number(KIND_NUMBERS.kinds[number])
            kind = self._numbers[recorded.kind]
        return recorded._replace(kind=kind)


class _Tapes:
    """The latest tape of a kind, with the tables of a goal."""

    def __init__(self, space: Space, kind: Kind, ideal: bool) -> None:
        self._space, self._kind, self._ideal = space, kind, ideal
        self._tape: TapeOfRules | None = None
        self._lookups: list[Lookup] = []
        self._tables = Tables(())

    @cached_property
    def _trace(self) -> KindTrace:
        return trace_of(self._space.family, self._kind, self._ideal)

    def run(self, words: Ints, rows: Ints, wanted: Bools) -> list[tuple[int, Ints]]:
        """Record the edges that the tape leaves; gives by rule the rows that are left to NumPy.

        Edges tell the numbers of Specs in `rows`.
        """
        some: Bools = np.asarray(wanted.any(axis=1))
        left: list[tuple[int, Ints]] = []
        tape = self._tape
        if tape is None or any_row(some & ~tape.traced):
            tape = self._trace.tape(some.nonzero()[0])
            others = (some & ~tape.traced).nonzero()[0]
            left = [(number, rows[wanted[number]]) for number in others.tolist()]
            if tape is not self._tape:
                self._lookups = [self._space.table(each) for each in tape.lookups]
                self._tape = tape
        if not any_row(some & tape.traced):
            return left
        unsure = self._run(tape, words, rows, wanted)
        for _ in range(_MOST_RUNS):  # some entries may be missing that depend on others
            if not len(unsure.missing) or not self._filled(unsure.missing):
                break
            again, place = np.unique(unsure.unsure_row, return_inverse=True)
            wanted = np.zeros((len(wanted), len(again)), np.bool_)
            wanted[unsure.unsure_rule, place] = True
            words, rows = words[:, again], rows[again]
            unsure = self._run(tape, words, rows, wanted)
        return left + _by_rule(unsure.unsure_rule, rows[unsure.unsure_row])

    def _run(self, tape: TapeOfRules, words: Ints, rows: Ints, wanted: Bools) -> Recorded:
        """Run the tape; what is unsure is given by row here."""
        tables = [lookup.values for lookup in self._lookups]
        if not self._tables.are(tables):
            self._tables = Tables(tables)
        room = self._space.room
        room.widen(tape.width)
        tape.tape.run(self._tables, words, rows, wanted, room)
        return room.recorded

    def _filled(self, missing: Ints) -> bool:
        """Work out entries of tables that are missing; gives whether some are there now."""
        filled = False
        for number in np.unique(missing[:, 0]).tolist():
            lookup, (_, codes, others) = self._lookups[number], missing[missing[:, 0] == number].T
            filled |= self._space.placements.fill(lookup.role, codes, others)
        return filled


def _by_rule(rules: Ints, rows: Ints) -> list[tuple[int, Ints]]:
    """The rows of each rule; mostly there are none."""
    return [(number, rows[rules == number]) for number in sorted({*rules.tolist()})]


def _joined(parts: Sequence[Recorded]) -> Recorded:
    """The edges of all parts, one part after another; shorter keys get more words, which are 0."""
    if len(parts) < 2:
        return parts[0] if parts else _NOTHING
    width = max(part.words.shape[1] for part in parts)
    columns = zip(*(part._replace(words=_padded(part.words, width)) for part in parts), strict=True)
    return Recorded(*map(np.concatenate, columns))


def _in_order(joined: Recorded) -> Recorded:
    """All edges, in the order that a tape leaves them."""
    block, row = np.divmod(joined.row.astype(np.int64), BLOCK)
    order = np.argsort((block * _MOST_RULES + joined.rule) * BLOCK + row, kind="stable")
    arity = joined.arity.astype(np.int64)
    first = (np.cumsum(arity) - arity)[order]
    arity = arity[order]
    slots = np.arange(len(joined.times)) + np.repeat(first - np.cumsum(arity) + arity, arity)
    return Recorded(
        joined.row[order], joined.rule[order], joined.arity[order], joined.own[order],
        joined.allocation[order], joined.kind[slots], joined.times[slots], joined.words[slots],
        _NONE, _NONE,
    )  # fmt: skip


def _padded(words: Ints, width: int) -> Ints:
    """Keys of so many words, of which those that are new are 0."""
    count, known = words.shape
    if known == width:
        return words
    padded = np.zeros((count, width), words.dtype)
    padded[:, :known] = words
    return padded

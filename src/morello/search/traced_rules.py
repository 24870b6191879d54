"""Applying the rules of a kind to Specs of a goal: by a tape, or by NumPy where that is better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from morello.engine.codes import BLOCK
from morello.engine.tape import Recorded, Tables
from morello.ir.placements import Bools, Ints
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
        return self._numbered(self.unnumbered(keys, wanted))

    def unnumbered(self, keys: Ints, wanted: Bools) -> Recorded:
        """The edges of `run`, with the numbers that kinds share with other spaces."""
        parts = self._parts(keys, wanted)
        return parts[0] if len(parts) == 1 else _in_order(_joined(parts))

    def unordered(self, keys: Ints, wanted: Bools) -> Recorded:
        """The edges of `unnumbered`, in an order that depends on how they were found."""
        return _joined(self._parts(keys, wanted))

    def by_numpy(self, keys: Ints, wanted: Bools) -> Recorded:
        """The edges of `run`, all computed by NumPy: tapes are checked against it."""
        return self._numbered(_in_order(_joined(self._by_numpy(keys, _by_rule(*wanted.nonzero())))))

    def _parts(self, keys: Ints, wanted: Bools) -> list[Recorded]:
        """The edges as they are found; if there is one part, it is in order."""
        words, parts, others = np.array(self._encoding.split(keys)), [], []
        for tapes, rows in zip(self._tapes, self._parted(keys), strict=True):
            if len(rows):
                whole = len(rows) == len(keys)
                some, here = (words, wanted) if whole else (words[:, rows], wanted[:, rows])
                runs, left = tapes.run(some, here)
                for recorded in runs:
                    parts.append(recorded if whole else recorded._replace(row=rows[recorded.row]))
                others += [(number, rows[left_rows]) for number, left_rows in left]
        return parts + self._by_numpy(keys, others)

    def _parted(self, keys: Ints) -> tuple[Ints, Ints]:
        """The rows of all Specs but those whose placements are all ideal, and of these.

        Where few are, they are not told apart.
        """
        if not self.space.relaxed:
            return np.arange(len(keys), dtype=np.int32), _NONE
        ideal = self._encoding.ideal(keys, self.space.placements)
        return (~ideal).nonzero()[0].astype(np.int32), ideal.nonzero()[0].astype(np.int32)

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

    def run(self, words: Ints, wanted: Bools) -> tuple[list[Recorded], list[tuple[int, Ints]]]:
        """The edges that the tape leaves, and by rule the rows that are left to NumPy."""
        numbers = np.count_nonzero(wanted, axis=1).nonzero()[0]
        tape = self._trace.tape(numbers)
        others = numbers[~tape.traced[numbers]]
        left = [(number, wanted[number].nonzero()[0]) for number in others.tolist()]
        if len(others) == len(numbers):
            return [], left
        if tape is not self._tape:
            self._tape, self._lookups = tape, [self._space.table(each) for each in tape.lookups]
        recorded = self._run(tape, words, wanted)
        parts, rows = [recorded], np.arange(words.shape[1], dtype=np.int32)
        unsure = recorded.unsure_row
        for _ in range(_MOST_RUNS):  # some entries may be missing that depend on others
            if not self._filled(recorded.missing):
                break
            again, place = np.unique(recorded.unsure_row, return_inverse=True)
            wanted = np.zeros((len(wanted), len(again)), np.bool_)
            wanted[recorded.unsure_rule, place] = True
            rows = rows[again]
            recorded = self._run(tape, words[:, rows], wanted)
            unsure = rows[recorded.unsure_row]
            parts.append(recorded._replace(row=rows[recorded.row]))
        return parts, left + _by_rule(recorded.unsure_rule, unsure)

    def _run(self, tape: TapeOfRules, words: Ints, wanted: Bools) -> Recorded:
        counts = np.count_nonzero(wanted, axis=1)
        edges = max(1, int((counts * tape.most_edges).sum()))
        children = max(1, int((counts * tape.most_children).sum()))
        tables = [lookup.values for lookup in self._lookups]
        if not self._tables.are(tables):
            self._tables = Tables(tables)
        return tape.tape.run(self._tables, words, wanted, edges, children, tape.width)

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

"""The rules of a kind as a tape: traced once, then run for Specs of any goal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from threading import Lock

import numpy as np

from morello.engine.tape import Instructions, Tape, pruned
from morello.ir.dtype import DType
from morello.ir.kept import NONE
from morello.ir.placements import Bools, Ints
from morello.ir.tracing import Lookup
from morello.search.recorded_rules import RecordedRule, recorder_of
from morello.search.saved_traces import TRACE_FILE, SavedTrace
from morello.space.family import Family
from morello.space.kind import Kind
from morello.space.traits import PLAIN

MOST_KINDS = 1024
"""The traces of so many kinds are kept, of a hundred kilobytes each."""


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
    """A tape, and by rule whether it has the rule.

    Lookups are to be replaced by those with the same roles. Keys have at most `width` words.
    """

    tape: Tape
    lookups: tuple[Lookup, ...]
    traced: Bools
    width: int

    @staticmethod
    def of(trace: SavedTrace) -> TapeOfRules:
        """The tape of a trace, with the numbers that kinds have in this process."""
        instructions, numbers = trace.instructions, [KIND_NUMBERS[kind] for kind in trace.kinds]
        kind = np.array(numbers, np.int32)[instructions.kind]
        lookups = [Lookup(() if array is None else array, role) for role, array in trace.tables]
        return TapeOfRules(
            Tape(instructions._replace(kind=kind), trace.constants), tuple(lookups),
            trace.traced, trace.width,
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


@dataclass(frozen=True)
class _Rule:
    """A rule of a kind, as columns of numbers of operations; see `engine.tape.Instructions`.

    By part, of which the first are conditions: where it holds, its cost, allocation, and how many
    children it has. By child: its kind, with the numbers that kinds share, how often it runs, and
    the words of its key.
    """

    conditions: int = 0
    holds: Sequence[int] = ()
    own: Sequence[int] = ()
    allocation: Sequence[int] = ()
    arity: Sequence[int] = ()
    kind: Sequence[int] = ()
    times: Sequence[int] = ()
    words: Sequence[Sequence[int]] = ()

    @staticmethod
    def of(rule: RecordedRule, dtypes: Sequence[DType]) -> _Rule:
        """A recorded rule, where operands have these dtypes."""
        none = [0] * len(rule.conditions)  # conditions have no cost and no children
        edges, children = rule.edges, [child for edge in rule.edges for child in edge.children]
        return _Rule(
            len(none), [*rule.conditions, *(edge.holds for edge in edges)],
            none + [edge.own for edge in edges], none + [edge.allocation for edge in edges],
            none + [len(edge.children) for edge in edges],
            [KIND_NUMBERS[child.kind(dtypes)] for child in children],
            [child.times for child in children], [child.words for child in children],
        )  # fmt: skip


class _Tracing:
    """The rules of a kind, traced when they are wanted."""

    def __init__(self, family: Family, kind: Kind, ideal: bool) -> None:
        self._kind = kind
        self._recorder = recorder_of(
            replace(family, traits=PLAIN, relaxed=False, neighbours=NONE),
            replace(kind, dtypes=()),
            ideal,
        )
        groups = family.rules(kind, self._recorder.sizes)
        self._given = [(group.guard, rewrite) for group in groups for rewrite in group.rewrites]
        self._rules: dict[int, _Rule] = {}
        self._untraced: set[int] = set()  # those that only NumPy can apply

    def traced(self, numbers: Sequence[int]) -> SavedTrace:
        """A trace that has these rules, but for those that cannot be traced, and earlier ones."""
        recorder, dtypes = self._recorder, self._kind.dtypes
        with recorder.lock:
            for number in numbers:
                if number not in self._rules and number not in self._untraced:
                    rule = recorder.rule(*self._given[number], dtypes)
                    if rule is None:
                        self._untraced.add(number)
                    else:
                        self._rules[number] = _Rule.of(rule, dtypes)
            return self._saved()

    def _saved(self) -> SavedTrace:
        recorder, count = self._recorder, len(self._given)
        rules = [self._rules.get(number, _NONE) for number in range(count)]
        first_condition = _starts([len(rule.holds) for rule in rules])
        places: dict[int, int] = {}  # of kinds, by the numbers that they share
        kind = [places.setdefault(number, len(places)) for rule in rules for number in rule.kind]
        words = [each for rule in rules for each in rule.words]
        code, operands, constants = recorder.operations(self._kind.dtypes)
        instructions, constant_places, table_numbers = pruned(Instructions(
            code, operands, recorder.inputs, first_condition,
            first_condition[:-1] + _joined([[rule.conditions] for rule in rules]),
            _joined(rule.holds for rule in rules), _joined(rule.own for rule in rules),
            _joined(rule.allocation for rule in rules),
            _starts([*chain.from_iterable(rule.arity for rule in rules)]),
            np.array(kind, np.int32), _joined(rule.times for rule in rules),
            _starts([*map(len, words)]), _joined(words),
        ))  # fmt: skip
        tables = [recorder.trace.lookups[number] for number in table_numbers]
        return SavedTrace(
            self._kind, instructions,
            tuple([constants[place] for place in constant_places]),
            tuple([(each.role, each.array if each.role is None else None) for each in tables]),
            tuple([KIND_NUMBERS.kinds[number] for number in places]),
            np.array([number in self._rules for number in range(count)], np.bool_),
            frozenset(self._untraced),
            max(map(len, words), default=1),
        )  # fmt: skip


_NONE = _Rule()


def _starts(counts: Sequence[int]) -> Ints:
    return np.cumsum([0, *counts]).astype(np.int32)


def _joined(parts: Iterable[Sequence[int]]) -> Ints:
    return np.array([*chain.from_iterable(parts)], np.int32)

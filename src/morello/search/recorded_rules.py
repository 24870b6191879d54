"""Rewrites as recorded operations, which all kinds of an operation share.

Kinds differ in dtypes, of which most rewrites need no more than how many bytes an element has. So
a rewrite is recorded for operands of any dtype, and for dtypes only if it depends on these.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from threading import Lock
from typing import Any

import numpy as np

from morello.base import debug
from morello.engine.codes import Code
from morello.engine.limits import Limits
from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.operation import Operation
from morello.ir.placements import Ints
from morello.ir.traced_placements import TracedPlacements
from morello.ir.tracing import Chosen, Recording, Trace, Traced, UntraceableError
from morello.rewrites import Child, Edges, Rewrite, SizedOverlap, SizedTile
from morello.space.encoding import SpecEncoding
from morello.space.family import Family
from morello.space.guards import Guard
from morello.space.kind import Kind
from morello.space.sizes import TracedSizes

MOST_RECORDERS = 512
"""The operations whose recorded rules are kept, of a hundred kilobytes each."""

_ALWAYS = -1
_CODES = {code.name.lower(): code.value for code in Code}


class _AnyDType(DType):
    """The dtype of an operand, of which only the bytes are known, as a column.

    Code that depends on anything else of it, or compares it by `==`, cannot be recorded for any
    dtype. By `is`, it is none but itself.
    """

    def __init__(self, operand: int, bytes_: Traced) -> None:
        for name, value in (("operand", operand), ("name", "any"), ("bytes", bytes_)):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        raise UntraceableError(f"{name} depends on a dtype.")

    @property
    def lanes(self) -> int:  # which has a default, so `__getattr__` is not asked
        raise UntraceableError("lanes depend on a dtype.")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        raise UntraceableError("a decision depends on a dtype.")

    def __hash__(self) -> int:
        raise UntraceableError("what is looked up depends on a dtype.")


@dataclass(frozen=True)
class RecordedChild:
    """A child of an edge: its kind, and the operations for how often it runs and its key.

    Dtypes of the kind may be those of operands, whatever these are.
    """

    any_kind: Kind
    times: int
    words: tuple[int, ...]

    def kind(self, dtypes: Sequence[DType]) -> Kind:
        """Its kind, where operands have these dtypes."""
        return replace(
            self.any_kind,
            dtypes=tuple(
                [dtypes[d.operand] if isinstance(d, _AnyDType) else d for d in self.any_kind.dtypes]
            ),
        )


@dataclass(frozen=True)
class RecordedEdge:
    """An edge, as numbers of operations: where it holds, its cost, allocation, and children."""

    holds: int
    own: int
    allocation: int
    children: tuple[RecordedChild, ...]


@dataclass(frozen=True)
class RecordedRule:
    """A rule: conditions, as numbers of operations, and edges where they hold."""

    conditions: tuple[int, ...] = ()
    edges: tuple[RecordedEdge, ...] = ()

    def renumbered(self, numbers: Mapping[int, int]) -> RecordedRule:
        """This rule with other numbers of operations."""

        def new(number: int) -> int:
            return numbers.get(number, number)

        def child(each: RecordedChild) -> RecordedChild:
            return RecordedChild(each.any_kind, new(each.times), tuple(map(new, each.words)))

        def edge(each: RecordedEdge) -> RecordedEdge:
            cost, children = (new(each.own), new(each.allocation)), tuple(map(child, each.children))
            return RecordedEdge(new(each.holds), *cost, children)

        return RecordedRule(tuple(map(new, self.conditions)), tuple(map(edge, self.edges)))


NEVER = RecordedRule()
"""A rule that leaves nothing, whatever the row."""


@dataclass(frozen=True)
class _AnyTile:
    """A loop over tiles of any size: its rule, the sizes, and all operations that need these."""

    rule: RecordedRule
    tile: Traced
    operations: Sequence[tuple[int, Recording]]


class RuleRecorder:
    """Records rewrites of an operation in one trace, when they are wanted.

    Whatever depends on a goal is looked up in tables of `TracedSizes` and `TracedPlacements`.
    `inputs` are the numbers of the words of keys, and `bytes`, by operand, those of the bytes of an
    element. If `ideal`, placements are assumed to be ideal, of all. One thread may use it
    at a time, which holds its `lock`.
    """

    def __init__(self, family: Family, kind: Kind, ideal: bool) -> None:
        self._family = family
        self._limits = Limits(family.target.limits)
        self.lock = Lock()
        self.trace = Trace()
        self.sizes = TracedSizes(self.trace, family.most_cuts)
        self._placements = TracedPlacements(self.trace)
        encoding = family.encoding(kind, self.sizes)
        self._encodings: dict[Operation, SpecEncoding] = {kind.operation: encoding}
        inputs = [self.trace.input() for _ in range(encoding.words)]
        self.inputs: Ints = np.array([column.number for column in inputs], np.int32)
        self._batch = encoding.batch_of_words(inputs, self._placements)
        for codes in self._batch.codes if ideal else ():
            self._placements.assume_ideal(codes)
        widths = [self.trace.input() for _ in kind.operation.operands]
        self.bytes = [column.number for column in widths]
        self._any = replace(self._batch, dtypes=tuple(map(_AnyDType, range(len(widths)), widths)))
        self._batches: dict[tuple[DType, ...], Batch] = {}
        self._rules: dict[tuple[Hashable, tuple[DType, ...] | None], RecordedRule | None] = {}
        self._loops: dict[tuple[type, str, tuple[DType, ...] | None], _AnyTile] = {}
        self._rows: Ints = np.empty((0, 5), np.int32)

    def rule(
        self, guard: Guard, rewrite: Rewrite, dtypes: tuple[DType, ...]
    ) -> RecordedRule | None:
        """A rewrite of Specs of these dtypes that a guard admits; None if it cannot be traced."""
        admitted = self._memoized(guard, dtypes, self._admitted)
        if admitted is None or admitted is NEVER:
            return admitted
        rule = self._memoized(rewrite, None, self._recorded)
        if rule is None:
            rule = self._memoized(rewrite, dtypes, self._recorded)
        if rule is None or rule is NEVER:
            return rule
        return replace(rule, conditions=admitted.conditions + rule.conditions)

    def operations(self, dtypes: Sequence[DType]) -> tuple[Ints, Ints, list[float]]:
        """The codes and operands of all operations by now, for these dtypes, and all constants."""
        new = islice(self.trace.operations, len(self._rows), None)
        rows = [(_CODES[name], *operands) for name, *operands in new]
        if rows:
            self._rows = np.concatenate([self._rows, np.array(rows, np.int32)])
        code, operands = self._rows[:, 0].astype(np.int16), self._rows[:, 1:].copy()
        constants = self.trace.constants
        code[self.bytes] = Code.CONSTANT
        operands[self.bytes, 0] = np.arange(len(dtypes)) + len(constants)
        return code, operands, [*constants, *(dtype.bytes for dtype in dtypes)]

    # ---- tracing

    def _of(self, dtypes: tuple[DType, ...] | None) -> Batch:
        """Specs of these dtypes, or of any."""
        if dtypes is None:
            return self._any
        if dtypes not in self._batches:
            self._batches[dtypes] = replace(self._batch, dtypes=dtypes)
        return self._batches[dtypes]

    def _memoized(
        self,
        key: Hashable,
        dtypes: tuple[DType, ...] | None,
        record: Callable[[Any, tuple[DType, ...] | None], RecordedRule],
    ) -> RecordedRule | None:
        """The rule for these dtypes, or for any, recorded once; None if it cannot be traced."""
        if (key, dtypes) not in self._rules:
            rule = None
            try:
                rule = record(key, dtypes)
            except (UntraceableError, TypeError, IndexError) as error:
                if dtypes is not None and debug.shows("search"):
                    debug.show("search", f"{key} is not traced: {error}")
            self._rules[key, dtypes] = rule
        return self._rules[key, dtypes]

    def _admitted(self, guard: Guard, dtypes: tuple[DType, ...] | None) -> RecordedRule:
        """The condition that a guard admits Specs."""
        return _where([guard(self._of(dtypes))])

    def _recorded(self, rewrite: Rewrite, dtypes: tuple[DType, ...] | None) -> RecordedRule:
        """A rewrite; loops over a dimension that differ only in their tiles are recorded as one."""
        batch = self._of(dtypes)
        if not isinstance(rewrite, SizedTile | SizedOverlap):
            return self._of_batch(rewrite, batch)
        key = type(rewrite), rewrite.dim, dtypes
        if key not in self._loops:
            tile: Any = self.trace.input()
            rule = self._of_batch(replace(rewrite, choose=lambda _: tile), batch)
            self._loops[key] = _AnyTile(rule, tile, self.trace.depending(tile))
        loop = self._loops[key]
        if loop.rule is NEVER:
            return NEVER
        numbers = self.trace.replaced(loop.tile, rewrite.tile(batch), loop.operations)
        return loop.rule.renumbered(numbers)

    def _of_batch(self, rewrite: Rewrite, batch: Batch) -> RecordedRule:
        target = self._family.target
        rule = _where(condition.holds for condition in rewrite.conditions(batch, target))
        if rule is NEVER:
            return NEVER
        edges = rewrite.edges(batch, target)
        return replace(rule, edges=tuple([self._edge(each) for each in edges]))

    def _edge(self, edges: Edges) -> RecordedEdge:
        holds: Any = edges.rows.holds if isinstance(edges.rows, Chosen) else True
        number = holds.number if isinstance(holds, Traced) else _ALWAYS
        cost: Any = edges.cost
        own = cost.astype(np.float64) if isinstance(cost, Traced) else np.asarray(cost, np.float64)
        allocation = self._limits.column(edges.allocation, 1)
        children = tuple(self._child(child) for child in edges.children)
        return RecordedEdge(number, self.trace.number(own), self.trace.number(allocation), children)

    def _child(self, child: Child) -> RecordedChild:
        operation = child.batch.operation
        if operation not in self._encodings:
            self._encodings[operation] = self._family.encoding(Kind.of(child.batch), self.sizes)
        words = self._encodings[operation].words_of(child.batch)
        return RecordedChild(
            Kind.of(child.batch),
            self.trace.number(child.times),
            tuple(self.trace.number(word) for word in words),
        )


@lru_cache(MOST_RECORDERS)
def recorder_of(family: Family, kind: Kind, ideal: bool) -> RuleRecorder:
    """The recorder for a kind without dtypes, in a family of plain goals that is not relaxed.

    The other kinds and families have the same rewrites, or others.
    """
    return RuleRecorder(family, kind, ideal)


def _where(columns: Iterable[Any]) -> RecordedRule:
    """The conditions that these columns hold; `NEVER` if some do not, whatever the row."""
    conditions = []
    for holds in columns:
        if isinstance(holds, Traced):
            conditions.append(holds.number)
        elif not np.count_nonzero(holds):  # of one row
            return NEVER
    return RecordedRule(tuple(conditions))

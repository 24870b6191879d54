"""The pass that lets a large result bypass the caches: from statements to statements.

A line that is stored to is read first, and evicts another. A result that exceeds the last cache is
in none when it is read again, so neither is of use. Stores past the caches take 0.7 to 0.9 of the
time (Zen 4), if they fill one line after the other: lines that are left before they are full, or
that other stores write to as well, cost up to 300 ns each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeGuard

from morello.codegen.statements import (
    Call,
    Fence,
    For,
    ItemIndex,
    ParallelFor,
    Program,
    Statement,
    bodies,
    walk,
    with_bodies,
)
from morello.codegen.views import MemoryView
from morello.ir.spec import Spec
from morello.ir.tensor import LINE_BYTES
from morello.targets.helpers.bypassing import PAST
from morello.targets.target import Target

PIECE = 16
"""The bytes that a store past the caches writes, at least: to multiples of them."""
ROWS = 2
"""The most rows that are written at once."""
RUN = 2048
"""The fewest bytes that are written one after the other."""
MOST = 0.75
"""The share of all stores that has to be in such order."""
OTHERS = 1024
"""The stores past the caches, at least, for each other one."""
COPIED = 0.75
"""The part of a target's share from which on copies bypass the caches: they read as much."""

_STORE = re.compile(r"\bstore_(\w+)")


def with_bypasses(program: Program, goal: Spec, target: Target) -> list[Statement]:
    """The statements of a goal's program, with stores past the caches where that is faster."""
    past = {id(call): call for call in walk(program.body) if _is_past(call)}
    for operand, (view, _) in enumerate(program.parameters):
        if bypasses_caches(goal, operand, target):
            past |= _past_caches(program.body, view.pointer, target)
    return [*_replaced(program.body, past), Fence()] if past else [*program.body]


def bypasses_caches(goal: Spec, operand: int, target: Target) -> bool:
    """Whether an operand is only written, and has at least the target's share of the last cache."""
    written = goal.operation.operands[operand].written and not goal.operation.reads(operand)
    count = math.prod(goal.shape(operand)) * goal.dtypes[operand].bytes
    least = target.bypassed * target.last_cache * LINE_BYTES
    return written and 0 < least * (COPIED if goal.operation.copies else 1.0) <= count


@dataclass(frozen=True)
class _Store:
    """A call that works on a result, in so many iterations of these loops, innermost last.

    `steps` are numbers of which the values of variables around it are multiples, by their names.
    """

    call: Call
    view: MemoryView
    loops: tuple[For, ...]
    steps: Mapping[str, int]
    times: int

    @property
    def count(self) -> int:
        """The stores that it executes."""
        return self.times * self.call.repeats

    @property
    def is_aligned(self) -> bool:
        """Whether all its stores have addresses aligned to `PIECE`, if the array has."""
        element = self.call.spec.dtypes[-1].bytes
        terms = self.view.address.terms.items()
        offsets = [coefficient * self.steps.get(variable, 1) for variable, coefficient in terms]
        offsets += [start for start, _ in self.pieces()]
        return all(offset * element % PIECE == 0 for offset in offsets)

    def pieces(self) -> list[tuple[int, int]]:
        """The starts and ends of the runs of its tile, where all variables are 0."""
        length, starts = 1, [self.view.address.constant]
        for count, step in self.view.spans():
            if step == length:
                length *= count
            else:
                starts = [start + i * step for start in starts for i in range(count)]
        return [(start, start + length) for start in starts]


def _past_caches(statements: Sequence[Statement], pointer: str, target: Target) -> dict[int, Call]:
    """The calls that store a result, by their ids, as those that bypass the caches.

    None, unless nearly all of them can, and fill one line after the other.
    """
    together: dict[object, list[_Store]] = {}
    others = 0
    for store in _stores(statements, pointer):
        operation, views = store.call.spec.operation, store.call.views
        if views[-1] is not store.view or operation.reads(len(views) - 1):
            return {}
        if not (_can_bypass(store.call, target) and store.is_aligned):
            others += store.count
            continue
        key = (id(store.loops[-1]) if store.loops else 0, tuple(store.view.address.terms.items()))
        together.setdefault(key, []).append(store)
    counts = [sum(store.count for store in stores) for stores in together.values()]
    in_order = map(_are_in_order, together.values())
    most = sum(n for n, good in zip(counts, in_order, strict=True) if good)
    if sum(counts) < max(1, OTHERS * others) or most < MOST * sum(counts):
        return {}
    return {id(store.call): _past(store.call) for stores in together.values() for store in stores}


def _stores(
    statements: Sequence[Statement],
    pointer: str,
    loops: tuple[For, ...] = (),
    steps: Mapping[str, int] = MappingProxyType({}),
    times: int = 1,
) -> Iterator[_Store]:
    """The calls that have an operand behind a pointer."""
    for statement in statements:
        if isinstance(statement, Call):
            for view in statement.views:
                if isinstance(view, MemoryView) and view.pointer == pointer:
                    yield _Store(statement, view, loops, steps, times)
            continue
        inner, known, count = loops, steps, times
        if isinstance(statement, ItemIndex):
            steps = {**steps, statement.name: statement.step}
        elif isinstance(statement, For):
            inner, count = (*loops, statement), times * statement.times
            start = steps.get(statement.start, 0)
            step = math.gcd(start, statement.step, statement.last)
            known = {**steps, statement.variable: step}
        elif isinstance(statement, ParallelFor):
            count = times * statement.items
        for body in bodies(statement):
            yield from _stores(body, pointer, inner, known, count)


def _can_bypass(call: Call, target: Target) -> bool:
    """Whether a kernel stores registers as a whole."""
    names = _STORE.findall(call.kernel.c)
    return bool(names) and all(PAST + name in target.helpers for name in names)


def _are_in_order(stores: Sequence[_Store]) -> bool:
    """Whether stores that stand together, with the loops around, write long runs of few rows."""
    runs = _runs(stores)
    lengths = {end - start for start, end in runs}
    if len(runs) > ROWS or len(lengths) > 1:
        return False
    (length,) = lengths
    for loop in reversed(stores[0].loops):
        coefficient = stores[0].view.address.terms.get(loop.variable, 0)
        if loop.start or coefficient * loop.step != length:
            break
        length = coefficient * loop.size
    return length * stores[0].call.spec.dtypes[-1].bytes >= RUN


def _runs(stores: Sequence[_Store]) -> list[tuple[int, int]]:
    """The starts and ends of the runs that stores write one after the other."""
    first, *others = sorted(piece for store in stores for piece in store.pieces())
    runs = [first]
    for start, end in others:
        if start == runs[-1][1]:
            runs[-1] = runs[-1][0], end
        else:
            runs.append((start, end))
    return runs


def _replaced(statements: Sequence[Statement], calls: Mapping[int, Call]) -> list[Statement]:
    """Statements with others in place of the calls that have these ids."""
    result: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Call):
            statement = calls.get(id(statement), statement)
        elif inside := bodies(statement):
            new = [_replaced(body, calls) for body in inside]
            if isinstance(statement, ParallelFor):
                new = [[*body, Fence()] for body in new]
            statement = with_bodies(statement, new)
        result.append(statement)
    return result


def _is_past(statement: Statement) -> TypeGuard[Call]:
    return isinstance(statement, Call) and statement.kernel.c.startswith(PAST)


def _past(call: Call) -> Call:
    """The call, with stores that bypass the caches."""
    return replace(call, kernel=replace(call.kernel, c=_STORE.sub(rf"{PAST}\1", call.kernel.c)))

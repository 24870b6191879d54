"""The parts of the items of parallel loops, which threads may run at once.

Items are long: what an item copies, it copies once. A thread that another program keeps from
running holds an item meanwhile. So the iterations of the first loops in an item are parts, which
threads take one by one. What an item copies before such a loop, each thread copies once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from morello.codegen.loops import emits_nothing
from morello.codegen.statements import (
    Barrier,
    Block,
    Buffer,
    Call,
    Definition,
    For,
    If,
    ItemIndex,
    ParallelFor,
    Shared,
    Statement,
    Tiles,
    walk,
)
from morello.codegen.views import MemoryView
from morello.impl.tree import Impl, ImplNode
from morello.rewrites import Move, Overlap, Tile

ENOUGH = 16
"""The parts for each core, where there can be so many: what a late core holds is little then."""
LEAST = 2.0
"""The least cost of a part, in forks: what it costs to take it is little beside that."""
COPIED = 1 / 16
"""The most that copies may be of what they are made for, if each core makes them."""


def divided_nodes(items: Sequence[ImplNode], count: int) -> frozenset[int]:
    """The numbers of the nodes whose iterations are parts, or that copy something for these.

    `items` are the different ones of so many.
    """
    wanted = ENOUGH * items[0].impl.target.cores / count
    return frozenset().union(*(_divided_nodes(item, wanted) for item in items))


def _divided_nodes(node: ImplNode, wanted: float) -> frozenset[int]:
    """The numbers of such nodes below a node that should have so many parts."""
    impl, children = node.impl, node.children
    if emits_nothing(impl):
        return _divided_nodes(children[0], wanted)
    if wanted <= 1:
        return frozenset()
    if _loops_over_parts(impl):
        wanted /= sum(branch.times for branch in impl.children)
        return frozenset({node.number}).union(*(_divided_nodes(c, wanted) for c in children))
    if _copies_little(impl):
        within = _divided_nodes(children[1], wanted)
        return within | {node.number} if within else within
    return frozenset()


def _loops_over_parts(impl: Impl) -> bool:
    """Whether an Impl is a loop over tiles of its result that are long enough for parts."""
    rewrite, operation, target = impl.rewrite, impl.spec.operation, impl.target
    if not isinstance(rewrite, Tile | Overlap):
        return False
    independent = rewrite.dim not in (*operation.reduced, *operation.untiled)
    return independent and impl.children[0].impl.cost >= LEAST * target.fork


def _copies_little(impl: Impl) -> bool:
    """Whether an Impl copies an input to a buffer at little cost, even if all cores do."""
    rewrite, operation, target = impl.rewrite, impl.spec.operation, impl.target
    if not isinstance(rewrite, Move) or len(impl.children) != 2:
        return False
    kept = rewrite.level != target.levels[target.registers].name
    read = all(o.name != rewrite.operand or not o.written for o in operation.operands)
    return kept and read and impl.children[0].impl.cost * target.cores <= COPIED * impl.cost


def in_parts(statements: Sequence[Statement]) -> list[Statement]:
    """The statements, with parallel loops over parts in place of those over items."""
    result: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Block):
            result.append(Block(in_parts(statement.body)))
        elif isinstance(statement, ParallelFor):
            result.append(_divided(statement))
        else:
            result.append(statement)
    return result


def _divided(loop: ParallelFor) -> ParallelFor:
    """The loop over the parts of its items."""
    first = loop.body[0]
    body: list[Statement]
    if len(loop.body) == 1 and isinstance(first, If):  # the last item is the remainder
        parts, last = _count(first.body), _count(first.otherwise)
        rest = _part(first.otherwise, last)
        body = [replace(first, body=_part(first.body, parts), otherwise=rest)]
    else:
        parts = last = _count(loop.body)
        body = _part(loop.body, parts)
    shares = any(isinstance(s, Shared) and s.part for s in walk(body))
    counter = f"parts.{loop.name}" if shares else ""
    return replace(loop, body=body, parts=parts, last_parts=last, counter=counter)


def _count(statements: Sequence[Statement]) -> int:
    """How many parts there are in an item's statements."""
    *before, last = statements
    if not all(isinstance(s, Definition | Shared) for s in before):
        return 1
    if isinstance(last, Block):
        return _count(last.body)
    return sum(map(_iterations, last.loops)) if isinstance(last, Tiles) else 1


def _iterations(statements: Sequence[Statement]) -> int:
    """How many parts there are in a loop of an item."""
    loop = _loop(statements)
    return loop.times * _count(loop.body) if loop else _count(statements)


def _loop(statements: Sequence[Statement]) -> For | None:
    """The loop that statements are, if its iterations may run at once."""
    first = statements[0]
    if len(statements) > 1 or not isinstance(first, For):
        return None
    if any(isinstance(s, Barrier) and s.variable == first.variable for s in walk(first.body)):
        return None  # it would change what is constant in a part
    return None if first.overlaps and _reads_what_it_writes(first) else first


def _reads_what_it_writes(loop: For) -> bool:
    """Whether an iteration may read what another writes, which is not in buffers of its own."""
    own: set[str] = set()
    read: set[str] = set()
    written: set[str] = set()
    for statement in walk(loop.body):
        if isinstance(statement, Buffer):
            own.add(statement.name)
        elif isinstance(statement, Call):
            operation = statement.spec.operation
            for number, view in enumerate(statement.views):
                if isinstance(view, MemoryView):
                    read |= {view.pointer} if operation.reads(number) else set()
                    written |= {view.pointer} if operation.operands[number].written else set()
    return not read.isdisjoint(written - own)


def _part(statements: Sequence[Statement], count: int, part: str = "part") -> list[Statement]:
    """The statements of the part with this number in C, of so many."""
    if count == 1:
        return [*statements]
    *before, last = statements
    before = [replace(s, part=part) if isinstance(s, Shared) else s for s in before]
    if isinstance(last, Block):
        return [*before, Block(_part(last.body, count, part))]
    assert isinstance(last, Tiles)
    return [*before, *_of_loops(last.loops, 0, part)]


def _of_loops(loops: Sequence[Sequence[Statement]], start: int, part: str) -> list[Statement]:
    """The statements of the part with this number in C, of loops that begin at another one."""
    first, *rest = loops
    lines = _iteration(first, f"({part} - {start})" if start else part)
    if not rest:
        return lines
    end = start + _iterations(first)
    return [If(f"{part} < {end}", lines, _of_loops(rest, end, part))]


def _iteration(statements: Sequence[Statement], part: str) -> list[Statement]:
    """The statements of the part with this number in C, of a loop of an item."""
    loop = _loop(statements)
    if loop is None:
        return _part(statements, _count(statements), part)
    inner = _count(loop.body)
    value = f"{part} / {inner}" if inner > 1 else part
    value = f"{value} * {loop.step}" if loop.step > 1 else value
    if loop.overlaps:
        value = f"{value} < {loop.last} ? {value} : {loop.last}"
    index = ItemIndex(loop.variable, value, loop.last, math.gcd(loop.step, loop.last))
    return [index, *_part(loop.body, inner, f"({part} % {inner})")]

"""The pass that adds prefetches to reduction loops: from statements to statements.

While a loop reads a tile from memory, the address of the tile that its next iteration reads is
already known; and while an early part of an iteration runs, so is what a later part writes.
Reduction loops keep the vector units busy and the memory idle: a prefetch every few of their
iterations costs next to nothing, and its line arrives before it is needed.

The emitter has marked what is needed soon, as `Prefetchable`. On the way down, these become
requests, and the first reduction loop that has enough iterations for a request serves it; of nested
ones, the innermost. Panels that are read outside of all loops become requests of the outermost
loop, if it works on a piece of them at a time: they are weights, of which a model has more than its
caches hold.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from morello.codegen.lines import Lines
from morello.codegen.statements import (
    Block,
    Call,
    Deferred,
    Due,
    For,
    If,
    ParallelFor,
    Prefetch,
    Prefetchable,
    Runs,
    Shared,
    Statement,
    Tiles,
    Turn,
    Wrap,
    bodies,
    loops_in,
    walk,
)
from morello.codegen.views import MemoryView, RegisterView
from morello.targets.target import Target

ITERATIONS_PER_LINE = 2
"""The fewest iterations of a reduction loop per prefetched line: denser prefetches cost time."""
ITERATIONS_PER_STORED_LINE = 1
"""That of outputs that are stored right after a reduction: those from a cache take time, too."""
ITERATIONS_PER_PANEL_LINE = 0.5
"""That of panels, whose lines are contiguous: loops over them are bound by memory."""
ADDITIONS_PER_LINE = 8
"""The fewest additions to registers for each line of a tile, where iterations are too few.

In the time that they take, memory delivers about a line.
"""


def with_prefetches(statements: Sequence[Statement], target: Target) -> list[Statement]:
    """The statements, with prefetches in place of the marks of what may be prefetched."""
    return _Pass(target).of(statements, _Scope())


def notes(statements: Sequence[Statement]) -> dict[int, list[str]]:
    """Notes on the loops that prefetch, by the number of the rewrite that a loop comes from."""
    texts: dict[int, dict[str, None]] = defaultdict(dict)
    for loop in loops_in(statements):
        words = (_words(loop, inner) for inner in loop.body if isinstance(inner, Prefetch))
        texts[loop.node] |= dict.fromkeys(words)
    return {node: list(words) for node, words in texts.items() if words}


def _words(chunks: For, prefetch: Prefetch) -> str:
    """A prefetch in a loop over the chunks of a reduction."""
    lines = "one line" if prefetch.at_once == 1 else f"{prefetch.at_once} lines"
    every = prefetch.every * iterations_of(chunks.body)
    return f"prefetches {prefetch.operand}, {lines} every {every} iterations"


@dataclass(frozen=True)
class PrefetchRequest:
    """A tile to prefetch.

    `around` are the loops, inside the statements that it is prefetched in, around the reduction
    loop that serves it: each of their iterations prefetches other lines of the tile. In the last
    iteration of a loop, the tile of its next execution is where `wrap` says.
    """

    mark: Prefetchable
    tile: MemoryView
    around: tuple[For, ...] = ()
    wrap: Wrap | None = None

    @property
    def lines(self) -> int:
        """The lines that each execution of the reduction loop prefetches."""
        repeats = math.prod(loop.times for loop in self.around)
        return -(-Lines(self.tile, self.mark.element).count // repeats)

    @property
    def iterations_per_line(self) -> float:
        """The fewest iterations that a reduction loop must have for each line it prefetches."""
        if self.mark.due is Due.STORED:
            return ITERATIONS_PER_STORED_LINE
        if self.mark.due is Due.NEXT and self.mark.tile.in_panels:
            return ITERATIONS_PER_PANEL_LINE
        return ITERATIONS_PER_LINE

    def served_by(self, iterations: int, additions: int, room: int) -> bool:
        """Whether a reduction of so many iterations and additions to registers is long enough.

        The nearest cache has `room` lines: of a larger tile, those that come early do not stay.
        """
        stays = self.mark.due is Due.NEXT and Lines(self.tile, self.mark.element).count <= room
        if stays and additions >= ADDITIONS_PER_LINE * self.lines:
            return iterations >= ITERATIONS_PER_LINE
        return iterations >= max(ITERATIONS_PER_LINE, self.iterations_per_line * self.lines)

    def inside(self, loop: For) -> PrefetchRequest:
        """The request within a loop.

        If the loop works on a piece of the tile at a time, it is for the next piece, which is
        needed sooner than the next tile, unless a loop around it walks the whole tile already.
        """
        narrows = not self.around and not self.mark.written
        if narrows and (piece := _next_piece(self.tile, loop)) is not None:
            return replace(self, tile=piece, wrap=None)
        return replace(self, around=(*self.around, loop))


@dataclass(frozen=True)
class _Scope:
    """The innermost loop around statements that is no reduction loop, and all requests to them.

    `outer` is the loop around that one. Outside of all loops, `panels` are the marks of those that
    no statement has read yet.
    """

    loop: For | None = None
    requests: tuple[PrefetchRequest, ...] = ()
    panels: tuple[Prefetchable, ...] = ()
    outer: For | None = None

    def inside(self, loop: For) -> _Scope:
        """The body of a loop; an innermost reduction loop serves no requests from outside of it."""
        if not loop.reduction:
            requests = [request.inside(loop) for request in self.requests]
            pieces = ((mark, _next_piece(mark.tile, loop)) for mark in self.panels)
            requests += [PrefetchRequest(mark, piece) for mark, piece in pieces if piece]
            return _Scope(loop, tuple(requests), outer=self.loop)
        if not _reduces_inside(loop):
            return _Scope(self.loop, outer=self.outer)
        around = (replace(request, around=(*request.around, loop)) for request in self.requests)
        return _Scope(self.loop, tuple(around), outer=self.outer)

    def after(self, statement: Statement) -> _Scope:
        """The scope of the statements after this one, which prefetch no panel it reads."""
        read = {
            view.pointer
            for call in walk([statement])
            if isinstance(call, Call)
            for view in call.views
            if isinstance(view, MemoryView)
        }
        unread = (mark for mark in self.panels if mark.tile.pointer not in read)
        return replace(self, panels=tuple(unread))

    def marked(self, mark: Prefetchable) -> _Scope:
        """The statements of a mark: a request, if each iteration of the loop has its own tile."""
        if self.loop is None:
            weights = mark.tile.in_panels and mark.due is Due.NEXT and not mark.written
            return replace(self, panels=(*self.panels, mark)) if weights else self
        if not _moves(mark.tile, self.loop):
            return self
        request = PrefetchRequest(mark, mark.tile)
        if mark.due is Due.NEXT:
            tile = _next(mark.tile, self.loop)
            request = replace(request, tile=tile, wrap=_wrap(mark.tile, self.loop, self.outer))
        return replace(self, requests=(*self.requests, request))


def _reduces_inside(loop: For) -> bool:
    """Whether there is a reduction loop in a loop."""
    return any(inner.reduction for inner in loops_in(loop.body))


def iterations_of(statements: Sequence[Statement]) -> int:
    """How often the innermost loops in statements iterate, all of them together.

    Steps that add to the same sums one after the other are unrolled iterations.
    """
    total = 0
    for statement in statements:
        if isinstance(statement, Deferred):
            continue  # it has no loops
        inside = sum(map(iterations_of, bodies(statement)))
        if isinstance(statement, For):
            total += statement.times * (inside or _unrolled(statement.body))
        else:
            total += inside
    return total


def _unrolled(statements: Sequence[Statement]) -> int:
    """How often statements without loops add to the register that they add to most."""
    calls = (call for call in walk(statements) if isinstance(call, Call))
    added = (call.views[-1] for call in calls if call.spec.operation.accumulates)
    sums = Counter(view for view in added if isinstance(view, RegisterView))
    return max(sums.values(), default=1)


def _additions(statements: Sequence[Statement]) -> int:
    """How many registers statements add to, each as often as they do."""
    total = 0
    for statement in statements:
        inside = sum(map(_additions, bodies(statement)))
        total += inside * (statement.times if isinstance(statement, For) else 1)
        if isinstance(statement, Call) and isinstance(statement.views[-1], RegisterView):
            total += statement.spec.operation.accumulates * statement.views[-1].count
    return total


def _moves(tile: MemoryView, loop: For) -> bool:
    """Whether each iteration of the loop has its own tile: not a part of the same panel."""
    panel, ahead = tile.layout.panel, _ahead(tile, loop)
    return ahead > 0 and (panel is None or ahead % panel[1] == 0)


def _ahead(tile: MemoryView, loop: For) -> int:
    """The elements of memory from a tile to that of the loop's next iteration."""
    return tile.address.terms.get(loop.variable, 0) * loop.step


def _wrap(tile: MemoryView, loop: For, outer: For | None) -> Wrap | None:
    """The step from the tile after a loop's last one to the first of the outer loop's next
    iteration.
    """
    if outer is None or loop.start:
        return None
    back = tile.address.terms.get(loop.variable, 0) * loop.last + _ahead(tile, loop)
    return Wrap(loop.variable, loop.last, _ahead(tile, outer) - back)


def _next_piece(tile: MemoryView, loop: For) -> MemoryView | None:
    """The piece of a tile that the loop's next iteration works on, if it has one at a time."""
    for view in loop.views:
        if isinstance(view, MemoryView) and view.pointer == tile.pointer and _moves(view, loop):
            return _next(view, loop)
    return None


def _next(tile: MemoryView, loop: For) -> MemoryView:
    """The tile that the loop's next iteration has in place of this one."""
    return replace(tile, address=tile.address.plus(_ahead(tile, loop)))


def _shares(chunks: int, lines: int) -> tuple[int, int, int]:
    """How chunks prefetch lines: every how many of them, how often, and how many lines at once."""
    every = max(1, chunks // lines)
    times = -(-chunks // every)
    return every, times, -(-lines // times)


def _chunk(iterations: int, requests: Sequence[int]) -> int:
    """The iterations of a chunk, a divisor of all, for requests for so many lines.

    Prefetches are best spread evenly, and hardly more than there are lines.
    """
    evenly = iterations / max(requests)

    def waste(size: int) -> float:
        shares = [_shares(iterations // size, lines) for lines in requests]
        prefetched = sum(times * at_once for _, times, at_once in shares)
        return prefetched / sum(requests) + abs(math.log(size / evenly)) / 3

    divisors = (size for size in range(2, iterations + 1) if iterations % size == 0)
    return min(divisors, key=waste)


class _Pass:
    """Adds prefetches for a target."""

    def __init__(self, target: Target) -> None:
        self._room = target.levels[target.nearest].capacity

    def of(self, statements: Sequence[Statement], scope: _Scope) -> list[Statement]:
        result: list[Statement] = []
        for statement in statements:
            if isinstance(statement, Prefetchable):
                result += self.of(statement.body, scope.marked(statement))
            else:
                result.append(self._statement(statement, scope))
            if scope.panels:
                scope = scope.after(statement)
        return result

    def _statement(self, statement: Statement, scope: _Scope) -> Statement:
        if isinstance(statement, For):
            loop = replace(statement, body=self.of(statement.body, scope.inside(statement)))
            serves = loop.reduction and not _reduces_inside(loop)
            return self._reduction(loop, scope.requests) if serves else loop
        if isinstance(statement, Block | Shared):
            return replace(statement, body=self.of(statement.body, scope))
        if isinstance(statement, Tiles):
            return self._tiles(statement, scope)
        if isinstance(statement, If):
            body, otherwise = (self.of(b, scope) for b in (statement.body, statement.otherwise))
            return replace(statement, body=body, otherwise=otherwise)
        if isinstance(statement, ParallelFor):
            return replace(statement, body=self.of(statement.body, _Scope()))
        if isinstance(statement, Runs):
            blocks = [
                replace(block, body=self.of(block.body, _Scope())) for block in statement.blocks
            ]
            otherwise = self.of(statement.otherwise, _Scope())
            return replace(statement, blocks=blocks, otherwise=otherwise)
        return statement

    def _tiles(self, tiles: Tiles, scope: _Scope) -> Tiles:
        loops = []
        for statements in tiles.loops:
            loops.append(self.of(statements, scope))
            for statement in statements:
                scope = scope.after(statement)
        return Tiles(loops)

    def _reduction(self, loop: For, requests: Sequence[PrefetchRequest]) -> For:
        """A reduction loop in chunks, at whose start it prefetches, if it can serve requests.

        If it has loops inside, these are its iterations, and each of its own is a chunk.
        """
        if not requests:
            return loop
        iterations, additions = iterations_of([loop]), _additions([loop])
        served = [r for r in requests if r.served_by(iterations, additions, self._room)]
        if not served:
            return loop
        if any(loops_in(loop.body)):
            prefetches = [self._prefetch(r, loop, loop.variable, loop.step) for r in served]
            return replace(loop, body=[*prefetches, *loop.body])
        iterations = _chunk(loop.times, [request.lines for request in served])
        variable, step = f"{loop.variable}.chunk", iterations * loop.step
        chunk = replace(loop, size=step, start=variable)
        prefetches = [self._prefetch(request, loop, variable, step) for request in served]
        return replace(loop, variable=variable, step=step, body=[*prefetches, chunk], views=())

    def _prefetch(self, request: PrefetchRequest, loop: For, variable: str, step: int) -> Prefetch:
        """Prefetch the tile's lines in turn: one every few chunks, or several in each chunk.

        The chunks of the loop are `step` long, and begin at this variable.
        """
        every, times, at_once = _shares(loop.size // step, request.lines)
        turns = [Turn(variable, step * every)]
        for outer in reversed(request.around):
            turns.append(Turn(outer.variable, outer.step, times))
            times *= outer.times
        mark = request.mark
        locality = self._locality(Lines(request.tile, mark.element))
        return Prefetch(
            mark.operand, request.tile, mark.element, mark.written, locality,
            tuple(turns), every, at_once, request.wrap,
        )  # fmt: skip

    def _locality(self, lines: Lines) -> int:
        """The locality argument in C: 3 fetches into L1, 2 into L2 if L1 has no room for panels.

        Rows always go into L1: they lie on many pages, and prefetches into L2 are then often lost.
        """
        return 2 if lines.tile.in_panels and lines.count > self._room // 2 else 3

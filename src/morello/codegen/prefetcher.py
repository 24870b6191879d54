"""Prefetch instructions: C for the prefetches that the pass has planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from morello.codegen.lines import Lines
from morello.codegen.prefetch import LoopPrefetches, Plan, PrefetchRequest
from morello.codegen.statements import Prefetch
from morello.codegen.views import MemoryView, View
from morello.impl.tree import Impl
from morello.targets.target import Target


class Prefetcher:
    """Looks up what a loop prefetches, and writes it with the views and variables of the C."""

    def __init__(self, target: Target, plan: Plan) -> None:
        self._target = target
        self._plan = plan
        self._views: dict[int, Sequence[View]] = {}
        self._variables: dict[tuple[int, str], str] = {}

    def enter(self, impl: Impl, views: Sequence[View]) -> None:
        """Remember the views of a node's operands, for the loops inside it."""
        self._views[id(impl)] = views

    def enter_loop(self, body: Impl, dim: str, variable: str) -> None:
        """Remember the variable of the loop along a dimension around a node."""
        self._variables[id(body), dim] = variable

    def of(self, body: Impl) -> LoopPrefetches | None:
        """The prefetches of the reduction loop with this body."""
        return self._plan.get(id(body))

    def statements(self, loop: LoopPrefetches, variable: str, step: int) -> list[Prefetch]:
        """The prefetches at the start of each chunk of a loop; its variable goes up by `step`."""
        return [self._prefetch(loop, request, variable, step) for request in loop.requests]

    def _prefetch(
        self, loop: LoopPrefetches, request: PrefetchRequest, variable: str, step: int
    ) -> Prefetch:
        """Prefetch the tile's lines in turn: one every few chunks, or several in each chunk."""
        pace = loop.pace(request)
        step *= pace.chunks
        number = [f"{variable} / {step}"]
        times = pace.times
        for outer in reversed(request.around):
            name = self._variables[outer.node, outer.dim]
            count = name if outer.step == 1 else f"{name} / {outer.step}"
            number.append(f"{count} * {times}")
            times *= outer.times
        first = " + ".join(number)
        prefetch = self._instruction(request)
        if pace.lines == 1:
            due = f"if ({variable} % {step} == 0) " if pace.chunks > 1 else ""
            text = [f"{due}{{", f"  const long line = {first};", f"  {prefetch}", "}"]
            return Prefetch(1.0 / pace.chunks, text)
        text = [
            f"for (long more = 0; more < {pace.lines}; ++more) {{",
            f"  const long line = ({first}) * {pace.lines} + more;",
            f"  {prefetch}",
            "}",
        ]
        return Prefetch(float(pace.lines), text)

    def _instruction(self, request: PrefetchRequest) -> str:
        """The prefetch of the request's line number `line`."""
        view = self._views[request.node][request.operand]
        assert isinstance(view, MemoryView)
        tile = replace(view, address=view.address.plus(request.ahead))
        lines = Lines(tile, request.element)
        place, locality = lines.place("line"), self._locality(lines)
        return f"__builtin_prefetch(&{place}, {int(request.written)}, {locality});"

    def _locality(self, lines: Lines) -> int:
        """The locality argument in C: 3 fetches into L1, 2 into L2 if L1 has no room for panels.

        Rows always go into L1: they lie on many pages, and prefetches into L2 are then often lost.
        """
        room = self._target.levels[self._target.nearest].capacity
        return 2 if lines.tile.in_panels and lines.count > room // 2 else 3

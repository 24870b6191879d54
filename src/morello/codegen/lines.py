"""The cache lines of a tile in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from morello.codegen.views import MemoryView
from morello.ir.tensor import LINE_BYTES


@dataclass(frozen=True)
class Lines:
    """The cache lines of a tile whose elements have `element` bytes, numbered from 0."""

    tile: MemoryView
    element: int

    @property
    def count(self) -> int:
        per_run, others = self._runs()
        return per_run * math.prod(count for count, _ in others)

    def place(self, number: str, called: Mapping[str, str], *more: str) -> str:
        """The first element of line `number`, a C expression, as a C lvalue.

        `called` has the names in C of what the tile's address is made of, and `more` are C
        expressions that are added to it.
        """
        per_run, others = self._runs()
        parts = [
            self.tile.address.text(called),
            f"{number} % {per_run} * {LINE_BYTES // self.element}",
        ]
        before = per_run
        for count, step in others:
            if count > 1:
                parts.append(f"{number} / {before} % {count} * {step}")
            before *= count
        return f"{called[self.tile.pointer]}[{' + '.join([*parts, *more])}]"

    def _runs(self) -> tuple[int, list[tuple[int, int]]]:
        """The lines of a contiguous run, and count and stride of the runs along each dimension."""
        (count, step), *others = self.tile.spans()
        while others and others[0][1] == count * step:
            count *= others.pop(0)[0]
        return -(-((count - 1) * step + 1) * self.element // LINE_BYTES), others

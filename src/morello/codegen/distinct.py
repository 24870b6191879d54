"""Programs that are distinct as C: different schedules may generate the same code."""

from __future__ import annotations

from morello.codegen.source import generate
from morello.impl.tree import Impl


class Distinct:
    """A predicate: whether a program's C differs from that of every program it saw before."""

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def __call__(self, impl: Impl) -> bool:
        before = len(self._texts)
        self._texts.add(generate(impl).text)
        return len(self._texts) > before

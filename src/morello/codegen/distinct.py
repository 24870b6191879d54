"""Programs that are distinct as C: schedules may differ in nothing that code generation emits."""

from __future__ import annotations

from morello.codegen.source import generate
from morello.rewrites.impl import Impl


class Distinct:
    """A predicate: true of programs whose C is that of none which it was asked of before."""

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def __call__(self, impl: Impl) -> bool:
        before = len(self._texts)
        self._texts.add(generate(impl).text)
        return len(self._texts) > before

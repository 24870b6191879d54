"""How code generation stores large results, which no choice of a program tells."""

from __future__ import annotations

from dataclasses import dataclass

from morello.codegen.bypass import bypasses_caches, with_bypasses
from morello.codegen.copy_order import with_blocks_of_rows
from morello.codegen.lower import lower
from morello.codegen.statements import Call, walk
from morello.codegen.views import MemoryView
from morello.impl.tree import Impl
from morello.targets.helpers.bypassing import PAST


@dataclass(frozen=True)
class PastCaches:
    """The arrays that a program stores past the caches, and whether it copies blocks of rows."""

    results: frozenset[str] = frozenset()
    in_blocks: bool = False


def past_caches(impl: Impl) -> PastCaches:
    """Which stores of a complete program pass the caches, and whether it copies blocks of rows."""
    spec, target = impl.spec, impl.target
    operands = range(len(spec.dtypes))
    if not any(bypasses_caches(spec, operand, target) for operand in operands):
        return PastCaches()
    program = lower(impl)
    ordered = with_blocks_of_rows(program, spec, target)
    results = {
        view.pointer
        for call in walk(with_bypasses(ordered, spec, target))
        if isinstance(call, Call) and PAST in call.kernel.c
        for view in call.views[-1:] if isinstance(view, MemoryView)
    }  # fmt: skip
    return PastCaches(frozenset(results), [*ordered.body] != [*program.body])

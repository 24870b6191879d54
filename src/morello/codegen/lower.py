"""From an Impl to the statements that are printed as C: emission, and the passes after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from morello.base.debug import shows
from morello.codegen.emit import Emitter
from morello.codegen.parts import in_parts
from morello.codegen.prefetch import notes, with_prefetches
from morello.codegen.statements import Program
from morello.codegen.verifier import check
from morello.codegen.views import operand_views
from morello.impl.tree import Impl, ImplNode
from morello.ir.spec import Spec
from morello.targets.target import Target


def lower(
    impl: Impl,
    names: Mapping[str, str] | None = None,
    emitting: Callable[[Target, Spec], Emitter] = Emitter,
) -> Program:
    """The statements of a complete Impl, whose arrays have these names in C, by their own."""
    spec = impl.spec
    views = operand_views(spec, names or {array: array for array in spec.arrays})
    emitter = emitting(impl.target, spec)
    statements = with_prefetches(emitter.emit(ImplNode(impl), views), impl.target)
    statements = in_parts(statements)
    parameters = tuple(zip(views, spec.dtypes, strict=True))
    program = Program(parameters, statements, emitter.workspace)
    if shows("verify"):
        check(program, spec.expression)
    return program


def prefetch_notes(impl: Impl) -> dict[int, list[str]]:
    """Notes on the loops of a complete Impl that prefetch, by the number of the loop's node."""
    return notes(lower(impl).body)

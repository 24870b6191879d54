"""Straight-line code: the parts of programs without loops, which programs of a goal share.

What such a part calls and accesses is known of its Impl and of the shapes of its operands, whatever
is around it. So it is emitted once, for operands that begin at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from morello.codegen.emit import Emitter
from morello.codegen.loops import Loop
from morello.codegen.statements import (
    Block,
    Call,
    Deferred,
    Definition,
    Prefetchable,
    Statement,
    walk,
)
from morello.codegen.views import Address, MemoryView, RegisterView, View
from morello.impl.tree import Impl, ImplNode
from morello.ir.spec import Spec
from morello.rewrites import GroupRows, Parallel, ParallelSplit, SpatialSplit
from morello.targets.target import Target

_T = TypeVar("_T")


@dataclass(frozen=True)
class StraightCode:
    """Code without loops: what it defines, in its scopes, and the kernels that it calls.

    Operand n is called "n", and begins at 0.
    """

    definitions: Sequence[Statement]
    calls: Sequence[Call]


class StraightCodes:
    """The straight-line code of programs, and what `read` makes of each, once."""

    def __init__(self, read: Callable[[StraightCode], _T]) -> None:
        self._read = read
        self._known: dict[Hashable, object] = {}

    def emitter(self, target: Target, goal: Spec) -> Emitter:
        """An emitter of a goal's programs that defers the code that is known, or will be."""
        return _Deferring(target, goal, self)

    def of(self, key: Hashable, emit: Callable[[], Sequence[Statement]]) -> object:
        """The result of `read` for the code with this key, which is emitted if it is new."""
        if key not in self._known:
            statements = emit()
            calls = [s for s in walk(statements) if isinstance(s, Call)]
            self._known[key] = self._read(StraightCode(_definitions(statements), calls))
        return self._known[key]


class _Deferring(Emitter):
    """Emits loops, and what is without loops as `Deferred`."""

    def __init__(self, target: Target, goal: Spec, codes: StraightCodes) -> None:
        super().__init__(target, goal)
        self._codes, self._names = codes, (goal.operation, goal.names)
        self._defers = True
        self._straight: dict[int, bool] = {}

    def emit(self, node: ImplNode, views: Sequence[View]) -> list[Statement]:
        """The statements of a node of a complete Impl over these views of its operands."""
        impl = node.impl
        if not (self._defers and self._is_straight(impl)):
            return super().emit(node, views)
        around = tuple(self._around)
        alone = [_alone(view, str(number)) for number, view in enumerate(views)]
        key = (self._names, impl.spec, tuple(impl.decisions()), *map(_shape, alone))
        code = self._codes.of(key, lambda: self._now(node, alone, ()))
        return [Deferred(code, views, lambda: self._now(node, views, around))]

    def _now(self, node: ImplNode, views: Sequence[View], around: Sequence[str]) -> list[Statement]:
        """The statements of a node inside of loops with these variables."""
        before = self._around
        self._around, self._defers = [*around], False
        self._arrays |= {
            view.name: view.count for view in views
            if isinstance(view, RegisterView) and view.name not in self._arrays
        }  # fmt: skip
        try:
            return super().emit(node, views)
        finally:
            self._around, self._defers = before, True

    def _is_straight(self, impl: Impl) -> bool:
        """Whether the code of an Impl has no loops, and reads no elements in groups.

        Some without loops are taken for others: those of a single iteration.
        """
        if id(impl) not in self._straight:
            self._straight[id(impl)] = _goes_straight(impl) and all(
                not _grouped(impl.spec, child.impl.spec, child.tensors)
                and self._is_straight(child.impl)
                for child in impl.children
            )
        return self._straight[id(impl)]


def _goes_straight(impl: Impl) -> bool:
    """Whether the rewrite of an Impl makes no loops itself."""
    rewrite = impl.rewrite
    if isinstance(rewrite, Loop):
        return _over_registers(impl.spec, rewrite.dim, impl.target)
    return not isinstance(rewrite, GroupRows | SpatialSplit | Parallel | ParallelSplit)


def _alone(view: View, name: str) -> View:
    """The view of an operand of another name, that begins at 0 if it is in memory."""
    if isinstance(view, MemoryView):
        return replace(view, pointer=name, address=Address())
    return replace(view, name=name)


def _shape(view: View) -> Hashable:
    """A key that tells views of operands of the same name apart, but for their addresses."""
    if isinstance(view, MemoryView):
        return view.layout, view.strides, view.shape, view.dims, view.steps
    return view


def _over_registers(spec: Spec, dim: str, target: Target) -> bool:
    """Whether a loop over a dimension is unrolled, as an operand that it moves is in registers."""
    places = spec.operation.places
    return any(
        level == target.registers and (operand, dim) in places
        for operand, level in enumerate(spec.levels)
    )


def _grouped(spec: Spec, inner: Spec, tensors: Sequence[int]) -> bool:
    """Whether operands of a child are elements of the Spec's in groups."""
    numbers = tensors or range(len(spec.dtypes))
    return any(
        number < len(spec.dtypes) and dtype.lanes > spec.dtypes[number].lanes
        for number, dtype in zip(numbers, inner.dtypes, strict=True)
    )


def _definitions(statements: Sequence[Statement]) -> list[Statement]:
    """The definitions among statements, in their blocks."""
    kept: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Definition):
            kept.append(statement)
        elif isinstance(statement, Block | Prefetchable):
            kept.append(Block(_definitions(statement.body)))
    return kept

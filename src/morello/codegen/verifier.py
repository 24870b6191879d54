"""Checks that statements are sound, before they are printed.

Every name is defined once, before its use. Every view is of memory or registers that are declared,
is inside them whatever the loops' variables are, and has the dtype that they have. Every buffer is
inside the workspace. Prefetches may be of any address.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from morello.base.debug import show
from morello.base.errors import BuildError
from morello.codegen.statements import (
    Buffer,
    Call,
    For,
    Groups,
    ItemIndex,
    ParallelFor,
    Prefetch,
    Prefetchable,
    Program,
    Registers,
    Runs,
    Statement,
    bodies,
    walk,
)
from morello.codegen.views import Address, MemoryView, RegisterView
from morello.ir.dtype import DType
from morello.ir.spec import Spec


def check(program: Program, what: str) -> None:
    """Report that statements are sound; raises `BuildError`, with the first defect, if not."""
    for defect in defects(program):
        raise BuildError(
            f"the code that was generated for {what} is not sound: {defect}",
            "this is a defect of Morello, please report it",
        )
    show("verify", f"{what}: {sum(1 for _ in walk(program.body))} statements are sound")


def defects(program: Program) -> Iterator[str]:
    """The defects of a program's statements, in order."""
    scope = _Scope(program.workspace)
    for view, dtype in program.parameters:
        scope.memory[view.pointer] = _Memory(view.reach, dtype)
    yield from _Verifier().defects(program.body, scope)


@dataclass(frozen=True)
class _Memory:
    """The number of elements behind a pointer, and their dtype."""

    elements: int
    dtype: DType


@dataclass(frozen=True)
class _Scope:
    """The names that are known at a statement.

    Variables have their least and their greatest value, pointers the memory from there on. The
    workspace is in bytes.
    """

    workspace: int
    variables: dict[str, tuple[int, int]] = field(default_factory=dict)
    memory: dict[str, _Memory] = field(default_factory=dict)
    registers: dict[str, Registers] = field(default_factory=dict)

    def inner(self) -> _Scope:
        """A scope within this one."""
        return _Scope(self.workspace, {**self.variables}, {**self.memory}, {**self.registers})

    def of_region(self, loop: ParallelFor) -> _Scope:
        """The scope of a parallel loop's body, which has only what it names of this one."""
        return _Scope(
            loop.workspace,
            {name: ends for name, ends in self.variables.items() if name in loop.variables},
            {name: memory for name, memory in self.memory.items() if name in loop.pointers},
        )

    def ends(self, address: Address) -> tuple[int, int]:
        """The least and the greatest value of an address whose variables are known."""
        low = high = address.constant
        for variable, coefficient in address.terms.items():
            ends = [coefficient * end for end in self.variables[variable]]
            low, high = low + min(ends), high + max(ends)
        return low, high


class _Verifier:
    def __init__(self) -> None:
        self._defined: set[str] = set()

    def defects(self, statements: Sequence[Statement], scope: _Scope) -> Iterator[str]:
        for statement in statements:
            yield from self._statement(statement, scope)

    def _statement(self, statement: Statement, scope: _Scope) -> Iterator[str]:
        if isinstance(statement, Call):
            yield from _call(statement, scope)
        elif isinstance(statement, For):
            yield from self._for(statement, scope)
        elif isinstance(statement, ParallelFor):
            yield from self._define(statement.name)
            yield from _unknown(statement.pointers, scope.memory, "pointer")
            yield from _unknown(statement.variables, scope.variables, "variable")
            yield from self.defects(statement.body, scope.of_region(statement))
        elif isinstance(statement, Prefetch):
            variables = [*statement.tile.address.terms, *(t.variable for t in statement.turns)]
            yield from _unknown([statement.tile.pointer], scope.memory, "pointer")
            yield from _unknown(variables, scope.variables, "variable")
        elif isinstance(statement, Runs):
            yield from self._runs(statement, scope)
        elif isinstance(statement, Buffer | Registers | Groups | ItemIndex):
            yield from self._definition(statement, scope)
        else:
            if isinstance(statement, Prefetchable):
                yield from _memory(statement.tile, scope)
            for body in bodies(statement):
                yield from self.defects(body, scope.inner())

    def _define(self, name: str) -> Iterator[str]:
        if name in self._defined:
            yield f"{name} is defined twice"
        self._defined.add(name)

    def _for(self, loop: For, scope: _Scope) -> Iterator[str]:
        yield from self._define(loop.variable)
        inner = scope.inner()
        low = high = 0
        if loop.start:
            yield from _unknown([loop.start], scope.variables, "variable")
            low, high = scope.variables.get(loop.start, (0, 0))
        inner.variables[loop.variable] = low, high + loop.last
        yield from self.defects(loop.body, inner)

    def _runs(self, runs: Runs, scope: _Scope) -> Iterator[str]:
        for name in runs.names:
            yield from self._define(name)
        yield from _memory(runs.numbers, scope)
        for block in runs.blocks:
            inner = scope.inner()
            inner.variables[runs.group] = 0, runs.groups - 1
            inner.variables[runs.row] = 0, runs.rows - block.rows
            yield from self.defects(block.body, inner)
        inner = scope.inner()
        inner.variables[runs.row] = 0, runs.rows - 1
        yield from self.defects(runs.otherwise, inner)

    def _definition(
        self, statement: Buffer | Registers | Groups | ItemIndex, scope: _Scope
    ) -> Iterator[str]:
        yield from self._define(statement.name)
        if isinstance(statement, ItemIndex):
            scope.variables[statement.name] = 0, statement.last
        elif isinstance(statement, Registers):
            scope.registers[statement.name] = statement
        elif isinstance(statement, Buffer):
            elements, dtype = statement.view.reach, statement.tensor.dtype
            scope.memory[statement.name] = _Memory(elements, dtype)
            end = statement.offset + elements * dtype.bytes
            if end > scope.workspace:
                yield f"{statement.name} ends at byte {end} of a workspace of {scope.workspace}"
        else:
            tile, lanes = statement.tile, statement.lanes
            yield from _memory(tile, scope)
            memory = scope.memory.get(tile.pointer, _Memory(0, statement.dtype))
            before = 0
            if tile.address.divided(lanes) is None and {*tile.address.terms} <= {*scope.variables}:
                _, before = scope.ends(tile.address)
            groups = (memory.elements - before) // lanes
            scope.memory[statement.name] = _Memory(groups, statement.dtype)


def _call(call: Call, scope: _Scope) -> Iterator[str]:
    operands = zip(call.spec.operation.operands, call.spec.dtypes, call.views, strict=True)
    for number, (operand, dtype, view) in enumerate(operands):
        if isinstance(view, MemoryView):
            wrong = _memory(_of_shape(view, call.spec, number), scope, dtype)
        else:
            wrong = _registers(view, scope, dtype)
        yield from (f"{operand.name} of {call.kernel.name}: {defect}" for defect in wrong)


def _of_shape(view: MemoryView, spec: Spec, operand: int) -> MemoryView:
    """The view with the shape of a Spec's operand, whose elements may be further apart."""
    shape = list(view.shape)
    for own, size in zip(view.dims, spec.shape(operand), strict=True):
        shape[own] = size
    return replace(view, shape=tuple(shape))


def _memory(view: MemoryView, scope: _Scope, dtype: DType | None = None) -> Iterator[str]:
    """The defects of a tile in memory; it has this dtype, if one is given."""
    unknown = [
        *_unknown([view.pointer], scope.memory, "pointer"),
        *_unknown(view.address.terms, scope.variables, "variable"),
    ]
    yield from unknown
    if unknown:
        return
    memory, (low, high) = scope.memory[view.pointer], scope.ends(view.address)
    if dtype is not None and dtype != memory.dtype:
        yield f"{view.pointer} has elements of {memory.dtype}, not of {dtype}"
    if low < 0 or high + view.reach > memory.elements:
        last = high + view.reach - 1
        yield f"elements {low} to {last} of {view.pointer}, which has {memory.elements}"


def _registers(view: RegisterView, scope: _Scope, dtype: DType) -> Iterator[str]:
    """The defects of a tile in registers, which has this dtype."""
    if view.name not in scope.registers:
        yield from _unknown([view.name], scope.registers, "array of registers")
        return
    declared = scope.registers[view.name]
    if (dtype, view.width) != (declared.dtype, declared.view.width):
        yield f"{view.name} has registers of {declared.dtype}x{declared.view.width}"
    ends = [start + n for start, n in zip(view.first(), view.counts(), strict=True)]
    if any(end > n for end, n in zip(ends, declared.view.counts(), strict=True)):
        yield f"registers up to {ends} of {view.name}, which has {declared.view.counts()}"


def _unknown(names: Iterable[str], known: Collection[str], kind: str) -> Iterator[str]:
    """Names that are used and not known."""
    yield from (f"{name} is no {kind} that is known here" for name in names if name not in known)

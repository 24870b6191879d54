"""A program as a loop nest: loops, the kernels called in each, and the memory that they access.

These are taken from the statements that code generation lowers an Impl to, before they are printed
as C.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from morello.codegen.lower import lower
from morello.codegen.names import Names, in_c
from morello.codegen.statements import Block, Call, For, If, Prefetch, Statement
from morello.codegen.views import MemoryView, RegisterView
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.targets.target import LeafKernel

Dims = tuple[tuple[int, int], ...]
"""Counts and byte steps of a regular set of addresses."""


@dataclass(frozen=True)
class Access:
    """The memory of an operand of a call.

    It begins at the byte `start` of an `array`, moves by `steps` bytes with each iteration of the
    named loops, and has `size` bytes at each address that `spans` gives.
    """

    array: str
    steps: tuple[tuple[str, int], ...]
    spans: Dims
    size: int
    start: int
    read: bool
    written: bool

    @property
    def elements(self) -> int:
        """How many elements a call touches."""
        return prod(n for n, _ in self.spans)

    @property
    def bytes(self) -> int:
        """How many bytes a call touches."""
        return self.elements * self.size


@dataclass(frozen=True)
class Site:
    """A kernel called in a loop on operands of the same shapes, one or more times.

    `instructions` counts the repeats of its line of C, `sums` are the registers that it
    accumulates into, `accesses` those of all its calls.
    """

    kernel: LeafKernel
    spec: Spec
    calls: int
    instructions: int
    sums: frozenset[str]
    accesses: tuple[Access, ...]


@dataclass(frozen=True)
class ProgramLoop:
    """A loop of `times` iterations, and what is directly in it. The whole program is one, of 1.

    `depth` counts the loops around it, `inner` are those in it, in order. `prefetched` is the
    number of cache lines that each iteration prefetches.
    """

    name: str
    times: int
    depth: int
    sites: tuple[Site, ...]
    inner: tuple[ProgramLoop, ...]
    prefetched: float

    def walk(self) -> Iterator[ProgramLoop]:
        """This loop and all in it, in pre-order."""
        yield self
        for loop in self.inner:
            yield from loop.walk()


def nest(impl: Impl) -> ProgramLoop:
    """The loop nest of a complete Impl for one thread."""
    statements = lower(impl).body
    return _Reader(in_c(statements, Names(impl.spec.arrays))).loop("", 1, 0, statements, {})


@dataclass
class _Body:
    """The statements directly in a loop."""

    calls: list[Call] = field(default_factory=list)
    loops: list[For] = field(default_factory=list)
    prefetched: float = 0.0

    def add(self, statements: Iterable[Statement]) -> None:
        for statement in statements:
            if isinstance(statement, Call):
                self.calls.append(statement)
            elif isinstance(statement, For):
                self.loops.append(statement)
            elif isinstance(statement, Prefetch):
                self.prefetched += statement.lines
            elif isinstance(statement, Block | If):
                self.add(statement.body)


class _Reader:
    """Builds loops. Buffers that are never in use at the same time have one name, as in C."""

    def __init__(self, called: Mapping[str, str]) -> None:
        self._called = called

    def loop(
        self,
        name: str,
        times: int,
        depth: int,
        statements: Iterable[Statement],
        around: Mapping[str, For],
    ) -> ProgramLoop:
        body = _Body()
        body.add(statements)
        inner = (
            self.loop(
                loop.variable, loop.times, depth + 1, loop.body, {**around, loop.variable: loop}
            )
            for loop in body.loops
        )
        sites = tuple(self._sites(body.calls, around))
        return ProgramLoop(name, times, depth, sites, tuple(inner), body.prefetched)

    def _sites(self, calls: Sequence[Call], around: Mapping[str, For]) -> Iterator[Site]:
        """The calls of a loop, grouped by kernel and shapes."""
        alike: dict[tuple[str, Spec], list[Call]] = {}
        for call in calls:
            alike.setdefault((call.kernel.name, call.spec), []).append(call)
        for group in alike.values():
            yield Site(
                group[0].kernel,
                group[0].spec,
                len(group),
                sum(call.repeats for call in group),
                frozenset(name for call in group for name in self._sums(call)),
                tuple(access for call in group for access in self._accesses(call, around)),
            )

    def _sums(self, call: Call) -> Iterator[str]:
        """The registers that a call reads and writes."""
        operation = call.spec.operation
        for index, (operand, view) in enumerate(zip(operation.operands, call.views, strict=True)):
            if operand.written and operation.reads(index) and isinstance(view, RegisterView):
                yield from view.registers(self._called)

    def _accesses(self, call: Call, around: Mapping[str, For]) -> Iterator[Access]:
        operation = call.spec.operation
        for index, (operand, view) in enumerate(zip(operation.operands, call.views, strict=True)):
            if not isinstance(view, MemoryView):
                continue
            size = call.spec.dtypes[index].bytes
            steps: dict[str, int] = {}
            for name, coefficient in view.address.terms.items():
                while name in around:  # an inner loop may start from an outer loop's variable
                    loop = around[name]
                    steps[name] = steps.get(name, 0) + coefficient * size * loop.step
                    name = loop.start
            yield Access(
                self._called[view.pointer],
                tuple(sorted(steps.items())),
                tuple((n, step * size) for n, step in view.spans() if n > 1),
                size,
                view.address.constant * size,
                operation.reads(index),
                operand.written,
            )

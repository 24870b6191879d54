"""A program as it runs: loops, the kernels called in each, and the memory that they access.

An Impl says where tiles are; the machine sees loops, instructions and addresses. These are read
off the statements that code generation makes of an Impl, before they are printed as C.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod

from morello.codegen.source import lowered
from morello.codegen.statements import Block, Call, For, If, Prefetch, Statement
from morello.codegen.views import MemoryView, RegisterView
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.targets.target import Kernel

Dims = tuple[tuple[int, int], ...]
"""Counts and byte steps of a regular set of addresses."""


@dataclass(frozen=True)
class Access:
    """Where a call finds an operand in memory.

    From the byte `start` of an `array`, plus `steps` bytes with each iteration of the loops of
    those names, `size` bytes at each address that `spans` gives.
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
    """A kernel called in a loop on operands of the same shapes, perhaps several times.

    `instructions` are the repeats of its line of C, `sums` the registers that it adds to,
    `accesses` those of all its calls.
    """

    kernel: Kernel
    spec: Spec
    calls: int
    instructions: int
    sums: frozenset[str]
    accesses: tuple[Access, ...]


@dataclass(frozen=True)
class Loop:
    """A loop of `times` iterations, and what is directly in it; the whole program is one, of 1.

    `depth` counts the loops around it, `inner` are those in it, in order. `prefetched` are the
    cache lines asked for with each iteration.
    """

    name: str
    times: int
    depth: int
    sites: tuple[Site, ...]
    inner: tuple[Loop, ...]
    prefetched: float

    def walk(self) -> Iterator[Loop]:
        """This loop and all in it, in pre-order."""
        yield self
        for loop in self.inner:
            yield from loop.walk()


def nest(impl: Impl) -> Loop:
    """The loop nest of a complete Impl for one thread."""
    return _Reader().loop("", 1, 0, lowered(impl), {})


@dataclass(frozen=True)
class _Variable:
    """A loop's variable in C: the loop's name, what it grows by, and the one it starts from."""

    loop: str
    step: int
    start: str


@dataclass
class _Body:
    """What is directly in a loop."""

    calls: list[Call] = field(default_factory=list)
    loops: list[For] = field(default_factory=list)
    prefetched: float = 0.0

    def add(self, statements: Iterable[Statement]) -> None:
        for one in statements:
            if isinstance(one, Call):
                self.calls.append(one)
            elif isinstance(one, For):
                self.loops.append(one)
            elif isinstance(one, Prefetch):
                self.prefetched += one.lines
            elif isinstance(one, Block | If):
                self.add(one.body)


class _Reader:
    """Reads loops, and names them: in C, loops beside each other may have the same variable."""

    def __init__(self) -> None:
        self._numbers = count()

    def loop(
        self,
        name: str,
        times: int,
        depth: int,
        statements: Iterable[Statement],
        variables: Mapping[str, _Variable],
    ) -> Loop:
        body = _Body()
        body.add(statements)
        inner = []
        for one in body.loops:
            own = f"{one.variable}.{next(self._numbers)}"
            known = {**variables, one.variable: _Variable(own, one.step, one.start)}
            inner.append(self.loop(own, one.times, depth + 1, one.body, known))
        sites = tuple(_sites(body.calls, variables))
        return Loop(name, times, depth, sites, tuple(inner), body.prefetched)


def _sites(calls: Sequence[Call], variables: Mapping[str, _Variable]) -> Iterator[Site]:
    """Calls of the same kernel on the same shapes together."""
    alike: dict[tuple[str, Spec], list[Call]] = {}
    for call in calls:
        alike.setdefault((call.kernel.name, call.spec), []).append(call)
    for some in alike.values():
        yield Site(
            some[0].kernel,
            some[0].spec,
            len(some),
            sum(one.repeats for one in some),
            frozenset(name for one in some for name in _sums(one)),
            tuple(access for one in some for access in _accesses(one, variables)),
        )


def _sums(call: Call) -> Iterator[str]:
    """The registers that a call reads and writes."""
    operation = call.spec.operation
    for index, (operand, view) in enumerate(zip(operation.operands, call.views, strict=True)):
        if operand.written and operation.reads(index) and isinstance(view, RegisterView):
            yield from view.names()


def _accesses(call: Call, variables: Mapping[str, _Variable]) -> Iterator[Access]:
    operation = call.spec.operation
    for index, (operand, view) in enumerate(zip(operation.operands, call.views, strict=True)):
        if not isinstance(view, MemoryView):
            continue
        size = call.spec.dtypes[index].bytes
        steps: dict[str, int] = {}
        for name, coefficient in view.address.terms.items():
            while name in variables:  # an inner loop may go on from where an outer one is
                one = variables[name]
                steps[one.loop] = steps.get(one.loop, 0) + coefficient * size * one.step
                name = one.start
        yield Access(
            view.pointer,
            tuple(sorted(steps.items())),
            tuple((n, step * size) for n, step in view.spans() if n > 1),
            size,
            view.address.constant * size,
            operation.reads(index),
            operand.written,
        )

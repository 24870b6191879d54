"""A program as a loop nest: loops, the kernels called in each, and the memory that they access.

These are taken from the statements that code generation lowers an Impl to, before they are printed
as C.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import prod

from morello.codegen.lower import lower
from morello.codegen.names import Names, NamesInC, define, in_c, stem
from morello.codegen.statements import Block, Call, Deferred, For, If, Prefetch, Runs, Statement
from morello.codegen.views import MemoryView
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.learn.straight import StraightCode, StraightCodes
from morello.targets.target import LeafKernel

Dims = tuple[tuple[int, int], ...]
"""Counts and byte steps of a regular set of addresses."""


Register = tuple[str, str]
"""An array of registers, and the place of one of them in it."""

Places = dict[str, tuple[Mapping[str, int], int]]
"""The elements by which operands move with loops, and those from their arrays' starts to them."""


@dataclass(frozen=True)
class Access:
    """The memory of an operand, of one or more calls.

    It begins at the bytes `starts` of an `array`, one for each call, moves by `steps` bytes with
    each iteration of the named loops, and has `size` bytes at each address that `spans` gives.
    If data say where it is, it is one of the places whose number and step are `chosen_of`.
    """

    array: str
    steps: tuple[tuple[str, int], ...]
    spans: Dims
    size: int
    starts: tuple[int, ...]
    read: bool
    written: bool
    chosen_of: tuple[int, int] = (1, 0)

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
    sums: frozenset[Register]
    accesses: tuple[Access, ...]

    def joined(self, other: Site) -> Site:
        """The calls of two sites of one kernel."""
        return replace(
            self,
            calls=self.calls + other.calls,
            instructions=self.instructions + other.instructions,
            sums=self.sums | other.sums,
            accesses=self.accesses + other.accesses,
        )


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


class Nests:
    """Makes loop nests of programs, and keeps what many of them share."""

    def __init__(self) -> None:
        self._codes = StraightCodes(_Code.of)

    def of(self, impl: Impl) -> ProgramLoop:
        """The loop nest of a complete Impl for one thread."""
        statements = lower(impl, emitting=self._codes.emitter).body
        return _Reader(Names(impl.spec.arrays)).loop("", 1, 0, statements, {})


@dataclass(frozen=True)
class _Code:
    """Straight-line code as `Site`s, on arrays that are called as in `StraightCode`."""

    definitions: Sequence[Statement]
    sites: tuple[Site, ...]

    @classmethod
    def of(cls, code: StraightCode) -> _Code:
        alike: dict[tuple[str, Spec], list[Call]] = {}
        for call in code.calls:
            alike.setdefault((call.kernel.name, call.spec), []).append(call)
        return cls(code.definitions, tuple(map(_site, alike.values())))


@dataclass
class _Body:
    """The direct contents of a loop: the sites by kernel and Spec, and the loops."""

    sites: dict[tuple[str, Spec], Site] = field(default_factory=dict)
    inner: list[ProgramLoop] = field(default_factory=list)
    prefetched: float = 0.0

    def add(self, site: Site) -> None:
        key = site.kernel.name, site.spec
        self.sites[key] = self.sites[key].joined(site) if key in self.sites else site


class _Reader:
    """Builds loops. Buffers that are never in use at the same time have one name, as in C."""

    def __init__(self, names: Names) -> None:
        self._names, self._called = names, NamesInC()

    def loop(
        self,
        name: str,
        times: int,
        depth: int,
        statements: Iterable[Statement],
        around: Mapping[str, For],
    ) -> ProgramLoop:
        body = _Body()
        self._read(statements, body, depth, around)
        sites, inner = tuple(body.sites.values()), tuple(body.inner)
        return ProgramLoop(name, times, depth, sites, inner, body.prefetched)

    def _read(
        self, statements: Iterable[Statement], body: _Body, depth: int, around: Mapping[str, For]
    ) -> None:
        for statement in statements:
            define(statement, self._called, self._names)
            with self._names.scope():
                if isinstance(statement, Deferred):
                    for site in self._sites(statement, around):
                        body.add(site)
                elif isinstance(statement, For):
                    variable = statement.variable
                    self._called[variable] = self._names.fresh(stem(variable))
                    inside = {**around, variable: statement}
                    body.inner.append(
                        self.loop(variable, statement.times, depth + 1, statement.body, inside)
                    )
                elif isinstance(statement, Runs):
                    for each in statement.names:
                        self._called[each] = self._names.fresh(stem(each))
                    group = statement.group  # each block reads another matrix
                    inside = {**around, group: For(group, statement.groups, 1, ())}
                    for block in statement.blocks:
                        body.inner.append(
                            self.loop(group, block.times, depth + 1, block.body, inside)
                        )
                elif isinstance(statement, Prefetch):
                    body.prefetched += statement.lines
                elif isinstance(statement, Block | If):
                    self._read(statement.body, body, depth, around)

    def _sites(self, deferred: Deferred, around: Mapping[str, For]) -> Iterator[Site]:
        """The sites of straight-line code, where it is."""
        code: _Code = deferred.code
        called = in_c(code.definitions, self._names)
        places: Places = {}
        for number, view in enumerate(deferred.views):
            if isinstance(view, MemoryView):
                called[str(number)] = self._called[view.pointer]
                places[str(number)] = _steps(view, around), view.address.constant
            else:
                called[str(number)] = self._called[view.name]
        for site in code.sites:
            yield replace(
                site,
                sums=frozenset((called[array], number) for array, number in site.sums),
                accesses=tuple(
                    _placed(_spread(a, site, places, around), called[a.array], places)
                    for a in site.accesses
                ),
            )


def _placed(access: Access, array: str, places: Places) -> Access:
    """An access to an operand, where that is; to a buffer of the code itself, as it was."""
    steps, start = places.get(access.array, ({}, 0))
    size = access.size
    moved = [*access.steps, *((name, step * size) for name, step in steps.items())]
    starts = tuple([first + start * size for first in access.starts])
    return Access(
        array, tuple(sorted(moved)), access.spans, size, starts, access.read, access.written
    )


def _spread(access: Access, site: Site, places: Places, around: Mapping[str, For]) -> Access:
    """An access whose place data say, as if its calls took places evenly apart, in order.

    Each iteration of the loops that move other operands of its site, but not it, takes another.
    """
    count, stride = access.chosen_of
    if count == 1:
        return access
    moved = {name for other in site.accesses for name in places.get(other.array, ({}, 0))[0]}
    loops = [name for name in around if name in moved - places.get(access.array, ({}, 0))[0].keys()]
    calls = len(access.starts)
    every = calls * prod(around[name].times for name in loops)
    apart = count * stride // every // access.size * access.size
    step = count // every * stride or max(apart, access.size)
    starts = tuple([start + step * n for n, start in enumerate(access.starts)])
    steps, reach = [], step * calls
    for name in reversed(loops):
        steps.append((name, reach))
        reach *= around[name].times
    return replace(access, starts=starts, steps=tuple(steps))


def _steps(view: MemoryView, around: Mapping[str, For]) -> dict[str, int]:
    """The elements by which a view moves with each iteration of the loops around it, by loop."""
    steps: dict[str, int] = {}
    for name, coefficient in view.address.terms.items():
        while name in around:  # an inner loop may start from an outer loop's variable
            loop = around[name]
            steps[name] = steps.get(name, 0) + coefficient * loop.step
            name = loop.start
    return steps


def _site(calls: Sequence[Call]) -> Site:
    """Calls of one kernel on operands of the same shapes, which begin at 0."""
    kernel, spec = calls[0].kernel, calls[0].spec
    operands = spec.operation.operands
    kept = [(n, spec.operation.reads(n), operand.written) for n, operand in enumerate(operands)]
    starts: dict[tuple[int, str, Dims, tuple[int, int]], list[int]] = {}
    sums: set[Register] = set()
    for call in calls:
        for (number, read, written), view in zip(kept, call.views, strict=True):
            if isinstance(view, MemoryView):
                chosen_of, own = _choice(spec, number, view)
                spans = tuple([span for span in own.spans() if span[0] > 1])
                here = starts.setdefault((number, view.pointer, spans, chosen_of), [])
                here.append(view.address.constant)
            elif read and written:
                sums |= {(view.name, register) for register in view.registers({view.name: ""})}
    accesses: list[Access] = []
    for (number, pointer, spans, (rows, stride)), here in starts.items():
        (_, read, written), size = kept[number], spec.dtypes[number].bytes
        dims = tuple((count, step * size) for count, step in spans)
        first = tuple(start * size for start in here)
        chosen_of = rows, stride * size
        accesses.append(Access(pointer, (), dims, size, first, read, written, chosen_of))
    repeats = sum(call.repeats for call in calls)
    return Site(kernel, spec, len(calls), repeats, frozenset(sums), tuple(accesses))


def _choice(spec: Spec, operand: int, view: MemoryView) -> tuple[tuple[int, int], MemoryView]:
    """The number and step of an operand's places of which data choose one, and one of them.

    These are along a dimension that no other operand has, and is not reduced: rows of `take`.
    """
    operation = spec.operation
    if operation.primitive is not None and operation.primitive.indices:
        others = [each.dims for n, each in enumerate(operation.operands) if n != operand]
        known = {*operation.reduced, *chain(*others)}
        for place, dim in enumerate(operation.operands[operand].dims):
            if dim not in known:
                return (view.extents[place], view.step(place)), view.cut(place, 1, 0, None, 1)
    return (1, 0), view

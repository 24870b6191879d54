"""From statements to lines of C."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from morello.codegen.calls import kernel_lines
from morello.codegen.lines import Lines
from morello.codegen.parallel import Region
from morello.codegen.statements import (
    Barrier,
    Block,
    Buffer,
    Call,
    Clobber,
    Fence,
    For,
    Groups,
    If,
    ItemIndex,
    ParallelFor,
    Prefetch,
    Registers,
    Runs,
    Shared,
    Statement,
    Tiles,
    walk,
)
from morello.codegen.views import MemoryView
from morello.ir.dtype import DType
from morello.targets.target import c_type

UNROLLED = 4
"""The most iterations of a reduction loop that are unrolled."""

INTERLEAVED = 8
"""The longest stride, in elements, that clang loads by shuffles."""


class Printer:
    """Prints statements, and gathers their parallel loops.

    `called` are the identifiers in C of the statements' names, and `pointers` the C types that the
    parameters point to, by name.
    """

    def __init__(self, called: Mapping[str, str], pointers: Mapping[str, str]) -> None:
        self.regions: list[Region] = []
        self._called = called
        self._pointers = dict(pointers)

    def lines(self, statements: Sequence[Statement]) -> list[str]:
        lines: list[str] = []
        for statement in statements:
            if isinstance(statement, Call):
                lines += kernel_lines(statement, self._called)
            elif isinstance(statement, For):
                lines += self._for(statement)
            elif isinstance(statement, Block):
                lines += ["{", *self._indented(statement.body), "}"]
            elif isinstance(statement, If):
                lines += [f"if ({statement.condition}) {{", *self._indented(statement.body)]
                lines += ["} else {", *self._indented(statement.otherwise), "}"]
            elif isinstance(statement, ParallelFor):
                lines += self._parallel_for(statement)
            elif isinstance(statement, Shared):
                lines += self._shared(statement)
            elif isinstance(statement, Tiles):
                lines += [line for loop in statement.loops for line in self.lines(loop)]
            elif isinstance(statement, Runs):
                lines += self._runs(statement)
            elif isinstance(statement, Prefetch):
                lines += self._prefetch(statement)
            elif isinstance(statement, Buffer | Groups):
                lines.append(self._pointer(statement))
            elif isinstance(statement, Registers):
                view, name = statement.view, self._called[statement.name]
                dims = "".join(f"[{count}]" for count in view.counts())
                lines.append(f"{c_type(statement.dtype, view.width)} {name}{dims};")
            elif isinstance(statement, Barrier):
                variable = self._called[statement.variable]
                lines.append(f'__asm__ volatile("" : "+r"({variable}) : : "memory");')
            elif isinstance(statement, Clobber):
                names = ", ".join(f'"{name}"' for name in statement.registers)
                lines.append(f'__asm__ volatile("" : : : {names});')
            elif isinstance(statement, Fence):
                lines.append("__builtin_ia32_sfence();")
            elif isinstance(statement, ItemIndex):
                lines.append(f"const long {self._called[statement.name]} = {statement.value};")
            else:
                lines += self.lines(statement.body)
        return lines

    def _indented(self, statements: Sequence[Statement]) -> list[str]:
        return ["  " + line for line in self.lines(statements)]

    def _for(self, loop: For) -> list[str]:
        variable = self._called[loop.variable]
        start = self._called[loop.start] if loop.start else "0"
        end = f"{start} + {loop.size}" if loop.start else str(loop.size)
        step = f"++{variable}" if loop.step == 1 else f"{variable} += {loop.step}"
        head = f"for (long {variable} = {start}; {variable} < {end}; {step}) {{"
        last = f"{start} + {loop.last}" if loop.start else str(loop.last)
        clamp = [f"  if ({variable} > {last}) {variable} = {last};"] if loop.overlaps else []
        if _gathers(loop):
            clamp.append('  __asm__ volatile("");  // no gathers')
        times = _unrolled(loop)
        hint = [f"#pragma GCC unroll {times}"] if times > 1 else []
        return [*hint, head, *clamp, *self._indented(loop.body), "}"]

    def _runs(self, runs: Runs) -> list[str]:
        """A loop over runs, and in it one over blocks (see `rewrites.grouped.blocks_of`)."""
        called, vector, most = self._called, runs.numbers, runs.blocks[-1].rows
        group, row, first, last, begin, size = map(called.__getitem__, runs.names)
        fits = f"2 * {size} <= {last} - {first}"

        def number(of: str) -> str:
            place = vector.address.plus(0, of, vector.step(0))
            return f"{called[vector.pointer]}[{place.text(called)}]"

        lines = [
            f"for (long {first} = 0, {last}; {first} < {runs.rows}; {first} = {last}) {{",
            f"  const long {group} = {number(first)};",
            f"  {last} = {first} + 1;",
            f"  while ({last} < {runs.rows} && {number(last)} == {group})",
            f"    ++{last};",
            f"  if ({group} < 0 || {group} >= {runs.groups}) {{",
            f"    for (long {row} = {first}; {row} < {last}; ++{row}) {{",
            *("    " + line for line in self._indented(runs.otherwise)),
            "    }",
            "    continue;",
            "  }",
            f"  for (long {begin} = {first}, {size}; {begin} < {last}; {begin} += {size}) {{",
            f"    {size} = {most};",
            f"    while ({size} > {last} - {begin})",
            f"      {size} /= 2;",
            f"    if ({size} < {last} - {begin} && {fits} && {size} < {most})",
            f"      {size} *= 2;",
            f"    const long {row} = {begin} + {size} > {last} ? {last} - {size} : {begin};",
            f"    switch ({size}) {{",
        ]
        for block in runs.blocks:
            lines += [f"    case {block.rows}: {{"]
            lines += ["    " + line for line in self._indented(block.body)]
            lines += ["    } break;"]
        return [*lines, "    }", "  }", "}"]

    def _pointer(self, statement: Buffer | Groups) -> str:
        name = self._called[statement.name]
        if isinstance(statement, Groups):
            tile, lanes = statement.tile, statement.lanes
            c = f"const {_pointee(statement.dtype)}"
            start = self._called[tile.pointer]
            if tile.address.divided(lanes) is None:
                start = f"&{tile.first(self._called)}"
            self._pointers[name] = c
            return f"{c} *const restrict {name} = ({c} *){start};"
        tensor, c = statement.tensor, _pointee(statement.tensor.dtype)
        self._pointers[name] = c
        shape = f"{tensor.dtype}[{','.join(map(str, tensor.shape))}]{tensor.placement.layout}"
        memory = f"({c} *)(workspace + {statement.offset})"
        return f"{c} *const restrict {name} = {memory};  /* {shape} */"

    def _parallel_for(self, loop: ParallelFor) -> list[str]:
        """The call that runs all items of a parallel loop, which becomes a function."""
        name = self._called[loop.name]
        pointers = {n: self._pointers[n] for n in map(self._called.__getitem__, loop.pointers)}
        variables = tuple(self._called[variable] for variable in loop.variables)
        body = tuple(self.lines(loop.body))
        region = Region(
            name, pointers, variables, body, loop.workspace,
            loop.items, loop.parts, loop.last_parts, self._called[loop.counter],
        )  # fmt: skip
        self.regions.append(region)
        return [
            "{",
            f"  {region.environment}",
            f"  run_parallel(run, pool, {name}, &environment, {region.all_parts});",
            "}",
        ]

    def _shared(self, shared: Shared) -> list[str]:
        """Statements that fill a buffer, if the thread has not filled it for these parts."""
        if not shared.part:
            return self.lines(shared.body)
        name, key = self._called[shared.name], f"taken->run + work - {shared.part}"
        return [
            f"static _Thread_local unsigned long {name};",
            f"if ({name} != {key}) {{",
            *self._indented(shared.body),
            f"  {name} = {key};",
            "}",
        ]

    def _prefetch(self, prefetch: Prefetch) -> list[str]:
        """A block that prefetches the line, or the lines, whose turn it is."""
        first, *others = (self._turn(turn.variable, turn.step) for turn in prefetch.turns)
        weighted = zip(others, prefetch.turns[1:], strict=True)
        number = " + ".join([first, *(f"{text} * {turn.weight}" for text, turn in weighted)])
        wrap = prefetch.wrap
        more = [f"({self._called[wrap.variable]} == {wrap.last}) * {wrap.elements}"] if wrap else []
        place = Lines(prefetch.tile, prefetch.element).place("line", self._called, *more)
        call = f"__builtin_prefetch(&{place}, {int(prefetch.written)}, {prefetch.locality});"
        at_once = prefetch.at_once
        if at_once > 1:
            return [
                f"for (long more = 0; more < {at_once}; ++more) {{",
                f"  const long line = ({number}) * {at_once} + more;",
                f"  {call}",
                "}",
            ]
        own = prefetch.turns[0]
        turn = f"{self._called[own.variable]} % {own.step} == 0"
        due = f"if ({turn}) " if prefetch.every > 1 else ""
        return [f"{due}{{", f"  const long line = {number};", f"  {call}", "}"]

    def _turn(self, variable: str, step: int) -> str:
        name = self._called[variable]
        return name if step == 1 else f"{name} / {step}"


def _unrolled(loop: For) -> int:
    """How many iterations of a sum of products compilers are told to unroll, a divisor of all.

    They keep loops whose steps fill the registers, and the exit of a short one is mispredicted. A
    loop whose variable a barrier changes cannot be unrolled.
    """
    inside = list(walk(loop.body))
    calls = [call for call in inside if isinstance(call, Call)]
    if not (loop.reduction and any(call.spec.operation.is_product for call in calls)):
        return 1
    if any(isinstance(statement, For | Barrier) for statement in inside):
        return 1
    return next(n for n in range(UNROLLED, 0, -1) if loop.times % n == 0)


def _gathers(loop: For) -> bool:
    """Whether compilers might make gathers or scatters of a loop over single elements.

    These take several times as long as scalar code: for sums of rows of 10 elements, 4 times.
    """
    calls = [statement for statement in walk(loop.body) if isinstance(statement, Call)]
    strides = (
        view.address.terms.get(loop.variable, 0) * loop.step
        for call in calls
        for view in call.views
        if isinstance(view, MemoryView)
    )
    single = all(math.prod(call.spec.sizes) == 1 for call in calls)
    return single and any(stride > INTERLEAVED for stride in strides)


def _pointee(dtype: DType) -> str:
    """The C type that pointers to a dtype point to; packed groups may be unaligned."""
    return dtype.c if dtype.lanes == 1 else "group_t"

"""The page of a program: its steps, what each might have been, and its C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from morello.base.errors import BuildError
from morello.codegen.printer import Printer
from morello.codegen.source import generate
from morello.codegen.statements import (
    Buffer,
    Call,
    For,
    Groups,
    ParallelFor,
    Registers,
    Runs,
    Statement,
)
from morello.explorer.document import document
from morello.explorer.others import DescribedChoice, Explored
from morello.impl.listing import listing
from morello.impl.tree import Impl
from morello.native.assembly import assembly
from morello.native.toolchain import Compiler, arch_flags
from morello.targets.target import Target

_MARK = "\x1f"
"""The separator of a line of C and the number of its step."""


def page(
    programs: Sequence[Explored],
    facts: Sequence[tuple[str, str]] = (),
    compiler: Compiler | None = None,
) -> str:
    """The page of a program, or of two programs of one Spec to be compared.

    Its head shows the facts, each with its name. With a compiler, it has what that makes of the C,
    unless it cannot compile for the target.
    """
    impl = programs[0].impl
    title = f"{impl.spec.expression} for {impl.target.name}"
    data = {"facts": list(facts), "programs": [program_data(each, compiler) for each in programs]}
    return document(title, ["program"], "showPrograms", {"data": data})


def program_data(explored: Explored, compiler: Compiler | None = None) -> dict[str, Any]:
    """A program as JSON-able data. Its steps refer to what was decided by number."""
    numbers: dict[DescribedChoice, int] = {}
    for choices in explored.choices.values():
        for choice in choices:
            numbers.setdefault(choice, len(numbers))
    steps = [
        {
            "parent": entry.parent,
            "depth": entry.depth,
            "heading": entry.heading,
            "words": entry.words,
            "style": entry.style,
            "spec": str(entry.impl.spec),
            "cycles": entry.impl.cost,
            "own": entry.impl.own_cost,
            "runs": entry.runs,
            "peak": entry.impl.peak,
            "choices": [numbers[each] for each in explored.choices.get(entry.number, ())],
        }
        for entry in listing(explored.impl)
    ]
    code = c_by_step(explored.impl)
    *caches, registers = explored.impl.target.levels[1:]
    return {
        "levels": [
            *({"name": each.name, "capacity": each.capacity, "unit": "lines"} for each in caches),
            {"name": registers.name, "capacity": registers.capacity, "unit": ""},
        ],
        "cost": explored.impl.cost,
        "lower": explored.lower,
        "steps": steps,
        "choices": [asdict(each) for each in numbers],
        "c": code,
        "machine": _machine_code(code, explored.impl.target, compiler),
    }


def c_by_step(impl: Impl) -> list[tuple[str, int]]:
    """The lines of a program's C, each with the number of the step that it comes from, or -1."""
    lines = generate(impl, printer=_StepPrinter).text.splitlines()
    parts = (line.partition(_MARK) for line in lines)
    return [(text, int(number) if number else -1) for text, _, number in parts]


def _machine_code(
    code: Sequence[tuple[str, int]], target: Target, compiler: Compiler | None
) -> list[tuple[str, int]]:
    """The instructions of C by step, each with the step of its line, or of the last that has one.

    Inlined functions have lines of their own, which belong to no step.
    """
    if compiler is None:
        return []
    text = "".join(f"{line}\n" for line, _ in code)
    try:
        instructions = assembly(text, compiler=compiler, flags=arch_flags(compiler, target.arch))
    except BuildError:
        return []
    result, step = [], -1
    for instruction, line in instructions:
        number = code[line - 1][1] if line else -1
        step = number if number >= 0 else step
        result.append((instruction, step))
    return result


_NUMBERED = Buffer | Registers | Groups | For | ParallelFor | Runs | Call
"""The statements that have the number of a step."""


class _StepPrinter(Printer):
    """Ends each line with the number of its step, or of the closest one around it."""

    def lines(self, statements: Sequence[Statement]) -> list[str]:
        marked: list[str] = []
        for statement in statements:
            lines = super().lines([statement])
            if isinstance(statement, _NUMBERED):
                lines = [
                    line if _MARK in line else f"{line}{_MARK}{statement.node}" for line in lines
                ]
            marked += lines
        return marked

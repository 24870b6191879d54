"""The page: one HTML file that needs no other and makes no request.

The HTML, the style and the script beside this file make up what it shows; the data are in it as
JSON, deflated.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from morello.codegen.printer import Printer
from morello.codegen.source import generate
from morello.codegen.statements import Buffer, Call, For, Groups, ParallelFor, Registers, Statement
from morello.explorer.others import DescribedChoice, Explored
from morello.impl.listing import listing
from morello.impl.tree import Impl

_HERE = Path(__file__).parent

_MARK = "\x1f"
"""What stands, in C that is to be taken apart again, between a line and the number of its step."""


def page(programs: Sequence[Explored], facts: Sequence[tuple[str, str]] = ()) -> str:
    """The page of a program, or of two programs of one Spec to be compared.

    Its head shows the facts, each with its name.
    """
    impl = programs[0].impl
    title = f"{impl.spec.expression} for {impl.target.name}"
    *caches, registers = impl.target.levels[1:]
    data = {
        "facts": list(facts),
        "levels": [
            *({"name": each.name, "capacity": each.capacity, "unit": "lines"} for each in caches),
            {"name": registers.name, "capacity": registers.capacity, "unit": ""},
        ],
        "programs": [_program(each) for each in programs],
    }
    packed = zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 9)
    text = (_HERE / "page.html").read_text()
    for name, value in {
        "TITLE": html.escape(title),
        "STYLE": (_HERE / "page.css").read_text(),
        "SCRIPT": (_HERE / "page.js").read_text(),
        "DATA": base64.b64encode(packed).decode(),
    }.items():
        text = text.replace(f"{{{{{name}}}}}", value)
    return text


def _program(explored: Explored) -> dict[str, Any]:
    """A program as JSON-able data. Its steps refer to what was decided by number."""
    numbers: dict[int, int] = {}
    decided: list[DescribedChoice] = []
    for choices in explored.choices.values():
        for choice in choices:
            if id(choice) not in numbers:
                numbers[id(choice)] = len(decided)
                decided.append(choice)
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
            "choices": [numbers[id(each)] for each in explored.choices.get(entry.number, ())],
        }
        for entry in listing(explored.impl)
    ]
    return {
        "cost": explored.impl.cost,
        "lower": explored.lower,
        "steps": steps,
        "choices": [asdict(each) for each in decided],
        "c": c_by_step(explored.impl),
    }


def c_by_step(impl: Impl) -> list[tuple[str, int]]:
    """The lines of a program's C, each with the number of the step that it comes from, or -1."""
    lines = generate(impl, printer=_StepPrinter).text.splitlines()
    parts = (line.partition(_MARK) for line in lines)
    return [(text, int(number) if number else -1) for text, _, number in parts]


class _StepPrinter(Printer):
    """Ends each line with the number of its step, or of the closest one around it."""

    def lines(self, statements: Sequence[Statement]) -> list[str]:
        marked: list[str] = []
        for statement in statements:
            lines = super().lines([statement])
            if isinstance(statement, Buffer | Registers | Groups | For | ParallelFor | Call):
                lines = [
                    line if _MARK in line else f"{line}{_MARK}{statement.node}" for line in lines
                ]
            marked += lines
        return marked

"""C statements as data: loops, blocks, calls of kernels, and lines of any other kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from morello.codegen.views import View
from morello.ir.spec import Spec
from morello.targets.target import LeafKernel


@dataclass(frozen=True)
class For:
    """A loop whose variable goes from `start` over `size` elements in steps."""

    variable: str
    size: int
    step: int
    body: Sequence[Statement]
    start: str = "0"

    @property
    def times(self) -> int:
        return self.size // self.step


@dataclass(frozen=True)
class Block:
    """Statements in braces."""

    body: Sequence[Statement]


@dataclass(frozen=True)
class If:
    """One of two sequences of statements."""

    condition: str
    body: Sequence[Statement]
    otherwise: Sequence[Statement]


@dataclass(frozen=True)
class Call:
    """A kernel on views of its operands; its line of C is repeated, for example per register.

    `text` has all lines, including those that keep the compiler from reordering others.
    """

    kernel: LeafKernel
    spec: Spec
    views: Sequence[View]
    repeats: int
    text: Sequence[str]


@dataclass(frozen=True)
class Prefetch:
    """Prefetch instructions, for so many cache lines on average."""

    lines: float
    text: Sequence[str]


Statement = str | For | Block | If | Call | Prefetch


def printed(statements: Iterable[Statement]) -> Iterator[str]:
    """The lines of C of these statements."""
    for statement in statements:
        if isinstance(statement, str):
            yield statement
        elif isinstance(statement, Call | Prefetch):
            yield from statement.text
        elif isinstance(statement, For):
            variable, start, size = statement.variable, statement.start, statement.size
            end = str(size) if start == "0" else f"{start} + {size}"
            step = f"++{variable}" if statement.step == 1 else f"{variable} += {statement.step}"
            yield f"for (long {variable} = {start}; {variable} < {end}; {step}) {{"
            yield from _indented(statement.body)
            yield "}"
        elif isinstance(statement, If):
            yield f"if ({statement.condition}) {{"
            yield from _indented(statement.body)
            yield "} else {"
            yield from _indented(statement.otherwise)
            yield "}"
        else:
            yield "{"
            yield from _indented(statement.body)
            yield "}"


def _indented(statements: Iterable[Statement]) -> Iterator[str]:
    return ("  " + line for line in printed(statements))

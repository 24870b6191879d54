"""C statements as data: loops, blocks, calls of kernels, and lines of any other kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from morello.codegen.views import View
from morello.ir.spec import Spec
from morello.targets.target import Kernel


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
    """A kernel on views of its operands; its line of C is repeated for each register, say.

    `text` has all lines, also those that keep the compiler from moving others.
    """

    kernel: Kernel
    spec: Spec
    views: Sequence[View]
    repeats: int
    text: Sequence[str]


@dataclass(frozen=True)
class Prefetch:
    """A request for so many cache lines, on average."""

    lines: float
    text: Sequence[str]


Statement = str | For | Block | If | Call | Prefetch


def printed(statements: Iterable[Statement]) -> Iterator[str]:
    """The lines of statements."""
    for one in statements:
        if isinstance(one, str):
            yield one
        elif isinstance(one, Call | Prefetch):
            yield from one.text
        elif isinstance(one, For):
            end = str(one.size) if one.start == "0" else f"{one.start} + {one.size}"
            step = f"++{one.variable}" if one.step == 1 else f"{one.variable} += {one.step}"
            yield f"for (long {one.variable} = {one.start}; {one.variable} < {end}; {step}) {{"
            yield from _indented(one.body)
            yield "}"
        elif isinstance(one, If):
            yield f"if ({one.condition}) {{"
            yield from _indented(one.body)
            yield "} else {"
            yield from _indented(one.otherwise)
            yield "}"
        else:
            yield "{"
            yield from _indented(one.body)
            yield "}"


def _indented(statements: Iterable[Statement]) -> Iterator[str]:
    return ("  " + line for line in printed(statements))

"""The pass that empties the registers before sums that need nearly all: statements to statements.

Compilers load the constants of an exponential before the outermost loop, and keep them in registers
from there on. Where sums of products need these, too, it is sums that they store and load again in
every step: softmax of a product took 1.6 times as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from morello.codegen.instructions import ARM
from morello.codegen.statements import (
    Call,
    Clobber,
    Registers,
    Statement,
    bodies,
    walk,
    with_bodies,
)
from morello.targets.target import Target

MANY = 0.5
"""The share of all registers from which on sums leave too few to what is computed elsewhere."""


def with_clobbers(statements: Sequence[Statement], target: Target) -> list[Statement]:
    """The statements with a `Clobber` before each array of sums that fills many registers."""
    return list(_clobbered(statements, target))


def _clobbered(statements: Sequence[Statement], target: Target) -> Iterator[Statement]:
    for position, statement in enumerate(statements):
        if isinstance(statement, Registers):
            after = statements[position + 1 :]
            if _fills_many(statement, target) and _sums_products(after):
                yield Clobber(_names(target))
            yield from statements[position:]  # which may not lose these registers
            return
        inside = bodies(statement)
        if inside:
            yield with_bodies(statement, [with_clobbers(body, target) for body in inside])
        else:
            yield statement


def _fills_many(registers: Registers, target: Target) -> bool:
    return registers.view.count >= MANY * target.levels[target.registers].capacity


def _sums_products(statements: Sequence[Statement]) -> bool:
    calls = (statement for statement in walk(statements) if isinstance(statement, Call))
    return any(call.spec.operation.is_product for call in calls)


def _names(target: Target) -> tuple[str, ...]:
    """All vector registers, as compilers call them."""
    many = target.arch == ARM or target.vector_bytes[0] == 64
    kind = "v" if target.arch == ARM else "xmm"
    return tuple(f"{kind}{number}" for number in range(32 if many else 16))

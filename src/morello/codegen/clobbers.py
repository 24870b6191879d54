"""The pass that empties the registers before sums that need many: statements to statements.

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
from morello.codegen.views import RegisterView
from morello.targets.target import Target

MANY = 0.5
"""The share of all registers from which on sums leave too few to what is computed elsewhere."""


def with_clobbers(statements: Sequence[Statement], target: Target) -> Sequence[Statement]:
    """The statements with a `Clobber` before arrays of sums that fill many registers.

    Only where something else that is computed has constants: they are many in exponentials.
    """
    calls = [statement for statement in walk(statements) if isinstance(statement, Call)]
    if any(call.kernel.group == "exponentials" for call in calls):
        return list(_clobbered(statements, target))
    return statements


def _clobbered(statements: Sequence[Statement], target: Target) -> Iterator[Statement]:
    for position, statement in enumerate(statements):
        if isinstance(statement, Registers):
            rest = statements[position:]
            if _are_many(statement, target) and _are_sums(statement, rest):
                yield Clobber(_names(target))
            yield from rest  # which may not lose these registers
            return
        inside = [list(_clobbered(body, target)) for body in bodies(statement)]
        yield with_bodies(statement, inside) if inside else statement


def _are_many(registers: Registers, target: Target) -> bool:
    return registers.view.count >= MANY * target.levels[target.registers].capacity


def _are_sums(registers: Registers, statements: Sequence[Statement]) -> bool:
    """Whether products are added to an array of registers."""
    calls = (statement for statement in walk(statements) if isinstance(statement, Call))
    products = (call for call in calls if call.spec.operation.is_product)
    results = (call.views[call.spec.operation.output] for call in products)
    return any(isinstance(v, RegisterView) and v.name == registers.name for v in results)


def _names(target: Target) -> tuple[str, ...]:
    """All vector registers, as compilers call them."""
    kind = "v" if target.arch == ARM else "xmm"
    return tuple(f"{kind}{number}" for number in range(target.levels[target.registers].capacity))

"""Closing a Spec with a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from morello.errors import RewriteError, quoted
from morello.ir.batch import Batch
from morello.ir.spec import Spec
from morello.rewrites.rewrite import Edges, Rewrite, everywhere
from morello.targets.target import Condition, Held, Kernel, Target


@dataclass(frozen=True)
class Select:
    """Close a Spec with a kernel of the target.

    MatmulAccum(m=1, k=1, n=64; b and c in registers) -> fma_row_f32x16
    """

    kernel: str

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        kernel = find_kernel(target, self.kernel)
        right = batch.operation.name == kernel.operation
        yield Condition(everywhere(batch, right), f"it computes {kernel.operation}")
        kinds = " x ".join(map(str, kernel.dtypes))
        yield Condition(everywhere(batch, batch.dtypes == kernel.dtypes), f"it computes {kinds}")
        yield Condition(everywhere(batch, not batch.parallel), "apply serial or parallel first")
        for operand, held in enumerate(kernel.held):
            yield from _placement(batch, operand, held, target.home(kernel, operand), target)
        yield from kernel.applies(batch)

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        kernel = find_kernel(target, self.kernel)
        held = {target.registers: kernel.registers} if kernel.registers else {}
        return [Edges(np.arange(len(batch)), kernel.cycles(batch), held)]

    def concrete(self, spec: Spec) -> Rewrite:
        return self

    def data(self) -> dict[str, Any]:
        return {"name": "select", "kernel": self.kernel}

    def __str__(self) -> str:
        return f"select({self.kernel})"


def _placement(
    batch: Batch, operand: int, held: Held | None, home: int, target: Target
) -> Iterator[Condition]:
    """The operand is where the kernel wants it."""
    name = batch.operation.operands[operand].name
    if held is None:
        reason = f"{name} must be in {target.levels[home].name}"
        yield Condition(batch.levels[operand] == home, reason)
        return
    codes = batch.codes[operand]
    reason = f"{name} must be in registers of {held.width} elements"
    yield Condition(batch.levels[operand] == home, reason)
    yield Condition(batch.forms.vector[codes] == held.width, reason)
    if held.along:
        dim = batch.operation.operands[operand].dims.index(held.along)
        fits = (batch.forms.fastest[codes] == dim) | batch.forms.ideal[codes]
        yield Condition(fits, f"registers of {name} must run along {held.along}")


NAMED = 40
"""How many kernels an error names."""


def find_kernel(target: Target, name: str) -> Kernel:
    """The target's kernel of this name; raises `RewriteError` that lists close ones."""
    kernel = target.kernel(name)
    if kernel is not None:
        return kernel
    close = [k.name for k in target.kernels if k.name[:4] == name[:4]]
    known = [*close, *(k.name for k in target.kernels if k.name not in close)]
    more = f" and {len(known) - NAMED} others" if len(known) > NAMED else ""
    raise RewriteError(
        f"{target.name} has no kernel {quoted(name)}; it has: {', '.join(known[:NAMED])}{more}."
    )

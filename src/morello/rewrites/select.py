"""Implementing a Spec with a leaf kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from morello.base.errors import RewriteError, quoted
from morello.ir.batch import Batch
from morello.ir.spec import Spec
from morello.rewrites.rewrite import Application, Edges, Rank, Rewrite, everywhere
from morello.targets.target import Condition, InRegisters, LeafKernel, Target


@dataclass(frozen=True)
class Select(Rewrite):
    """Implement a Spec with a leaf kernel of the target.

    MatmulAccum(m=1, k=1, n=64; b and c in registers) -> fma_row_f32x16
    """

    kernel: str

    name = "select"
    lowers = Rank.PARALLEL  # it leaves nothing to do
    style = "kernel"

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        kernel = find_kernel(target, self.kernel)
        right = batch.operation.name == kernel.operation
        yield Condition(everywhere(batch, right), f"it computes {kernel.operation}")
        kinds = " x ".join(map(str, kernel.dtypes))
        yield Condition(everywhere(batch, batch.dtypes == kernel.dtypes), f"it computes {kinds}")
        yield Condition(everywhere(batch, not batch.parallel), "apply serial or parallel first")
        for operand, held in enumerate(kernel.held):
            if operand in kernel.anywhere:
                name = batch.operation.operands[operand].name
                yield Condition(
                    batch.levels[operand] < target.registers, f"{name} must be in memory"
                )
                continue
            yield from _placement(
                batch, operand, held, target.operand_level(kernel, operand), target
            )
        yield from kernel.applies(batch)

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        kernel = find_kernel(target, self.kernel)
        held = {target.registers: kernel.registers} if kernel.registers else {}
        return [Edges(np.arange(len(batch)), kernel.cycles(batch), held)]

    def __str__(self) -> str:
        return f"select({self.kernel})"

    def words(self, applied: Application) -> str:
        return self.kernel

    def trait(self, spec: Spec) -> str:
        return f"{self} {spec.sizes}" if spec.operation.copies else str(self)


def _placement(
    batch: Batch, operand: int, held: InRegisters | None, level: int, target: Target
) -> Iterator[Condition]:
    """The operand is at the level, or in the registers, that the kernel expects."""
    name = batch.operation.operands[operand].name
    if held is None:
        reason = f"{name} must be in {target.levels[level].name}"
        yield Condition(batch.levels[operand] == level, reason)
        return
    codes = batch.codes[operand]
    reason = f"{name} must be in registers of {held.width} elements"
    yield Condition(batch.levels[operand] == level, reason)
    yield Condition(batch.placements.vector[codes] == held.width, reason)
    if (operand, held.along) in batch.operation.places:
        dim, _ = batch.operation.places[operand, held.along]
        along = batch.placements.runs_along(codes, (dim,))
        yield Condition(along, f"registers of {name} must run along {held.along}")


LONGEST, CLOSE = 60, 6
"""The characters of an unknown kernel name to compare, and how many close names to list."""


def find_kernel(target: Target, name: str) -> LeafKernel:
    """The target's kernel of this name; raises `RewriteError` that lists close names."""
    kernel = target.kernel(name)
    if kernel is not None:
        return kernel
    close = get_close_matches(name[:LONGEST], [k.name for k in target.kernels], CLOSE, cutoff=0.0)
    raise RewriteError(
        f"{target.name} has no kernel {quoted(name)}; close to it are: {', '.join(close)}."
    )

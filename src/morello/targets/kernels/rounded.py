"""Kernels of functions whose results are rounded to bf16: they compute fewer bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from morello.ir.batch import Batch
from morello.ir.dtype import BF16, F32
from morello.ir.functions import Function
from morello.targets.kernels.conditions import flat, one_register, one_run
from morello.targets.kernels.moves import CONVERT, MASK, STORE
from morello.targets.kernels.names import kind_of
from morello.targets.target import Condition, InRegisters, LeafKernel

CYCLES = {"gelu": 8.0}
"""Cycles that each of `functions.ULP_BF16` takes on one register."""


def rounded(width: int, partial: bool) -> tuple[LeafKernel, ...]:
    """Functions of one register, or a part of it, with their results stored in bf16."""
    return tuple(_kernel(name, width, partial) for name in CYCLES)


def _kernel(name: str, width: int, partial: bool) -> LeafKernel:
    function, kind, part = Function(name), kind_of(F32, width), "part_" * partial
    size = ", {length}" * partial
    cycles = CYCLES[name] + STORE + CONVERT + MASK * partial

    def applies(s: Batch) -> Iterator[Condition]:
        yield from one_run(s, width, partial)
        yield one_register(s, 0)
        yield flat(s, 1)

    def semantics(x: Any) -> Any:
        return function(x).astype(BF16.np)

    return LeafKernel(
        f"{name}_{part}bf16_{kind}", function.title, (F32, BF16), (InRegisters(width), None),
        f"store_{part}bf16_{kind}(&{{out}}, {name}_bf16_{kind}({{x}}){size});",
        semantics, applies, lambda s: cycles, registers=2, masked=partial, group="exponentials",
    )  # fmt: skip

"""A machine of little memory, matmuls on it, and what a rewrite makes of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from morello.base.errors import RewriteError
from morello.ir.dtype import F32
from morello.ir.layout import Layout, column_major, row_major
from morello.ir.primitives import matmul
from morello.ir.spec import Spec
from morello.ir.tensor import Placement, gapless
from morello.rewrites import Rewrite
from morello.rewrites.rewrite import Step, apply
from morello.targets import find_target
from morello.targets.kernels import standard_kernels
from morello.targets.target import Level
from morello.targets.tlb import UNKNOWN_TLB

TARGET = replace(
    find_target("avx512"),
    vector_bytes=(64, 16),
    masks=True,
    tlb=UNKNOWN_TLB,
    kernels=standard_kernels((64, 16), True, {(4, 4): 8.0}, frozenset()),
    levels=(
        Level(
            "memory",
            1 << 40,
            per_line=4.0,
            per_run=10.0,
            per_alias=100.0,
            per_alias_written=50.0,
        ),
        Level("L2", 1000, per_line=1.0, per_run=2.0, conflict_runs=16),
        Level("L1", 100, conflict_runs=4),
        Level("registers", 32),
    ),
)
UNMASKED = replace(
    TARGET,
    vector_bytes=(32,),
    masks=False,
    kernels=standard_kernels((32,), False, {}, frozenset()),
)
MEMORY, L2, L1, REGISTERS = range(4)
ROWS, COLUMNS = gapless(row_major(2)), gapless(column_major(2))


def spec(
    m: int,
    k: int,
    n: int,
    levels: tuple[int, int, int] = (MEMORY, MEMORY, MEMORY),
    placements: tuple[Placement, Placement, Placement] = (ROWS, ROWS, ROWS),
    accumulates: bool = True,
) -> Spec:
    return Spec(matmul(0, accumulates), (m, k, n), levels, placements, (F32, F32, F32))


def registers(vector: int, layout: Layout = ROWS.layout) -> Placement:
    return Placement(layout, 2, vector=vector)


def sizes(step: Step) -> list[tuple[tuple[int, ...], int, str]]:
    return [(hole.spec.sizes, hole.times, hole.role) for hole in step.holes]


def refuse(rewrite: Rewrite, on: Spec, reason: str) -> None:
    with pytest.raises(RewriteError, match=reason):
        apply(rewrite, on, TARGET)

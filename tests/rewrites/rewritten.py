"""Complete programs that between them use every rewrite."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from tests.goals import (
    attention_goal,
    conv_goal,
    matmul_goal,
    mlp_goal,
    softmax_goal,
)

from morello import rewrites
from morello.frontends.text import parse
from morello.ir.dtype import BF16, BF16X2, F32
from morello.ir.primitives import DENOMINATOR_AND_MAX, Windows, conv, grouped_conv, pack, softmax
from morello.ir.spec import Spec, goal
from morello.scheduling import Schedule
from morello.targets import find_target
from morello.targets.costs import with_costs_of
from morello.targets.machines import X86_64_V4
from morello.targets.target import Target
from morello.targets.x86 import avx512

SEARCH_ONLY = {"SizedTile", "SizedOverlap", "Divide", "Spread"}
"""Rewrites of the search alone; programs have tiles, splits and parallel loops in their place."""

FOUR = replace(find_target("avx512"), cores=4)
BF16_PRODUCTS = replace(
    avx512(X86_64_V4, frozenset({"avx512_bf16"})), name="with_products", arch="native"
)


def kinds() -> set[str]:
    """The names of all rewrites that there are."""
    return {n for n in rewrites.__all__ if hasattr(getattr(rewrites, n), "edges")} - {"Rewrite"}


def running_softmax(rows: int, columns: int, *, parallel: bool = False) -> Spec:
    one = softmax(DENOMINATOR_AND_MAX, 2, 1)
    return goal(one, (rows, columns), (F32,) * 3, parallel=parallel)


def begin(spec: Spec, target: Target = FOUR) -> Schedule:
    return Schedule.of(spec, with_costs_of(target, spec))


def begun() -> dict[str, Schedule]:
    """Schedules by what they show; most of their work is left to do."""
    several = matmul_goal(64, 16, 64, parallel=True)
    ragged = matmul_goal(60, 16, 64, parallel=True)
    narrow = matmul_goal(16, 32, 64, BF16, BF16, F32)
    short = goal(pack(2, 0, 2, True), (17, 64, 1), (BF16, BF16X2))
    padded = begin(conv_goal(2, 4, 4, padding=1)).pad_first("L2").to_accumulate()
    row = begin(conv_goal(2, 4, 18)).to_accumulate().tile(y=1).move("out", "L2")
    held = row.move("out", "L1").move("out", "registers", layout="{3,2,1,0}", vector=16)
    strided = goal(conv((Windows(2, 0, -1), Windows(2, 1, 0))), (1, 4, 4, 3, 4, 1, 2), (F32,) * 3)
    grouped = goal(grouped_conv(2, 4), (1, 3, 4, 2, 3, 4, 2, 3), (F32,) * 3)
    depthwise = goal(grouped_conv(1, 1, (Windows(2, 1, 0),) * 2), (1, 4, 1, 2, 2, 3, 3), (F32,) * 3)
    softmax_rows = begin(softmax_goal(8, 64, parallel=True)).parallel(i=2)
    return {
        "parallel": begin(several).parallel(n=32, m=16),
        "ragged": begin(ragged).parallel(m=16),
        "serial": begin(several).serial(),
        "softmax": softmax_rows.decompose("to_softmax_parts_recompute", "L1"),
        "running": begin(running_softmax(1, 1000, parallel=True)).parallel_split("j", 4),
        "padded": padded.tile(y=1).spatial_split(),
        "pixels": held.spatial_split(),
        "padded channels": begin(depthwise).pad_first("L2", "{1,3,2,0}"),
        "peeled": begin(conv_goal(2, 4, 4, padding=1)).peel("y"),
        "peeled pixels": begin(conv_goal(2, 4, 4, padding=1)).to_accumulate().peel("q"),
        "pointwise": begin(conv_goal(pixels=1)).to_accumulate().pointwise(),
        "cropped": begin(strided).crop().to_accumulate(),
        "grouped": begin(grouped).tile(g=1).ungroup().to_accumulate(),
        "packed": begin(narrow, BF16_PRODUCTS).pack(),
        "filled": begin(short, BF16_PRODUCTS).last_group(),
        "wider": begin(narrow).move("a", "L2", dtype="f32").move("b", "L2", dtype="f32"),
        "covered": begin(matmul_goal(6, 16, 40)).overlap(m=4, n=32),
        "fused": begin(mlp_goal(4, 8, 16, 8)).bufferize(0, "L2"),
        "moved": begin(mlp_goal(4, 8, 16, 8)).move_all("L2"),
        "experts": begin(parse("grouped_matmul(f32[4,8], f32[2,8,16], i32[4])")).group_rows(2),
        "attention": begin(attention_goal(2, 4, 8)).bufferize(1, "L1", layout="{0,1}"),
    }


@cache
def solved(name: str) -> Schedule:
    return begun()[name].solve()

"""Loops, sums and windows: what they make of a Spec, and where they are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.goals import softmax_goal
from tests.rewrites.small_machine import (
    COLUMNS,
    L1,
    L2,
    MEMORY,
    REGISTERS,
    ROWS,
    TARGET,
    refuse,
    registers,
    sizes,
    spec,
)

from morello.base.errors import RewriteError
from morello.frontends import parse
from morello.ir.dtype import BF16, F32
from morello.ir.layout import Layout, panels, row_major
from morello.ir.primitives import conv, divide_vec_scalar, fill, matmul
from morello.ir.spec import Spec, goal, matmul_spec
from morello.ir.tensor import Placement, aliased_at, gapless
from morello.rewrites import (
    Divide,
    Move,
    Overlap,
    ParallelSplit,
    Pointwise,
    SizedOverlap,
    SpatialSplit,
    Split,
    Spread,
    Tile,
    ToAccumulate,
)
from morello.rewrites.rewrite import Hole, Step, apply
from morello.targets.target import Target
from morello.targets.tlb import TLB
from morello.targets.x86 import AVX512


def test_tile() -> None:
    step = apply(Tile("m", 4), spec(12, 8, 16), TARGET)
    assert sizes(step) == [((4, 8, 16), 3, "body")]
    assert (step.cost, step.allocation) == (0.0, {})
    (body,) = step.holes
    assert body.spec.placements == (ROWS, ROWS, ROWS)  # rows of row-major operands stay whole
    assert body.spec.levels == (MEMORY, MEMORY, MEMORY)


def test_tile_with_a_remainder() -> None:
    step = apply(Tile("n", 4), spec(12, 8, 10), TARGET)
    assert sizes(step) == [((12, 8, 4), 2, "body"), ((12, 8, 2), 1, "remainder")]
    with_gaps = Placement(row_major(2), 1, aliased=aliased_at(10 * F32.bytes))
    for hole in step.holes:
        assert hole.spec.placements == (ROWS, with_gaps, with_gaps)


def test_tile_of_most_leaves_one_and_a_remainder() -> None:
    assert sizes(apply(Tile("m", 7), spec(10, 1, 1), TARGET)) == [
        ((7, 1, 1), 1, "body"),
        ((3, 1, 1), 1, "remainder"),
    ]


MANY_PAGES = replace(TARGET, tlb=TLB(96))
"""A machine whose first TLB holds 96 pages, and on which it takes a while to return to more."""


def with_tlb(**changes: Any) -> Target:
    return replace(MANY_PAGES, tlb=replace(MANY_PAGES.tlb, **changes))


def test_a_loop_over_columns_pays_for_returning_to_rows_on_many_pages() -> None:
    loop = Tile("n", 48)
    lines = 96 * 1000 * F32.bytes // 64
    written = spec(96, 10, 1000, accumulates=False)
    assert apply(loop, written, MANY_PAGES).cost == lines * 0.25 * TARGET.levels[0].per_run
    assert apply(loop, written, with_tlb(returning=0.0)).cost == 0
    assert apply(loop, written, TARGET).cost == 0
    assert apply(Tile("m", 8), written, MANY_PAGES).cost == 0
    free = [(64, 10, 1000), (96, 512, 1000), (2000, 10, 256)]  # few rows, long sums, short rows
    for sizes_ in free:
        assert apply(loop, spec(*sizes_, accumulates=False), MANY_PAGES).cost == 0
    assert apply(loop, spec(96, 10, 1000), MANY_PAGES).cost == 0  # c is read first
    assert apply(loop, written, with_tlb(output_steps=10)).cost == 0
    few_pages = with_tlb(output_pages=0.3)
    assert apply(loop, spec(64, 10, 1000, accumulates=False), few_pages).cost > 0
    assert apply(loop, spec(28, 10, 1000, accumulates=False), few_pages).cost == 0


def test_nested_loops_over_columns_pay_as_much_as_one() -> None:
    written = spec(96, 10, 1000, accumulates=False)
    once = apply(Tile("n", 50), written, MANY_PAGES)
    outer = apply(Tile("n", 500), written, MANY_PAGES)
    inner = apply(Tile("n", 50), outer.holes[0].spec, MANY_PAGES)
    assert inner.holes[0].spec == once.holes[0].spec
    assert outer.cost + outer.holes[0].times * inner.cost == once.cost


def test_overlap() -> None:
    whole = spec(10, 8, 16, accumulates=False)
    step = apply(Overlap("m", 4), whole, TARGET)
    assert sizes(step) == [((4, 8, 16), 3, "body")]
    assert (step.cost, step.allocation) == (0.0, {})
    body, _ = apply(Tile("m", 4), whole, TARGET).holes
    assert step.holes[0].spec == body.spec
    covering = SizedOverlap("m", lambda size: size * 0 + 4)
    assert covering.concrete(whole) == Overlap("m", 4)
    assert apply(covering, whole, TARGET) == step


def test_where_overlaps_are_refused() -> None:
    whole = spec(10, 8, 16, accumulates=False)
    refuse(Overlap("m", 12), whole, "the tile must be smaller than m")
    refuse(Overlap("m", 0), whole, "at least 1")
    refuse(Overlap("m", 5), whole, "such tiles of m do not overlap; tile it")
    refuse(Overlap("k", 3), whole, "k is reduced; split it")
    refuse(Overlap("x", 3), whole, "no dimension 'x'; its dimensions are: m, k, n")
    refuse(Overlap("m", 4), spec(10, 8, 16), "MatmulAccum reads what it writes; tile m")
    refuse(Overlap("m", 4), replace(whole, parallel=True), "it is to be run in parallel")
    divided = goal(divide_vec_scalar(2, 1), (10, 8), (F32, F32))
    refuse(Overlap("i", 4), divided, "DivideVecScalar reads what it writes; tile i")
    refuse(Overlap("j", 3), softmax_goal(10, 8), "Softmax needs j whole")


def test_the_last_of_tiles_that_overlap_cuts_no_panels_and_no_registers() -> None:
    paneled = gapless(panels(2, 1, 16))
    ragged = spec(4, 8, 72, placements=(ROWS, paneled, ROWS), accumulates=False)
    refuse(Overlap("n", 32), ragged, "it would cut panels of b")
    exact = replace(ragged, sizes=(4, 8, 80))
    (body,) = apply(Overlap("n", 32), exact, TARGET).holes
    assert (body.times, body.spec.placements[1]) == (3, paneled)
    (inside,) = apply(Overlap("n", 5), replace(ragged, sizes=(4, 8, 16)), TARGET).holes
    assert inside.times == 4
    held = spec(
        5, 1, 40, (L1, L1, REGISTERS), (ROWS, ROWS, registers(16)), accumulates=False
    )  # fmt: skip
    refuse(Overlap("n", 16), held, "it would cut registers of c")
    assert sizes(apply(Overlap("m", 2), held, TARGET)) == [((2, 1, 40), 3, "body")]


def test_split() -> None:
    step = apply(Split("k", 4), spec(12, 10, 16), TARGET)
    assert sizes(step) == [((12, 4, 16), 2, "body"), ((12, 2, 16), 1, "remainder")]
    assert (step.cost, step.allocation) == (0.0, {})
    with_gaps = Placement(row_major(2), 1, aliased=aliased_at(10 * F32.bytes))
    assert step.holes[0].spec.placements == (with_gaps, ROWS, ROWS)


def test_divide_is_a_loop_over_equal_parts() -> None:
    whole = spec(12, 9, 16)
    assert Divide("m", 3).concrete(whole) == Tile("m", 4)
    assert Divide("k", 3).concrete(whole) == Split("k", 3)
    for divide in (Divide("m", 2), Divide("k", 3)):
        assert apply(divide, whole, TARGET) == apply(divide.concrete(whole), whole, TARGET)
    refuse(Divide("n", 3), whole, "n is no multiple of 3")
    refuse(Divide("k", 3), spec(12, 9, 16, accumulates=False), "does not accumulate")


def test_where_loops_are_refused() -> None:
    whole = spec(12, 8, 16)
    refuse(Tile("m", 12), whole, "the tile must be smaller than m")
    refuse(Tile("m", 13), whole, "the tile must be smaller than m")
    refuse(Tile("m", 0), whole, "at least 1")
    refuse(Tile("m", -4), whole, "at least 1")
    refuse(Split("k", 0), whole, "at least 1")
    refuse(Split("k", 8), whole, "the tile must be smaller than k")
    refuse(Tile("k", 4), whole, "k is reduced; split it")
    refuse(Split("m", 4), whole, "m is not reduced; tile it")
    refuse(Split("k", 4), spec(12, 8, 16, accumulates=False), "apply to_accumulate first")
    refuse(Tile("x", 4), whole, "no dimension 'x'; its dimensions are: m, k, n")


def test_loops_keep_panels_whole() -> None:
    paneled = gapless(panels(2, 1, 16))
    whole = spec(4, 8, 64, placements=(ROWS, paneled, ROWS))
    refuse(Tile("n", 8), whole, "it would cut panels of b")
    refuse(Tile("n", 24), whole, "it would cut panels of b")
    (two,) = apply(Tile("n", 32), whole, TARGET).holes
    assert two.spec.placements[1] == paneled
    (one,) = apply(Tile("n", 16), whole, TARGET).holes
    assert one.spec.placements[1] == ROWS  # a single panel is a row-major matrix
    (part,) = apply(Tile("n", 8), one.spec, TARGET).holes
    assert part.spec.placements[1] == Placement(row_major(2), 1)
    assert apply(Split("k", 4), whole, TARGET).holes[0].spec.placements[1].layout == paneled.layout


def test_loops_keep_registers_whole() -> None:
    held = spec(4, 1, 40, (L1, L1, REGISTERS), (ROWS, ROWS, registers(16)))
    refuse(Tile("n", 8), held, "it would cut registers of c")
    step = apply(Tile("n", 16), held, TARGET)
    assert sizes(step) == [((4, 1, 16), 2, "body"), ((4, 1, 8), 1, "remainder")]
    assert step.holes[0].spec.placements[2] == registers(16)
    assert sizes(apply(Tile("m", 1), held, TARGET)) == [((1, 1, 40), 4, "body")]
    scalars = spec(4, 1, 5, (L1, L1, REGISTERS), (ROWS, ROWS, registers(1)))
    assert sizes(apply(Tile("n", 1), scalars, TARGET)) == [((4, 1, 1), 5, "body")]


@given(st.integers(2, 60), st.data())
def test_a_loop_covers_all_of_its_dimension(size: int, data: st.DataObject) -> None:
    tile = data.draw(st.integers(1, size - 1))
    step = apply(Tile("m", tile), spec(size, 3, 5), TARGET)
    assert sum(hole.spec.size("m") * hole.times for hole in step.holes) == size
    assert all(hole.spec.sizes[1:] == (3, 5) for hole in step.holes)
    if size % tile:
        (body,) = apply(Overlap("m", tile), spec(size, 3, 5, accumulates=False), TARGET).holes
        assert size < body.times * tile < size + tile


# ---- to_accumulate


def test_to_accumulate() -> None:
    whole = spec(4, 8, 16, (L1, L2, L1), (ROWS, COLUMNS, COLUMNS), accumulates=False)
    step = apply(ToAccumulate(), whole, TARGET)
    zeros = Spec(fill(2), (4, 16), (L1,), (COLUMNS,), (F32,))
    body = replace(whole, operation=matmul(0, accumulates=True))
    assert step == Step(0.0, {}, (Hole(zeros, 1, "fill", (2,)), Hole(body, 1, "body")))
    refuse(ToAccumulate(), body, "no accumulating form")
    refuse(ToAccumulate(), zeros, "no accumulating form")


def test_sums_of_16_bits_are_of_f32_until_they_are_stored() -> None:
    operands = (F32, F32, BF16)
    whole = replace(spec(4, 8, 16, (L1, L1, L1), accumulates=False), dtypes=operands)
    for rewrite, on in (
        (ToAccumulate(), whole),
        (Split("k", 4), replace(whole, operation=matmul(0, accumulates=True))),
        (Divide("k", 2), replace(whole, operation=matmul(0, accumulates=True))),
        (SpatialSplit(), goal(conv(accumulates=True), (1, 4, 2, 1, 5, 1, 2), operands)),
    ):
        refuse(rewrite, on, "partial sums would be rounded in (c|out); move it to f32 first")
    body, stored = apply(Move("c", "registers", row_major(2), 16, F32), whole, TARGET).holes
    assert body.spec.dtypes == (F32, F32, F32) and stored.spec.dtypes == (F32, BF16)
    apply(ToAccumulate(), body.spec, TARGET)


def test_parts_of_sums_of_16_bits_are_of_f32() -> None:
    cores = replace(TARGET, cores=2)
    whole = goal(matmul(), (1, 64, 8), (BF16, BF16, BF16), parallel=True)
    piece, merge = apply(ParallelSplit("k", 4), whole, cores).holes
    assert piece.spec.dtypes == (BF16, BF16, F32) and merge.spec.dtypes == (F32, BF16)


@pytest.mark.parametrize(
    ("size", "count", "pieces"),
    [
        (500, 2, [(250, 1)]),
        (1000, 4, [(250, 2)]),
        (1001, 2, [(504, 1), (497, 0)]),
        (70, 2, [(35, 1)]),
    ],
)
def test_pieces_for_cores_are_equal_where_they_can_be(
    size: int, count: int, pieces: list[tuple[int, int]]
) -> None:
    """A smaller piece runs beside another, and so costs nothing."""
    cores = replace(AVX512, cores=2)
    whole = goal(matmul(), (size, 64, 8), (F32, F32, F32), parallel=True)
    holes = apply(Spread((("m", count),)), whole, cores).holes
    assert [(hole.spec.size("m"), hole.times) for hole in holes] == pieces


def test_to_accumulate_in_batches() -> None:
    whole = matmul_spec((2, 3, 4, 5), (2, 3, 5, 6))
    fill, body = apply(ToAccumulate(), whole, TARGET).holes
    assert fill.spec.sizes == (2, 3, 4, 6)
    assert body.spec.operation == matmul(2, accumulates=True)


# ---- windows


def test_windows_do_not_slide_across_panels() -> None:
    """The image's panels of 3 columns would be cut by a window of 2."""
    layouts = (Layout((0, 1, 3, 2), (3, 3)), None, None)
    image = goal(conv(), (1, 4, 1, 1, 5, 2, 2), (F32,) * 3, layouts=layouts)
    summed = apply(ToAccumulate(), image, TARGET).holes[1].spec
    with pytest.raises(RewriteError, match="the window would cut panels of the image along x"):
        apply(SpatialSplit(), summed, TARGET)


def test_registers_of_a_filter_run_along_its_features_or_channels() -> None:
    """Along another dimension, the matmul would take them for what they are not."""
    pixel = apply(
        ToAccumulate(), goal(conv(), (1, 4, 2, 1, 5, 1, 1), (F32,) * 3), TARGET
    ).holes[1].spec  # fmt: skip
    held = Placement(Layout((0, 1, 2, 3)), 4, vector=16)  # along the pixels of the filter
    levels, placements = (L1, REGISTERS, L1), (pixel.placements[0], held, pixel.placements[2])
    with pytest.raises(RewriteError, match="must run along a dimension of the matmul"):
        apply(Pointwise(), replace(pixel, levels=levels, placements=placements), TARGET)


def test_a_loop_over_columns_of_rows_from_memory_pays_for_walking_them_side_by_side() -> None:
    target = replace(with_tlb(interleaved=5.0), from_memory=True)
    rows, row, several = parse("f32[6,1024] + f32[1024]"), parse("f32[1,1024] + f32[1024]"), 64 * 6
    assert apply(Tile("j", 32), rows, target).cost == 2 * several * 5.0  # a and out
    assert apply(Tile("j", 512), rows, target).cost == several * 5.0  # long pieces
    longer = parse("f32[6,30000] + f32[30000]")
    assert apply(Tile("j", 10000), longer, target).cost == 6 * 240 * 5.0  # rows begin anew
    assert apply(Tile("i", 1), rows, target).cost == 0
    assert apply(Tile("j", 32), row, target).cost == 0
    assert apply(Tile("j", 32), parse("f32[6,96] + f32[96]"), target).cost == 2 * 6 * 6 * 5.0
    assert apply(Tile("j", 32), parse("f32[6,64] + f32[64]"), target).cost == 0  # short rows
    assert apply(Tile("j", 32), rows, replace(target, from_memory=False)).cost == 0
    copied = parse("move(f32[6,1024])")
    assert apply(Tile(copied.operation.dims[1], 32), copied, target).cost == 0
    reduced = parse("sum(f32[6,1024], axis=0)")
    assert apply(Tile("j", 32), reduced, target).cost == several * 5.0


def test_nested_loops_over_columns_of_rows_from_memory_pay_as_much_as_one() -> None:
    target = replace(with_tlb(interleaved=5.0), from_memory=True)
    rows = parse("f32[6,1024] + f32[1024]")
    once, outer = apply(Tile("j", 32), rows, target), apply(Tile("j", 512), rows, target)
    middle = apply(Tile("j", 128), outer.holes[0].spec, target)
    inner = apply(Tile("j", 32), middle.holes[0].spec, target)
    assert inner.holes[0].spec == once.holes[0].spec
    assert inner.cost == 0 < outer.cost
    assert outer.cost + outer.holes[0].times * middle.cost == once.cost

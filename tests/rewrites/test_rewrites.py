"""Each rewrite: what it makes of a Spec, what that costs and holds, and where it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.goals import softmax_goal

from morello.base.errors import RewriteError
from morello.impl.tree import cycles, grow, replay
from morello.ir.dtype import BF16, F32
from morello.ir.layout import Layout, column_major, panels, row_major
from morello.ir.primitives import conv, divide_vec_scalar, fill, matmul, move
from morello.ir.spec import Spec, goal, matmul_spec
from morello.ir.tensor import IDEAL, Placement, aliased_at, gapless
from morello.rewrites import (
    Divide,
    Move,
    Overlap,
    ParallelSplit,
    Pointwise,
    Rewrite,
    Select,
    SizedOverlap,
    SpatialSplit,
    Split,
    Tile,
    ToAccumulate,
)
from morello.rewrites.move import SCHEDULED
from morello.rewrites.rewrite import Hole, Step, apply
from morello.targets import find_target
from morello.targets.kernels import standard_kernels
from morello.targets.target import Level

TARGET = replace(
    find_target("avx512"),
    vector_bytes=(64, 16),
    masks=True,
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


# ---- loops


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


def test_to_accumulate_in_batches() -> None:
    whole = matmul_spec((2, 3, 4, 5), (2, 3, 5, 6))
    fill, body = apply(ToAccumulate(), whole, TARGET).holes
    assert fill.spec.sizes == (2, 3, 4, 6)
    assert body.spec.operation == matmul(2, accumulates=True)


# ---- moves


def test_a_cache_takes_what_is_used_by_itself() -> None:
    step = apply(Move("a", "L2"), spec(4, 32, 16), TARGET)
    assert sizes(step) == [((4, 32, 16), 1, "body")]
    assert step.holes[0].spec.levels == (L2, MEMORY, MEMORY)
    assert step.holes[0].spec.placements == (ROWS, ROWS, ROWS)
    assert step.allocation == {L2: 8}
    assert step.cost == 8 * 4.0 + 10.0  # lines, and one run


def test_what_is_written_is_brought_back() -> None:
    read_and_written = apply(Move("c", "L2"), spec(4, 32, 16), TARGET)
    assert read_and_written.cost == 2 * 4 * 4.0 + 10.0
    written = apply(Move("c", "L2"), spec(4, 32, 16, accumulates=False), TARGET)
    assert written.cost == 4 * 4.0
    assert read_and_written.allocation == written.allocation == {L2: 4}


def test_every_run_takes_its_own_lines() -> None:
    gaps = Placement(row_major(2), 1)
    step = apply(Move("b", "L2"), spec(4, 32, 3, placements=(ROWS, gaps, ROWS)), TARGET)
    assert step.allocation == {L2: 32}
    assert step.cost == 32 * 4.0 + 32 * 10.0
    aliased = replace(gaps, aliased=True)
    worse = apply(Move("b", "L2"), spec(4, 16, 3, placements=(ROWS, aliased, ROWS)), TARGET)
    assert worse.cost == 16 * (4.0 + 10.0 + 100.0)


def test_rows_that_are_only_written_evict_each_other_too() -> None:
    aliased = Placement(row_major(2), 1, aliased=True)
    placements = (ROWS, ROWS, aliased)
    written = apply(
        Move("c", "L2"), spec(8, 16, 3, placements=placements, accumulates=False), TARGET
    )
    assert written.cost == 8 * (4.0 + 50.0)


@pytest.mark.parametrize(("m", "n", "waits"), [(1, 8, 7), (2, 16, 4), (4, 16, 0), (8, 8, 0)])
def test_sums_in_few_registers_wait_for_one_another(m: int, n: int, waits: int) -> None:
    """8 registers would do; at the end of a reduction, other sums have begun."""
    target = replace(UNMASKED, in_flight=8.0, accumulator_stall=0.5)
    order = row_major(2)
    near = spec(m, 1000, n, (L1, L1, L1))
    step = apply(Move("c", "registers", order, 8), near, target)
    registers = m * n // 8
    assert step.cost == pytest.approx(0.5 * waits * (1000 - SCHEDULED / registers))
    few_steps = spec(m, 12, n, (L1, L1, L1))
    assert apply(Move("c", "registers", order, 8), few_steps, target).cost == 0
    whole = apply(
        Move("c", "registers", Layout(()), 8),
        replace(near, placements=(IDEAL, IDEAL, IDEAL)),
        target,
    )
    assert whole.cost <= step.cost, "a bound is no higher"


def test_rows_that_evict_each_other_must_be_copied() -> None:
    aliased = Placement(row_major(2), 1, aliased=True)
    near = spec(5, 32, 3, (L2, L2, L2), (aliased, ROWS, ROWS))
    refuse(Move("a", "L1"), near, "rows of a a power of two apart .* copy them with a layout")
    fewer = replace(near, sizes=(4, 32, 3))
    (body,) = apply(Move("a", "L1"), fewer, TARGET).holes
    assert body.spec.placements[0] == Placement(row_major(2), 1)  # forgiven once it is near
    far = replace(near, sizes=(17, 32, 3), levels=(MEMORY, L2, L2))
    refuse(Move("a", "L2"), far, "would evict each other")
    copied = apply(Move("a", "L1", row_major(2)), near, TARGET)
    assert [hole.role for hole in copied.holes] == ["in", "body"]


def test_rows_that_are_only_written_need_not_stay() -> None:
    aliased = Placement(row_major(2), 1, aliased=True)
    near = spec(16, 32, 3, (L1, L1, L2), (ROWS, ROWS, aliased), accumulates=False)
    (body,) = apply(Move("c", "L1"), near, TARGET).holes
    assert body.spec.placements[2] == Placement(row_major(2), 1)
    more = replace(near, sizes=(17, 32, 3))
    refuse(Move("c", "L1"), more, "rows of c a power of two apart")
    added_to = spec(16, 32, 3, (L1, L1, L2), (ROWS, ROWS, aliased))
    refuse(Move("c", "L1"), added_to, "rows of c a power of two apart")
    far = spec(17, 32, 3, (L2, L2, MEMORY), (ROWS, ROWS, aliased), accumulates=False)
    refuse(Move("c", "L2"), far, "would evict each other")


def test_rows_of_sums_over_windows_are_read_again() -> None:
    """A convolution adds to its output pixel by pixel: none of its rows may be evicted."""
    aliased = Placement(row_major(4), 2, aliased=True)
    whole = goal(conv(), (1, 4, 3, 8, 32, 3, 3), (F32, F32, F32))
    near = replace(whole, levels=(L1, L1, L2), placements=(*whole.placements[:2], aliased))
    assert near.shape(2) == (1, 4, 8, 32)
    apply(Move("out", "L1"), near, TARGET)
    more = replace(near, sizes=(1, 5, 3, 8, 32, 3, 3))
    refuse(Move("out", "L1"), more, "rows of out a power of two apart")


def test_pixels_in_a_fourth_of_the_sets_must_be_copied_for_windows() -> None:
    """Products take whole lines of such rows, which another level delivers as fast."""
    aliased = Placement(row_major(4), 1, aliased=4)
    whole = goal(conv(), (1, 4, 4, 2, 2, 3, 3), (F32, F32, F32))
    near = replace(whole, levels=(L2, L2, L2), placements=(aliased, *whole.placements[1:]))
    assert near.shape(0) == (1, 4, 4, 4)
    (body,) = apply(Move("image", "L1"), near, TARGET).holes
    assert not body.spec.placements[0].aliased
    more = replace(near, sizes=(1, 4, 5, 2, 2, 3, 3))
    refuse(Move("image", "L1"), more, "rows of image a power of two apart")
    rows = Placement(row_major(2), 1, aliased=4)
    apply(Move("a", "L1"), spec(99, 32, 3, (L2, L2, L2), (rows, ROWS, ROWS)), TARGET)


@pytest.mark.parametrize(
    ("columns", "aliased"),
    [
        (1024, 1), (512, 2), (1536, 2), (256, 4), (384, 8), (64, 0), (80, 0), (500, 256),
        (501, 1024), (502, 512), (504, 128),
    ],
)  # fmt: skip
def test_tiles_of_tall_arrays_are_aliased(columns: int, aliased: int) -> None:
    """Rows of 512 floats lie 2048 bytes apart, those of 500 begin at multiples of 16 bytes."""
    whole = spec(8, columns, 8)
    assert apply(Split("k", 4), whole, TARGET).holes[0].spec.placements[0].aliased == aliased
    row = replace(whole, sizes=(1, columns, 8))
    assert not apply(Split("k", 4), row, TARGET).holes[0].spec.placements[0].aliased


def test_cuts_in_the_nearest_cache_are_of_whole_lines() -> None:
    near = spec(8, 500, 8, (L1, L1, L1))
    assert not apply(Split("k", 4), near, TARGET).holes[0].spec.placements[0].aliased
    rows = Placement(row_major(2), 1, aliased=aliased_at(500 * F32.bytes))
    moved = spec(8, 4, 8, (L2, L1, L1), (rows, ROWS, ROWS))
    body = apply(Move("a", "L1"), moved, TARGET).holes[0]
    assert body.spec.placements[0] == rows


def test_a_copy_of_what_is_read() -> None:
    layout = panels(2, 1, 16)
    whole = spec(4, 8, 64, (L2, L2, L2))
    step = apply(Move("b", "L1", layout), whole, TARGET)
    body = spec(4, 8, 64, (L2, L1, L2), (ROWS, gapless(layout), ROWS))
    copy = Spec(move(2), (8, 64), (L2, L1), (ROWS, gapless(layout)), (F32, F32))
    assert step == Step(
        0.0, {L1: 32}, (Hole(copy, 1, "in", (1, 3)), Hole(body, 1, "body", (0, 3, 2)))
    )


def test_a_copy_of_what_is_read_and_written() -> None:
    whole = spec(4, 8, 16, (L2, L2, L2))
    step = apply(Move("c", "L1", column_major(2)), whole, TARGET)
    into, body, back = step.holes
    assert [into.role, body.role, back.role] == ["in", "body", "out"]
    assert into.spec == Spec(move(2), (4, 16), (L2, L1), (ROWS, COLUMNS), (F32, F32))
    assert body.spec == spec(4, 8, 16, (L2, L2, L1), (ROWS, ROWS, COLUMNS))
    assert back.spec == Spec(move(2), (4, 16), (L1, L2), (COLUMNS, ROWS), (F32, F32))


def test_a_copy_of_what_is_only_written() -> None:
    whole = spec(4, 8, 16, (L2, L2, L2), accumulates=False)
    step = apply(Move("c", "L1", column_major(2)), whole, TARGET)
    assert [hole.role for hole in step.holes] == ["body", "out"]


@pytest.mark.parametrize(
    ("rewrite", "held", "placement"),
    [
        (Move("c", "registers", row_major(2), 16), 4 * 3, registers(16)),
        (Move("c", "registers", column_major(2), 4), 40, registers(4, column_major(2))),
        (Move("b", "registers", row_major(2), 16), 3, registers(16)),
    ],
)
def test_into_registers(rewrite: Move, held: int, placement: Placement) -> None:
    whole = spec(4, 1, 40, (L1, L1, L1))
    step = apply(rewrite, whole, TARGET)
    body = next(hole for hole in step.holes if hole.role == "body")
    operand = whole.operation.find(rewrite.operand)
    assert step.allocation == {REGISTERS: held}
    assert (body.spec.levels[operand], body.spec.placements[operand]) == (REGISTERS, placement)
    roles = [hole.role for hole in step.holes]
    assert roles == (["in", "body", "out"] if rewrite.operand == "c" else ["in", "body"])


def test_where_moves_are_refused() -> None:
    far, near = spec(4, 8, 64), spec(4, 8, 64, (L1, L1, L1))
    rows = row_major(2)
    refuse(Move("a", "L1"), far, "a must be in L2 to move to L1")
    refuse(Move("a", "L2"), near, "a must be in memory to move to L2")
    refuse(Move("x", "L2"), far, "no operand 'x'; its operands are: a, b, c")
    refuse(Move("a", "L4"), far, "no level 'L4'; there are: memory, L2, L1, registers")
    refuse(Move("a", "memory"), far, "a copy within main memory needs a layout")
    refuse(Move("a", "registers"), near, "registers need a vector size and a layout")
    refuse(Move("a", "L2", row_major(3)), far, "a has 2 dimensions")
    refuse(Move("a", "L2", rows), far, "already has this layout")
    refuse(Move("a", "L2", rows, 16), far, "only registers have a vector size")
    refuse(Move("b", "L2", panels(2, 1, 48)), far, "several whole panels of 48")
    refuse(Move("b", "L2", panels(2, 1, 64)), far, "several whole panels of 64")
    fill = apply(ToAccumulate(), spec(4, 8, 64, accumulates=False), TARGET).holes[0].spec
    refuse(Move("dst", "L2", column_major(2)), fill, "only copies or fills")


def test_where_moves_to_registers_are_refused() -> None:
    near = spec(4, 7, 64, (L1, L1, L1))
    rows, columns = row_major(2), column_major(2)
    refuse(Move("c", "registers", rows, 5), near, "has registers of .* elements; give one")
    refuse(Move("c", "registers", rows), near, "has registers of .* elements; give one")
    refuse(Move("c", "registers", panels(2, 1, 16), 16), near, "registers have no panels")
    refuse(Move("c", "registers", rows, 4), near, "fewer registers of [0-9]+ elements hold it")
    refuse(Move("c", "registers", columns, 16), near, "as few registers of 4 elements hold it")
    with pytest.raises(RewriteError, match="must be a multiple of 8"):
        apply(Move("c", "registers", rows, 8), spec(4, 7, 20, (L1, L1, L1)), UNMASKED)


def test_levels_are_found_in_any_case() -> None:
    assert apply(Move("a", "l2"), spec(4, 8, 64), TARGET).holes[0].spec.levels[0] == L2


# ---- select


def test_select() -> None:
    held = (ROWS, registers(16), registers(16))
    row = spec(1, 1, 40, (L1, REGISTERS, REGISTERS), held)
    step = apply(Select("fma_row_f32x16"), row, TARGET)
    assert step.holes == ()
    assert step.cost > 0
    assert step.allocation == {REGISTERS: 1}
    refuse(Select("fma_row_f32x16"), replace(row, sizes=(2, 1, 40)), "every size but n must be 1")
    refuse(Select("fma_row_f32x16"), replace(row, levels=(L2, 3, 3)), "a must be in L1")
    refuse(Select("fma_row_f32x16"), replace(row, levels=(L1, L1, 3)), "b must be in registers")
    upright = replace(row, placements=(ROWS, registers(16), registers(16, column_major(2))))
    refuse(Select("fma_row_f32x16"), upright, "registers of c must run along n")
    refuse(Select("load_f32x16"), row, "it computes Move")
    refuse(
        Select("fma_row_f32x99"), row, "no kernel 'fma_row_f32x99'; close to it are: fma_row_f32x"
    )
    refuse(Select("zzz" * 999), row, r"no kernel 'zzz.{0,60}; close to it are: .{0,250}\.")


def test_a_vector_is_not_loaded_into_the_first_of_several_registers() -> None:
    """A column of single elements, each in a register of its own, is no vector."""
    column = Spec(move(2), (16, 1), (L1, REGISTERS), (COLUMNS, registers(16)), (F32, F32))
    refuse(Select("load_f32x16"), column, "dst must be one register")
    back = replace(column, levels=(REGISTERS, L1), placements=(registers(16), COLUMNS))
    refuse(Select("store_f32x16"), back, "src must be one register")


def test_elements_of_different_panels_are_no_vector() -> None:
    """Two panels of one row, with other rows between them, are not 32 neighbours."""
    placements = (Placement(panels(2, 1, 16), 1), COLUMNS, registers(1))
    inner = spec(1, 32, 1, (L1, L1, REGISTERS), placements)
    refuse(Select("dot_f32x16"), inner, "a's elements must lie next to each other")
    apply(Select("dot_f32x16"), replace(inner, placements=(ROWS, COLUMNS, registers(1))), TARGET)


# ---- programs: growing and replaying them


def one_by_one() -> list[Rewrite]:
    """A schedule of a 1x1x1 matmul."""
    scalars: list[Rewrite] = [Move(name, "L2") for name in "abc"]
    scalars += [Move(name, "L1") for name in "abc"]
    scalars += [Move("c", "registers", row_major(2), 1), ToAccumulate(), Select("zero_f32")]
    scalars += [Move("b", "registers", row_major(2), 1), Select("load_f32")]
    return [*scalars, Select("fma_row_f32"), Select("store_f32")]


def test_replay() -> None:
    whole = matmul_spec((1, 1), (1, 1))
    impl = replay(whole, UNMASKED, one_by_one())
    assert impl.complete
    assert impl.decisions() == one_by_one()
    assert impl.peak == (3, 3, 3)  # a, b and c; then c, b and what the kernel needs
    kernels = sum(i.own_cost for i in impl.walk() if isinstance(i.rewrite, Select))
    transfers = 3 * 4.0 + 2 * 10.0 + 3 * 1.0 + 2 * 2.0  # c is only written: no runs
    assert impl.cost == pytest.approx(kernels + transfers)


def test_cost_is_multiplied_and_peak_is_not() -> None:
    loops: Sequence[Rewrite] = [Tile("m", 1), Tile("n", 1)]
    impl = replay(matmul_spec((3, 1), (1, 5)), UNMASKED, [*loops, *one_by_one()])
    once = replay(matmul_spec((1, 1), (1, 1)), UNMASKED, one_by_one())
    assert impl.cost == pytest.approx(15 * once.cost)
    assert impl.peak == once.peak


def test_a_schedule_that_ends_too_soon() -> None:
    with pytest.raises(RewriteError, match=r"ends too soon: Move.* is left to do"):
        replay(matmul_spec((1, 1), (1, 1)), UNMASKED, one_by_one()[:-1])
    with pytest.raises(RewriteError, match="ends too soon: Matmul"):
        replay(matmul_spec((1, 1), (1, 1)), UNMASKED, [])


def test_a_schedule_that_goes_on_too_long() -> None:
    with pytest.raises(RewriteError, match=r"goes on after .* at tile\(m=4\)"):
        replay(matmul_spec((1, 1), (1, 1)), UNMASKED, [*one_by_one(), Tile("m", 4)])


def test_grow_takes_from_the_limits() -> None:
    impl, left = grow(Move("a", "L2"), spec(4, 32, 16), TARGET, (100, 50, 32))
    assert left == (92, 50, 32)
    assert not impl.complete
    assert impl.peak == (8, 0, 0)


def test_what_exceeds_the_memory_is_refused() -> None:
    with pytest.raises(RewriteError, match="needs 8 lines of L2, of which 7 are left"):
        grow(Move("a", "L2"), spec(4, 32, 16), TARGET, (7, 50, 32))
    near = spec(4, 1, 40, (L1, L1, L1))
    with pytest.raises(RewriteError, match="needs 12 registers, of which 11 are left"):
        grow(Move("c", "registers", row_major(2), 16), near, TARGET, (7, 50, 11))


@pytest.mark.parametrize(
    ("cost", "text"),
    [(0.5, "0.5"), (999.0, "999"), (999.9, "1k"), (1234.0, "1.23k"), (5e6, "5M"), (2.5e9, "2.5G")],
)
def test_costs_are_readable(cost: float, text: str) -> None:
    assert cycles(cost) == text


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

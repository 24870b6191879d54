"""Moves: what they cost and hold, what they make of a Spec, and where they are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.rewrites.small_machine import (
    COLUMNS,
    L1,
    L2,
    MEMORY,
    REGISTERS,
    ROWS,
    TARGET,
    UNMASKED,
    refuse,
    registers,
    sizes,
    spec,
)

from morello.base.errors import RewriteError
from morello.ir.dtype import F32, I8
from morello.ir.layout import Layout, column_major, panels, row_major
from morello.ir.primitives import SUM, conv, move, reduce
from morello.ir.spec import Spec, goal
from morello.ir.tensor import IDEAL, Placement, aliased_at, gapless
from morello.rewrites import (
    Move,
    Split,
    ToAccumulate,
)
from morello.rewrites.move import SCHEDULED
from morello.rewrites.rewrite import Hole, Step, apply


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
    near = spec(m, 1000, n, (L1, L1, L1), accumulates=False)
    step = apply(Move("c", "registers", order, 8), near, target)
    registers = m * n // 8
    assert step.cost == pytest.approx(0.5 * waits * (1000 - SCHEDULED / registers))
    few_steps = spec(m, SCHEDULED // registers, n, (L1, L1, L1), accumulates=False)
    assert apply(Move("c", "registers", order, 8), few_steps, target).cost == 0
    continued = spec(m, 1000, n, (L1, L1, L1))  # the next sums may be the same ones
    step_of_more = apply(Move("c", "registers", order, 8), continued, target)
    assert step_of_more.cost >= 0.5 * waits * 1000
    whole = apply(
        Move("c", "registers", Layout(()), 8),
        replace(near, placements=(IDEAL, IDEAL, IDEAL)),
        target,
    )
    assert whole.cost <= step.cost, "a bound is no higher"


@pytest.mark.parametrize(("n", "waits"), [(8, 7), (16, 6), (64, 0), (80, 0)])
def test_sums_that_multiply_nothing_wait_in_every_step(n: int, waits: int) -> None:
    target = replace(UNMASKED, in_flight=8.0, accumulator_stall=0.5)
    rows = goal(reduce(SUM, 2, 0), (12, n), (F32, F32))
    near = replace(rows, levels=(L1, L1))
    held = Move("out", "registers", row_major(1), 8)
    assert apply(held, near, target).cost == 0.5 * waits * 12


@pytest.mark.parametrize("k", [1, 1000])
@pytest.mark.parametrize("accumulates", [True, False])
def test_each_sum_in_a_register_takes_time_to_begin_and_end(k: int, accumulates: bool) -> None:
    target = replace(UNMASKED, in_flight=8.0, accumulator_start=3.0)
    near = spec(4, k, 16, (L1, L1, L1), accumulates=accumulates)
    held = Move("c", "registers", row_major(2), 8)
    assert apply(held, near, target).cost == 3.0 * 8
    assert apply(Move("b", "registers", row_major(2), 8), near, target).cost == 0
    assert apply(held, near, replace(target, in_flight=0.0)).cost == 0


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


def test_blocks_that_registers_transpose_need_not_stay() -> None:
    aliased = Placement(row_major(2), 1, aliased=True)
    columns = gapless(column_major(2))
    whole = goal(move(2), (16, 16), (I8, I8))
    block = replace(whole, levels=(L2, L1), placements=(aliased, columns))
    (body,) = apply(Move("src", "L1"), block, TARGET).holes
    assert body.spec.placements[0] == Placement(row_major(2), 1)
    for size in ((16, 32), (17, 17)):
        more = replace(block, sizes=size)
        refuse(Move("src", "L1"), more, "rows of src a power of two apart")
    longer = replace(block, dtypes=(F32, F32))
    refuse(Move("src", "L1"), longer, "rows of src a power of two apart")


def test_sums_that_exceed_the_registers_are_read_again() -> None:
    """They do not stay in registers while a loop over parts of k runs."""
    aliased = Placement(row_major(2), 1, aliased=True)
    near = spec(15, 32, 32, (L1, L1, L2), (ROWS, ROWS, aliased), accumulates=False)
    apply(Move("c", "L1"), near, TARGET)
    more = replace(near, sizes=(16, 32, 32))
    refuse(Move("c", "L1"), more, "rows of c a power of two apart")
    few = replace(near, sizes=(4, 32, 256))
    apply(Move("c", "L1"), few, TARGET)
    placements = (ROWS, aliased)
    copied = replace(goal(move(2), (16, 32), (F32, F32)), levels=(L1, L2), placements=placements)
    apply(Move("dst", "L1"), copied, TARGET)


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

"""Costs by name: what a calibration changes, and what is published of other machines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from morello.base.errors import TargetError
from morello.frontends.text import parse
from morello.impl.reconstruct import reconstruct
from morello.ir.batch import Batch
from morello.ir.dtype import F32
from morello.ir.layout import panels, row_major
from morello.ir.placements import Placements
from morello.ir.primitives import matmul
from morello.ir.spec import Spec
from morello.ir.tensor import LINE_BYTES, Placement, aliased_at, gapless
from morello.measure.calibrate.multiplicities import Multiplicities
from morello.search.session import search
from morello.targets import TARGETS
from morello.targets.costs import (
    FITTED_APART,
    FOLLOWS,
    coefficients,
    keep_ratios,
    measured_as,
    on_cores,
    with_coefficients,
    with_costs_of,
)
from morello.targets.machines import ZEN4, ZEN5, Machine
from morello.targets.target import GROUPS, Target
from morello.targets.tlb import UNKNOWN_TLB
from morello.targets.x86 import AVX2, AVX512, avx512

by_name = pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))


@by_name
def test_a_target_with_its_own_costs_is_the_same(target: Target) -> None:
    assert with_coefficients(target, coefficients(target)) is target
    assert with_coefficients(target, {}) is target


@by_name
def test_costs_are_what_they_are_set_to(target: Target) -> None:
    values = {name: 3.0 + n for n, name in enumerate(coefficients(target))}
    changed = with_coefficients(target, values)
    assert coefficients(changed) == values
    assert changed.levels[0].per_run == values["memory.per_run"]
    assert changed.fork == values["fork"]
    assert all(k.factor == values[f"kernels.{k.group}"] for k in changed.kernels)
    assert changed.levels[target.nearest :] == target.levels[target.nearest :]


def test_quotients_by_a_number_that_compilers_know_cost_less() -> None:
    goals = (f"quotient(i16[64], {other})" for other in ("i16[64]", "7"))
    by_any, by_seven = (search(parse(each), AVX2).cost for each in goals)
    assert by_any > 4 * by_seven


@by_name
def test_every_group_has_kernels(target: Target) -> None:
    assert {f"kernels.{group}" for group in GROUPS} <= coefficients(target).keys()


def test_what_streams_from_memory_has_costs_of_its_own() -> None:
    target = replace(AVX512, last_cache=2 * 1500, streaming={"kernels.dots": 3.0})
    small, large = parse("f32[100,100] + f32[100]"), parse("f32[100,100] + f32[100,100]")
    assert with_costs_of(target, small) == target
    assert with_costs_of(replace(target, streaming={}), large).kernels == target.kernels
    before, after = coefficients(target), coefficients(with_costs_of(target, large))
    assert after == before | {"kernels.dots": 3.0 * before["kernels.dots"]}
    assert with_costs_of(target, large).from_memory
    assert with_costs_of(with_costs_of(target, large), large) == with_costs_of(target, large)
    busy, waiting = parse("f32[200,200] @ f32[200,200]"), parse("f32[4,400] @ f32[400,400]")
    alone = replace(target, overlap=0.0)
    assert with_costs_of(target, busy) == alone, "each element is used 100 times"
    assert with_costs_of(target, waiting) != target
    evicted = with_costs_of(target, small, evicted=True)
    assert coefficients(evicted) == after
    assert with_costs_of(target, busy, evicted=True) == alone
    many = replace(target, streaming={}, tunings=(target, replace(target, streaming={})))
    assert with_costs_of(many, small) is many
    assert with_costs_of(many, busy, evicted=True).tunings[0] == alone
    assert with_costs_of(many, small, evicted=True).tunings == (evicted, many.tunings[1])


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("fma_row_f32x8_bf16", "products"),
        ("dot_f32x8", "dots"),
        ("dot_l2_oddeven_f32_bf16", "dots_l2"),
        ("row_sums_f32", "row_sums"),
        ("row_sums_l2_f32", "row_sums_l2"),
        ("block_sums_ahead_bf16_f32", "block_sums_ahead"),
        ("block_sums_l2_f32", "block_sums_l2"),
        ("row_sums_ahead_f32", "row_sums_ahead"),
        ("row_sums_ahead_bf16", "row_sums"),
        ("load_part_f32x16", "loads"),
        ("exp_store_run_f32x8", "exponentials"),
        ("sum_run_f32x8", "reductions"),
        ("max_lanes_i8x32", "reductions"),
        ("maximum_f32x8", "arithmetic"),
        ("scale_reciprocal_f32x8", "divisions"),
        ("deinterleave_f32_16", "shuffles"),
        ("zero_memory_f32x8", "fills"),
    ],
)
def test_groups_of_kernels(name: str, group: str) -> None:
    found = [k for target in TARGETS.values() for k in target.kernels if k.name == name]
    assert found and {kernel.group for kernel in found} == {group}


@by_name
def test_what_differs_in_what_it_fetches_keeps_its_ratio(target: Target) -> None:
    before = coefficients(target)
    measured = {name: 3.0 * value for name, value in before.items()}
    measured |= {f"kernels.{follower}": 7.0 for follower in FOLLOWS}
    assert keep_ratios(measured, before) == pytest.approx(
        {name: 3.0 * v for name, v in before.items()}
    )
    fitted = {measured_as(k) for k in target.kernels}
    assert fitted == {*GROUPS} - (FOLLOWS.keys() - FITTED_APART)


def test_a_cost_that_there_is_not() -> None:
    with pytest.raises(TargetError, match=r"avx2 has no cost 'L3.per_line'; it has: memory.per_li"):
        with_coefficients(AVX2, {"L3.per_line": 1.0})


def per_line(expression: str, target: Target = AVX512) -> float:
    """The cycles for a line of b, from memory to L2."""
    batch = Batch.of([parse(expression)], Placements())
    cycles = target.transfer(batch, 1)
    return float(np.asarray(cycles)[0] / batch.touched(1)[0])


def test_tiles_wait_for_rows_on_more_pages_than_the_first_tlb_holds() -> None:
    few = AVX512.tlb.pages // 2
    near = per_line(f"f32[8,{few}] @ f32[{few},4096]")
    apart = per_line(f"f32[8,{few + 1}] @ f32[{few + 1},4096]")
    assert near < per_line(f"f32[1,{few}] @ f32[{few},4096]") < apart
    columns = per_line(f"f32[8,{few + 1}] @ f32[{few + 1},1024]{{0,1}}")
    assert columns == pytest.approx(near, abs=0.01), "neighbours along the terms are on few pages"
    assert per_line(f"f32[8,{few + 1}] @ f32[{few + 1},64]") < apart, "16 rows are on a page"
    many = [per_line(f"f32[100,{k}] @ f32[{k},4096]") for k in (few, few + 1)]
    assert many[0] == pytest.approx(many[1], 0.01), "tiles share lines"
    unknown = replace(AVX512, tlb=UNKNOWN_TLB)
    assert near < per_line(f"f32[8,{few}] @ f32[{few},4096]", unknown) < apart


def test_lines_come_from_memory_as_far_as_the_last_cache_does_not_hold_them() -> None:
    lines, factors = 4000, {"memory.per_line": 3.0, "overlap": 0.5}
    target = replace(AVX512, last_cache=lines, streaming=factors)
    known = coefficients(target)
    rows = parse("f32[1,400] @ f32[400,400]")
    kept = 0.75 * lines * LINE_BYTES / rows.bytes
    within = coefficients(with_costs_of(target, rows))
    assert within["memory.per_line"] == pytest.approx((3.0 - 2.0 * kept) * known["memory.per_line"])
    evicted = coefficients(with_costs_of(target, rows, evicted=True))
    assert evicted["memory.per_line"] == 3.0 * known["memory.per_line"]
    busy = coefficients(with_costs_of(target, parse("f32[300,300] @ f32[300,300]")))
    assert busy == known | {"overlap": 0.0}


def test_multiply_adds_hide_transfers_of_what_few_rows_use() -> None:
    target, b = avx512(ZEN4, frozenset()), "f32[32,4096]"
    known = coefficients(target)["memory.per_line"]
    one, two, tile, more = (
        per_line(f"f32[{rows},32] @ {b}", target) for rows in (1, 2, target.rows, 2 * target.rows)
    )
    assert [one, two, tile, more] == pytest.approx([0.28 * known, 0.0, 0.0, known], abs=0.01)
    from_memory = with_costs_of(target, parse(f"f32[1,32] @ {b}"), evicted=True)
    far = per_line(f"f32[1,32] @ {b}", from_memory)
    assert 2 * known < far < 0.95 * coefficients(from_memory)["memory.per_line"]


def test_multiply_adds_hide_transfers_unless_all_products_have_many_rows() -> None:
    target = avx512(ZEN4, frozenset())
    none, rows = replace(target, overlap=0.0), target.rows
    few = (
        f"f32[{rows},40] @ f32[40,50]",
        f"f32[40,50] @ f32[50,{rows}]",
        "exp(f32[12,1,64] @ f32[12,64,99])",
        "f32[99,80] @ f32[80,4] @ f32[4,99]",
    )
    for text in few:
        assert with_costs_of(target, parse(text)) == target, text
    many = f"f32[{rows + 1},4] @ f32[4,50]", "conv(f32[1,9,8,8], f32[64,9,3,3])"
    for text in many:
        assert with_costs_of(target, parse(text)) == none, text


def test_lines_from_l2_cost_more_where_no_products_hide_them() -> None:
    target = avx512(ZEN4, frozenset())
    before = coefficients(target)
    alone = "softmax(f32[99,40])", "transpose(f32[9,8])", "layer_norm(f32[4,8], f32[8], f32[8])"
    for text in alone:
        seen = with_costs_of(target, parse(text))
        assert coefficients(seen) == before | {"L2.per_line": target.l2_line}, text
        assert with_costs_of(seen, parse(text)) is seen
        slow = with_coefficients(target, {"L2.per_line": 2 * target.l2_line})
        assert with_costs_of(slow, parse(text)) == slow, "more was measured here"
    for text in ("f32[50,40] @ f32[40,50]", "softmax(f32[4,8] @ f32[8,50])"):
        products = coefficients(with_costs_of(target, parse(text)))
        assert products["L2.per_line"] == before["L2.per_line"] < target.l2_line, text
    evicted = coefficients(with_costs_of(target, parse(alone[0]), evicted=True))
    assert evicted["L2.per_line"] == target.l2_line
    assert evicted["memory.per_line"] == 2.8 * before["memory.per_line"]


def test_what_is_read_twice_is_read_from_l2_once_on_a_zen_4() -> None:
    goal = parse("x = f32[16,512]; x - expand_dims(mean(x, axis=1), axis=1)")
    goal, target = on_cores(goal, avx512(ZEN4, frozenset()))
    program = reconstruct(goal, target, search(goal, target).decisions)
    lines = Multiplicities(target).of(program)["L2.per_line"]
    assert lines == 2 * 16 * 512 * F32.bytes / LINE_BYTES, "all of x, and of the output"


def test_block_sums_pay_for_rows_that_may_begin_inside_of_lines() -> None:
    kernel = AVX512.kernel("block_sums_ahead_f32")
    assert kernel is not None

    def cost(c: Placement) -> float:
        rows = gapless(row_major(2))
        goal = Spec(matmul(0, True), (8, 8, 64), (2, 1, 1), (rows, rows, c), (F32, F32, F32))
        cycles = kernel.cycles(Batch.of([goal], Placements()))
        return float(np.broadcast_to(cycles, 1)[0])

    inside = Placement(row_major(2), 1, aliased_at(65 * F32.bytes))
    assert cost(gapless(panels(2, 1, 16))) < cost(gapless(row_major(2))) < cost(inside)


def test_block_sums_pay_for_rows_shorter_than_their_prefetches() -> None:
    kernel = AVX512.kernel("block_sums_l2_f32")
    assert kernel is not None

    def cost(columns: int) -> float:
        rows = gapless(row_major(2))
        goal = Spec(matmul(0, True), (4, 8, columns), (2, 1, 1), (rows,) * 3, (F32,) * 3)
        return float(np.max(kernel.cycles(Batch.of([goal], Placements()))))

    long, short = cost(384) / 384, cost(368) / 368
    assert cost(768) / 768 == pytest.approx(long, rel=0.01) and short > 1.05 * long
    assert cost(64) / 64 == pytest.approx(short, rel=0.05)


@pytest.mark.parametrize(
    ("machine", "columns", "way"), [(ZEN4, 256, "l2_"), (ZEN4, 32768, "l2_"), (ZEN5, 256, "")]
)
def test_weights_of_few_bits_are_prefetched_into_l2_on_a_zen_4(
    machine: Machine, columns: int, way: str
) -> None:
    target = replace(avx512(machine, frozenset({"avx512_vnni"})), last_cache=1 << 19)
    goal = parse(f"f32[1,4096] @ i4g32[4096,{columns}]")
    priced = with_costs_of(target, goal)
    batch = Batch.of([goal], Placements())
    kernels = [k for k in priced.kernels_of("QuantizedMatmul") if k.dtypes == goal.dtypes]
    cycles = {kernel.name: float(np.max(kernel.cycles(batch))) for kernel in kernels}
    assert min(cycles, key=lambda name: cycles[name]) == f"quantized_{way}u8_f16"


def test_runs_of_bytes_are_multiplied_a_register_at_once() -> None:
    def cost(name: str, *features: str) -> float:
        kernel = next(k for k in avx512(ZEN4, frozenset(features)).kernels if k.name == name)
        rows = (gapless(row_major(2)),) * 3
        goal = Spec(matmul(0, True), (1, 4096, 1), (2, 2, 2), rows, kernel.dtypes)
        return float(np.max(kernel.cycles(Batch.of([goal], Placements()))))

    for name in ("dot_i32x16_u8_i8", "dot_i32x16_i8_i8"):
        assert cost(name, "avx512_vnni") < cost("dot_f32x16") / 2 < cost(name)

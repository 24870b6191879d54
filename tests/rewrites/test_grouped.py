"""Rows that choose their matrices are multiplied in blocks of rows that follow one another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.rewrites.small_machine import TARGET, refuse

from morello.frontends.text import parse
from morello.rewrites import GroupRows, Move, MoveAll, Pack, apply
from morello.rewrites.grouped import block_counts, blocks_of
from morello.runtime.packing import random_inputs
from morello.targets.tlb import TLB

SPEC = parse("grouped_matmul(f32[48,32], f32[6,32,64], i32[48])")
SMALL = parse("grouped_matmul(f32[4,8], f32[2,8,16], i32[4])")


def test_the_blocks_of_a_run_are_few_and_cover_it() -> None:
    for most in (1, 2, 8, 64):
        for rows in range(1, 200):
            blocks = blocks_of(rows, most)
            assert {block.bit_count() for block in blocks} == {1}
            assert max(blocks) <= min(rows, most)
            assert sum(blocks) >= rows > sum(blocks[:-1])
            assert len(blocks) <= rows // most + (1 if rows >= most else 2)


def test_blocks_are_counted_for_groups_that_are_alike() -> None:
    """Against the mean of many draws."""
    random = np.random.default_rng(0)
    rows, groups, most, draws = 40, 8, 8, 2000
    found = np.zeros(4)
    for _ in range(draws):
        for size in np.bincount(random.integers(0, groups, rows), minlength=groups):
            for block in blocks_of(int(size), most):
                found[block.bit_length() - 1] += 1
    np.testing.assert_allclose(block_counts(rows, groups, most), found / draws, atol=0.6)
    assert block_counts(7, 1, 4) == (1, 1, 2)  # one matrix: a block of 4, and another for the rest
    assert block_counts(1, 8, 1) == (1,)


def test_group_rows() -> None:
    step = apply(GroupRows(8), SPEC, TARGET)
    *products, blank = step.holes
    assert [hole.spec.sizes for hole in products] == [(n, 32, 64) for n in (1, 2, 4, 8)]
    assert {hole.spec.expression for hole in products} == {
        f"f32[{n},32] @ f32[32,64]" for n in (1, 2, 4, 8)
    }
    assert tuple(hole.times for hole in products) == block_counts(48, 6, 8)
    assert {hole.tensors for hole in products} == {(0, 1, 3)}
    assert (blank.spec.operation.name, blank.spec.sizes) == ("FillZero", (1, 64))
    assert (blank.role, blank.tensors) == ("fill", (3,))


def test_rewrites_of_products_by_one_matrix_do_not_apply() -> None:
    refuse(Pack(), SPEC, "no instruction for groups of these products")


def test_operands_come_nearer_whether_or_not_they_are_summed() -> None:
    machine = replace(TARGET, tlb=TLB())
    for rewrite in (Move("ids", "L2"), MoveAll("L2")):
        (hole,) = apply(rewrite, SMALL, machine).holes
        assert hole.spec.levels[2] == 1


def test_matrices_may_lie_in_any_order() -> None:
    turned = parse("grouped_matmul(f32[48,32], transpose(f32[6,64,32], order=[0,2,1]), i32[48])")
    (one, *_) = apply(GroupRows(1), turned, TARGET).holes
    assert one.spec.expression == "f32[1,32] @ transpose(f32[64,32])"


def test_what_it_refuses() -> None:
    refuse(GroupRows(6), SPEC, "6 is no power of two")
    refuse(GroupRows(0), SPEC, "0 is no power of two")
    refuse(GroupRows(64), SPEC, "there are no 64 rows")
    refuse(GroupRows(1), parse("f32[8,8] @ f32[8,8]"), "Matmul has no groups of rows")
    panels = parse("grouped_matmul(f32[48,32]{1,0:T(16,1)}, f32[6,32,64], i32[48])")
    refuse(GroupRows(1), panels, "it would cut panels of x")


@pytest.mark.parametrize("groups", [1, 4, 40])
def test_every_row_that_is_timed_has_a_matrix(groups: int) -> None:
    spec = parse(f"grouped_matmul(f32[300,8], f32[{groups},8,16], i32[300])")
    ids = random_inputs(spec).plain[2]
    assert set(ids.tolist()) == set(range(groups)) and (np.diff(ids) >= 0).all()

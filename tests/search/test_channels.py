"""Depthwise convolutions of short rows, whose channels come to be the fastest dimension."""

from __future__ import annotations

import pytest

from morello.frontends.text import parse
from morello.rewrites import PadFirst, Select
from morello.search.budget import Budget
from morello.search.session import search
from morello.targets import find_target

AVX512 = find_target("avx512")


def padded_as(text: str) -> list[str]:
    """The layouts of padded images in the program that the search finds."""
    decisions = search(parse(text), AVX512).decisions
    return [str(one.layout) for one in decisions if isinstance(one, PadFirst)]


def test_registers_hold_channels_where_rows_are_short() -> None:
    strided = "conv(f32[1,32,12,12], f32[32,1,5,5], stride=2, padding=2, groups=32)"
    assert padded_as(strided) == ["{1,3,2,0}"]
    narrow = "conv(f32[1,64,4,4], f32[64,1,5,5], padding=2, groups=64)"
    assert padded_as(narrow) == ["{1,3,2,0}"]


@pytest.mark.parametrize(
    "text",
    [
        "conv(f32[1,32,32,32], f32[32,1,3,3], stride=2, padding=1, groups=32)",
        "conv(f32[1,32,14,14], f32[32,1,3,3], padding=1, groups=32)",
        "conv(f32[1,4,12,12], f32[4,1,3,3], stride=2, padding=1, groups=4)",
    ],
)
def test_rows_that_fill_registers_or_few_channels_stay(text: str) -> None:
    assert not {"{1,3,2,0}"} & {*padded_as(text)}


def test_rows_by_two_leave_no_columns_to_other_kernels() -> None:
    """The last register of 18 columns overlaps the one before."""
    goal = parse("conv(f32[1,2,20,36], f32[2,1,5,5], stride=2, padding=2, groups=2)")
    for target, kernel in ((AVX512, "f32x16"), (find_target("avx2"), "f32x8")):
        decisions = search(goal, target, budget=Budget(gap=0.1)).decisions
        chosen = {one.kernel for one in decisions if isinstance(one, Select)}
        assert {name for name in chosen if "depthwise" in name or "conv" in name} == {
            f"depthwise_rows_by_two_{kernel}"
        }

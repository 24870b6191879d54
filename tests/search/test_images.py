"""The order of loops over images and over pixels of filters, where a search tries them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from morello.frontends.text import parse
from morello.ir.batch import Batch
from morello.ir.operation import accumulating
from morello.ir.placements import Placements
from morello.rewrites import Divide, Rewrite, SizedTile, SpatialSplit
from morello.space.kind import Kind
from morello.space.rules import rules
from morello.space.space import goal_sizes
from morello.targets import find_target

AVX512 = find_target("avx512")


def tried(text: str, levels: Sequence[int] = (0, 0, 0)) -> list[Rewrite]:
    """The rewrites that are tried on an accumulating convolution with operands at these levels."""
    goal = parse(text)
    batch = Batch.of([goal], Placements())
    near = tuple(np.full(1, level, np.int8) for level in levels)
    batch = replace(batch, operation=accumulating(batch.operation), levels=near)
    groups = rules(Kind.of(batch), AVX512, goal_sizes([(goal,)], AVX512))
    return [one for group in groups if group.guard(batch)[0] for one in group.rewrites]


@pytest.mark.parametrize(
    "text, sums, split",
    [
        ("conv(f32[1,16,3,16], f32[16,16,3,3])", AVX512.nearest, False),
        ("conv(f32[1,16,3,16], f32[16,16,3,3])", AVX512.registers, True),
        ("conv(f32[1,16,1,14], f32[16,16,1,1])", AVX512.nearest, True),
    ],
)
def test_pixels_of_filters_are_looped_over_once_registers_hold_the_sums(
    text: str, sums: int, split: bool
) -> None:
    rewrites = tried(text, (AVX512.nearest, AVX512.nearest, sums))
    assert any(isinstance(one, SpatialSplit) for one in rewrites) is split


@pytest.mark.parametrize("pixels, alone", [(28, True), (14, False)])
def test_large_images_are_looped_over_one_by_one_before_their_rows(
    pixels: int, alone: bool
) -> None:
    rewrites = tried(f"conv(f32[8,64,{pixels},{pixels}], f32[64,64,1,1])")
    loops = [one for one in rewrites if isinstance(one, Divide | SizedTile)]
    assert not alone or all(isinstance(one, SizedTile) for one in loops if one.dim == "b")
    assert any(one.dim == "b" for one in loops)
    assert any(one.dim == "y" for one in loops) is not alone

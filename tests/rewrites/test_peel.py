"""Convolutions and pools whose windows are peeled, and where the search peels them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from morello.frontends.text import parse
from morello.ir.batch import Batch
from morello.ir.operation import accumulating
from morello.ir.placements import Placements
from morello.rewrites import PadFirst, Peel, apply
from morello.search.session import search
from morello.space.kind import Kind
from morello.space.padding import padding_rules
from morello.targets import find_target

AVX512 = find_target("avx512")

PIECES: list[tuple[str, str, list[tuple[int, int]]]] = [
    ("conv(f32[1,1,14,3], f32[1,1,3,3], padding=1)", "y", [(1, 2), (12, 3), (1, 2)]),
    ("conv(f32[1,1,14,3], f32[1,1,3,3], padding=1)", "p", [(13, 1), (14, 1), (13, 1)]),
    ("conv(f32[1,1,8,4], f32[1,1,3,3], padding=1, stride=2)", "y", [(1, 2), (3, 3)]),
    (
        "conv(f32[1,1,9,5], f32[1,1,5,5], padding=2)", "y",
        [(1, 3), (1, 4), (5, 5), (1, 4), (1, 3)],
    ),
    ("conv(f32[1,1,9,9], f32[1,1,3,3], padding=3, dilation=3)", "y", [(3, 2), (3, 3), (3, 2)]),
    ("conv(f32[1,1,9,9], f32[1,1,3,3], padding=6, dilation=6)", "p", [(3, 1), (9, 1), (3, 1)]),
    ("max_pool(f32[1,1,6,6], window=3, padding=[0,1,1,1])", "y", [(4, 3), (1, 2)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "dim", "pieces"), PIECES)
def test_pieces_have_windows_and_pixels_that_are_in_the_image(
    text: str, dim: str, pieces: list[tuple[int, int]]
) -> None:
    spec = parse(text)
    if dim == "p":
        spec = replace(spec, operation=accumulating(spec.operation))
    holes = [hole.spec for hole in apply(Peel(dim), spec, AVX512).holes]
    assert [(hole.size("y"), hole.size("p")) for hole in holes] == pieces
    for hole in holes:
        rows, columns = hole.operation.axes[0][-2:]
        assert not rows.padded
        assert columns == spec.operation.axes[0][-1]


def test_the_search_peels_small_images() -> None:
    """Rows before any sums are in registers, and columns by pixels of the filter."""
    text = "conv(f32[1,16,7,7], f32[32,16,3,3], padding=1)"
    decisions = search(parse(text), AVX512).decisions
    assert {str(one) for one in decisions if isinstance(one, Peel)} == {"peel(y)", "peel(q)"}


def test_the_search_pads_large_images() -> None:
    """Where less than one in ninety of all pixels of windows is padding."""
    text = "conv(f32[1,2,128,8], f32[16,2,3,3], padding=1)"
    found = {type(one) for one in search(parse(text), AVX512).decisions}
    assert PadFirst in found and Peel not in found


@pytest.mark.parametrize(("dilation", "peeled"), [(1, False), (3, False), (6, True)])
def test_columns_are_peeled_where_those_at_an_end_fill_a_tile(dilation: int, peeled: bool) -> None:
    """Ten sums keep the multiply-add units busy, two for each column."""
    padding = f"[0,0,{dilation},{dilation}]"
    text = f"conv(f32[1,9,1,48], f32[16,9,1,3], padding={padding}, dilation={dilation})"
    kind = Kind.of(Batch.of([parse(text)], Placements()))
    rewrites = [one for rules in padding_rules(kind, AVX512) for one in rules.rewrites]
    assert (Peel("x") in rewrites) == peeled

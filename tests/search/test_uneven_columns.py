"""Products that transpose an input whose columns fill no whole number of panels, or one."""

from __future__ import annotations

import pytest

from morello.frontends.text import parse
from morello.ir.layout import column_major
from morello.rewrites import Move
from morello.search.session import search
from morello.targets import find_target

AVX512 = find_target("avx512")


def transposed(text: str) -> bool:
    """Whether the program that the search finds copies b to have its columns as rows."""
    copies = [one for one in search(parse(text), AVX512).decisions if isinstance(one, Move)]
    return any(
        (one.operand, one.level, one.layout) == ("b", "L1", column_major(2)) for one in copies
    )


@pytest.mark.parametrize("columns", [15, 16, 20])
def test_they_are_copied(columns: int) -> None:
    assert transposed(f"f32[9,12] @ transpose(f32[{columns},12])")


def test_a_copy_costs_little_beside_elements_that_are_gathered() -> None:
    plain, turned = (
        search(parse(text), AVX512).cost
        for text in ("f32[31,12] @ f32[12,31]", "f32[31,12] @ transpose(f32[31,12])")
    )
    assert turned < 2 * plain


def test_panels_are_copied_as_such() -> None:
    assert not transposed("f32[9,12] @ transpose(f32[32,12])")

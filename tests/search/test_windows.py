"""Windows side by side, and short rows, are combined in registers."""

from __future__ import annotations

import pytest

from morello.frontends.text import parse
from morello.rewrites import Select
from morello.search.budget import Budget
from morello.search.session import search
from morello.targets import find_target


@pytest.mark.parametrize("target", ["avx2", "avx512"])
@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("max_pool(f32[1,2,48], window=3, stride=3)", "max_windows_3_"),
        ("sum_pool(f32[2,4,84], window=4, stride=4)", "sum_windows_4_"),
        ("max_pool(bf16[1,1,64], window=2, stride=2)", "max_windows_2_"),
        ("max(f32[40,5], axis=1)", "max_of_short_rows_"),
    ],
)
def test_neighbours_are_combined_in_registers(text: str, kernel: str, target: str) -> None:
    decisions = search(parse(text), find_target(target), budget=Budget(gap=0.02)).decisions
    chosen = {one.kernel for one in decisions if isinstance(one, Select)}
    assert any(name.startswith(kernel) for name in chosen), chosen
    assert not any(name.endswith(("pool_f32", "max_run_f32")) for name in chosen), chosen

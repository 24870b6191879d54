"""A workspace that the kernels of a file share."""

from __future__ import annotations

import morello
from morello.codegen.source import STACK_BYTES, file_workspace, unit


def test_kernels_of_a_file_share_the_largest_workspace() -> None:
    large, small = (
        morello.implement(text, target="avx512", table="off", budget=1.0)[0]
        for text in ("conv(f32[1,4,62,62], f32[4,4,3,3], padding=1)", "f32[8] + f32[8]")
    )
    units = [unit(impl, f"k{n}", (), "common") for n, impl in enumerate((large, small, large))]
    needed = units[0].borrowed
    assert needed > STACK_BYTES
    assert [each.borrowed for each in units] == [needed, 0, needed]
    (definition,) = file_workspace(units, "common")
    assert definition.endswith(f"common[{needed}];")
    assert any("workspace = common;" in line for line in units[0].code)
    assert file_workspace(units[1:2], "common") == []
    assert unit(large, "k").borrowed == 0

"""Kernels are selected where they fit, and programs are grown and replayed within limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.rewrites.small_machine import (
    COLUMNS,
    L1,
    L2,
    REGISTERS,
    ROWS,
    TARGET,
    UNMASKED,
    refuse,
    registers,
    spec,
)

from morello.base.errors import RewriteError
from morello.impl.tree import cycles, grow, replay
from morello.ir.dtype import F32
from morello.ir.layout import column_major, panels, row_major
from morello.ir.primitives import move
from morello.ir.spec import Spec, matmul_spec
from morello.ir.tensor import Placement
from morello.rewrites import (
    Move,
    Rewrite,
    Select,
    Tile,
    ToAccumulate,
)
from morello.rewrites.rewrite import apply


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

"""Specs, and batches of them."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ir.strategies import layouts

from morello.base.errors import SpecError
from morello.codegen.views import register_view
from morello.ir.batch import Batch
from morello.ir.dtype import F32, parse_dtype
from morello.ir.layout import Layout, column_major, panels, row_major
from morello.ir.operation import accumulating
from morello.ir.placements import Placements
from morello.ir.primitives import matmul
from morello.ir.spec import Spec, matmul_spec
from morello.ir.tensor import Placement, canonical, gapless, runs, tile_placement

LINE = 64


@st.composite
def specs(draw: st.DrawFn, batch: int) -> Spec:
    """A matmul whose operands lie and are held in any way."""
    operation = matmul(batch, draw(st.booleans()))
    sizes = tuple(draw(st.integers(1, 20)) for _ in operation.dims)
    levels, placements = [], []
    for operand in range(len(operation.operands)):
        shape = operation.extents(operand, sizes)
        level = draw(st.integers(0, 3))
        layout = draw(layouts(len(shape)))
        if level == 3:
            vector = draw(st.sampled_from([1, 4, 8]))
            placements.append(Placement(Layout(layout.order), layout.rank, vector=vector))
        else:
            placements.append(canonical(shape, gapless(layout)))
        levels.append(level)
    return Spec(operation, sizes, tuple(levels), tuple(placements), (F32, F32, F32))


def same_operation(several: list[Spec]) -> list[Spec]:
    return [s for s in several if s.operation == several[0].operation]


many = st.integers(0, 2).flatmap(lambda batch: st.lists(specs(batch), min_size=1, max_size=5))


@given(many)
def test_a_batch_gives_its_specs_back(several: list[Spec]) -> None:
    several = same_operation(several)
    batch = Batch.of(several, Placements())
    assert len(batch) == len(several)
    assert [batch.spec(row) for row in range(len(batch))] == several
    backwards = batch[np.arange(len(batch))[::-1]]
    assert [backwards.spec(row) for row in range(len(batch))] == several[::-1]


@given(many)
def test_a_batch_counts_registers_as_the_code_has_them(several: list[Spec]) -> None:
    several = same_operation(several)
    batch = Batch.of(several, Placements())
    for operand in range(3):
        counted = batch.registers(operand)
        for row, spec in enumerate(several):
            placement, shape = spec.placements[operand], spec.shape(operand)
            if placement.vector:
                view = register_view("r", placement.layout, shape, placement.vector)
                assert counted[row] == len(view.registers({"r": "r"})) == prod(view.counts())


@given(many)
def test_a_batch_counts_lines_run_by_run(several: list[Spec]) -> None:
    several = same_operation(several)
    batch = Batch.of(several, Placements())
    for operand in range(3):
        counted = batch.lines(operand)
        for row, spec in enumerate(several):
            count, length = runs(spec.shape(operand), spec.placements[operand])
            assert counted[row] == count * -(-length * 4 // LINE)


def test_rows_with_gaps_take_lines_of_their_own() -> None:
    whole = gapless(row_major(2))
    half_rows = tile_placement((8, 32), (8, 16), whole, 4)
    assert runs((8, 32), whole) == (1, 256)
    assert runs((8, 16), half_rows) == (8, 16)
    assert tile_placement((8, 32), (4, 32), whole, 4) == whole


def test_sizes_and_shapes() -> None:
    spec = matmul_spec((5, 7, 3), (5, 3, 2))
    assert spec.operation.dims == ("b", "m", "k", "n")
    assert spec.sizes == (5, 7, 3, 2)
    assert [t.shape for t in spec.tensors] == [(5, 7, 3), (5, 3, 2), (5, 7, 2)]
    assert spec.flops == 2 * 5 * 7 * 3 * 2
    assert spec.expression == "f32[5,7,3] @ f32[5,3,2]"
    assert str(spec) == "Matmul(b=5, m=7, k=3, n=2)"
    assert accumulating(spec.operation).accumulates


def test_layouts_are_named_where_they_are_not_row_major() -> None:
    layouts = (column_major(2), panels(2, 1, 8), column_major(2))
    spec = matmul_spec((32, 16), (16, 24), layouts=layouts)
    assert spec.expression == ("f32[32,16]{0,1} @ f32[16,24]{0,1:T(8,1)} -> f32[32,24]{0,1}")


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ((4,), (3, 4), "should have 4 rows"),
        ((4, 4), (3,), "should have 4 elements"),
        ((), (4, 4), "1 to 6 dimensions"),
        ((4, 0), (0, 4), "every size must be at least 1"),
        ((2, 4, 4), (3, 4, 4), "batch sizes"),
        ((3, 1, 4, 4), (2, 5, 4, 4), "batch sizes"),
        ((1,) * 5 + (4, 4), (1,) * 5 + (4, 4), "1 to 6 dimensions"),
        ((4, 5), (6, 4), "inner sizes 5 and 6 differ"),
    ],
)
def test_shapes_that_cannot_be_multiplied(
    a: tuple[int, ...], b: tuple[int, ...], reason: str
) -> None:
    with pytest.raises(SpecError, match=reason):
        matmul_spec(a, b)


def test_dtypes() -> None:
    assert parse_dtype("f32") is F32
    assert (F32.np.itemsize, F32.np.type) == (F32.bytes, F32.numpy)
    with pytest.raises(SpecError, match=r"the dtypes are: u8, .* f32"):
        parse_dtype("f33")

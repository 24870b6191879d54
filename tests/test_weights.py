"""Weights that are laid out ahead."""

from __future__ import annotations

import ctypes
import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sampling import some

import morello
from morello.base.errors import CallError, SpecError
from morello.cli.parser import main
from morello.frontends.text import parse
from morello.graph.graph import apply
from morello.graph.operators import Constant
from morello.ir.dtype import BF16, F32, DType
from morello.ir.layout import Layout
from morello.measure.quality import assess
from morello.models import packing as constants
from morello.models.schedule import whole
from morello.runtime import packing
from morello.runtime.argument import arguments
from morello.runtime.packing import packed, random_inputs


@st.composite
def layouts(draw: st.DrawFn) -> tuple[tuple[int, ...], Layout]:
    rank = draw(st.integers(1, 4))
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=rank, max_size=rank)))
    order = tuple(draw(st.permutations(range(rank))))
    if draw(st.booleans()):
        return shape, Layout(order)
    odd_even = draw(st.booleans())
    dim = order[-1] if odd_even else draw(st.integers(0, rank - 1))
    return shape, Layout(order, (dim, 2 * draw(st.integers(1, 4))), odd_even)


@given(layouts(), st.sampled_from([F32, BF16]))
def test_every_element_is_where_the_layout_says(
    drawn: tuple[tuple[int, ...], Layout], dtype: DType
) -> None:
    shape, layout = drawn
    values = (1 + np.arange(np.prod(shape))).reshape(shape).astype(dtype.np)
    flat = packed(values, dtype, layout)
    strides = layout.strides(shape)
    seen = np.zeros(len(flat), np.bool_)
    for index in product(*map(range, shape)):
        place = [index[d] for d in layout.order]
        if layout.panel is not None:
            dim, width = layout.panel
            place[layout.order.index(dim)], inner = divmod(index[dim], width)
            place.append(inner // 2 + inner % 2 * (width // 2) if layout.odd_even else inner)
        offset = sum(p * s for p, s in zip(place, strides, strict=True))
        assert flat[offset] == values[index]
        seen[offset] = True
    assert not flat[~seen].any()
    assert flat.ctypes.data % 64 == 0


def test_large_arrays_are_laid_out_by_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_MANY_BYTES", 0)
    values = np.random.default_rng(0).random((130, 70), np.float32)
    assert (packed(values, F32, Layout((1, 0))).reshape(70, 130) == values.T).all()


@pytest.mark.parametrize(
    "expression, weights",
    [
        ("f32[8,32] @ f32[32,64]", "b"),
        ("f32[2,4,8] @ f32[2,8,16]", "b"),
        ("conv(f32[1,1,3,3], f32[16,1,2,2])", "filter"),
        ("relu(f32[4,16] @ f32[16,32] + f32[32])", ""),
        ("f32[17,90] @ f32[90,40]", "b"),
        ("relu(f32[5,64] @ f32[64,100] + f32[100])", ""),
        ("conv(f32[1,8,9,9], f32[40,8,3,3], padding=1)", "filter"),
    ],
)
def test_a_kernel_for_constant_weights_computes_the_same(expression: str, weights: str) -> None:
    plain = morello.compile(expression)
    constant = morello.compile(expression, weights="constant")
    assert constant.impl.cost <= plain.impl.cost
    assert constant.max_error is not None and constant.max_error < 1e-5
    random = np.random.default_rng(1)
    inputs = {a.name: random.random(a.shape, np.float32) for a in plain.arguments[:-1]}
    laid_out = [constant.pack(name, value) for name, value in inputs.items()]
    assert not weights or weights in inputs
    np.testing.assert_allclose(constant(*laid_out), plain(*inputs.values()), rtol=1e-5)


def test_panels_are_chosen_where_rows_of_weights_are_far_apart() -> None:
    expression = "f32[8,512] @ f32[512,4096]"
    impl, _ = morello.implement(expression, target="avx512", weights="constant")
    layout = impl.spec.placements[1].layout
    assert layout.panel is not None and layout.panel[0] == 1
    assert arguments(impl.spec)[1].shape == (512 * 4096,)


PANELS = [
    "f32[8,16] @ f32[16,32]{0,1:T(16,1)}",
    "bf16[8,16] @ bf16[16,32]{0,1:T(16,1)}",
    "f32[8,16] @ f32[16,18]{0,1:T(16,1)}",
]


@pytest.mark.parametrize("expression", PANELS)
def test_numpy_and_the_kernel_get_the_same_values(expression: str) -> None:
    kernel = morello.compile(expression)
    inputs = random_inputs(kernel.spec)
    a, b = (one.astype(np.float64) for one in inputs.plain)
    assert b.shape == kernel.spec.shape(1) and inputs.taken[1].ndim == 1
    rough = 1e-5 if kernel.spec.dtypes[0] is F32 else 1e-2
    found = kernel.fast(*inputs.taken).view(kernel.arguments[-1].dtype.np)
    np.testing.assert_allclose(found.astype(np.float64), a @ b, rtol=rough)


@pytest.mark.parametrize("expression", [*PANELS, "f32[8,16] @ f32[16,32]{0,1}"])
def test_programs_share_what_is_packed_until_it_changes(
    expression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "_MANY_BYTES", 0)
    kernel = morello.compile(expression)
    array = random_inputs(kernel.spec).plain[1].copy(order="C")
    view = whole(apply(Constant(array)))
    first = constants.packed(view, kernel, 1)
    assert constants.packed(view, kernel, 1) is first
    array[-1, -1] = 2
    second = constants.packed(view, kernel, 1)
    assert np.count_nonzero(second != first) == 1
    assert constants.packed(view, kernel, 1) is second


@pytest.mark.parametrize(
    "arguments",
    some(
        [
            *([one] for one in PANELS),
            ["f32[8,16] @ f32[16,32]", "--weights", "constant", "--measure", "2"],
        ],
        3,
    ),
)
def test_kernels_for_packed_weights_race_numpy(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *arguments, "--vs", "numpy", "--seconds", "0.01", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["verified"] and result["ratio"]["numpy"] > 0


def test_programs_over_panels_are_assessed() -> None:
    found = assess(morello.implement("f32[8,16] @ f32[16,32]{0,1:T(16,1)}")[0], 2, seconds=0.002)
    assert len(found.points) > 2


def test_what_cannot_be_laid_out_says_so() -> None:
    with pytest.raises(SpecError, match="no weights"):
        morello.compile("softmax(f32[4,8])", weights="constant")
    with pytest.raises(SpecError, match="plain, constant or streamed"):
        morello.compile("f32[4,4] @ f32[4,4]", weights="fixed")
    kernel = morello.compile("f32[4,16] @ f32[16,16]", weights="constant")
    with pytest.raises(SpecError, match="no input 'w'"):
        kernel.pack("w", np.zeros((16, 16), np.float32))
    with pytest.raises(SpecError, match=r"b is f32\[16,16\], and not float32\[16,8\]; pass one"):
        kernel.pack("b", np.zeros((16, 8), np.float32))
    packed = morello.compile("f32[4,64] @ f32[64,128]", weights="constant", verify=False)
    with pytest.raises(CallError, match=r"pack it once with kernel.pack\('b', b\)"):
        packed(np.zeros((4, 64), np.float32), np.zeros((64, 128), np.float32))


class Broken:
    @property
    def __array_interface__(self) -> object:
        raise ZeroDivisionError


def test_whatever_is_an_array_can_be_laid_out() -> None:
    kernel = morello.compile("f32[4,16] @ f32[16,16]", weights="constant", verify=False)
    values = np.arange(256, dtype=np.float32).reshape(16, 16)
    wanted = kernel.pack("b", values)
    memory = values.tobytes()
    rows = ((ctypes.c_float * 16) * 16).from_buffer_copy(memory)
    for same in (memoryview(memory).cast("f", (16, 16)), list(values), rows):
        np.testing.assert_array_equal(kernel.pack("b", same), wanted)
    message = (
        r"b is f32\[16,16\], and not float64\[16,16\]; convert with np.asarray\(b, dtype='float"
    )
    with pytest.raises(SpecError, match=message):
        kernel.pack("b", values.tolist())
    for none in ([[1.0], [2.0, 3.0]], Broken()):
        with pytest.raises(
            SpecError, match=r"no array \((Value|ZeroDivision)Error\); pass a NumPy"
        ):
            kernel.pack("b", none)  # type: ignore[arg-type]
    odd_ones: tuple[Any, ...] = (None, "text", 7, {})
    for odd in odd_ones:
        with pytest.raises(SpecError, match=r"b is f32\[16,16\], and not "):
            kernel.pack("b", odd)
    with pytest.raises(CallError, match=r"b is a masked array.*pass b.filled\(0\), or b.data"):
        kernel.pack("b", np.ma.masked_array(values, mask=values > 5))


@pytest.mark.parametrize(
    ("expression", "operand", "rows"),
    [
        ("relu(take(f32[900,4], i64[300]))", 1, 900),
        ("scatter_max(f32[90,4], i32[300], f32[300,4])", 1, 90),
        ("segment_sum(f32[300,4], i32[300], count=50)", 1, 50),
        ("grouped_matmul(f32[64,4], f32[8,4,4], i32[64])", 2, 8),
    ],
)
def test_random_numbers_of_rows_are_of_all_rows(expression: str, operand: int, rows: int) -> None:
    """Else what is timed reads a few rows, which stay in the first cache."""
    numbers = random_inputs(parse(expression)).plain[operand]
    assert numbers.min() >= 0
    assert 0.9 * rows <= numbers.max() + 1 <= rows

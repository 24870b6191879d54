"""Weights in panels of the groups that instructions take, which are read where they are."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sampling import some

import morello
from morello import Kernel
from morello.base.errors import RewriteError, SpecError
from morello.rewrites import GroupRows, SpatialSplit, Split, Tile, apply
from morello.runtime.packing import random_inputs
from morello.search.prepacking import with_layouts
from morello.targets.catalog import native
from morello.targets.machines import ZEN4
from morello.targets.x86 import avx512

TARGET = avx512(ZEN4, frozenset({"avx512_bf16", "avx512_vnni"}))

PRODUCTS = [
    "bf16[6,64] @ bf16[64,48]{0,1:T(16,2)}",
    "bf16[33,300] @ bf16[300,64]{0,1:T(32,2)}",
    "bf16[1,128] @ bf16[128,64]{0,1:T(64,2)}",
    "bf16[6,64] @ bf16[64,33]{0,1:T(32,2)}",
    "bf16[3,8,32] @ bf16[3,32,64]{1,2,0:T(1,16,2)}",
    "relu(bf16[40,64] @ bf16[64,48]{0,1:T(16,2)} + f32[48])",
    "cast(bf16[8,32] @ bf16[32,64]{0,1:T(32,2)}, bf16) @ bf16[64,16]{0,1:T(16,2)}",
    "u8[7,64] @ i8[64,32]{0,1:T(16,4)}",
    "u8[7,64] @ i8[64,41]{0,1:T(16,4)}",
    "i8[20,100] @ i8[100,96]{0,1:T(32,4)} -> i32[20,96]",
    "i8[20,100] @ i8[100,97]{0,1:T(64,4)}",
]


def verified(text: str) -> Kernel:
    """The kernel of an expression, which was compared with NumPy in higher precision."""
    if native().packs != TARGET.packs:
        pytest.skip("no instruction for groups here")
    kernel = morello.compile(text, table="off", gap=0.1)
    assert kernel.max_error is not None
    return kernel


@pytest.mark.parametrize("text", some(PRODUCTS, 2))
def test_products_are_those_of_the_plain_weights(text: str) -> None:
    kernel = verified(text)
    if "(" in text.replace(":T(", ""):
        return
    inputs = random_inputs(kernel.spec)
    wide = np.float64 if kernel.spec.dtypes[0].is_float else np.int64
    a, b = (one.astype(wide) for one in inputs.plain)
    found = kernel.fast(*inputs.taken).view(kernel.arguments[-1].dtype.np)
    np.testing.assert_allclose(found.astype(wide), a @ b, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("text", [text for text in PRODUCTS if text[0] != "i"])
def test_nothing_is_copied_into_groups(text: str) -> None:
    impl, _ = morello.implement(text, target=TARGET, table="off", gap=0.1)
    assert not any(node.spec.operation.name == "Pack" for node in impl.walk())


CONVOLUTIONS = [
    "conv(bf16[1,17,5,18], bf16[32,17,2,2])",
    "conv(bf16[2,16,6,9], bf16[32,16,2,3]{1,3,2,0:T(32,1,1,2)}, stride=2)",
    "conv(bf16[1,6,18,32], bf16[3,3,32,32], padding=1, layout=NHWC)",
    "conv(bf16[1,32,6,8], bf16[32,16,3,3], groups=2)",
    "relu(conv(bf16[1,16,6,20], bf16[32,16,3,3]) + bf16[32,1,1]) -> bf16[1,32,4,18]",
    "conv(u8[1,16,6,9], i8[32,16,3,3]{1,3,2,0:T(16,1,1,4)})",
]


@pytest.mark.parametrize("text", [CONVOLUTIONS[0], CONVOLUTIONS[1]])
def test_channels_are_summed_in_groups(text: str) -> None:
    impl, _ = morello.implement(text, target=TARGET, table="off", gap=0.1)
    products = {str(node.spec.dtypes[0]) for node in impl.walk() if node.spec.operation.contracted}
    assert products <= {"bf16x2", "u8x4"}
    assert products


@pytest.mark.parametrize("text", CONVOLUTIONS)
def test_convolutions_in_groups_are_right(text: str) -> None:
    verified(text)


def test_plain_weights_have_layouts_in_groups() -> None:
    def layouts(text: str) -> list[str]:
        specs = with_layouts(morello.parse(text), TARGET)
        return [str(spec.placements[1].layout) for spec in specs]

    assert "{0,1:T(16,2)}" in layouts("bf16[8,64] @ bf16[64,48]")
    assert "{0,1:T(16,4)}" in layouts("i8[8,64] @ i8[64,48]")
    assert "{1,3,2,0:T(16,1,1,2)}" in layouts("conv(bf16[1,64,7,7], bf16[64,64,3,3])")
    assert "{2,1,0,3:T(32,1,1,2)}" in layouts("conv(bf16[1,7,7,6], bf16[3,3,6,32], layout=NHWC)")
    assert not any(",2)" in one for one in layouts("conv(bf16[1,3,7,7], bf16[64,3,3,3])"))
    assert "{0,1:T(32,4)}" in layouts("i8[8,64] @ i8[64,60]")
    assert "{1,2,0:T(1,16,2)}" in layouts("grouped_matmul(bf16[48,64], bf16[6,64,96], i32[48])")
    assert not any(",2)" in layout for layout in layouts("bf16[1,64] @ bf16[64,48]"))
    assert not any(",2)" in layout for layout in layouts("bf16[8,63] @ bf16[63,48]"))
    assert not any(",2)" in layout for layout in layouts("f32[8,64] @ f32[64,48]"))


def test_no_loop_cuts_groups() -> None:
    spec = morello.parse("f32[8,48] += bf16[8,64] @ bf16[64,48]{0,1:T(16,2)}")
    with pytest.raises(RewriteError, match="it would cut panels of b"):
        apply(Tile("n", 8), spec, TARGET)
    with pytest.raises(RewriteError, match="it would cut groups of b"):
        apply(Split("k", 3), spec, TARGET)
    assert apply(Split("k", 4), spec, TARGET)


def test_no_matrix_cuts_groups() -> None:
    """Groups of another dimension are none of the one that is summed, once that is gone."""
    text = "grouped_matmul(bf16[64,128], bf16[8,128,128]{0,1,2:T(16,1,2)}, i32[64])"
    with pytest.raises(RewriteError, match="it would cut groups of matrices"):
        apply(GroupRows(16), morello.parse(text), TARGET)
    filters = "bf16[64,64,1,2]{3,2,1,0:T(16,1,1,2)}"
    spec = morello.parse(f"f32[1,64,1,8] += conv(bf16[1,64,1,9], {filters})")
    with pytest.raises(RewriteError, match="it would cut groups of the filter along q"):
        apply(SpatialSplit(), spec, TARGET)


def test_channels_in_odd_even_blocks_stay_so_in_a_matmul() -> None:
    image = "bf16[1,1,10,64]{3,2,1,0:E(32)}"
    text = f"f32[1,1,8,32] += conv({image}, bf16[1,3,64,32], layout=NHWC)"
    (matmul,) = apply(SpatialSplit(), morello.parse(text), TARGET).holes
    assert str(matmul.spec.placements[0].layout) == "{1,0:E(32)}"
    with pytest.raises(RewriteError, match="it would cut panels of a"):
        apply(Split("k", 1), matmul.spec, TARGET)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("bf16[8,63] @ bf16[63,48]{0,1:T(16,2)}", "groups of 2 along dimension 0 of 63"),
        ("f32[8,64] @ f32[64,48]{0,1:T(16,2)}", r"groups of 2 f32(.|\n)*groups have 4 bytes"),
    ],
)
def test_what_has_no_whole_groups_says_so(text: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        morello.parse(text)

"""Sums stored in 16 bits are accumulated in f32, and rounded once."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.sampling import some
from tests.support import optimum

import morello
from morello.frontends.text import parse
from morello.impl.tree import Impl, replay
from morello.ir.dtype import BF16, F16, F32
from morello.ir.rounding import epsilon
from morello.rewrites.accumulate import narrow_sums
from morello.runtime.tolerance import expected
from morello.search.session import Session
from morello.targets.catalog import find_target

COLUMNS = "conv(f32[11,17,7,22], f32[7,17,1,2], stride=[3,2]) -> f16[11,7,3,11]{1,3,2,0}"
GOALS = (
    COLUMNS,
    "conv(f16[1,4,6,6], f16[3,4,5,5]) -> f16[1,3,2,2]",
    "conv(bf16[1,2,5,5], bf16[4,2,3,3], padding=1) -> bf16[1,4,5,5]",
    "conv(f32[1,6,6,4], f32[1,1,4,8], layout=NHWC) -> f16[1,6,6,8]",
    "f32[3,700] @ f32[700,5] -> bf16[3,5]",
    "bf16[8,96] @ bf16[96,32] -> bf16[8,32]",
    "f16[1,256] @ f16[256,64] -> f16[1,64]",
    "sum(f16[100,24], axis=0)",
    "sum(bf16[6,70])",
    "sum(f16[9,8,7], axis=[0,2])",
    "mean(f16[100,24], axis=0)",
    "mean(bf16[9,8,7], axis=[0,2])",
)
ROUNDINGS = 0.501
"""The largest error, in roundings to the nearest: one half, and what sums of f32 are off."""


@cache
def kernel(text: str) -> morello.Kernel:
    return morello.compile(text, threads=1, verify=False, budget=0.5)


def test_partial_sums_may_be_beyond_the_largest_number() -> None:
    images = np.full((11, 17, 7, 22), 250, np.float32)
    filters = np.empty((7, 17, 1, 2), np.float32)
    filters[..., 0], filters[..., 1] = 90000 / 4250, -60000 / 4250  # the first sum is 90000
    np.testing.assert_array_equal(kernel(COLUMNS)(images, filters), np.float16(30000))


def test_a_sum_may_overflow_where_its_mean_does_not() -> None:
    means = kernel("mean(f16[8,1000])")(np.full((8, 1000), 300, np.float16))
    np.testing.assert_array_equal(means, np.full(8, 300, np.float16))


def test_all_numbers_are_rounded_to_the_nearest() -> None:
    random = np.random.default_rng(0)
    bits = random.integers(0, 1 << 32, (8, 64), np.uint64).astype(np.uint32)
    bits[:2] &= 0x807FFFFF  # subnormal, or 0
    bits[2] = (bits[2] & 0xFFFF0000) | 0x8000  # between two numbers
    bits[3, ::2] |= 0x7F800000  # infinite, or NaN
    x = bits.view(np.float32)
    with np.errstate(all="ignore"):
        wanted = x.astype(BF16.np)
    found = kernel("neg(neg(f32[8,64])) -> bf16[8,64]")(x)
    np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))


@pytest.mark.parametrize("text", some(GOALS, 4))
def test_results_are_rounded_once(text: str) -> None:
    made, random = kernel(text), np.random.default_rng(0)
    inputs: list[NDArray[Any]] = [
        random.uniform(0.5, 1.5, x.shape).astype(x.dtype.np) for x in made.arguments[:-1]
    ]
    dtype = made.arguments[-1].dtype
    value = expected(parse(text.partition(" -> ")[0]), [x.astype(np.float64) for x in inputs]).value
    error = np.abs(np.asarray(made(*inputs)).astype(np.float64) - value)
    spacing = epsilon(dtype) * np.exp2(np.floor(np.log2(np.abs(value))))
    assert (error <= ROUNDINGS * spacing).all()


@cache
def session(text: str) -> Session:
    return Session(parse(text), find_target("avx2"))


def rounding(impl: Impl) -> list[str]:
    """The Specs of a program that accumulate into 16 bits."""
    own = impl.spec.operation.accumulates and narrow_sums(impl.spec.operation, impl.spec.dtypes)
    return [str(impl.spec)] * bool(own) + [
        one for child in impl.children for one in rounding(child.impl)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "conv(f32[1,2,3,4], f32[2,2,1,2]) -> f16[1,2,3,3]",
        "bf16[2,12] @ bf16[12,8] -> bf16[2,8]",
        "sum(f16[8,12], axis=0)",
    ],
)
def test_no_program_accumulates_in_16_bits(text: str) -> None:
    goal, target = session(text).goal, session(text).target
    drawn = [replay(goal, target, one) for one in session(text).sample(30)]
    assert len(drawn) > 5 and not any(rounding(impl) for impl in drawn)


def test_integers_wrap_in_16_bits() -> None:
    spec = parse("i8[4,8] @ i8[8,16] -> i16[4,16]")
    assert not narrow_sums(spec.operation, spec.dtypes)
    for dtype, named in ((BF16, "c"), (F16, "c"), (F32, "")):
        assert narrow_sums(spec.operation, (F32, F32, dtype)) == named


@pytest.mark.parametrize("text", ["sum(DTYPE[64,48], axis=1)", "DTYPE[64,48] * DTYPE[64,1]"])
def test_rows_of_16_bits_cost_no_more_than_of_32(text: str) -> None:
    """They are converted by registers, even where kernels take them, or factors, from a cache."""
    target = find_target("avx2")
    costs = {
        dtype: optimum(parse(text.replace("DTYPE", dtype)), target).cost
        for dtype in ("bf16", "f16", "f32")
    }
    assert max(costs["bf16"], costs["f16"]) < 1.5 * costs["f32"]

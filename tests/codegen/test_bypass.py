"""Large results are stored past the caches, where lines are filled one after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support import skip_unless_it_runs

from morello import api
from morello.codegen import generate
from morello.frontends import parse
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.search.session import search
from morello.targets import find_target
from morello.targets.target import Target


def with_small_cache(name: str) -> Target:
    """A target on which results of more than 4 KiB bypass the caches."""
    return replace(find_target(name), last_cache=128, bypassed=0.5)


AVX2, AVX512 = map(with_small_cache, ("avx2", "avx512"))
LARGE = "f32[40,64] * f32[40,64]"


def best(expression: str, target: Target) -> Impl:
    spec = parse(expression)
    return reconstruct(spec, target, search(spec, target).decisions)


@pytest.mark.parametrize("offset", [0, 4, 16, 32])
@pytest.mark.parametrize("target", [AVX2, AVX512], ids=lambda t: t.name)
@pytest.mark.parametrize("shape", [(40, 64), (301, 237)])
def test_results_are_right_wherever_they_begin(
    shape: tuple[int, int], target: Target, offset: int
) -> None:
    skip_unless_it_runs(target)
    impl = best("f32[{0},{1}] * f32[{0},{1}]".format(*shape), target)
    assert "bypass_f32" in generate(impl).text
    rng = np.random.default_rng(offset)
    a, b = (rng.standard_normal(shape, np.float32) for _ in range(2))
    memory = np.full(a.size + 48, np.nan, np.float32)
    start = -memory.ctypes.data % 64 // 4 + offset // 4
    out = memory[start : start + a.size].reshape(shape)
    api.compile(impl)(a, b, out=out)
    np.testing.assert_array_equal(out, (a.astype(np.float64) * b).astype(np.float32))
    assert np.isnan(memory[:start]).all()
    assert np.isnan(memory[start + a.size :]).all()


@pytest.mark.parametrize(
    ("expression", "helper"),
    [
        ("exp(f32[50,64])", "bypass_f32x16"),
        ("transpose(f32[4,8,512], order=[1,0,2])", "bypass_rows"),
        ("silu(bf16[64,64])", "bypass_bf16_f32x16"),
        ("gelu(bf16[64,64])", "bypass_bf16_f32x16"),
        ("cast(f16[50,64], f32)", "bypass_f32x16"),
        ("u8[50,128] + u8[50,128]", "bypass_u8x64"),
        ("move(f32[60,64])", "bypass_f32x16"),
    ],
)
def test_what_is_written_in_order_bypasses_the_caches(expression: str, helper: str) -> None:
    text = generate(best(expression, AVX512)).text
    assert f"{helper}(&" in text
    assert text.index("__builtin_ia32_sfence();") > text.rindex("bypass_")


@pytest.mark.parametrize(
    "expression",
    [
        "f32[10,64] * f32[10,64]",  # too small
        "transpose(f32[64,64])",  # rows of short runs
        "f32[60,16] += f32[60,16] @ f32[16,16]",  # a result that is read
        "f32[600,9] + f32[9]",  # more masked stores than others
    ],
)
def test_other_results_do_not(expression: str) -> None:
    text = generate(best(expression, AVX512)).text
    assert "bypass_" not in text
    assert "sfence" not in text


def test_targets_that_are_not_measured_do_not() -> None:
    assert "bypass_" not in generate(best(LARGE, replace(AVX512, bypassed=0.0))).text
    assert "bypass_" not in generate(best(LARGE, replace(AVX512, last_cache=0))).text


def test_each_thread_ends_its_stores() -> None:
    target = replace(AVX512, cores=2)
    spec = replace(parse("f32[4000,64] * f32[4000,64]"), parallel=True)
    source = generate(reconstruct(spec, target, search(spec, target).decisions))
    assert source.parallel
    assert source.text.count("__builtin_ia32_sfence();") >= 2

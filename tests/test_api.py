"""The Python API: compile, call, and what it says when the arrays are wrong."""

from __future__ import annotations

import numpy as np
import pytest

import morello
from morello.errors import CallError, SpecError, TargetError


def random(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(1, 1, 1), (7, 13, 5), (3, 1, 17), (1000, 1, 1), (1, 1000, 1), (31, 33, 35), (64, 64, 64)],
)
@pytest.mark.parametrize("target", ["avx2", "native"])
def test_any_size(m: int, k: int, n: int, target: str) -> None:
    kernel = morello.compile(f"f32[{m},{k}] @ f32[{k},{n}]", target=target)
    a, b = random(m, k), random(k, n)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(kernel(a, b), exact, rtol=1e-4, atol=1e-4)
    out = np.full((m, n), np.nan, np.float32)
    assert kernel(a, b, out=out) is out
    np.testing.assert_allclose(out, exact, rtol=1e-4, atol=1e-4)


def test_layouts_and_batches() -> None:
    kernel = morello.compile("f32[3,20,30]{1,2,0} @ f32[3,30,10] -> f32[3,20,10]{1,2,0}")
    a, b = random(3, 30, 20).swapaxes(1, 2), random(3, 30, 10)
    result = kernel(a, b)
    assert result.swapaxes(1, 2).flags.c_contiguous
    np.testing.assert_allclose(result, a @ b, rtol=1e-4, atol=1e-5)


def test_a_kernel_knows_where_it_comes_from() -> None:
    kernel = morello.matmul("f32[8,8]", random(8, 4))
    assert kernel.spec == morello.parse("f32[8,8] @ f32[8,4]")
    assert kernel.impl.complete and kernel.impl.cost > 0
    assert kernel.statistics is not None and kernel.statistics.specs > 0
    assert kernel.max_error is not None and kernel.max_error < 1e-5
    assert "void kernel(" in kernel.source.text
    assert "f32[8,8] @ f32[8,4]" in repr(kernel)


def test_verification_can_be_left_out() -> None:
    assert morello.compile("f32[4,4] @ f32[4,4]", verify=False).max_error is None


def test_wrong_arrays() -> None:
    kernel = morello.compile("f32[4,8] @ f32[8,4]")
    a, b = random(4, 8), random(8, 4)
    with pytest.raises(CallError, match=r"argument b: expected f32\[8,4\].*float64"):
        kernel(a, b.astype(np.float64))
    with pytest.raises(CallError, match="argument a"):
        kernel(a[:, :4], b)
    with pytest.raises(CallError):
        kernel(a, b, out=a[:, :4])


def test_a_schedule_by_hand_runs() -> None:
    started = morello.schedule("f32[32,32] @ f32[32,32]").to_accumulate().tile(m=8)
    with pytest.raises(SpecError, match="left to do"):
        morello.compile(started)
    kernel = morello.compile(started.solve())
    a, b = random(32, 32), random(32, 32)
    np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-4, atol=1e-5)


def test_what_cannot_be_compiled() -> None:
    with pytest.raises(TargetError, match="one thread"):
        morello.compile("f32[4,4] @ f32[4,4]", threads=2)
    with pytest.raises(SpecError, match="panels"):
        morello.compile("f32[4,4] @ f32[4,64]{0,1:T(16,1)}")
    with pytest.raises(AttributeError, match="nonsense"):
        morello.nonsense  # noqa: B018

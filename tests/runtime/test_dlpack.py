"""Kernels called on arrays of other libraries."""

import os
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morello
from morello.base.errors import CallError
from morello.runtime.dlpack import from_dlpack
from morello.runtime.kernel import CompiledKernel


class Tensor:
    """An array of another library: it has DLPack, and no buffer protocol."""

    def __init__(self, array: Any, device: int = 1) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


class Frozen(Tensor):
    """One that knows no version of DLPack: NumPy takes it as read-only."""

    def __dlpack__(self) -> object:  # type: ignore[override]
        return self.array.__dlpack__()


def test_a_kernel_takes_what_has_dlpack(matmul: CompiledKernel) -> None:
    a, b, c = (argument.random(np.random.default_rng(0)) for argument in matmul.arguments)
    expected = matmul(a, b)
    assert np.array_equal(matmul(Tensor(a), b), expected)
    out: Any = Tensor(c)
    assert matmul(Tensor(a), Tensor(b), out=out) is out
    assert np.array_equal(c, expected)
    assert (
        matmul(
            a,
            b,
            Tensor(c),
        )
        is not c
    )
    with pytest.raises(CallError, match="argument a: expected f32"):
        matmul(Tensor(a.astype(np.float64)), b)
    with pytest.raises(CallError, match=r"an object of type .*Tensor"):
        matmul(Tensor(a, device=2), b)
    with pytest.raises(CallError, match="out is read-only"):
        matmul(Tensor(a), b, out=Frozen(c))


def test_memory_of_other_devices_is_none_of_ours() -> None:
    array = np.arange(3.0)
    shared = from_dlpack(Tensor(array))
    assert shared is not None
    assert np.shares_memory(shared, array)
    assert from_dlpack(Tensor(array, device=2)) is None
    assert from_dlpack(Tensor(3)) is None
    assert from_dlpack(3) is None


def test_arrays_of_jax_are_taken() -> None:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    numpy = pytest.importorskip("jax.numpy")
    a = numpy.arange(32, dtype=numpy.bfloat16).reshape(4, 8)
    kernel = morello.compile("relu(bf16[4,8])", gap=0.5)
    expected = kernel(np.asarray(a))
    result = kernel(a)
    assert result.dtype == ml_dtypes.bfloat16
    assert np.array_equal(result, expected)
    plain = morello.compile("relu(f32[8])")
    assert plain(numpy.ones(8)).sum() == 8

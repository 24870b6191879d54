from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.runtime.kernels import MATMUL, K, matmul_arguments

from morello.errors import VerificationError
from morello.ir.dtype import F32, DType
from morello.runtime.argument import Argument, Array, argument
from morello.runtime.kernel import CompiledKernel, compile_kernel
from morello.runtime.verify import verify


def check(symbol: str) -> float:
    kernel = compile_kernel(MATMUL, symbol, matmul_arguments())
    return verify(kernel, kernel.arguments, np.matmul, reduction_length=K, seeds=(0, 1))


def test_a_right_kernel_passes(matmul: CompiledKernel) -> None:
    error = check("kernel")
    assert 0 < error < 1e-6


def test_one_product_missing() -> None:
    message = r"c\[4, 5\] is .*, expected .*; 1 of 30 elements are wrong \(seed 0, integers\)"
    with pytest.raises(VerificationError, match=message):
        check("misses_one_product")


def test_one_element_never_written() -> None:
    with pytest.raises(VerificationError, match=r"c\[0, 3\] is nan"):
        check("leaves_one_out")


def test_output_not_set_first() -> None:
    with pytest.raises(VerificationError, match=r"c\[0, 0\] is nan.*; 30 of 30 elements"):
        check("adds_to_output")


@pytest.mark.parametrize(("symbol", "offset"), [("writes_beyond", "120"), ("writes_before", "-4")])
def test_write_out_of_bounds(symbol: str, offset: str) -> None:
    message = rf"wrote outside c: 4 bytes, the first at byte {offset} of an array that spans 120"
    with pytest.raises(VerificationError, match=message):
        check(symbol)


def test_input_written() -> None:
    with pytest.raises(VerificationError, match="wrote to its input a"):
        check("writes_input")


def test_read_out_of_bounds() -> None:
    with pytest.raises(VerificationError, match=r"c\[0, 0\] is nan"):
        check("reads_beyond")


def test_rounding_is_no_fault_but_less_precision_is() -> None:
    n = 300
    arguments = (
        argument("a", F32, (n, n)),
        argument("b", F32, (n, n)),
        argument("c", F32, (n, n), output=True),
    )

    def single(a: Array, b: Array, *, out: Array) -> None:
        np.matmul(a[:, ::-1], b[::-1], out=out)

    def half(a: Array, b: Array, *, out: Array) -> None:
        out[...] = a.astype(np.float16).astype(np.float32) @ b

    assert verify(single, arguments, np.matmul, reduction_length=n) < 2e-6
    with pytest.raises(VerificationError, match="mixed magnitudes"):
        verify(half, arguments, np.matmul, reduction_length=n)


def test_one_product_of_very_many_missing() -> None:
    n = 1 << 17
    arguments = (argument("x", F32, (n,)), argument("y", F32, (1,), output=True))

    def total(x: Array, *, out: Array) -> None:
        out[0] = x.sum()

    def all_but_one(x: Array, *, out: Array) -> None:
        out[0] = x[1:].sum()

    def reference(x: Array) -> Any:
        return x.sum(keepdims=True)

    verify(total, arguments, reference, reduction_length=n)
    with pytest.raises(VerificationError, match="within 0; 1 of 1 elements"):
        verify(all_but_one, arguments, reference, reduction_length=n)


def test_functions_that_are_no_sums_of_products() -> None:
    arguments = (argument("x", F32, (4, 33)), argument("y", F32, (4, 33), output=True))

    def softmax(x: Any, *, out: Any = None) -> Any:
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        return np.divide(powers, powers.sum(axis=1, keepdims=True), out=out)

    error = verify(
        softmax, arguments, softmax, reduction_length=33, magnitude=lambda x: np.ones_like(x)
    )
    assert 0 < error < 1e-6


def test_integers_must_be_exact() -> None:
    i32 = DType("i32", 4, "int32_t", "int32")
    arguments = (argument("x", i32, (100,)), argument("y", i32, (1,), output=True))

    def total(x: Array, *, out: Array) -> None:
        out[0] = x.sum()

    def nearly(x: Array, *, out: Array) -> None:
        out[0] = x.sum() + 1

    def reference(x: Array) -> Any:
        return x.sum(keepdims=True)

    assert verify(total, arguments, reference, reduction_length=100) == 0
    with pytest.raises(VerificationError, match="within 0; 1 of 1 elements"):
        verify(nearly, arguments, reference, reduction_length=100)


def test_padding_between_elements_is_guarded() -> None:
    x = argument("x", F32, (3, 4))
    padded = Argument("y", F32, (3, 4), (32, 4), output=True)

    def copy(x: Array, *, out: Array) -> None:
        out[...] = x

    def copy_more(x: Array, *, out: Array) -> None:
        out[...] = x
        np.lib.stride_tricks.as_strided(out, (3, 5), (32, 4))[:, 4] = 0

    assert verify(copy, (x, padded), lambda x: x, reduction_length=1) == 0
    with pytest.raises(VerificationError, match="wrote outside y: 12 bytes, the first at byte 16"):
        verify(copy_more, (x, padded), lambda x: x, reduction_length=1)


def test_reference_of_another_shape(matmul: CompiledKernel) -> None:
    with pytest.raises(VerificationError, match=r"reference gives shape \(5,\)"):
        verify(matmul, matmul.arguments, lambda a, b: a[:, 0], reduction_length=K)


def test_no_input_is_zero() -> None:
    arguments = (argument("x", F32, (10_000,)), argument("y", F32, (1,), output=True))
    seen: list[Array] = []

    def look(x: Array, *, out: Array) -> None:
        seen.append(x.copy())
        out[0] = 0

    def nothing(x: Array) -> Array:
        return np.zeros(1)

    verify(look, arguments, nothing, reduction_length=1, seeds=(0, 1))
    assert len(seen) == 4
    assert all((x != 0).all() and (x < 0).any() and (x > 0).any() for x in seen)
    assert not np.array_equal(seen[1], seen[3])
    exponents = np.unique(np.frexp(seen[1])[1])
    assert len(exponents) > 10

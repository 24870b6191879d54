"""Specs from Python: types, tensor specs and arrays."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from morello.base.errors import SpecError
from morello.frontends import matmul, parse, parse_type
from morello.ir.dtype import BF16X2, COMPUTED, F32
from morello.ir.layout import Layout
from morello.ir.tensor import TensorSpec

Array = npt.NDArray[Any]

SQUARE = np.zeros((8, 8), np.float32)
BYTES = np.zeros(257, np.uint8)


def test_arrays_give_shape_and_layout() -> None:
    a = np.zeros((8, 4), np.float32)
    b = np.zeros((16, 4), np.float32).T
    assert matmul(a, b) == parse("f32[8,4] @ f32[4,16]{0,1}")
    assert matmul(np.asfortranarray(a), "f32[4,16]") == parse("f32[8,4]{0,1} @ f32[4,16]")


def test_arrays_in_batches() -> None:
    a = np.zeros((3, 8, 4), np.float32)
    assert matmul(a, a.swapaxes(1, 2)) == parse("f32[3,8,4] @ f32[3,4,8]{1,2,0}")
    assert matmul(a.transpose(1, 0, 2), "f32[8,4,2]") == parse("f32[8,3,4]{2,0,1} @ f32[8,4,2]")


@pytest.mark.parametrize("dtype", COMPUTED, ids=str)
def test_arrays_of_every_dtype(dtype: Any) -> None:
    spec = parse("move(x)", x=np.zeros((2, 3), dtype.np))
    assert spec.dtypes == (dtype, dtype)
    product = matmul(np.zeros((2, 3), dtype.np), f"{dtype}[3,4]")
    assert product == parse(f"{dtype}[2,3] @ {dtype}[3,4]")


def test_bfloat16_is_that_of_ml_dtypes() -> None:
    a = np.zeros((8, 4), ml_dtypes.bfloat16)
    assert matmul(a, np.zeros((4, 2), np.float32)) == parse("bf16[8,4] @ f32[4,2]")


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (SQUARE[::2], "f32[4,8]S(16,1)"),
        (SQUARE[:, :4], "f32[8,4]S(8,1)"),
        (SQUARE[:, :4].T, "f32[4,8]{0,1}S(1,8)"),
        (SQUARE[:1, :4], "f32[1,4]"),
        (SQUARE[:, :1], "f32[8,1]S(8,1)"),
        (SQUARE[:, ::2], "f32[8,4]S(8,2)"),
        (np.zeros((6, 5, 8), np.float32)[:4, :3, :8], "f32[4,3,8]S(40,8,1)"),
        (np.broadcast_to(SQUARE[0], (1, 8)), "f32[1,8]"),
    ],
)
def test_rows_may_have_gaps(array: Array, text: str) -> None:
    spec = parse("relu(x)", x=array)
    assert spec == parse(f"relu({text})")
    if spec.strides:
        strides = [s // 4 for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
        assert spec.strides[0] is not None
        assert [s for s, n in zip(spec.strides[0], array.shape, strict=True) if n > 1] == strides


def test_a_matmul_of_arrays_with_gaps() -> None:
    a, b = SQUARE[:, :4], SQUARE[::2, :6].T
    assert matmul(a, "f32[4,2]") == parse("f32[8,4]S(8,1) @ f32[4,2]")
    assert matmul(b, a[:4, :2]) == parse("f32[6,4]{0,1}S(1,16) @ f32[4,2]S(8,1)")


def test_names_stand_for_what_is_given() -> None:
    x, w = np.zeros((4, 8), np.float32), np.zeros((6, 9), np.float32)[:, :8]
    given = parse("softmax(x @ transpose(w))", x=x, w=w)
    assert given == parse("x = f32[4,8]; w = f32[6,8]S(9,1); softmax(x @ transpose(w))")


def test_names_may_stand_for_types_and_tensors() -> None:
    tensor = parse_type("f32[8,2]{0,1}")
    spec = parse("h = relu(x @ w); h + bias", x="bf16[4,8]", w="bf16[8,2]{0,1}", bias="f32[2]")
    assert spec.names == ("x", "w", "bias", "out")
    assert parse("x @ w", x="f32[4,8]", w=tensor) == parse("f32[4,8] @ f32[8,2]{0,1}")


def test_what_is_given_is_used() -> None:
    with pytest.raises(SpecError, match=r"y is given, and the expression does not use it\."):
        parse("relu(x)", x="f32[4]", y="f32[4]")
    with pytest.raises(SpecError, match="sum is a function; call the tensor by another name"):
        parse("relu(sum)", sum="f32[4]")
    with pytest.raises(SpecError, match="x stands for something already"):
        parse("x = f32[4]; relu(x)", x="f32[4]")


def test_what_gives_an_array_interface_is_an_array() -> None:
    class Wrapped:
        __array_interface__ = np.zeros((8, 4), np.float32).__array_interface__

    assert matmul(Wrapped(), "f32[4,4]") == parse("f32[8,4] @ f32[4,4]")  # type: ignore[arg-type]


COPY = "copy it with np.ascontiguousarray(a)"


@pytest.mark.parametrize(
    ("a", "said"),
    [
        (SQUARE.astype(np.float64), "a: the dtype is float64; convert it to one of: uint8,"),
        (SQUARE.astype(">f4"), "a: the dtype is >f4"),
        (SQUARE[::-1], f"a: its strides are (-32, 4) bytes; {COPY}"),
        (np.broadcast_to(SQUARE[0], (8, 8)), f"a: its strides are (0, 4) bytes; {COPY}"),
        (np.lib.stride_tricks.sliding_window_view(SQUARE[0], 3), "must not overlap"),
        (BYTES[1:].view(np.float32).reshape(8, 8), f"its elements are not aligned; {COPY}"),
        (np.ndarray((4, 4), np.float32, BYTES, strides=(18, 4)), f"are (18, 4) bytes; {COPY}"),
        (np.zeros((4, 0), np.float32), "a: a size of 0; sizes go from 1"),
        (np.zeros(7, np.float32), "inner sizes 7 and 8 differ"),
        (np.float32(1), "a: a number is no tensor"),
        (np.array(1, np.float32), "a: a number is no tensor"),
        (np.zeros((1,) * 7, np.float32), "a: a tensor has 1 to 6 dimensions, not 7"),
        (np.broadcast_to(np.float32(0), (2**31, 8)), "a: a size of 2147483648"),
        ([[1.0]], "a is a list; give a type"),
        (None, "a is a NoneType"),
        ("f32[8", "commas, and close the bracket"),
        (TensorSpec((0, 8), F32), "a: a size of 0"),
        (TensorSpec((8, 8), F32, level=1), "a: a goal's tensors lie in main memory"),
        (parse("f32[8,8]S(9,1) @ f32[8,8]").tensors[0], "give strides in a text"),
        (TensorSpec((8, 8), BF16X2), "a: bf16x2 is a packed type"),
        ("u8[8,8]", "u8 and f32 cannot be multiplied"),
    ],
)
def test_bad_arguments(a: object, said: str) -> None:
    with pytest.raises(SpecError) as caught:
        matmul(a, "f32[8,8]")  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_a_tensor_spec_need_not_be_canonical() -> None:
    column = TensorSpec((8, 1), F32)
    assert matmul("f32[4,8]", column) == parse("f32[4,8] @ f32[8,1]")
    assert Layout((0, 1)) == column.placement.layout

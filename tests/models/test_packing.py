"""Where the constants of kernels lie."""

from __future__ import annotations

import numpy as np
import pytest

import morello
from morello.base.large_pages import LARGE_PAGE
from morello.graph.graph import apply
from morello.graph.operators import Constant
from morello.ir.dtype import F32
from morello.models import packing
from morello.models.packing import PackedMemory, packed
from morello.models.schedule import whole
from morello.runtime.argument import CACHE_LINE, argument
from morello.runtime.packing import random_inputs


def test_constants_lie_side_by_side_in_large_pages() -> None:
    rows, last = argument("rows", F32, (600, 1000)), argument("last", F32, (500, 1001))
    much = argument("much", F32, (3000, 3000))
    block = PackedMemory([rows, much, last])
    first, apart, second, without_room = map(block.empty, (rows, much, last, last))
    assert first.shape == (600, 1000) and second.shape == (500, 1001)
    assert first.ctypes.data % LARGE_PAGE == 0
    assert second.ctypes.data == first.ctypes.data + first.nbytes
    for other in (apart, without_room):
        assert other.ctypes.data % CACHE_LINE == 0
        assert not any(np.may_share_memory(other, one) for one in (first, second))


def test_few_constants_lie_in_memory_of_their_own() -> None:
    small = argument("small", F32, (100,))
    block = PackedMemory([small, small])
    first, second = block.empty(small), block.empty(small)
    first[...], second[...] = 1, 2
    assert (first == 1).all() and (second == 2).all()


@pytest.mark.parametrize("layout", ["{0,1:T(16,1)}", "{0,1}"])
def test_constants_are_packed_into_a_block(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "LARGE_ARRAY", 1)
    kernel = morello.compile(f"f32[8,16] @ f32[16,32]{layout}")
    inputs = random_inputs(kernel.spec)
    constant = kernel.arguments[1]
    block = PackedMemory([constant] * 2)
    view = whole(apply(Constant(inputs.plain[1].copy(order="C"))))
    first, second = (packed(view, kernel, 1, block.empty) for _ in range(2))
    assert second.ctypes.data == first.ctypes.data + first.nbytes
    expected = kernel.pack(constant.name, inputs.plain[1])
    for each in (first, second):
        np.testing.assert_array_equal(each, expected.ravel(order="K"))

"""Messages about goals that have no program."""

from __future__ import annotations

import pytest
from tests.goals import goal_of, mapped, matmul_goal, product, tensor
from tests.support import with_capacities

from morello.base.errors import SearchError
from morello.ir.dtype import BF16, F16, F32, U8, DType
from morello.ir.layout import Layout, panels, row_major
from morello.ir.primitives import SOFTMAX, move, softmax
from morello.ir.spec import Spec, goal
from morello.ir.tensor import Placement, gapless
from morello.search.session import search
from morello.targets.target import Target
from morello.targets.x86 import AVX2

SMALL = with_capacities(AVX2, (100, 100, 1))


def said(spec: Spec, target: Target = AVX2) -> str:
    messages = []
    for everything in (False, True):
        with pytest.raises(SearchError) as caught:
            search(spec, target, everything=everything)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert messages[0].startswith(f"{spec.expression}: ")
    return messages[0].removeprefix(f"{spec.expression}: ")


def test_memory_that_is_too_small_is_said() -> None:
    assert said(matmul_goal(4, 4, 4), SMALL) == (
        "no program fits the memory of avx2 (100 lines of L2, 100 lines of L1, 1 registers); "
        "smaller sizes or panels may, or another target."
    )
    lines = with_capacities(AVX2, (3, 0, 16))
    assert said(goal(move(2, (1, 0)), (4, 4), (F32, F32)), lines).startswith("no program fits")


@pytest.mark.parametrize(
    ("dtypes", "wanted"),
    [
        ((U8, F16, F32), "Matmul of u8 x f16 -> f32; cast to"),
        ((F32, F32, U8), "Matmul of f32 x f32 -> u8; cast to"),
    ],
)
def test_dtypes_that_no_kernel_takes_are_said(dtypes: tuple[DType, ...], wanted: str) -> None:
    message = said(matmul_goal(4, 4, 4, *dtypes))
    assert message.startswith(f"no kernel of avx2 computes {wanted}")
    assert "f32 x f32 -> f32" in message or "f32 x f16 -> f32" in message
    assert said(matmul_goal(4, 4, 4, *dtypes), SMALL) == message


def test_dtypes_within_compositions_are_said() -> None:
    mixed = product(tensor(4, 4, dtype=U8), tensor(4, 4, dtype=BF16))
    assert said(goal_of(mapped("relu", mixed))).startswith(
        "no kernel of avx2 computes Matmul of u8 x bf16 -> f32"
    )
    numbers = goal(softmax(SOFTMAX, 2, 1), (4, 4), (U8, U8))
    assert said(numbers) == (
        "no kernel of avx2 computes Softmax of u8 -> u8; cast to what there are kernels for, such "
        "as f32 -> f32."
    )


SIXES, TENS = panels(2, 1, 6), panels(2, 1, 10)


def test_layouts_that_no_kernel_takes_are_said() -> None:
    between = goal(move(2), (2, 60), (F32, F32), layouts=(SIXES, TENS))
    assert said(between) == (
        f"no kernel of avx2 takes src as f32[2,60]{SIXES} beside the others; give it as f32[2,60]."
    )
    assert said(between, SMALL) == said(between)


def test_operands_that_no_kernel_takes_where_they_are_are_said() -> None:
    columns = Placement(Layout((1, 0)), 2, vector=8)
    spec = Spec(move(2), (8, 8), (3, 2), (columns, gapless(row_major(2))), (F32, F32))
    assert said(spec) == (
        "no kernel of avx2 takes src as f32[8,8]{0,1} in registers, dst as f32[8,8] in L1 "
        "together; give them row-major, in memory."
    )

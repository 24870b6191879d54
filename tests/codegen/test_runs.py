"""Kernels whose rows choose their matrices, for rows that are sorted, and for any others."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import morello
from morello.codegen.lower import lower
from morello.codegen.statements import RunBlock, Runs, walk
from morello.codegen.verifier import defects
from morello.rewrites import GroupRows, Parallel

Array = npt.NDArray[Any]

ROWS, COUNT, DEPTH, COLUMNS = 150, 5, 24, 40

NUMBERS = {
    "uneven": np.repeat(np.arange(COUNT), [0, 1, 66, 0, 83]),
    "all of one": np.full(ROWS, 3),
    "not sorted": np.random.default_rng(2).integers(0, COUNT, ROWS),
    "of no matrix": np.random.default_rng(3).integers(-2, COUNT + 2, ROWS),
    "of none at all": np.full(ROWS, COUNT),
}


def expression(dtype: str = "f32", ids: str = "i32", matrices: str = "") -> str:
    given = matrices or f"{dtype}[{COUNT},{DEPTH},{COLUMNS}]"
    return f"grouped_matmul({dtype}[{ROWS},{DEPTH}], {given}, {ids}[{ROWS}])"


def wanted(x: Array, matrices: Array, ids: Array) -> Array:
    """One row after the other, in float64."""
    result = np.zeros((len(x), matrices.shape[2]))
    for row, number in enumerate(ids):
        if 0 <= number < len(matrices):
            result[row] = x[row].astype(np.float64) @ matrices[number].astype(np.float64)
    return result


def operands(dtype: Any = np.float32) -> tuple[Array, Array]:
    random = np.random.default_rng(1)
    x = random.uniform(-1, 1, (ROWS, DEPTH)).astype(dtype)
    return x, random.uniform(-1, 1, (COUNT, DEPTH, COLUMNS)).astype(dtype)


@pytest.fixture(scope="module")
def kernel() -> morello.Kernel:
    """A kernel with blocks of up to 16 rows."""
    schedule = morello.schedule(expression()).group_rows(16).solve(gap=1.0)
    return morello.compile(schedule)


@pytest.mark.parametrize("name", NUMBERS)
def test_rows_choose_their_matrices(kernel: morello.Kernel, name: str) -> None:
    x, matrices = operands()
    ids = NUMBERS[name].astype(np.int32)
    np.testing.assert_allclose(kernel(x, matrices, ids), wanted(x, matrices, ids), 1e-5, 1e-5)


def test_statements_are_sound_and_have_a_block_of_each_size(kernel: morello.Kernel) -> None:
    program = lower(kernel.impl)
    assert not [*defects(program)]
    (runs,) = (each for each in walk(program.body) if isinstance(each, Runs))
    assert [block.rows for block in runs.blocks] == [1, 2, 4, 8, 16]
    last = runs.blocks[-1]
    runs.blocks[-1] = RunBlock(8, last.times, last.body)  # type: ignore[index]  # a list
    assert any("which has" in defect for defect in defects(program))


def test_the_search_chooses_blocks_for_as_many_rows_as_there_are() -> None:
    most = {
        rows: morello.implement(
            f"grouped_matmul(f32[{rows},64], f32[8,64,64], i32[{rows}])", table="off", gap=0.1
        )[0].rewrite
        for rows in (2, 256)
    }
    assert isinstance(most[2], GroupRows) and most[2].most <= 2
    assert isinstance(most[256], GroupRows) and most[256].most > most[2].most


@pytest.mark.parametrize(
    "dtype, numpy_dtype, tolerance",
    [("f32", np.float32, 1e-5), ("bf16", ml_dtypes.bfloat16, 1e-2)],
)
def test_constant_matrices_are_packed_alike(dtype: str, numpy_dtype: Any, tolerance: float) -> None:
    """The matrices are transposed, as torch has them; the result is of their dtype."""
    matrices = f"transpose({dtype}[{COUNT},{COLUMNS},{DEPTH}], order=[0,2,1])"
    text = f"{expression(dtype, 'i64', matrices)} -> {dtype}[{ROWS},{COLUMNS}]"
    kernel = morello.compile(text, weights="constant", table="off", gap=0.5)
    x, known = operands(numpy_dtype)
    name = kernel.arguments[1].name
    packed = kernel.pack(name, np.ascontiguousarray(known.transpose(0, 2, 1)))
    for ids in NUMBERS.values():
        found = kernel(x, packed, ids.astype(np.int64)).astype(np.float64)
        np.testing.assert_allclose(found, wanted(x, known, ids), tolerance, tolerance)


def test_columns_are_spread_over_threads() -> None:
    text = "grouped_matmul(f32[64,512], f32[4,512,1024], i32[64])"
    kernel = morello.compile(text, threads=2, table="off", gap=0.5)
    assert any(isinstance(node.rewrite, Parallel) for node in kernel.impl.walk())
    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, (64, 512)).astype(np.float32)
    matrices = random.uniform(-1, 1, (4, 512, 1024)).astype(np.float32)
    ids = np.sort(random.integers(-1, 5, 64)).astype(np.int32)
    np.testing.assert_allclose(kernel(x, matrices, ids), wanted(x, matrices, ids), 1e-4, 1e-4)

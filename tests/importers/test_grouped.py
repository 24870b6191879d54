"""Products of rows in groups, as torch and transformers have them for mixtures of experts."""

from __future__ import annotations

import numpy as np
import pytest
from tests.importers.aten_programs import aten, random, traced

from morello.base.errors import GraphError
from morello.graph.graph import TensorType, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import Input, PrimitiveOperator
from morello.graph.patterns.experts import grouped_product

torch = pytest.importorskip("torch")

ENDS = {
    "even": [4, 8, 12, 16],
    "one has all": [0, 0, 16, 16],
    "one has none": [1, 1, 9, 16],
    "rows are left": [2, 5, 5, 11],
}


@pytest.mark.parametrize("name", ENDS)
def test_rows_in_groups(name: str) -> None:
    """The rows are of bf16, for which torch has a kernel; rows of no group are not compared."""
    x, weights = random(16, 32).bfloat16(), random(4, 64, 32).bfloat16()
    ends = torch.tensor(ENDS[name], dtype=torch.int32)

    def program(x: object, weights: object, ends: object) -> object:
        return torch._grouped_mm(x, weights.transpose(-2, -1), offs=ends)  # type: ignore[attr-defined]

    result = traced(program, x, weights, ends)
    assert not result.left
    assert sum(isinstance(n.operator, PrimitiveOperator) for n in result.graph.nodes) == 1
    (value,) = evaluate(result.graph, [aten.array_of(each) for each in (x, weights, ends)])
    last = ENDS[name][-1]
    expected = program(x, weights, ends).float().numpy()[:last]  # type: ignore[attr-defined]
    np.testing.assert_allclose(value[:last], expected, 1e-2, 1e-1)


@pytest.mark.parametrize("name", ENDS)
def test_rows_of_no_group_are_zero_in_transformers(name: str) -> None:
    pytest.importorskip("transformers.integrations.moe")
    x, weights = random(16, 8), random(4, 8, 6)
    ends = torch.tensor(ENDS[name])
    program = torch.ops.transformers.grouped_mm_fallback
    result = traced(program, x, weights, ends)
    assert not result.left
    (value,) = evaluate(result.graph, [x.numpy(), weights.numpy(), ends.numpy()])
    np.testing.assert_allclose(value, program(x, weights, ends).numpy(), 1e-4, 1e-5)


def test_other_products_in_groups_are_left_to_torch() -> None:
    """A group of columns for each result, as gradients need them."""
    a, b = random(32, 16).bfloat16(), random(16, 64).bfloat16()
    ends = torch.tensor([8, 16], dtype=torch.int32)
    result = traced(lambda a, b, ends: torch._grouped_mm(a, b, offs=ends), a, b, ends)
    assert [*result.left] == ["_grouped_mm"]


def test_matrices_that_do_not_fit_are_refused() -> None:
    float32 = np.dtype(np.float32)
    x = apply(Input(TensorType((4, 8), float32)))
    ids = apply(Input(TensorType((4,), np.dtype(np.int32))))
    matrices = apply(Input(TensorType((3, 7, 5), float32)))
    with pytest.raises(GraphError, match=r"numbers matrices of f32\[3,7,5\]"):
        grouped_product(x, matrices, ids)
    narrow = apply(Input(TensorType((3, 8, 5), np.dtype(np.float16))))
    with pytest.raises(GraphError, match="multiplied by matrices"):
        grouped_product(x, narrow, ids)

"""Everyday expressions of NumPy under `morello.jit`: each is right."""

import numpy as np
import pytest
from tests.sampling import some

import morello
from benchmarks.expressions import EXPRESSIONS, Expression
from morello.jitting.agreement import differing


def test_there_are_thirty() -> None:
    assert len({expression.name for expression in EXPRESSIONS}) == len(EXPRESSIONS) == 30


@pytest.mark.parametrize("expression", some(EXPRESSIONS, 6), ids=lambda expression: expression.name)
def test_an_expression_is_what_numpy_computes(expression: Expression) -> None:
    generator = np.random.default_rng(0)
    jitted = morello.jit(expression.function, gap=1.0, budget=5)
    for _ in range(3):
        arrays = expression.arrays(12, generator)
        wide = [array.astype(np.float64) for array in arrays]
        result = jitted(*arrays)
        assert not differing(result, expression.function(*arrays))
        np.testing.assert_allclose(result, expression.function(*wide), 1e-4, 1e-5)
    print(morello.report(jitted))

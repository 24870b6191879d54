"""Random expressions: what they compute, and that a Spec's expression names it."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, event, given
from hypothesis import strategies as st
from tests.frontends.random_expressions import Goal, goals
from tests.frontends.random_products import Product, einsums, matmuls

from morello.base.errors import SpecError
from morello.frontends import parse
from morello.ir.semantics import evaluate
from morello.ir.spec import Spec

REFUSED = ("two roles", "not something to", "and the result")
"""Parts of the errors for products that one loop nest cannot compute, and for too many."""


def read(goal: Goal) -> Spec:
    try:
        return parse(goal.text)
    except SpecError as error:
        assert any(reason in str(error) for reason in REFUSED), error
        event("refused")
        assume(False)
        raise


@given(goals())
def test_an_expression_means_what_numpy_does(goal: Goal) -> None:
    spec = read(goal)
    inputs = goal.root.inputs()
    *taken, _ = spec.arrays.values()
    assert [spec.shape(operand) for operand in taken] == [one.shape for one in inputs]
    random = np.random.default_rng(0)
    values = [random.standard_normal(one.shape) for one in inputs]
    expected = goal.root.value({id(n): v for n, v in zip(inputs, values, strict=True)})
    (found,) = evaluate(spec.operation, spec.per_operand(values))
    assert spec.tensors[-1].shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@given(goals())
def test_a_specs_expression_names_it(goal: Goal) -> None:
    spec = read(goal)
    again = parse(spec.expression)
    assert again == spec and again.names == spec.names


@given(einsums() | matmuls())
def test_a_product_means_what_numpy_does(product: Product) -> None:
    spec = parse(product.text)
    random = np.random.default_rng(0)
    values = [random.standard_normal(shape) for shape in product.shapes]
    (found,) = evaluate(spec.operation, values)
    expected = product.value(*values)
    assert spec.tensors[-1].shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert parse(spec.expression) == spec


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.data())
def test_sizes_of_1_go_with_any(sizes: list[int], data: st.DataObject) -> None:
    lead = [
        tuple(data.draw(st.sampled_from([1, n])) for n in sizes)[data.draw(st.integers(0, 3)) :]
        for _ in "ab"
    ]
    values = [np.ones((*lead[0], 2, 3)), np.ones((*lead[1], 3, 4))]
    texts = [f"f32[{','.join(map(str, value.shape))}]" for value in values]
    spec = parse(" @ ".join(texts))
    (found,) = evaluate(spec.operation, values)
    np.testing.assert_array_equal(found, values[0] @ values[1])
    assert parse(spec.expression) == spec

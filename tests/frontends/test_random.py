"""Random expressions: what they compute, and that a Spec's expression names it."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, event, given
from tests.frontends.random_expressions import Goal, goals

from morello.base.errors import SpecError
from morello.frontends import parse
from morello.ir.semantics import evaluate
from morello.ir.spec import Spec

REFUSED = ("two roles", "not something to", "and the result")
"""What is said of products used in ways that one loop nest does not serve, and of too many."""


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

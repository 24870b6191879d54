"""Prices of Specs, and graphs that are cut by them."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
import pytest

from benchmarks.cuts import study
from morello.frontends import parse
from morello.graph.fusing import by_cost
from morello.graph.interpreter import evaluate
from morello.graph.partition import by_rule
from morello.impl.tree import Impl
from morello.importers.text import graph_of
from morello.learn.predictors import ByCost, Floats
from morello.memo import Table
from morello.models import compile_partition
from morello.models.prices import Prices

PATIENCE_S = 600.0
"""How long searches may take here, so that none of them is cut short on a busy machine."""

TEXTS = {
    "residual": "x = f32[4,8]; x + relu(x @ f32[8,8])",
    "MLP": "x = f32[4,8]; x + gelu(x @ f32[8,16] + f32[16]) @ f32[16,8]",
    "heads": (
        "x = f32[2,4];"
        " k = broadcast(x, axis=0, size=2) @ f32[2,4,4];"
        " sum(softmax(f32[2,2,4] @ transpose(k, order=[0,2,1])), axis=0)"
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_programs_compute_what_numpy_does_however_they_are_cut(name: str) -> None:
    graph = graph_of(TEXTS[name])
    partitions = [by_rule(graph)]
    if name == "residual":
        partitions.append(by_cost(graph, Prices(ByCost(4e9), budget=PATIENCE_S)))
    random = np.random.default_rng(0)
    inputs = [random.standard_normal(node.shape, np.float32) for node in graph.inputs]
    for partition in partitions:
        program = compile_partition(partition)
        assert not program.left
        for _ in range(2):  # what is left from a first call is no matter
            (result,) = program(*inputs)
            np.testing.assert_allclose(result, evaluate(graph, inputs)[0], rtol=1e-4, atol=1e-5)


def test_a_composition_whose_search_does_not_end_has_a_price_and_grows_no_further() -> None:
    hurried = Prices(ByCost(4e9), budget=1e-6, table="off")
    whole, single = parse("relu(f32[8,8] @ f32[8,8])"), parse("f32[8,8] @ f32[8,8]")
    assert 0 < hurried(whole) < inf and not hurried.finished(whole)
    assert 0 < hurried(single) < inf and hurried.finished(single)


def test_each_spec_is_searched_once() -> None:
    met = 0

    class Counting(ByCost):
        def seconds(self, impls: Sequence[Impl]) -> Floats:
            nonlocal met
            met += 1
            return super().seconds(impls)

    known = Prices(Counting(4e9), budget=PATIENCE_S)
    for _ in range(2):
        by_cost(graph_of("exp(exp(exp(f32[8])))"), known)
    assert met == 3  # one exp, two of them, and three


def test_a_study_has_a_row_for_each_composition() -> None:
    (row,) = study({"two maps": "relu(exp(f32[64]))"}, ByCost(4e9), PATIENCE_S)
    assert row.name == "two maps"
    assert [cut.kernels for cut in (row.fused, row.by_rule, row.apart)] == [1, 1, 2]
    assert row.fused.predicted == row.by_rule.predicted < row.apart.predicted
    assert 0 < row.fused.measured < 1


def test_a_table_has_what_was_searched_before(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = parse("relu(exp(f32[64]))")
    with Table(":memory:") as table:
        first = Prices(ByCost(4e9), budget=PATIENCE_S, table=table)(spec)
        monkeypatch.setattr("morello.search.session.Session.solve", None)
        assert Prices(ByCost(4e9), budget=PATIENCE_S, table=table)(spec) == first < inf

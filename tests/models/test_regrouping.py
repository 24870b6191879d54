"""Programs whose groups are chosen by cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.pages import data_of

from morello.base.errors import SearchError
from morello.graph.graph import Array, Graph, Node, TensorType, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import Constant, Dot, Input, Map, PrimitiveOperator
from morello.ir.dtype import BF16
from morello.ir.primitives.winograd import winograd_input
from morello.ir.spec import Spec
from morello.models import CompiledGraph, compile_graph
from morello.models.plans import SHORT, Plan, plan_question, recalled_plan
from morello.models.reporting import program_report
from morello.models.schedule import calls_of
from morello.options import Options
from morello.several import compile_each

PATIENCE_S = 600.0
"""How long searches may take here, so that none of them is cut short on a busy machine."""


def layers() -> Graph:
    """Two equal layers side by side, each a sum of matrices that is multiplied by a narrow one."""
    inputs: list[Node] = []
    outputs = []
    for _ in range(2):
        wide, narrow = (TensorType(shape, np.dtype(np.float32)) for shape in ((64, 256), (256, 4)))
        x, y, w = (apply(Input(each)) for each in (wide, wide, narrow))
        inputs += [x, y, w]
        outputs.append(apply(Dot(contracted=((1, 0),)), apply(Map("add"), x, y), w))
    return Graph(tuple(inputs), tuple(outputs))


def compiled(graph: Graph, **options: Any) -> CompiledGraph:
    return compile_graph(graph, threads=1, gap=0.5, budget=PATIENCE_S, **options)


def test_a_program_is_cut_where_that_costs_least(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal groups are compiled once, a later process tries no other groups, and without time the
    rule decides.
    """
    monkeypatch.setenv("MORELLO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MORELLO_TABLE", raising=False)
    searched: list[Spec] = []
    budgets: set[float] = set()

    def counting(specs: Sequence[tuple[Spec, Options]], **options: Any) -> object:
        searched.extend(spec for spec, _ in specs)
        budgets.update(own["budget"] for _, own in specs)
        return compile_each(specs, **options)

    monkeypatch.setattr("morello.models.kernels.compile_each", counting)
    graph = layers()
    program = compiled(graph, fuse_seconds=PATIENCE_S)
    assert len(program.partition.groups) == 2
    assert program.plan.cost < program.plan.cost_at_first
    assert len({*searched}) == len(searched) == 3  # a sum, a product, and both
    random = np.random.default_rng(0)
    inputs = [random.standard_normal(node.shape, np.float32) for node in graph.inputs]
    for result, expected in zip(program(*inputs), evaluate(graph, inputs), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)

    report = program_report(program, ())
    assert report.seconds < report.by_rule
    assert f"({report.by_rule * 1e6:.3g} us for kernels by the rule)" in str(report)

    (fused,) = {(group.cost, group.instead) for group in program.plan.weighing.groups}
    assert 2 * sum(fused) == pytest.approx(program.plan.cost + program.plan.cost_at_first)
    data = data_of(report.html())["data"]
    for kernel in data["kernels"]:
        (weighed,) = kernel["weighed"]
        assert weighed["reason"] == f"taken: {fused[0] / fused[1] - 1:+.1%} against the rule's"
        assert weighed["cycles"] == kernel["cycles"] == fused[0]
    assert [kernel["program"] for kernel in data["kernels"]] == [0, 0]

    searched.clear()
    kept = compiled(layers(), fuse_seconds=PATIENCE_S)
    assert not searched
    (segment,), (before,) = kept.segments, program.segments
    for result, expected in zip(kept(*inputs), program(*inputs), strict=True):
        assert np.array_equal(result, expected)
    assert kept.left == () and kept.plan.light == program.plan.light
    goals = [[call.spec for call in calls_of(each.plan.stages())] for each in (kept, program)]
    assert goals[0] == goals[1] and len(goals[0]) == len(segment.kernels)
    specs = [[g.lowered.spec for g in each.partition.groups] for each in (kept, program)]
    assert specs[0] == specs[1]
    assert data_of(program_report(kept, ()).html())["data"]["kernels"] == data["kernels"]

    searched.clear()
    before.kernels[0].library.path.unlink()
    again = compiled(layers(), fuse_seconds=PATIENCE_S)
    assert len({*searched}) == len(searched) == 1
    for one in (kept, again):
        costs = (one.plan.cost, one.plan.cost_at_first)
        assert costs == (program.plan.cost, program.plan.cost_at_first)
        assert {(group.cost, group.instead) for group in one.plan.weighing.groups} == {fused}
    assert budgets == {PATIENCE_S}  # another one would be another question

    by_rule = compiled(layers(), fuse_seconds=0)
    assert len(by_rule.partition.groups) == 4
    assert by_rule.plan.cost == by_rule.plan.cost_at_first == program.plan.cost_at_first


@pytest.mark.parametrize("seconds", [-1, float("nan"), "long"])
def test_how_long_to_try_is_a_number(seconds: object) -> None:
    with pytest.raises(SearchError, match="fuse_seconds is a number of seconds, or 0, not"):
        compiled(layers(), fuse_seconds=seconds)


def test_a_plan_is_for_all_that_it_may_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of short constants, too, to the last bit."""
    monkeypatch.delenv("MORELLO_TABLE", raising=False)
    weights = np.random.default_rng(0).random((4, 4), np.float32)

    def asked(
        weights: Array = weights, number: float = 0.1, contracted: int = 0, **options: Any
    ) -> str | None:
        x = apply(Input(TensorType((4, 4), np.dtype(np.float32))))
        product = apply(Dot(contracted=((1, contracted),)), x, apply(Constant(weights)))
        total = apply(Map("remainder"), product, apply(Constant(np.array(number, np.float32))))
        pooled = apply(PrimitiveOperator(winograd_input(2), (), total.type), total)
        return plan_question(Graph((x,), (pooled,)), None, options)

    other = weights.copy()
    other[3, 3] = np.nextafter(other[3, 3], np.float32(2))
    every = [
        asked(), asked(other), asked(number=0.10000001), asked(contracted=1),
        asked(weights.astype(BF16.np)), asked(gap=0.1),
    ]  # fmt: skip
    assert None not in every
    assert len({*every}) == len(every)
    assert asked(weights.copy()) == every[0]

    long = np.zeros((4, SHORT // 16 + 1), np.float32)
    like = long.copy()
    like[3, 3] = 1
    assert len({asked(long), asked(long[:, 1:]), asked(like), every[0], None}) == 5
    assert asked(like + 1) == asked(like)


def test_a_plan_that_was_kept_is_run_with_the_weights_that_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MORELLO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MORELLO_TABLE", raising=False)
    random = np.random.default_rng(0)
    rows = random.random((2, 48), np.float32)
    kept: list[bool] = []

    def recalling(*asked: Any) -> Plan | None:
        plan = recalled_plan(*asked)
        kept.append(plan is not None)
        return plan

    monkeypatch.setattr("morello.models.compiling.recalled_plan", recalling)
    for _ in range(3):
        x = apply(Input(TensorType(rows.shape, rows.dtype)))
        weights = random.random((48, 48), np.float32)
        graph = Graph((x,), (apply(Dot(contracted=((1, 0),)), x, apply(Constant(weights))),))
        (result,) = compiled(graph, fuse_seconds=None)(rows)
        np.testing.assert_allclose(result, rows.astype(float) @ weights, rtol=1e-5)
    assert kept == [False, True, True]

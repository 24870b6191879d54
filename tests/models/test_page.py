"""The page of a program: its kernels, what crosses between them, and what is left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.models.graphs import compiled_by_rule, forked
from tests.pages import data_of

import morello
from morello.base.errors import CallError
from morello.graph.improving import WeighedGroup
from morello.models import CompiledGraph
from morello.models.regrouping import Weighing
from morello.models.reporting import program_report


@pytest.fixture(scope="module")
def compiled() -> CompiledGraph:
    return compiled_by_rule(forked())


def page_of(compiled: CompiledGraph) -> dict[str, Any]:
    page: dict[str, Any] = data_of(program_report(compiled, ("f32[8,16]",)).html())["data"]
    return page


def test_a_page_has_the_kernels_in_order_and_what_is_left(compiled: CompiledGraph) -> None:
    report = program_report(compiled, ("f32[8,16]",)).measured(0.01)
    parts = data_of(report.html())
    data = parts.pop("data")
    kernels = data["kernels"]
    assert data["order"] == [*(["kernel", n] for n in range(5)), ["left", 0], ["left", 1]]
    assert [why for _, why in data["left"]] == ["no kernel has float64"] * 2
    expressions = [k.spec.expression for each in compiled.segments for k in each.kernels]
    assert [kernel["words"] for kernel in kernels] == expressions
    assert [kernel["measured"] for kernel in kernels] == list(report.times)
    assert all(kernel["bound"]["seconds"] > 0 for kernel in kernels)
    assert [*parts] == ["program-0", "program-1", "program-2"]
    for kernel in kernels:
        program = parts[f"program-{kernel['program']}"]
        assert program["cost"] == pytest.approx(kernel["cycles"])
        assert program["steps"][0]["cycles"] == program["cost"] and program["c"]


def test_arrays_lead_to_the_kernels_at_their_other_ends(compiled: CompiledGraph) -> None:
    kernels = page_of(compiled)["kernels"]
    ends = [[(a["output"], a["kernels"], a["who"]) for a in k["arrays"]] for k in kernels]
    constant: tuple[bool, list[int], str] = (False, [], "constant")
    assert ends == [
        [(False, [], "the caller"), constant, (True, [1], "")],
        [(False, [0], ""), constant, (True, [2, 3], "NumPy")],
        [(False, [1], ""), constant, (True, [4], "")],
        [(False, [1], ""), constant, (True, [4], "")],
        [(False, [2, 3], ""), (True, [], "the caller")],
    ]
    assert kernels[2]["arrays"][2]["layout"] == "row-major, with gaps"


def test_cuts_say_what_both_kernels_would_cost_as_one(compiled: CompiledGraph) -> None:
    def page(weighing: Weighing) -> dict[str, Any]:
        return page_of(replace(compiled, plan=replace(compiled.plan, weighing=weighing)))

    def reasons(weighing: Weighing) -> list[str]:
        return [cut["fusion"]["reason"] for cut in page(weighing)["cuts"]]

    others = ["NumPy needs it", "several kernels write it", "the caller needs it"]
    assert reasons(Weighing()) == ["one kernel was not tried", *others]
    estimated, *rest = reasons(Weighing(line=5.0))
    assert estimated.startswith("at best -") and estimated.endswith("as one kernel: not tried")
    assert rest == others
    first, second = (group.output for group in compiled.partition.groups[:2])
    before = sum(kernel.cost for kernel in compiled.segments[0].kernels[:2])
    priced = WeighedGroup((first, second), 1.25 * before, before)
    assert reasons(Weighing(5.0, (priced,)))[0] == "+25.0% as one kernel"
    impossible = replace(priced, cost=float("inf"))
    assert reasons(Weighing(5.0, (impossible,)))[0] == "no kernel computes both"
    kernels = page(Weighing(5.0, (priced,)))["kernels"]
    (weighed,) = kernels[1]["weighed"]
    assert weighed["words"] == "kernel 1 and kernel 2" and weighed["kernels"] == [0, 1]
    assert weighed["reason"] == "+25.0% against the rule's"
    assert not kernels[2]["weighed"]


def test_functions_without_kernels_have_no_page() -> None:
    function = morello.jit(lambda x: sorted(x))
    with pytest.raises(CallError, match="was not called yet"):
        morello.report(function).html()
    function([2.0, 1.0])
    with pytest.raises(CallError, match=r"has no kernels to show: .+\."):
        morello.report(function).html()

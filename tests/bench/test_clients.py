"""Models against their frameworks: what counts as the same result, and the command."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from benchmarks.clients.__main__ import kernel_times, main, markdown, sentence, table
from benchmarks.clients.client import Client, Contest, Fast, same_directions, same_values
from benchmarks.clients.measuring import (
    CLIENTS,
    LEAST_CALLS,
    OURS,
    Measured,
    medians,
    prepare,
)
from morello.measure.bounds import Bound
from morello.models.reporting import ProgramReport
from morello.models.times import KernelReport

ROWS = (
    KernelReport("f32[8,8] @ f32[8,8]", 59, 1e-3, 1.5e-3, Bound(0.75e-3, "products")),
    KernelReport("relu(f32[8])", 1, 2e-4, 1e-4, Bound(1e-5, "L1")),
)
PROGRAM = ProgramReport("torch", ("f32[8,8]",), ROWS, 2, by_rule=1.2e-3, least=1.14e-3, call=1.9e-3)


def measured(name: str) -> Measured:
    return Measured(name, 1, 9.0, 0.5, 0.002, 0.003, (PROGRAM,), 3, "error 1e-07")


def test_values_are_compared_with_the_largest_element() -> None:
    expected = np.array([1000.0, 1.0], np.float32)
    assert same_values([expected], [expected + np.float32(0.1)], 1e-3) == "error 1e-04"
    with pytest.raises(AssertionError, match="differ by 1"):
        same_values([expected], [expected + np.float32(10)], 1e-3)
    with pytest.raises(AssertionError, match="shapes"):
        same_values([expected], [expected[:1]], 1e-3)


def test_directions_are_compared_for_each_vector() -> None:
    vectors = np.array([[1.0, 2.0], [3.0, -1.0]])
    assert same_directions(vectors, 2 * vectors).startswith("cosine 1 - ")
    with pytest.raises(AssertionError, match="the cosine is -1"):
        same_directions(vectors, vectors * [[1], [-1]])


def test_the_table_has_the_ratio_and_the_bar_of_each_client() -> None:
    name = next(iter(CLIENTS))
    made = table([measured(name)])
    cells = [next(iter(column.cells)) for column in made.columns]
    framework = CLIENTS[name].rival
    times = "9.0", "0.5", "0.0"
    assert cells == [name, "2.00", framework, "3.00", "1.50", "1.0", *times, "60", "2", "3"]


def test_the_ratio_is_to_the_fastest_of_all() -> None:
    result = replace(measured("magika"), others_s={"OpenVINO": 0.0025}, failed={"X": "no"})
    assert result.fastest == ("OpenVINO", 0.0025)
    assert sentence(result).splitlines() == [
        "magika: 2.00 ms, ONNX Runtime 3.00 ms, OpenVINO 2.50 ms: 1.25 times as fast as OpenVINO; "
        "error 1e-07",
        "  X failed: no",
    ]
    assert markdown([result]).splitlines()[2].endswith("| 3 | OpenVINO 2.5 | 1.25 |")


def test_programs_that_do_not_run_or_differ_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Callable[[], Any]:
        raise ValueError("no compiler\nand a trace")

    def agreement(theirs: Any, ours: Any) -> str:
        assert theirs == ours, "they differ"
        return "same"

    others = {"same": lambda: lambda: 1, "other": lambda: lambda: 2, "broken": broken}
    contest = Contest(lambda: 1, lambda: Fast(lambda: 2, tuple, 0), agreement, others)
    monkeypatch.setitem(CLIENTS, "one", Client("one", "", "it", (), lambda threads: contest))
    made = {name: prepare("one", 1, name) for name in ("it", *others)}
    assert {name: ready.error for name, ready in made.items()} == {
        "it": "", "same": "", "other": "they differ", "broken": "no compiler"
    }  # fmt: skip
    assert made["it"].agreement == "same"
    assert made["it"].others == ("same", "other", "broken")
    with pytest.raises(AssertionError, match="they differ"):
        prepare("one", 1, OURS)


def test_turns_last_until_each_program_has_run_for_long_enough() -> None:
    calls = {"quick": [0.5, 0.3, 0.1], "slow": [2.0]}
    order: list[str] = []

    def turn(name: str) -> list[float]:
        order.append(name)
        return calls[name]

    turns = {name: partial(turn, name) for name in calls}
    assert medians(turns, 2.0) == {"quick": 0.3, "slow": 2.0}
    assert order == ["quick", "slow"] * LEAST_CALLS


def test_the_table_of_the_page_has_a_row_for_each_client() -> None:
    rows = markdown([measured("magika")]).splitlines()
    assert rows[0].count("|") == rows[1].count("|") == rows[2].count("|")
    assert rows[2] == "| Magika, types of files | ONNX Runtime | 2 | 3 |  | 1.50 |"


def test_the_times_of_kernels_add_up_to_those_of_a_call() -> None:
    assert kernel_times(measured("magika")).splitlines()[1:] == [
        "  share  runs  measured  predicted  bound  of it  by        in microseconds",
        "   79 %    59      1500       1000    750   50 %  products  f32[8,8] @ f32[8,8]",
        "    5 %     1       100        200     10   10 %  L1        relu(f32[8])",
        "   84 %    60      1600       1200    760   48 %            all kernels",
        "   16 %             300                                     between kernels",
        "                   1900                                     a call",
        "  they reach 95 % of the cost model's bound, and 48 % of this machine's roofline",
        "a call of magika: 2.00 ms, calls of kernels 1.90 ms if each program runs once",
    ]


def test_unknown_clients_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["no-such-model"])
    assert "minilm" in capsys.readouterr().err

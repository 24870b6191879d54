"""The kernels of a graph: for how long each is searched for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Unpack

import numpy as np
import pytest

from morello.graph.graph import Graph, TensorType, apply
from morello.graph.operators import Dot, Input
from morello.graph.partition import by_rule
from morello.kernel import Kernel
from morello.models.kernels import Kernels
from morello.models.schedule import Stage, StoredCall, schedule
from morello.options import Options
from morello.search.result import SearchStatistics
from morello.several import What, compile_each

SOON: Options = {"budget": 0.001, "gap": 0.5, "threads": 1, "table": None}
"""Too short for a bound."""


def product() -> StoredCall:
    a, b = (apply(Input(TensorType((60, 60), np.dtype(np.float32)), n)) for n in "ab")
    (stage,) = schedule(by_rule(Graph((a, b), (apply(Dot((), ((1, 0),)), a, b),))))
    assert isinstance(stage, Stage)
    (call,) = stage.calls
    return call


def found(kernels: Kernels, seconds: float | None = None) -> tuple[float, SearchStatistics]:
    """The cost of the kernel of a product, and the statistics of its search."""
    call = product()
    kernels.compile([call], seconds)
    kernel = kernels[call]
    assert kernel and kernel.statistics
    return kernel.cost, kernel.statistics


def test_what_takes_most_is_searched_for_longer_if_there_was_no_bound() -> None:
    cost, statistics = found(Kernels(SOON))
    assert statistics.gap == inf
    cheaper, statistics = found(Kernels(SOON, longer=100.0))
    assert statistics.gap <= 0.5
    assert cheaper < cost


def test_a_search_of_so_many_seconds_is_no_longer() -> None:
    _, statistics = found(Kernels(SOON, longer=100.0), seconds=0.001)
    assert statistics.gap == inf


def test_what_was_priced_is_searched_for_longer_once_it_is_chosen() -> None:
    kernels = Kernels(SOON, longer=100.0)
    assert found(kernels, seconds=0.001)[1].gap == inf
    assert found(kernels)[1].gap <= 0.5


@pytest.mark.parametrize(("gap", "budgets"), [(0.04, [9.0]), (0.1, [9.0, 100.0])])
def test_what_may_be_far_from_the_cheapest_is_searched_for_longer(
    gap: float, budgets: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So is what has a bound, if the program that was found may cost much more."""
    soon: Options = {"budget": 9.0, "gap": 0.02, "threads": 1, "table": None}
    asked: list[float] = []

    def compiled(specs: Sequence[tuple[What, str]], **options: Unpack[Options]) -> list[Kernel]:
        kernels = compile_each(specs, **options)
        for kernel in kernels:
            asked.append(options["budget"])
            assert kernel.statistics
            if asked == [9.0]:
                kernel.statistics = replace(kernel.statistics, gap=gap)
        return kernels

    monkeypatch.setattr("morello.models.kernels.compile_each", compiled)
    found(Kernels(soon, longer=100.0))
    assert asked == budgets

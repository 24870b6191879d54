"""The kernels of a graph: for how long each is searched for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Unpack

import numpy as np
import pytest

from morello.graph.graph import Graph, TensorType, apply
from morello.graph.operators import Constant, Dot, Input
from morello.graph.partition import by_rule
from morello.kernel import Kernel
from morello.models import compile_graph
from morello.models.kernels import Kernels
from morello.models.schedule import Stage, StoredCall, schedule
from morello.options import Options
from morello.search.result import SearchStatistics
from morello.several import What, compile_each
from morello.targets.catalog import native

SOON: Options = {"budget": 1e-6, "gap": 0.5, "threads": 1, "table": None}
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
    cheaper, statistics = found(Kernels(SOON, longer=600.0))
    assert statistics.gap <= 0.5
    assert cheaper < cost


def test_a_search_of_so_many_seconds_is_no_longer() -> None:
    _, statistics = found(Kernels(SOON, longer=600.0), seconds=1e-6)
    assert statistics.gap == inf


def test_what_was_priced_is_searched_for_longer_once_it_is_chosen() -> None:
    kernels = Kernels(SOON, longer=600.0)
    assert found(kernels, seconds=1e-6)[1].gap == inf
    assert found(kernels)[1].gap <= 0.5


@pytest.mark.parametrize(
    ("fair", "gap", "budgets"),
    [
        (1.0, 0.04, [9.0]), (1.0, 0.1, [9.0, 100.0]),
        (0.3, 0.04, [18.0]), (0.2, 0.04, [36.0]), (0.01, 0.1, [100.0]),
    ],
)  # fmt: skip
def test_what_may_be_far_from_the_cheapest_is_searched_for_longer(
    fair: float, gap: float, budgets: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So is what has a bound, if the program that was found may cost much more; and what has more
    of the arithmetic than is fair for the budget, from the beginning.
    """
    soon: Options = {"budget": 9.0, "gap": 0.02, "threads": 1, "table": None}
    asked: list[float] = []

    def compiled(specs: Sequence[tuple[What, Options]], **options: Unpack[Options]) -> list[Kernel]:
        kernels = compile_each(specs, **options)
        for (_, own), kernel in zip(specs, kernels, strict=True):
            asked.append(own["budget"])
            assert kernel.statistics
            if len(asked) == 1:
                kernel.statistics = replace(kernel.statistics, gap=gap)
        return kernels

    monkeypatch.setattr("morello.models.kernels.compile_each", compiled)
    monkeypatch.setattr("morello.models.kernels.FAIR", fair)
    found(Kernels(soon, longer=100.0))
    assert asked == budgets


def test_weights_that_no_cache_holds_have_the_costs_of_streams() -> None:
    """All weights count together, and with what else a call touches, however small each is; but
    not where elements are used often, or most of a kernel's are others.
    """
    machine = replace(native(), streaming={"memory.per_line": 3.0}, tunings=(), last_cache=0)

    def products(rows: int, last_cache: int) -> list[float]:
        x, random = apply(Input(TensorType((rows, 64), np.dtype(np.float32)))), np.random
        weights = [random.default_rng(n).standard_normal((64, 64), np.float32) for n in range(2)]
        outputs = tuple(apply(Dot((), ((1, 0),)), x, apply(Constant(w))) for w in weights)
        target = replace(machine, last_cache=last_cache)
        compiled = compile_graph(Graph((x,), outputs), target=target, threads=1, gap=0.5)
        return [k.impl.target.levels[0].per_line for s in compiled.segments for k in s.kernels]

    plain = machine.levels[0].per_line
    lines_of_both = 2 * 64 * 64 * 4 // 64
    touched = lines_of_both + 3 * 64 * 4 // 64
    assert products(1, 2 * touched) == [plain] * 2
    assert products(1, 2 * touched - 1) == [3 * plain] * 2
    for rows in 16, 256:
        assert products(rows, 2 * lines_of_both - 1) == [plain] * 2

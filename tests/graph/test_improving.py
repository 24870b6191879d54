"""Partitions made cheaper, with costs that are made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from random import Random

import numpy as np
import pytest

from morello.graph.graph import Graph, TensorType, apply
from morello.graph.improving import Improvement, Pricing, Wanted
from morello.graph.operators import Dot, Input, Map, Transpose
from morello.graph.partition import GraphPartition, Group, by_rule
from morello.importers.text import graph_of
from morello.ir.spec import Spec

LINE = 5.0
"""The cycles to write a cache line and to read it again."""

PROLOGUE = "relu(f32[256,256] + f32[256,256]) @ f32[256,256]"
LAYERS = (
    "n = relu(f32[256,256] + f32[256,256]) @ f32[256,256];"
    " relu(relu(relu(n + f32[256,256]) @ f32[256,256] + f32[256,256]) @ f32[256,256])"
)

Price = Callable[[Spec], float]


def pricing(price: Price, most: int = 100) -> tuple[Pricing, list[Group]]:
    """Prices for as many groups as are allowed, and those that were asked for."""
    asked: list[Group] = []

    def prices(wanted: Wanted) -> Mapping[Group, float]:
        groups = [group for _, some in wanted for group in some]
        for partition, some in wanted:
            assert {*some} <= {*partition.groups}
        priced = groups[: max(0, most - len(asked))]
        asked.extend(priced)
        return {group: price(group.lowered.spec) for group in priced}

    return prices, asked


def total(partition: GraphPartition, price: Price) -> float:
    return sum(price(group.lowered.spec) for group in partition.groups)


def costs(partition: GraphPartition, price: Price) -> dict[Group, float]:
    return {group: price(group.lowered.spec) for group in partition.groups}


def rooflines(factor: float) -> Price:
    """Costs of operations and transfers, other ones if several products or maps are one group."""

    def price(spec: Spec) -> float:
        joined = any(part.operation.is_product for part in spec.operation.components)
        return (spec.flops / 64 + spec.bytes / 64 * LINE / 2) * (factor if joined else 1)

    return price


@pytest.mark.parametrize(("factor", "kernels"), [(0.9, 1), (3.0, 2)])
def test_what_comes_before_a_product_joins_it_only_if_that_costs_less(
    factor: float, kernels: int
) -> None:
    given, price = by_rule(graph_of(PROLOGUE)), rooflines(factor)
    assert len(given.groups) == 2
    prices, asked = pricing(price)
    best = Improvement(given, costs(given, price), LINE).cheapest(prices)
    assert asked
    assert len(best.groups) == kernels
    assert total(best, price) == min(total(given, price), total(best, price))


@pytest.mark.parametrize("most", range(6))
def test_however_soon_the_time_is_over_it_is_never_worse(most: int) -> None:
    given, random = by_rule(graph_of(LAYERS)), Random(most)
    factors: dict[Spec, float] = {}

    def price(spec: Spec) -> float:
        return rooflines(1.0)(spec) * factors.setdefault(spec, random.uniform(0.5, 1.5))

    prices, asked = pricing(price, most)
    best = Improvement(given, costs(given, price), LINE).cheapest(prices)
    assert len(asked) <= most
    assert {*best.groups} <= {*given.groups, *asked}
    assert total(best, price) <= total(given, price)
    if most == 0:
        assert best == given
    assert [node for group in best.groups for node in group.nodes] == [
        node for node in given.graph.nodes if any(node in group.nodes for group in given.groups)
    ]


def test_what_may_save_little_is_not_asked_for() -> None:
    given = by_rule(graph_of("relu(f32[16,512] + f32[16,512]) @ f32[512,4096]"))
    improvement = Improvement(given, costs(given, rooflines(1.0)), LINE)
    prices, asked = pricing(rooflines(0.1))
    assert improvement.expected == 0
    assert improvement.cheapest(prices) == given
    assert not asked


def test_what_is_expected_counts_the_transfers_that_are_saved() -> None:
    given, price = by_rule(graph_of(PROLOGUE)), rooflines(1.0)
    saved = 256 * 256 * 4 / 64 * LINE
    expected = Improvement(given, costs(given, price), LINE).expected
    assert expected == pytest.approx(saved / total(given, price))


def test_a_group_that_no_kernel_computes_is_not_taken() -> None:
    given = by_rule(graph_of(PROLOGUE))
    prices, asked = pricing(lambda spec: inf)
    assert Improvement(given, costs(given, rooflines(1.0)), LINE).cheapest(prices) == given
    assert asked


def test_a_map_moves_to_the_group_that_reads_it_where_less_is_stored_so() -> None:
    """The rule stores a matrix, as maps join the sum before them; it reads a vector instead."""
    text = "(f32[256,256] + expand_dims(sum(f32[256,256], axis=1), axis=1)) @ f32[256,256]"
    given = by_rule(graph_of(text))

    def price(spec: Spec) -> float:
        both = "sum" in spec.expression and "@" in spec.expression
        return inf if both else rooflines(1.0)(spec)

    prices, _ = pricing(price)
    best = Improvement(given, costs(given, price), LINE).cheapest(prices)
    assert [group.output.shape for group in given.groups] == [(256, 256), (256, 256)]
    assert [group.output.shape for group in best.groups] == [(256,), (256, 256)]


def test_a_result_that_is_stored_transposed_stays_so() -> None:
    matrix = TensorType((256, 256), np.dtype(np.float32))
    x, y, z = (apply(Input(matrix)) for _ in range(3))
    product = apply(Dot(contracted=((1, 0),)), apply(Map("add"), x, y), z)
    turned = apply(Transpose((1, 0)), product)
    given = by_rule(Graph((x, y, z), (turned,)))
    price = rooflines(0.9)
    (group,) = Improvement(given, costs(given, price), LINE).cheapest(pricing(price)[0]).groups
    assert group.output is turned
    assert group.lowered.spec.expression.endswith("-> f32[256,256]{0,1}")

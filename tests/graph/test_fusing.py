"""The best partition, against all there are, and what makes groups too expensive."""

from __future__ import annotations

from itertools import chain, combinations
from math import inf
from random import Random

import numpy as np
import pytest

from benchmarks.compositions import COMPOSITIONS
from morello.base.errors import SearchError
from morello.graph.fusing import Price, by_cost
from morello.graph.graph import Graph, Node, TensorType, apply
from morello.graph.operators import Constant, Input, Map
from morello.graph.partition import GraphPartition, apart, by_rule, group_of
from morello.graph.reading import Reading
from morello.importers.text import graph_of
from morello.ir.spec import Spec

MOST = 4
"""No more operations than these are one kernel, in what follows."""

VECTOR = TensorType((4,), np.dtype(np.float32))


def random_graph(random: Random, operations: int) -> Graph:
    """Maps of one or two of the tensors before them, and what is left over added up."""
    inputs = [apply(Input(VECTOR)) for _ in range(2)]
    nodes = [*inputs]
    unused: list[Node] = []
    for number in range(operations):
        source = random.choice(nodes[-4:])
        other = apply(Constant(np.array(number + 1, np.float32)))
        if random.random() < 0.5:
            other = random.choice([node for node in nodes if node is not source])
        result = apply(Map("add"), source, other)
        unused = [node for node in unused if node not in (source, other)] + [result]
        nodes.append(result)
    total = unused[0]
    for node in unused[1:]:
        total = apply(Map("add"), total, node)
    return Graph(tuple(inputs), (total,))


def random_prices(seed: int) -> Price:
    """About one for a kernel, whatever it computes: the same for the same Spec."""

    def price(spec: Spec) -> float:
        if len(spec.operation.components) > MOST:
            return inf
        return 1 + Random(f"{seed} {spec.expression}").random()

    return price


def partitions(graph: Graph) -> list[GraphPartition]:
    """All that are legal, one for each set of nodes that are written to memory."""
    reading, every = Reading(graph), []
    *inner, _ = reading.computing
    for written in chain.from_iterable(combinations(inner, n) for n in range(len(inner) + 1)):
        members: dict[Node, list[Node]] = {}
        home: dict[Node, Node] = {}
        for node in reversed(reading.computing):
            of_readers = {home[reader] for reader in reading.readers[node]}
            alone = node in written or len(of_readers) != 1
            if alone and of_readers and node not in written:
                break  # what is not written is used by several groups
            home[node] = node if alone else of_readers.pop()
            members.setdefault(home[node], []).append(node)
        else:
            groups = [group_of(nodes, graph) for nodes in members.values()]
            assert all(groups)
            every.append(GraphPartition(graph, tuple(group for group in groups if group)))
    return every


def total(partition: GraphPartition, price: Price) -> float:
    return sum(price(group.lowered.spec) for group in partition.groups)


def sizes(partition: GraphPartition) -> list[int]:
    """How many operations each group has."""
    return [len(group.nodes) for group in partition.groups]


@pytest.mark.parametrize("seed", range(12))
def test_no_partition_is_cheaper(seed: int) -> None:
    graph, price = random_graph(Random(seed), 6), random_prices(seed)
    every = partitions(graph)
    assert len(every) > 1
    assert total(by_cost(graph, price), price) == pytest.approx(min(total(p, price) for p in every))


def test_a_tensor_that_several_operations_read_is_paid_for_once() -> None:
    graph = graph_of("x = exp(f32[4]); (x + 1) * (x + 2)")
    prices = {"exp(f32[4])": 10.0, "a = f32[4]; (a + 1) * (a + 2)": 3.0}
    assert sizes(by_cost(graph, lambda spec: prices.get(spec.expression, 14.0))) == [1, 3]


def test_prices_alone_decide() -> None:
    graph = graph_of("relu(f32[4,4] @ f32[4,4]) @ f32[4,4]")
    assert sizes(by_cost(graph, lambda spec: 1.0)) == [3]
    cheap_apart = by_cost(graph, lambda spec: 9.0 if spec.operation.components else 1.0)
    assert sizes(cheap_apart) == sizes(apart(graph)) == [1, 1, 1]


def test_what_is_too_expensive_is_cut() -> None:
    graph = graph_of("f32[4,4] @ f32[4,4] @ f32[4,4] @ f32[4,4] @ f32[4,4]")

    def at_most_two(spec: Spec) -> float:
        return inf if len(spec.operation.components) > 2 else 1.0

    assert sizes(by_cost(graph, at_most_two)) == [2, 2]


def test_nothing_larger_is_tried_than_what_is_too_expensive() -> None:
    tried: list[int] = []

    def price(spec: Spec) -> float:
        tried.append(len(spec.operation.components))
        return inf if spec.operation.components else 1.0

    by_cost(graph_of(" @ ".join(["f32[4,4]"] * 7)), price)
    assert max(tried) == 2


def test_a_group_that_does_not_grow_is_still_taken() -> None:
    graph = graph_of(" @ ".join(["f32[4,4]"] * 5))
    assert sizes(by_cost(graph, lambda spec: 1.0, lambda spec: not spec.operation.components)) == [
        2,
        2,
    ]


def test_a_group_that_is_no_spec_is_cut() -> None:
    """x is used in two roles, and is a product."""
    found = by_cost(graph_of("x = f32[4,4] @ f32[4,4]; x @ transpose(x)"), lambda spec: 1.0)
    assert [str(group.output.operator) for group in found.groups] == ["Matmul", "Matmul"]


def test_what_is_computed_elsewhere_is_read_in_another_order() -> None:
    graph = graph_of("f32[4,8] @ transpose(f32[16,4] @ f32[4,8])")
    *_, last = by_cost(graph, lambda spec: 1.0 + 9 * bool(spec.operation.components)).groups
    assert last.lowered.spec.expression == "f32[4,8] @ f32[8,16]{0,1}"


def test_an_operation_without_a_kernel_is_named() -> None:
    graph = graph_of("relu(tanh(f32[4]))")
    with pytest.raises(SearchError, match="Tanh"):
        by_cost(graph, lambda spec: inf if "tanh" in spec.expression else 1.0)


def test_what_no_spec_computes_is_left() -> None:
    x = apply(Input(VECTOR))
    totals = apply(Map("power"), apply(Map("exp"), x), x)
    graph = Graph((x,), (apply(Map("tanh"), totals),))
    partition = by_cost(graph, lambda spec: 1.0)
    assert sizes(partition) == [1, 1]
    assert partition.left == (totals,)


@pytest.mark.parametrize("text", COMPOSITIONS.values(), ids=COMPOSITIONS.keys())
def test_the_compositions_are_cut(text: str) -> None:
    graph = graph_of(text)
    for partition in (apart(graph), by_rule(graph)):
        assert not partition.left
        assert all(len(group.inputs) <= 7 for group in partition.groups)
    assert len(by_rule(graph).groups) <= len(apart(graph).groups)

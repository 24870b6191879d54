"""The best partition, against all there are, and what makes groups too expensive."""

from __future__ import annotations

from itertools import chain, combinations
from math import inf
from random import Random

import pytest

from morello.base.errors import SearchError, SpecError
from morello.frontends.maps import add, maximum
from morello.frontends.text import parse_tensor
from morello.frontends.types import make_type
from morello.frontends.values import Value, input_of, value_of
from morello.fusion.fuse import Price, fuse
from morello.fusion.operation_graph import OperationGraph, OperationGroup, cut
from morello.fusion.partition import Partition, apart, in_order_of_outputs
from morello.ir.computation import Tensor
from morello.ir.dtype import F32
from morello.ir.spec import Spec

MOST = 4
"""No more operations than these are one kernel, in what follows."""


def random_graph(random: Random, operations: int) -> OperationGraph:
    """Maps of one or two of the tensors before them, and what is left over added up."""
    values = [value_of(input_of(make_type((4,), F32))) for _ in range(2)]
    unused: list[Value] = []
    for number in range(operations):
        source = random.choice(values[-4:])
        if random.random() < 0.5:
            sources = [source]
            made = add(source, float(number + 1))
        else:
            sources = [source, random.choice(values)]
            made = maximum(*sources) if sources[0] is not sources[1] else add(source, 0.5)
        unused = [one for one in unused if one not in sources] + [made]
        values.append(made)
    result = unused[0]
    for one in unused[1:]:
        result = add(result, one)
    return OperationGraph(result.tensor)


def random_prices(seed: int) -> Price:
    """About one for a kernel, whatever it computes: the same for the same Spec."""

    def price(spec: Spec) -> float:
        if len(spec.operation.components) > MOST:
            return inf
        return 1 + Random(f"{seed} {spec.expression}").random()

    return price


def partitions(graph: OperationGraph) -> list[Partition]:
    """All that are legal, one for each set of tensors that are written to memory."""
    found = []
    inner = graph.operations[:-1]
    for written in chain.from_iterable(combinations(inner, n) for n in range(len(inner) + 1)):
        groups: dict[Tensor, list[Tensor]] = {}
        home: dict[Tensor, Tensor] = {}
        for one in reversed(graph.operations):
            of_users = {home[user] for user in graph.users[one]}
            home[one] = one if one in written or not of_users else min(of_users, key=id)
            groups.setdefault(home[one], []).insert(0, one)
        try:
            every = [OperationGroup(tuple(members)) for members in groups.values()]
            found.append(in_order_of_outputs(graph, every))
        except SpecError:
            continue  # what is not written is used by several groups
    return found


def total(partition: Partition, price: Price) -> float:
    return sum(price(cut(group).spec) for group in partition.groups)


@pytest.mark.parametrize("seed", range(12))
def test_no_partition_is_cheaper(seed: int) -> None:
    graph, price = random_graph(Random(seed), 6), random_prices(seed)
    every = partitions(graph)
    assert len(every) > 1
    assert total(fuse(graph, price), price) == pytest.approx(min(total(p, price) for p in every))


def test_a_tensor_that_several_operations_read_is_paid_for_once() -> None:
    graph = OperationGraph(parse_tensor("x = exp(f32[4]); (x + 1) * (x + 2)"))
    prices = {"exp(f32[4])": 10.0, "x = f32[4]; (x + 1) * (x + 2)": 3.0}
    found = fuse(graph, lambda spec: prices.get(spec.expression.replace("a", "x"), 14.0))
    assert [len(group.operations) for group in found.groups] == [1, 3]


def test_prices_alone_decide() -> None:
    graph = OperationGraph(parse_tensor("relu(f32[4,4] @ f32[4,4]) @ f32[4,4]"))
    together = fuse(graph, lambda spec: 1.0)
    assert [len(group.operations) for group in together.groups] == [3]
    cheap_apart = fuse(graph, lambda spec: 9.0 if spec.operation.components else 1.0)
    assert cheap_apart == apart(graph)


def test_what_is_too_expensive_is_cut() -> None:
    graph = OperationGraph(parse_tensor("f32[4,4] @ f32[4,4] @ f32[4,4] @ f32[4,4] @ f32[4,4]"))

    def at_most_two(spec: Spec) -> float:
        return inf if len(spec.operation.components) > 2 else 1.0

    assert [len(group.operations) for group in fuse(graph, at_most_two).groups] == [2, 2]


def test_nothing_larger_is_tried_than_what_is_too_expensive() -> None:
    graph = OperationGraph(parse_tensor(" @ ".join(["f32[4,4]"] * 7)))
    sizes: list[int] = []

    def price(spec: Spec) -> float:
        sizes.append(len(spec.operation.components))
        return inf if spec.operation.components else 1.0

    fuse(graph, price)
    assert max(sizes) == 2


def test_a_group_that_does_not_grow_is_still_taken() -> None:
    graph = OperationGraph(parse_tensor(" @ ".join(["f32[4,4]"] * 5)))
    found = fuse(graph, lambda spec: 1.0, lambda spec: not spec.operation.components)
    assert [len(group.operations) for group in found.groups] == [2, 2]


def test_a_group_that_is_no_spec_is_cut() -> None:
    """x is used in two roles, and is a product."""
    graph = OperationGraph(parse_tensor("x = f32[4,4] @ f32[4,4]; x @ transpose(x)"))
    found = fuse(graph, lambda spec: 1.0)
    assert [str(group.output.operation) for group in found.groups] == ["Matmul", "Matmul"]


def test_an_operation_without_a_kernel_is_named() -> None:
    graph = OperationGraph(parse_tensor("relu(tanh(f32[4]))"))
    with pytest.raises(SearchError, match="tanh"):
        fuse(graph, lambda spec: inf if "tanh" in spec.expression else 1.0)

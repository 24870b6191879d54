"""Graphs of values, groups as Specs, and the partitions that need no prices."""

from __future__ import annotations

from itertools import chain

import pytest

from benchmarks.compositions import COMPOSITIONS
from morello.base.errors import SpecError
from morello.frontends.text import parse, parse_tensor
from morello.fusion.operation_graph import OperationGraph, OperationGroup, cut
from morello.fusion.partition import Partition, apart, by_rule


def names(partition: Partition) -> list[str]:
    """The operations of each group: "Matmul Relu"."""
    return [" ".join(str(one.operation) for one in group.operations) for group in partition.groups]


def test_a_graph_is_in_order() -> None:
    graph = OperationGraph(parse_tensor("x = f32[4,4]; y = x @ f32[4,4]; relu(y) + tanh(y)"))
    assert [str(one.operation) for one in graph.operations] == ["Matmul", "Relu", "Tanh", "Add"]
    product, relu, tanh, last = graph.operations
    assert graph.users[product] == {relu, tanh}
    assert graph.users[last] == frozenset()
    assert len(graph.inputs) == 2
    assert graph.result is last


@pytest.mark.parametrize(
    "text",
    [
        "x = f32[8,4]; relu(x @ f32[4,8] + f32[8]) @ x -> f32[8,4]{0,1}",
        "f32[4,8]{0,1} @ transpose(f32[16,8])",
        "relu(move(transpose(f32[4,8])))",
        "x = f32[8,8]; x @ transpose(x) * 2",
        "attention(f32[8,4], f32[8,4], f32[8,4])",
        "fill_zero(f32[4,4])",
    ],
)
def test_the_whole_as_a_group_is_the_spec_of_the_text(text: str) -> None:
    graph = OperationGraph(parse_tensor(text))
    whole = cut(OperationGroup(graph.operations))
    assert whole.spec == parse(text)
    assert whole.spec.names == parse(text).names
    assert whole.inputs == graph.inputs


def test_a_group_reads_what_others_make() -> None:
    graph = OperationGraph(parse_tensor("softmax(f32[4,8] @ f32[8,4]) @ f32[4,16]"))
    product, softmax, last = graph.operations
    found = cut(OperationGroup((softmax, last)))
    assert found.spec == parse("softmax(f32[4,4]) @ f32[4,16]")
    assert found.inputs == (product, graph.inputs[2])


def test_what_is_made_elsewhere_is_read_in_another_order() -> None:
    graph = OperationGraph(parse_tensor("f32[4,8] @ transpose(f32[16,4] @ f32[4,8])"))
    product, turned, last = graph.operations
    found = cut(OperationGroup((turned, last)))
    assert found.spec == parse("f32[4,8] @ transpose(f32[16,8])")
    assert found.inputs == (graph.inputs[0], product)
    assert cut(OperationGroup((turned,))).spec == parse("transpose(f32[16,8])")


def test_too_many_arrays_are_no_kernel() -> None:
    graph = OperationGraph(parse_tensor(" + ".join(["f32[4]"] * 9)))
    with pytest.raises(SpecError, match="9 tensors"):
        cut(OperationGroup(graph.operations))
    assert len(by_rule(graph).groups) == 2


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("relu(f32[4,4] @ f32[4,4] + f32[4])", ["Matmul Add Relu"]),
        ("relu(f32[4,4] @ f32[4,4]) @ f32[4,4]", ["Matmul Relu", "Matmul"]),
        ("exp(relu(f32[4,4]))", ["Relu Exp"]),
        ("relu(f32[4,4]) @ f32[4,4]", ["Relu", "Matmul"]),
        ("softmax(f32[4,4] @ f32[4,4] * 2)", ["Matmul MultiplyConstant", "Softmax"]),
        ("f32[4,4] @ f32[4,4] + f32[4,4] @ f32[4,4]", ["Matmul", "Matmul Add"]),
        ("x = f32[4,4] @ f32[4,4]; x * sigmoid(x)", ["Matmul Sigmoid Multiply"]),
        ("x = f32[4,4] @ f32[4,4]; relu(x) @ f32[4,4] + x", ["Matmul", "Relu", "Matmul Add"]),
        ("f32[4,4] @ transpose(f32[4,4] @ f32[4,4])", ["Matmul", "Move Matmul"]),
        ("transpose(f32[4,4] @ f32[4,4])", ["Matmul", "Move"]),
        ("cast(f32[4,4] @ f32[4,4], bf16) @ bf16[4,4]", ["Matmul Move", "Matmul"]),
        ("relu(conv(f32[1,4,8,8], f32[4,4,3,3]))", ["Conv Relu"]),
    ],
)
def test_the_rule(text: str, groups: list[str]) -> None:
    assert names(by_rule(OperationGraph(parse_tensor(text)))) == groups


def test_apart_leaves_out_copies_that_no_one_needs() -> None:
    graph = OperationGraph(parse_tensor("relu(f32[4,4] @ transpose(f32[4,4] @ f32[4,4]))"))
    assert names(apart(graph)) == ["Matmul", "Move Matmul", "Relu"]


@pytest.mark.parametrize("text", COMPOSITIONS.values(), ids=COMPOSITIONS.keys())
def test_the_compositions_are_cut(text: str) -> None:
    graph = OperationGraph(parse_tensor(text))
    for partition in (apart(graph), by_rule(graph)):  # which check themselves
        for group in partition.groups:
            assert len(cut(group).inputs) <= 7
    assert len(by_rule(graph).groups) <= len(apart(graph).groups)


def test_partitions_that_are_none() -> None:
    graph = OperationGraph(parse_tensor("x = relu(f32[4]); exp(x) + tanh(x)"))
    relu, exp, tanh, last = graph.operations
    with pytest.raises(SpecError, match="put every operation into one group"):
        Partition(graph, (OperationGroup((relu,)), OperationGroup((tanh, last))))
    for groups in ((relu, exp), (tanh, last)), ((exp, relu), (tanh, last)), ((last, tanh), ()):
        rest = tuple(one for one in graph.operations if one not in chain(*groups))
        some = [OperationGroup(members) for members in groups if members]
        with pytest.raises(SpecError, match="is not only for operations that follow it"):
            Partition(graph, (*some, *(OperationGroup((one,)) for one in rest)))
    with pytest.raises(SpecError, match="put it after"):
        Partition(graph, (OperationGroup((exp, tanh, last)), OperationGroup((relu,))))

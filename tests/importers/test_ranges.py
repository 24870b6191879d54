"""Integers of 64 bits are computed in 32 where these suffice, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morello.graph.graph import Node, TensorType, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import Cast, Cumulate, Gather, Input, Map, Reduce
from morello.graph.rewriting import simplified
from morello.importers.ranges import known_range

torch = pytest.importorskip("torch")
aten = pytest.importorskip("morello.importers.aten")
nn = torch.nn

BORDERS = [0, 1, 2**24 - 1, 2**24, 2**24 + 1, 2**24 + 2, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1]
NUMBERS = np.array([[*BORDERS, *(-n for n in BORDERS), -(2**63), 5]])
"""Of any size, with those that f32 does not tell from their neighbours."""


def masks(i: Any) -> Any:
    """Comparisons with numbers, and with tensors, that are known to be small."""
    small = torch.arange(i.shape[1]) * 3
    last = 2**24 - 1
    return (
        i != 1, i == last, i < last, i <= last, i > -last, i >= 0, small >= i, i == small,
    )  # fmt: skip


def positions(i: Any) -> Any:
    """The positions of what is no padding, as RoBERTa has them, and how many there are."""
    mask = i.ne(1).int()
    inside = (torch.cumsum(mask, 1).type_as(mask) * mask).long() + 1
    return inside, mask.long().cumsum(1) - 1, (i > 0).long() * 2 + 3, (i > 0).sum(1, keepdim=True)


@pytest.mark.parametrize("function", [masks, positions])
def test_no_integers_of_64_bits_are_computed(function: Callable[[Any], Any]) -> None:
    given = torch.from_numpy(NUMBERS)
    program = type("Program", (nn.Module,), {"forward": lambda _, i: function(i)})()
    result = aten.exported(torch.export.export(program, (given,)))
    assert not result.left
    computed = [
        n for n in simplified(result.graph).nodes if isinstance(n.operator, Map | Cumulate | Reduce)
    ]
    assert computed
    assert all(each.dtype.itemsize < 8 for node in computed for each in (node, *node.inputs))
    for value, tensor in zip(evaluate(result.graph, [NUMBERS]), function(given), strict=True):
        np.testing.assert_array_equal(value, tensor.numpy())


def test_no_integers_of_64_bits_are_computed_of_onnx() -> None:
    """The positions of what is no padding, and what tables of small numbers have there."""
    onnx = pytest.importorskip("onnx")
    reading = pytest.importorskip("morello.importers.onnx.program")
    table = np.arange(30, 0, -1)
    constants = {"pad": np.array(1), "axis": np.array(1), "one": np.array([1]), "table": table,
                 "row": table[None]}  # fmt: skip
    make = onnx.helper.make_node
    nodes = [
        make("Equal", ["x", "pad"], ["padding"]),
        make("Not", ["padding"], ["text"]),
        make("Cast", ["text"], ["mask"], to=onnx.TensorProto.INT64),
        make("CumSum", ["mask", "axis"], ["counted"]),
        make("Mul", ["counted", "mask"], ["inside"]),
        make("Add", ["inside", "one"], ["place"]),
        make("Gather", ["table", "place"], ["taken"]),
        make("GatherElements", ["row", "place"], ["along"], axis=1),
        make("Less", ["place", "x"], ["less"]),
    ]
    typed = onnx.helper.make_tensor_value_info
    outputs = [typed(name, onnx.TensorProto.INT64, None) for name in ("place", "taken", "along")]
    outputs += [typed("less", onnx.TensorProto.BOOL, None)]
    tensors = [onnx.numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()]
    given = [typed("x", onnx.TensorProto.INT64, NUMBERS.shape)]
    graph = onnx.helper.make_graph(nodes, "graph", given, outputs, tensors)
    read = reading.import_model(onnx.helper.make_model(graph)).graph
    computing = Map | Cumulate | Gather
    computed = [n for n in simplified(read).nodes if isinstance(n.operator, computing)]
    assert all(each.dtype.itemsize < 8 for node in computed for each in (node, node.inputs[0]))
    mask = NUMBERS != 1
    place = mask.cumsum(1) * mask + 1
    wanted = place, table[place], table[place], place < NUMBERS
    for value, expected in zip(evaluate(read, [NUMBERS]), wanted, strict=True):
        np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda i: i == 2**24,
        lambda i: i < i.flip(1),
        lambda i: i + 1,
        lambda i: (i > 0).long() * 2**31,
        lambda i: ((i > 0).long() * 2**30).cumsum(1),
    ],
    ids=["f32 has no more", "both are large", "a sum is large", "a product is", "sums are"],
)
def test_where_32_bits_may_not_suffice_64_are_used(function: Callable[[Any], Any]) -> None:
    given = torch.from_numpy(NUMBERS)
    program = type("Program", (nn.Module,), {"forward": lambda _, i: function(i)})()
    result = aten.exported(torch.export.export(program, (given,)))
    (value,) = evaluate(result.graph, [NUMBERS])
    np.testing.assert_array_equal(value, function(given).numpy())


def node(function: Callable[[Node], Node]) -> Node:
    """A function of a [2, 7] tensor of truths, as integers."""
    truths = apply(Input(TensorType((2, 7), np.dtype(bool))))
    return function(apply(Cast(np.dtype(np.int64)), truths))


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x: x, (0, 1)),
        (lambda x: apply(Cumulate(1), x), (0, 7)),
        (lambda x: apply(Cumulate(1), apply(Map("neg"), x)), (-7, 0)),
        (lambda x: apply(Reduce("sum", (0, 1)), x), (0, 14)),
        (lambda x: apply(Reduce("max", (0, 1)), x), (0, 1)),
    ],
    ids=["truths", "counts", "negative ones", "a sum", "a maximum"],
)
def test_ranges_of_counts(function: Callable[[Node], Node], wanted: tuple[int, int]) -> None:
    assert known_range(node(function)) == wanted

"""Parts of concatenations, and outputs, that kernels store where they would be copied to."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from tests.models.test_compiled_graphs import agrees, constant, given

from morello.graph.graph import Array, Graph, Node, apply
from morello.graph.interpreter import evaluate
from morello.graph.lowering import copied
from morello.graph.operators import Attention, Concat, Constant, Dot, Map, Reshape, Slice, Transpose
from morello.graph.partition import by_rule
from morello.graph.views import View
from morello.ir.semantics import evaluate as evaluate_operation
from morello.models.in_place import Relocation, in_place
from morello.models.schedule import Stage, StoredCall, schedule
from morello.runtime.argument import arguments


def product(x: Node, columns: int, seed: int = 0) -> Node:
    weights = constant(np.random.default_rng(seed), x.shape[-1], columns)
    return apply(Dot((), ((x.type.rank - 1, 0),)), x, weights)


def calls(graph: Graph) -> tuple[StoredCall, ...]:
    """The calls of a graph that is one segment."""
    (stage,) = schedule(by_rule(graph))
    assert isinstance(stage, Stage)
    return in_place(stage).calls


def copies(graph: Graph) -> int:
    return sum(call.copies for call in calls(graph))


def dense_block(x: Node) -> Graph:
    """Each product reads all before it, joined, as in DenseNet."""
    first = product(x, 16)
    second = product(apply(Map("relu"), first), 32)
    joined = apply(Concat(x.type.rank - 1), first, second)
    third = product(joined, 16)
    return Graph((x,), (apply(Concat(x.type.rank - 1), joined, third),))


def test_joined_results_share_one_array() -> None:
    """Results of one row are contiguous; rows of larger ones have gaps between them."""
    for x in (given(1, 24), given(3, 24)):
        graph = dense_block(x)
        assert not copies(graph)
        model = agrees(graph)
        assert [len(segment.kernels) for segment in model.segments] == [len(calls(graph))]


def test_an_output_that_is_a_view_is_stored_as_one() -> None:
    x = given(6, 8)
    wide = product(x, 32)
    turned = apply(Transpose((1, 0)), apply(Reshape((12, 16)), wide))
    graph = Graph((x,), (apply(Reshape((2, 6, 16)), apply(Map("exp"), wide)), turned))
    assert copies(graph) == 1  # the columns of a transpose are apart
    agrees(graph)


@pytest.mark.parametrize("other", ["input", "output", "twice", "slice"])
def test_copies_that_are_left(other: str) -> None:
    x = given(4, 16)
    part = product(x, 16)
    joined = apply(Concat(0), part, {"input": x, "twice": part}.get(other, product(x, 16, 1)))
    if other == "slice":
        rows = apply(Slice((1, 0), (4, 16), (1, 1)), part)
        joined = apply(Concat(0), rows, product(x, 16, 1))
    graph = Graph((x,), (joined, part) if other == "output" else (joined,))
    assert copies(graph) == 1
    agrees(graph)


def test_only_whole_nodes_lie_elsewhere() -> None:
    x, joined = given(4, 16), given(8, 16)
    for first, rows in ((0, 4), (0, 3), (1, 3)):
        part = View(x, (rows, 16), (16, 1), 16 * first)
        place = View(joined, part.shape, part.strides)
        copy = StoredCall((part,), place, copied(part, place.strides).spec, copies=True)
        assert (Relocation.of(copy) is not None) == (rows == 4)


def test_short_runs_are_copied() -> None:
    x = given(16, 24)
    assert copies(Graph((x,), (apply(Concat(1), product(x, 8), product(x, 16)),))) == 1


def test_what_is_read_across_runs_is_copied() -> None:
    """The rows of a part are apart: no strides tell where the elements of two rows lie."""
    x = given(4, 24)
    part = product(x, 32)
    joined = apply(Concat(1), part, product(x, 16))
    halves, pairs = (apply(Reshape(shape), part) for shape in ((4, 2, 16), (2, 64)))
    graph = Graph((x,), (joined, apply(Map("exp"), halves)))
    assert not copies(graph)
    agrees(graph)
    assert copies(Graph((x,), (joined, apply(Map("exp"), pairs)))) == 1


def test_heads_of_several_projections_are_read_where_they_lie() -> None:
    """Nothing is copied between products and attention, with one batch and with two."""
    for batch in (1, 2):
        x = given(batch, 16, 64)
        heads = [
            apply(Transpose((0, 2, 1, 3)), apply(Reshape((batch, 16, 4, 16)), product(x, 64, seed)))
            for seed in range(3)
        ]
        seen = apply(Transpose((0, 2, 1, 3)), apply(Attention(0.25), *heads))
        graph = Graph((x,), (product(apply(Reshape((batch, 16, 64)), seen), 64),))
        assert [call.copies for call in calls(graph)] == [False] * 5


def random_graph(random: Random) -> Graph:
    """Products, views of them, and joined ones; some of the results are outputs."""
    x = given(random.choice((1, 3)), 4, 16)
    nodes = [product(x, 16, 1), product(x, 32, 2)]
    for seed in range(3, 9):
        node = random.choice(nodes[-4:])
        kind = random.choice(("product", "map", "order", "shape", "join", "join"))
        if kind == "product":
            node = product(node, 16, seed)
        elif kind == "map":
            node = apply(Map("exp"), product(node, 8, seed))
        elif kind == "order":
            node = apply(Transpose(random.choice(((1, 0, 2), (0, 2, 1)))), node)
        elif kind == "shape":
            columns = node.shape[-1]
            node = apply(Reshape((node.type.size // columns // 2, 2, columns)), node)
        else:
            axis = random.randrange(3)
            rest = node.shape[:axis] + node.shape[axis + 1 :]
            fits = [n for n in nodes if n.shape[:axis] + n.shape[axis + 1 :] == rest]
            node = apply(Concat(axis), node, *random.sample(fits, random.randint(1, len(fits))))
        nodes.append(node)
    return Graph((x,), (nodes[-1], *random.sample(nodes[2:-1], 2)))


def emulated(graph: Graph, x: Array, run: Sequence[StoredCall]) -> list[Array]:
    """The outputs of these calls, by what Specs mean, on arrays at the strides that they say."""
    memory = {graph.inputs[0]: x.ravel()}

    def where(view: View, shape: Sequence[int], strides: Sequence[int]) -> Array:
        if view.base not in memory:
            operator, size = view.base.operator, view.base.type.size
            array = operator.array if isinstance(operator, Constant) else np.zeros(size)
            memory[view.base] = array.ravel()
        values = memory[view.base]
        last = view.offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        assert last < values.size
        return np.ndarray(
            shape, values.dtype, values, view.offset * values.itemsize,
            [s * values.itemsize for s in strides],
        )  # fmt: skip

    for call in run:
        arrays = [
            where(view, a.shape, [step // a.dtype.bytes for step in a.strides])
            for view, a in zip((*call.inputs, call.output), arguments(call.spec), strict=True)
        ]
        operands = call.spec.per_operand(arrays[:-1])
        arrays[-1][...] = evaluate_operation(call.spec.operation, operands, call.spec.sizes)[0]
    return [memory[node].reshape(node.shape) for node in graph.outputs]


def test_random_graphs() -> None:
    joined = left = 0
    for seed in range(60):
        graph = random_graph(Random(seed))
        (stage,) = schedule(by_rule(graph))
        assert isinstance(stage, Stage)
        joined += sum(call.copies for call in stage.calls)
        left += copies(graph)
        x = np.random.default_rng(seed).uniform(-0.5, 0.5, graph.inputs[0].shape)
        for got, expected in zip(
            emulated(graph, x, calls(graph)), evaluate(graph, [x]), strict=True
        ):
            np.testing.assert_allclose(got, expected, 1e-9, 1e-9)
    assert 0 < left < joined

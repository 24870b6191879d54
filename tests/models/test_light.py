"""Segments that are not worth a call, of graphs of which a framework computes a part."""

from __future__ import annotations

from tests.models.test_compiled_graphs import agrees, given

from morello.graph.frameworks import JAX, NUMPY, Framework
from morello.graph.graph import Graph, Node, apply, in_order
from morello.graph.operators import Concat, Dot, Input, Map, Transpose
from morello.graph.partition import by_rule
from morello.graph.views import copy_of
from morello.models import Segment
from morello.models.light import without_light
from morello.models.schedule import Stage, schedule


def graph_of(output: Node) -> Graph:
    inputs = [node for node in in_order((output,)) if isinstance(node.operator, Input)]
    return Graph(tuple(inputs), (output,))


def power(x: Node) -> Node:
    """A node that no kernel computes."""
    return apply(Map("power"), x, x)


def between(middle: Node) -> Graph:
    """A node between powers, which no kernel computes."""
    return graph_of(power(middle))


def steps(graph: Graph, framework: Framework, cycles: float = 1e3) -> list[type]:
    """The kinds of steps that are left, if the kernels of each stage take so many cycles."""
    partition = by_rule(graph)
    costs = [(step, cycles) for step in schedule(partition)]
    return [type(step) for step in schedule(without_light(partition, costs, framework))]


def test_a_map_of_a_few_numbers_is_left() -> None:
    small, large = (power(given(*shape)) for shape in ((8, 16), (512, 512)))
    for x, kind in ((small, Node), (large, Stage)):
        assert steps(between(apply(Map("exp"), x)), NUMPY) == [Node, kind, Node]
    assert steps(between(apply(Map("exp"), large)), NUMPY, cycles=1e7) == [Node, Node, Node]


def test_a_heavy_node_keeps_its_segment() -> None:
    x = power(given(8, 16))
    assert steps(between(apply(Dot((), ((0, 0),)), x, x)), NUMPY) == [Node, Stage, Node]


def test_a_framework_that_fuses_needs_fewer_segments() -> None:
    chain = power(given(64, 64))
    for _ in range(16):
        chain = apply(Map("exp"), chain)
    assert steps(between(chain), NUMPY) == [Node, Stage, Node]
    assert steps(between(chain), JAX, cycles=4e4) == [Node] * 18


def test_a_copy_of_a_few_numbers_is_left() -> None:
    x = power(given(8, 16))
    assert steps(graph_of(apply(Concat(1), x, x)), NUMPY) == [Node, Node]


def test_a_copy_in_another_order_is_worth_it_if_it_is_large() -> None:
    for x, kind in ((given(8, 16), Node), (given(512, 512), Stage)):
        assert steps(graph_of(copy_of(apply(Transpose((1, 0)), x))), NUMPY)[-1] is kind
    x = given(512, 512)
    assert steps(graph_of(copy_of(apply(Transpose((1, 0)), x))), NUMPY, cycles=1e7)[-1] is Node
    assert steps(graph_of(apply(Transpose((1, 0)), x)), NUMPY, cycles=1.0) == [Node]


def test_a_program_of_one_segment_is_kept() -> None:
    x = given(4)
    assert steps(graph_of(apply(Map("exp"), x)), NUMPY, cycles=1e9) == [Stage]


def test_what_is_left_is_computed() -> None:
    x, y = given(8, 16), given(16, 16)
    product = apply(Map("sigmoid"), apply(Dot((), ((1, 0),)), x, y))
    middle = apply(Map("exp"), power(product))
    joined = apply(Concat(0), middle, power(middle))
    model = agrees(Graph((x, y), (apply(Dot((), ((1, 0),)), joined, y), joined)))
    assert [isinstance(step, Segment) for step in model.steps] == [
        True, False, False, False, True,
    ]  # fmt: skip

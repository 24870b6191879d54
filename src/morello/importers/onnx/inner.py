"""Graphs within nodes of ONNX: branches, and bodies of loops.

Where constants decide which branch is taken, or how many steps a loop has, what they compute is
part of the model's own graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from onnx import GraphProto, NodeProto

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Concat, Constant
from morello.importers.onnx.call import (
    BOOL,
    INT64,
    LeftError,
    OnnxCall,
    attributes_of,
    constant,
    constant_of,
    contents,
    domain_of,
    op,
    position,
    reshaped,
)
from morello.importers.onnx.files import inner_graphs
from morello.importers.onnx.movement import at
from morello.importers.recurrent import MOST_LOOP_STEPS

Run = Callable[[Sequence[Node]], Sequence[Node]]
"""Computes a step of a loop: its results from its inputs."""


@dataclass(frozen=True)
class InnerGraph:
    """A graph within a node; its constants are made once, for all steps of a loop."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[NodeProto, ...]
    constants: Mapping[str, Node]

    def named(
        self, prefix: str, results: Mapping[str, str]
    ) -> tuple[dict[str, str], list[NodeProto]]:
        """New names of its values, and the nodes with these.

        They begin with a prefix, but for `results` of the nodes, which have these.
        """
        computed = {name for node in self.nodes for name in node.output if name}
        names = {name: prefix + name for name in (*self.inputs, *self.constants, *computed)}
        names |= {name: new for name, new in results.items() if name in computed}
        return names, [_renamed(node, names) for node in self.nodes]


def inner_graph(graph: GraphProto) -> InnerGraph:
    """The graph of a branch or a body; raises `LeftError` if it has sparse constants."""
    if graph.sparse_initializer:
        raise LeftError("it has sparse constants")
    constants = {tensor.name: constant(contents(tensor)) for tensor in graph.initializer}
    inputs = tuple(info.name for info in graph.input if info.name not in constants)
    nodes = []
    for node in graph.node:
        if node.op_type == "Constant" and not domain_of(node):
            constants[node.output[0]] = constant_of(attributes_of(node))
        else:
            nodes.append(node)
    return InnerGraph(inputs, tuple(info.name for info in graph.output), tuple(nodes), constants)


def captured(graphs: Iterator[GraphProto]) -> Iterator[str]:
    """The names that graphs read without computing them."""
    for graph in graphs:
        own = {each.name for each in (*graph.initializer, *graph.input)}
        for node in graph.node:
            for name in (*node.input, *captured(inner_graphs([node]))):
                if name and name not in own:
                    yield name
            own.update(node.output)
        yield from (info.name for info in graph.output if info.name not in own)


def _renamed(node: NodeProto, names: Mapping[str, str]) -> NodeProto:
    """A copy of a node that reads and computes other names, also within its own graphs."""
    copy = NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = [names.get(name, name) for name in node.input]
    copy.output[:] = [names.get(name, name) for name in node.output]
    for graph in inner_graphs([copy]):
        own = {each.name for each in (*graph.initializer, *graph.input)}
        own.update(name for inside in graph.node for name in inside.output)
        outer = {name: new for name, new in names.items() if name not in own}
        for inside in graph.node:
            inside.CopyFrom(_renamed(inside, outer))
        for info in graph.output:
            info.name = outer.get(info.name, info.name)
    return copy


def loop(call: OnnxCall, run: Run) -> list[Node]:
    """The last state of a loop, then what all steps give, along a new first axis."""
    count = call.integers(0)[0] if call.get(0) is not None else None
    goes_on = bool(call.static(1).item()) if call.get(1) is not None else True
    state = [call[n] for n in range(2, len(call.inputs))]
    given: list[Sequence[Node]] = []
    while goes_on and (count is None or len(given) < count):
        _check(len(given) + 1)
        step = constant(len(given), INT64)
        decided, *results = run((step, constant(True, BOOL), *state))
        if len(results) < len(state):
            raise GraphError(f"a step of {len(state)} values gives {len(results)}.")
        if not isinstance(decided.operator, Constant):
            raise LeftError("whether it goes on is computed when it runs")
        goes_on = bool(decided.operator.array.item())
        state, outputs = results[: len(state)], results[len(state) :]
        given.append(outputs)
    return [*state, *(_stacked(each, 0) for each in zip(*given, strict=True))]


def scan(call: OnnxCall, run: Run) -> list[Node]:
    """The last state, then what all steps give; each step has its part of the last inputs."""
    if call.version < 9:
        raise LeftError("it has batches, as in version 8")
    count = call.attribute("num_scan_inputs")
    first = len(call.inputs) - count
    if not 0 < count <= len(call.inputs):
        raise GraphError(f"there are no {count} inputs to take parts of.")
    state, whole = [*call.all[:first]], call.all[first:]
    axes = call.attribute("scan_input_axes", [0] * count)
    axes = [position(axis, x.type.rank) for axis, x in zip(axes, whole, strict=True)]
    sizes = {x.shape[axis] for axis, x in zip(axes, whole, strict=True)}
    if len(sizes) > 1:
        raise GraphError(f"the steps of its inputs are {sorted(sizes)}.")
    (steps,) = sizes
    _check(steps)
    backwards = call.attribute("scan_input_directions", [0] * count)
    given: list[Sequence[Node]] = []
    for step in range(steps):
        places = [steps - 1 - step if back else step for back in backwards]
        parts = map(at, whole, axes, places)
        results = run((*state, *parts))
        state, outputs = [*results[:first]], results[first:]
        given.append(outputs)
    scanned = [*zip(*given, strict=True)]
    out_axes = call.attribute("scan_output_axes", [0] * len(scanned))
    reverse = call.attribute("scan_output_directions", [0] * len(scanned))
    outputs = [
        _stacked(each[::-1] if back else each, axis)
        for each, axis, back in zip(scanned, out_axes, reverse, strict=True)
    ]
    return [*state, *outputs]


def _check(steps: int) -> None:
    if steps > MOST_LOOP_STEPS:
        raise LeftError(f"it has more than {MOST_LOOP_STEPS} steps")


def _stacked(parts: Sequence[Node], axis: int) -> Node:
    """Tensors of one shape along a new axis."""
    axis = position(axis, parts[0].type.rank + 1)
    rows = [reshaped(x, (*x.shape[:axis], 1, *x.shape[axis:])) for x in parts]
    return rows[0] if len(rows) == 1 else op(Concat(axis), *rows)


LOOPS: Mapping[str, Callable[[OnnxCall, Run], list[Node]]] = {"Loop": loop, "Scan": scan}
"""The translations of nodes whose graph is run once for each step."""

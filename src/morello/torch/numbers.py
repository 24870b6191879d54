"""Numbers among the arguments of a graph, as after `item()`: inputs without dimensions.

A number that only takes part in arithmetic is such an input, so that one program does for all its
values. Others, such as an epsilon or a size, are constants: a program is for one value of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_symbols

from morello.base.errors import GraphError
from morello.importers.aten_calls import TORCH_DTYPES
from morello.importers.aten_numbers import gives_number, is_number, number_type, takes_numbers


def plain_numbers(module: fx.GraphModule) -> tuple[fx.GraphModule, frozenset[int]]:
    """A graph that takes as numbers what torch's compiler gives as tensors, and their places.

    f(x, s): x * s.item() -> f(x, s): x * s, for those of whose tensors only the number is read:
    as such a tensor of float64 the compiler gives numbers that change.
    """
    places = {
        number
        for number, node in enumerate(module.graph.find_nodes(op="placeholder"))
        if node.users and all(_is_item(user) for user in node.users) and _is_one_double(node)
    }
    if not places:
        return module, frozenset()
    graph = fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    for number, node in enumerate(graph.find_nodes(op="placeholder")):
        for user in list(node.users) if number in places else ():
            user.replace_all_uses_with(node)
            graph.erase_node(user)
    return fx.GraphModule(module, graph), frozenset(places)


def _is_item(node: fx.Node) -> bool:
    return bool(node.op == "call_method" and node.target == "item")


def _is_one_double(node: fx.Node) -> bool:
    value = node.meta.get("example_value")
    return isinstance(value, torch.Tensor) and value.dtype is torch.float64 and not value.ndim


@dataclass(frozen=True)
class NumberResults:
    """Results of a graph that are computed of numbers alone, which Python does for each call."""

    places: tuple[int, ...]
    """The positions of these results among all, in order."""
    compute: fx.GraphModule
    """Computes these results from the arguments of the graph."""

    def among(self, others: Sequence[Any], arguments: Sequence[Any]) -> tuple[Any, ...]:
        """All results of a call; the `others` are those of tensors."""
        every = [*others]
        for place, number in zip(self.places, self.compute(*arguments), strict=True):
            every.insert(place, number)
        return (*every,)


def number_results(module: fx.GraphModule) -> tuple[fx.GraphModule, NumberResults | None]:
    """A graph of torch's compiler without results that are computed of numbers alone, and these.

    f(x, s): x * 2, s + 1 -> f(x, s): x * 2, and s + 1 of each call: so that one program does for
    all values of a number that only counts calls, as caches of windows do.
    """
    graph, copies, numbers = fx.Graph(), dict[fx.Node, fx.Node](), set[fx.Node]()
    for node in module.graph.nodes:
        given = node.op == "placeholder"
        computed = node.op == "call_function" and numbers.issuperset(node.all_input_nodes)
        if (given or computed) and is_number(node.meta.get("example_value")):
            numbers.add(node)
        if given or node in numbers:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    (output,) = module.graph.find_nodes(op="output")
    (results,) = output.args
    if isinstance(results, fx.Node):  # one tensor, of a part of a graph
        return module, None
    places = tuple(place for place, each in enumerate(results) if each in numbers)
    if not 0 < len(places) < len(results):
        return module, None
    graph.output(tuple(copies[results[place]] for place in places))
    rest = fx.Graph()
    every = rest.graph_copy(module.graph, {})
    rest.output(tuple(each for place, each in enumerate(every) if place not in places))
    return fx.GraphModule(module, rest), NumberResults(places, fx.GraphModule(module, graph))


def sizes_of_tensors(module: fx.GraphModule) -> set[int]:
    """The places of integers that are sizes of other arguments."""
    values = [node.meta.get("example_value") for node in module.graph.find_nodes(op="placeholder")]
    tensors = [each for each in values if isinstance(each, torch.Tensor)]
    sizes = set().union(*map(free_symbols, tensors))
    return {n for n, each in enumerate(values) if is_number(each) and free_symbols(each) & sizes}


def unfit(trace: fx.GraphModule) -> set[fx.Node]:
    """The numbers among the placeholders of a trace that are more than operands of arithmetic."""
    sources: dict[fx.Node, set[fx.Node]] = {}
    bad: set[fx.Node] = set()
    for node in trace.graph.nodes:
        read = set().union(*(sources.get(each, ()) for each in node.all_input_nodes))
        if node.op == "placeholder" and gives_number(node):
            sources[node] = {node}
        elif gives_number(node) and not isinstance(node.target, torch._ops.OpOverload):
            sources[node] = read
        elif read and not takes_numbers(node, sources):
            bad |= read
    return bad


@dataclass(frozen=True)
class Numbers:
    """The numbers that a program takes as tensors: arguments, and numbers computed of these.

    Python computes those that depend on numbers alone, such as 1 - s, for each call.
    """

    places: Mapping[fx.Node, int]
    """The numbers of the trace that are arguments, with their positions."""
    computed: tuple[fx.Node, ...]
    """The numbers that Python computes, in order."""
    given: tuple[fx.Node, ...]
    """The numbers, of both kinds, that the program takes."""

    def __call__(self, arguments: Sequence[Any]) -> list[torch.Tensor]:
        values: dict[fx.Node, Any] = {n: as_number(arguments[p]) for n, p in self.places.items()}
        for node in self.computed:
            values[node] = node.target(*fx.node.map_arg(node.args, values.__getitem__))
        dtypes = [TORCH_DTYPES[number_type(n.meta["val"]).dtype] for n in self.given]
        return [torch.tensor(values[n], dtype=d) for n, d in zip(self.given, dtypes, strict=True)]


def numbers_of(trace: fx.GraphModule, places: Mapping[str, int], given: Collection[str]) -> Numbers:
    """The numbers of a trace, given the positions of arguments and the names of those it takes.

    Raises `GraphError` if a number is computed of elements of tensors.
    """
    known = {n: places[n.name] for n in trace.graph.nodes if n.name in places}
    computed: list[fx.Node] = []
    for node in trace.graph.nodes:
        calls = node.op == "call_function" and not isinstance(node.target, torch._ops.OpOverload)
        if calls and gives_number(node):
            if not all(each in known or each in computed for each in node.all_input_nodes):
                raise GraphError(f"{node.target} is of a number that the graph computes.")
            computed.append(node)
    return Numbers(known, (*computed,), tuple(n for n in (*known, *computed) if n.name in given))


def as_number(argument: Any) -> Any:
    """An argument that is a number, or a tensor of one."""
    return argument.item() if isinstance(argument, torch.Tensor) else argument

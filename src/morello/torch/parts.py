"""A graph whose sizes change, cut into parts: what reads weights, and what depends on other sizes.

So the products of a decoder are kernels while its cache of keys and values grows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_symbols
from torch.fx.passes.split_module import split_module
from torch.utils._pytree import tree_leaves

from morello.base.errors import GraphError

Run = Callable[..., tuple[Any, ...]]
"""A function from the arguments of a part to the tuple of its results."""


@dataclass(frozen=True)
class GraphParts:
    """A module that calls parts in their order."""

    module: fx.GraphModule
    compiled: tuple[fx.GraphModule, ...]
    """The parts that are to be compiled: they read weights. The others are torch's."""
    by_torch: tuple[str, ...]
    """The operations that depend on sizes that change more often, once each."""

    def with_runs(self, runs: Sequence[Run]) -> Callable[..., Any]:
        """A function that runs the module, and each part that is to be compiled by one of `runs`.

        Parts are then plain functions: to call a module takes as long as a small operation.
        """
        by_part = dict(zip(self.compiled, runs, strict=True))
        for name, part in [*self.module.named_children()]:
            run = _Part(by_part[part], part) if part in by_part else part.forward
            delattr(self.module, name)
            setattr(self.module, name, run)
        whole: Callable[..., Any] = self.module.forward
        return whole


def cut(module: fx.GraphModule, weights: Collection[str], fixed: bool) -> GraphParts | None:
    """The parts of a graph of torch's compiler, some of whose placeholders are weights.

    Those to be compiled are of fixed sizes, or of such as operations on weights have, as a batch.
    The graph may change no tensor, as a part's results may lie elsewhere than torch's. None if no
    operation depends on other sizes, or none within those parts reads a weight.
    """
    graph = _without_unused_sizes(module.graph)
    _numbers_first(graph)
    nodes = [node for node in graph.nodes if node.op not in ("placeholder", "get_attr", "output")]
    sizes = {node: _sizes(node) for node in nodes}
    reading = {node for node in nodes if any(n.name in weights for n in node.all_input_nodes)}
    known = set() if fixed else set().union(*(sizes[node] for node in reading))
    others = [node for node in nodes if not sizes[node] <= known or _is_float(node)]
    compiled: set[fx.Node] = set()
    for other, run in groupby(nodes, {*others}.__contains__):
        several = {*run}
        if several & reading and not other:
            compiled |= several
    varying = [node for node in others if not _is_float(node)]
    if not compiled or not varying:
        return None
    numbers: dict[fx.Node, int] = {}
    names = []
    for number, (is_compiled, run) in enumerate(groupby(nodes, compiled.__contains__)):
        numbers |= dict.fromkeys(run, number)
        if is_compiled:
            names.append(f"submod_{number}")
    copied = fx.GraphModule(module, graph)
    whole = split_module(copied, module, numbers.__getitem__, keep_original_order=True)
    parts: Any = tuple(whole.get_submodule(name) for name in names)
    operations = (str(getattr(node.target, "__name__", node.target)) for node in varying)
    return GraphParts(whole, parts, tuple(dict.fromkeys(operations)))


class _Part:
    """A part whose results lie in memory by the strides that torch's have.

    So what torch does with them afterwards, as with views, is as it was traced. Raises `GraphError`
    if a size of a result is none of the arguments.
    """

    def __init__(self, run: Run, part: fx.GraphModule) -> None:
        self._run, self._results = run, _results(part)
        self._sizes = [
            (place, value.node.expr)
            for place, node in enumerate(part.graph.find_nodes(op="placeholder"))
            if isinstance(value := node.meta.get("example_value"), torch.SymInt)
        ]
        if not set().union(*map(_symbols, self._results)) <= {symbol for _, symbol in self._sizes}:
            raise GraphError("a part has a result of unknown size.")
        self._strides: dict[tuple[int, ...], list[_Strides | None]] = {}

    def __call__(self, *arguments: Any) -> Any:
        sizes = tuple(arguments[place] for place, _ in self._sizes)
        if sizes not in self._strides:
            self._strides[sizes] = self._strides_for(sizes)
        results = [
            result if strides is None or result.stride() in strides.good else strides.laid(result)
            for result, strides in zip(self._run(*arguments), self._strides[sizes], strict=True)
        ]
        return results if len(results) > 1 else results[0]

    def _strides_for(self, sizes: Sequence[int]) -> list[_Strides | None]:
        """The strides of each result, which is a tensor or not, for arguments of some sizes."""
        known = {symbol: size for (_, symbol), size in zip(self._sizes, sizes, strict=True)}
        return [
            _Strides(
                tuple(
                    int(n.node.expr.xreplace(known)) if isinstance(n, torch.SymInt) else n
                    for n in each.stride()
                )
            )
            if isinstance(each, torch.Tensor)
            else None
            for each in self._results
        ]


class _Strides:
    """The strides that a tensor is to have, and those that differ where a dim is 1: `good`."""

    def __init__(self, wanted: tuple[int, ...]) -> None:
        self._wanted = wanted
        self.good = {wanted}

    def laid(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor of other strides as it is to lie; of dims with stride 0 the first counts."""
        sizes, strides = tensor.shape, self._wanted
        steps = zip(sizes, strides, tensor.stride(), strict=True)
        if all(size == 1 or step == other for size, step, other in steps):
            self.good.add(tensor.stride())
            return tensor
        once = tensor[tuple(slice(None if step else 1) for step in strides)]
        copied = torch.empty_strided(once.shape, strides, dtype=tensor.dtype).copy_(once)
        return copied.expand(sizes)


def _results(part: fx.GraphModule) -> list[Any]:
    """Tensors without elements that are as the results of a part, from now on a tuple."""
    output = part.graph.output_node()
    (given,) = output.args
    nodes: Any = given if isinstance(given, tuple) else (given,)
    output.args = (nodes,)
    part.recompile()
    return [node.meta.get("example_value") for node in nodes]


def _sizes(node: fx.Node) -> set[Any]:
    """The sizes that change, by their symbols, of what a node reads and makes."""
    every = (node, *node.all_input_nodes)
    return _symbols([each.meta.get("example_value") for each in every if not _is_float(each)])


def _is_float(node: fx.Node) -> bool:
    """Whether a node is a number that may change, and no size."""
    return isinstance(node.meta.get("example_value"), torch.SymFloat)


def _numbers_first(graph: fx.Graph) -> None:
    """Move what is computed of such numbers alone to the front, where it cuts no part."""
    first = {*graph.find_nodes(op="placeholder")}
    place = next(node for node in graph.nodes if node not in first)
    for node in [each for each in graph.nodes if _is_float(each) and each.op != "placeholder"]:
        if first.issuperset(node.all_input_nodes):
            first.add(node)
            if node is place:
                place = node.next
            else:
                place.prepend(node)


def _symbols(values: Any) -> set[Any]:
    """The symbols in the sizes of tensors, and in numbers, among any values."""
    symbolic = (torch.Tensor, torch.SymInt, torch.SymBool)
    given = [each for each in tree_leaves(values) if isinstance(each, symbolic)]
    return {symbol for each in given for symbol in free_symbols(each)}


def _without_unused_sizes(graph: fx.Graph) -> fx.Graph:
    """A copy of a graph without the numbers that nothing reads: they would cut it for nothing."""
    copied = fx.Graph()
    copied.output(copied.graph_copy(graph, {}))
    for node in reversed(copied.nodes):
        unused = isinstance(node.meta.get("example_value"), torch.SymInt) and not node.users
        if unused and node.op not in ("placeholder", "output"):
            copied.erase_node(node)
    return copied

"""A graph whose sizes change, cut into parts: those of fixed sizes, and what depends on the sizes.

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

Run = Callable[..., tuple[Any, ...]]
"""What computes the results of a part of its arguments."""


@dataclass(frozen=True)
class Parts:
    """A module that calls parts in their order."""

    module: fx.GraphModule
    fixed: tuple[fx.GraphModule, ...]
    """The parts of fixed sizes that read weights; the others are torch's."""
    changing: tuple[str, ...]
    """The operations that depend on sizes that change, once each."""
    weights_fixed: bool
    """Whether no operation among these reads a weight."""

    def with_runs(self, runs: Sequence[Run]) -> fx.GraphModule:
        """The module, now with what runs each part of fixed sizes."""
        by_part = dict(zip(self.fixed, runs, strict=True))
        for name, part in [*self.module.named_children()]:
            if part in by_part:
                setattr(self.module, name, _Part(by_part[part], part))
        return self.module


def cut(module: fx.GraphModule, weights: Collection[str]) -> Parts | None:
    """The parts of a graph of torch's compiler, some of whose placeholders are weights.

    It may change no tensor, as a part's results may lie elsewhere than torch's. None if no part of
    fixed sizes reads a weight.
    """
    graph = _without_unused_sizes(module.graph)
    nodes = [node for node in graph.nodes if node.op not in ("placeholder", "get_attr", "output")]
    changing = dict.fromkeys(filter(_changes, nodes))
    reading = {node for node in nodes if any(n.name in weights for n in node.all_input_nodes)}
    fixed: set[fx.Node] = set()
    for _, run in groupby(nodes, changing.__contains__):
        several = {*run}
        if several & reading and not several & changing.keys():
            fixed |= several
    if not fixed:
        return None
    numbers: dict[fx.Node, int] = {}
    names = []
    for number, (is_fixed, run) in enumerate(groupby(nodes, fixed.__contains__)):
        numbers |= dict.fromkeys(run, number)
        if is_fixed:
            names.append(f"submod_{number}")
    copied = fx.GraphModule(module, graph)
    whole = split_module(copied, module, numbers.__getitem__, keep_original_order=True)
    parts: Any = tuple(whole.get_submodule(name) for name in names)
    operations = dict.fromkeys(
        str(getattr(node.target, "__name__", node.target)) for node in changing
    )
    return Parts(whole, parts, tuple(operations), not reading & changing.keys())


class _Part(torch.nn.Module):
    """A part of fixed sizes, whose results lie in memory by the strides that torch's have.

    So what torch does with them afterwards, as with views, is as it was traced.
    """

    def __init__(self, run: Run, part: fx.GraphModule) -> None:
        super().__init__()
        self._run = run
        self._strides = [
            e.stride() if isinstance(e, torch.Tensor) else None for e in _results(part)
        ]

    def forward(self, *arguments: Any) -> Any:
        results = [
            result if strides is None or result.stride() == strides else _laid(result, strides)
            for result, strides in zip(self._run(*arguments), self._strides, strict=True)
        ]
        return results if len(results) > 1 else results[0]


def _laid(tensor: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """A copy of a tensor with other strides; of dims with stride 0, the first element counts."""
    pairs = [*zip(tensor.shape, strides, strict=True)]
    once = tensor[tuple(slice(None if step else 1) for _, step in pairs)]
    sizes = [size if step else 1 for size, step in pairs]
    copied = torch.empty_strided(sizes, strides, dtype=tensor.dtype).copy_(once)
    return copied.expand(tensor.shape)


def _results(part: fx.GraphModule) -> list[Any]:
    """Tensors without elements that are as the results of a part, from now on a tuple."""
    output = part.graph.output_node()
    (given,) = output.args
    nodes: Any = given if isinstance(given, tuple) else (given,)
    output.args = (nodes,)
    part.recompile()
    return [node.meta.get("example_value") for node in nodes]


def _changes(node: fx.Node) -> bool:
    """Whether a node reads or makes a number or tensor whose sizes change."""
    values = [each.meta.get("example_value") for each in (node, *node.all_input_nodes)]
    symbolic = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)
    return any(isinstance(v, symbolic) and bool(free_symbols(v)) for v in tree_leaves(values))


def _without_unused_sizes(graph: fx.Graph) -> fx.Graph:
    """A copy of a graph without the numbers that nothing reads: they would cut it for nothing."""
    copied = fx.Graph()
    copied.output(copied.graph_copy(graph, {}))
    for node in reversed(copied.nodes):
        unused = isinstance(node.meta.get("example_value"), torch.SymInt) and not node.users
        if unused and node.op not in ("placeholder", "output"):
            copied.erase_node(node)
    return copied

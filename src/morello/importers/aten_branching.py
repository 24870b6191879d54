"""Calls of torch.cond in a trace: a condition chooses which of two graphs torch runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from morello.base.errors import GraphError
from morello.importers.aten_trace import draws_nothing, written_by


@dataclass(frozen=True)
class TorchChoice:
    """One of two graphs, which torch runs; it takes the condition, and then what they read."""

    holds: fx.GraphModule
    otherwise: fx.GraphModule

    def __call__(self, condition: torch.Tensor, *operands: torch.Tensor) -> Any:
        """The results of the graph that the condition chooses."""
        return (self.holds if condition else self.otherwise)(*operands)


def choice(module: fx.GraphModule, node: fx.Node) -> tuple[TorchChoice, list[Any]]:
    """The choice that a call makes, and the condition and operands that it takes.

    Raises `GraphError` if a graph changes a tensor, draws random numbers, or has graphs itself.
    """
    condition, *graphs, operands = node.args
    branches = [module.get_submodule(str(graph.target)) for graph in graphs]
    for branch in branches:
        for each in branch.graph.nodes:
            _check(each)
    return TorchChoice(*branches), [condition, *operands]


def _check(node: fx.Node) -> None:
    target = node.target
    if isinstance(target, torch._ops.HigherOrderOperator):
        raise GraphError(f"a graph of cond calls {target.name()}.")
    if not isinstance(target, torch._ops.OpOverload):
        return
    if written_by(node) is not None:
        raise GraphError(f"a graph of cond changes a tensor by {target}.")
    if torch.Tag.nondeterministic_seeded in target.tags and not draws_nothing(node):
        raise GraphError(f"a graph of cond draws random numbers by {target}.")

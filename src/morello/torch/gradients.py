"""Which results of a graph have gradients, which kernels do not compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch.utils._pytree import tree_leaves

_VALUE = "example_value"
"""The entry of a node that Dynamo has computed on tensors without elements."""


def needs_gradients(module: fx.GraphModule, inputs: Sequence[Any]) -> bool:
    """Whether a result, or an input after a change, has a gradient that the call has to keep.

    The graph says so, as gradients may be switched on and off within it. Where it says nothing, as
    one that was not made by Dynamo, they are on for all of it, or for none.
    """
    given = [_has_gradient(each) for each in inputs]
    if not any(_VALUE in node.meta for node in module.graph.nodes):
        return torch.is_grad_enabled() and any(given)
    (output,) = module.graph.find_nodes(op="output")
    results = [node for node in output.all_input_nodes if node.op != "placeholder"]
    if any(map(_has_gradient, map(_values, results))):
        return True
    places = module.graph.find_nodes(op="placeholder")
    after = [_has_gradient(_values(place)) for place in places]
    return any(now and not before for now, before in zip(after, given, strict=True))


def results_without(module: fx.GraphModule) -> frozenset[int]:
    """The numbers of the tensors among the results of a graph that have no gradient.

    A program may give an input back for one of them that is detached from it.
    """
    (output,) = module.graph.find_nodes(op="output")
    results = output.args[0]
    return frozenset(
        n
        for n, node in enumerate(results if isinstance(results, Sequence) else (results,))
        if isinstance(node, fx.Node)
        and isinstance(value := _values(node), torch.Tensor)
        and not value.requires_grad
    )


def _values(node: fx.Node) -> Any:
    return node.meta.get(_VALUE)


def _has_gradient(value: Any) -> bool:
    return any(isinstance(t, torch.Tensor) and t.requires_grad for t in tree_leaves(value))

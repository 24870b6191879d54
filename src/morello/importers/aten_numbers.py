"""Numbers of a trace that are not known: which operations take them, and as what."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np
import torch
from torch import fx

from morello.graph.graph import TensorType
from morello.importers.aten_elementwise import BINARY, COMPARISONS

TAKEN: dict[str, frozenset[str]] = {
    **dict.fromkeys((*BINARY, *COMPARISONS), frozenset({"self", "other"})),
    **dict.fromkeys(("add", "sub", "subtract", "rsub"), frozenset({"self", "other", "alpha"})),
    **dict.fromkeys(("clamp", "clamp_min", "clamp_max", "clip"), frozenset({"min", "max"})),
    **dict.fromkeys(("full", "full_like", "new_full"), frozenset({"fill_value"})),
    **dict.fromkeys(("fill", "masked_fill"), frozenset({"value"})),
    "pow": frozenset({"self", "exponent"}),
    "where": frozenset({"self", "other"}),
}
"""The arguments of operations that may be numbers which are not known before a call."""

_RESULTS = {torch.bfloat16, torch.bool, torch.float16, torch.float32, torch.int32, torch.int64}
"""The dtypes of results that numbers as inputs, of which floats are rounded to f32, do for."""


def is_number(value: Any) -> bool:
    """Whether a value of a trace is a number that is not known."""
    return isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool)


def gives_number(node: fx.Node) -> bool:
    """Whether a node of a trace has such a number as its value."""
    return is_number(node.meta.get("val"))


def number_type(value: Any) -> TensorType:
    """The type of a number as an input of a graph: f32 or i64, without dimensions."""
    return TensorType((), np.dtype(np.float32 if isinstance(value, torch.SymFloat) else np.int64))


def takes_numbers(node: fx.Node, numbers: Container[fx.Node]) -> bool:
    """Whether a node of a trace takes numbers where it has them."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    result = node.meta.get("val")
    known = isinstance(result, torch.Tensor) and all(isinstance(n, int) for n in result.shape)
    if not known or result.dtype not in _RESULTS:
        return False
    taken = TAKEN.get(node.target.overloadpacket.__name__.rstrip("_"), frozenset())
    names = [argument.name for argument in node.target._schema.arguments]
    given = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    return all(
        name in taken or not any(each in numbers for each in _nodes(value))
        for name, value in given.items()
    )


def _nodes(value: Any) -> list[fx.Node]:
    """The nodes in an argument, which may be a list."""
    nodes: list[fx.Node] = []
    fx.node.map_arg(value, nodes.append)
    return nodes

"""From a graph of torch's compiler, and arguments, to a trace of ATen operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._decomp import decomposition_table
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

_APART = (
    "addcdiv", "addcmul", "addr", "aminmax", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag",
    "broadcast_tensors", "celu", "channel_shuffle", "column_stack", "count_nonzero", "deg2rad",
    "diag_embed", "diff", "dstack", "fliplr", "flipud", "glu", "hardshrink", "hinge_embedding_loss",
    "hstack", "huber_loss", "kl_div", "kron", "logaddexp", "logaddexp2", "logsumexp", "mse_loss",
    "native_group_norm", "native_layer_norm", "pixel_shuffle", "pixel_unshuffle", "rad2deg",
    "renorm", "rot90", "selu", "sinc", "smooth_l1_loss", "softshrink", "take_along_dim",
    "tensordot", "threshold", "trapezoid", "vstack", "xlogy",
)  # fmt: skip
"""Operations that torch takes apart into simpler ones, all of which graphs have."""


def _simpler(operation: OpOverload) -> Callable[..., Any] | None:
    """How torch takes an operation apart, if it does."""
    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    simpler: Callable[..., Any] | None = decomposition_table.get(operation)
    return operation.decompose if operation.has_kernel_for_dispatch_key(composite) else simpler


_TABLE = {
    operation: simpler
    for packet in (getattr(torch.ops.aten, name) for name in _APART)
    for operation in (getattr(packet, overload) for overload in packet.overloads())
    if (simpler := _simpler(operation))
}


def traced(module: fx.GraphModule, arguments: Sequence[Any]) -> fx.GraphModule:
    """The ATen operations that a graph does for arguments of these shapes.

    Its placeholders are the tensors among the arguments, in order. Composed operations, such as
    attention, stay whole: what is traced is before torch's dispatcher takes them apart; after it if
    the graph uses torch.vmap. Nothing is computed: the tensors have no elements.
    """
    fake = FakeTensorMode(allow_non_fake_inputs=True)

    def run(*tensors: Any) -> Any:
        given = iter(tensors)
        return module(*(next(given) if isinstance(a, torch.Tensor) else a for a in arguments))

    with torch._guards.tracing(None), torch.no_grad(), fake:
        fresh = [
            torch.empty_strided(a.shape, a.stride(), dtype=a.dtype, device=a.device)
            for a in arguments
            if isinstance(a, torch.Tensor)
        ]
    with torch._guards.tracing(None), torch.no_grad(), fake:
        trace: fx.GraphModule = make_fx(run, _TABLE, pre_dispatch=True)(*fresh)
        if any(map(_is_batched, trace.graph.nodes)):
            trace = make_fx(run, _TABLE)(*fresh)
    return trace


def _is_batched(node: fx.Node) -> bool:
    """Whether a result is one of many that torch.vmap computes at once; it has no strides."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and torch._C._functorch.is_batchedtensor(value)

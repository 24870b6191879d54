"""From a graph of torch's compiler, and arguments, to a trace of ATen operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx


def traced(module: fx.GraphModule, arguments: Sequence[Any]) -> fx.GraphModule:
    """The ATen operations that a graph does for arguments of these shapes.

    Its placeholders are the tensors among the arguments, in order. Composed operations, such as
    attention, stay whole: what is traced is before torch's dispatcher takes them apart. Nothing
    is computed: the tensors have no elements.
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
    with torch._guards.tracing(None), torch.no_grad():
        trace: fx.GraphModule = make_fx(run, pre_dispatch=True)(*fresh)
    return trace

"""Calls of functions that PyTorch keeps whole in its graphs, as what they compute."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch._higher_order_ops.wrap import TagActivationCheckpoint, tag_activation_checkpoint
from torch.overrides import TorchFunctionMode

_FLEX = import_module("torch._higher_order_ops.flex_attention")
"""The module; the package has the function of this name as well."""


class Inlining(TorchFunctionMode):  # type: ignore[misc]  # torch has no types
    """While it is active, such functions are computed by operations on tensors."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _INLINED.get(function, function)(*args, **(kwargs or {}))


def _checkpoint(body: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """The body of torch.utils.checkpoint, which keeps nothing without gradients."""
    _, given = TagActivationCheckpoint.divide_kwargs(keywords)
    return body(*args, **given)


def _flex_attention(
    query: Any,
    key: Any,
    value: Any,
    score: Callable[..., Any],
    mask: tuple[Any, ...],
    scale: float,
    options: Any,
    score_tensors: tuple[Any, ...] = (),
    mask_tensors: tuple[Any, ...] = (),
) -> tuple[Any, ...]:
    """Attention whose functions of a score and its place are called once, for all by broadcasting.

    Also the logarithms of the sums, and the largest scores, both by 2 as a base.
    """
    group = query.shape[1] // key.shape[1]
    if group > 1:
        key, value = (each.repeat_interleave(group, 1) for each in (key, value))
    wide = torch.promote_types(query.dtype, torch.float32)
    scores = query.to(wide) @ key.to(wide).mT * scale
    places = [
        torch.arange(size).view([-1 if d == axis else 1 for d in range(scores.ndim)])
        for axis, size in enumerate(scores.shape)
    ]
    seen = mask[-1](*places, *mask_tensors)
    changed = score(scores, *places, *score_tensors)
    scores = torch.where(seen, changed, -torch.inf).to(wide)
    mixed = torch._safe_softmax(scores, -1).to(query.dtype) @ value
    largest = scores.amax(-1)
    sums = scores.logsumexp(-1)
    base = torch.tensor(2.0).log()
    return _FLEX._permute_strides(mixed, query.stride()), sums / base, largest / base


_INLINED: dict[Any, Callable[..., Any]] = {
    tag_activation_checkpoint: _checkpoint,
    _FLEX.flex_attention: _flex_attention,
}

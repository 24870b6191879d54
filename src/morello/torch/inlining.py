"""Calls of functions that PyTorch keeps whole in its graphs, as what they compute."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import torch
from torch._ops import HigherOrderOperator
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint


class Inlining(TorchFunctionMode):  # type: ignore[misc]  # torch has no types
    """While it is active, such functions are computed by operations on tensors."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if isinstance(function, HigherOrderOperator):
            function = _INLINED.get(function.name(), function)
        return function(*args, **(kwargs or {}))


def _checkpoint(body: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """The body of torch.utils.checkpoint, which keeps nothing without gradients."""
    parameters = signature(checkpoint).parameters.values()
    own = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
    own.add("preserve_rng_state")  # which checkpoint takes as any other keyword
    return body(*args, **{name: value for name, value in keywords.items() if name not in own})


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

    The second and third result are the logarithm of the sum of each row's exponentials, and its
    largest score, both divided by log(2), as PyTorch returns them.
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
    return _in_order_of(query, mixed), sums / base, largest / base


def _in_order_of(other: Any, tensor: Any) -> Any:
    """A tensor with its dimensions in memory in the order of another's, but the last innermost."""
    last = tensor.ndim - 1
    order = [*sorted(range(last), key=other.stride, reverse=True), last]
    return tensor.permute(order).contiguous().permute([order.index(d) for d in range(last + 1)])


_INLINED: dict[str, Callable[..., Any]] = {
    "tag_activation_checkpoint": _checkpoint,
    "flex_attention": _flex_attention,
}
"""By the names of these functions."""

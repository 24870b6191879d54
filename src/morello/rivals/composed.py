"""Functions of the language that NumPy and JAX have under the same names, or make of these."""

from __future__ import annotations

from math import inf
from typing import Any

from morello.frontends.movement import pairs_of
from morello.frontends.reductions import EPSILON
from morello.frontends.statistics import SMALLEST
from morello.rivals.functions import Functions, indexed


def functions_by(xp: Any) -> Functions:
    """The functions by a module such as `numpy` or `jax.numpy`."""

    def attention(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False) -> Any:
        if q.ndim > 2 and q.shape[-3] != k.shape[-3] and 1 not in (q.shape[-3], k.shape[-3]):
            times = q.shape[-3] // k.shape[-3]
            k, v = xp.repeat(k, times, -3), xp.repeat(v, times, -3)
        scores = xp.matmul(q, xp.swapaxes(k, -1, -2)) * q.shape[-1] ** -0.5
        if mask is not None:
            hides = mask.dtype.kind in "iu"
            scores = xp.where(mask != 0, scores, -xp.inf) if hides else scores + mask
        if causal:
            m, n = scores.shape[-2:]
            scores = xp.where(xp.tri(m, n, n - m, dtype=bool), scores, -xp.inf)
        exponentials = xp.exp(scores - xp.max(scores, -1, keepdims=True))
        return xp.matmul(exponentials / xp.sum(exponentials, -1, keepdims=True), v)

    def padded(x: Any, padding: Any, value: float = 0.0, mode: str = "constant") -> Any:
        pairs = pairs_of(padding, x.ndim)
        more = {"constant_values": value} if mode == "constant" else {}
        return xp.pad(x, pairs, mode, **more)

    def norm(x: Any, axis: Any = -1, keepdims: bool = False, order: float = 2.0) -> Any:
        if order == inf:
            return xp.max(xp.abs(x), axis=axis, keepdims=keepdims)
        powers = xp.sum(xp.abs(x) ** order, axis=axis, keepdims=keepdims)
        return powers ** (1 / order)

    def normalize(x: Any, axis: int = -1, epsilon: float = SMALLEST) -> Any:
        return x / xp.maximum(norm(x, axis, keepdims=True), epsilon)

    def cosine_similarity(a: Any, b: Any, axis: int = -1) -> Any:
        return xp.sum(a * b, axis) / (norm(a, axis) * norm(b, axis))

    def logsumexp(x: Any, axis: int = -1, keepdims: bool = False) -> Any:
        highest = xp.max(x, axis, keepdims=True)
        total = xp.log(xp.sum(xp.exp(x - highest), axis, keepdims=True)) + highest
        return total if keepdims else xp.squeeze(total, axis)

    def standard(x: Any, epsilon: float) -> Any:
        return (x - xp.mean(x, -1, keepdims=True)) / xp.sqrt(xp.var(x, -1, keepdims=True) + epsilon)

    def scaled(x: Any, gamma: Any, beta: Any) -> Any:
        x = x if gamma is None else x * gamma
        return x if beta is None else x + beta

    def layer_norm(x: Any, gamma: Any = None, beta: Any = None, epsilon: float = EPSILON) -> Any:
        return scaled(standard(x, epsilon), gamma, beta)

    def rms_norm(x: Any, gamma: Any = None, epsilon: float = EPSILON) -> Any:
        size = xp.mean(x * x, -1, keepdims=True)
        return scaled(x / xp.sqrt(size + epsilon), gamma, None)

    def group_norm(
        x: Any, gamma: Any = None, beta: Any = None, *, groups: int, epsilon: float = EPSILON
    ) -> Any:
        each = (-1, *[1] * (x.ndim - 2))
        result = standard(x.reshape(x.shape[0], groups, -1), epsilon).reshape(x.shape)
        factors = (None if y is None else y.reshape(each) for y in (gamma, beta))
        return scaled(result, *factors)

    def log_softmax(x: Any, axis: int = -1) -> Any:
        return x - logsumexp(x, axis, keepdims=True)

    def spread(name: str) -> Any:
        """The variance or the standard deviation."""
        return lambda x, axis=-1, **options: getattr(xp, name)(x, axis=axis, **options)

    return {
        "attention": attention,
        "concat": lambda *parts, axis: xp.concatenate(parts, axis),
        "cosine_similarity": cosine_similarity,
        "diff": lambda x, axis=-1: xp.diff(x, axis=axis),
        "flip": lambda x, axis: xp.flip(x, axis),
        "group_norm": group_norm,
        "index": indexed,
        "layer_norm": layer_norm,
        "log_softmax": log_softmax,
        "logsumexp": logsumexp,
        "norm": norm,
        "normalize": normalize,
        "pad": padded,
        "repeat": lambda x, count, axis: xp.repeat(x, count, axis),
        "reshape": lambda x, shape: xp.reshape(x, shape),
        "rms_norm": rms_norm,
        "roll": lambda x, shift, axis: xp.roll(x, shift, axis),
        "squeeze": lambda x, axis: xp.squeeze(x, axis),
        "stack": lambda *parts, axis=0: xp.stack(parts, axis),
        "std": spread("std"),
        "tile": lambda x, counts: xp.tile(x, counts),
        "tril": lambda x, diagonal=0: xp.tril(x, diagonal),
        "triu": lambda x, diagonal=0: xp.triu(x, diagonal),
        "var": spread("var"),
    }

"""Functions of the language that NumPy and JAX have under the same names, or make of these."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from morello.frontends.movement import pairs_of
from morello.frontends.reductions import EPSILON
from morello.frontends.statistics import SMALLEST
from morello.rivals.functions import Functions, indexed


def functions_by(xp: Any) -> Functions:
    """The functions by a module such as `numpy` or `jax.numpy`."""
    derived = _Derived(xp)
    return {
        "attention": derived.attention,
        "concat": lambda *parts, axis: xp.concatenate(parts, axis),
        "cosine_similarity": derived.cosine_similarity,
        "diff": lambda x, axis=-1: xp.diff(x, axis=axis),
        "flip": lambda x, axis: xp.flip(x, axis),
        "group_norm": derived.group_norm,
        "index": indexed,
        "layer_norm": derived.layer_norm,
        "log_softmax": derived.log_softmax,
        "logsumexp": derived.logsumexp,
        "norm": derived.norm,
        "normalize": derived.normalize,
        "pad": derived.padded,
        "repeat": lambda x, count, axis: xp.repeat(x, count, axis),
        "reshape": lambda x, shape: xp.reshape(x, shape),
        "rms_norm": derived.rms_norm,
        "roll": lambda x, shift, axis: xp.roll(x, shift, axis),
        "squeeze": lambda x, axis: xp.squeeze(x, axis),
        "stack": lambda *parts, axis=0: xp.stack(parts, axis),
        "std": lambda x, axis=-1, **options: xp.std(x, axis=axis, **options),
        "tile": lambda x, counts: xp.tile(x, counts),
        "tril": lambda x, diagonal=0: xp.tril(x, diagonal),
        "triu": lambda x, diagonal=0: xp.triu(x, diagonal),
        "var": lambda x, axis=-1, **options: xp.var(x, axis=axis, **options),
    }


@dataclass(frozen=True)
class _Derived:
    """Functions that are derived from those of a module."""

    xp: Any

    def attention(self, q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False) -> Any:
        xp = self.xp
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

    def padded(self, x: Any, padding: Any, value: float = 0.0, mode: str = "constant") -> Any:
        pairs = pairs_of(padding, x.ndim)
        more = {"constant_values": value} if mode == "constant" else {}
        return self.xp.pad(x, pairs, mode, **more)

    def norm(self, x: Any, axis: Any = -1, keepdims: bool = False, order: float = 2.0) -> Any:
        size = self.xp.abs(x)
        if order == inf:
            return self.xp.max(size, axis=axis, keepdims=keepdims)
        powers = self.xp.sum(size**order, axis=axis, keepdims=keepdims)
        return powers ** (1 / order)

    def normalize(self, x: Any, axis: int = -1, epsilon: float = SMALLEST) -> Any:
        return x / self.xp.maximum(self.norm(x, axis, keepdims=True), epsilon)

    def cosine_similarity(self, a: Any, b: Any, axis: int = -1) -> Any:
        return self.xp.sum(a * b, axis) / (self.norm(a, axis) * self.norm(b, axis))

    def logsumexp(self, x: Any, axis: int = -1, keepdims: bool = False) -> Any:
        xp = self.xp
        highest = xp.max(x, axis, keepdims=True)
        total = xp.log(xp.sum(xp.exp(x - highest), axis, keepdims=True)) + highest
        return total if keepdims else xp.squeeze(total, axis)

    def log_softmax(self, x: Any, axis: int = -1) -> Any:
        return x - self.logsumexp(x, axis, keepdims=True)

    def layer_norm(
        self, x: Any, gamma: Any = None, beta: Any = None, epsilon: float = EPSILON
    ) -> Any:
        return _scaled(self._standard(x, epsilon), gamma, beta)

    def rms_norm(self, x: Any, gamma: Any = None, epsilon: float = EPSILON) -> Any:
        size = self.xp.mean(x * x, -1, keepdims=True)
        return _scaled(x / self.xp.sqrt(size + epsilon), gamma, None)

    def group_norm(
        self, x: Any, gamma: Any = None, beta: Any = None, *, groups: int, epsilon: float = EPSILON
    ) -> Any:
        each = (-1, *[1] * (x.ndim - 2))
        result = self._standard(x.reshape(x.shape[0], groups, -1), epsilon).reshape(x.shape)
        factors = (None if y is None else y.reshape(each) for y in (gamma, beta))
        return _scaled(result, *factors)

    def _standard(self, x: Any, epsilon: float) -> Any:
        """Rows with a mean of 0 and a variance of 1."""
        xp = self.xp
        return (x - xp.mean(x, -1, keepdims=True)) / xp.sqrt(xp.var(x, -1, keepdims=True) + epsilon)


def _scaled(x: Any, gamma: Any, beta: Any) -> Any:
    x = x if gamma is None else x * gamma
    return x if beta is None else x + beta

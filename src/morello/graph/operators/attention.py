"""Attention, which front-ends have as one operator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from morello.base.errors import GraphError, SpecError
from morello.frontends.functions import FUNCTIONS
from morello.frontends.maps import add, multiply
from morello.frontends.values import NEW_AXIS, Value
from morello.graph.graph import Array, Operator, TensorType
from morello.graph.operators.elementwise import broadcast_shape
from morello.graph.operators.products import Dot
from morello.graph.operators.reductions import Softmax


@dataclass(frozen=True)
class Attention(Operator):
    """softmax(q k^T * scale + mask) v for q [..., m, d], k [..., n, d] and v [..., n, e].

    The mask, which is added, is the fourth input, if there is one. A `causal` one lets row i see
    the columns up to i + n - m. If q has a multiple of the heads (dimension -3) of k and v, then
    each of these serves as many neighbouring heads of q; so too if q has a dimension more, for
    those that one serves: [..., heads, served, m, d]. Scores x with a `cap` c are c * tanh(x / c)
    before the mask is added.
    """

    scale: float
    causal: bool = False
    cap: float | None = None

    heavy = True
    is_product = True

    def result(self, *inputs: TensorType) -> TensorType:
        q, k, v, *masks = inputs
        (*batch, m, width), (*others, n, _) = q.shape, k.shape
        scores = TensorType((*batch, m, n), q.dtype)
        fits = width == k.shape[-1] and k.shape[:-1] == v.shape[:-1] and len(masks) <= 1
        if len(batch) == len(others):
            fits = fits and batch[:-1] == others[:-1]
            fits = fits and not (batch and batch[-1] % max(others[-1], 1))
        else:
            fits = fits and batch[:-1] == others
        if not fits or broadcast_shape(scores, *masks) != scores.shape:
            raise GraphError(f"{self} of {', '.join(map(str, inputs))}: the shapes do not fit.")
        return TensorType((*q.shape[:-1], v.shape[-1]), q.dtype)

    def evaluate(self, *inputs: Array) -> Array:
        q, k, v, *masks = inputs
        if q.ndim > k.ndim:
            k, v = np.expand_dims(k, -3), np.expand_dims(v, -3)
        elif q.ndim > 2 and q.shape[-3] != k.shape[-3]:
            times = q.shape[-3] // k.shape[-3]
            k, v = np.repeat(k, times, -3), np.repeat(v, times, -3)
        scores = q @ np.swapaxes(k, -1, -2) * self.scale
        if self.cap:
            scores = self.cap * np.tanh(scores / self.cap)
        for mask in masks:
            scores = scores + mask
        if self.causal:
            m, n = scores.shape[-2:]
            scores = np.where(np.tri(m, n, n - m, dtype=bool), scores, -np.inf)
        exponentials = np.exp(scores - scores.max(-1, keepdims=True))
        result: Array = exponentials / exponentials.sum(-1, keepdims=True) @ v
        return result

    def value(self, *inputs: Value) -> Value:
        q, k, v, *masks = inputs
        if self.causal:
            raise SpecError("the language has no causal masks", "add one")
        heads = range(k.rank - 2)
        if any((q.axes[d] == NEW_AXIS) != (k.axes[d] == NEW_AXIS) for d in heads):
            raise SpecError("the heads of q are not those of k and v", "compute it elsewhere")
        batch = tuple((d, d) for d in heads)
        last = q.rank - 1
        product = Dot(batch, ((last, k.rank - 1),)).value(q, k)
        scores = multiply(product, self.scale / (self.cap or 1))
        if self.cap:
            scores = multiply(FUNCTIONS["tanh"](scores), self.cap)
        for mask in masks:
            scores = add(scores, mask)
        weights = Softmax(last).value(scores)
        return Dot(batch, ((last, v.rank - 2),)).value(weights, v)

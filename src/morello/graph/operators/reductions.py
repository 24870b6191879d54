"""Operators that reduce along dimensions: sums, maxima, softmax, norms, and pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from morello.base.errors import GraphError, SpecError
from morello.frontends import reductions as language
from morello.frontends.copies import cast
from morello.frontends.functions import FUNCTIONS
from morello.frontends.pooling import avg_pool, max_pool
from morello.frontends.values import NEW_AXIS, Value
from morello.graph.graph import Array, Operator, TensorType
from morello.graph.operators.products import interleaved, sliding, window_counts
from morello.ir.dtype import F32
from morello.ir.rounding import narrow

REDUCTIONS: dict[str, Callable[..., Any]] = {
    "max": np.max, "mean": np.mean, "min": np.min, "prod": np.prod, "sum": np.sum,
}  # fmt: skip
"""NumPy's function of each `Reduce`."""


@dataclass(frozen=True)
class Reduce(Operator):
    """A reduction of `REDUCTIONS` along some axes, which are dropped unless kept with size 1."""

    kind: str
    axes: tuple[int, ...]
    keepdims: bool = False

    heavy = True

    def result(self, *inputs: TensorType) -> TensorType:
        (x,) = inputs
        if self.kind not in REDUCTIONS or not {*self.axes} <= {*range(x.rank)}:
            raise GraphError(f"{self} does not reduce {x}.")
        every = ((d, n) for d, n in enumerate(x.shape))
        kept = ((d, 1 if d in self.axes else n) for d, n in every)
        return TensorType(tuple(n for d, n in kept if self.keepdims or d not in self.axes), x.dtype)

    def evaluate(self, *inputs: Array) -> Array:
        result: Array = REDUCTIONS[self.kind](inputs[0], axis=self.axes, keepdims=self.keepdims)
        return result

    def value(self, *inputs: Value) -> Value:
        (x,) = inputs
        if self.kind not in FUNCTIONS:
            raise SpecError(f"the language has no {self.kind}", "compute it elsewhere")
        bare, places = squeezed(x)
        axes = tuple(places[d] for d in self.axes if x.axes[d] != NEW_AXIS)
        kept = [d for d in range(x.rank) if d not in self.axes and x.axes[d] != NEW_AXIS]
        if not axes:
            raise SpecError(f"{self} leaves nothing to compute", "compute it elsewhere")
        reduced = FUNCTIONS[self.kind](bare, axis=axes)
        if not kept:  # a vector of one number
            return Value(reduced.tensor, (0,))
        left = iter(range(len(kept)))
        every = [d for d in range(x.rank) if self.keepdims or d not in self.axes]
        return Value(reduced.tensor, tuple(next(left) if d in kept else NEW_AXIS for d in every))


@dataclass(frozen=True)
class ArgReduce(Operator):
    """The index of the largest (`kind` "max") or smallest ("min") element along an axis."""

    kind: str
    axis: int
    dtype: np.dtype[Any]
    keepdims: bool = False

    heavy = True

    def result(self, *inputs: TensorType) -> TensorType:
        shape = Reduce("sum", (self.axis,), self.keepdims).result(*inputs).shape
        return TensorType(shape, self.dtype)

    def evaluate(self, *inputs: Array) -> Array:
        search = np.argmax if self.kind == "max" else np.argmin
        result: Array = search(inputs[0], axis=self.axis, keepdims=self.keepdims)
        return result

    def value(self, *inputs: Value) -> Value:
        (x,) = inputs
        bare, places = squeezed(x)
        if x.axes[self.axis] == NEW_AXIS:
            raise SpecError("a single element is at place 0", "write the number")
        search = language.argmax if self.kind == "max" else language.argmin
        place = search(bare, axis=places[self.axis])
        left = iter(range(place.rank if bare.rank > 1 else 0))
        axes = [
            NEW_AXIS if d == self.axis or d not in places else next(left)
            for d in range(x.rank)
            if self.keepdims or d != self.axis
        ]
        return Value(place.tensor, (*axes,) if bare.rank > 1 else (0,))


@dataclass(frozen=True)
class Cumulate(Operator):
    """Sums of all elements up to each along an axis."""

    axis: int

    heavy = True

    def result(self, *inputs: TensorType) -> TensorType:
        return inputs[0]

    def evaluate(self, *inputs: Array) -> Array:
        return np.cumsum(inputs[0], self.axis)

    def value(self, *inputs: Value) -> Value:
        (x,) = inputs
        bare, places = squeezed(x)
        if x.axes[self.axis] == NEW_AXIS:
            raise SpecError("a sum of single elements is each of them", "leave it out")
        return _at(x, language.cumsum(bare, axis=places[self.axis]))


@dataclass(frozen=True)
class Softmax(Operator):
    """exp(x - max) divided by its sum, along an axis."""

    axis: int

    heavy = True

    def result(self, *inputs: TensorType) -> TensorType:
        return inputs[0]

    def evaluate(self, *inputs: Array) -> Array:
        exponentials = np.exp(inputs[0] - inputs[0].max(self.axis, keepdims=True))
        result: Array = exponentials / exponentials.sum(self.axis, keepdims=True)
        return result

    def value(self, *inputs: Value) -> Value:
        (x,) = inputs
        bare, places = squeezed(x)
        if x.axes[self.axis] == NEW_AXIS:
            raise SpecError("a softmax of single elements is 1", "leave it out")
        return _at(x, language.softmax(bare, axis=places[self.axis]))


@dataclass(frozen=True)
class LayerNorm(Operator):
    """(x - mean) / sqrt(variance + epsilon) along the last axis, times gamma, plus beta.

    The inputs are x, and gamma and beta, vectors.
    """

    epsilon: float

    heavy = True

    def result(self, *inputs: TensorType) -> TensorType:
        if any(each.shape != inputs[0].shape[-1:] for each in inputs[1:]):
            raise GraphError(f"{self} of {', '.join(map(str, inputs))}: lengths differ.")
        return inputs[0]

    def evaluate(self, *inputs: Array) -> Array:
        x, gamma, beta = inputs
        centred = x - x.mean(-1, keepdims=True)
        result: Array = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + self.epsilon)
        return result * gamma + beta

    def value(self, *inputs: Value) -> Value:
        x, gamma, beta = _of_a_norm(inputs)
        bare, _ = squeezed(x)
        return _at(x, language.layer_norm(bare, gamma, beta, epsilon=self.epsilon))


@dataclass(frozen=True)
class RmsNorm(Operator):
    """x / sqrt(mean(x * x) + epsilon) along the last axis, times gamma, a vector."""

    epsilon: float

    heavy = True

    def result(self, *inputs: TensorType) -> TensorType:
        return LayerNorm(self.epsilon).result(*inputs)

    def evaluate(self, *inputs: Array) -> Array:
        x, gamma = inputs
        result: Array = x / np.sqrt((x**2).mean(-1, keepdims=True) + self.epsilon) * gamma
        return result

    def value(self, *inputs: Value) -> Value:
        x, gamma = _of_a_norm(inputs)
        bare, _ = squeezed(x)
        return _at(x, language.rms_norm(bare, gamma, epsilon=self.epsilon))


@dataclass(frozen=True)
class Pooling(Operator):
    """The maximum ("max") or mean ("mean") of each window of images [b, c, ...].

    A mean is over the elements of the image in the window, or with `counts_padding` over the
    padding as well.
    """

    kind: str
    window: tuple[int, ...]
    strides: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    dilations: tuple[int, ...]
    counts_padding: bool = False

    heavy = True
    keeps_units = True

    def result(self, *inputs: TensorType) -> TensorType:
        (x,) = inputs
        sizes = window_counts(self, x, self.window)
        return TensorType((*x.shape[:2], *sizes), x.dtype)

    def evaluate(self, *inputs: Array) -> Array:
        widths = [(0, 0), (0, 0), *zip(self.before, self.after, strict=True)]
        axes = tuple(range(-len(self.window), 0))

        def windows(image: Array, filler: float) -> Array:
            padded = np.pad(image, widths, constant_values=filler)
            return sliding(padded, self.window, self.strides, self.dilations)

        if self.kind == "max":
            result: Array = windows(inputs[0], -np.inf).max(axes)
            return result
        ones = np.ones_like(inputs[0])
        counts = windows(ones, 1.0 if self.counts_padding else 0.0).sum(axes)
        sums: Array = windows(inputs[0], 0.0).sum(axes)
        means: Array = sums / counts
        return means

    def value(self, *inputs: Value) -> Value:
        padding = interleaved(self.before, self.after)
        if self.kind == "max":
            return max_pool(
                *inputs,
                window=self.window,
                stride=self.strides,
                padding=padding,
                dilation=self.dilations,
            )
        if any(step > 1 for step in self.dilations):
            raise SpecError("the language has no means of windows with gaps", "sum them up")
        return avg_pool(
            *inputs,
            window=self.window,
            stride=self.strides,
            padding=padding,
            count_include_pad=self.counts_padding,
        )


def squeezed(x: Value) -> tuple[Value, dict[int, int]]:
    """A value without its dimensions of size 1 that no tensor has, and where the others went."""
    kept = [d for d in range(x.rank) if x.axes[d] != NEW_AXIS]
    return Value(x.tensor, tuple(x.axes[d] for d in kept)), {d: n for n, d in enumerate(kept)}


def _of_a_norm(inputs: Sequence[Value]) -> list[Value]:
    """The `_widened` inputs of a norm; raises `SpecError` if it is of single numbers."""
    if inputs[0].shape[-1] == 1:
        raise SpecError("the language has no norms of single numbers", "write what it is of them")
    return _widened(inputs)


def _widened(inputs: Sequence[Value]) -> list[Value]:
    """Values in f32, if they are of narrower dtypes, or of several."""
    same = len({value.dtype for value in inputs}) == 1 and not narrow(inputs[0].dtype)
    return (
        [*inputs]
        if same
        else [value if value.dtype is F32 else cast(value, F32) for value in inputs]
    )


def _at(like: Value, result: Value) -> Value:
    """A result of a `squeezed` value with the dimensions of size 1 that the value had."""
    places = iter(range(result.rank))
    return Value(
        result.tensor, tuple(NEW_AXIS if d == NEW_AXIS else next(places) for d in like.axes)
    )

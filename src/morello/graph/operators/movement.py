"""Operators that move elements, and compute nothing.

Most are views: their results lie where their inputs lie, at other strides (see `graph.views`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from morello.base.errors import GraphError, SpecError
from morello.frontends.copies import (
    scatter_last,
    scatter_max,
    scatter_min,
    scatter_sum,
    segment_sum,
    take,
)
from morello.frontends.values import NEW_AXIS, Value
from morello.graph.graph import Array, Operator, TensorType
from morello.ir.primitives.gathering import rows_of
from morello.ir.primitives.scattering import combined


@dataclass(frozen=True)
class Reshape(Operator):
    """Elements in another shape, in their row-major order."""

    shape: tuple[int, ...]

    def result(self, *inputs: TensorType) -> TensorType:
        if prod(self.shape) != inputs[0].size:
            raise GraphError(f"{inputs[0]} has not as many elements as shape {self.shape}.")
        return TensorType(self.shape, inputs[0].dtype)

    def evaluate(self, *inputs: Array) -> Array:
        return inputs[0].reshape(self.shape)

    def value(self, *inputs: Value) -> Value:
        """Only dimensions of size 1 may come or go within a kernel; those of tensors stay."""
        (x,) = inputs
        axes: list[int] = []
        kept = [d for d in x.axes if d != NEW_AXIS]
        for size in reversed(self.shape):
            if kept and x.tensor.shape[kept[-1]] == size:
                axes.append(kept.pop())
            elif size == 1:
                axes.append(NEW_AXIS)
            else:
                break
        if kept or len(axes) < len(self.shape):
            raise SpecError("no kernel reshapes what it computes", "make it two kernels")
        return Value(x.tensor, tuple(reversed(axes)))


@dataclass(frozen=True)
class Transpose(Operator):
    """The dimensions in another order: dimension i of the result is `order[i]` of the input."""

    order: tuple[int, ...]

    def result(self, *inputs: TensorType) -> TensorType:
        if sorted(self.order) != list(range(inputs[0].rank)):
            raise GraphError(f"{self.order} is no order of the dimensions of {inputs[0]}.")
        return TensorType(tuple(inputs[0].shape[d] for d in self.order), inputs[0].dtype)

    def evaluate(self, *inputs: Array) -> Array:
        return inputs[0].transpose(self.order)

    def value(self, *inputs: Value) -> Value:
        return inputs[0].reordered(self.order)


@dataclass(frozen=True)
class Broadcast(Operator):
    """The input repeated to another shape, as NumPy broadcasts."""

    shape: tuple[int, ...]

    def result(self, *inputs: TensorType) -> TensorType:
        try:
            fits = np.broadcast_shapes(inputs[0].shape, self.shape) == self.shape
        except ValueError:
            fits = False
        if not fits:
            raise GraphError(f"{inputs[0]} cannot be broadcast to {self.shape}.")
        return TensorType(self.shape, inputs[0].dtype)

    def evaluate(self, *inputs: Array) -> Array:
        return np.broadcast_to(inputs[0], self.shape)

    def value(self, *inputs: Value) -> Value:
        """The input itself: what reads it broadcasts it."""
        return inputs[0]


@dataclass(frozen=True)
class Slice(Operator):
    """Every `steps[d]`-th element of dimension d, from `starts[d]` up to before `stops[d]`.

    A `dense` one is no view of its input: its elements are copied, to be neighbours.
    """

    starts: tuple[int, ...]
    stops: tuple[int, ...]
    steps: tuple[int, ...]
    dense: bool = False

    @property
    def slices(self) -> tuple[slice, ...]:
        """The slices as NumPy's indexing takes them."""
        return tuple(map(slice, self.starts, self.stops, self.steps))

    def result(self, *inputs: TensorType) -> TensorType:
        whole = (*zip(self.starts, self.stops, self.steps, inputs[0].shape, strict=True),)
        if any(not 0 <= low <= high <= n or step < 1 for low, high, step, n in whole):
            raise GraphError(f"{self} does not lie within {inputs[0]}.")
        shape = tuple(len(range(low, high, step)) for low, high, step, _ in whole)
        return TensorType(shape, inputs[0].dtype)

    def evaluate(self, *inputs: Array) -> Array:
        return inputs[0][self.slices]

    def value(self, *inputs: Value) -> Value:
        raise SpecError("no kernel slices what it computes", "make it two kernels")


@dataclass(frozen=True)
class Concat(Operator):
    """The inputs, one after the other along an axis."""

    axis: int

    def result(self, *inputs: TensorType) -> TensorType:
        rest = {each.shape[: self.axis] + each.shape[self.axis + 1 :] for each in inputs}
        if len(rest) > 1 or len({each.dtype for each in inputs}) > 1:
            raise GraphError(f"{', '.join(map(str, inputs))} cannot be joined at {self.axis}.")
        shape = list(inputs[0].shape)
        shape[self.axis] = sum(each.shape[self.axis] for each in inputs)
        return TensorType(tuple(shape), inputs[0].dtype)

    def evaluate(self, *inputs: Array) -> Array:
        return np.concatenate(inputs, self.axis)

    def value(self, *inputs: Value) -> Value:
        raise SpecError("no kernel joins tensors", "let each be written to its place")


@dataclass(frozen=True)
class Pad(Operator):
    """The first input between `before[d]` and `after[d]` copies of the second, a number."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    def result(self, *inputs: TensorType) -> TensorType:
        x, filler = inputs
        if filler.size != 1 or filler.dtype != x.dtype or min((*self.before, *self.after, 0)) < 0:
            raise GraphError(f"{self} of {x} with {filler}: pad with a number of its dtype.")
        sizes = zip(self.before, x.shape, self.after, strict=True)
        return TensorType(tuple(map(sum, sizes)), x.dtype)

    def evaluate(self, *inputs: Array) -> Array:
        x, filler = inputs
        widths = [*zip(self.before, self.after, strict=True)]
        return np.pad(x, widths, constant_values=filler.item()) if widths else x

    def value(self, *inputs: Value) -> Value:
        raise SpecError("a padded tensor alone is no kernel", "let the convolution pad it")


@dataclass(frozen=True)
class Gather(Operator):
    """The slices of the first input along `axis` that the second one numbers, as `np.take`.

    A number below 0 counts from the end; others outside are taken as the nearest within.
    """

    axis: int

    heavy = True
    keeps_units = True

    def result(self, *inputs: TensorType) -> TensorType:
        x, numbers = inputs
        if numbers.dtype.kind not in "iu":
            raise GraphError(f"{numbers} numbers no slices; give integers.")
        if numbers.size and 0 in x.shape[self.axis : self.axis + 1]:
            raise GraphError(f"{x} has no slices along axis {self.axis} to take.")
        shape = (*x.shape[: self.axis], *numbers.shape, *x.shape[self.axis + 1 :])
        return TensorType(shape, x.dtype)

    def evaluate(self, *inputs: Array) -> Array:
        x, numbers = inputs
        rows = rows_of(np.moveaxis(x, self.axis, 0), numbers)
        places = range(numbers.ndim)
        return np.moveaxis(rows, places, [self.axis + d for d in places])

    def value(self, *inputs: Value) -> Value:
        if self.axis != 0:
            raise SpecError("the language takes rows only", "make the axis the first")
        if not all(isinstance(each, Value) for each in inputs):
            raise SpecError("no kernel takes rows of a number, or one known row", "slice it")
        return take(*inputs)


@dataclass(frozen=True)
class Scatter(Operator):
    """A matrix with rows combined with those of their numbers: by sum, max or min, or the last.

    The inputs are the matrix, a vector of numbers, and a row for each of them: out[v, d] is
    x[v, d] and all rows[e, d] of ids[e] = v combined. A row whose number is below 0, or that of
    no row, is left out.
    """

    kind: str

    heavy = True
    keeps_units = True

    def result(self, *inputs: TensorType) -> TensorType:
        x, ids, rows = inputs
        if self.kind not in _SCATTERED or ids.dtype.kind not in "iu":
            raise GraphError(f"{self} takes no rows numbered by {ids}.")
        if (x.rank, ids.rank) != (2, 1) or rows != TensorType((*ids.shape, x.shape[1]), x.dtype):
            raise GraphError(f"{self} of {rows}, numbered by {ids}, into {x}.")
        return x

    def evaluate(self, *inputs: Array) -> Array:
        return combined(self.kind, *inputs)

    def value(self, *inputs: Value) -> Value:
        if not all(isinstance(each, Value) for each in inputs):
            raise SpecError("no kernel combines rows with a number", "give arrays")
        return _SCATTERED[self.kind](*inputs)


_SCATTERED = {
    "last": scatter_last,
    "max": scatter_max,
    "min": scatter_min,
    "sum": scatter_sum,
}


@dataclass(frozen=True)
class SegmentSum(Operator):
    """`count` rows, each the sum of those that have its number.

    The inputs are the rows, and a vector of their numbers. A row whose number is below 0,
    or at least the count, is left out.
    """

    count: int

    heavy = True
    keeps_units = True

    def result(self, *inputs: TensorType) -> TensorType:
        rows, ids = inputs
        numbered = (ids.rank, rows.rank) == (1, 2) and ids.shape == rows.shape[:1]
        if not numbered or ids.dtype.kind not in "iu" or self.count < 1:
            raise GraphError(f"{self} of {rows}, numbered by {ids}.")
        return TensorType((self.count, rows.shape[1]), rows.dtype)

    def evaluate(self, *inputs: Array) -> Array:
        rows, ids = inputs
        return combined("sum", np.zeros((self.count, rows.shape[1]), rows.dtype), ids, rows)

    def value(self, *inputs: Value) -> Value:
        if not all(isinstance(each, Value) for each in inputs):
            raise SpecError("no kernel adds a number as rows", "give arrays")
        return segment_sum(*inputs, count=self.count)

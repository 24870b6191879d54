"""Elements that are taken along one dimension, each by a number of its own."""

from __future__ import annotations

import math

import numpy as np

from morello.graph.graph import Node, apply
from morello.graph.operators import Constant, Gather, Where
from morello.graph.patterns.matching import constant, in_dtype, mapped, reshaped

_NUMBERS = np.dtype(np.int32)


def taken_along(x: Node, index: Node, axis: int) -> Node:
    """x[i, index[i, j]] along one dimension, as elements of a single one.

    A number below 0 counts from the end.
    """
    if not x.type.rank:
        return x
    if isinstance(index.operator, Constant) and isinstance(x.operator, Constant):
        cut = tuple(slice(n if d != axis else None) for d, n in enumerate(index.shape))
        known = np.take_along_axis(x.operator.array[cut], index.operator.array, axis)
        return constant(known, x.dtype)
    strides = [math.prod(x.shape[d + 1 :]) for d in range(x.type.rank)]
    places = np.zeros((1,) * x.type.rank, np.int32)
    for d, size in enumerate(index.shape):
        if d != axis:
            along = [1] * x.type.rank
            along[d] = size
            places = places + np.arange(size, dtype=np.int32).reshape(along) * strides[d]
    numbers = in_dtype(index, _NUMBERS)
    negative = mapped("less", numbers, constant(0, _NUMBERS))
    from_end = mapped("add", numbers, constant(x.shape[axis], _NUMBERS))
    numbers = apply(Where(), negative, from_end, numbers)
    if strides[axis] > 1:
        numbers = mapped("multiply", numbers, constant(strides[axis], _NUMBERS))
    if places.any():
        numbers = mapped("add", numbers, constant(places, _NUMBERS))
    return apply(Gather(0), reshaped(x, (x.type.size,)), numbers)

"""Prefix products, maxima, minima and sums of exponentials along an axis.

A prefix product is made by doubling: in each step, of the products of half as many elements. The
others reduce, for each element, the whole axis, in which later elements are masked.
"""

from __future__ import annotations

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node, apply
from morello.graph.operators import ArgReduce, Pad, Reduce, Where
from morello.graph.patterns.matching import constant, is_float, lowest, mapped, reshaped, sliced
from morello.importers.ordering import MOST_PAIRS
from morello.importers.taking import NUMBERS, backwards, iota

MOST_MULTIPLIED = 1 << 18
"""The most elements of which products are made."""


def cumulated(kind: str, x: Node, axis: int) -> Node:
    """The "max", "min" or "prod" of all elements up to each; raises `GraphError` for many."""
    if kind == "prod":
        return _product(x, axis)
    return apply(Reduce(kind, (axis + 1,)), _up_to_each(x, axis, _identity(kind, x.dtype)))


def _product(x: Node, axis: int) -> Node:
    if x.type.size > MOST_MULTIPLIED or x.dtype.itemsize > 4:
        raise GraphError(f"products up to each element of {x.type} are left.")
    count, step, neutral = x.shape[axis], 1, constant(1, x.dtype)
    while step < count:
        before = tuple(step if d == axis else 0 for d in range(x.type.rank))
        earlier = apply(Pad(before, (0,) * len(before)), sliced(x, axis, 0, count - step), neutral)
        x, step = mapped("multiply", x, earlier), 2 * step
    return x


def place_of_extreme(kind: str, x: Node, axis: int) -> Node:
    """Where the last "max" or "min" of all elements up to each is."""
    pairs = backwards(_up_to_each(x, axis, _identity(kind, x.dtype)), axis + 1)
    count, place = x.shape[axis], apply(ArgReduce(kind, axis + 1, NUMBERS), pairs)
    last = mapped("subtract", constant(count - 1, NUMBERS), place)
    return mapped("minimum", last, iota(count, axis, x.type.rank))  # fillers may be as large


def log_of_sums(x: Node, axis: int) -> Node:
    """The logarithm of the sum of exponentials of all elements up to each."""
    pairs = _up_to_each(x, axis, -np.inf)
    highest = apply(Reduce("max", (axis + 1,), keepdims=True), pairs)
    for bound, name in ((lowest(x.dtype), "maximum"), (-lowest(x.dtype), "minimum")):
        highest = mapped(name, highest, constant(bound, x.dtype))  # inf - inf is no number
    total = apply(Reduce("sum", (axis + 1,)), mapped("exp", mapped("subtract", pairs, highest)))
    return mapped("add", mapped("log", total), reshaped(highest, x.shape))


def _up_to_each(x: Node, axis: int, filler: float) -> Node:
    """The elements up to each one of an axis, along the next axis, and then fillers."""
    count, inner = x.shape[axis], x.shape[axis + 1 :]
    if x.type.size * count > MOST_PAIRS or x.dtype.itemsize > 4:
        raise GraphError(f"what is computed up to each element of {x.type} is left.")
    every = reshaped(x, (*x.shape[:axis], 1, count, *inner))
    seen = np.tri(count, dtype=bool).reshape(count, count, *(1,) * len(inner))
    return apply(Where(), constant(seen, np.dtype(bool)), every, constant(filler, x.dtype))


def _identity(kind: str, dtype: np.dtype[np.generic]) -> float:
    """The identity of "max" or "min" in a dtype."""
    if is_float(dtype):
        return -np.inf if kind == "max" else np.inf
    if dtype.kind not in "iu":
        raise GraphError(f"the {kind} of {dtype} up to each element is left.")
    limits = np.iinfo(dtype)  # type: ignore[type-var]
    return int(limits.min if kind == "max" else limits.max)

"""Integers of few values in order, by how often there is each: no pairs of them are compared."""

from __future__ import annotations

import numpy as np

from morello.graph.graph import Node, apply
from morello.graph.operators import Cumulate, Reduce
from morello.graph.patterns.matching import constant, in_dtype, mapped, reshaped, sliced
from morello.importers.scattering import combined_rows
from morello.importers.taking import NUMBERS, iota

_FLOATS = np.dtype(np.float32)


def places_by_value(numbers: Node, count: int) -> Node:
    """Where each of a vector of numbers comes once they are sorted; of equal ones, the first first.

    They are from 0 to before `count`; any other comes anywhere.
    """
    size, every = numbers.type.size, iota(count, 1, 2)
    own = reshaped(in_dtype(numbers, NUMBERS), (size, 1))
    equal = in_dtype(mapped("equal", own, every), _FLOATS)
    so_far = apply(Cumulate(0), equal)
    totals = reshaped(sliced(so_far, 0, size - 1, size), (count,))
    smaller = mapped("subtract", apply(Cumulate(0), totals), totals)
    place = mapped("add", so_far, mapped("subtract", smaller, constant(1, _FLOATS)))
    return in_dtype(apply(Reduce("sum", (1,)), mapped("multiply", place, equal)), NUMBERS)


def at_places(rows: Node, places: Node) -> Node:
    """The rows, each at its own place."""
    return combined_rows("last", rows, places, rows, 0)

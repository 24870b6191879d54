"""Rows in groups, of which frameworks say where each ends."""

from __future__ import annotations

import numpy as np

from morello.graph.graph import Node, apply
from morello.graph.operators import Reduce
from morello.graph.patterns.matching import constant, in_dtype, mapped, reshaped
from morello.importers.taking import NUMBERS

_FLOATS = np.dtype(np.float32)


def numbers_of_groups(ends: Node, rows: int) -> Node:
    """The group of each of so many rows, which are sorted by groups, by where groups end.

    The rows from the last end on have the number of no group.
    """
    places = constant(np.arange(rows).reshape(rows, 1), NUMBERS)
    given = reshaped(in_dtype(ends, NUMBERS), (1, *ends.shape))
    before = in_dtype(mapped("less_equal", given, places), _FLOATS)
    return in_dtype(apply(Reduce("sum", (1,)), before), NUMBERS)

"""ATen's products of rows in groups, and those of transformers: mixtures of experts."""

from __future__ import annotations

import numpy as np

from morello.graph.graph import Node
from morello.graph.patterns.experts import grouped_product
from morello.importers.aten_calls import AtenCall, Handler
from morello.importers.taking import NUMBERS, iota


def grouped_mm(call: AtenCall) -> Node:
    """_grouped_mm: of rows by a matrix for each group, or of batches; rows of no group are any."""
    x, matrices, ends = call.x, call["mat2"], call["offs"]
    if (x.type.rank, matrices.type.rank) != (2, 3) or ends is None or call["bias"] is not None:
        raise call.refuse(f"of {x.type} and {matrices.type}")
    return grouped_product(x, matrices, _groups(call, ends, x.shape[0]))


def grouped_mm_of_transformers(call: AtenCall) -> Node:
    """The operation of the transformers package; rows of no group are zero."""
    x = call.x
    return grouped_product(x, call["weight"], _groups(call, call["offs"], x.shape[0]))


def _groups(call: AtenCall, ends: Node, rows: int) -> Node:
    """The group of each of so many rows, which are sorted by groups, by where groups end.

    The rows from the last end on have the number of no group.
    """
    given = call.reshape(call.build.cast(ends, NUMBERS), (1, *ends.shape))
    before = call.map("less_equal", given, iota(rows, 0, 2))
    before = call.build.cast(before, np.dtype(np.float32))
    return call.build.cast(call.reduce("sum", before, (1,)), NUMBERS)


GROUPED: dict[str, Handler] = {
    "_grouped_mm": grouped_mm,
    "grouped_mm_fallback": grouped_mm_of_transformers,
}

"""ATen's products of rows in groups, and those of transformers: mixtures of experts."""

from __future__ import annotations

from morello.graph.graph import Node
from morello.graph.patterns.experts import grouped_product, groups_of_rows
from morello.importers.aten_calls import AtenCall, Handler


def grouped_mm(call: AtenCall) -> Node:
    """_grouped_mm: of rows by a matrix for each group, or of batches; rows of no group are any."""
    x, matrices, ends = call.x, call["mat2"], call["offs"]
    if (x.type.rank, matrices.type.rank) != (2, 3) or ends is None or call["bias"] is not None:
        raise call.refuse(f"of {x.type} and {matrices.type}")
    return grouped_product(x, matrices, groups_of_rows(ends, x.shape[0]))


def grouped_mm_of_transformers(call: AtenCall) -> Node:
    """The operation of the transformers package; rows of no group are zero."""
    x = call.x
    return grouped_product(x, call["weight"], groups_of_rows(call["offs"], x.shape[0]))


GROUPED: dict[str, Handler] = {
    "_grouped_mm": grouped_mm,
    "grouped_mm_fallback": grouped_mm_of_transformers,
}

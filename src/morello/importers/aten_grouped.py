"""ATen's products of rows in groups, and those of transformers: mixtures of experts."""

from __future__ import annotations

from morello.graph.graph import Node
from morello.graph.patterns.experts import product_by_numbers
from morello.importers.aten_calls import AtenCall, Handler
from morello.importers.grouped import numbers_of_groups


def grouped_mm(call: AtenCall) -> Node:
    """_grouped_mm: of rows by a matrix for each group, or of batches; rows of no group are any."""
    x, matrices, ends = call.x, call["mat2"], call["offs"]
    if (x.type.rank, matrices.type.rank) != (2, 3) or ends is None or call["bias"] is not None:
        raise call.refuse(f"of {x.type} and {matrices.type}")
    return product_by_numbers(x, matrices, numbers_of_groups(ends, x.shape[0]))


def grouped_mm_of_transformers(call: AtenCall) -> Node:
    """The same, and rows of no group are zero."""
    x = call.x
    return product_by_numbers(x, call["weight"], numbers_of_groups(call["offs"], x.shape[0]))


GROUPED: dict[str, Handler] = {
    "_grouped_mm": grouped_mm,
    "grouped_mm_fallback": grouped_mm_of_transformers,
}

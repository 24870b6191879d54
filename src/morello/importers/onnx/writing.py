"""Operators of ONNX that write elements into a tensor, at places that another one says."""

from __future__ import annotations

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.patterns.matching import selected
from morello.importers.onnx.call import LeftError, OnnxCall, left_if_refused, translates
from morello.importers.scattering import check_combined, combined_at, combined_elements
from morello.importers.taking import from_start

_KINDS = {"add": "sum", "max": "max", "min": "min", "none": "last"}
"""The kinds of `Scatter` by ONNX's reductions."""


def _kind(call: OnnxCall) -> str:
    """The kind of the call; leaves the node if kernels have none for its first input."""
    reduction = call.text("reduction", "none")
    if reduction not in _KINDS:
        raise LeftError(f"it combines elements by {reduction}")
    with left_if_refused():
        check_combined(call[0].type)
    if 0 in call[1].shape:
        raise LeftError("it writes nothing")
    return _KINDS[reduction]


@translates("ScatterElements", "Scatter")
def scatter_elements(call: OnnxCall) -> Node:
    """Each at a place along an axis; a number below 0 counts from the end."""
    kind, (x, index, elements), axis = _kind(call), call.all, call.axis(0)
    if not x.type.rank == index.type.rank or index.shape != elements.shape:
        raise GraphError(f"{elements.type} at {index.type} of {x.type}.")
    if any(n > m for d, (n, m) in enumerate(zip(index.shape, x.shape, strict=True)) if d != axis):
        raise GraphError(f"{index.type} is larger than {x.type}.")
    return combined_elements(kind, x, from_start(index, x.shape[axis]), elements, axis)


@translates("ScatterND")
def scatter_slices(call: OnnxCall) -> Node:
    """Slices at places in the first dimensions, which the last dimension of the indices has."""
    kind, (x, index, rows) = _kind(call), call.all
    if not index.type.rank or index.shape[-1] > x.type.rank:
        raise GraphError(f"{index.type} are no places in {x.type}.")
    *shape, count = index.shape
    if rows.shape != (*shape, *x.shape[count:]):
        raise GraphError(f"{rows.type} at {index.type} of {x.type}.")
    columns = [selected(index, len(shape), d) for d in range(count)]
    places = [from_start(column, x.shape[d]) for d, column in enumerate(columns)]
    return combined_at(kind, x, places, rows)

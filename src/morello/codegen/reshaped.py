"""Views of operands in other shapes: those of matmuls in convolutions, and of joined dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from morello.codegen.views import MemoryView, View
from morello.ir.operation import Operation
from morello.rewrites.conv import kept_dims, pixels_of
from morello.rewrites.join import Join


def merged_rows(operation: Operation, views: Sequence[View]) -> list[View]:
    """The views of a convolution of single pixels, with all rows of the image as a single one."""
    return [
        view
        if operand == 1
        else _merged(view, [operation.places[operand, d][0] for d in pixels_of(operation)])
        for operand, view in enumerate(views)
    ]


def matmul_views(operation: Operation, views: Sequence[View]) -> list[View]:
    """The operands of the matmul of one row and filter pixel."""
    kept = []
    for operand, view in enumerate(views):
        positions = kept_dims(operation, operand)
        strides = [dict(operation.axes[operand][p].terms).get("x", 1) for p in positions]
        kept.append(view.keep(positions, strides))
    return kept


def joined_views(operation: Operation, join: Join, views: Sequence[View]) -> list[View]:
    """The views of an operation's operands by the dimensions that are left."""
    merged = []
    for number, (operand, view) in enumerate(zip(operation.operands, views, strict=True)):
        for group in join.groups:
            if (number, group[-1]) in operation.places:
                view = _merged(view, [operation.places[number, dim][0] for dim in group])
        kept = join.joining.kept(operand.dims)
        merged.append(view.keep(kept, [1] * len(kept)))
    return merged


def _merged(view: View, positions: Sequence[int]) -> View:
    """A view in which the last of some dimensions runs through all of them."""
    assert isinstance(view, MemoryView)
    longer = [position for position in positions if view.extents[position] > 1]
    last, fastest = positions[-1], (longer or positions)[-1]  # a dimension of 1 may lie anywhere
    shape, order = list(view.shape), list(range(len(view.dims)))
    shape[view.dims[fastest]] = prod(view.extents[position] for position in positions)
    for position in positions:
        if position != fastest:
            shape[view.dims[position]] = 1
    order[last], order[fastest] = fastest, last
    return replace(view, shape=tuple(shape)).keep(order, [1] * len(order))

"""Views of a convolution's operands as those of the matmuls that it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from morello.codegen.views import MemoryView, View
from morello.ir.operation import Operation
from morello.rewrites.conv import kept_dims


def merged_rows(operation: Operation, views: Sequence[View]) -> list[View]:
    """The views of a convolution of single pixels, with all rows of the image as a single one."""
    return [
        view if operand == 1 else _merged(view, operation, operand)
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


def _merged(view: View, operation: Operation, operand: int) -> View:
    """A view in which dimension x runs through all rows: y and x merged."""
    assert isinstance(view, MemoryView)
    y, x = (view.dims[operation.places[operand, d][0]] for d in "yx")
    shape = list(view.shape)
    shape[x] *= shape[y]
    shape[y] = 1
    return replace(view, shape=tuple(shape))

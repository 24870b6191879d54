"""The layouts that copies of operands may have."""

from __future__ import annotations

from morello.ir.dtype import F32, DType
from morello.ir.layout import Layout, column_major, fastest, panels, row_major
from morello.ir.operation import Operation
from morello.targets.target import Target

PANEL_REGISTERS = (1, 2, 4)
"""Panels are this many registers wide."""


def copy_layouts(operation: Operation, index: int, dtype: DType, target: Target) -> list[Layout]:
    """The layouts that a copy of an operand may have.

    Of sums of products: row- and column-major; of what is only read, also panels. They run
    along the operand's last dimension that is not reduced, and are one register wide, or
    several where that is the output's fastest dimension. Other operations read what they
    get as it is.
    """
    if operation.components:
        found = [
            layout
            for user in operation.components
            for position, tensor in enumerate(user.inputs)
            if tensor == index
            for layout in copy_layouts(user.operation, position, dtype, target)
            if layout.panel is not None
        ]
        return list(dict.fromkeys(found))
    name = operation.name.removesuffix("Accum")
    if name not in ("Matmul", "Conv"):
        return []
    operand = operation.operands[index]
    rank = len(operand.dims)
    if name == "Conv":
        return _conv_layouts(operation, index, dtype, target)
    layouts = [row_major(rank), column_major(rank)]
    if not operand.written:
        along = max(d for d, name in enumerate(operand.dims) if name not in operation.reduced)
        output = operation.operands[operation.output].dims
        registers = PANEL_REGISTERS if output[-1] == operand.dims[along] else PANEL_REGISTERS[:1]
        width = target.widths(_summed(dtype))[0]
        layouts += [panels(rank, along, width * n) for n in registers]
    return layouts


def _summed(dtype: DType) -> DType:
    """What products of these are summed in, which decides how wide panels are."""
    return dtype if dtype.bytes == 4 else F32


def _conv_layouts(operation: Operation, index: int, dtype: DType, target: Target) -> list[Layout]:
    """Filters in panels, each filter pixel's channels together; images and outputs as they are."""
    operand = operation.operands[index]
    if operand.name == "image":
        return [row_major(len(operand.dims))]
    if operand.name == "out":
        return [row_major(len(operand.dims)), fastest(len(operand.dims), operand.dims.index("f"))]
    f, c, p, q = (operand.dims.index(d) for d in "fcpq")
    width = target.widths(_summed(dtype))[0]
    return [Layout((f, p, q, c), (f, width * n)) for n in PANEL_REGISTERS]

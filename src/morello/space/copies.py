"""The layouts that copies of operands may have."""

from __future__ import annotations

from morello.ir.batch import Batch
from morello.ir.dtype import F32, DType
from morello.ir.layout import Layout, fastest, panels, row_major
from morello.ir.operation import Operation
from morello.ir.placements import Bools
from morello.ir.primitives import MATRIX
from morello.ir.primitives.convolutions import channels_of
from morello.ir.primitives.windows import begin_every_second
from morello.ir.rounding import narrow
from morello.targets.target import Target

PANEL_REGISTERS = (1, 2, 4)
"""The widths of panels, in vector registers."""


def copy_layouts(operation: Operation, index: int, dtype: DType, target: Target) -> list[Layout]:
    """The layouts that a copy of an operand may have.

    A matmul's operands may be row-major, or have the rows or columns of a matrix fastest; its
    inputs may also be packed into panels. Panels run along the dimension of a matrix that is not
    reduced; they are one register wide, or several if that is the output's fastest dimension. For
    convolutions, see `_conv_layouts`; for compositions, these are the panels of their products.
    Other operations read their operands as they are, but for maps (`places_in_rows`).
    """
    if operation.components:
        packed = [
            layout
            for user in operation.components
            for position, tensor in enumerate(user.inputs)
            if tensor == index
            for layout in copy_layouts(user.operation, position, dtype, target)
            if layout.panel is not None
        ]
        return list(dict.fromkeys(packed))
    if not operation.is_product:
        return []
    operand = operation.operands[index]
    rank = len(operand.dims)
    if operation.grouped:
        return []  # of a single group, those of a convolution
    if operation.windows:
        return _conv_layouts(operation, index, dtype, target)
    matrix = [place for place, dim in enumerate(operand.dims) if dim in MATRIX]
    layouts = [row_major(rank), *(fastest(rank, place) for place in reversed(matrix))]
    kept = [place for place in matrix if operand.dims[place] not in operation.reduced]
    if kept and not operand.written:
        (along,) = kept
        output = operation.operands[operation.output].dims
        registers = PANEL_REGISTERS if output[-1] == operand.dims[along] else PANEL_REGISTERS[:1]
        width = panel_width(dtype, target)
        layouts += [panels(rank, along, width * n) for n in registers]
    return list(dict.fromkeys(layouts))


def columns_fastest(operation: Operation, index: int) -> list[Layout]:
    """The layout of an input of a product in which registers hold columns, as in the output."""
    if not operation.is_product or operation.grouped or operation.windows:
        return []
    dims, output = operation.operands[index].dims, operation.operands[operation.output].dims
    if output[-1] not in dims[:-1]:
        return []
    return [fastest(len(dims), dims.index(output[-1]))]


def places_in_rows(operation: Operation, index: int) -> list[int]:
    """The dimensions of a map's input that may be the fastest one of its output, by their places.

    An input that has another one fastest is copied, so that registers hold neighbours of both.
    """
    others = operation.is_product, operation.windows, operation.reduced, operation.components
    dims = operation.operands[index].dims
    if any(others) or index == operation.output or len(dims) < 2:
        return []
    output = operation.operands[operation.output].dims
    return [place for place, dim in enumerate(dims) if dim in output]


def channels_fastest(operation: Operation, index: int) -> list[Layout]:
    """The layout of an operand of a depthwise convolution in which registers hold its channels.

    None where channels are the last dimension.
    """
    if not operation.grouped or channels_of(operation) != (1, 1):
        return []
    place, _ = operation.places[index, "g"]
    layout = fastest(len(operation.operands[index].dims), place)
    return [] if layout.row_major else [layout]


def fills_by_channels(target: Target, batch: Batch) -> Bools:
    """Where channels fill much more of a register than columns of the output do.

    Those of strided windows are in no register unless they fill it, others in half of one.
    """
    columns, width = batch.size("x"), panel_width(batch.dtypes[0], target)
    _, stride = batch.operation.places[0, "x"]
    short: Bools = columns < width if stride > 1 else 2 * columns <= width
    return short & (columns < batch.size("g"))


def has_short_rows(target: Target, batch: Batch) -> Bools:
    """Where whole rows of a depthwise convolution's output are too short (`fills_by_channels`)."""
    columns, _ = batch.operation.places[batch.operation.output, "x"]
    codes = batch.codes[batch.operation.output]
    return batch.placements.gapless_along(codes, columns) & fills_by_channels(target, batch)


def panel_width(dtype: DType, target: Target) -> int:
    """The width of panels of one register: of the sums of products of this dtype."""
    return target.widths(dtype if dtype.bytes == 4 else F32)[0]


def _conv_layouts(operation: Operation, index: int, dtype: DType, target: Target) -> list[Layout]:
    """The layouts of a convolution's operand.

    Images are row-major, outputs also with their channels fastest. Filters are packed into
    panels of output channels; within one, the input channels of each filter pixel are adjacent.
    Those that are converted are also row-major where kernels sum every second pixel, as these take
    no panels.
    """
    image, filters, out = operation.operands
    operand, rank = operation.operands[index], len(operation.operands[index].dims)
    if operand is image:
        return [row_major(rank)]
    (channels,) = set(filters.dims) & set(out.dims)
    if operand is out:
        return [row_major(rank), fastest(rank, out.dims.index(channels))]
    pixels = [d for d in operation.reduced if d not in image.dims]
    summed = [d for d in operation.reduced if d in image.dims]
    order = tuple(filters.dims.index(d) for d in (channels, *pixels, *summed))
    width = panel_width(dtype, target)
    converted = narrow(dtype) and begin_every_second(operation)
    rows = [row_major(rank)] if converted else []
    return [*rows, *(Layout(order, (order[0], width * n)) for n in PANEL_REGISTERS)]

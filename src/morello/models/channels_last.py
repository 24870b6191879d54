"""Images that kernels hand to each other are stored pixel by pixel, with all channels of each.

Kernels compute neighbours in memory together. Channels often fill registers, and rows of pixels do
not; and all channels of a pixel of a convolution's result are made of the same pixels of its image.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod

from morello.base.errors import SpecError
from morello.graph.graph import Node
from morello.graph.lowering import copied
from morello.graph.operators import Constant, Transpose
from morello.graph.views import View
from morello.ir.dtype import F32
from morello.ir.layout import Layout
from morello.ir.operation import Operation
from morello.ir.primitives.convolutions import channels_of, suits_channels_last
from morello.ir.spec import Spec, SpecPart, goal
from morello.ir.turned import turned
from morello.models.in_place import Calls, Relocation, Run, in_place
from morello.models.schedule import Stage, StoredCall
from morello.rewrites.conv import is_padded
from morello.runtime.argument import CACHE_LINE, row_major_strides
from morello.search.prepacking import weights_of

FULL = 0.9
"""The least part of their registers that sums of all filters should fill."""

_RANKS = 3, 4
"""The dimensions of images: their number, channels, rows if there are any, and columns."""


def in_place_by_pixels(stage: Stage, rows: Collection[Node] = ()) -> Stage:
    """The stage with the channels of its images last in memory, with as few copies as can be.

    Images in `rows`, and those that are computed with them, stay as they are.
    """
    stored = in_place(channels_last(stage, rows))
    return replace(stored, calls=tuple(_in_order(_of_ordered_constant(c)) for c in stored.calls))


def channels_last(stage: Stage, rows: Collection[Node] = ()) -> Stage:
    """The stage with the channels of its images last in memory.

    An image that is in `rows`, or needed after the stage, or whose elements a kernel reads in an
    order that is none of pixels, stays as it is.
    """
    calls = Calls(stage.calls)
    for node in _images(stage, rows):
        count, channels, *size = node.shape
        pixels = prod(size)
        runs = [Run(channels, pixels, 1), Run(pixels, 1, channels)]
        if count > 1:
            runs.insert(0, Run(count, channels * pixels, channels * pixels))
        move = Relocation(node, node, 0, tuple(runs))
        with suppress(SpecError):
            calls.move(move)
    return replace(stage, calls=tuple(calls))


def _images(stage: Stage, rows: Collection[Node]) -> list[Node]:
    """The images that kernels with windows write or read within a stage, and those of the same
    sizes that are computed with them; without those that are to be in `rows`.

    Empty if there are convolutions in groups that leave registers empty, or such that pad their
    images, which are faster on all pixels of a channel; and without products, unless there are
    images whose channels are last already: pools are as fast in rows as they come.
    """
    every = [part for call in stage.calls for part in call.spec.parts]
    last = _last_already(stage)
    products = any(part.operation.is_product for part in every)
    if any(map(_is_better_in_rows, every)) or not (products or last):
        return []
    stored = {
        node
        for call in stage.calls
        if (node := call.output.base) not in stage.outputs
        if node.type.rank in _RANKS and node.shape[1] * _computed_bytes(node) >= CACHE_LINE
    }
    stored -= last
    near = [
        (call, list(dict.fromkeys(v.base for v in (*call.inputs, call.output) if v.base in stored)))
        for call in stage.calls
    ]
    images = dict.fromkeys(
        node
        for call, nodes in near
        if _has_windows(call)
        for node in nodes
        if not (node.shape == call.output.base.shape and _turns(call))
    )
    before = 0
    while len(images) > before:
        before = len(images)
        for call, nodes in near:
            sizes = {node.shape[2:] for node in nodes if node in images}
            parts = bool(sizes) and call.copies
            images |= dict.fromkeys(n for n in nodes if parts or n.shape[2:] in sizes)
    in_rows = _better_in_rows(near, rows)
    return [node for node in images if node not in in_rows]


def _computed_bytes(node: Node) -> int:
    """The bytes of an element of an image in registers, where smaller numbers are widened."""
    return max(node.dtype.itemsize, F32.bytes)


def _last_already(stage: Stage) -> set[Node]:
    """The images whose channels are their last dimension, as calls read or copy them."""
    last = {view.base for call in stage.calls for view in call.inputs if _is_turned(view)}
    for call in stage.calls:
        put_last = call.copies and any(_makes_last(view, last) for view in call.inputs)
        if put_last or _puts_last(call.output.base):
            last.add(call.output.base)
    return last


def _puts_last(node: Node) -> bool:
    """Whether a node is an image that is turned to have its channels last."""
    order = node.operator.order if isinstance(node.operator, Transpose) else ()
    return len(order) in _RANKS and order == (0, *range(2, len(order)), 1)


def _turns(call: StoredCall) -> bool:
    """Whether the result of a call's convolution is stored with other channels than its filters."""
    channels = call.output.base.shape[1]
    return any(part.sizes["f"] != channels for part in call.spec.parts if _is_plain(part))


def _is_plain(part: SpecPart) -> bool:
    """Whether a part is a convolution without groups."""
    operation = part.operation
    return operation.is_product and operation.windows and not operation.grouped


def _is_turned(view: View) -> bool:
    """Whether a view shows an image, whose channels are last, with these before its pixels."""
    image = view.base.shape
    alike = len(image) in _RANKS and (*image[:1], *image[-1:], *image[1:-1]) == view.shape
    return alike and image[-1] > 1 and view.strides[1] == 1


def _makes_last(view: View, last: Collection[Node]) -> bool:
    """Whether a view has the channels of its pixels last, as copies of it have them then.

    The pixels of an image may be one dimension.
    """
    image = view.base.shape
    if view.base in last:
        return not _is_turned(view)
    if len(image) not in _RANKS or view.shape[-1:] != image[1:2] or image[1] == 1:
        return False
    pixels = prod(image[2:])
    return prod(view.shape[:-1]) == image[0] * pixels and view.strides[-1] == pixels > 1


def _better_in_rows(
    near: Sequence[tuple[StoredCall, Sequence[Node]]], given: Collection[Node]
) -> set[Node]:
    """The images around convolutions by windows whose filters would leave registers empty, and
    `given` ones.

    Of the images `near` each call; and those that are computed with them, pixel by pixel or channel
    by channel, unless they are sums of other images and Winograd's tiles: the latter have channels
    together.
    """
    rows = {node for call, nodes in near if _wastes_registers(call) for node in nodes}
    rows.update(given)
    sums = _sums_of_tiles(near)
    before = 0
    while len(rows) > before:
        before = len(rows)
        for call, nodes in near:
            alike = [node for node in nodes if node not in _summed_over(call)]
            shapes = {node.shape for node in alike if node in rows}
            more = [node for node in alike if any(_alike(call, node, of) for of in shapes)]
            rows.update(node for node in more if node not in sums)
    return rows


def _sums_of_tiles(near: Sequence[tuple[StoredCall, Sequence[Node]]]) -> set[Node]:
    """The images to which tiles of Winograd's are added, and those that these are joined to."""
    sums: set[Node] = set()
    for call, nodes in near:
        tiled = any(map(_writes_tiles, _primitives(call.spec)))
        if (tiled and len(nodes) > 1) or (call.copies and call.inputs[0].base in sums):
            sums.add(call.output.base)
    return sums


def _writes_tiles(operation: Operation) -> bool:
    """Whether a primitive writes windows of its result, as Winograd's tiles are."""
    return any(not axis.plain for axis in operation.axes[-1])


def _alike(call: StoredCall, image: Node, shape: tuple[int, ...]) -> bool:
    """Whether a call puts pixels of an image beside those of one of a shape, or computes them so.

    A copy may put channels beside others, or pixels, but not the phases of an image. Windows of
    single channels become pixels of these.
    """
    if call.copies:
        return image.shape[1] == shape[1] or image.shape[2:] == shape[2:]
    return image.shape[1] == shape[1] if _has_windows(call) else image.shape == shape


def _summed_over(call: StoredCall) -> set[Node]:
    """The images whose windows, or single pixels, a convolution without groups makes new ones of.

    Each pixel of such a result is made of all channels.
    """
    sources = {part.inputs[0] for part in call.spec.parts if _is_plain(part)}
    return {view.base for number, view in enumerate(call.inputs) if number in sources}


def _wastes_registers(call: StoredCall) -> bool:
    """Whether sums of all filters of a convolution by windows fill few of their registers."""
    for part in call.spec.parts:
        if _is_plain(part):
            pixels = prod(part.sizes[dim] for dim in part.operation.reduced if dim != "c")
            filters = part.sizes["f"] * part.dtypes[-1].bytes
            if pixels > 1 and filters < FULL * -(-filters // CACHE_LINE) * CACHE_LINE:
                return True
    return False


def _is_better_in_rows(part: SpecPart) -> bool:
    """Whether a part is a grouped convolution whose kernels are faster in NCHW than in NHWC."""
    operation = part.operation
    if not operation.grouped:
        return False
    f32 = set(part.dtypes) == {F32}
    return is_padded(operation) or not suits_channels_last(*channels_of(operation), f32=f32)


def _has_windows(call: StoredCall) -> bool:
    return any(primitive.windows for primitive in _primitives(call.spec))


def _is_elementwise(call: StoredCall) -> bool:
    return not any(primitive.reduced or primitive.untiled for primitive in _primitives(call.spec))


def _writes_columns(call: StoredCall) -> bool:
    """Whether a map of a product is stored in columns, which are rows in another order.

    A product that is computed by itself is as fast in columns.
    """
    *_, fastest = call.spec.placements[-1].layout.order
    product, *others = call.spec.parts
    maps = not any(part.operation.reduced or part.operation.untiled for part in others)
    return product.operation.is_product and maps and fastest != len(call.output.shape) - 1


def _primitives(spec: Spec) -> list[Operation]:
    return [part.operation for part in spec.parts]


def _in_order(call: StoredCall) -> StoredCall:
    """A call with windows, or an elementwise one, with dimensions in the order of memory.

    So are those of what it computes on the way. Filters keep theirs.
    """
    spec = call.spec
    if call.copies or not (_has_windows(call) or _is_elementwise(call) or _writes_columns(call)):
        return call
    layouts = [placement.layout for placement in spec.placements]
    orders = [layout.order for layout in layouts]
    for number in weights_of(spec.operation):
        orders[number] = tuple(range(len(orders[number])))
    if all(list(order) == sorted(order) for order in orders):
        return call
    operation = turned(spec.operation, orders)
    sizes = dict(zip(spec.operation.dims, spec.sizes, strict=True))
    strides = spec.strides or (None,) * len(orders)
    result = goal(
        operation, [sizes[dim] for dim in operation.dims], spec.dtypes,
        layouts=[_turned(layout, order) for layout, order in zip(layouts, orders, strict=True)],
        strides=[
            None if steps is None else tuple(steps[d] for d in order)
            for order, steps in zip(orders, strides, strict=True)
        ],
        names=spec.names, parallel=spec.parallel,
    )  # fmt: skip
    return replace(call, spec=result)


def _of_ordered_constant(call: StoredCall) -> StoredCall:
    """A copy of a constant, whose elements are put in the order of the copy's memory.

    Of equal numbers, only those of the fastest dimension are read, again and again.
    """
    view, output = call.inputs[0], call.output
    constant = view.base.operator
    if not call.copies or not isinstance(constant, Constant):
        return call
    order = sorted(range(len(view.shape)), key=lambda d: -output.strides[d])
    shape, strides, to = (
        tuple(of[d] for d in order) for of in (view.shape, view.strides, output.strides)
    )
    dense = row_major_strides(shape, 1)
    if constant.uniform and prod(shape) > 1:
        fastest = max(d for d, size in enumerate(shape) if size > 1)
        dense, strides = (
            tuple(step if d == fastest else 0 for d, step in enumerate(of))
            for of in (dense, strides)
        )
    packed = copied(replace(view, shape=shape, strides=dense), to)
    turned_view = replace(view, shape=shape, strides=strides)
    return StoredCall(
        (turned_view,), replace(output, shape=shape, strides=to), packed.spec, copies=True
    )


def _turned(layout: Layout, order: Sequence[int]) -> Layout:
    """A layout by the numbers that its dimensions have in another order."""
    assert layout.panel is None
    return Layout(tuple(order.index(d) for d in layout.order))

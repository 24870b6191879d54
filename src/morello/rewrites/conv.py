"""Convolutions as loops of matmuls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from morello.ir.axes import Axis
from morello.ir.batch import Batch
from morello.ir.compose import compose, inputs_of
from morello.ir.dtype import DType
from morello.ir.kept import NONE, Kept
from morello.ir.layout import Layout, row_major
from morello.ir.operation import (
    Operand,
    Operation,
    Primitive,
    accumulating,
    changed,
    reordered,
)
from morello.ir.placements import Bools, Ints, prod_columns
from morello.ir.primitives import (
    PIXELS,
    conv,
    fill,
    matmul,
    move,
    windows_of,
)
from morello.ir.spec import Spec
from morello.ir.tensor import LINE_BYTES, Placement
from morello.rewrites.accumulate import wide_sums
from morello.rewrites.buffer import buffer_codes, check_rank, level_number
from morello.rewrites.rewrite import Application, Child, Edges, Rank, Rewrite, everywhere
from morello.rewrites.tile import tiled
from morello.targets.target import Condition, Target

ROLES = {"x": "m", "c": "k", "f": "n"}
"""The matmul dimension of each dimension of a convolution, for one row and filter pixel."""


@dataclass(frozen=True)
class SpatialSplit(Rewrite):
    """Loop over the pixels of the filter; each is a matmul along one row of the output.

    ConvAccum(b=1, f=8, c=4, y=1, x=30, p=3, q=3)
      -> for p in 0..3: for q in 0..3: MatmulAccum(m=30, k=4, n=8)
    """

    name = "spatial_split"
    lowers = Rank.OPERATION
    style = "loop"
    indents = ("body",)

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        yield from _is_accumulating_conv(batch)
        yield from wide_sums(batch)
        yield from _in_memory(batch, (0, 1), target)
        yield from _along_kept(batch, target)
        pixels = pixels_of(batch.operation)
        for dim in ("b", *[d for d in pixels if d not in ROLES]):
            yield Condition(batch.size(dim) == 1, f"{dim} must be 1")
        for dim, inner in pixels.items():
            position, _ = batch.operation.places[0, dim]
            cut = batch.placements.paneled_along(batch.codes[0], position)
            whole = ~cut | (batch.size(inner) == 1)
            yield Condition(whole, f"the window would cut panels of the image along {dim}")
            position, _ = batch.operation.places[1, inner]
            cut = batch.placements.cuts_groups(batch.codes[1], position, 1)
            yield Condition(~cut, f"it would cut groups of the filter along {inner}")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        inner = pixels_of(batch.operation).values()
        times = prod_columns([batch.size(dim) for dim in inner])
        pixel = batch
        for dim in inner:
            pixel = tiled(pixel, dim, np.ones(len(batch), np.int32), target)
        return [Edges(np.arange(len(batch)), children=(Child(_matmul(pixel, ("x",)), times),))]

    @classmethod
    def successors(cls, primitive: Primitive) -> Sequence[Primitive]:
        return (primitive.lowers_to,) if primitive.lowers_to else ()

    def words(self, applied: Application) -> str:
        inner = pixels_of(applied.spec.operation).values()
        return ", ".join(f"for {dim} in 0..{applied.spec.size(dim)}" for dim in inner)


@dataclass(frozen=True)
class Pointwise(Rewrite):
    """Turn a convolution with filters of one pixel into a matmul over all pixels of the image.

    ConvAccum(b=1, f=8, c=4, y=7, x=7, p=1, q=1)
      -> MatmulAccum(m=49, k=4, n=8)
    """

    name = "pointwise"
    lowers = Rank.OPERATION

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        yield from _is_accumulating_conv(batch)
        yield from _in_memory(batch, (0, 2), target)
        yield from _along_kept(batch, target)
        for dim in ("b", *pixels_of(batch.operation).values()):
            yield Condition(batch.size(dim) == 1, f"{dim} must be 1")
        strides = {stride for axis in batch.operation.axes[0] for _, stride in axis.terms}
        yield Condition(everywhere(batch, strides == {1}), "its strides must be 1")
        for operand in (0, 2):
            flat = _rows_follow(batch, operand)
            name = batch.operation.operands[operand].name
            yield Condition(flat, f"the rows of {name} must follow each other without gaps")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        body = Child(_matmul(batch, tuple(pixels_of(batch.operation))))
        return [Edges(np.arange(len(batch)), children=(body,))]

    @classmethod
    def successors(cls, primitive: Primitive) -> Sequence[Primitive]:
        return (primitive.lowers_to,) if primitive.lowers_to else ()

    def words(self, applied: Application) -> str:
        return "all pixels as the rows of a matmul"


@dataclass(frozen=True)
class Ungroup(Rewrite):
    """Do a convolution of a single group as one without groups.

    GroupedConv(b=1, g=1, f=8, c=4, y=7, x=7, p=3, q=3)
      -> Conv(b=1, f=8, c=4, y=7, x=7, p=3, q=3)
    """

    name = "ungroup"
    lowers = Rank.OPERATION

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        right = batch.operation.grouped
        yield Condition(everywhere(batch, right), f"{batch.operation} has no groups")
        if right:
            yield Condition(batch.size("g") == 1, "g must be 1")
            yield from _in_memory(batch, (0, 1), target)

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        conv = ungrouped(batch.operation)
        sizes = dict(zip(batch.operation.dims, batch.sizes, strict=True))
        ones = np.ones(len(batch), np.int32)
        body = replace(batch, operation=conv, sizes=tuple(sizes.get(d, ones) for d in conv.dims))
        return [Edges(np.arange(len(batch)), children=(Child(body),))]

    @classmethod
    def successors(cls, primitive: Primitive) -> Sequence[Primitive]:
        return (primitive.ungrouped,) if primitive.ungrouped else ()

    def words(self, applied: Application) -> str:
        return "a single group, as a convolution without groups"

    def trait(self, spec: Spec) -> str:
        return ""


@cache
def ungrouped(grouped: Operation) -> Operation:
    """The convolution that one of a single group is."""
    single = conv(tuple(windows_of(grouped).values()), False, grouped.accumulates)
    orders = [
        tuple(
            channels if "g" in axis.names else dim
            for dim, axis in zip(operand.dims, axes, strict=True)
        )
        for operand, axes, channels in zip(grouped.operands, grouped.axes, "cff", strict=True)
    ]
    return reordered(single, orders)


@dataclass(frozen=True)
class PadFirst(Rewrite):
    """Copy the image into a buffer with its padding around it, row-major or in another layout.

    Conv(.., image padded by 1)
      -> FillZero(buffer); Move(image -> the middle of buffer); Conv(.., buffer)
    """

    level: str
    layout: Layout | None = None

    name = "pad_first"
    lowers = Rank.OPERATION

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        operation = batch.operation
        padded = is_padded(operation)
        yield Condition(everywhere(batch, padded), f"{operation} has no padding")
        level = level_number(self, self.level, target)
        near = batch.levels[0] <= level
        memory = everywhere(batch, level < target.registers)
        yield Condition(near & memory, f"image must be padded in a cache, not in {self.level}")
        if self.layout is not None:
            check_rank(self, self.layout, len(batch.shape(0)), "image")
            plain = self.layout.panel is None
            yield Condition(everywhere(batch, plain), "an image with its padding has no panels")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        level = level_number(self, self.level, target)
        here = np.full(len(batch), level, np.int8)
        whole = replace(batch, operation=unpadded(batch.operation, tuple(PIXELS)))
        shape = tuple(s.astype(np.int32) for s in whole.shape(0))
        image = tuple(s.astype(np.int32) for s in batch.shape(0))
        dtype, rank = batch.dtypes[0], len(shape)
        code = self._code(batch, shape, dtype)
        inside = batch.placements.tile(shape, image, code, dtype.bytes)
        buffer = len(batch.operation.operands)
        body = replace(whole, levels=(here, *batch.levels[1:]), codes=(code, *batch.codes[1:]))
        rest = (dtype,), batch.placements, shape, (here,), (code,), batch.parallel
        start = batch.operation.operands[batch.operation.output].start
        filled = Batch(fill(rank, start), *rest)
        copy = Batch(
            move(rank), (dtype, dtype), batch.placements, image,
            (batch.levels[0], here), (batch.codes[0], inside), batch.parallel,
        )  # fmt: skip
        volume = prod_columns(shape)
        lines = -(-volume * dtype.bytes // LINE_BYTES)
        children = (
            Child(filled, role="fill", tensors=(buffer,)),
            Child(copy, role="in", tensors=(0, buffer)),
            Child(body, tensors=(buffer, *range(1, len(batch.operation.operands)))),
        )
        return [Edges(np.arange(len(batch)), 0.0, {level: lines} if level else {}, children)]

    def __str__(self) -> str:
        layout = "" if self.layout is None else f" as {self.layout}"
        return f"pad_first(in {self.level}{layout})"

    def relaxed(self, *, kept: Kept) -> Rewrite:
        return _Along(self.level, self.layout) if kept != NONE else _Ideal(self.level)

    def words(self, applied: Application) -> str:
        image = applied.spec.operation.operands[0].name
        layout = "" if self.layout is None else f" as {self.layout}"
        return f"{applied.name(image)}, padded -> {self.level}{layout}"

    def _code(self, batch: Batch, shape: Sequence[Ints], dtype: DType) -> Ints:
        """The placements of the buffer, as codes."""
        return buffer_codes(batch, shape, self.layout or row_major(len(shape)), 0, dtype)


@dataclass(frozen=True)
class _Along(PadFirst):
    """`PadFirst` into a buffer whose layout is ideal, except for the dimension of neighbours."""

    name = ""

    def _code(self, batch: Batch, shape: Sequence[Ints], dtype: DType) -> Ints:
        return batch.placements.relaxed_along(super()._code(batch, shape, dtype))


@dataclass(frozen=True)
class _Ideal(PadFirst):
    """`PadFirst` into a buffer of the ideal layout."""

    name = ""

    def _code(self, batch: Batch, shape: Sequence[Ints], dtype: DType) -> Ints:
        return batch.placements.relaxed(super()._code(batch, shape, dtype))


@dataclass(frozen=True)
class Crop(Rewrite):
    """Leave out the last rows and columns of an image, which are in no window.

    Conv(.., image of 8 rows; windows of 3 rows with stride 2)
      -> Conv(.., image of 7 rows)
    """

    name = "crop"
    lowers = Rank.OPERATION

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        smaller = cropped(batch.operation) is not batch.operation
        yield Condition(everywhere(batch, smaller), f"{batch.operation} reads its whole image")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        body = replace(batch, operation=cropped(batch.operation))
        codes = tuple(
            batch.placements.tile(batch.shape(o), body.shape(o), code, batch.dtypes[o].bytes)
            if batch.operation.operands[o].dims != body.operation.operands[o].dims
            else code
            for o, code in enumerate(batch.codes)
        )
        return [Edges(np.arange(len(batch)), children=(Child(replace(body, codes=codes)),))]

    def words(self, applied: Application) -> str:
        return "without the rows and columns that are in no window"

    def trait(self, spec: Spec) -> str:
        return ""


@cache
def cropped(operation: Operation) -> Operation:
    """The operation on images without elements that are in no window.

    In a composition, what is computed stays whole.
    """
    if operation.primitive is not None:
        return _read_only(operation)
    inputs = inputs_of(operation)
    components = [
        replace(component, operation=_read_only(component.operation))
        if component.operation.windows and component.inputs[0] < inputs
        else component
        for component in operation.components
    ]
    if all(new == old for new, old in zip(components, operation.components, strict=True)):
        return operation
    dims = {
        tensor: component.operand_dims(position)
        for component in components
        for position, tensor in enumerate(component.inputs)
        if component.operation.windows and tensor < inputs
    }
    operands = [
        replace(o, dims=dims.get(tensor, o.dims))
        for tensor, o in enumerate(operation.operands[:-1])
    ]
    smaller = compose(operands, components)
    return accumulating(smaller) if operation.accumulates else smaller


def _read_only(primitive: Operation) -> Operation:
    """A primitive on an image of which everything is read."""
    if not any(axis.unread for axis in primitive.axes[0]):
        return primitive
    dims = tuple(str(axis.cropped) for axis in primitive.axes[0])
    return reordered(primitive, [dims, *(o.dims for o in primitive.operands[1:])])


@cache
def unpadded(conv: Operation, along: tuple[str, ...]) -> Operation:
    """The operation on an image without padding along these dimensions of the output."""
    image, *others = conv.operands
    axes = [axis for axis in conv.axes[0] if axis.padded and axis.names[0] in along]
    dims = tuple(
        str(Axis(axis.terms, 0, min(0, axis.after)) if axis in axes else axis)
        for axis in conv.axes[0]
    )
    freed = {name for axis in axes for name in axis.names}
    untiled = tuple(dim for dim in conv.untiled if dim not in freed)
    return changed(conv, operands=(Operand(image.name, dims), *others), untiled=untiled)


def is_padded(operation: Operation) -> bool:
    """Whether the operation is a primitive that slides windows over a padded image."""
    primitive = operation.primitive is not None
    return primitive and any(axis.padded for axis in operation.axes[0])


def pixels_of(conv: Operation) -> dict[str, str]:
    """The dimensions of a window by those of the output that it slides along."""
    return {dim: inner for dim, inner in PIXELS.items() if dim in conv.dims}


def _matmul_operation(conv: Operation) -> Operation:
    """The matmul of one row and filter pixel; operands keep the order of their dimensions."""
    orders = [
        tuple(ROLES[name] for axis in axes for name in axis.names[:1] if name in ROLES)
        for axes in conv.axes
    ]
    return reordered(matmul(0, accumulates=True), orders)


def kept_dims(conv: Operation, operand: int) -> list[int]:
    """The positions of an operand's dimensions that the matmul keeps."""
    return [i for i, axis in enumerate(conv.axes[operand]) if axis.names[0] in ROLES]


def _matmul(batch: Batch, rows: tuple[str, ...]) -> Batch:
    """The matmuls equal to convolutions with one filter pixel; `rows` are merged into m."""
    conv = batch.operation
    length = np.ones(len(batch), np.int32)
    for dim in rows:
        length = length * batch.size(dim)
    strided = any(stride > 1 for axis in conv.axes[0] for n, stride in axis.terms if n == "x")
    codes = tuple(
        batch.placements.squeezed(
            batch.codes[o], tuple(kept_dims(conv, o)), strided=strided and o == 0
        )
        for o in range(3)
    )
    sizes = (length, batch.size("c"), batch.size("f"))
    matmuls = replace(batch, operation=_matmul_operation(conv), sizes=sizes, codes=codes)
    return matmuls.canonical()


def _rows_follow(batch: Batch, operand: int) -> Bools:
    """Whether rows follow each other without gaps, or there is only one."""
    if "y" not in batch.operation.dims:
        return everywhere(batch, True)
    y, x = (batch.operation.places[operand, d][0] for d in "yx")
    follow = batch.placements.where(batch.codes[operand], partial(_next, y=y, x=x))
    result: Bools = follow | (batch.size("y") == 1)
    return result


def _next(placement: Placement, y: int, x: int) -> bool:
    """Whether there are no gaps, and x is the next faster dimension after y."""
    layout = placement.layout
    plain = layout.panel is None or layout.panel[0] not in (y, x)
    follows = layout.order.index(x) == layout.order.index(y) + 1
    return placement.gapless and plain and follows


def _in_memory(batch: Batch, operands: Sequence[int], target: Target) -> Iterator[Condition]:
    for operand in operands:
        name = batch.operation.operands[operand].name
        here = batch.levels[operand] < target.registers
        yield Condition(here, f"{name} must be in memory")


def _along_kept(batch: Batch, target: Target) -> Iterator[Condition]:
    """Registers run along dimensions that the matmul has as well."""
    for index, operand in enumerate(batch.operation.operands):
        kept = batch.placements.runs_along(batch.codes[index], kept_dims(batch.operation, index))
        legal = (batch.levels[index] < target.registers) | kept
        reason = f"registers of {operand.name} must run along a dimension of the matmul"
        yield Condition(legal, reason)


def _is_accumulating_conv(batch: Batch) -> Iterator[Condition]:
    operation = batch.operation
    right = operation.lowers_to is not None and operation.accumulates and not operation.grouped
    yield Condition(everywhere(batch, right), "it is for ConvAccum")
    padded = any(axis.padded for axis in batch.operation.axes[0])
    yield Condition(everywhere(batch, not padded), "its image is padded; apply pad_first")
    unread = any(axis.unread for axis in batch.operation.axes[0])
    yield Condition(everywhere(batch, not unread), "its image has unread elements; apply crop")

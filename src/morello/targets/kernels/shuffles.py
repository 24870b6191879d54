"""Kernels that change the order of elements: transposes, packing, and odd-even blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import BF16, F32, I8, U8X4, DType
from morello.ir.placements import Bools, prod_columns
from morello.ir.primitives import move, packed_along
from morello.ir.tensor import LINE_BYTES
from morello.targets.kernels.conditions import contiguous, flat, unit_sizes
from morello.targets.kernels.crossing import crossed
from morello.targets.kernels.moves import LOAD, STORE
from morello.targets.target import Column, Condition, LeafKernel, Semantics

Applies = Callable[[Batch], Iterator[Condition]]

STORE_ACROSS = 4.0
"""Cycles more of a store that crosses lines, if the next one is to another row."""


def transpose(dtype: DType, n: int, cycles: float) -> LeafKernel:
    """Transpose a block of n x n elements in cache: another dimension becomes the fastest."""

    def applies(s: Batch) -> Iterator[Condition]:
        squares = sum((size == n).astype(np.int8) for size in s.sizes)
        units = sum((size == 1).astype(np.int8) for size in s.sizes)
        whole = (squares == 2) & (units == len(s.sizes) - 2)
        yield Condition(whole, f"two sizes must be {n}, all others 1")
        transposes = np.zeros(len(s), np.bool_)
        for first in s.operation.dims:
            for second in s.operation.dims:
                if first != second:
                    transposes |= _near(s, 0, first, n) & _near(s, 1, second, n)
        reason = "src and dst must lie along different ones of the two dimensions"
        yield Condition(transposes, reason)

    def cost(s: Batch) -> Column:
        return cycles + STORE_ACROSS * n * crossed(s, 1, n)

    return LeafKernel(
        f"transpose_{dtype}_{n}", "Move", (dtype, dtype), (None, None),
        f"transpose_{dtype.bytes}_{n}(&{{src}}, {{src_rows}}, &{{dst}}, {{dst_rows}});",
        lambda src: src, applies, cost, registers=n, group="shuffles",
    )  # fmt: skip


FILTER_RANK = 4
"""The dimensions: filters, channels, and rows and columns of pixels."""

MOST_PIXELS = 25
"""The most pixels of a filter in `transpose_filters`: its code is unrolled."""


def transpose_filters(dtype: DType, n: int, cycles: float) -> LeafKernel:
    """Transpose n channels of n whole filters: the filters become the fastest dimension.

    A filter's elements are contiguous, one channel after the other. They are transposed n at a
    time, across the boundaries of channels.
    """

    def applies(s: Batch) -> Iterator[Condition]:
        src, dst = (operand.dims for operand in s.operation.operands)
        right = src == dst and len(src) == FILTER_RANK
        yield Condition(np.full(len(s), right), "src and dst must be filters")
        if not right:
            return
        filters, channels, rows, columns = s.sizes
        pixels = rows.astype(np.int64) * columns
        yield Condition((filters == n) & (channels == n), f"the first two sizes must be {n}")
        few = (pixels > 1) & (pixels <= MOST_PIXELS)
        yield Condition(few, f"2 to {MOST_PIXELS} pixels must be left")
        codes = s.codes[0]
        pieces, _ = s.placements.runs(s.shape(0), codes)
        whole = (pieces <= n) & s.placements.row_major(codes)
        yield Condition(whole, "each filter of src must lie in one piece")
        yield Condition(_near(s, 1, s.operation.dims[0], n), "dst must lie along its filters")

    def cost(s: Batch) -> Column:
        return cycles * prod_columns(s.sizes[2:])

    row, channel, y, x = move(FILTER_RANK).dims
    return LeafKernel(
        f"transpose_filters_{dtype}_{n}", "Move", (dtype, dtype), (None, None),
        f"transpose_filters_{dtype.bytes}_{n}(&{{src}}, {{src_{row}}}, &{{dst}}, "
        f"{{dst_{channel}}}, {{dst_{y}}}, {{dst_{x}}}, {{{y}}}, {{{x}}});",
        lambda src: src, applies, cost, registers=n, group="shuffles",
    )  # fmt: skip


def repeat(dtype: DType, width: int, times: int) -> LeafKernel:
    """Repeat each element of a contiguous run so many times, one beside the other."""

    def applies(s: Batch) -> Iterator[Condition]:
        *_, along, repeated = s.operation.dims
        last = (0, repeated) not in s.operation.places and (0, along) in s.operation.places
        yield Condition(np.full(len(s), last), "the last dimension of out must be the one x lacks")
        if not last:
            return
        yield from unit_sizes(s, but=(along, repeated))
        yield Condition(s.sizes[-1] == times, f"the last size must be {times}")
        least = max(times, width // times)
        yield Condition(s.sizes[-2] >= least, f"x must have at least {least} elements")
        yield flat(s, 0)
        runs, _ = s.runs(1)
        yield Condition((runs == 1) & s.placements.row_major(s.codes[1]), "out must be contiguous")

    def cost(s: Batch) -> Column:
        cycles: Column = 1.0 + (LOAD + STORE + 0.5) * -(-s.sizes[-2] * times // width)
        return cycles

    return LeafKernel(
        f"repeat{times}_{dtype}", "Broadcast", (dtype, dtype), (None, None),
        f"repeat{times}_{dtype.bytes}(&{{x}}, &{{out}}, {{length}});",
        lambda x: x, applies, cost, registers=2, group="shuffles",
    )  # fmt: skip


def _near(s: Batch, operand: int, dim: str, n: int) -> Bools:
    """Where a dimension has size n, and its elements are contiguous in memory."""
    near: Bools = contiguous(s, operand, dim) & (s.size(dim) == n)
    return near


PACK_ROW = 1.2
"""Cycles to pack each row of a block of groups."""


def pack(source: DType, packed: DType, width: int) -> tuple[LeafKernel, ...]:
    """Interleave elements of neighbouring rows, one of each row, into `width` packed groups.

    The second kernel does so with fewer rows than groups have elements, and zeros. Signed bytes
    that are packed as unsigned ones become 128 larger.
    """
    lanes = packed.lanes
    kind = source.c if lanes == 2 else "uint8_t"

    def applies(s: Batch) -> Iterator[Condition]:
        yield from _one_group(s, width)
        yield flat(s, 1)
        if width > 1:
            yield Condition(_rows_near(s), "rows of src must be neighbours in memory")

    def of_whole(s: Batch) -> Iterator[Condition]:
        yield Condition(s.size("p") == lanes, f"p must be {lanes}")
        yield from applies(s)

    def of_part(s: Batch) -> Iterator[Condition]:
        yield Condition(s.size("p") < lanes, f"p must be below {lanes}")
        yield from applies(s)

    def kernel(name: str, line: str, applies: Applies) -> LeafKernel:
        return LeafKernel(
            f"{name}_{packed}" + f"x{width}" * (width > 1) + suffix, "Pack",
            (source, packed), (None, None), line + flip * bool(suffix), semantics, applies,
            lambda s: PACK_ROW * lanes, registers=2 * lanes, group="shuffles",
        )  # fmt: skip

    suffix, bits, semantics = _biased(source, packed)
    flip = f" flip_u8x{lanes * width}(&{{dst}});" if width > 1 else f" {{dst}} ^= {bits};"
    first = f"(const {kind} *)&{{src}}"
    if width > 1:
        rows = ", ".join(first + (f" + {i} * {{src_p}}" if i else "") for i in range(lanes))
        whole = f"interleave{lanes}_{width}({rows}, ({kind} *)&{{dst}});"
        part = f"interleave_part{lanes}_{width}({first}, {{src_p}}, {{p}}, ({kind} *)&{{dst}});"
    else:
        unsigned = f"uint{8 * source.bytes}_t"
        group = " | ".join(
            f"(uint32_t)({unsigned})(&{{src}})[{i} * {{src_p}}] << {8 * source.bytes * i}"
            for i in range(lanes)
        )
        whole = f"{{dst}} = {group};"
        part = f"{{dst}} = group_part{lanes}({first}, {{src_p}}, {{p}});"
    return kernel("pack", whole, of_whole), kernel("pack_part", part, of_part)


def _biased(source: DType, packed: DType) -> tuple[str, str, Semantics]:
    """The end of a kernel's name, what groups are flipped by, and the semantics."""
    if source is not I8 or packed is not U8X4:
        return "", "", lambda src: src
    return "_i8", "0x80808080", lambda src: (src.astype(np.int16) + 128).astype(np.uint8)


FEW = 0.3
"""Cycles more to pack a part of a register of groups, than to pack a block."""


def pack_few(source: DType, packed: DType, width: int) -> LeafKernel:
    """Pack elements of neighbouring rows, one of each, into the groups of a part of a register.

    Rows may be fewer than groups have elements; zeros take their place.
    """
    lanes, bits = packed.lanes, 8 * source.bytes
    suffix, flip, semantics = _biased(source, packed)

    def applies(s: Batch) -> Iterator[Condition]:
        sizes = [size for dim, size in zip(s.operation.dims, s.sizes, strict=True) if dim != "p"]
        count = prod_columns(sizes)
        fits = (reduce(np.maximum, sizes) == count) & (count > 1) & (count <= width)
        yield Condition(fits, f"one size must be from 2 to {width}, all others 1")
        yield flat(s, 1)
        yield Condition(_rows_near(s), "rows of src must be neighbours in memory")

    return LeafKernel(
        f"pack_few_{packed}x{width}{suffix}", "Pack", (source, packed), (None, None),
        f"interleave_few{lanes}((const uint{bits}_t *)&{{src}}, {{src_p}}, {{p}}, "
        f"{{elements}} / {{p}}, {flip or 0}, &{{dst}});",
        semantics, applies, lambda s: PACK_ROW * lanes + FEW,
        registers=2 * lanes, group="shuffles",
    )  # fmt: skip


RUN, RUN_LINE = 4.0, 2.0
"""Cycles to begin to copy a run of groups, and of each line of it."""


def pack_run(source: DType, packed: DType) -> LeafKernel:
    """Copy a run of neighbours to groups, of which the last may be filled up with zeros."""
    lanes = packed.lanes
    suffix, flip, semantics = _biased(source, packed)

    def applies(s: Batch) -> Iterator[Condition]:
        along = packed_along(s.operation)
        yield from unit_sizes(s, but=(along, "p"))
        yield Condition(s.size(along) >= lanes, f"{along} must be at least {lanes}")
        yield flat(s, 0)
        yield flat(s, 1)

    def cost(s: Batch) -> Column:
        lines = -(-s.size(packed_along(s.operation)) * packed.bytes // LINE_BYTES)
        cycles: Column = RUN + RUN_LINE * lines
        return cycles

    return LeafKernel(
        f"pack_run_{packed}{suffix}", "Pack", (source, packed), (None, None),
        f"pack_run(&{{src}}, &{{dst}}, {{length}}, {{p}} * {source.bytes}, {flip or 0});",
        semantics, applies, cost, registers=1, group="shuffles",
    )  # fmt: skip


def _one_group(s: Batch, width: int) -> Iterator[Condition]:
    sizes = [size for dim, size in zip(s.operation.dims, s.sizes, strict=True) if dim != "p"]
    longest = reduce(np.maximum, sizes)
    volume = prod_columns(sizes)
    fits = (longest == width) & (volume == width)
    yield Condition(fits, f"one size must be {width}, all others 1")


def _rows_near(s: Batch) -> Bools:
    """Where src is contiguous along a dimension longer than 1 other than the packed one."""
    result = np.zeros(len(s), np.bool_)
    for dim in s.operation.dims:
        if dim != "p":
            _, stride = s.operation.places[0, dim]
            if stride == 1:
                result |= contiguous(s, 0, dim) & (s.size(dim) > 1)
    return result


def odd_even(block: int) -> tuple[LeafKernel, ...]:
    """Copy a block of bf16 or f32 to f32 with the even elements first, and back."""
    half = block // 2

    def kernel(
        name: str, source: DType, target: DType, into: bool, helper: str, cycles: float
    ) -> LeafKernel:
        blocked, plain = (1, 0) if into else (0, 1)

        def applies(s: Batch) -> Iterator[Condition]:
            yield from unit_sizes(s, but=(s.operation.dims[-1],))
            whole = s.sizes[-1] == block
            yield Condition(whole, f"the last size must be {block}")
            yield flat(s, plain)
            position, _ = s.operation.places[blocked, s.operation.dims[-1]]
            right = s.placements.in_blocks(s.codes[blocked], position, block)
            label = s.operation.operands[blocked].name
            yield Condition(right, f"{label} must lie in odd-even blocks of {block}")

        def semantics(src: Any) -> Any:
            return src.astype(target.np)

        return LeafKernel(
            name, "Move", (source, target), (None, None), f"{helper}(&{{src}}, &{{dst}});",
            semantics, applies, lambda s: cycles, registers=4, group="shuffles",
        )  # fmt: skip

    return (
        kernel(
            f"deinterleave_f32_bf16_{block}", BF16, F32, True, f"deinterleave_f32_bf16_{half}", 3.0
        ),
        kernel(
            f"interleave_bf16_f32_{block}", F32, BF16, False, f"interleave_bf16_f32_{half}", 9.0
        ),
        kernel(f"deinterleave_f32_{block}", F32, F32, True, f"deinterleave_4_{half}", 4.0),
        kernel(f"interleave_f32_{block}", F32, F32, False, f"interleave_4_{half}", 4.0),
    )


def odd_even_elements(dtype: DType) -> tuple[LeafKernel, ...]:
    """Copy a run, one element at a time, into an odd-even block or a part of one, and back."""

    def kernel(name: str, blocked: int) -> LeafKernel:
        label = ("src", "dst")[blocked]

        def applies(s: Batch) -> Iterator[Condition]:
            inside = s.placements.in_one_block(s.codes[blocked], s.shape(blocked))
            yield Condition(inside, f"{label} must lie in one odd-even block")
            yield flat(s, 1 - blocked)

        return LeafKernel(
            name, "Move", (dtype, dtype), (None, None),
            f"{name}(&{{src}}, &{{dst}}, {{{label}_panel}} / 2, {{length}});",
            lambda src: src, applies, lambda s: (LOAD + STORE) * prod_columns(s.sizes),
            registers=1, group="shuffles",
        )  # fmt: skip

    return kernel(f"deinterleave_{dtype}", 1), kernel(f"interleave_{dtype}", 0)

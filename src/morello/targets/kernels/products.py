"""Kernels for sums of products: a scalar times registers, and inner products."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import BF16X2, F32, I8X4, I32, DType
from morello.ir.placements import Bools
from morello.ir.primitives.convolutions import channels_of
from morello.ir.tensor import LINE_BYTES
from morello.targets.helpers.columns import BUFFER_BYTES, COLUMNS, MOST_COLUMNS
from morello.targets.kernels.conditions import (
    every_second,
    flat,
    no_panels,
    rows_without_gaps,
    unit_sizes,
)
from morello.targets.kernels.names import added, kind_of
from morello.targets.target import Column, Condition, Group, InRegisters, LeafKernel, Semantics

# Cycles of one register's operation. Loads and broadcasts overlap with the multiply-adds, on
# other ports, and so cost less than their throughput alone.
MULTIPLY_ADD = 0.45
INTEGER_MULTIPLY_ADD = 1.0
BROADCAST = 0.1
CONVERT = 0.3
LOAD = 0.3
BOUND_LOAD = 0.54
"""Cycles of a load from the nearest cache where loads are the bottleneck: two start in one."""
REPEAT = {4: 0.6, 8: 1.0}
"""Cycles to repeat each of so many neighbours within a register: 8 are in two lanes."""
EVERY_SECOND = 1.5
"""Cycles to load every second of neighbours: two loads and a shuffle."""

DOT_START = 3.0
"""Cycles to begin and end an inner product: most of its latency overlaps with the next one."""
DOT_ACROSS = 0.3
"""Cycles more of each line, as half of all arrays begin inside of lines."""

PANELS = (1, 2, 3, 4)
"""The widths of panels, in registers, in which columns of groups of bytes are summed."""
FAR_STORE = 3.0
"""Cycles of a register that is stored beyond the caches of a core."""
COLUMN, TRANSPOSED, TOTAL, SINGLE_ROW, STREAMED_ROW, AHEAD = 0.55, 0.5, 3.5, 3.0, 1.3, 0.25
"""Cycles of products with few columns: a multiply-add beside loads, to bring an element of b to its
column, to end up to four sums of a row, a step of a single row, a register of a from an L2 that
gives one a cycle, and a prefetch.
"""


def multiply_add(
    scalar: DType, vector: DType, width: int, *, scalar_is_a: bool, in_order: bool
) -> LeafKernel:
    """A scalar in the nearest cache, broadcast, times registers, added to registers of c.

    A scalar of a gives a row of c, a scalar of b a column. It may be of a narrower dtype, and
    is then converted first. With `in_order`, the compiler keeps the order of the code.
    """
    kind = kind_of(vector, width)
    along = "n" if scalar_is_a else "m"
    held = InRegisters(width, along if width > 1 else "")
    value = _converted(scalar, vector, "{a}" if scalar_is_a else "{b}")
    if vector.is_float:
        product = f"{value} * {{b}}" if scalar_is_a else f"{{a}} * {value}"
        line = f"{{c}} += {product};"
    else:
        other = "{b}" if scalar_is_a else "{a}"
        line = f"{{c}} = multiply_add_{kind}({{c}}, {value}, {other});"
    each = MULTIPLY_ADD if vector.is_float else INTEGER_MULTIPLY_ADD
    own = BROADCAST + CONVERT * (scalar is not vector)

    def cost(s: Batch) -> Column:
        cycles: Column = own + each * s.registers(2)
        return cycles

    suffix = "" if scalar is vector else f"_{scalar}"
    order = (scalar, vector) if scalar_is_a else (vector, scalar)
    return LeafKernel(
        f"fma_{'row' if scalar_is_a else 'column'}_{kind}{suffix}",
        "MatmulAccum",
        (*order, vector),
        (None, held, held) if scalar_is_a else (held, None, held),
        line,
        sum_of_products(vector),
        lambda s: unit_sizes(s, but=(along,)),
        cost,
        registers=1,
        in_order=in_order and vector.is_float and width > 1,
        group="products",
    )


def depthwise(scalar: DType, vector: DType, width: int, *, by_channel: bool) -> LeafKernel:
    """A pixel of a depthwise filter times registers of the image, added to registers of the output.

    Registers run along channels and hold as many pixels of filters, or along columns, times a
    scalar in the nearest cache, of the one filter.
    """
    kind = kind_of(vector, width)
    along = "g" if by_channel else "x"
    held = InRegisters(width, along if width > 1 else "")
    factor = "{filter}" if by_channel else _converted(scalar, vector, "{filter}")
    line = f"{{out}} += {{image}} * {factor};"
    if not vector.is_float and by_channel:
        line = added("{out}", f"multiply_{kind}({{image}}, {factor})", vector, width)
    elif not vector.is_float:
        line = f"{{out}} = multiply_add_{kind}({{out}}, {factor}, {{image}});"
    each = MULTIPLY_ADD if vector.is_float else INTEGER_MULTIPLY_ADD
    own = 0.0 if by_channel else BROADCAST + CONVERT * (scalar is not vector)

    def applies(s: Batch) -> Iterator[Condition]:
        yield from unit_sizes(s, but=(along,))
        plain = all(axis.plain for axis in s.operation.axes[0])
        window = not any(axis.before or axis.after for axis in s.operation.axes[0])
        _, stride = s.operation.places[0, along]
        right = plain or (window and stride == 1)
        reason = f"windows along {along} must have stride 1, and no padding"
        yield Condition(np.full(len(s), right), reason)

    def cost(s: Batch) -> Column:
        cycles: Column = own + each * s.registers(2)
        return cycles

    suffix = "" if by_channel or scalar is vector else f"_{scalar}"
    return LeafKernel(
        f"depthwise_{'channels' if by_channel else 'columns'}_{kind}{suffix}",
        "DepthwiseConvAccum",
        (vector, scalar, vector),
        (held, held if by_channel else None, held),
        line,
        lambda image, weights, out: out + (image.ravel() * weights.ravel()).reshape(out.shape),
        applies,
        cost,
        registers=1,
        group="products",
    )


def depthwise_by_two(vector: DType, width: int) -> LeafKernel:
    """A register of every second pixel of a row, times a scalar of the one filter, added.

    The image and the filter are in the nearest cache.
    """
    kind, held = kind_of(vector, width), InRegisters(width, "x")

    def applies(s: Batch) -> Iterator[Condition]:
        yield from unit_sizes(s, but=("x",))
        yield from every_second(s, width)

    return LeafKernel(
        f"depthwise_by_two_{kind}",
        "DepthwiseConvAccum",
        (vector,) * 3,
        (None, None, held),
        f"{{out}} += every_second_{kind}(&{{image}}) * {{filter}};",
        lambda image, weights, out: out + image.ravel()[::2].reshape(out.shape) * weights.ravel(),
        applies,
        lambda s: BROADCAST + MULTIPLY_ADD + EVERY_SECOND,
        registers=3,
        group="products",
    )


def conv_by_two(width: int, *, in_order: bool) -> LeafKernel:
    """A pixel of filters, times a register of every second pixel of a row, added to their sums.

    The image and the filters are in the nearest cache; each filter has a register of the output.
    """
    kind, held = kind_of(F32, width), InRegisters(width, "x")

    def applies(s: Batch) -> Iterator[Condition]:
        yield from unit_sizes(s, but=("f", "x"))
        yield from every_second(s, width)
        yield no_panels(s, 1)

    def semantics(image: Any, weights: Any, out: Any) -> Any:
        columns = image.shape.index(image.size)
        products = weights.reshape(-1, 1) * image.ravel()[::2]
        columns_last = np.moveaxis(out, columns, -1).shape
        return out + np.moveaxis(products.reshape(columns_last), -1, columns)

    def cost(s: Batch) -> Column:
        cycles: Column = EVERY_SECOND + (BROADCAST + MULTIPLY_ADD) * s.registers(2)
        return cycles

    return LeafKernel(
        f"conv_by_two_{kind}",
        "ConvAccum",
        (F32,) * 3,
        (None, None, held),
        f"{{out}} += every_second_{kind}(&{{image}}) * (&{{filter}})[{{register}} * {{filter_f}}];",
        semantics,
        applies,
        cost,
        registers=3,
        in_order=in_order,
        group="products",
    )


def shared_groups(width: int, channels: int) -> LeafKernel:
    """One filter pixel of a convolution whose groups of so many channels share a register.

    The image and the filters are in the nearest cache. Each channel is repeated in a register for
    the filters of its group.
    """
    name = f"shared_groups_{channels}_{kind_of(F32, width)}"

    def applies(s: Batch) -> Iterator[Condition]:
        yield from unit_sizes(s, but=("g", "f", "c"))
        right = channels_of(s.operation) == (channels, channels)
        yield Condition(np.full(len(s), right), f"groups must have {channels} channels and filters")
        most = width // channels
        yield Condition(s.size("g") <= most, f"g must be at most {most}")
        yield rows_without_gaps(s, 0, "g")
        yield rows_without_gaps(s, 1, "g")

    def semantics(image: Any, weights: Any, out: Any) -> Any:  # the filters of each channel follow
        lanes = np.arange(image.size) // channels * channels
        factors = weights.reshape(channels, -1)
        sums = sum(image.ravel()[lanes + c] * factors[c] for c in range(channels))
        return out + np.reshape(sums, out.shape)

    return LeafKernel(
        name,
        "GroupedConvAccum",
        (F32,) * 3,
        (None, None, InRegisters(width, "g")),
        f"{{out}} = {name}({{out}}, &{{image}}, &{{filter}}, {{filter_c}}, {{g}});",
        semantics,
        applies,
        lambda s: LOAD + MULTIPLY_ADD + channels * (MULTIPLY_ADD + REPEAT[channels]),
        registers=4,
        group="products",
    )


def _converted(source: DType, target: DType, text: str) -> str:
    """C for a scalar as another dtype."""
    if source is target:
        return text
    return f"cast_{target}_{source}({text})" if source.is_float else f"({target.c}){text}"


def sum_of_products(dtype: DType) -> Semantics:
    """c + a @ b, computed in a dtype."""

    def semantics(a: Any, b: Any, c: Any) -> Any:
        return c + a.astype(dtype.np) @ b.astype(dtype.np)

    return semantics


def packed_multiply_add(
    dtypes: tuple[DType, DType, DType],
    width: int,
    function: str,
    slower: float,
    *,
    scalar_is_a: bool,
    registers: int,
) -> LeafKernel:
    """A packed group, broadcast, times registers of groups; sums are added to registers of c.

    It takes `slower` times as long as a multiply-add, and needs so many `registers` more.
    """
    a, b, _ = dtypes
    along = "n" if scalar_is_a else "m"
    held = InRegisters(width, along)
    splat = f"splat_{(a if scalar_is_a else b)}x{width}"
    arguments = f"{splat}({{a}}), {{b}}" if scalar_is_a else f"{{a}}, {splat}({{b}})"

    def cost(s: Batch) -> Column:
        cycles: Column = BROADCAST + slower * MULTIPLY_ADD * s.registers(2)
        return cycles

    return LeafKernel(
        f"{function}_{'row' if scalar_is_a else 'column'}",
        "MatmulAccum",
        dtypes,
        (None, held, held) if scalar_is_a else (held, None, held),
        f"{{c}} = {function}({{c}}, {arguments});",
        lambda x, y, z: z + unpacked(a, x, x.ndim - 1) @ unpacked(b, y, y.ndim - 2),
        lambda s: unit_sizes(s, but=(along,)),
        cost,
        registers=registers,
        group="products",
    )


def unpacked(dtype: DType, values: Any, axis: int) -> Any:
    """The numbers in an array of packed elements, the groups laid out along `axis`."""
    single = {"bf16x2": "uint16", "u8x4": "uint8", "i8x4": "int8"}[dtype.name]
    split = np.ascontiguousarray(values)[..., np.newaxis].view(single)
    wide = (
        (split.astype(np.uint32) << 16).view(np.float32)
        if dtype is BF16X2
        else split.astype(np.int32)
    )
    moved = np.moveaxis(wide, -1, axis + 1)
    shape = list(values.shape)
    shape[axis] *= dtype.lanes
    return moved.reshape(shape)


def unbias(width: int) -> LeafKernel:
    """-128 times the sums of columns of groups of signed bytes, stored in each row of c."""

    def in_registers(s: Batch) -> Bools:
        """Whether b has registers along n, in rows or panels."""
        panels = (0, *(count * width for count in PANELS))
        return reduce(or_, (rows_without_gaps(s, 0, "n", panel).holds for panel in panels))

    def applies(s: Batch) -> Iterator[Condition]:
        yield from unit_sizes(s, but=("m", "k", "n"))
        near = in_registers(s) | rows_without_gaps(s, 0, "k").holds
        yield Condition(near, "rows or columns of b must have no gaps")
        yield no_panels(s, 1)

    def cost(s: Batch) -> Column:
        m, k, n = (s.size(dim) for dim in ("m", "k", "n"))
        registers = -(-n // width)
        turned = np.maximum(k * registers, n * (k / width + TOTAL))
        sums = np.where(in_registers(s), k * registers, turned)
        stores = np.where(rows_without_gaps(s, 1, "n").holds, registers, n)
        cycles: Column = 20.0 + sums + m * stores * np.where(s.levels[1] == 0, FAR_STORE, 1.0)
        return cycles

    places = "&{b}, {b_k}, {b_n}, {b_panel}, &{c}, {c_m}, {c_n}, {m}, {k}, {n}"
    return LeafKernel(
        f"unbias_i32x{width}", "Unbias", (I8X4, I32), (None, None),
        f"unbias_i32x{width}({places});",
        lambda b: -128 * unpacked(I8X4, b, b.ndim - 2).sum(axis=-2, keepdims=True, dtype=np.int32),
        applies, cost, registers=6, anywhere=(0, 1), group="products",
    )  # fmt: skip


def inner_product(
    dtypes: tuple[DType, DType, DType],
    helper: str,
    name: str,
    step: int,
    each: float,
    odd_even: bool = False,
    group: Group = "dots",
) -> LeafKernel:
    """The inner product of two runs in the nearest cache, added to a scalar register.

    `step` elements take `each` cycles. With `odd_even`, the first run lies in odd-even
    blocks of as many elements.
    """
    c = dtypes[2]
    line = added("{c}", f"{helper}(&{{a}}, &{{b}}, {{k}})", c, 1)
    every = each + DOT_ACROSS * step * dtypes[1].bytes / LINE_BYTES

    def applies(s: Batch) -> Iterable[Condition]:
        yield from unit_sizes(s, but=("k",))
        yield Condition(s.size("k") >= step, f"k must be at least {step}")
        if odd_even:
            yield from _in_blocks(s, step)
        else:
            yield flat(s, 0)
        yield flat(s, 1)

    def cost(s: Batch) -> Column:
        k = s.size("k")
        cycles: Column = DOT_START + every * (k // step) + 1.0 * (k % step)
        return cycles

    return LeafKernel(
        name,
        "MatmulAccum",
        dtypes,
        (None, None, InRegisters(1)),
        line,
        sum_of_products(c),
        applies,
        cost,
        registers=6,
        odd_even=step if odd_even else 0,
        group=group,
    )


def few_columns(
    factors: DType,
    width: int,
    rows: int,
    masks: bool,
    l2_bytes: float,
    slower: float = 1.0,
    *,
    of_b: bool,
    fetched: str,
) -> LeafKernel:
    """A streamed matrix times few columns, added to c in the nearest cache.

    The columns are those of b, and a is streamed by rows; or they are the rows of a, and b is
    streamed by columns. Few columns with gaps are first copied. Blocks of a few rows and up to four
    columns are inner products, whose sums share their last steps. What `rows` do not divide, are
    single rows, whose few sums wait for each other, as those of blocks of fewer than four would.
    Two products of bf16 take one instruction, `slower` than a multiply-add. With "_l2", rows from
    memory are prefetched into L2.
    """
    least, most = COLUMNS // rows, BUFFER_BYTES // factors.bytes
    name, along, few, streamed = ("columns", "m", "n", 0) if of_b else ("rows", "n", "m", 1)
    x, y = "ab"[streamed], "ba"[streamed]
    suffix = fetched + ("" if factors is F32 else f"_{factors}_dp")
    ahead = AHEAD * bool(fetched)

    def applies(s: Batch) -> Iterator[Condition]:
        yield from unit_sizes(s, but=("m", "k", "n"))
        k, columns = s.size("k"), s.size(few)
        held = (columns >= least) & (columns <= MOST_COLUMNS)
        yield Condition(held, f"{few} must be from {least} to {MOST_COLUMNS}")
        yield Condition(s.size(along) >= rows, f"{along} must be at least {rows}")
        long = (k >= width) if masks else (k % width == 0)
        yield Condition(long, f"k must be {'at least' if masks else 'a multiple of'} {width}")
        yield Condition(k * columns <= most, f"{y} must have at most {most} elements")
        yield rows_without_gaps(s, streamed, "k")
        yield no_panels(s, 1 - streamed)
        yield no_panels(s, 2)

    def cost(s: Batch) -> Column:
        m, k, n = (s.size(dim) for dim in (along, "k", few))
        steps, total = -(-k // width), TOTAL * n / COLUMNS
        streams = STREAMED_ROW * width * factors.bytes / l2_bytes
        register = np.maximum(n * COLUMN * slower, streams) + ahead
        block = rows * (steps * register + total)
        single = -(-n // COLUMNS) * SINGLE_ROW * slower * steps + total
        copy = np.where(rows_without_gaps(s, 1 - streamed, "k").holds, 0.0, TRANSPOSED * k * n)
        cycles: Column = 20.0 + copy + m // rows * block + m % rows * single
        return cycles

    places = (
        f"&{{{x}}}, {{{x}_{along}}}, &{{{y}}}, {{{y}_k}}, {{{y}_{few}}}, "
        f"&{{c}}, {{c_{along}}}, {{c_{few}}}, {{{along}}}, {{{few}}}, {{k}}"
    )
    return LeafKernel(
        f"few_{name}{fetched}_{kind_of(factors, width)}", "MatmulAccum", (factors, factors, F32),
        (None,) * 3, f"few_columns{suffix}({places});", sum_of_products(F32), applies, cost,
        registers=4 * rows + 5, streams=(streamed,), group="dots_l2" if fetched else "products",
    )  # fmt: skip


def _in_blocks(s: Batch, block: int) -> Iterator[Condition]:
    """a lies in odd-even blocks of this size, and consists of whole ones."""
    position, _ = s.operation.places[0, "k"]
    blocked = s.placements.in_blocks(s.codes[0], position, block)
    yield Condition(blocked, f"a must lie in odd-even blocks of {block}")
    yield Condition(s.size("k") % block == 0, f"k must be a multiple of {block}")

"""Leaf kernels, by what they do: C, NumPy semantics, conditions, cost and registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from morello.ir.dtype import (
    BF16,
    BF16X2,
    COMPUTED,
    F16,
    F32,
    I8,
    I8X4,
    I16,
    I32,
    I64,
    PACKED,
    U8,
    U8X4,
    U16,
    U32,
    DType,
)  # fmt: skip
from morello.ir.primitives.convolutions import SHARING
from morello.ir.tensor import LINE_BYTES
from morello.targets.helpers.columns import rows_at_once
from morello.targets.helpers.quantized import FETCHED
from morello.targets.helpers.row_sums import BLOCK_READINGS, ROW_READINGS
from morello.targets.helpers.shuffles import REPETITIONS
from morello.targets.helpers.tiles import BF16_TILES, BYTE_TILES
from morello.targets.helpers.windows import widths_down_from
from morello.targets.kernels.byte_rows import byte_rows
from morello.targets.kernels.depthwise import depthwise_rows_by_two
from morello.targets.kernels.gathering import take_elements, take_row
from morello.targets.kernels.maps import divide_by_scalar, maps
from morello.targets.kernels.moves import fills, moves
from morello.targets.kernels.products import (
    MULTIPLY_ADD,
    conv_by_two,
    depthwise,
    depthwise_by_two,
    few_columns,
    inner_product,
    multiply_add,
    packed_multiply_add,
    shared_groups,
    unbias,
)
from morello.targets.kernels.quantized import quantized_product, quantized_tiles
from morello.targets.kernels.reductions import (
    complete_lanes,
    converted_runs,
    integer_runs,
    lanes,
    pools,
    pools_by_two,
    row_folds,
    runs,
)
from morello.targets.kernels.rounded import rounded
from morello.targets.kernels.row_sums import block_sums, row_sums
from morello.targets.kernels.scans import scans
from morello.targets.kernels.scattering import scatters
from morello.targets.kernels.shuffles import (
    odd_even,
    odd_even_elements,
    pack,
    pack_few,
    pack_run,
    repeat,
    transpose,
    transpose_filters,
)
from morello.targets.kernels.tiles import tile_sums
from morello.targets.kernels.windows import short_rows, windows_side_by_side
from morello.targets.kernels.winograd import winograd_steps
from morello.targets.target import Group, LeafKernel

CASTS = (
    (BF16, F32), (F16, F32), (F32, BF16), (F32, F16), (U8, I16), (I8, I16), (U8, I32), (I8, I32),
    (I16, I32), (U16, I32), (U8, F32), (I8, F32), (U16, F32), (I16, F32), (I32, F32), (F32, I32),
    (I32, I16), (I32, U16), (I32, U8), (I32, I8), (I32, U32), (U32, I32), (U32, F32), (I64, F32),
    (I64, I32), (I32, I64), (U32, I64), (F32, I64),
)  # fmt: skip
"""The dtypes that copies convert between.

Conversions from floating point to integers truncate, as in C and NumPy; numbers out of range
and NaN become an unspecified integer. Those to narrower integers wrap. Those of 64 bits are done
element by element.
"""

SCALARS = {F32: (F32, BF16, F16), I32: (I32, I16, U16, I8, U8), U32: (U32,), I16: (I16, I8, U8)}
"""The dtypes that products are summed in, and those of the scalars they take."""

DOTS = (
    (F32, F32, F32), (F32, BF16, F32), (BF16, BF16, F32), (F16, F16, F32), (I32, I32, I32),
    (U8, I8, I32), (U8, I8, I16), (I8, I8, I32), (I16, I16, I32),
)  # fmt: skip
"""The dtypes that inner products of runs take."""


ROWS = ((F32, F32, F32), (F32, BF16, F32), (BF16, BF16, F32), (F16, F16, F32))
"""The dtypes of scalars, the rows they multiply, and the row of sums."""


INDICES = (I32, I64)
"""The dtypes of numbers of rows."""


@dataclass(frozen=True)
class Rates:
    """The speed of a core that costs of kernels depend on."""

    l2_bytes: float = LINE_BYTES
    """The bytes that L2 delivers in a cycle."""
    l3_bytes: float = 12.8
    """The bytes that come from behind L2 in a cycle."""
    broadcast: float = 0.0
    """The cycles of a broadcast beside each multiply-add that needs one."""
    bf16_product: float = 1.0
    """The time of a sum of products of packed bf16, relative to a multiply-add."""
    weights_l2: float = 1.1
    """The time of weights of 8 or 4 bits that are prefetched into L2, relative to L1."""


def standard_kernels(
    vector_bytes: Sequence[int],
    masks: bool,
    transposes: dict[tuple[int, int], float],
    features: frozenset[str],
    *,
    filters: Mapping[tuple[int, int], float] | None = None,
    rates: Rates | None = None,
    in_order: bool = False,
) -> tuple[LeafKernel, ...]:
    """All kernels of a machine with registers of these sizes.

    `transposes` gives the cycles of the blocks (bytes of an element, elements a side) that it
    transposes in registers; `filters`, those for which it transposes whole filters, too;
    `features` names its special products ("bf16_products", "byte_products", "bf16_tiles" and
    "byte_tiles"). With `in_order`, compilers do not move loads across multiply-adds.
    """
    rates, filters = rates or Rates(), filters or {}
    kernels: list[LeafKernel] = []
    for index, size in enumerate((*vector_bytes, 0)):
        kernels += _one_size(size, masks and index == 0, masks, in_order)
    widest = vector_bytes[0]
    width = widest // F32.bytes
    for a, b, c in DOTS:
        kernels.append(_dot(a, b, c, widest, features))
    for scalar, row, total in ROWS:
        for reading in ROW_READINGS:
            for dtypes, first in (((scalar, row, total), True), ((row, scalar, total), False)):
                kernels.append(row_sums(dtypes, width, reading, rates.l2_bytes, scalar_is_a=first))
        if scalar is F32:
            dtypes = (scalar, row, total)
            kernels += [
                block_sums(dtypes, width, reading, rates.broadcast) for reading in BLOCK_READINGS
            ]
    if "bf16_products" in features:
        kernels += [
            row_sums(
                (BF16, BF16, F32), width, ROW_READINGS[0], rates.l2_bytes,
                scalar_is_a=first, pairs=rates.bf16_product,
            )
            for first in (True, False)
        ]  # fmt: skip
    if masks:
        kernels += row_folds(width)
    if "byte_products" in features:
        kernels += [byte_rows(U8, 4.75), byte_rows(I8, 5.35)]
    kernels += _few_columns(widest, features, masks, rates)
    kernels += _streamed_dots(widest // 2, features, rates.bf16_product)
    for (size, n), cycles in transposes.items():
        same = [d for d in (*COMPUTED, *PACKED.values()) if d.bytes == size]
        kernels += [transpose(dtype, n, cycles) for dtype in same]
        if (size, n) in filters:
            floats = [d for d in same if d.is_float and d.lanes == 1]
            kernels += [transpose_filters(dtype, n, filters[size, n]) for dtype in floats]
    kernels += odd_even(widest // 2)
    for dtype in (F32, I32, U32, I16, U16, I8, U8):
        wide = widest // dtype.bytes
        if not dtype.is_float:
            kernels += integer_runs(dtype, wide)
        kernels += [repeat(dtype, wide, times) for times in REPETITIONS if 2 * times <= wide]
    for dtype in COMPUTED:
        kernels += odd_even_elements(dtype)
        kernels += [make(dtype, index) for make in (take_row, take_elements) for index in INDICES]
    for source in (BF16, F16):
        kernels += converted_runs(source, width, features)
    kernels.append(depthwise_rows_by_two(width))
    for fewer in widths_down_from(width):
        kernels += [*windows_side_by_side(fewer), *short_rows(fewer)]
    kernels += scans(width, masks)
    kernels += scatters()
    kernels += winograd_steps(width)
    kernels += _packed(widest, features, rates.bf16_product)
    kernels += _quantized(widest, features, rates)
    return tuple(kernels)


@cache
def _one_size(size: int, partial: bool, masks: bool, in_order: bool) -> tuple[LeafKernel, ...]:
    """Kernels on registers of `size` bytes; 0 stands for scalars."""
    kernels: list[LeafKernel] = []
    parts = (False, True) if partial else (False,)

    def width(dtype: DType) -> int:
        return size // dtype.bytes if size else 1

    for vector, scalars in SCALARS.items():
        for scalar in scalars:
            if size or not masks:  # masked registers serve scalars, too
                for first in (True, False):
                    kernels.append(
                        multiply_add(
                            scalar, vector, width(vector), scalar_is_a=first, in_order=in_order
                        )
                    )
                kernels.append(depthwise(scalar, vector, width(vector), by_channel=False))
        if size:
            kernels.append(depthwise(vector, vector, width(vector), by_channel=True))
    for dtype in (*COMPUTED, *PACKED.values()):
        for part in parts:
            kernels += moves(dtype, dtype, width(dtype), part)
            if dtype.lanes == 1:
                kernels += fills(dtype, width(dtype), part)
    for source, target in CASTS:
        wider = source if source.bytes > target.bytes else target
        if size and wider is I64:
            continue
        for part in parts:
            kernels += moves(source, target, width(wider), part)
    for dtype in (F32, I32, U32, I16, U16, I8, U8):
        kernels += maps(dtype, width(dtype))
        kernels += lanes(dtype, width(dtype))
        kernels += pools(dtype, width(dtype))
    if size:
        kernels.append(conv_by_two(width(F32), in_order=in_order))
        kernels.append(depthwise_by_two(F32, width(F32)))
        kernels += pools_by_two(width(F32))
        for part in parts:
            kernels += rounded(width(F32), part)
        kernels += [shared_groups(width(F32), n) for n in SHARING if n < width(F32)]
    kernels += divide_by_scalar(F32, width(F32))
    kernels += runs(width(F32))
    kernels.append(complete_lanes(width(F32)))
    return tuple(kernels)


def _dot(a: DType, b: DType, c: DType, vector_bytes: int, features: frozenset[str]) -> LeafKernel:
    wide = 4 if c.bytes == 4 else 2
    step = vector_bytes // wide
    each = 1.05 + 0.3 * (a is not c) + 0.3 * (b is not c)
    if b is I8 and "byte_products" in features:  # a register of bytes at once
        each = (1.1 if a is U8 else 1.7) * step / vector_bytes
    helper = f"dot_{a}_{b}" + ("" if a.is_float or (a is I32 and b is I32) else f"_{c}")
    kind = "" if a is b is c else f"_{a}_{b}"
    return inner_product((a, b, c), helper, f"dot_{c}x{step}{kind}", step, each)


def _few_columns(
    vector_bytes: int, features: frozenset[str], masks: bool, rates: Rates
) -> list[LeafKernel]:
    """Inner products of several rows and columns at once."""
    rows = rows_at_once(vector_bytes // F32.bytes)
    kinds = [(F32, 1.0)]
    if "bf16_products" in features:
        kinds.append((BF16, rates.bf16_product))
    return [
        few_columns(
            dtype, vector_bytes // dtype.bytes, rows, masks, rates.l2_bytes, slower,
            of_b=of_b, fetched=fetched,
        )
        for dtype, slower in kinds
        for of_b in (True, False)
        for fetched in ("", "_l2")
    ]  # fmt: skip


def _streamed_dots(width: int, features: frozenset[str], bf16_product: float) -> list[LeafKernel]:
    """Inner products with streamed runs of bf16, with a variant that prefetches into L2."""
    kernels: list[LeafKernel] = []
    ways: tuple[tuple[str, float, Group], ...] = (("", 0.0, "dots"), ("l2_", 0.3, "dots_l2"))
    for way, slower, group in ways:
        if "bf16_products" in features:
            dtypes, helper = (BF16, BF16, F32), f"dot_{way}bf16_bf16_dp"
            each = max(1.1, bf16_product * MULTIPLY_ADD) + slower
            name = f"dot_{way}bf16_dp"
            kernels.append(inner_product(dtypes, helper, name, 32, each, group=group))
        helper = f"dot_{way}oddeven_f32_bf16"
        dtypes, each = (F32, BF16, F32), 1.8 + slower
        kernels.append(
            inner_product(dtypes, helper, helper, width, each, odd_even=True, group=group)
        )
    return kernels


def _packed(vector_bytes: int, features: frozenset[str], bf16_product: float) -> list[LeafKernel]:
    """Multiply-adds of packed groups, and the packing into groups."""
    width = vector_bytes // 4
    kernels: list[LeafKernel] = []
    products = []
    if "bf16_products" in features:
        products.append(((BF16X2, BF16X2, F32), f"dpbf16_f32x{width}", bf16_product, 1))
    if "byte_products" in features:
        products.append(((U8X4, I8X4, I32), f"dpbusd_i32x{width}", 1.0, 1))
        kernels.append(unbias(width))
    for dtypes, function, slower, held in products:
        for first in (True, False):
            kernels.append(
                packed_multiply_add(
                    dtypes, width, function, slower, scalar_is_a=first, registers=held
                )
            )
    tiles = BF16_TILES * ("bf16_tiles" in features) + BYTE_TILES * ("byte_tiles" in features)
    kernels += [tile_sums(product, adds=adds) for product in tiles for adds in (True, False)]
    groups = ((BF16, BF16X2, vector_bytes // 2), (U8, U8X4, 16), (I8, I8X4, 16), (I8, U8X4, 16))
    for single, packed, wide in groups:
        kernels += [*pack(single, packed, 1), *pack(single, packed, wide)]
        if features:  # which only machines with masks have
            kernels += [pack_run(single, packed), pack_few(single, packed, width)]
    return kernels


def _quantized(vector_bytes: int, features: frozenset[str], rates: Rates) -> list[LeafKernel]:
    """Products with weights of 8 bits, then 4."""
    if "byte_products" in features:
        cycles = {U8: (0.65, 1.2), I8: (0.6, 2.0)}
    else:  # with registers of up to 32 bytes
        wide = max(1, 32 // vector_bytes)
        cycles = {U8: (3.8 * wide, 2.6 * wide), I8: (2.45 * wide, 2.4 * wide)}
    kernels = [
        quantized_product(
            weights, scales, way, *cycles[weights], rates.l3_bytes,
            slower=rates.weights_l2 if way else 1.0,
        )
        for weights in (U8, I8)
        for scales in (F32, F16, BF16)
        for way in FETCHED
    ]  # fmt: skip
    if "byte_products" in features:
        of_tiles = {U8: (2.0, 1.23), I8: (3.6, 1.13)}
        kernels += [
            quantized_tiles(weights, scales, *of_tiles[weights], rates.l3_bytes)
            for weights in (U8, I8)
            for scales in (F32, F16, BF16)
        ]
    return kernels

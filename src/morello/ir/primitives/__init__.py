"""The primitive operations, of which compositions are made: one record each, whole.

What the rest of the compiler must know of a primitive is a field of its `Primitive`; nothing
outside of here tells primitives apart by their names.
"""

from __future__ import annotations

from morello.ir.operation import Primitive
from morello.ir.primitives.convolutions import (
    CONV,
    DEPTHWISE_CONV,
    GROUPED_CONV,
    conv,
    grouped_conv,
)
from morello.ir.primitives.copies import (
    FILL_HIGHEST,
    FILL_LOWEST,
    FILL_ZERO,
    MOVE,
    PACK,
    fill,
    is_ragged,
    move,
    pack,
    packed_along,
)
from morello.ir.primitives.dims import MAX_RANK, SINGLE
from morello.ir.primitives.gathering import TAKE, take
from morello.ir.primitives.grouped import GROUP, GROUPED_MATMUL, grouped_matmul
from morello.ir.primitives.maps import (
    BROADCAST,
    DIVIDE_VEC_SCALAR,
    MAPS,
    ONE_PREFIX,
    broadcast,
    divide_vec,
    divide_vec_scalar,
    elementwise,
    one_prefix,
)
from morello.ir.primitives.pooling import MAX_POOL, SUM_POOL, pool
from morello.ir.primitives.products import (
    MATMUL,
    MATRIX,
    UNBIAS,
    Labels,
    contraction,
    matmul,
    matmul_labels,
    unbias,
)
from morello.ir.primitives.quantized import QUANTIZED_MATMUL, quantized_matmul
from morello.ir.primitives.reductions import (
    MAX,
    MIN,
    SUM,
    SUM_SQUARED_DEVIATIONS,
    SUM_SQUARES,
    reduce,
    squared_deviations,
)
from morello.ir.primitives.scans import ARGMAX, ARGMIN, CUMSUM, scan
from morello.ir.primitives.scattering import SCATTERS, SEGMENT_SUM, scatter, segment_sum
from morello.ir.primitives.softmax import (
    COMPLETE,
    DENOMINATOR,
    DENOMINATOR_AND_MAX,
    DENOMINATOR_AND_UNSCALED,
    FROM_PARTS,
    SOFTMAX,
    SOFTMAX_PARTS,
    UNSCALED_FROM_MAX,
    softmax,
)
from morello.ir.primitives.windows import PIXELS, Windows, windows_of
from morello.ir.primitives.winograd import WINOGRAD_INPUT, WINOGRAD_OUTPUT

PRIMITIVES: dict[str, Primitive] = {
    primitive.name: primitive
    for primitive in (
        MATMUL, CONV, GROUPED_CONV, DEPTHWISE_CONV, MOVE, PACK, FILL_ZERO, FILL_LOWEST,
        FILL_HIGHEST, *MAPS.values(), DIVIDE_VEC_SCALAR, BROADCAST, ONE_PREFIX, SUM, MAX, MIN,
        SUM_SQUARES, SUM_SQUARED_DEVIATIONS, SUM_POOL, MAX_POOL, WINOGRAD_INPUT, WINOGRAD_OUTPUT,
        *SOFTMAX_PARTS.values(),
        UNBIAS, TAKE, *SCATTERS.values(), SEGMENT_SUM, ARGMAX, ARGMIN, CUMSUM, QUANTIZED_MATMUL,
        GROUPED_MATMUL,
    )
}  # fmt: skip
"""All primitives, by name."""


def primitive_of(name: str) -> Primitive | None:
    """The primitive whose operations, or their accumulating forms, have this name."""
    return PRIMITIVES.get(name.removesuffix("Accum"))


__all__ = [
    "ARGMAX",
    "ARGMIN",
    "BROADCAST",
    "COMPLETE",
    "CONV",
    "CUMSUM",
    "DENOMINATOR",
    "DENOMINATOR_AND_MAX",
    "DENOMINATOR_AND_UNSCALED",
    "DEPTHWISE_CONV",
    "DIVIDE_VEC_SCALAR",
    "FILL_HIGHEST",
    "FILL_LOWEST",
    "FILL_ZERO",
    "FROM_PARTS",
    "GROUP",
    "GROUPED_CONV",
    "GROUPED_MATMUL",
    "MATMUL",
    "MATRIX",
    "MAX",
    "MAX_POOL",
    "MAX_RANK",
    "MIN",
    "MOVE",
    "ONE_PREFIX",
    "PACK",
    "PIXELS",
    "PRIMITIVES",
    "QUANTIZED_MATMUL",
    "SCATTERS",
    "SEGMENT_SUM",
    "SINGLE",
    "SOFTMAX",
    "SOFTMAX_PARTS",
    "SUM",
    "SUM_POOL",
    "SUM_SQUARED_DEVIATIONS",
    "SUM_SQUARES",
    "TAKE",
    "UNBIAS",
    "UNSCALED_FROM_MAX",
    "WINOGRAD_INPUT",
    "WINOGRAD_OUTPUT",
    "Labels",
    "Windows",
    "broadcast",
    "contraction",
    "conv",
    "divide_vec",
    "divide_vec_scalar",
    "elementwise",
    "fill",
    "grouped_conv",
    "grouped_matmul",
    "is_ragged",
    "matmul",
    "matmul_labels",
    "move",
    "one_prefix",
    "pack",
    "packed_along",
    "pool",
    "primitive_of",
    "quantized_matmul",
    "reduce",
    "scan",
    "scatter",
    "segment_sum",
    "softmax",
    "squared_deviations",
    "take",
    "unbias",
    "windows_of",
]

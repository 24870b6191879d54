"""Goals of every primitive, and of compositions, small enough to try all their programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from tests.goals import (
    apply,
    conv_goal,
    goal_of,
    mapped,
    matmul_goal,
    product,
    reduced,
    slid,
    tensor,
)
from tests.search.brute import Brute, small_target
from tests.support import with_capacities

from morello.ir.computation import Tensor
from morello.ir.dtype import BF16, F32, I8, I16, I32, U8, DType
from morello.ir.functions import Function
from morello.ir.layout import column_major, odd_even, panels
from morello.ir.operation import Operation
from morello.ir.primitives import (
    DENOMINATOR_AND_MAX,
    MAX,
    MAX_POOL,
    SOFTMAX,
    SOFTMAX_PARTS,
    SUM,
    SUM_POOL,
    Windows,
    broadcast,
    contraction,
    conv,
    divide_vec,
    divide_vec_scalar,
    elementwise,
    fill,
    grouped_conv,
    matmul,
    move,
    one_prefix,
    pool,
    reduce,
    softmax,
)
from morello.ir.spec import Spec, goal
from morello.space.rules import SMALL
from morello.targets.kernels import standard_kernels
from morello.targets.target import Target
from morello.targets.x86 import BF16_PACKING, BYTE_PACKINGS

PLAIN, MASKS = small_target(masks=False), small_target(masks=True)
SUMS_OF_PRODUCTS = frozenset({"bf16_products", "byte_products"})
PRODUCTS = replace(
    PLAIN,
    name="small-products",
    kernels=standard_kernels((16,), False, {}, SUMS_OF_PRODUCTS),
    casts=frozenset(),
    packs=(BF16_PACKING, *BYTE_PACKINGS),
)
"""Converts nothing, so that few programs compete with those of packed numbers."""
TRANSPOSES = replace(
    PLAIN,
    name="small-transposes",
    kernels=standard_kernels((16,), False, {(4, 4): 8.0}, frozenset()),
)
CORES = replace(small_target(masks=False, cores=2), fork=4.0)
"""Waking the other core is cheap, so that it pays for the smallest of goals."""


def of(
    operation: Operation, *sizes: int, dtypes: Sequence[DType] = (), parallel: bool = False
) -> Spec:
    """The goal of an operation, f32 unless said."""
    known = tuple(dtypes) or (F32,) * len(operation.operands)
    return goal(operation, sizes, known, parallel=parallel)


def mapping(name: str, *spans: tuple[int, ...], constant: float | None = None) -> Operation:
    """A function of every element; `spans` are the dimensions of each input."""
    return elementwise(Function(name, constant), spans, 1 + max(max(span) for span in spans))


def row_softmax(x: Tensor) -> Tensor:
    return apply(softmax(SOFTMAX, 2, 1), x, shape=x.shape)


def windows(image: Tensor, pixels: int) -> Tensor:
    """A convolution along the rows of an image, which keeps its channels."""
    batch, channels, height, width = image.shape
    weights = tensor(channels, channels, 1, pixels)
    return apply(conv(), image, weights, shape=(batch, channels, height, width - pixels + 1))


def _products() -> dict[str, tuple[Spec, Target]]:
    return {
        "matmul": (matmul_goal(2, 2, 2), PLAIN),
        "matmul-ragged": (matmul_goal(1, 1, 5), MASKS),
        "matmul-batches": (of(matmul(2), 2, 1, 1, 2, 1), MASKS),
        "matmul-panels": (
            goal(matmul(), (1, 2, 4), (F32,) * 3, layouts=(None, panels(2, 1, 4), None)), PLAIN
        ),
        "matmul-accumulating": (of(matmul(0, True), 1, 2, 2), PLAIN),
        "matmul-i32": (matmul_goal(1, 1, 4, I32, I32, I32), PLAIN),
        "matmul-bf16-mixed": (matmul_goal(1, 2, 2, F32, BF16, F32), PLAIN),
        "matmul-bf16-packed": (
            goal(matmul(), (1, 2, 4), (BF16, BF16, F32), layouts=(None, column_major(2), None)),
            PRODUCTS,
        ),
        "matmul-bf16-filled": (matmul_goal(1, 3, 4, BF16, BF16, F32), PRODUCTS),
        "matmul-bytes-filled": (matmul_goal(1, 5, 4, U8, I8, I32), PRODUCTS),
        "matmul-bytes-signed": (matmul_goal(2, 4, 4, I8, I8, I32), PRODUCTS),
        "matmul-bytes": (matmul_goal(1, 2, 1, U8, I8, I32), PLAIN),
        "matmul-bytes-packed": (matmul_goal(4, 4, 1, U8, I8, I32), PRODUCTS),
        "matmul-odd-even": (
            goal(matmul(), (1, 4, 2), (F32,) * 3, layouts=(odd_even(2, 4), None, None)), PLAIN
        ),
        "conv": (conv_goal(1, 2, 2, 2), PLAIN),
        "conv-strides": (of(conv(slid((2, 1))), 1, 1, 2, 2, 1, 1, 2), MASKS),
        "conv-padded-strides": (of(conv(slid((1, 2), (0, 1))), 1, 1, 1, 1, 2, 1, 2), PLAIN),
        "conv-padded-rows": (of(conv(slid(padding=(1, 0))), 1, 1, 1, 3, 1, 3, 1), PLAIN),
        "conv-padded-columns": (of(conv((Windows(1, 1, 1),)), 1, 1, 1, 3, 3), PLAIN),
        "conv-unread": (of(conv((Windows(2, 0, -1), Windows())), 1, 1, 1, 2, 2, 1, 1), PLAIN),
        "conv-uneven": (of(conv((Windows(2, 0, 1, 2),)), 1, 2, 1, 2, 2), PLAIN),
        "conv-by-two": (of(conv((Windows(2),)), 1, 1, 1, 4, 1), PLAIN),
        "conv-nhwc": (of(conv(channels_last=True), 1, 1, 2, 1, 2, 1, 1), PLAIN),
        "conv-pointwise": (of(conv(), 1, 1, 2, 2, 2, 1, 1), PLAIN),
        "conv-groups": (of(grouped_conv(2, 1), 1, 2, 2, 1, 2, 1, 2), PLAIN),
        "conv-group-filters": (of(grouped_conv(1, 2), 1, 2, 2, 1, 1, 2, 1, 1), PLAIN),
        "conv-depthwise": (of(grouped_conv(1, 1), 1, 1, 1, 1, 5, 1, 2), MASKS),
        "conv-depthwise-nhwc": (
            of(grouped_conv(1, 1, (Windows(2, 1, 0),), True), 1, 4, 1, 2, 2), PLAIN
        ),
        "conv-depthwise-padded": (
            of(grouped_conv(1, 1, (Windows(2, 1, 0),)), 1, 4, 1, 2, 2), PLAIN
        ),
        "max-pool": (of(pool(MAX_POOL, slid((1, 2), (0, 1))), 1, 1, 1, 2, 1, 2), MASKS),
        "sum-pool": (of(pool(SUM_POOL, (Windows(1, 0, 0, 2),)), 1, 1, 5, 2), PLAIN),
        "conv-images": (of(conv(), 2, 1, 1, 2, 2, 1, 1), PLAIN),
        "matmul-rows": (of(contraction(("l", "m", "k"), ("k",), ("l", "m")), 2, 1, 2, 1), MASKS),
        "matmul-columns": (
            of(contraction(("m", "k"), ("l", "k", "n"), ("l", "m", "n")), 1, 2, 2, 2), MASKS
        ),
        "matmul-heads": (
            of(contraction(("m", "h", "k"), ("k", "h", "n"), ("h", "m", "n")), 2, 2, 1, 2), PLAIN
        ),
        "matmul-twice-summed": (
            of(contraction(("l", "m", "k"), ("k", "n", "l"), ("n", "m")), 1, 2, 2, 2), PLAIN
        ),
        "matmul-vectors": (of(contraction(("k",), ("k",), ("one",)), 1, 5, 1), MASKS),
        "matmul-vectors-in-batches": (
            of(contraction(("b", "k"), ("b", "k"), ("b",)), 2, 1, 3, 1), MASKS
        ),
    }  # fmt: skip


def _copies() -> dict[str, tuple[Spec, Target]]:
    return {
        "move": (of(move(2), 3, 5), PLAIN),
        "move-masked": (of(move(2), 3, 5), MASKS),
        "transpose": (of(move(2, (1, 0)), 4, 6), PLAIN),
        "transpose-kernels": (of(move(2, (1, 0)), 8, 4), TRANSPOSES),
        "turn": (of(move(3, (1, 2, 0)), 2, 3, 4), PLAIN),
        "widen": (of(move(2), 2, 10, dtypes=(BF16, F32)), PLAIN),
        "narrow": (of(move(2), 2, 10, dtypes=(F32, BF16)), MASKS),
        "widen-odd-even": (
            goal(move(2), (2, 6), (BF16, F32), layouts=(odd_even(2, 4), None)),
            PLAIN,
        ),
        "turn-odd-even": (
            goal(move(2, (1, 0)), (4, 2), (F32, F32), layouts=(None, odd_even(2, 4))),
            MASKS,
        ),
        "fill": (of(fill(2), 3, 5), PLAIN),
        "fill-lowest": (of(fill(2, "lowest"), 2, 7), MASKS),
        "fill-lowest-bytes": (of(fill(1, "lowest"), 19, dtypes=(I8,)), PLAIN),
        "broadcast-rows": (of(broadcast(2, 0), 2, 5), PLAIN),
        "broadcast-columns": (of(broadcast(2, 1), 2, 5), MASKS),
        "prefix": (of(one_prefix(2), 1, 2, 5), PLAIN),
    }


def _maps() -> dict[str, tuple[Spec, Target]]:
    return {
        "exp": (of(mapping("exp", (0, 1)), 2, 5), PLAIN),
        "relu-turned": (of(mapping("relu", (1, 0)), 3, 4), PLAIN),
        "multiply-constant": (of(mapping("multiply", (0,), constant=2.0), 10), MASKS),
        "multiply-bf16": (of(mapping("multiply", (0,), (0,)), 10, dtypes=(BF16,) * 3), PLAIN),
        "add-i16": (of(mapping("add", (0,), (0,)), 10, dtypes=(I16,) * 3), PLAIN),
        "add-rows": (of(mapping("add", (0, 1), (1,)), 2, 5), PLAIN),
        "add-columns": (of(mapping("add", (0,), (0, 1)), 2, 4), MASKS),
        "divide": (of(divide_vec(2), 2, 5), PLAIN),
        "divide-by-columns": (of(divide_vec_scalar(2, 1), 2, 5), PLAIN),
        "divide-by-rows": (of(divide_vec_scalar(2, 0), 2, 5), PLAIN),
    }


def _reductions() -> dict[str, tuple[Spec, Target]]:
    found = {
        "sum": (of(reduce(SUM, 2, 1), 2, 5), PLAIN),
        "sum-of-columns": (of(reduce(SUM, 2, 0), 2, 5), PLAIN),
        "max": (of(reduce(MAX, 1, 0), 1, 10), MASKS),
        "max-of-columns": (of(reduce(MAX, 2, 0), 3, 5), PLAIN),
        "softmax-of-a-row": (of(softmax(SOFTMAX, 1, 0), 1, 2), MASKS),
    }
    for name, part in SOFTMAX_PARTS.items():
        found[name] = of(softmax(part, 2, 1), 1 if part is SOFTMAX else 2, 2), PLAIN
    return found


def _compositions() -> dict[str, tuple[Spec, Target]]:
    hidden = product(tensor(1, 2), tensor(2, 2))
    narrow = mapped("relu", product(tensor(1, 1), tensor(1, 2)))
    x = tensor(2, 5)
    centred = mapped("subtract", tensor(2, 2), reduced("Sum", tensor(2, 2)))
    return {
        "relu-of-matmul": (goal_of(mapped("relu", product(tensor(1, 2), tensor(2, 4)))), PLAIN),
        "matmul-chain": (goal_of(product(hidden, tensor(2, 1))), PLAIN),
        "mlp": (goal_of(product(narrow, tensor(2, 1))), PLAIN),
        "softmax-of-product": (goal_of(row_softmax(product(tensor(1, 1), tensor(1, 2)))), PLAIN),
        "map-of-map": (goal_of(mapped("relu", mapped("exp", x))), PLAIN),
        "sum-of-map": (goal_of(reduced("Sum", mapped("exp", x))), PLAIN),
        "map-of-sum": (goal_of(centred), PLAIN),
        "conv-of-conv": (goal_of(windows(windows(tensor(1, 1, 1, 3), 2), 2)), PLAIN),
        "conv-of-map": (goal_of(windows(mapped("relu", tensor(1, 1, 1, 4)), 2)), MASKS),
    }


def _on_all_cores() -> dict[str, tuple[Spec, Target]]:
    hidden = product(tensor(2, 1), tensor(1, 2))
    maps = mapped("relu", mapped("exp", tensor(4, 8)))
    return {
        "parallel-matmul": (matmul_goal(4, 1, 2, parallel=True), CORES),
        "parallel-ragged": (of(mapping("exp", (0, 1)), 5, 8, parallel=True), CORES),
        "parallel-softmax": (of(softmax(SOFTMAX, 2, 1), 2, 1, parallel=True), CORES),
        "parallel-maps": (goal_of(maps, parallel=True), CORES),
        "parallel-product": (goal_of(mapped("relu", hidden), parallel=True), CORES),
        "parallel-pieces": (
            of(softmax(DENOMINATOR_AND_MAX, 1, 0), 1, 2048, parallel=True), CORES
        ),
        "parallel-sum": (of(reduce(SUM, 1, 0), 1, 4096, parallel=True), CORES),
        "parallel-dot": (matmul_goal(1, 128, 1, parallel=True), CORES),
    }  # fmt: skip


GOALS = _products() | _copies() | _maps() | _reductions() | _compositions() | _on_all_cores()


def brute(name: str, capacities: Sequence[int] = ()) -> Brute:
    """All programs of a goal, once for all tests that compare with them.

    With other capacities of the caches, loops over small operands may be others.
    """
    *caches, _ = capacities or GOALS[name][1].limits
    return _brute(name, tuple([int(capacity * SMALL) for capacity in caches]))


@cache
def _brute(name: str, small: tuple[int, ...]) -> Brute:
    spec, target = GOALS[name]
    caches = [int(lines / SMALL) for lines in small]
    return Brute(spec, with_capacities(target, (*caches, target.limits[-1])))

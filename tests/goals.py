"""Goals of many kinds, made without any front end."""

from __future__ import annotations

from collections.abc import Sequence

from morello.ir.computation import Tensor, computation
from morello.ir.dtype import BF16, F32, I32, DType
from morello.ir.functions import Function
from morello.ir.operation import Operation
from morello.ir.primitives import (
    COMPLETE,
    DENOMINATOR,
    MAX,
    MAX_POOL,
    PRIMITIVES,
    SOFTMAX,
    SUM,
    SUM_POOL,
    Windows,
    broadcast,
    conv,
    divide_vec,
    elementwise,
    fill,
    grouped_conv,
    matmul,
    move,
    pool,
    reduce,
    softmax,
)
from morello.ir.primitives.winograd import winograd_input, winograd_output
from morello.ir.spec import Spec, goal


def slid(
    strides: tuple[int, int] = (1, 1), padding: tuple[int, int] = (0, 0)
) -> tuple[Windows, Windows]:
    """Windows along rows and columns, with as much padding on both sides."""
    (sy, sx), (py, px) = strides, padding
    return Windows(sy, py, py), Windows(sx, px, px)


def tensor(*shape: int, dtype: DType = F32) -> Tensor:
    return Tensor(shape, dtype)


def apply(
    operation: Operation, *inputs: Tensor, shape: Sequence[int], dtype: DType = F32
) -> Tensor:
    return Tensor(tuple(shape), dtype, operation, inputs)


def mapped(name: str, *inputs: Tensor, constant: float | None = None) -> Tensor:
    """A function of every element; an input of fewer dimensions has the leading ones."""
    first = max(inputs, key=lambda t: len(t.shape))
    spans = tuple(tuple(range(len(t.shape))) for t in inputs)
    one = elementwise(Function(name, constant), spans, len(first.shape))
    return apply(one, *inputs, shape=first.shape, dtype=first.dtype)


def product(a: Tensor, b: Tensor, dtype: DType = F32) -> Tensor:
    shape = (*a.shape[:-1], b.shape[-1])
    return apply(matmul(len(a.shape) - 2), a, b, shape=shape, dtype=dtype)


def reduced(kind: str, x: Tensor) -> Tensor:
    """The sum or the maximum along the last dimension."""
    rank = len(x.shape)
    return apply(reduce(PRIMITIVES[kind], rank, rank - 1), x, shape=x.shape[:-1], dtype=x.dtype)


def goal_of(result: Tensor, *, parallel: bool = False) -> Spec:
    made = computation(result)
    dtypes = [t.dtype for t in made.inputs] + [result.dtype]
    return goal(made.operation, made.sizes, dtypes, parallel=parallel)


def matmul_goal(m: int, k: int, n: int, *dtypes: DType, parallel: bool = False) -> Spec:
    return goal(matmul(), (m, k, n), dtypes or (F32, F32, F32), parallel=parallel)


def softmax_goal(rows: int, columns: int, *, parallel: bool = False) -> Spec:
    return goal(softmax(SOFTMAX, 2, 1), (rows, columns), (F32, F32), parallel=parallel)


def conv_goal(
    channels: int = 4, filters: int = 8, image: int = 8, pixels: int = 3, padding: int = 0
) -> Spec:
    size = image - pixels + 1 + 2 * padding
    one = conv(slid(padding=(padding, padding)))
    return goal(one, (1, filters, channels, size, size, pixels, pixels), (F32,) * 3)


def mlp_goal(m: int = 8, k: int = 16, n: int = 32, p: int = 16) -> Spec:
    """relu(x @ w) @ v"""
    hidden = mapped("relu", product(tensor(m, k), tensor(k, n)))
    return goal_of(product(hidden, tensor(n, p)))


def layer_norm_goal(rows: int = 4, columns: int = 64) -> Spec:
    """(x - mean) * rsqrt(mean((x - mean)**2) + 1e-5)"""
    x = tensor(rows, columns)
    mean = mapped("divide", reduced("Sum", x), constant=columns)
    centred = mapped("subtract", x, mean)
    variance = reduced("Sum", mapped("square", centred))
    scaled = mapped("add", mapped("divide", variance, constant=columns), constant=1e-5)
    return goal_of(mapped("multiply", centred, mapped("rsqrt", scaled)))


def attention_goal(queries: int = 8, keys: int = 16, depth: int = 16) -> Spec:
    """softmax(q @ k) @ v"""
    scores = product(tensor(queries, depth), tensor(depth, keys))
    weights = apply(softmax(SOFTMAX, 2, 1), scores, shape=scores.shape)
    return goal_of(product(weights, tensor(keys, depth)))


def primitive_goals() -> list[Spec]:
    """One of each primitive that has a single output."""
    return [
        matmul_goal(5, 7, 9),
        matmul_goal(4, 8, 16, BF16, BF16, F32),
        matmul_goal(4, 8, 16, I32, I32, I32),
        goal(matmul(2), (2, 3, 4, 5, 6), (F32,) * 3),
        conv_goal(),
        goal(pool(MAX_POOL, slid((2, 2), (1, 1))), (1, 3, 3, 5, 3, 3), (F32, F32)),
        goal(pool(SUM_POOL, (Windows(),), True), (2, 5, 6, 2), (F32, F32)),
        goal(winograd_input(2, True), (1, 20, 2, 3, 4, 4, 16), (F32, F32)),
        goal(winograd_output(2, True), (1, 20, 2, 3, 2, 2, 16), (F32, F32)),
        goal(grouped_conv(2, 3), (1, 4, 3, 2, 3, 5, 2, 3), (F32,) * 3),
        goal(grouped_conv(1, 1, slid((2, 1), (1, 0))), (2, 5, 1, 4, 18, 3, 2), (F32,) * 3),
        goal(move(2), (5, 9), (F32, F32)),
        goal(move(3, (1, 2, 0)), (3, 4, 5), (F32, F32)),
        goal(fill(2), (3, 5), (F32,)),
        goal(fill(1, "lowest"), (7,), (F32,)),
        goal(reduce(SUM, 2, 1), (3, 20), (F32, F32)),
        goal(reduce(MAX, 2, 0), (20, 3), (F32, F32)),
        goal(broadcast(2, 1), (3, 20), (F32, F32)),
        goal(divide_vec(2), (3, 20), (F32,) * 3),
        goal(softmax(SOFTMAX, 2, 1), (3, 20), (F32, F32)),
        goal(softmax(COMPLETE, 2, 1), (3, 20), (F32,) * 4),
        goal(softmax(DENOMINATOR, 2, 1), (3, 20), (F32,) * 3),
    ]

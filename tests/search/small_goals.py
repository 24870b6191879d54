"""Small goals of every kind, and targets for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st
from tests.goals import (
    attention_goal,
    conv_goal,
    goal_of,
    layer_norm_goal,
    mapped,
    matmul_goal,
    mlp_goal,
    product,
    tensor,
)

from morello.ir.compose import Tensor
from morello.ir.dtype import BF16, F16, F32, I8, I16, I32, U8, DType
from morello.ir.functions import Function
from morello.ir.layout import Layout, column_major, panels
from morello.ir.operation import Operation
from morello.ir.primitives import (
    SOFTMAX_PARTS,
    broadcast,
    conv,
    divide_vec,
    divide_vec_scalar,
    elementwise,
    fill,
    matmul,
    move,
    one_prefix,
    reduce,
    softmax,
)
from morello.ir.spec import Spec, goal
from morello.targets import TARGETS
from morello.targets.target import Target
from morello.targets.x86 import AVX512, with_products

AVX2 = TARGETS["avx2"]
PRODUCTS = replace(
    with_products(AVX512, frozenset({"avx512_bf16", "avx512_vnni"})), name="avx512-products"
)
TWO_CORES = replace(AVX512, name="avx512-two-cores", cores=2)


def of(operation: Operation, *sizes: int, dtypes: Sequence[DType] = ()) -> Spec:
    """The goal of an operation, f32 unless said."""
    return goal(operation, sizes, tuple(dtypes) or (F32,) * len(operation.operands))


def mapping(
    name: str, *spans: tuple[int, ...], rank: int, constant: float | None = None
) -> Operation:
    return elementwise(Function(name, constant), spans, rank)


def biased(m: int, k: int, n: int) -> Spec:
    """relu(x @ w + bias)"""
    add = mapping("add", (0, 1), (1,), rank=2)
    summed = Tensor((m, n), F32, add, (product(tensor(m, k), tensor(k, n)), tensor(n)))
    return goal_of(mapped("relu", summed))


def scores(m: int, k: int, n: int) -> Spec:
    """softmax(q @ k)"""
    made = product(tensor(m, k), tensor(k, n))
    return goal_of(Tensor((m, n), F32, softmax("Softmax", 2, 1), (made,)))


def activated_conv() -> Spec:
    """conv(relu(x)), whose windows slide over what relu makes."""
    relu = mapped("relu", tensor(1, 2, 4, 3))
    return goal_of(Tensor((1, 4, 2, 2), F32, conv(), (relu, tensor(4, 2, 3, 2))))


def known() -> dict[str, tuple[Spec, Target]]:
    found: dict[str, tuple[Spec, Target]] = {
        "matmul": (matmul_goal(4, 6, 16), AVX2),
        "matmul-ragged": (matmul_goal(5, 7, 19), AVX512),
        "matmul-batch": (of(matmul(1), 2, 2, 4, 8), AVX2),
        "matmul-bf16-packed": (matmul_goal(4, 8, 16, BF16, BF16, F32), PRODUCTS),
        "matmul-u8-packed": (matmul_goal(4, 8, 16, U8, I8, I32), PRODUCTS),
        "matmul-bytes": (matmul_goal(3, 8, 8, I8, I8, I32), AVX2),
        "matmul-i32": (matmul_goal(3, 4, 8, I32, I32, I32), AVX2),
        "matmul-f16": (matmul_goal(2, 4, 8, F16, F16, F32), AVX2),
        "matmul-vector": (matmul_goal(1, 64, 4, F32, BF16, F32), AVX512),
        "conv": (conv_goal(2, 4, 4), AVX2),
        "conv-padded": (conv_goal(2, 2, 3, 2, 1), AVX2),
        "conv-strides": (of(conv((2, 2)), 1, 4, 2, 2, 2, 3, 3), AVX2),
        "conv-nhwc": (of(conv(channels_last=True), 1, 8, 2, 2, 3, 2, 2), AVX512),
        "conv-pointwise": (conv_goal(4, 8, 3, 1), AVX2),
        "move": (of(move(2), 5, 9), AVX2),
        "transpose": (of(move(2, (1, 0)), 8, 16), AVX2),
        "turn": (of(move(3, (1, 2, 0)), 3, 4, 5), AVX512),
        "widen": (of(move(2), 3, 20, dtypes=(BF16, F32)), AVX512),
        "narrow": (of(move(2), 3, 20, dtypes=(F32, BF16)), AVX2),
        "fill": (of(fill(2), 3, 20), AVX2),
        "fill-lowest": (of(fill(1, "lowest"), 37, dtypes=(I8,)), AVX512),
        "exp": (of(mapping("exp", (0, 1), rank=2), 3, 20), AVX2),
        "add-rows": (of(mapping("add", (0, 1), (1,), rank=2), 3, 20), AVX512),
        "add-column": (of(mapping("add", (0,), (0, 1), rank=2), 4, 8), AVX2),
        "multiply-constant": (of(mapping("multiply", (0,), rank=1, constant=2.0), 20), AVX512),
        "multiply-bf16": (
            of(mapping("multiply", (0, 1), (0, 1), rank=2), 3, 20, dtypes=(BF16,) * 3), AVX512
        ),
        "add-i16": (of(mapping("add", (0,), (0,), rank=1), 37, dtypes=(I16,) * 3), AVX2),
        "sum": (of(reduce("Sum", 2, 1), 3, 20), AVX2),
        "max-of-columns": (of(reduce("Max", 2, 0), 5, 12), AVX512),
        "broadcast": (of(broadcast(2, 1), 3, 20), AVX2),
        "prefix": (of(one_prefix(2), 1, 3, 20), AVX2),
        "divide": (of(divide_vec(2), 3, 20), AVX2),
        "divide-rows": (of(divide_vec_scalar(2, 1), 3, 20), AVX2),
        "softmax-of-columns": (of(softmax("Softmax", 2, 0), 5, 8), AVX2),
        "mlp": (mlp_goal(2, 3, 4, 2), AVX2),
        "biased": (biased(2, 3, 8), AVX2),
        "scores": (scores(2, 3, 4), AVX2),
        "attention": (attention_goal(2, 3, 4), AVX2),
        "layer-norm": (layer_norm_goal(2, 8), AVX2),
        "activated-conv": (activated_conv(), AVX2),
        "matmul-parallel": (matmul_goal(4, 4, 16, parallel=True), TWO_CORES),
        "softmax-parallel": (replace(of(softmax("Softmax", 2, 1), 4, 16), parallel=True), TWO_CORES),
        "mlp-parallel": (replace(mlp_goal(4, 2, 4, 2), parallel=True), TWO_CORES),
    }  # fmt: skip
    for part in SOFTMAX_PARTS:
        found[part] = of(softmax(part, 2, 1), 3, 20), AVX2
    return found


GOALS = known()

sizes = st.sampled_from([1, 2, 3, 4, 5, 8, 12, 17])
one_target = st.sampled_from([AVX2, AVX512, PRODUCTS])


@st.composite
def random_goals(draw: st.DrawFn) -> tuple[Spec, Target]:
    """Small goals of any kind, on any target that may have them."""
    kind = draw(st.sampled_from(["matmul", "conv", "map", "scan", "move", "composition"]))
    m, k, n = (draw(sizes) for _ in "mkn")
    target = draw(one_target)
    if kind == "matmul":
        dtypes = draw(
            st.sampled_from([(F32,) * 3, (BF16, BF16, F32), (U8, I8, I32), (F32, BF16, F32)])
        )
        if dtypes[0] is not F32:
            k = 4 * min(k, 4)
        layouts: list[Layout | None] = [None, column_major(2), panels(2, 1, 16)]
        chosen = [draw(st.sampled_from(layouts)) for _ in "ab"]
        return goal(matmul(), (m, k, n), dtypes, layouts=[*chosen, None]), target
    if kind == "conv":
        strides = draw(st.sampled_from([(1, 1), (2, 1), (1, 2)]))
        one = conv(strides, draw(st.sampled_from([(0, 0), (1, 0), (1, 1)])), draw(st.booleans()))
        p, q, y, x = (draw(st.integers(2, 3)) for _ in "pqyx")
        return of(one, 1, min(n, 8), min(k, 4), y, x, p, q), target
    if kind == "map":
        name = draw(st.sampled_from(["relu", "exp", "square"]))
        spans = draw(st.sampled_from([(0, 1), (1, 0)]))
        return of(mapping(name, spans, rank=2), m, n), target
    if kind == "scan":
        part = draw(st.sampled_from([*SOFTMAX_PARTS, "Sum", "Max"]))
        rank, scan = draw(st.sampled_from([(1, 0), (2, 0), (2, 1)]))
        one = reduce(part, rank, scan) if part in ("Sum", "Max") else softmax(part, rank, scan)
        known = {"r": 1, "i": n, "j": m}
        return of(one, *(known[d] for d in one.dims)), target
    if kind == "move":
        order = draw(st.permutations(range(3)))
        return of(move(3, tuple(order)), min(m, 5), k, n), target
    make = draw(st.sampled_from([biased, scores]))
    return make(min(m, 4), min(k, 4), min(n, 8)), target

"""Every operation and dtype, from text to a kernel that is verified against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.sampling import some

import morello
from morello.search.session import search
from morello.targets import find_target

EXPRESSIONS = {
    "matmul": "f32[9,8] @ f32[8,20]",
    "matmul_batch": "f32[2,5,8] @ f32[2,8,20]",
    "matmul_transposed": "f32[8,16] @ transpose(f32[32,16])",
    "matmul_vector": "f32[20] @ f32[20,9]",
    "matmul_of_a_vector": "f32[9,20] @ f32[20]",
    "matmul_of_vectors": "f32[40] @ f32[40]",
    "matmul_bf16_vectors": "bf16[70] @ bf16[70]",
    "matmul_one_batched": "f32[2,3,8] @ f32[8,20]",
    "matmul_other_batched": "f32[3,8] @ f32[2,8,20]",
    "matmul_broadcast": "f32[2,1,3,8] @ f32[3,8,20]",
    "heads": 'einsum("bqhd,bkhd->bhqk", f32[2,3,2,8], f32[2,5,2,8])',
    "values_of_heads": 'einsum("bhqk,bkhd->bqhd", f32[2,2,3,5], f32[2,5,2,8])',
    "heads_joined": 'einsum("bqhd,hdn->bqn", bf16[2,3,2,8], bf16[2,8,16])',
    "inner_products": 'einsum("bi,bi->b", f32[3,5], f32[3,5])',
    "outer_product": 'einsum("i,j->ij", bf16[3], bf16[20])',
    "all_contracted": 'einsum("abc,cab->", u8[3,2,4], i8[4,3,2])',
    "turned_product": 'einsum("mk,kn->nm", f32[5,8], f32[8,9])',
    "matmul_bf16": "bf16[8,16] @ bf16[16,32]",
    "matmul_bf16_odd": "bf16[3,7] @ bf16[7,17]",
    "matmul_bf16_columns": "bf16[1,64] @ bf16[64,16]{0,1}",
    "matmul_f32_bf16_columns": "f32[1,64] @ bf16[64,16]{0,1}",
    "matmul_bf16_result": "bf16[8,16] @ bf16[16,32] -> bf16[8,32]",
    "matmul_f16": "f16[4,16] @ f16[16,32]",
    "matmul_i32": "i32[4,8] @ i32[8,17]",
    "matmul_u8_i8": "u8[4,16] @ i8[16,16]",
    "matmul_u8_i8_i16": "u8[2,8] @ i8[8,16] -> i16[2,16]",
    "matmul_u8_i8_u16": "u8[2,8] @ i8[8,16] -> u16[2,16]",
    "matmul_i8": "i8[4,16] @ i8[16,16]",
    "matmul_i16": "i16[4,8] @ i16[8,20]",
    "matmul_u32": "u32[4,8] @ u32[8,20]",
    "matmul_strides": "f32[6,8]S(20,1) @ f32[8,17]",
    "conv": "conv(f32[1,2,5,6], f32[8,2,3,3])",
    "conv_stride": "conv(f32[1,1,5,5], f32[8,1,3,3], stride=2)",
    "conv_padding": "conv(f32[1,2,4,4], f32[4,2,3,3], padding=1)",
    "conv_remainder": "conv(f32[1,2,7,8], f32[3,2,2,3], stride=2)",
    "conv_uneven": "conv(f32[1,2,8,8], f32[8,2,3,3], stride=2, padding=[0,1,0,1])",
    "conv_dilated": "conv(f32[2,7,8,2], f32[3,2,2,8], dilation=[3,2], padding=1, layout=NHWC)",
    "conv_sequence": "conv(f32[2,3,20], f32[5,3,4], padding=[2,1], stride=2)",
    "conv_groups": "conv(f32[1,6,5,6], f32[4,3,3,2], groups=2, padding=1)",
    "conv_multiplier": "conv(f32[2,3,7,20], f32[6,1,3,3], groups=3, stride=2)",
    "conv_groups_nhwc": "conv(f32[1,5,6,20], f32[3,3,4,20], groups=5, layout=NHWC, padding=1)",
    "conv_depthwise": "conv(f32[1,3,7,37], f32[3,1,3,3], groups=3, padding=1)",
    "conv_depthwise_strides": "conv(f32[1,3,12,12], f32[3,1,5,5], groups=3, stride=2, padding=2)",
    "conv_depthwise_nhwc": "conv(f32[1,7,6,37], f32[3,3,1,37], groups=37, layout=NHWC, padding=1)",
    "conv_depthwise_i8": "conv(u8[1,6,5,16], i8[3,3,1,16], groups=16, layout=NHWC)",
    "conv_depthwise_bf16": "conv(bf16[1,2,5,20], bf16[2,1,3,3], groups=2) -> bf16[1,2,3,18]",
    "max_pool": "max_pool(f32[1,3,7,9], window=3, stride=2, padding=1)",
    "max_pool_nhwc": "max_pool(f32[1,6,7,20], window=2, stride=2, layout=NHWC)",
    "max_pool_slow": "max_pool(f32[1,2,5,40], window=[3,2])",
    "max_pool_i8": "max_pool(i8[1,5,6,20], window=2, layout=NHWC)",
    "sum_pool": "sum_pool(i32[2,3,30], window=3, dilation=2)",
    "avg_pool": "avg_pool(f32[1,3,6,20], window=3, padding=1)",
    "avg_pool_bf16": "avg_pool(bf16[1,3,6,6], window=2, stride=2)",
    "conv_nhwc": "conv(f32[2,4,4,2], f32[3,3,2,8], layout=NHWC)",
    "conv_pointwise": "conv(f32[1,4,3,5], f32[8,4,1,1])",
    "move": "move(f32[40,56]) -> f32[40,56]{0,1}",
    "move_bf16": "move(bf16[64,32]) -> bf16[64,32]{0,1}",
    "move_u8": "move(u8[32,48]) -> u8[32,48]{0,1}",
    "cast": "cast(f32[8,100], bf16)",
    "cast_of_bytes": "cast(u8[9,70], f32) - cast(i8[70], f32)",
    "cast_bytes_to_halves": "cast(i8[9,70], bf16)",
    "cast_halves": "cast(bf16[9,70], f16)",
    "cast_to_integers": "cast(f32[9,70] * 3.7, i32)",
    "cast_of_a_product": "cast(f32[4,8] @ f32[8,16], i32) + 1",
    "five_dims": "f32[2,3,4,5,6] + f32[6]",
    "six_dims": "transpose(f32[2,3,2,3,2,3], order=[4,2,0,1,3,5])",
    "four_batches": "f32[2,1,2,2,3,2] @ f32[2,1,2,2,2,5]",
    "sum_of_all": "sum(f32[9,20], axis=[0,1])",
    "mean_of_two": "mean(f32[2,4,8], axis=[0,2])",
    "min": "min(f32[9,70])",
    "min_of_columns": "min(u8[9,70], axis=0)",
    "min_of_two": "x = i32[2,4,8]; x - min(x, axis=[1,-1], keepdims=True)",
    "max_of_two": "x = i32[2,4,8]; x - max(x, axis=[1,-1], keepdims=True)",
    "identity": "transpose(f32[4,8], order=[0,1])",
    "column_of_a_matrix": "relu(f32[32,1]S(5,1))",
    "every_other": "f32[4,8]S(18,2) @ f32[8,8]S(24,3) -> f32[4,8]S(40,4)",
    "broadcast": "broadcast(f32[50], axis=0, size=8)",
    "one_prefix": "one_prefix(f32[8,50])",
    "divide_vec": "divide_vec(f32[8,50], f32[8,50])",
    "relu": "relu(f32[9,70])",
    "exp": "exp(f32[9,70])",
    "tanh": "tanh(bf16[9,70])",
    "gelu": "gelu(f16[9,70])",
    "log": "log(f32[9,70])",
    "log1p": "log1p(f16[9,70])",
    "log2": "log2(bf16[9,70])",
    "exp2": "exp2(f32[9,70] * 20)",
    "expm1": "expm1(f32[9,70] * 9)",
    "erfc": "erfc(f32[9,70] * 3)",
    "softplus": "softplus(f32[9,70] * 9)",
    "round": "round(f32[9,70] * 9) + floor(f32[70] * 9) - ceil(f32[70] * 9)",
    "sign": "sign(f32[9,70])",
    "sign_int": "sign(i8[9,70])",
    "leaky_relu": "leaky_relu(f32[9,70] @ f32[70,8], f32[8])",
    "atan2": "atan2(f32[9,70] @ f32[70,8], f32[8]) + atan(f32[8])",
    "remainder": "remainder(f32[9,70] * 9, f32[70]) + remainder(f32[70] * 1e9, 0.7)",
    "elu": "elu(f32[9,70], 1.5)",
    "hardswish": "hardswish(f32[9,70] * 4)",
    "pow": "pow(square(f32[9,70]), -1.3) + pow(f32[70], 3)",
    "add_column": "f32[9,1] + f32[9,70]",
    "add_row": "relu(f32[9,8] @ f32[8,40] + f32[1,40])",
    "outer": "exp(bf16[9,1]) * bf16[1,70]",
    "scaled_product": "f32[9,8] @ f32[8,40] * (f32[9,40] @ f32[40,1])",
    "add_bias": "f32[9,70] + f32[70]",
    "add_transposed": "f32[37,50] + f32[37,50]{0,1}",
    "add_to_columns": "bf16[37,50] + bf16[37,50] -> bf16[37,50]{0,1}",
    "multiply_int": "i32[9,70] * i32[9,70]",
    "comparison": "(f32[9,70] > f32[9,70]) + (f32[9,70] <= 0)",
    "comparison_int": "i16[9,70] >= i16[70]",
    "where": "where(f32[9,70] > f32[9,1], f32[9,70], f32[70])",
    "where_rows": "where(f32[9,1] > 0, f32[9,70], -1e9)",
    "where_int": "x = u8[9,70]; where(x == 3, x + 1, 7)",
    "masked_product": "where(f32[9,40], f32[9,8] @ f32[8,40], -1e9)",
    "maximum": "maximum(f32[9,70], 0.5)",
    "sum_rows": "sum(f32[9,300])",
    "sum_columns": "sum(f32[40,70], axis=0)",
    "sum_int": "sum(i32[9,70])",
    "max_rows": "max(f32[9,300])",
    "max_columns": "max(f32[40,70], axis=0)",
    "softmax": "softmax(f32[8,200])",
    "softmax_columns": "softmax(f32[8,12], axis=0)",
    "softmax_middle": "softmax(f32[3,7,40], axis=1)",
    "softmax_long": "softmax(f32[1,20000])",
    "chain": "(f32[8,8] @ f32[8,16]) @ f32[16,8]",
    "epilogue": "relu(f32[8,16] @ f32[16,32] + f32[32])",
    "bf16_epilogue": "gelu_tanh(bf16[8,16] @ bf16[16,32] + bf16[32]) -> bf16[8,32]",
    "bf16_gamma": "rms_norm(f32[4,64], bf16[64]) -> bf16[4,64]",
    "gelu_epilogue": "gelu(f32[8,16] @ f32[16,32] + f32[32])",
    "projection": "gelu(f32[2,3,8] @ f32[8,16] + f32[16])",
    "scores_of_heads": 'softmax(einsum("qhd,khd->hqk", f32[3,2,8], f32[5,2,8]) * 0.3)',
    "itself": 'x = f32[2,5,4]; einsum("bqd,bkd->bqk", x, x)',
    "scores": "softmax(f32[4,8] @ f32[8,16])",
    "gelu_turned": "x = transpose(f32[3,2]); gelu_tanh(x)",
    "scores_largest": "max(linear(f16[2,2] @ f16[2,1], f32[1,2], f32[2]), axis=1)",
    "attention": "attention(f32[8,16], f32[16,16], f32[16,16])",
    "layer_norm": "layer_norm(f32[4,32], f32[32], f32[32])",
    "rms_norm": "rms_norm(f32[4,32], f32[32])",
    "conv_epilogue": "relu(conv(f32[1,2,4,4], f32[4,2,2,2]) + f32[4,3,3])",
    "relu_then_conv": "conv(relu(f32[1,2,4,4]), f32[4,2,3,3])",
    "conv_of_conv": "conv(conv(f32[1,1,4,4], f32[3,1,2,2]), f32[2,3,2,2])",
    "conv_of_padded_conv": "conv(relu(conv(f32[1,2,3,3], f32[2,2,2,2], padding=1)), f32[2,2,2,2])",
    "conv_of_remainder": "conv(relu(conv(f32[1,2,6,6], f32[2,2,2,2])), f32[2,2,2,2], stride=2)",
    "conv_downsampling": "relu(conv(f32[1,2,6,8], f32[8,2,1,1], stride=2) + f32[8,3,4])",
    "conv_separable": "conv(relu(conv(f32[1,4,6,9], f32[4,1,3,3], groups=4)), f32[8,4,1,1])",
    "conv_groups_epilogue": "relu(conv(f32[1,4,6,6], f32[6,2,3,3], groups=2) + f32[6,4,4])",
    "conv_relu_pool": "max_pool(relu(conv(f32[1,2,6,6], f32[4,2,3,3])), window=2, stride=2)",
    "conv_of_pool": "conv(max_pool(f32[1,2,6,6], window=2), f32[4,2,3,3])",
    "conv_of_broadcast": "conv(expand_dims(f32[2,3,3], axis=0) + f32[1,2,3,3], f32[2,2,2,2])",
    "odd_rows_of_pairs": "bf16[2,2]{1,0}S(5,1) @ bf16[2,1]",
    "odd_rows_of_fours": "u8[3,4]S(7,1) @ i8[4,2]",
    "tiles": "transpose(f32[2,4,3,16], order=[0,2,1,3])",
    "product_of_tiles": 'einsum("MKmk,KNkn->MNmn", f32[2,2,3,4], f32[2,2,4,16])',
    "product_into": "f32[9,20] += f32[9,8] @ f32[8,20]",
    "product_into_bf16": "bf16[4,32]{0,1} += bf16[4,6] @ bf16[6,32]",
    "conv_into": "f32[1,4,3,3] += conv(f32[1,2,5,5], f32[4,2,3,3])",
    "chain_into": "f32[8,4] += relu(f32[8,8] @ f32[8,16]) @ f32[16,4]",
    "max_into": "i8[9] max= max(i8[9,70])",
    "divided_in_place": "f32[9,70] /= expand_dims(f32[9], axis=1)",
    "softmax_complete": "softmax_complete(f32[3,40], f32[3], f32[3])",
    "softmax_denominator_into": "f32[3] += softmax_denominator(f32[3,40], f32[3])",
    "softmax_running": "(f32[3], f32[3]) merge= softmax_denominator_and_max(f32[3,40])",
    "softmax_from_parts": "softmax_denominator_and_max_from_parts(f32[3,4], f32[3,4])",
    "softmax_unscaled": "softmax_denominator_and_unscaled(f32[3,40], axis=0)",
    "softmax_unscaled_into": (
        "(f32[3], f32[3,40]) merge= softmax_denominator_and_unscaled_from_max(f32[3,40], f32[3])"
    ),
    "quantized": "cast(cast(u8[2,8] @ i8[8,16], f32) * 0.01, bf16)",
    "cast_function": "cast(cast(bf16[9,37], f32) * f32[9,1] - f32[37], f16)",
    "cast_norm": "cast(rms_norm(cast(f16[5,40], f32), f32[40]), f16)",
    "cast_sums": "x = cast(bf16[9,37], f32); cast(sum(x, axis=0), bf16) * sum(x, keepdims=True)",
}


BUDGET_S = 0.25
"""Compositions have many programs at any size; the best of those that are seen is checked."""


@pytest.mark.parametrize("name", some(EXPRESSIONS, 6))
def test_the_kernel_is_what_numpy_computes(name: str) -> None:
    kernel = morello.compile(EXPRESSIONS[name], budget=BUDGET_S)
    assert kernel.max_error is not None and math.isfinite(kernel.max_error)


@pytest.mark.parametrize(
    "expression",
    [
        "f32[128,64] @ f32[64,64]",
        "softmax(f32[1,40000])",
        "softmax(f32[8,4000])",
        "relu(f32[128,64] @ f32[64,64] + f32[64])",
        "exp(f32[64,4000])",
    ],
)
def test_two_threads_compute_the_same(expression: str) -> None:
    kernel = morello.compile(expression, threads=2)
    assert kernel.max_error is not None


@pytest.mark.parametrize(
    "expression",
    some(
        [
            "f32[12,8] @ f32[8,16]",
            "bf16[2,8] @ bf16[8,16]",
            "u8[2,8] @ i8[8,16]",
            "conv(f32[1,2,4,4], f32[2,2,2,2])",
            "relu(f32[6,16] + f32[16])",
            "sum(f32[6,32])",
            "max(f32[6,32], axis=0)",
            "softmax(f32[2,24])",
            "relu(f32[4,8] @ f32[8,16] + f32[16])",
            "(f32[2,4] @ f32[4,8]) @ f32[8,2]",
            "softmax(f32[2,4] @ f32[4,8])",
            "move(f32[16,16]) -> f32[16,16]{0,1}",
        ],
        3,
    ),
)
def test_leaving_out_what_cannot_be_best_loses_nothing(expression: str) -> None:
    target, goal = find_target("native"), morello.parse(expression)
    directed, exhaustive = search(goal, target), search(goal, target, everything=True)
    assert directed.cost == pytest.approx(exhaustive.cost, rel=1e-9)


def test_small_work_stays_on_one_core_and_large_work_does_not() -> None:
    small, large = (
        morello.implement(f"f32[{n},{n}] @ f32[{n},{n}]", target="avx512", threads=2)[0]
        for n in (64, 1024)
    )
    assert "serial" in str(small.rewrite) and "parallel" in str(large.rewrite)


def test_a_mask_of_rows_costs_no_more_than_one_of_elements() -> None:
    masks = ("f32[64,1]", "f32[64,64]")
    rows, elements = (
        morello.implement(f"where({mask}, f32[64,64], 0)", target="avx2")[0] for mask in masks
    )
    assert rows.cost <= elements.cost


def test_a_softmax_of_columns_costs_little_more_than_of_rows() -> None:
    columns, rows = (
        morello.implement(f"softmax({x})", target="avx2")[0]
        for x in ("f32[2,32,64], axis=1", "f32[2,64,32]")
    )
    assert columns.cost <= 1.2 * rows.cost


@pytest.fixture(scope="module")
def of_rows() -> tuple[morello.Kernel, morello.Kernel]:
    """A softmax and a maximum of the same matrix."""
    return morello.compile("softmax(f32[8,100])"), morello.compile("max(f32[8,100])")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_softmax_and_max_of_special_numbers_are_those_of_numpy(
    bad: float, of_rows: tuple[morello.Kernel, morello.Kernel]
) -> None:
    x = np.linspace(-3, 3, 8 * 100, dtype=np.float32).reshape(8, 100)
    x[2, 17] = x[5, 99] = x[7, 0] = bad
    x[4] = -np.inf
    with np.errstate(all="ignore"):
        shifted = np.exp(x - x.max(axis=1, keepdims=True))
        expected = shifted / shifted.sum(axis=1, keepdims=True)
    softmax, largest = of_rows
    np.testing.assert_allclose(softmax(x), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(largest(x), x.max(axis=1))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("i8", "bf16"), ("u8", "bf16"), ("i8", "f16"), ("u8", "f16"), ("bf16", "i8"),
        ("bf16", "u8"), ("f16", "i8"), ("f16", "u8"), ("bf16", "f16"), ("f16", "bf16"),
    ],
)  # fmt: skip
def test_casts_by_way_of_other_dtypes_are_those_of_numpy(source: str, target: str) -> None:
    kernel = morello.compile(f"cast({source}[5,37], {target})", budget=0.1, gap=1.0)
    given, result = (argument.dtype.np for argument in kernel.arguments)
    lowest = 0 if "u8" in (source, target) else -128
    numbers = np.random.default_rng(0).uniform(lowest, 127, (5, 37))
    x = numbers.astype(given)
    np.testing.assert_array_equal(kernel(x), x.astype(np.float32).astype(result))

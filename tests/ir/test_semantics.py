"""The results of operations, against formulas written out for each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.goals import slid

from morello.ir.functions import BINARY, INTEGER_FUNCTIONS, ONLY_INTEGERS, UNARY, Function
from morello.ir.operation import Operation, accumulating, reordered
from morello.ir.primitives import (
    ARGMIN,
    CUMSUM,
    DENOMINATOR_AND_MAX,
    FROM_PARTS,
    MAX,
    PRIMITIVES,
    SOFTMAX,
    SUM,
    SUM_SQUARES,
    UNSCALED_FROM_MAX,
    broadcast,
    conv,
    divide_vec,
    divide_vec_scalar,
    elementwise,
    fill,
    grouped_matmul,
    matmul,
    move,
    one_prefix,
    pack,
    quantized_matmul,
    reduce,
    scan,
    segment_sum,
    softmax,
    squared_deviations,
    take,
)
from morello.ir.primitives.quantized import packed
from morello.ir.primitives.winograd import (
    TRANSFORMS,
    points,
    winograd_filters,
    winograd_input,
    winograd_output,
)
from morello.ir.semantics import evaluate, reference

Array = np.ndarray[Any, np.dtype[Any]]


def values(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).uniform(-2, 2, shape)


def agree(found: tuple[Array, ...], *wanted: Array) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


# ---- sums of products


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_matmul(batch: tuple[int, ...]) -> None:
    a, b = values(*batch, 4, 5), values(*batch, 5, 6, seed=1)
    wanted = (a[..., :, :, np.newaxis] * b[..., np.newaxis, :, :]).sum(axis=-2)
    agree(evaluate(matmul(len(batch)), [a, b]), wanted)
    np.testing.assert_allclose(reference(matmul(len(batch)))(a, b), wanted)


def convolved(
    image: Array, weights: Array, strides: tuple[int, int], padding: tuple[int, int]
) -> Array:
    """The convolution by its definition: a sum over channels and filter pixels for each element."""
    (py, px), (sy, sx) = padding, strides
    padded = np.pad(image, ((0, 0), (0, 0), (py, py), (px, px)))
    b, _, height, width = padded.shape
    f, _, p, q = weights.shape
    rows, columns = (height - p) // sy + 1, (width - q) // sx + 1
    out = np.zeros((b, f, rows, columns))
    for y in range(rows):
        for x in range(columns):
            seen = padded[:, np.newaxis, :, sy * y : sy * y + p, sx * x : sx * x + q]
            out[:, :, y, x] = (seen * weights).sum(axis=(2, 3, 4))
    return out


@pytest.mark.parametrize("strides", [(1, 1), (2, 1), (2, 3)])
@pytest.mark.parametrize("padding", [(0, 0), (1, 0), (2, 1)])
def test_conv(strides: tuple[int, int], padding: tuple[int, int]) -> None:
    (sy, sx), (py, px) = strides, padding
    height, width = 4 * sy + 3 - 2 * py, 5 * sx + 2 - 2 * px
    image, weights = values(2, 3, height, width), values(4, 3, 3, 2, seed=1)
    wanted = convolved(image, weights, strides, padding)
    assert wanted.shape == (2, 4, 5, 6)
    agree(evaluate(conv(slid(strides, padding)), [image, weights]), wanted)
    last = conv(slid(strides, padding), channels_last=True)
    turned = [image.transpose(0, 2, 3, 1), weights.transpose(2, 3, 1, 0)]
    agree(evaluate(last, turned), wanted.transpose(0, 2, 3, 1))


# ---- convolutions in fewer multiplications


@pytest.mark.parametrize("tile", TRANSFORMS)
@pytest.mark.parametrize("last", [False, True])
def test_tiles_make_a_convolution(tile: int, last: bool) -> None:
    """The products of the points of squares and of filters are the points of its tiles."""
    image, weights = values(2, 3, 2 * tile + 2, 3 * tile + 2), values(5, 3, 3, 3, seed=1)
    order = (0, 2, 3, 1) if last else (0, 1, 2, 3)
    (turned,) = evaluate(winograd_input(tile, last), [image.transpose(order)])
    assert turned.shape == (points(tile), 2, 2, 3, 3)
    product = np.einsum("tbyxc,tcf->tbyxf", turned, winograd_filters(weights, tile))
    wanted = convolved(image, weights, (1, 1), (0, 0))
    agree(evaluate(winograd_output(tile, last), [product]), wanted.transpose(order))


@pytest.mark.parametrize("tile", TRANSFORMS)
def test_squares_are_turned_by_the_matrices(tile: int) -> None:
    square, turn = values(tile + 2, tile + 2), TRANSFORMS[tile]
    (found,) = evaluate(winograd_input(tile), [square[np.newaxis, np.newaxis]])
    wanted = turn.input @ square @ turn.input.T
    np.testing.assert_allclose(found.reshape(wanted.shape), wanted, atol=1e-12)
    (made,) = evaluate(winograd_output(tile), [found])
    wanted = turn.out @ wanted @ turn.out.T
    np.testing.assert_allclose(made.reshape(wanted.shape), wanted, atol=1e-12)


# ---- copies


def test_a_move_with_an_order_is_a_transpose() -> None:
    x = values(3, 4, 5)
    agree(evaluate(move(3), [x]), x)
    for order in [(1, 2, 0), (2, 0, 1), (0, 2, 1)]:
        agree(evaluate(move(3, order), [x]), x.transpose(order))


def test_scans() -> None:
    x = values(3, 4, 5)
    agree(evaluate(scan(ARGMIN, 3, 1), [x]), x.argmin(1))
    agree(evaluate(scan(ARGMIN, 1, 0), [x[0, 0]]), x[0, 0].argmin(keepdims=True))
    turned = reordered(scan(CUMSUM, 2, 0), [("j", "i"), ("i", "j")])
    agree(evaluate(turned, [x[0].T]), x[0].cumsum(0))


def test_rows_outside_of_a_table_are_the_nearest_within() -> None:
    table, ids = values(3, 4), np.array([[0, 2, -1], [-3, -9, 7]])
    wanted = table[np.array([[0, 2, 2], [0, 0, 2]])]
    agree(evaluate(take(2), [table, ids]), wanted)
    turned = reordered(take(2), [("d", "v"), ("j", "i"), ("d", "i", "j")])
    agree(evaluate(turned, [table.T, ids.T]), wanted.transpose(2, 0, 1))


def test_segments() -> None:
    rows, ids = values(6, 4), np.array([2, 0, -1, 2, 3, 2])
    wanted = np.stack([rows[1], np.zeros(4), rows[0] + rows[3] + rows[5]])
    sizes = {"e": 6, "v": 3, "d": 4}
    upright = [("e", "d"), ("e",), ("v", "d")]
    turned = [("d", "e"), ("e",), ("d", "v")]
    for orders, operand, expected in ((upright, rows, wanted), (turned, rows.T, wanted.T)):
        one = reordered(segment_sum(), orders)
        agree(evaluate(one, [operand, ids], [sizes[d] for d in one.dims]), expected)


def test_rows_choose_their_matrices() -> None:
    x, matrices = values(6, 3), values(4, 3, 5, seed=1)
    ids = np.array([2, 0, 0, 4, -1, 3])
    wanted = np.array([x[0] @ matrices[2], x[1] @ matrices[0], x[2] @ matrices[0]])
    wanted = np.concatenate([wanted, np.zeros((2, 5)), [x[5] @ matrices[3]]])
    agree(evaluate(grouped_matmul(), [x, matrices, ids]), wanted)
    turned = reordered(grouped_matmul(), [("k", "m"), ("e", "n", "k"), ("m",), ("n", "m")])
    agree(evaluate(turned, [x.T, matrices.transpose(0, 2, 1), ids]), wanted.T)


def test_weights_of_4_bits_are_in_the_order_of_gguf() -> None:
    numbers = np.random.default_rng(0).integers(-8, 8, (3, 96))
    weights = packed(numbers)
    assert weights.shape == (3, 48)
    np.testing.assert_array_equal(weights[1, 20] & 15, numbers[1, 36] + 8)
    np.testing.assert_array_equal(weights[1, 20] >> 4, numbers[1, 52] + 8)
    x, scales = values(2, 96), values(3, 3)
    wanted = x @ (numbers * scales.repeat(32, 1)).T
    agree(evaluate(quantized_matmul(), [x, weights, scales]), wanted)
    turned = reordered(quantized_matmul(), [("k", "m"), ("j", "n"), ("g", "n"), ("n", "m")])
    agree(evaluate(turned, [x.T, weights.T, scales.T]), wanted.T)


@pytest.mark.parametrize("one", [fill(2), fill(1, "lowest"), pack(2, 0, 2)], ids=str)
def test_fills_and_packs_have_no_reference(one: Operation) -> None:
    with pytest.raises(ValueError, match="has no reference"):
        evaluate(one, [values(4, 4)])


# ---- maps

FORMULAS: dict[str, Callable[..., Any]] = {
    "quotient": lambda a, b: np.where(b == 0, -1, np.trunc(a / np.where(b == 0, 1, b))),
    "atan2": np.arctan2,
    "cast": lambda x: x,
    "gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / np.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    "neg": lambda x: -x,
    "reciprocal": lambda x: x**-1.0,
    "relu": lambda x: np.where(x > 0, x, 0),
    "rsqrt": lambda x: x**-0.5,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "square": lambda x: x**2,
    "erf": lambda x: np.vectorize(math.erf)(x),
    "erfc": lambda x: 1 - np.vectorize(math.erf)(x),
    "leaky_relu": lambda a, b: np.where(a > 0, a, a * b),
    "remainder": lambda a, b: a - b * np.trunc(a / b),
    "round": np.rint,
    "where": lambda condition, a, b: np.where(condition != 0, a, b),
    "softplus": lambda x: np.log(1 + np.exp(x)),
}


def _numbers(name: str, *shape: int, seed: int = 0) -> Array:
    """Values that a function takes: integers, if it is of these alone."""
    drawn = values(*shape, seed=seed)
    return (9 * drawn).astype(np.int64) if name in ONLY_INTEGERS else drawn


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name: str) -> None:
    x = _numbers(name, 3, 4)
    if name in ("rsqrt", "sqrt", "reciprocal", "log", "log1p", "log2"):
        x = np.abs(x) + 0.1
    formula = FORMULAS.get(name) or getattr(np, name)
    agree(evaluate(elementwise(Function(name), ((0, 1),), 2), [x]), formula(x))
    turned = elementwise(Function(name), ((1, 0),), 2)
    agree(evaluate(turned, [x.T.copy()]), formula(x))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers_with_inputs_of_fewer_dimensions(name: str) -> None:
    function = FORMULAS.get(name) or getattr(np, name)
    whole, other = _numbers(name, 3, 4, 5), _numbers(name, 3, 4, 5, seed=1)
    agree(evaluate(_of(name, (0, 1, 2), (0, 1, 2)), [whole, other]), function(whole, other))
    rows, last = _numbers(name, 3, seed=2), _numbers(name, 5, seed=3)
    agree(
        evaluate(_of(name, (0,), (0, 1, 2)), [rows, whole]),
        function(rows[:, np.newaxis, np.newaxis], whole),
    )
    agree(evaluate(_of(name, (0, 1, 2), (2,)), [whole, last]), function(whole, last))
    turned = _numbers(name, 5, 3, seed=4)
    agree(
        evaluate(_of(name, (2, 0), (0, 1, 2)), [turned, whole]),
        function(turned.T[:, np.newaxis, :], whole),
    )


def _of(name: str, *spans: tuple[int, ...]) -> Operation:
    return elementwise(Function(name), spans, 3)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_a_constant_is_the_second_argument_in_the_dtype_of_the_first(
    name: str, dtype: type[Any]
) -> None:
    if name not in INTEGER_FUNCTIONS if dtype is np.int16 else name in ONLY_INTEGERS:
        return
    x = (values(4) * 10).astype(dtype)
    (found,) = evaluate(elementwise(Function(name, 3.0), ((0,),), 1), [x])
    assert found.dtype == dtype
    function = FORMULAS.get(name) or getattr(np, name)
    np.testing.assert_array_equal(found, function(x, dtype(3)))


def test_in_a_map_between_two_inputs_neither_has_all_dimensions() -> None:
    a, b = values(3), values(4, seed=1)
    agree(evaluate(elementwise(Function("add"), ((0,), (1,)), 2), [a, b]), np.add.outer(a, b))


def test_divisions() -> None:
    x, rows, columns = values(3, 4), np.abs(values(3)) + 1, np.abs(values(4)) + 1
    agree(evaluate(divide_vec(2), [x, x + 5]), x / (x + 5))
    agree(evaluate(divide_vec_scalar(2, 1), [rows, x]), x / rows[:, np.newaxis])
    agree(evaluate(divide_vec_scalar(2, 0), [columns, x]), x / columns)
    agree(evaluate(divide_vec_scalar(1, 0), [rows[:1], x[0]]), x[0] / rows[0])


def test_broadcasts() -> None:
    x = values(3, 4)
    assert evaluate(one_prefix(2), [x])[0].shape == (1, 3, 4)
    agree(evaluate(one_prefix(2), [x]), x[np.newaxis])
    for dim in range(3):
        shape = [(5, 3, 4), (3, 5, 4), (3, 4, 5)][dim]
        (found,) = evaluate(broadcast(3, dim), [x], shape)
        np.testing.assert_array_equal(found, np.broadcast_to(np.expand_dims(x, dim), shape))
        (unknown,) = evaluate(broadcast(3, dim), [x])
        np.testing.assert_array_equal(unknown, np.expand_dims(x, dim))


# ---- reductions


@pytest.mark.parametrize(("rank", "dim"), [(1, 0), (2, 0), (2, 1), (3, 1), (4, 3)])
def test_sums_and_maxima(rank: int, dim: int) -> None:
    x = values(*range(3, 3 + rank))
    wanted = [np.atleast_1d(x.sum(dim)), np.atleast_1d(x.max(dim))]
    agree(evaluate(reduce(SUM, rank, dim), [x]), wanted[0])
    agree(evaluate(reduce(MAX, rank, dim), [x]), wanted[1])
    centers = values(*wanted[0].shape)
    deviations = x - np.expand_dims(centers, dim) if rank > 1 else x - centers
    found = evaluate(squared_deviations(rank, dim), [x, centers])
    agree(found, np.atleast_1d((deviations**2).sum(dim)))
    agree(evaluate(reduce(SUM_SQUARES, rank, dim), [x]), np.atleast_1d((x * x).sum(dim)))
    agree(evaluate(accumulating(reduce(SUM, rank, dim)), [x]), wanted[0])


@pytest.mark.parametrize(("rank", "dim"), [(1, 0), (2, 0), (2, 1), (3, 1), (4, 3)])
def test_softmax_and_its_parts(rank: int, dim: int) -> None:
    x = 5 * values(*range(3, 3 + rank))

    def along(part: str) -> Operation:
        return softmax(PRIMITIVES[part], rank, dim)

    top = np.atleast_1d(x.max(dim))
    total = np.atleast_1d(np.exp(x - x.max(dim, keepdims=True)).sum(dim))
    unscaled = np.exp(x - x.max(dim, keepdims=True))
    whole = unscaled / unscaled.sum(dim, keepdims=True)
    agree(evaluate(along("Softmax"), [x]), whole)
    np.testing.assert_allclose(evaluate(along("Softmax"), [x])[0].sum(dim), 1.0)
    agree(evaluate(along("SoftmaxComplete"), [x, top, total]), whole)
    agree(evaluate(along("SoftmaxDenominator"), [x, top]), total)
    agree(evaluate(along("SoftmaxDenominatorAndMax"), [x]), top, total)
    agree(evaluate(along("SoftmaxDenominatorAndUnscaled"), [x]), total, unscaled)
    agree(evaluate(along("SoftmaxDenominatorAndUnscaledFromMax"), [x, top]), total, unscaled)


@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 4))
def test_softmax_of_pieces_merges_into_that_of_the_whole(rows: int, size: int, count: int) -> None:
    x = 5 * values(rows, count * size)
    part = softmax(DENOMINATOR_AND_MAX, 2, 1)
    pieces = [evaluate(part, [x[:, i * size : (i + 1) * size]]) for i in range(count)]
    tops, totals = (np.stack([piece[k] for piece in pieces], axis=1) for k in (0, 1))
    merged = evaluate(softmax(FROM_PARTS, 2, 1), [tops, totals])
    agree(merged, *evaluate(part, [x]))


# ---- operands' dimensions in any order


REORDERED: list[tuple[Operation, list[tuple[int, ...]]]] = [
    (matmul(1), [(2, 3, 4), (2, 4, 5)]),
    (conv(slid((2, 1), (1, 1))), [(2, 3, 7, 5), (4, 3, 3, 2)]),
    (conv(), [(2, 3, 7, 5), (4, 3, 3, 2)]),
    (elementwise(Function("subtract"), ((0, 1), (0, 1, 2)), 3), [(2, 3), (2, 3, 4)]),
    (move(3), [(2, 3, 4)]),
    (reduce(MAX, 3, 1), [(2, 3, 4)]),
    (softmax(SOFTMAX, 3, 1), [(2, 3, 4)]),
    (softmax(UNSCALED_FROM_MAX, 3, 0), [(2, 3, 4), (3, 4)]),
    (softmax(FROM_PARTS, 3, 2), [(2, 3, 4), (2, 3, 4)]),
]


@given(st.data())
def test_reordered_operands_are_transposed_ones(data: st.DataObject) -> None:
    one, shapes = data.draw(st.sampled_from(REORDERED))
    orders, turned, inputs = [], [], []
    for operand, each in enumerate(one.operands):
        order = data.draw(st.permutations(range(len(each.dims))))
        orders.append(tuple(each.dims[i] for i in order))
        if operand < len(shapes):
            inputs.append(values(*shapes[operand], seed=operand) + 3)
            turned.append(inputs[-1].transpose(order))
    found = evaluate(reordered(one, orders), turned)
    for output, value, wanted in zip(one.outputs, found, evaluate(one, inputs), strict=True):
        own = one.operands[output].dims
        agree((value,), wanted.transpose([own.index(d) for d in orders[output]]))
